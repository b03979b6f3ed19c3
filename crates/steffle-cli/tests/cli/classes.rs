//! Declared classes: what is public about a private run is no function of sensitive values.

use serde_json::{Value, json};

use crate::harness::{Place, columns, pairs, people};

const MEANING: [&str; 6] = ["--data", "people.csv", "--label", "label", "--sensitive", "group"];

/// Methods that claim privacy of the sensitive attribute.
const CLAIMING: [&[&str]; 6] = [
    &["--mode", "exact"],
    &["--mode", "poisson", "--batch", "20"],
    &["--method", "dp-fermi"],
    &["--method", "pf-ld", "--epsilon", "3"],
    &["--method", "one-shot"],
    &["--method", "randomised-response", "--epsilon", "1"],
];

/// Methods that do not.
const OPEN: [&[&str]; 8] = [
    &["--mode", "none", "--rounds", "2"],
    &["--mode", "paper", "--epsilon", "1", "--rounds", "2"],
    &["--method", "pf-ld", "--sign", "batch", "--epsilon", "3", "--epochs", "1"],
    &["--method", "fermi"],
    &["--method", "reductions"],
    &["--method", "fedavg", "--rounds", "2"],
    &["--method", "fedfdp", "--rounds", "2"],
    &["--method", "erm"],
];

#[test]
fn a_private_run_without_declared_classes_is_refused_before_any_work() {
    let place = Place::new("classes-undeclared");
    // The words for the groups occur nowhere else.
    place.write("people.csv", pairs(0..200).replace(",a,", ",zebra,").replace(",b,", ",yak,"));
    let before = place.names();
    for method in CLAIMING {
        for dry in [&[][..], &["--dry-run"]] {
            let arguments = [&["train", "--json"], &MEANING[..], method, dry].concat();
            let ran = place.run(&arguments);
            assert_eq!(ran.status, 2, "{method:?}: {}", ran.stderr);
            let told: Value = serde_json::from_str(&ran.stdout).unwrap();
            assert_eq!(told["error"]["code"], "steffle::data::classes", "{method:?}");
            assert!(told["error"]["message"].to_string().contains("`group`"), "{told}");
            let help = told["error"]["help"].to_string();
            assert!(help.contains("--classes") && help.contains("data describe"), "{help}");
            let all = ran.stdout + &ran.stderr;
            assert!(!all.contains("zebra") && !all.contains("yak"), "{all}");
        }
    }
    assert_eq!(place.names(), before, "something was left behind");
    for method in OPEN {
        let arguments = [&["train", "--out", "run", "--force"], &MEANING[..], method].concat();
        let run = place.json(&arguments);
        // That of fedfdp is about features and labels.
        assert!(run["privacy"]["holds"] == false || run["method"] == "fedfdp", "{method:?}");
        assert_eq!(run["test"]["groups"][1]["name"], "zebra", "{method:?}");
    }
    let declared = ["--classes", "yak,zebra", "--out", "run", "--force"];
    for method in CLAIMING {
        let run = place.json(&[&["train"], &MEANING[..], method, &declared].concat());
        assert_eq!(run["privacy"]["holds"], true, "{method:?}");
    }
}

#[test]
fn files_that_others_cut_need_them_too() {
    let place = Place::new("classes-files");
    let csv = pairs(0..200);
    place.write("records.csv", columns(&csv, |column| column != "group"));
    place.write("attributes.csv", columns(&csv, |name| name == "record_id" || name == "group"));
    place.write("test.csv", pairs(200..260));
    let files =
        ["--records", "records.csv", "--attributes", "attributes.csv", "--test", "test.csv"];
    let flags = ["train", "--label", "label", "--sensitive", "group", "--rounds", "2"];
    let refused = place.run(&[&flags[..], &files].concat());
    assert_eq!(refused.status, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("error[steffle::data::classes]"), "{}", refused.stderr);
    place.json(&[&flags[..], &files, &["--classes", "a,b"]].concat());
    // A job carries the classes that whoever cut the data declared, or found.
    place.write("people.csv", &csv);
    for (out, classes) in [("found", &[][..]), ("declared", &["--classes", "b,a,never"])] {
        let arguments = [&["data", "partition", "people.csv"], &MEANING[2..], classes].concat();
        place.json(&[&arguments[..], &["--out", out]].concat());
        let job = format!("{out}/job.toml");
        let plan = place.json(&["train", "--data", &job, "--dry-run"]);
        let expected =
            if classes.is_empty() { json!(["a", "b"]) } else { json!(["b", "a", "never"]) };
        assert_eq!(plan["classes"], expected, "{out}");
    }
    // A wrong job is wrong data, not a wrong command line.
    let job = place.read("found/job.toml");
    place.write("found/job.toml", job.replace("classes = [\"a\", \"b\"]", "classes = [\"a\"]"));
    let refused = place.run(&["train", "--data", "found/job.toml"]);
    assert_eq!(refused.status, 3, "{}", refused.stderr);
    assert!(refused.stderr.contains("error[steffle::data::classes]"), "{}", refused.stderr);
}

