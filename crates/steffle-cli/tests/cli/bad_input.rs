//! Every way to be wrong that the manual names: status, code, words, and nothing left behind.

use serde_json::Value;

use crate::harness::{Place, pairs};

/// What is typed, the exit status, the code, and words that must be said: what was given, where,
/// what is allowed.
type Case<'a> = (&'a str, i32, &'a str, &'a str);

/// What goes in front of a case that is only a file.
const FILE: &str = "train --label label --sensitive group --classes a,b --data";

fn check(place: &Place, cases: &[Case<'_>]) {
    let before = place.names();
    for &(typed, status, code, words) in cases {
        let is_file = typed.split('.').count() == 2 && !typed.contains(' ');
        let typed = if is_file { format!("{FILE} {typed}") } else { typed.to_owned() };
        let arguments: Vec<&str> = typed.split_whitespace().chain(["--json"]).collect();
        let ran = place.run(&arguments);
        let told = &ran.stderr;
        assert_eq!(ran.status, status, "{typed}: {told}");
        let error: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(error["error"]["code"], format!("steffle::{code}"), "{typed}: {told}");
        let message = error["error"]["message"].as_str().unwrap();
        assert!(told.contains(message), "{typed}: {told}");
        let said = format!("{message} {}", error["error"]["help"]);
        for word in words.split(" | ") {
            assert!(said.contains(word), "{typed} does not say {word:?}: {said}");
        }
        assert!(!told.contains("panicked") && !told.contains("RUST_BACKTRACE"), "{told}");
        assert_eq!(place.names(), before, "{typed} left something behind");
    }
}

#[test]
fn settings() {
    check(
        &Place::new("bad-settings"),
        &[
            ("train --lambda -1", 2, "config::lambda", "--lambda -1 | finite number"),
            ("train --lambda nan", 2, "config::lambda", "NaN | finite number"),
            ("train --epsilon 0", 2, "config::epsilon", "--epsilon 0 | above 0"),
            ("train --epsilon -3", 2, "config::epsilon", "-3 | above 0"),
            ("train --epsilon NaN", 2, "config::epsilon", "NaN | above 0"),
            ("train --delta 0", 2, "config::delta", "--delta 0 | (0, 1)"),
            ("train --delta 1", 2, "config::delta", "--delta 1 | (0, 1)"),
            ("train --silos 0", 2, "config::silos", "--silos 0 | 1 or more"),
            ("train --silos 100000", 3, "data::silos", "100000 silos | 33916 | allowed are 1 to"),
            ("train --heterogeneity 1.5", 2, "config::heterogeneity", "1.5 | [0, 1]"),
            ("train --heterogeneity -0.1", 2, "config::heterogeneity", "-0.1 | [0, 1]"),
            ("train --batch 20000", 3, "config::batch", "20000 | 11305 | --batch all"),
            ("train --batch 0", 2, "config::batch", "--batch 0 | 1 or more"),
            ("train --rounds 0", 2, "config::rounds", "1 or more"),
            ("train --lr-theta 0", 2, "config::lr_theta", "above 0"),
            ("train --clip -1", 2, "config::clip", "above 0"),
            ("train --validation 1", 2, "config::validation", "[0, 1)"),
            ("train --threads 0", 2, "config::threads", "--threads 0 | 1 to 1024"),
            ("train --threads 100000", 2, "config::threads", "100000 | 1 to 1024"),
            ("train --seed 9223372036854775808", 2, "config::seed", "9223372036854775807"),
            ("train --model tree", 2, "config::model", "tree | logistic | softmax | mlp:"),
            ("train --model mlp:0", 2, "config::model", "width 0 | 1 to"),
            (
                "train --notion fair",
                2,
                "config::notion",
                "fair | demographic-parity | conditional:COLUMN",
            ),
            (
                "train --centralisation general:0",
                2,
                "config::centralisation",
                "general:0 | one-silo | central-attributes",
            ),
            ("train --method magic", 2, "usage::arguments", "magic | erm"),
            ("train --mode magic", 2, "usage::arguments", "magic | paper"),
            ("train --no-such-flag", 2, "usage::arguments", "--no-such-flag"),
            ("frobnicate", 2, "usage::arguments", "frobnicate"),
            ("train --mode none --epsilon 1", 2, "config::conflict", "--mode exact"),
            ("train --mode paper", 2, "config::conflict", "--epsilon"),
            ("train --method fermi --epsilon 1", 2, "config::conflict", "epsilon | adds no noise"),
            ("train --method fermi --rounds 5", 2, "config::conflict", "fermi | no rounds"),
            ("train --epsilon 1e-7", 2, "config::epsilon", "--epsilon 0.0000001 | 0.00001 or more"),
            ("train --method randomised-response", 2, "config::conflict", "--epsilon"),
            (
                "train --method randomised-response --epsilon 1e-9",
                2,
                "config::epsilon",
                "--epsilon 0.000000001 | 0.000001 or more",
            ),
            (
                "train --method randomised-response --epsilon 1 --delta 0.1",
                2,
                "config::conflict",
                "delta | one parameter is epsilon",
            ),
            ("train --surrogate-sharpness 0", 2, "config::surrogate_sharpness", "0 | above 0"),
            (
                "train --method erm --surrogate-sharpness 2",
                2,
                "config::conflict",
                "erm | no fairness surrogate",
            ),
            ("train --model mlp:2 --l2 -1", 2, "config::l2", "-1 | from 0 to 1"),
            ("train --l2 0.1", 2, "config::conflict", "l2 is for networks | mlp:16"),
            (
                "train --method fedavg --model mlp:2 --l2 0.1",
                2,
                "config::conflict",
                "fedavg | train by themselves",
            ),
        ],
    );
}

#[test]
fn privacy() {
    let rounds = "--rounds 10 --delta 1e-5";
    let account = |flags: &str| format!("privacy account --noise-multiplier 2 {rounds} {flags}");
    let noise = |z: &str| format!("privacy account {rounds} --noise-multiplier {z}");
    let calibrate = |epsilon: &str| format!("privacy calibrate {rounds} --epsilon {epsilon}");
    let explain = |flags: &str| format!("privacy explain {flags}");
    let fixed = "--mechanism without-replacement";
    let cases = [
        (noise("0"), 2, "config::noise_multiplier", "--noise-multiplier 0 | positive and finite"),
        (noise("-1"), 2, "config::noise_multiplier", "-1 | positive and finite"),
        (noise("nan"), 2, "config::noise_multiplier", "NaN | positive and finite"),
        (noise("1e-300"), 2, "privacy::no_finite_bound", "noise multiplier is far too small"),
        (account("--rate 1.5 --mechanism poisson"), 2, "config::rate", "1.5 | at most 1"),
        (account("--rate 0 --mechanism poisson"), 2, "config::rate", "--rate 0 | above 0"),
        (account("--mechanism poisson"), 2, "usage::missing", "--rate | --batch and --records"),
        (account("--rate 0.1"), 2, "config::conflict", "gaussian takes all records"),
        (account(&format!("{fixed} --rate 0.1")), 2, "usage::missing", "--batch and --records"),
        (
            account(&format!("{fixed} --batch 11 --records 10")),
            2,
            "config::batch",
            "--batch 11 | from 1 to the 10 records",
        ),
        (account(&format!("{fixed} --batch 0 --records 10")), 2, "config::batch", "--batch 0"),
        (
            account(&format!("{fixed} --batch 5 --records 10 --adjacency add-remove")),
            2,
            "privacy::fixed_batch_add_remove",
            "replacement only | Poisson",
        ),
        (account("--accountant magic"), 2, "usage::arguments", "magic | pld"),
        (noise("2").replace("10", "0"), 2, "config::rounds", "--rounds 0 | at least 1"),
        (noise("2").replace("1e-5", "0"), 2, "config::delta", "--delta 0 | between 0 and 1"),
        (noise("2").replace("1e-5", "1"), 2, "config::delta", "--delta 1 | between 0 and 1"),
        (noise("2").replace("1e-5", "-0.1"), 2, "config::delta", "-0.1 | between 0 and 1"),
        (calibrate("0"), 2, "config::epsilon", "--epsilon 0 | positive and finite"),
        (calibrate("-3"), 2, "config::epsilon", "-3 | positive and finite"),
        (calibrate("inf"), 2, "config::epsilon", "inf | positive and finite"),
        (
            calibrate("1e-13").replace("1e-5", "1e-15"),
            2,
            "privacy::unreachable",
            "1e12 | larger epsilon or delta",
        ),
        (explain(""), 2, "usage::missing", "RUN, or --epsilon and --delta"),
        (explain("--epsilon 1"), 2, "usage::arguments", "--delta"),
        (explain("--epsilon 0 --delta 0.1"), 2, "config::epsilon", "--epsilon 0"),
        (explain("--epsilon 1 --delta 2"), 2, "config::delta", "--delta 2"),
        (explain("runs/x"), 3, "run::not_found", "runs/x"),
        (explain("--epsilon 1 --delta 0.1 --svg ."), 3, "data::occupied", "is not a file"),
        (
            "privacy paper --records 100".to_owned(),
            2,
            "config::batch",
            "--batch 256 | from 1 to the 100 records",
        ),
        ("privacy paper --records 0".to_owned(), 2, "config::records", "1 or more"),
        ("privacy paper --epsilon 0".to_owned(), 2, "config::epsilon", "positive and finite"),
        ("privacy paper --rounds 0".to_owned(), 2, "config::rounds", "at least 1"),
        ("privacy paper --epochs 0".to_owned(), 2, "config::epochs", "1 or more"),
        ("privacy paper --records 900 --rho 2".to_owned(), 2, "config::rho", "at most 1"),
    ];
    let cases: Vec<Case<'_>> = cases
        .iter()
        .map(|(typed, status, code, words)| (&**typed, *status, *code, *words))
        .collect();
    check(&Place::new("bad-privacy"), &cases);
}

#[test]
fn names() {
    check(
        &Place::new("bad-names"),
        &[
            (
                "train --data adlut",
                3,
                "data::unknown_data_set",
                "adlut | adult | credit-card | retired-adult | .csv",
            ),
            ("train --data no.csv", 3, "data::not_found", "no.csv"),
            ("train --data retired-adult", 3, "data::path_needed", "retired-adult | --path"),
            ("train --label wage", 3, "data::unknown_column", "wage | label | income"),
            (
                "train --sensitive gender --classes a,b",
                3,
                "data::unknown_column",
                "gender | sensitive | sex",
            ),
            ("train --partition-by years", 3, "data::unknown_column", "years | age"),
            ("train --notion conditional:job", 3, "data::unknown_column", "job | occupation"),
            ("train --drop job", 3, "data::unknown_column", "job"),
            ("train --favourable rich", 3, "data::favourable", "rich | >50K | <=50K"),
            ("train --config no.toml", 3, "config::unreadable", "no.toml | TOML"),
            ("predict runs/x y.csv", 2, "usage::output", "--output"),
            ("predict runs/x y.csv --output z.csv", 3, "run::not_found", "runs/x"),
            ("evaluate runs/x y.csv", 3, "run::not_found", "runs/x"),
            ("data describe adlut", 3, "data::unknown_data_set", "adult"),
        ],
    );
}

#[test]
fn files() {
    let place = Place::new("bad-files");
    let good = pairs(0..200);
    place.write("no-meaning.csv", &good);
    place.write("empty.csv", "");
    place.write("header.csv", "score,group,label\n");
    place.write("ragged.csv", "score,group,label\n1,a,x\n2,b\n");
    place.write("one-label.csv", good.replace("low", "high"));
    place.write("one-group.csv", good.replace(",b,", ",a,"));
    let towns = ["north", "south", "east"];
    // Whoever has a region has no town.
    let blank = |csv: String, town: &&str| csv.replace(&format!("{town},hill"), ",hill");
    place.write("no-rows.csv", towns.iter().fold(good.replace(",plain,", ",,"), blank));
    place.write("infinite.csv", good.replacen(".5,", ".5e999,", 1));
    place.write("nan.csv", "score,group,label\n1,a,x\n2,b,y\ninf,a,x\n");
    place.write("random.parquet", (0..997_u32).map(|i| (i * 7919 % 251) as u8).collect::<Vec<_>>());
    let parts = ["data", "partition", "no-meaning.csv", "--label", "label", "--sensitive", "group"];
    let written = place.run(&[&parts[..], &["--format", "parquet", "--out", "parts"]].concat());
    assert_eq!(written.status, 0, "{}", written.stderr);
    let parquet = std::fs::read(place.path("parts/test.parquet")).unwrap();
    place.write("truncated.parquet", &parquet[..parquet.len() / 2]);
    let mut flipped = parquet.clone();
    let middle = flipped.len() / 3;
    flipped[middle..middle + 40].fill(0xff);
    place.write("flipped.parquet", flipped);
    place.write("nothing.parquet", "");
    place.write("words.txt", "hel\0lo");
    check(
        &place,
        &[
            ("train --data no-meaning.csv", 2, "usage::missing", "--label | --sensitive"),
            ("empty.csv", 3, "data::empty_csv", "empty.csv | header"),
            ("header.csv", 3, "data::no_rows", "no rows | 0 rows read"),
            ("ragged.csv", 3, "data::ragged_csv", "ragged.csv | line 3 | 2 cells"),
            ("one-label.csv", 3, "data::too_few_classes", "label | at least 2"),
            (
                "train --mode none --label label --sensitive group --data one-group.csv",
                3,
                "data::too_few_classes",
                "group | at least 2",
            ),
            ("no-rows.csv", 3, "data::no_rows", "no rows left | 200 | town"),
            ("infinite.csv", 3, "data::not_finite", "row 1 | score | finite"),
            ("nan.csv", 3, "data::not_finite", "row 3 | score | inf"),
            ("random.parquet", 3, "data::parquet", "random.parquet"),
            ("truncated.parquet", 3, "data::parquet", "truncated.parquet"),
            ("nothing.parquet", 3, "data::parquet", "nothing.parquet"),
            ("words.txt", 3, "data::extension", "words.txt | .csv | .parquet"),
        ],
    );
    // Damage inside a column: which error depends on the byte, a refusal is what matters.
    let ran = place.run(&FILE.split(' ').chain(["flipped.parquet"]).collect::<Vec<_>>());
    assert_eq!(ran.status, 3, "{}", ran.stderr);
}

#[test]
fn outputs() {
    let place = Place::new("bad-outputs");
    place.write("file", "in the way");
    std::fs::create_dir(place.path("mine")).unwrap();
    place.write("mine/precious", "data");
    let quick: &[&str] = &["train", "--rounds", "1", "--out"];
    let exists = [
        [quick, &["file"]].concat(),
        [quick, &["mine"]].concat(),
        [quick, &["mine", "--force"]].concat(),
    ];
    for command in exists {
        let ran = place.run(&command);
        assert_eq!(ran.status, 3, "{command:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("error[steffle::run::exists]"), "{}", ran.stderr);
    }
    let ran = place.run(&[quick, &["file/run"]].concat());
    assert_eq!(ran.status, 3, "{}", ran.stderr);
    let ran = place.run(&["data", "partition", "adult", "--out", "mine"]);
    assert!(ran.stderr.contains("error[steffle::data::occupied]"), "{}", ran.stderr);
    assert_eq!(place.names(), ["file", "mine"]);
    assert_eq!(place.read("mine/precious"), "data");
}
