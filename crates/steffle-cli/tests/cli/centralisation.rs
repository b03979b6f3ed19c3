//! Three groups, three labels, two cells, unequal silos and a network, in every centralisation.

use serde_json::Value;

use crate::harness::{Place, columns, pairs, people};

/// Records of the three silos.
const CUTS: [std::ops::Range<u64>; 3] = [0..60, 60..210, 210..300];

const SETTINGS: [&str; 20] = [
    "--label",
    "label",
    "--sensitive",
    "group",
    "--model",
    "mlp:8",
    "--notion",
    "conditional:region",
    "--mode",
    "none",
    "--server",
    "plain",
    "--rounds",
    "60",
    "--batch",
    "all",
    "--lambda",
    "2",
    "--test",
    "test.csv",
];

fn write(place: &Place, name: &str, rows: std::ops::Range<u64>) {
    let csv = people(rows);
    place.write(&format!("records-{name}.csv"), columns(&csv, |column| column != "group"));
    let attributes = columns(&csv, |column| column == "record_id" || column == "group");
    place.write(&format!("attributes-{name}.csv"), attributes);
}

/// Trains and returns the report and the probabilities on the test rows.
fn train(
    place: &Place,
    out: &str,
    records: &[&str],
    attributes: &[&str],
    who: &str,
) -> (Value, Vec<f64>) {
    let command = [&["train", "--out", out, "--centralisation", who], &SETTINGS[..]].concat();
    let command = [&command[..], &["--records"], records, &["--attributes"], attributes].concat();
    let report = place.json(&command);
    let predicted = place.run(&["predict", out, "test.csv"]);
    assert_eq!(predicted.status, 0, "{}", predicted.stderr);
    let cells = predicted.stdout.lines().skip(1).flat_map(|line| line.split(',').skip(2));
    (report, cells.map(|cell| cell.parse().unwrap()).collect())
}

#[test]
fn every_centralisation_gives_the_pooled_model() {
    let place = Place::new("centralisation");
    place.write("test.csv", people(300..400));
    write(&place, "all", 0..300);
    for (name, rows) in ["1", "2", "3"].into_iter().zip(CUTS) {
        write(&place, name, rows);
    }
    // Two holders with another cut; a third that holds none of the records.
    write(&place, "p", 0..130);
    write(&place, "q", 130..300);
    write(&place, "none", 9000..9040);
    let three = ["records-1.csv", "records-2.csv", "records-3.csv"];
    let own = ["attributes-1.csv", "attributes-2.csv", "attributes-3.csv"];
    let crossed = ["attributes-p.csv", "attributes-q.csv", "attributes-none.csv"];

    let (pooled, expected) =
        train(&place, "pooled", &["records-all.csv"], &["attributes-all.csv"], "one-silo");
    assert_eq!(pooled["silos"], 1);
    assert_eq!(pooled["model"], "mlp:8");
    assert_eq!(pooled["test"]["groups"].as_array().unwrap().len(), 3);
    assert_eq!(pooled["labels"].as_array().unwrap().len(), 3);
    let cases: [(&str, &[&str], &str); 3] = [
        ("silos", &own, "silos"),
        ("central", &["attributes-all.csv"], "central-attributes"),
        ("general", &crossed, "general:3"),
    ];
    for (out, attributes, who) in cases {
        let (report, found) = train(&place, out, &three, attributes, who);
        assert_eq!(report["silo_rows"], serde_json::json!([60, 150, 90]), "{who}");
        assert_eq!(report["centralisation"], who);
        assert_eq!(found.len(), expected.len());
        // Sums in another order, sixty rounds long, through a network.
        let worst = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst < 1e-6, "{who}: probabilities differ by {worst}");
    }
}

#[test]
fn files_say_their_centralisation_themselves() {
    let place = Place::new("centralisation-files");
    place.write("people.csv", people(0..400));
    let parts = ["data", "partition", "people.csv", "--label", "label", "--sensitive", "group"];
    let cuts: [(&str, &[&str], &str); 4] = [
        ("whole", &[], "silos"),
        ("split", &["--split"], "silos"),
        ("one", &["--holders", "1"], "central-attributes"),
        ("three", &["--holders", "3"], "general:3"),
    ];
    for (out, flags, who) in cuts {
        place.json(&[&parts[..], flags, &["--out", out]].concat());
        let job = format!("{out}/job.toml");
        let run =
            place.json(&["train", "--data", &job, "--rounds", "5", "--out", "run", "--force"]);
        assert_eq!(run["centralisation"], who, "{out}");
        assert_eq!(run["silos"], 3);
        assert_eq!(run["rows"]["train"], 300);
    }
    let wrong = place.run(&["train", "--data", "one/job.toml", "--centralisation", "silos"]);
    assert!(wrong.stderr.contains("error[steffle::config::conflict]"), "{}", wrong.stderr);
}

