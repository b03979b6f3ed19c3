//! Every mode and method with every model, notion and centralisation: each runs to its end and
//! says of its privacy what is true.

use std::fmt::Write as _;

use serde_json::Value;
use steffle_front::NOT_FAIRER;
use steffle_privacy::{Delta, Epsilon, discrete};

use crate::harness::{Place, columns, pairs, people};

const MEANING: [&str; 8] =
    ["--data", "people.csv", "--label", "label", "--sensitive", "group", "--favourable", "high"];
/// The groups of `people` and of `pairs`.
const THREE: [&str; 2] = ["--classes", "a,b,c"];
const TWO: [&str; 2] = ["--classes", "a,b"];
const NOTIONS: [&str; 4] =
    ["demographic-parity", "equalized-odds", "equal-opportunity", "conditional:region"];
const HOLDERS: [&str; 4] = ["one-silo", "silos", "central-attributes", "general:2"];

/// The flags of a mode, the kind of privacy that it reports, and whether its claim holds.
type Claim = (&'static [&'static str], &'static str, bool);

const MODES: [Claim; 5] = [
    (&["--mode", "exact"], "simulation", true),
    (&["--mode", "exact", "--batch", "50"], "simulation", true),
    (&["--mode", "poisson", "--batch", "50"], "simulation", true),
    (&["--mode", "none"], "none", false),
    (&["--mode", "paper", "--epsilon", "2", "--batch", "50"], "simulation", false),
];

const METHODS: [Claim; 2] = [
    (&["--method", "randomised-response", "--epsilon", "1"], "simulation", true),
    (&["--method", "fermi"], "none", false),
];

fn number(value: &Value, pointer: &str) -> f64 {
    value.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{pointer}: {value}"))
}

/// mu of the (epsilon, delta) that a report states.
fn budget(run: &Value) -> f64 {
    let epsilon = Epsilon::try_from(number(run, "/privacy/epsilon")).unwrap();
    let delta = Delta::try_from(number(run, "/privacy/delta")).unwrap();
    discrete::budget(epsilon, delta).unwrap().value()
}

/// Trains with `flags` and compares what is said of privacy with `claim`.
fn runs(place: &Place, flags: &[&str], claim: Claim) -> Value {
    let (own, kind, holds) = claim;
    let run = place.json(&[&["train", "--out", "run", "--force"], flags, own].concat());
    assert_eq!(run["privacy"]["kind"], kind, "{flags:?} {own:?}");
    assert_eq!(run["privacy"]["holds"], holds, "{flags:?} {own:?}");
    let error = number(&run, "/test/error");
    assert!((0.0..=1.0).contains(&error), "{flags:?} {own:?}: {error}");
    if own.contains(&"exact") {
        let (spent, all) = (number(&run, "/spent_mu"), budget(&run));
        assert!(spent > 0.0 && spent <= all, "{flags:?} {own:?}: {spent} of {all}");
    }
    run
}

/// One notion and centralisation of `model` under `claims`.
fn each(place: &Place, model: &str, notion: &str, who: &str, claims: &[Claim]) {
    for &claim in claims {
        let flags = ["--model", model, "--notion", notion, "--centralisation", who];
        // The optimum of fermi and randomised response has no rounds to set.
        let rounds: &[&str] = if claim.0.contains(&"--mode") { &["--rounds", "3"] } else { &[] };
        let classes = if model == "logistic" { TWO } else { THREE };
        let run = runs(place, &[&MEANING, &classes[..], &flags, rounds].concat(), claim);
        // Fermi is central: it says so whatever was asked for.
        let expected = if claim.0.contains(&"fermi") { "one-silo" } else { who };
        assert_eq!(run["centralisation"], expected, "{claim:?}");
        assert_eq!(run["model"], model);
    }
}

/// All notions and centralisations of `model`: in all modes, and each of both once by the methods
/// that know no rounds.
fn sweep(place: &Place, model: &str) {
    for (at, notion) in NOTIONS.into_iter().enumerate() {
        for who in HOLDERS {
            each(place, model, notion, who, &MODES);
        }
        each(place, model, notion, HOLDERS[at], &METHODS);
    }
}

#[test]
fn softmax_runs_in_every_mode_with_three_groups_and_labels() {
    let place = Place::new("modes-softmax");
    place.write("people.csv", people(0..600));
    sweep(&place, "softmax");
}

#[test]
fn a_network_runs_in_every_mode_with_three_groups_and_labels() {
    let place = Place::new("modes-mlp");
    place.write("people.csv", people(0..600));
    sweep(&place, "mlp:8");
}

#[test]
fn logistic_regression_runs_in_every_mode_with_two_labels() {
    let place = Place::new("modes-logistic");
    place.write("people.csv", pairs(0..600));
    for (notion, who) in NOTIONS.into_iter().zip(HOLDERS) {
        each(&place, "logistic", notion, who, &MODES);
        each(&place, "logistic", notion, who, &METHODS);
    }
}

