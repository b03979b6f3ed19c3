//! `steffle reproduce`: everything that a figure leaves behind, and what is absent.

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
    let table = place.json(&["data", "describe", "out/results.parquet", "--label", "method"]);
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
}

#[test]
fn retired_adult_is_clearly_absent() {
    let place = Place::new("reproduce-absent");
    let ran = place.run(&["reproduce", "figure-4", "--quick"]);
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("--retired-adult FILE"), "{}", ran.stderr);
}
