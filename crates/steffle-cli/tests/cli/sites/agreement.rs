//! Before the first round: whoever does not agree is named, with the field.

use super::{change, handed_out, train};
use crate::harness::{Place, pairs, people};

fn two(name: &str) -> Place {
    handed_out(name, &pairs(0..200), &["--silos", "2"])
}

#[test]
fn a_site_that_declares_something_else_is_named_with_the_field() {
    let place = two("agreement-fields");
    let own = place.read("silo-2/silo.toml");
    for (from, to, field) in [
        ("classes = [\"a\", \"b\"]", "classes = [\"b\", \"a\"]", "classes"),
        ("labels = [\"high\", \"low\"]", "labels = [\"high\", \"low\", \"middle\"]", "labels"),
        ("favourable = \"high\"", "favourable = \"low\"", "favourable"),
        ("sensitive = [\"group\"]", "sensitive = [\"group\", \"region\"]", "sensitive"),
        ("[recipe]\n", "[recipe]\nunit = \"town\"\n", "unit"),
        ("missing = \"drop\"", "missing = \"category\"", "missing"),
        ("name = \"silo-2\"", "name = \"silo-3\"", "name"),
    ] {
        change(&place, "silo-2/silo.toml", from, to);
        if field == "sensitive" {
            change(&place, "silo-2/silo.toml", "[\"a\", \"b\"]", "[\"a x hill\", \"b x plain\"]");
        }
        for processes in [&[][..], &["--processes"]] {
            let ran = train(&place, "run", processes);
            assert_eq!(ran.status, 3, "{field}: {}", ran.stderr);
            assert!(ran.stderr.contains("site silo-2"), "{field}: {}", ran.stderr);
            assert!(ran.stderr.contains(&format!("`{field}`")), "{field}: {}", ran.stderr);
            assert!(!place.path("run").exists(), "nothing was trained");
        }
        place.write("silo-2/silo.toml", &own);
    }
}

