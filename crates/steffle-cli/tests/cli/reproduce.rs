//! `steffle reproduce`: everything that a figure leaves behind, and what is absent.

use std::fmt::Write as _;
use std::fs;

use crate::harness::Place;

#[test]
fn a_figure_leaves_data_pictures_and_a_page() {
    let place = Place::new("reproduce-figure");
    let arguments = ["reproduce", "figure-5", "--quick", "--seeds", "1", "--out", "out"];
    let told = place.json(&arguments);
    let panels = told["study"]["panels"].as_array().unwrap();
    assert_eq!(panels.len(), 4, "two epsilons, two levels of heterogeneity");
    for panel in panels {
        let labels: Vec<&str> = panel["curves"]
            .as_array()
            .unwrap()
            .iter()
            .map(|curve| curve["label"].as_str().unwrap())
            .collect();
        for label in
            ["one-shot", "SteFFLe, exact noise", "SteFFLe, paper's noise", "FedFDP", "PF-LD"]
        {
            assert!(labels.contains(&label), "{}: {labels:?}", panel["id"]);
        }
        // Central and non-private methods stand in every panel.
        for label in ["DP-FERMI", "FERMI (not private)", "ERM (not fair)", "FedAvg (not fair)"] {
            assert!(labels.contains(&label), "{}: {labels:?}", panel["id"]);
        }
        let id = panel["id"].as_str().unwrap();
        assert!(place.read(&format!("out/figures/{id}.svg")).starts_with("<svg"));
        let png = fs::read(place.path(&format!("out/figures/{id}.png"))).unwrap();
        assert!(png.starts_with(b"\x89PNG"), "{id}");
        let curve = |label: &str| {
            let curves = panel["curves"].as_array().unwrap();
            curves.iter().find(|curve| curve["label"] == label).unwrap()["privacy"].clone()
        };
        // The paper's noise does not give what it claims; the figure says both.
        let paper = curve("SteFFLe, paper's noise");
        assert_eq!(paper["claimed_epsilon"], panel["epsilon"]);
        assert!(paper["honest_epsilon"].as_f64() > panel["epsilon"].as_f64());
        assert_eq!(curve("one-shot")["honest_epsilon"], panel["epsilon"]);
        assert!(curve("FERMI (not private)")["honest_epsilon"].is_null());
    }
    let page = place.read("out/report.html");
    assert!(page.contains("one-shot") && !page.contains("src=\"http"));
    let lines = place.read("out/results.jsonl");
    let describe = ["data", "describe", "out/results.parquet", "--label", "method"];
    let table =
        place.json(&[&describe[..], &["--sensitive", "data", "--missing", "category"]].concat());
    assert_eq!(table["rows"].as_u64().unwrap() as usize, lines.lines().count());

    // The same command again runs nothing.
    place.json(&arguments);
    assert_eq!(place.read("out/results.jsonl"), lines);
}

#[test]
fn the_theorem_has_four_axes_with_slopes() {
    let place = Place::new("reproduce-theory");
    let told = place.json(&["reproduce", "theory", "--quick", "--seeds", "2", "--out", "out"]);
    let panels = told["study"]["panels"].as_array().unwrap();
    assert_eq!(panels.len(), 4);
    for panel in panels {
        let curve = &panel["curves"][0];
        assert!(curve["points"].as_array().unwrap().len() >= 5);
        let fit = &curve["fit"];
        assert!(fit["low"].as_f64() < fit["high"].as_f64());
        assert!(fit["predicted"].is_number());
    }
    let refused = place.run(&["reproduce", "theory", "--quick", "--seeds", "1"]);
    assert_eq!(refused.status, 2, "an interval needs two seeds");
    assert!(refused.stderr.contains("2 seeds or more"), "{}", refused.stderr);
    let refused = place.run(&["reproduce", "theory", "--quick", "--threads", "0"]);
    assert_eq!(refused.status, 2, "{}", refused.stderr);
}

#[test]
fn retired_adult_is_clearly_absent() {
    let place = Place::new("reproduce-absent");
    let ran = place.run(&["reproduce", "figure-4", "--quick"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("--retired-adult FILE"), "{}", ran.stderr);
    let missing = ["reproduce", "figure-4", "--retired-adult", "nowhere.csv"];
    assert_eq!(place.run(&missing).status, 3);
    place.write("there.csv", "age\n1\n");
    let useless = place.run(&["reproduce", "figure-5", "--retired-adult", "there.csv"]);
    assert_eq!(useless.status, 2, "{}", useless.stderr);
}

/// Made-up rows in the columns of the real file.
fn retired_adult(rows: u32) -> String {
    let mut text = "age,hours-per-week,education,race,gender,income\n".to_owned();
    for row in 0..rows {
        let (age, hours) = (18 + row * 7 % 60, 10 + row * 11 % 50);
        let (school, race) = (["low", "middle", "high"][row as usize % 3], row * 5 % 4);
        let man = row * 13 % 7 < 4;
        let income =
            20_000 + age * 400 + hours * 300 + if man { 9000 } else { 0 } + row * 31 % 9000;
        let gender = if man { "Male" } else { "Female" };
        writeln!(text, "{age},{hours},{school},r{race},{gender},{income}").unwrap();
    }
    text
}

#[test]
fn retired_adult_joins_when_it_is_supplied() {
    let place = Place::new("reproduce-retired");
    place.write("retired.csv", retired_adult(3000));
    let arguments =
        ["reproduce", "figure-4", "--quick", "--seeds", "1", "--retired-adult", "retired.csv"];
    let told = place.json(&[&arguments[..], &["--out", "out"]].concat());
    let panels = told["study"]["panels"].as_array().unwrap();
    assert_eq!(panels.len(), 6, "three epsilons, two levels of heterogeneity");
    assert!(panels.iter().all(|panel| panel["data"] == "retired-adult"));

    // Too few rows for three silos: failures are not hidden behind an empty picture.
    place.write("few.csv", retired_adult(2));
    let few = ["reproduce", "figure-4", "--quick", "--seeds", "1", "--retired-adult", "few.csv"];
    let ran = place.run(&[&few[..], &["--out", "few"]].concat());
    assert_eq!(ran.status, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("runs failed"), "{}", ran.stderr);
    assert!(place.read("few/report.html").contains("runs failed"));
}