#[test]
fn one_table_is_cut_for_every_centralisation() {
    let place = Place::new("centralisation-table");
    for who in ["one-silo", "silos", "central-attributes", "general:2"] {
        let flags = ["train", "--rounds", "20", "--centralisation", who, "--out", "run", "--force"];
        let run = place.json(&flags);
        assert_eq!(run["centralisation"], who);
        assert_eq!(run["silos"], if who == "one-silo" { 1 } else { 3 });
    }
}

/// A trip is a request with its replies: a round takes one, and two where attributes are elsewhere.
#[test]
fn trips_over_the_wire_are_counted() {
    let place = Place::new("centralisation-trips");
    let data = place.write("people.csv", pairs(0..300));
    let flags = ["train", "--data", data.to_str().unwrap(), "--label", "label", "--sensitive"];
    let flags = [&flags[..], &["group", "--classes", "a,b", "--silos", "3"]].concat();
    let trips = |more: &[&str]| {
        let run = place.json(&[&flags[..], more, &["--out", "run", "--force"]].concat());
        run["rounds_on_the_wire"].as_u64()
    };
    let fit = trips(&["--method", "erm"]).unwrap();
    assert!(fit > 5, "{fit}");
    let rounds = ["--epsilon", "3", "--rounds", "4"];
    assert_eq!(trips(&rounds), Some(fit + 7), "opening, a census and four rounds, closing");
    let elsewhere = [&rounds[..], &["--centralisation", "central-attributes"]].concat();
    assert_eq!(trips(&elsewhere), Some(fit + 12));
    // Opening, a release, closing, two estimates of the gap, and at least one evaluation of the fair objective.
    let once = trips(&["--method", "one-shot", "--epsilon", "3"]).unwrap();
    assert!(once > fit + 5, "{once} after {fit}");
    assert_eq!(trips(&["--method", "fedavg", "--rounds", "2"]), None, "silos train by themselves");
}

/// What a run costs over a network is its trips: most were those of the unconstrained model.
#[test]
fn default_runs_take_few_trips() {
    let place = Place::new("centralisation-few-trips");
    for (flags, most) in [
        (&["--data", "adult"][..], 45),
        (&["--data", "credit-card"], 55),
        (&["--method", "one-shot", "--lambda", "1"], 30),
    ] {
        let run = place.json(&[&["train", "--out", "run", "--force"], flags].concat());
        let trips = run["rounds_on_the_wire"].as_u64().unwrap();
        assert!(trips <= most, "{flags:?}: {trips}");
    }
}

/// The plan's bound on trips holds for every way that a run can go, and is no larger where it is exact.
#[test]
fn plans_say_how_many_trips_there_are_at_most() {
    let place = Place::new("centralisation-most-trips");
    let data = place.write("people.csv", pairs(0..300));
    let flags = ["train", "--data", data.to_str().unwrap(), "--label", "label", "--sensitive"];
    let flags = [&flags[..], &["group", "--classes", "a,b", "--silos", "3"]].concat();
    let asked = |more: &[&str], last: &[&str]| place.json(&[&flags[..], more, last].concat());
    let number = |run: &serde_json::Value, name: &str| run[name].as_u64();
    let bound = |more: &[&str]| number(&asked(more, &["--dry-run"]), "rounds_on_the_wire_at_most");
    let trips =
        |more: &[&str]| number(&asked(more, &["--out", "run", "--force"]), "rounds_on_the_wire");
    let fit = bound(&["--method", "erm"]).unwrap();
    assert_eq!(fit, 36, "describing, joining and 34 trips of the fit");
    for more in [
        &["--method", "erm"][..],
        &["--rounds", "4"],
        &["--rounds", "4", "--centralisation", "central-attributes"],
        &["--method", "one-shot", "--lambda", "100"],
        &["--method", "one-shot", "--pool", "--secure-aggregation"],
        &["--method", "one-shot", "--centralisation", "general:2"],
        &["--method", "one-shot", "--target-gap", "0.05", "--epsilon", "9"],
        &["--method", "randomised-response", "--epsilon", "1", "--model", "mlp:3"],
        &["--method", "fermi", "--lambda", "30", "--centralisation", "central-attributes"],
    ] {
        let (most, made) = (bound(more).unwrap(), trips(more).unwrap());
        assert!(made <= most, "{more:?}: {made} trips, at most {most} were announced");
    }
    let four = |more: &[&str]| bound(&[&["--rounds", "4"][..], more].concat()).unwrap() - fit;
    assert_eq!(four(&[]), 7, "opening, a census and four rounds, closing");
    assert_eq!(four(&["--centralisation", "central-attributes"]), 12);
    assert_eq!(bound(&["--method", "fedavg"]), None, "silos train by themselves");
}
