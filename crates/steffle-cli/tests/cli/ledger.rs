//! `steffle ledger`, and runs that are paid from books.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::harness::{COLUMNS, Place, Ran, pairs, shows};

/// A run of the made-up people, paid from a book.
const TRAIN: [&str; 17] = [
    "train",
    "--label",
    "label",
    "--sensitive",
    "group",
    "--classes",
    "a,b",
    "--method",
    "one-shot",
    "--delta",
    "1e-6",
    "--silos",
    "1",
    "--ledger",
    "people.ledger",
    "--data",
    "people.csv",
];

fn place(name: &str, rows: u64) -> Place {
    let place = Place::new(name);
    place.write("people.csv", pairs(0..rows));
    place
}

fn init(place: &Place, epsilon: &str) {
    let init = ["ledger", "init", "people.ledger", "--epsilon", epsilon, "--delta", "1e-6"];
    place.json(&[&init[..], &COLUMNS].concat());
}

#[test]
fn a_private_run_is_paid_for_and_the_next_one_refused() {
    let place = place("ledger-train", 500);
    init(&place, "1.2");
    let first = place.json(&[&TRAIN[..], &["--epsilon", "1", "--out", "first"]].concat());
    assert_eq!(first["privacy"]["kind"], "private");
    assert!(first["privacy"]["statement"].as_str().unwrap().contains("books pay for it"));
    let store = &first["ledger"]["stores"][0];
    assert_eq!(
        (store["receipts"].as_array().unwrap().len(), &store["epsilon_budget"]),
        (1, &1.2.into())
    );
    let spent = store["epsilon_spent"].as_f64().unwrap();
    // At the same delta the whole share is spent.
    assert!((0.999..=1.0).contains(&spent), "{spent}");

    // The same command is the same run: its model is read from the book again, which stays as it is.
    let model = |run: &str| fs::read(place.path(run).join("model.safetensors")).unwrap();
    let book = place.read("people.ledger");
    let again = place.run(&[&TRAIN[..], &["--epsilon", "1", "--out", "again"]].concat());
    assert_eq!(again.status, 0, "{}", again.stderr);
    assert!(again.stderr.contains("has ended before") && again.stderr.contains("--seed"));
    assert!(model("first") == model("again") && book == place.read("people.ledger"));
    let second = [&TRAIN[..], &["--epsilon", "1", "--seed", "1", "--out", "second"]].concat();
    let refused = place.run(&second);
    assert_eq!(refused.status, 4, "{}", refused.stderr);
    for word in ["steffle::ledger::budget", "asked for", "left", "spent", "nothing was released"] {
        assert!(refused.stderr.contains(word), "{word}: {}", refused.stderr);
    }
    assert!(!place.path("second").exists());
    // Less fits.
    place.json(&[&TRAIN[..], &["--epsilon", "0.5", "--seed", "1", "--out", "third"]].concat());

    let shown = place.json(&["ledger", "show", "people.ledger"]);
    assert_eq!((&shown["epsilon_budget"], &shown["delta"]), (&1.2.into(), &1e-6.into()));
    assert!(shown["epsilon_spent"].as_f64().unwrap() < 1.2);
    assert_eq!((shown["runs"].as_array().unwrap().len(), &shown["entries"]), (2, &12.into()));
    for run in ["first", "again"] {
        let verified = place.json(&["ledger", "verify", "people.ledger", "--run", run]);
        assert_eq!((&verified["valid"], &verified["receipts"]), (&true.into(), &1.into()));
    }
    let added = place.json(&["privacy", "add", "first", "third"]);
    let together = added["epsilon"].as_f64().unwrap();
    assert!(together > 1.0 && together < 1.2 && added["sum_of_epsilons"] == 1.5, "{added}");
    // A simulation spends nothing and needs no book.
    let simulated = ["--noise", "simulated"];
    let conflict = place.run(&[&TRAIN[..], &simulated].concat());
    assert_eq!((conflict.status, conflict.stderr.contains("spends nothing")), (2, true));
}

