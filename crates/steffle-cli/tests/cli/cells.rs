//! Small cells of conditional parity: one rule for all methods, that reads no sensitive value and is said.

use serde_json::{Value, json};

use crate::harness::{Place, pairs};
use crate::sites::model;

const COLUMNS: [&str; 8] =
    ["--label", "label", "--sensitive", "group", "--classes", "a,b", "--favourable", "high"];
const METHODS: [&[&str]; 4] = [
    &["--rounds", "3", "--epsilon", "5"],
    &["--method", "one-shot", "--epsilon", "5"],
    &["--method", "randomised-response", "--epsilon", "5"],
    &["--method", "fermi"],
];

/// Two regions of many rows, a reef of one row in 50, and as many rocks of a row each.
fn with_islands(rows: std::ops::Range<u64>) -> String {
    let mut csv = String::new();
    for (at, line) in pairs(rows).lines().enumerate() {
        let island = match at {
            0 => None,
            _ if at % 50 == 0 => Some("reef".to_owned()),
            _ if at % 25 == 0 => Some(format!("rock {at}")),
            _ => None,
        };
        let line = island.map_or(line.to_owned(), |island| {
            line.replace("hill", &island).replace("plain", &island)
        });
        csv += &line;
        csv.push('\n');
    }
    csv
}

fn small(report: &Value) -> &Value {
    &report["cells"]["small"]
}

#[test]
fn small_cells_are_pooled_by_counts_of_rows_and_said() {
    let place = Place::new("small-cells");
    let rows = with_islands(0..1200);
    place.write("people.csv", &rows);
    let notion = ["--notion", "conditional:region", "--force", "--out", "run"];
    let mut found = Vec::new();
    for method in METHODS {
        let flags = [&["train", "--data", "people.csv"], &COLUMNS[..], &notion, method].concat();
        let report = place.json(&flags);
        assert_eq!(report["cells"]["column"], "region", "{method:?}");
        found.push(report["cells"].clone());
        let rows = small(&report)["rows"].as_u64().unwrap();
        let warning = report["warnings"].to_string();
        for words in ["given `region` there are 4 cells", &format!("{rows} rows in all, are one")] {
            assert!(warning.contains(words), "{method:?}: {warning}");
        }
        let card = place.read("run/MODEL_CARD.md").replace('\n', " ");
        assert!(card.contains("within 4 cells, by `region`; "), "{method:?}: {card}");
        assert!(card.contains(&format!("{rows} rows in all, are one of them.")), "{method:?}");
    }
    assert!(found.iter().all(|cells| *cells == found[0]), "{found:?}");
    // Of 900 training rows 9 are one in 100: the reef has more.
    assert_eq!(found[0]["small"]["below"], 9);
    // Another sensitive column changes no cell.
    place.write(
        "people.csv",
        rows.replace(",a,", ",z,").replace(",b,", ",a,").replace(",z,", ",b,"),
    );
    let flags = ["train", "--data", "people.csv", "--method", "fermi"];
    let turned = place.json(&[&flags[..], &COLUMNS, &notion].concat());
    assert_eq!(turned["cells"], found[0]);
}

#[test]
fn a_flag_says_what_is_small_and_too_few_together_are_in_no_cell() {
    let place = Place::new("smallest-cell");
    place.write("people.csv", with_islands(0..1200));
    let flags = ["train", "--data", "people.csv", "--method", "fermi", "--force", "--out", "run"];
    let flags = [&flags[..], &COLUMNS, &["--notion", "conditional:region"]].concat();
    let all = place.json(&[&flags[..], &["--smallest-stratum", "0"]].concat());
    assert_eq!(small(&all), &Value::Null);
    assert!(!all["warnings"].to_string().contains("cells"), "{}", all["warnings"]);
    let none = place.json(&[&flags[..], &["--smallest-stratum", "100"]].concat());
    assert_eq!(
        (none["cells"]["count"].clone(), small(&none)["pooled"].clone()),
        (json!(2), json!(false))
    );
    assert!(none["warnings"].to_string().contains("are in no cell"), "{}", none["warnings"]);
    let card = place.read("run/MODEL_CARD.md");
    assert!(card.contains("are in none of them."), "{card}");
    // Values that were small are known to the model afterwards, others are not.
    let judged = place.run(&["evaluate", "run", "people.csv"]);
    assert_eq!(judged.status, 0, "{}", judged.stderr);
    place.write("later.csv", with_islands(0..1200).replace("reef", "cliff"));
    let refused = place.run(&["evaluate", "run", "later.csv"]);
    assert_eq!(refused.status, 3, "{}", refused.stderr);
}

/// Sites each know their own counts only; the sum decides, under masks as well, to the bit.
#[test]
fn sites_have_the_cells_of_their_sum() {
    let place = Place::new("cells-of-sites");
    place.write("people.csv", with_islands(0..1200));
    let made = ["data", "partition", "people.csv", "--out", "parts", "--silos", "3", "--rare", "0"];
    assert_eq!(place.run(&[&made[..], &COLUMNS].concat()).status, 0);
    let job = place.read("parts/job.toml");
    place.write("parts/job.toml", job.replace("[recipe]\n", "[recipe]\nstratum = \"region\"\n"));
    let flags = ["train", "--data", "parts/job.toml", "--force", "--out", "run", "--epsilon", "5"];
    let flags = [&flags[..], &["--method", "one-shot", "--notion", "conditional:region"]].concat();
    let here = place.json(&flags);
    let wanted = model(&place, "run");
    assert!(small(&here)["rows"].as_u64().unwrap() > 0, "{here}");
    for more in [&["--processes"][..], &["--processes", "--secure-aggregation"]] {
        let there = place.json(&[&flags[..], more].concat());
        assert_eq!(there["cells"], here["cells"], "{more:?}");
        assert_eq!(model(&place, "run"), wanted, "{more:?}");
    }
}