#[test]
fn columns_and_categories_that_differ_are_named_or_put_together() {
    let place = two("agreement-columns");
    let csv = place.read("silo-2/silo-2.csv");
    place.write("silo-2/silo-2.csv", csv.replacen("town", "city", 1));
    let ran = train(&place, "run", &["--rounds", "2"]);
    assert_eq!(ran.status, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("site silo-2") && ran.stderr.contains("`town`"), "{}", ran.stderr);
    // A category that only one site has.
    place.write("silo-2/silo-2.csv", csv.replacen(",north,", ",west,", 1));
    change(&place, "job.toml", "version = 1\n", "version = 1\nlevels = \"same\"\n");
    let ran = train(&place, "run", &["--rounds", "2"]);
    assert_eq!(ran.status, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("site silo-2") && ran.stderr.contains("`town`"), "{}", ran.stderr);
    change(&place, "job.toml", "levels = \"same\"", "levels = \"union\"");
    let ran = train(&place, "run", &["--rounds", "2"]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(place.read("run/schema.json").contains("west"));
}

/// Two sites that claim the same records are named, by the holder who would count them twice.
#[test]
fn records_that_two_sites_claim_are_refused_with_the_names_of_both() {
    let split = ["--silos", "2", "--split", "--holders", "1"];
    let place = handed_out("agreement-claims", &people(0..200), &split);
    let first = place.read("records-1/records-1.csv");
    let second = place.read("records-2/records-2.csv");
    let claimed: String = first.split_inclusive('\n').skip(1).take(3).collect();
    place.write("records-2/records-2.csv", second + &claimed);
    let ran = train(&place, "run", &["--rounds", "2", "--processes"]);
    assert_eq!(ran.status, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("3 record ids come from both"), "{}", ran.stderr);
    assert!(ran.stderr.contains("node 1 is records-1; node 2 is records-2"), "{}", ran.stderr);
}

/// What a site's own policy forbids is refused by the site, whatever the job says.
#[test]
fn a_sites_policy_is_law() {
    let place = two("agreement-policy");
    let own = place.read("silo-2/silo.toml");
    for (policy, flags, word) in [
        ("epsilon = 0.5", &["--epsilon", "1"][..], "epsilon 1 is asked for; at most 0.5"),
        ("rounds = 3", &["--rounds", "5"], "5 rounds are asked for; at most 3"),
        ("methods = [\"one-shot\"]", &["--rounds", "2"], "allowed are one-shot"),
    ] {
        change(&place, "silo-2/silo.toml", "[policy]\n", &format!("[policy]\n{policy}\n"));
        for processes in [&[][..], &["--processes"]] {
            let ran = train(&place, "run", &[flags, processes].concat());
            assert_eq!(ran.status, 3, "{}", ran.stderr);
            assert!(ran.stderr.contains("silo 1 (silo-2)"), "{}", ran.stderr);
            assert!(ran.stderr.contains(word), "{}", ran.stderr);
        }
        place.write("silo-2/silo.toml", &own);
    }
    change(&place, "silo-2/silo.toml", "pool = true", "pool = false");
    let pooled = ["--method", "one-shot", "--pool"];
    let ran = train(&place, "run", &pooled);
    assert!(ran.status == 3 && ran.stderr.contains("pool = false"), "{}", ran.stderr);
    // Attributes without a ledger are for simulations.
    let ran = train(&place, "run", &["--rounds", "2", "--noise", "secure"]);
    assert!(ran.status == 3 && ran.stderr.contains("without a ledger"), "{}", ran.stderr);
}

#[test]
fn jobs_and_silos_that_cannot_be_used_are_refused() {
    let place = two("agreement-files");
    let job = place.read("job.toml");
    for (from, to, word) in [
        ("name = \"silo-2\"", "name = \"silo-1\"", "named twice"),
        ("classes = [\"a\", \"b\"]\n", "", "recipe.classes is missing"),
        ("test = \"parts/test.csv\"", "test = \"nothing.csv\"", "nothing.csv"),
        ("[recipe]", "[train]\nlamda = 2\n[recipe]", "unknown key `lamda`"),
        ("silo = \"silo-2/silo.toml\"\n", "", "does not name its silo.toml"),
    ] {
        place.write("job.toml", job.replace(from, to));
        let ran = train(&place, "run", &["--rounds", "2"]);
        assert_eq!(ran.status, 3, "{to}: {}", ran.stderr);
        assert!(ran.stderr.contains(word), "{to}: {}", ran.stderr);
    }
    // Settings in the job, and flags over them.
    place.write("job.toml", job.replace("[recipe]", "[train]\nrounds = 2\nlambda = 3.0\n[recipe]"));
    let found = place.json(&["train", "--data", "job.toml", "--out", "run", "--rounds", "3"]);
    assert_eq!((&found["lambda"], &found["rounds"]), (&3.0.into(), &3.into()));
    place.write("config.toml", "lambda = 1.0\n");
    let ran = train(&place, "again", &["--config", "config.toml"]);
    assert!(ran.status == 2 && ran.stderr.contains("config::conflict"), "{}", ran.stderr);
}

/// Messages that no frame could carry are known before the first round, with their size.
#[test]
fn a_run_whose_messages_are_too_long_is_refused_with_their_size() {
    let place = two("agreement-frames");
    change(&place, "job.toml", "version = 1\n", "version = 1\nframe_bytes = 20000\n");
    let ran = train(&place, "run", &["--processes", "--model", "mlp:40"]);
    assert_eq!(ran.status, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("steffle::train::frame"), "{}", ran.stderr);
    assert!(ran.stderr.contains("a frame has at most 20000"), "{}", ran.stderr);
    let ran = train(&place, "run", &["--processes", "--rounds", "2"]);
    assert_eq!(ran.status, 0, "a smaller model is carried: {}", ran.stderr);
}