#[test]
fn several_silos_have_a_book_each_and_keep_their_records() {
    let place = place("ledger-silos", 600);
    let books =
        ["ledger", "init", "people.ledger", "--silos", "2", "--epsilon", "3", "--delta", "1e-6"];
    place.json(&[&books[..], &COLUMNS].concat());
    let flags: Vec<&str> =
        TRAIN.iter().map(|flag| if *flag == "1" { "2" } else { *flag }).collect();
    let run = |more: &[&str]| place.run(&[&flags[..], more].concat());
    assert_eq!(run(&["--epsilon", "0.5", "--out", "first"]).status, 0);
    let shown = place.json(&["ledger", "show", "people.ledger"]);
    assert_eq!(shown["books"].as_array().unwrap().len(), 2);
    assert!(shown["epsilon_spent"].as_f64().unwrap() > 0.49);
    // Another cut would put people into another book, with a budget that begins anew.
    let moved = run(&["--epsilon", "0.5", "--seed", "5", "--out", "second"]);
    assert_eq!(moved.status, 3, "{}", moved.stderr);
    assert!(moved.stderr.contains("is in the book of silo"), "{}", moved.stderr);
    let three: Vec<&str> =
        flags.iter().map(|flag| if *flag == "2" { "3" } else { *flag }).collect();
    let three = place.run(&[&three[..], &["--epsilon", "0.5", "--out", "third"]].concat());
    assert!(three.stderr.contains("has 2 book(s)"), "{}", three.stderr);
    let exact = ["--method", "steffle", "--epsilon", "0.5", "--rounds", "3", "--out", "exact"];
    let words: Vec<&str> =
        flags.iter().copied().filter(|w| *w != "--method" && *w != "one-shot").collect();
    let exact = place.json(&[&words[..], &exact].concat());
    assert_eq!(exact["ledger"]["stores"][1]["receipts"].as_array().unwrap().len(), 4);
}

#[test]
fn damage_is_said_and_nothing_is_paid() {
    let place = place("ledger-damage", 300);
    init(&place, "3");
    assert_eq!(place.run(&[&TRAIN[..], &["--epsilon", "1", "--out", "first"]].concat()).status, 0);
    let book = place.read("people.ledger");
    fs::write(place.path("people.ledger"), book.replacen("one-shot", "one-shoT", 1)).unwrap();
    for command in
        [&["ledger", "verify", "people.ledger"][..], &["ledger", "show", "people.ledger"]]
    {
        let ran = place.run(command);
        assert_eq!((ran.status, ran.stderr.contains("steffle::ledger::damaged")), (3, true));
    }
    let run = place.run(&[&TRAIN[..], &["--epsilon", "1", "--seed", "1"]].concat());
    assert_eq!((run.status, run.stderr.contains("line 4")), (3, true), "{}", run.stderr);
    let none = place.run(&["ledger", "show", "nothing.ledger"]);
    assert_eq!((none.status, none.stderr.contains("nothing.ledger")), (3, true));
    for wrong in [
        "--epsilon 0 --delta 1e-6",
        "--epsilon 1 --delta 2",
        "--epsilon 1 --delta 1e-6 --pure-share 2",
    ] {
        let words: Vec<&str> = wrong.split(' ').collect();
        let ran = place.run(&[&["ledger", "init", "wrong.ledger"], &words[..], &COLUMNS].concat());
        assert_eq!(ran.status, 2, "{wrong}: {}", ran.stderr);
        assert!(!place.path("wrong.ledger").exists());
    }
}

/// A policy wins over anything asked.
#[test]
fn the_policy_of_a_store_wins() {
    let place = place("ledger-policy", 300);
    place.write("policy.toml", "epsilon = 3.0\ndelta = 1e-6\nmethods = [\"steffle\"]\n");
    let init = |book| [&["ledger", "init", book, "--policy", "policy.toml"][..], &COLUMNS].concat();
    place.json(&init("people.ledger"));
    let refused = place.run(&[&TRAIN[..], &["--epsilon", "0.1"]].concat());
    assert_eq!(refused.status, 4, "{}", refused.stderr);
    assert!(refused.stderr.contains("its policy allows the methods steffle, not one-shot"));
    place.write("policy.toml", "epsilon = 3.0\ndelta = 1e-6\nmethod = [\"steffle\"]\n");
    let wrong = place.run(&init("other.ledger"));
    assert_eq!((wrong.status, wrong.stderr.contains("not a policy")), (3, true));
}