#[test]
fn secure_noise_is_private_where_the_claim_holds() {
    let place = Place::new("modes-secure");
    place.write("people.csv", people(0..600));
    for (flags, _, holds) in MODES.into_iter().filter(|(_, _, holds)| *holds) {
        let secure = [&MEANING[..], &THREE, &["--rounds", "3", "--noise", "secure"]].concat();
        runs(&place, &secure, (flags, "private", holds));
    }
}

/// Three rows per person, who has one group: the person is the neighbour.
#[test]
fn several_rows_of_one_person_are_one_neighbour_in_exact_mode() {
    let place = Place::new("modes-unit");
    let mut csv = String::new();
    for (at, line) in people(0..200).lines().enumerate() {
        let copies = if at == 0 { 1 } else { 3 };
        for copy in 0..copies {
            // Ids are unique; the person is a column of its own.
            match line.split_once(',') {
                Some((_, rest)) if at == 0 => writeln!(csv, "record_id,person,{rest}").unwrap(),
                Some((id, rest)) => writeln!(csv, "{at}{copy},p{id},{rest}").unwrap(),
                None => panic!("{line}"),
            }
        }
    }
    place.write("people.csv", csv);
    for who in HOLDERS {
        let flags = ["--unit", "person", "--rounds", "3", "--centralisation", who];
        let run = runs(&place, &[&MEANING, &THREE[..], &flags].concat(), MODES[0]);
        let statement = run["privacy"]["statement"].to_string();
        assert!(statement.contains("every unit (up to 3 rows)"), "{statement}");
    }
}

/// Who told no group still trains the loss, and is a neighbour of who did.
#[test]
fn a_missing_group_is_a_value_like_another() {
    let place = Place::new("modes-missing");
    let unsaid = |rows: std::ops::Range<u64>| -> String {
        let tell = |(at, line): (usize, &str)| {
            let line = if at > 0 && at % 9 == 0 {
                line.replace(",a,", ",,").replace(",b,", ",,").replace(",c,", ",,")
            } else {
                line.to_owned()
            };
            line + "\n"
        };
        people(rows).lines().enumerate().map(tell).collect()
    };
    place.write("test.csv", unsaid(600..700));
    for (name, rows) in [("1", 0..250), ("2", 250..600)] {
        let csv = unsaid(rows);
        place.write(&format!("records-{name}.csv"), columns(&csv, |column| column != "group"));
        let attributes = columns(&csv, |column| column == "record_id" || column == "group");
        place.write(&format!("attributes-{name}.csv"), attributes);
    }
    let files = ["--records", "records-1.csv", "records-2.csv", "--attributes", "attributes-1.csv"];
    let flags = ["attributes-2.csv", "--test", "test.csv", "--label", "label", "--rounds", "3"];
    let flags = [&files[..], &flags, &["--sensitive", "group"], &THREE].concat();
    for who in ["silos", "general:2"] {
        for claim in MODES {
            let flags = [&flags[..], &["--centralisation", who]].concat();
            let run = runs(&place, &flags, claim);
            assert_eq!(run["rows"]["train"], 600, "{who} {claim:?}");
            assert_eq!(run["test"]["without_group"], 11, "{who} {claim:?}");
        }
    }
    // The same in a table that is cut here, and by every method that goes to an optimum.
    place.write("people.csv", unsaid(0..700));
    let methods: [&[&str]; 6] = [
        &["--rounds", "3"],
        &["--method", "one-shot"],
        &["--method", "randomised-response", "--epsilon", "1"],
        &["--method", "fermi"],
        &["--method", "fedavg", "--rounds", "2"],
        &["--method", "erm"],
    ];
    for missing in ["drop", "category"] {
        for method in methods {
            let flags = [&["train", "--missing", missing], &MEANING[..], &THREE, method].concat();
            let run = place.json(&[&flags[..], &["--out", "run", "--force"]].concat());
            let counts = ["train", "test", "dropped"].map(|name| run["rows"][name].as_u64());
            assert_eq!(counts, [Some(525), Some(175), Some(0)], "{missing} {method:?}");
        }
    }
}

/// Fixed seed: whether noise alone stays below 1 is chance, about even.
#[test]
fn noise_above_the_signal_is_said_in_exact_mode() {
    let place = Place::new("modes-weak");
    place.write("people.csv", pairs(0..400));
    let mut told = false;
    for seed in ["1", "2", "3", "4", "5", "6"] {
        let flags = ["--epsilon", "0.05", "--seed", seed];
        let run = runs(&place, &[&MEANING, &TWO[..], &flags].concat(), MODES[0]);
        let weak = number(&run, "/signal_to_noise") < 1.0;
        let said = run["warnings"].to_string().contains(NOT_FAIRER);
        assert_eq!(weak, said, "{}", run["warnings"]);
        told |= weak;
    }
    assert!(told, "noise of six seeds looks like a signal");
    let strong = runs(&place, &[&MEANING, &TWO[..], &["--epsilon", "50"]].concat(), MODES[0]);
    assert!(number(&strong, "/signal_to_noise") >= 10.0);
    assert!(!strong["warnings"].to_string().contains(NOT_FAIRER));
}
