//! A job that somebody submits names no file of the server's machine.

use super::handed_out;
use super::relay::submit;
use crate::harness::{Place, Ran, pairs};

fn server(place: &Place, job: &str) -> Ran {
    place.write("submitted.toml", job);
    let words = ["server", "--stdio", "--lead", "lead.toml", "--data", "submitted.toml"];
    place.run(&[&words[..], &["--out", "run", "--force"]].concat())
}

/// Makes a job that names this path.
type Change = fn(&str, &str) -> String;

/// Every way in which a job could name a file, there or not: refused before anything is opened, in the same
/// words, and without a word of the file.
#[test]
fn a_job_names_no_file_of_the_server() {
    let place = handed_out("submitted-paths", &pairs(0..100), &["--silos", "2"]);
    submit(&place, &place.read("job.toml"));
    let whole = place.read("submitted.toml");
    place.write("secret.csv", "canary,group,label\nx,a,high\n");
    let secret = place.path("secret.csv").to_string_lossy().into_owned();
    let missing = place.path("missing.csv").to_string_lossy().into_owned();
    let said = |job: String, path: &str| {
        let ran = server(&place, &job);
        assert_eq!(ran.status, 3, "{job}\n{}", ran.stderr);
        assert!(!ran.stderr.contains("canary"), "{}", ran.stderr);
        assert!(!place.path("run").exists());
        ran.stderr.replace(path, "PATH")
    };
    let changes: [(&str, Change, &str); 11] = [
        (
            "test",
            |job, path| job.replace("\"people\"", &format!("\"{path}\"")),
            "`test` is no name",
        ),
        (
            "a file beside it",
            |job, _| job.replace("\"people\"", "\"secret.csv\""),
            "`test` is no name",
        ),
        ("a folder above", |job, _| job.replace("\"people\"", "\"..\""), "`test` is no name"),
        ("silo", silo, "`silo` names a file"),
        ("silos", |job, path| files(job, &format!("silos = [\"{path}\"]")), "`silos` names a file"),
        (
            "records",
            |job, path| files(job, &format!("records = [\"{path}\"]\nattributes = [\"{path}\"]")),
            "`records` names a file",
        ),
        ("train.test", |job, path| train(job, "test", path), "`test` under [train]"),
        ("train.path", |job, path| train(job, "path", path), "`path` under [train]"),
        ("train.out", |job, path| train(job, "out", path), "`out` under [train]"),
        ("train.data", |job, path| train(job, "data", path), "`data` under [train]"),
        ("train.journal", |job, path| train(job, "journal", path), "unknown key `journal`"),
    ];
    for (what, change, words) in changes {
        let there = said(change(&whole, &secret), &secret);
        assert!(there.contains(words), "{what}: {there}");
        assert_eq!(there, said(change(&whole, &missing), &missing), "{what}");
    }
    for key in ["records", "attributes"] {
        let job = format!("{whole}\n[train]\n{key} = [\"{secret}\"]\n");
        assert!(said(job, &secret).contains(&format!("`{key}` under [train]")));
    }
    assert!(said(format!("{whole}\n[train]\nprocesses = true\n"), &secret).contains("`processes`"));
}

fn silo(job: &str, path: &str) -> String {
    job.replacen("[[sites]]\n", &format!("[[sites]]\nsilo = \"{path}\"\n"), 1)
}

/// A job with files in the place of sites.
fn files(job: &str, named: &str) -> String {
    let sites = |line: &&str| !line.starts_with("[[sites]]") && !line.starts_with("name = ");
    let lines: Vec<&str> = job.lines().filter(sites).collect();
    lines.join("\n").replacen("version = 1\n", &format!("version = 1\n{named}\n"), 1)
}

fn train(job: &str, key: &str, path: &str) -> String {
    format!("{job}\n[train]\n{key} = \"{path}\"\n")
}

/// What is wrong with the file of the server's owner, or with the rows that it names, is not told.
#[test]
fn a_lead_file_is_not_shown() {
    let place = handed_out("submitted-lead", &pairs(0..100), &["--silos", "2"]);
    submit(&place, &place.read("job.toml"));
    let job = place.read("submitted.toml");
    let lead = "version = 1\n[tests.people]\npath = \"rows.csv\"\nsensitive = [\"group\"]\ngroups = true\n";
    place.write("rows.csv", "canary,label\nx,high\n");
    place.write("lead.toml", lead);
    let ran = server(&place, &job);
    assert!(
        ran.status == 3 && ran.stderr.contains("the test rows cannot be used"),
        "{}",
        ran.stderr
    );
    for (text, words) in [
        ("version = 1\ncanary = 1\n", "is not version = 1"),
        ("version = 2\n", "another version"),
        (
            "version = 1\n[tests.\"../canary\"]\npath = \"rows.csv\"\nsensitive = [\"group\"]\n",
            "a name under [tests] that is none",
        ),
    ] {
        place.write("lead.toml", text);
        let ran = server(&place, &job);
        assert!(ran.status == 3 && ran.stderr.contains(words), "{}", ran.stderr);
        assert!(!ran.stderr.contains("canary"), "{}", ran.stderr);
    }
    std::fs::remove_file(place.path("lead.toml")).unwrap();
    assert!(server(&place, &job).stderr.contains("lead.toml"));
}

/// A job that called another column sensitive read the real one as a feature of the server's test rows.
#[test]
fn test_rows_are_read_as_their_owner_says() {
    let place = handed_out("submitted-owner", &pairs(0..100), &["--silos", "2"]);
    submit(&place, &place.read("job.toml"));
    let job = place.read("submitted.toml");
    let other = job.replace("sensitive = [\"group\"]", "sensitive = [\"town\"]");
    assert_ne!(job, other);
    let ran = server(&place, &other);
    assert_eq!(ran.status, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("`recipe.sensitive`"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("group"), "{}", ran.stderr);
    // Where their owner does not say so, nobody is shown a rate by group.
    let lead = place.read("lead.toml").replace("groups = true", "groups = false");
    place.write("lead.toml", lead);
    place.write("submitted.toml", job);
    let mut relay = super::Relay::over(&place, "run", &["--method", "erm"]);
    let (status, stderr) = relay.carry_all();
    assert_eq!(status, 0, "{stderr}");
    let metrics: serde_json::Value = serde_json::from_str(&place.read("run/metrics.json")).unwrap();
    assert!(metrics["test"]["demographic_parity"].is_null(), "{}", metrics["test"]);
}