#[test]
fn what_nobody_remembers_is_said_before() {
    let place = place("ledger-none", 300);
    let flags: Vec<&str> =
        TRAIN.iter().copied().filter(|w| *w != "--ledger" && *w != "people.ledger").collect();
    let ran = place.run(&[&flags[..], &["--epsilon", "1", "--noise", "secure"]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("nothing but you will remember it"), "{}", ran.stderr);
    assert!(!place.run(&[&flags[..], &["--epsilon", "1"]].concat()).stderr.contains("remember"));
    let sweep: Vec<&str> = [&["sweep"], &flags[1..]].concat();
    let more = ["--epsilon", "1", "--noise", "secure", "--seeds", "2", "--lambda", "1,2"];
    let ran = place.run(&[&sweep[..], &more].concat());
    assert!(ran.stderr.contains("2 private release(s)"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("cost epsilon 1.4") && ran.stderr.contains("sum to 2"),
        "{}",
        ran.stderr
    );
}

/// A group that nobody is in: the keeper of the table is told by `describe`; a private run says nothing
/// of it, and is as long as any other.
#[test]
fn a_group_without_anybody_is_told_locally_only() {
    let place = place("ledger-nobody", 500);
    let init = ["ledger", "init", "people.ledger", "--epsilon", "3", "--delta", "1e-6"];
    let columns = COLUMNS.map(|word| if word == "a,b" { "a,b,Atlantis" } else { word });
    place.json(&[&init[..], &columns].concat());
    let declared = ["--label", "label", "--sensitive", "group", "--favourable", "high"];
    let classes = ["--classes", "a,b,Atlantis"];
    let described =
        place.run(&[&["data", "describe", "people.csv"], &declared[..], &classes[..]].concat());
    assert!(
        described.stdout.contains("nobody here is in group `Atlantis`"),
        "{}",
        described.stdout
    );
    let other: Vec<&str> =
        TRAIN.iter().map(|word| if *word == "a,b" { "a,b,Atlantis" } else { *word }).collect();
    let run = place.run(&[&other[..], &["--epsilon", "1", "--out", "run"]].concat());
    assert_eq!(run.status, 0, "{}", run.stderr);
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(!said.contains("nobody here") && !said.contains("Atlantis"), "{said}");
}

/// Values of s that stand out, in rows that are trained on and rows that are held out: they are in
/// nothing that a private run writes or says, whatever it is asked to say, and in no error.
#[test]
fn a_canary_is_never_seen() {
    let place = Place::new("ledger-canary");
    place.write("people.csv", with_canary());
    init(&place, "2");
    let said = |ran: &Ran| format!("{}{}", ran.stdout, ran.stderr);
    let exact: Vec<&str> =
        TRAIN.iter().copied().filter(|w| *w != "--method" && *w != "one-shot").collect();
    let runs: [Vec<&str>; 5] = [
        [&TRAIN[..], &["--epsilon", "0.4", "--out", "first"]].concat(),
        [&exact[..], &["--epsilon", "0.4", "--rounds", "4", "--out", "second", "--json"]].concat(),
        [&TRAIN[..], &["--epsilon", "0.4", "--seed", "3", "--dry-run", "--json"]].concat(),
        // Errors: too much, and a label that is not there.
        [&TRAIN[..], &["--epsilon", "9", "--json"]].concat(),
        [&TRAIN[..], &["--epsilon", "0.1", "--favourable", "nobody"]].concat(),
    ];
    let mut text = String::new();
    let mut statuses = Vec::new();
    for run in &runs {
        let ran = place
            .command(run)
            .env("RUST_LOG", "trace")
            .env("RUST_BACKTRACE", "full")
            .output()
            .unwrap();
        let ran = Ran::new(&ran);
        statuses.push(ran.status);
        text += &said(&ran);
    }
    assert_eq!(statuses[..4], [0, 0, 0, 4], "{text}");
    for command in [
        "ledger show people.ledger --html page.html",
        "ledger verify people.ledger",
        "ledger export people.ledger",
        "privacy sheet first --ledger people.ledger",
        "privacy explain first",
    ] {
        let ran = place.run(&command.split(' ').collect::<Vec<_>>());
        assert_eq!(ran.status, 0, "{command}: {}", ran.stderr);
        text += &said(&ran);
    }
    let mut files = 0;
    everything(&place.path(""), &mut |path, bytes| {
        if !path.ends_with("people.csv") {
            files += 1;
            text += &String::from_utf8_lossy(&bytes);
        }
    });
    assert!(files > 10 && text.len() > 10_000, "{files} files");
    assert!(!text.contains(CANARY), "somebody saw it");
    ["first", "second"].into_iter().for_each(|run| nothing_is_by_group(&place, run));
}

/// Of a class that is not among the declared ones, so that its name is secret too.
const CANARY: &str = "Zanzibar7319";

/// Every tenth person has it.
fn with_canary() -> String {
    let canary = format!(",{CANARY},");
    let people: String = pairs(0..500)
        .lines()
        .enumerate()
        .map(|(row, line)| match row % 10 {
            3 => line.replace(",a,", &canary).replace(",b,", &canary) + "\n",
            _ => line.to_owned() + "\n",
        })
        .collect();
    assert_eq!(people.matches(CANARY).count(), 50);
    people
}

/// Of any rows.
fn nothing_is_by_group(place: &Place, run: &str) {
    let metrics: Value = serde_json::from_str(&place.read(&format!("{run}/metrics.json"))).unwrap();
    for report in ["test", "baseline"] {
        let report = &metrics[report];
        assert_eq!(report["groups"].as_array().unwrap().len(), 0);
        for metric in [
            "demographic_parity",
            "equalized_odds",
            "equal_opportunity",
            "chi_square",
            "chi_square_soft",
            "demographic_parity_marginal",
        ] {
            assert!(report[metric].is_null() && report["intervals"][metric].is_null(), "{metric}");
        }
    }
}

fn everything(folder: &Path, seen: &mut dyn FnMut(&Path, Vec<u8>)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            everything(&path, seen);
        } else {
            seen(&path, fs::read(&path).unwrap());
        }
    }
}