#[test]
fn named_data_sets_declare_theirs() {
    let place = Place::new("classes-named");
    for (flags, classes) in [
        ("", 2),
        ("--sensitive race", 5),
        ("--sensitive sex --sensitive race", 10),
        ("--data credit-card", 2),
        ("--data credit-card --sensitive MARRIAGE", 3),
        ("--data credit-card --sensitive SEX --sensitive EDUCATION", 8),
    ] {
        let arguments: Vec<&str> = flags.split_whitespace().collect();
        let plan = place.json(&[&["train", "--dry-run"], &arguments[..]].concat());
        assert_eq!(plan["classes"].as_array().unwrap().len(), classes, "{flags}");
        // What is declared does not leave a silo.
        let step = &plan["leaves_in_clear"][2];
        assert_eq!((&step["step"], &step["numbers"]), (&json!("labels"), &json!(2)), "{flags}");
    }
    let unknown = place.run(&["train", "--sensitive", "education", "--dry-run"]);
    assert!(unknown.status == 2 && unknown.stderr.contains("--classes"), "{}", unknown.stderr);
    let plan = place.json(&["train", "--sensitive", "age", "--classes", "30,40", "--dry-run"]);
    assert_eq!(plan["classes"], json!(["30", "40"]));
}

#[test]
fn declarations_that_cannot_be_meant_are_refused() {
    let place = Place::new("classes-wrong");
    place.write("people.csv", pairs(0..100));
    place.write("run.toml", "sensitive = [\"group\"]\nclasses = [\"a\"]\n");
    for (flags, status, words) in [
        ("--classes a", 2, "there are 1; allowed are 2 to 1000"),
        ("--classes a,b,a", 2, "`a` stands twice"),
        ("--sensitive region --classes a,b", 2, "`VALUE x VALUE`"),
        ("--mode none --classes a", 2, "there are 1"),
        ("--config run.toml", 3, "run.toml:2:11"),
    ] {
        let flags: Vec<&str> = flags.split(' ').collect();
        let ran = place.run(&[&["train"], &MEANING[..], &flags].concat());
        assert_eq!(ran.status, status, "{flags:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("error[steffle::data::classes]"), "{}", ran.stderr);
        assert!(ran.stderr.contains(words), "{flags:?}: {}", ran.stderr);
    }
    // Classes of a file belong to its columns, and go with them.
    place.write("run.toml", "data = \"people.csv\"\nlabel = \"label\"\nsensitive = [\"group\"]\nclasses = [\"a\", \"b\"]\n");
    let plan = place.json(&["train", "--config", "run.toml", "--dry-run"]);
    assert_eq!(plan["classes"], json!(["a", "b"]));
    let other = ["train", "--config", "run.toml", "--sensitive", "region", "--dry-run"];
    assert!(place.run(&other).stderr.contains("data::classes"));
    let plan = place.json(&[&other[..], &["--classes", "hill,plain"]].concat());
    assert_eq!(plan["classes"], json!(["hill", "plain"]));
}

#[test]
fn a_value_that_is_not_declared_counts_as_missing() {
    let place = Place::new("classes-outside");
    place.write("people.csv", people(0..400));
    let run = |name: &str, flags: &[&str]| {
        let own = ["train", "--out", name, "--classes", "a,b"];
        place.json(&[&own[..], &MEANING, flags].concat())
    };
    for (name, flags) in [("private", &["--rounds", "3"][..]), ("open", &["--method", "fermi"])] {
        let outside = run(name, flags);
        let groups = outside["test"]["groups"].as_array().unwrap();
        assert_eq!(groups.len(), 2, "{name}");
        let inside: u64 = groups.iter().map(|group| group["records"].as_u64().unwrap()).sum();
        let without = outside["test"]["without_group"].as_u64().unwrap();
        assert!(without > 20 && inside + without == 100, "{name}: {inside} and {without}");
        // As if these cells were empty.
        place.write("people.csv", people(0..400).replace(",c,", ",,"));
        let empty = run(&format!("{name}-empty"), flags);
        assert_eq!(outside["test"], empty["test"], "{name}");
        place.write("people.csv", people(0..400));
    }
    place.write("more.csv", people(400..450));
    let judged = place.json(&["evaluate", "private", "more.csv"]);
    assert!(judged["without_group"].as_u64().unwrap() > 5, "{judged}");
    assert_eq!(judged["records"], 50);
}

/// Whatever is known before training is the same for neighbours: the whole plan, to the letter.
#[test]
fn the_plan_of_a_private_run_is_no_function_of_s() {
    let place = Place::new("classes-neighbours");
    let csv = pairs(0..120);
    let plans = |csv: &str| -> Vec<Value> {
        place.write("people.csv", csv);
        let flags = [&["train", "--dry-run", "--classes", "a,b"], &MEANING[..]].concat();
        let cut = ["--heterogeneity", "0.5", "--partition-by", "score", "--validation", "0.1"];
        let plan = |method: &&[&str]| {
            let central = method.contains(&"dp-fermi") || method.contains(&"pf-ld");
            let cut = if central { &cut[4..] } else { &cut };
            place.json(&[&flags[..], method, cut].concat())
        };
        CLAIMING.iter().map(plan).collect()
    };
    let before = plans(&csv);
    for row in [1, 50, 120] {
        for value in ["", "a", "b", "elsewhere"] {
            let replace = |(at, line): (usize, &str)| {
                let mut cells: Vec<&str> = line.split(',').collect();
                if at == row {
                    cells[4] = value;
                }
                cells.join(",") + "\n"
            };
            let neighbour: String = csv.lines().enumerate().map(replace).collect();
            assert_eq!(plans(&neighbour), before, "row {row}: {value:?}");
        }
    }
}

#[test]
fn silos_of_a_private_run_are_not_cut_by_s() {
    let place = Place::new("classes-partition");
    place.write("people.csv", pairs(0..200));
    let flags = [&["train", "--rounds", "2", "--classes", "a,b"], &MEANING[..]].concat();
    let by = ["--partition-by", "group"];
    for more in [&by[..], &["--partition-by", "group", "--heterogeneity", "1"]] {
        let refused = place.run(&[&flags[..], more].concat());
        assert_eq!(refused.status, 3, "{}", refused.stderr);
        assert!(refused.stderr.contains("error[steffle::data::two_roles]"), "{}", refused.stderr);
        assert!(refused.stderr.contains("`group`"), "{}", refused.stderr);
    }
    let open = ["--mode", "none", "--heterogeneity", "1", "--out", "run"];
    place.json(&[&flags[..], &by, &open].concat());
    // Files that were cut by it say so.
    let cut = ["data", "partition", "people.csv", "--heterogeneity", "1", "--out", "parts"];
    place.json(&[&cut[..], &MEANING[2..], &by].concat());
    let refused = place.run(&["train", "--data", "parts/job.toml"]);
    assert!(refused.stderr.contains("error[steffle::data::two_roles]"), "{}", refused.stderr);
    place.json(&["train", "--data", "parts/job.toml", "--mode", "none", "--rounds", "2"]);
}

#[test]
fn a_person_with_two_values_is_no_error() {
    let place = Place::new("classes-unit");
    // Rows 0 and 1 are one person, and so on; most of these pairs differ in their group.
    let person = |(at, line): (usize, &str)| match at {
        0 => format!("person,{line}\n"),
        _ => format!("p{},{line}\n", (at - 1) / 2),
    };
    place.write("people.csv", pairs(0..200).lines().enumerate().map(person).collect::<String>());
    for method in CLAIMING {
        let flags = ["--unit", "person", "--classes", "a,b", "--out", "run", "--force"];
        let run = place.json(&[&["train"], &MEANING[..], &flags, method].concat());
        assert_eq!(run["privacy"]["holds"], true, "{method:?}");
    }
}
