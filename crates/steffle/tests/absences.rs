//! ARCHITECTURE.md states invariants as absences; this reads the sources and finds them absent.
#![allow(clippy::unwrap_used)] // a test that cannot read the sources has to fail

use std::path::{Path, PathBuf};

/// Test modules whose files are not called `tests.rs`: attacks on the attributes division, and what
/// they need.
const TESTS: [&str; 3] = ["tests", "division/attacks", "steffle-attributes/src/attack.rs"];

/// The crates that the algorithm consists of.
const ALGORITHM: [&str; 7] = [
    "steffle-masks",
    "steffle-model",
    "steffle-wire",
    "steffle-attributes",
    "steffle-site",
    "steffle-server",
    "steffle-baselines",
];

/// Every non-test source file of a crate beside this one.
fn sources(name: &str) -> Vec<(PathBuf, String)> {
    fn walk(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if TESTS.iter().any(|name| path.ends_with(name)) {
                continue;
            }
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("tests.rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default().to_owned();
                found.push((path, code));
            }
        }
    }
    let mut found = Vec::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src"), &mut found);
    assert!(found.len() > 3, "{name}: {} sources", found.len());
    found
}

fn assert_absent(name: &str, words: &[&str], except: &[&str]) {
    for (path, code) in sources(name) {
        if except.iter().any(|part| path.to_string_lossy().contains(part)) {
            continue;
        }
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let hit = words.iter().find(|word| line.contains(*word));
            assert!(hit.is_none(), "{} has {hit:?}: {line}", path.display());
        }
    }
}

#[test]
fn the_algorithm_knows_no_file_socket_clock_or_global_randomness() {
    let io = ["std::fs", "std::net", "std::io", "std::env", "Instant", "SystemTime"];
    for name in ALGORITHM {
        assert_absent(name, &io, &[]);
        assert_absent(name, &["rand::rng(", "thread_rng", "ThreadRng"], &[]);
        // The operating system's generator is asked in one place, by name.
        assert_absent(name, &["SysRng"], &["noise/mod.rs"]);
    }
}

#[test]
fn accounting_knows_no_model_data_file_or_clock() {
    let io = ["std::fs", "std::net", "std::io", "std::env", "Instant", "SystemTime"];
    assert_absent("steffle-privacy", &io, &[]);
}

#[test]
fn the_model_knows_no_party() {
    assert_absent("steffle-model", &["Sensitive", "Division", "Question", "Ledger"], &[]);
}

#[test]
fn only_the_attributes_division_reads_s() {
    for name in ALGORITHM {
        let own = ["steffle-attributes/src/store.rs", "steffle-attributes/src/sealed.rs"];
        assert_absent(name, &[".expose("], &own);
    }
    let door = ["steffle-attributes/src/door.rs"];
    assert_absent("steffle-attributes", &["attributes.classes()"], &door);
    // What the door shows is seen by the six messages alone.
    let messages = [
        "door.rs",
        "sums.rs",
        "sums_share.rs",
        "features.rs",
        "share.rs",
        "classes.rs",
        "counts.rs",
    ]
    .map(|file| format!("steffle-attributes/src/{file}"));
    let messages = messages.each_ref().map(String::as_str);
    assert_absent("steffle-attributes", &["door::Held", "Held<"], &messages);
}

/// Sensitive columns leave their seal in few places, each of which says for what; and no open table has
/// one, because tables are sealed before any other name is resolved.
#[test]
fn sealed_columns_are_revealed_for_named_purposes_only() {
    let all = [&ALGORITHM[..], &["steffle-data", "steffle-front", "steffle-process"]].concat();
    let rest = ["steffle-cli", "steffle-python", "steffle-audit", "steffle-bench", "steffle"];
    let purposes = [
        "steffle-attributes/src/sealed.rs",
        "steffle-attributes/src/lib.rs",
        // The keeper looks.
        "steffle-data/src/describe.rs",
        // The keeper writes files; published people; a run that claims no privacy.
        "steffle-data/src/dataset/reveal.rs",
        "steffle-data/src/schema/summary.rs",
        // Held-out rows, and `silo check`.
        "steffle-data/src/schema/groups.rs",
    ];
    let kept = [
        "steffle-data/src/dataset/reveal.rs",
        "steffle-data/src/partition.rs",
        "steffle-data/src/parts/mod.rs",
        "steffle-python/src/columns.rs",
    ];
    for name in all.into_iter().chain(rest).filter(|name| *name != "steffle") {
        assert_absent(name, &["RevealTo::"], &purposes);
        assert_absent(name, &["kept_columns("], &kept);
    }
    // What encodes, summarises, names and refuses reads open tables.
    let (_, encode) = sources("steffle-data")
        .into_iter()
        .find(|(path, _)| path.ends_with("schema/encode.rs"))
        .unwrap();
    assert!(!encode.contains("sealed"), "encoding knows no sealed column");
    // Every data set is made by the function whose first step is to seal.
    let (_, dataset) = sources("steffle-data")
        .into_iter()
        .find(|(path, _)| path.ends_with("dataset/mod.rs"))
        .unwrap();
    let bind = dataset.split("fn bind(").nth(1).unwrap();
    let seal = bind.find("table.seal(&recipe.sensitive)?").unwrap();
    assert!(seal < bind.find("position(").unwrap() && seal < bind.find("require(").unwrap());
    assert_eq!(dataset.matches("Ok(Self {").count(), 1, "one function makes data sets");
}