#[test]
fn a_sheet_is_signed_before_and_kept_beside_the_receipts() {
    let place = place("ledger-sheet", 300);
    init(&place, "3");
    let plan = place.run(&[&TRAIN[..], &["--epsilon", "1", "--dry-run", "--json"]].concat());
    place.write("plan.json", plan.stdout);
    let sheet =
        ["privacy", "sheet", "plan.json", "--ledger", "people.ledger", "--html", "sheet.html"];
    let before = place.run(&sheet);
    assert_eq!(before.status, 0, "{}", before.stderr);
    for part in [
        "What will be asked",
        "Of whom",
        "Budget",
        "epsilon 3 at delta 1e-6",
        "leaves in the clear",
        "not protected",
        "Who agreed",
        "*store*",
        "*unit*",
        "*release*",
        "*cell*",
    ] {
        assert!(before.stdout.contains(part), "{part}: {}", before.stdout);
    }
    assert!(place.read("sheet.html").contains("<h2>Who agreed</h2>"));
    assert!(!before.stdout.contains("Receipts"));
    place.json(&[&TRAIN[..], &["--epsilon", "1", "--out", "first"]].concat());
    let after = place.run(&["privacy", "sheet", "first", "--ledger", "people.ledger"]).stdout;
    assert!(after.contains("## Receipts") && after.contains("What was asked"), "{after}");
    let wrong = place.run(&["privacy", "sheet", "people.csv"]);
    assert_eq!((wrong.status, wrong.stderr.contains("not a plan")), (3, true));
}

/// `docs/LEDGER.md`: every command of the walk is run, in order, and prints what stands there. A line
/// `...` stands for any lines.
#[test]
fn a_signed_off_year_is_what_the_program_prints() {
    let document = include_str!("../../../../docs/LEDGER.md");
    let place = Place::new("ledger-year");
    place.write("people-2027.csv", pairs(0..600));
    place.write("people-2028.csv", pairs(0..900));
    let blocks =
        document.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let mut commands = 0;
    for block in blocks {
        for step in block.split("$ steffle ").skip(1) {
            let (typed, shown) = step.split_once('\n').unwrap();
            let (words, file) = match typed.split_once(" > ") {
                Some((words, file)) => (words, Some(file)),
                None => (typed, None),
            };
            let words: Vec<&str> = words.split_whitespace().collect();
            // Two months between any two steps.
            let time = 1_799_000_000_u64 + commands * 60 * 86_400;
            let mut command = place.command(&words);
            let ran =
                Ran::new(&command.env("SOURCE_DATE_EPOCH", time.to_string()).output().unwrap());
            commands += 1;
            if let Some(file) = file {
                assert_eq!(ran.status, 0, "$ steffle {typed}: {}", ran.stderr);
                place.write(file, ran.stdout);
                continue;
            }
            let printed = masked(&(ran.stdout + &ran.stderr));
            let shown = masked(shown);
            assert!(
                shows(&shown, &printed),
                "$ steffle {typed}\nprints\n{}\nnot\n{}",
                printed.join("\n"),
                shown.join("\n")
            );
        }
    }
    assert!(commands >= 12, "{commands}");
}

/// Names of stores and hashes of noisy replies are never the same twice.
fn masked(text: &str) -> Vec<String> {
    let random = |word: &str| word.len() >= 8 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let word = |word: &str| {
        let random = random(word.trim_matches(['"', ',', ':']));
        if random { "RANDOM".to_owned() } else { word.to_owned() }
    };
    let line =
        |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ").trim_end().to_owned();
    text.trim().lines().map(line).collect()
}