/// `Store::release` calls `finish` of a message, which writes its reply; nothing else does, and only
/// what it returns can be encoded.
#[test]
fn one_function_releases_what_is_computed_from_s() {
    let door = "src/door.rs";
    assert_absent("steffle-attributes", &["M::finish(", "Released {"], &[door]);
    let mut division = sources("steffle-attributes").into_iter();
    let (_, code) = division.find(|(path, _)| path.ends_with(door)).unwrap();
    assert_eq!(code.matches("M::finish(").count(), 1);
    let release = code.split("pub fn release<M").nth(1).unwrap();
    assert!(release.contains("M::finish("), "it is in release");
    // Replies that involve s have no encoding of their own.
    let all = ["steffle-wire", "steffle-attributes", "steffle-site"].map(sources);
    for (path, code) in all.into_iter().flatten() {
        for reply in
            ["PrivateSums", "FeatureReply", "FeatureSums", "Classes", "NoisyCounts", "SumsShare"]
        {
            let encodes = code.contains(&format!("impl Encode for {reply} "));
            assert!(!encodes, "{} encodes {reply}", path.display());
        }
    }
    // As parts of sums over sites they are made of what was released.
    for (file, call) in [
        ("sums.rs", "self.read_over(old)?.summed("),
        ("sums_share.rs", "self.read()?.summed("),
        ("features.rs", "self.read()?.summed("),
        ("counts.rs", "self.read()?.summed("),
    ] {
        let (_, code) = sources("steffle-attributes")
            .into_iter()
            .find(|(path, _)| path.ends_with(format!("src/{file}")))
            .unwrap();
        assert_eq!(code.matches(call).count(), 1, "{file}");
    }
    let released = [
        "private.summed(",
        "released.summed(",
        "pub fn summed(",
        ".read()?.summed(",
        ".read_over(old)?.summed(",
    ];
    for (path, code) in ALGORITHM.into_iter().flat_map(sources) {
        let all = code.matches(".summed(").count() + code.matches("fn summed(").count();
        let known: usize = released.iter().map(|call| code.matches(call).count()).sum();
        assert_eq!(all, known, "{}", path.display());
    }
    // And the functions that write them are called by the messages alone.
    for (file, call) in [
        ("sums.rs", "noised(&asked, drawn, sums).write("),
        ("sums_share.rs", "SumsShare { thetas, tables }.write("),
        ("features.rs", "FeatureReply { silos: reply }.write("),
        ("counts.rs", "NoisyCounts { counts: counts.collect(), deviation }.write("),
        ("classes.rs", "Classes { ids, classes: answers }.write("),
    ] {
        for name in ALGORITHM {
            assert_absent(name, &[call], &[&format!("steffle-attributes/src/{file}")]);
        }
    }
}

/// A node that shares secret noise without masks is an audit's alone.
#[test]
fn only_an_audit_shares_secret_noise_without_masks() {
    let call = "read_in_totals_by_an_audit";
    for name in
        ["steffle-data", "steffle-front", "steffle-process", "steffle-cli", "steffle-python"]
    {
        assert_absent(name, &[call], &[]);
    }
    assert_absent("steffle-site", &[call], &["src/node/mod.rs"]);
}

#[test]
fn silos_answer_with_sums_and_never_see_the_dual_variable_or_the_class_weights() {
    for name in ["steffle-wire", "steffle-site"] {
        assert_absent(name, &["ClassWeights", "fairness::Dual"], &[]);
    }
}

#[test]
fn only_the_kernels_say_unsafe() {
    assert_absent("steffle-model", &["unsafe"], &["model/kernel/"]);
    for name in ALGORITHM.into_iter().filter(|&name| name != "steffle-model") {
        assert_absent(name, &["unsafe"], &[]);
    }
    for name in
        ["steffle-privacy", "steffle-data", "steffle-ledger", "steffle-process", "steffle-cli"]
    {
        assert_absent(name, &["unsafe"], &[]);
    }
}

/// Of what sites add up the server reads totals: it has no word for one site's part.
#[test]
fn the_server_knows_totals_over_sites() {
    assert_absent("steffle-server", &["PrivateSums", "Summed", "of_released"], &[]);
    // Only a trip adds up, and nothing else reads.
    assert_absent(
        "steffle-server",
        &["Added", ".total()"],
        &["federation/trip.rs", "federation/rounds.rs"],
    );
}

/// Settings have names; only the command line has flags. (A node's own arguments are the program's.)
#[test]
fn libraries_name_settings_and_not_flags() {
    let libraries = [&ALGORITHM[..], &["steffle-privacy", "steffle-data", "steffle-process"]];
    let more = ["steffle-ledger", "steffle-front", "steffle-audit"];
    for (path, code) in libraries.concat().into_iter().chain(more).flat_map(sources) {
        if path.ends_with("processes.rs") {
            continue;
        }
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let flag =
                line.split("--").skip(1).find(|after| after.starts_with(char::is_alphabetic));
            assert!(flag.is_none(), "{} has a flag: {line}", path.display());
        }
    }
}

/// What CONTRIBUTING says of sizes: no file above 450 lines, no function above 80.
#[test]
fn files_and_functions_are_small() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    every_source(&crates, &mut found);
    assert!(found.len() > 400, "{} files", found.len());
    for (path, text) in found {
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() <= 450, "{}: {} lines", path.display(), lines.len());
        for (at, line) in lines.iter().enumerate() {
            let own = line.trim_start();
            let starts = own.starts_with("fn ") || (own.starts_with("pub") && own.contains(" fn "));
            let indent = &line[..line.len() - own.len()];
            let end = format!("{indent}}}");
            let length = lines[at..].iter().position(|line| *line == end).unwrap_or(0) + 1;
            let declared = lines[at..][..length].iter().any(|line| line.ends_with('{'));
            assert!(!(starts && declared) || length <= 80, "{}: {own}", path.display());
        }
    }
}

/// Every source of ours below a folder, tests and examples included.
fn every_source(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            every_source(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push((path.clone(), std::fs::read_to_string(&path).unwrap()));
        }
    }
}
