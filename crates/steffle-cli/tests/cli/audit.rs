//! `steffle audit`: attacks on generated people, and transcripts of real runs.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use steffle_audit::transcript::{Frame, Tape, read};

use crate::harness::{COLUMNS, Place, pairs};

/// Few runs bound little, but never above what is kept: all seeds are fixed.
#[test]
fn every_method_is_attacked_and_keeps_its_promise() {
    let place = Place::new("audit-methods");
    let common = ["audit", "--runs", "600", "--seed", "4"];
    for more in [
        &["--mu", "1.2"][..],
        &["--classes", "3", "--notion", "equalized-odds", "--epsilon", "3"],
        &["--server", "honest", "--runs", "200"],
        &["--method", "one-shot", "--mu", "0.7"],
        &["--method", "randomised-response", "--classes", "3", "--epsilon", "2"],
    ] {
        let few: Vec<&str> =
            if more.contains(&"--runs") { common[..1].to_vec() } else { common.to_vec() };
        let seed = if more.contains(&"--runs") { &["--seed", "4"][..] } else { &[] };
        let found = place.json(&[&few[..], more, seed].concat());
        assert_eq!(found["violation"], false, "{more:?}");
        assert_eq!(found["confidence"], 0.999);
        let number = |key: &str| found[key].as_f64().unwrap();
        assert!(number("lower_epsilon") <= number("claimed_epsilon"), "{found}");
        assert!(number("clopper_pearson_epsilon") <= number("claimed_epsilon"), "{found}");
        assert!(number("estimated_epsilon") > 0.0 && number("runs") >= 200.0);
        let pure = more.contains(&"randomised-response");
        for key in ["claimed_mu", "estimated_mu", "lower_mu"] {
            assert_eq!(found[key].is_null(), pure, "{key}: {found}");
        }
        assert_eq!(found["notion"].is_null(), pure, "{found}");
        assert!(found["thresholds"].as_array().unwrap().len() > 1, "{found}");
    }
    assert_eq!(place.names(), [] as [&str; 0]);
}

#[test]
fn text_page_and_threads() {
    let place = Place::new("audit-page");
    let flags = ["audit", "--runs", "300", "--seed", "9", "--html", "pages/audit.html"];
    let ran = place.run(&[&flags[..], &["--threads", "1"]].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    for words in
        ["held against this attack", "claimed", "at least", "300 runs in each of two worlds"]
    {
        assert!(ran.stdout.contains(words), "{words}: {}", ran.stdout);
    }
    let page = place.read("pages/audit.html");
    for words in
        ["<svg", "Audit of steffle", "What this shows, and what it cannot", "class=\"promised\""]
    {
        assert!(page.contains(words), "{words} is not on the page");
    }
    let again = place.run(&[&flags[..], &["--threads", "2"]].concat());
    assert_eq!((again.status, &again.stdout), (0, &ran.stdout));
    assert_eq!(place.read("pages/audit.html"), page);
}

#[test]
fn what_cannot_be_audited_is_refused() {
    let place = Place::new("audit-refused");
    for (flags, code, words) in [
        (&["--epsilon", "0"][..], "config::epsilon", "must be positive"),
        (&["--epsilon", "1", "--mu", "1"], "usage::arguments", "--mu"),
        (&["--delta", "2"], "config::delta", "strictly between 0 and 1"),
        (&["--mu", "-1"], "config::mu", "zero or positive"),
        (&["--classes", "1"], "config::classes", "allowed are 2 to 64"),
        (&["--runs", "10"], "config::runs", "allowed are 100 to"),
        (&["--confidence", "1"], "config::confidence", "0.999 is usual"),
        (&["--threads", "0"], "config::threads", "from 1 to 1024"),
        (&["--method", "one-shot", "--server", "honest"], "config::server", "static"),
        (&["--method", "randomised-response", "--mu", "1"], "config::mu", "--epsilon"),
        (&["--method", "fedavg"], "usage::arguments", "fedavg"),
    ] {
        let ran = place.run(&[&["audit"], flags].concat());
        assert_eq!(ran.status, 2, "{flags:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(code) && ran.stderr.contains(words), "{}", ran.stderr);
    }
    let ran = place.run(&["audit", "transcript", "nothing"]);
    assert_eq!(ran.status, 3);
    assert!(ran.stderr.contains("steffle::data::not_found"), "{}", ran.stderr);
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_an_audit() {
    let place = Place::new("audit-interrupt");
    let mut child = place
        .command(&["audit", "--runs", "50000000", "--html", "audit.html"])
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    sleep(Duration::from_millis(700));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-s", "INT", &pid]).status().unwrap().success());
    let ended = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > Duration::from_mins(2) {
            child.kill().unwrap();
            panic!("Ctrl-C did not end the audit");
        }
        sleep(Duration::from_millis(10));
    };
    assert_eq!(ended.code(), Some(130));
    assert_eq!(place.names(), [] as [&str; 0]);
}

/// A private run over two silos, paid from two books, and recorded.
fn recorded(name: &str, method: &[&str]) -> Place {
    let place = Place::new(name);
    place.write("people.csv", pairs(0..400));
    let init = ["ledger", "init", "books", "--silos", "2", "--epsilon", "3", "--delta", "1e-6"];
    place.json(&[&init[..], &COLUMNS].concat());
    let train = [
        "train",
        "--data",
        "people.csv",
        "--label",
        "label",
        "--sensitive",
        "group",
        "--classes",
        "a,b",
        "--silos",
        "2",
        "--epsilon",
        "1",
        "--delta",
        "1e-6",
        "--ledger",
        "books",
        "--journal",
        "deep/run.transcript",
        "--out",
        "run",
    ];
    let ran = place.run(&[&train[..], method].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    place
}

#[test]
fn a_recorded_run_fits_its_plan_and_its_books() {
    for (name, method, replies) in [
        ("transcript-rounds", &["--rounds", "3"][..], 8),
        ("transcript-once", &["--method", "one-shot"], 2),
    ] {
        let place = recorded(name, method);
        let file = "deep/run.transcript";
        for ledger in [&[][..], &["--ledger", "books"]] {
            let found = place.json(&[&["audit", "transcript", file], ledger].concat());
            assert_eq!(found["mismatches"], Value::Array(Vec::new()), "{found}");
            assert_eq!((&found["violation"], &found["nodes"]), (&false.into(), &2.into()));
            assert_eq!(found["private_replies"], replies, "{found}");
            assert_eq!(
                (&found["events"], &found["claimed_epsilon"]),
                (&replies.into(), &1.0.into())
            );
        }
        // The books in the wrong order: the events are another store's.
        fs::rename(place.path("books/silo-000.ledger"), place.path("books/other")).unwrap();
        fs::rename(place.path("books/silo-001.ledger"), place.path("books/silo-000.ledger"))
            .unwrap();
        fs::rename(place.path("books/other"), place.path("books/silo-001.ledger")).unwrap();
        let ran = place.run(&["audit", "transcript", file, "--ledger", "books"]);
        assert_eq!(ran.status, 5, "{}", ran.stdout);
        assert!(ran.stderr.contains("steffle::audit::mismatch"), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("frame ") && ran.stdout.contains("in the book"),
            "{}",
            ran.stdout
        );
        // A book that knows nothing of the run.
        let init = ["ledger", "init", "new", "--silos", "2", "--epsilon", "3", "--delta", "1e-6"];
        place.json(&[&init[..], &COLUMNS].concat());
        let ran = place.run(&["audit", "transcript", file, "--ledger", "new", "--json"]);
        assert_eq!(ran.status, 5);
        assert!(ran.stdout.contains("the book knows no run"), "{}", ran.stdout);
    }
}

/// Whoever changes a number that was released and writes the file anew is told by the book.
#[test]
fn a_number_that_was_changed_is_told_by_the_book() {
    let place = recorded("transcript-changed", &["--rounds", "2"]);
    let mut frames = read(&fs::read(place.path("deep/run.transcript")).unwrap()).unwrap();
    // Kind and part of a message are its seventh and eighth byte: the reply of a round.
    let reply = frames.iter().position(|frame| frame.bytes[6..8] == [5, 2]).unwrap();
    let end = frames[reply].bytes.len();
    frames[reply].bytes[end - 100] ^= 1;
    let mut tape = Tape::new(fs::File::create(place.path("changed")).unwrap()).unwrap();
    for Frame { sent, node, bytes } in &frames {
        tape.frame(*sent, *node, bytes).unwrap();
    }
    tape.finish().unwrap();
    let ran = place.run(&["audit", "transcript", "changed", "--ledger", "books"]);
    assert_eq!(ran.status, 5, "{}", ran.stdout);
    let named = format!("frame {}: this is not what event 1 (Sums, round 0", reply + 1);
    assert!(ran.stderr.contains(&named), "{}", ran.stderr);
}

#[test]
fn a_damaged_transcript_is_no_transcript() {
    let place = recorded("transcript-damaged", &["--rounds", "2"]);
    let bytes = fs::read(place.path("deep/run.transcript")).unwrap();
    let mut changed = bytes.clone();
    changed[bytes.len() / 2] ^= 1;
    place.write("changed", &changed);
    place.write("cut", &bytes[..bytes.len() / 3]);
    place.write("other", "record_id,score\n");
    for (name, words) in [("changed", "checksum"), ("cut", "cut off"), ("other", "no transcript")] {
        let ran = place.run(&["audit", "transcript", name]);
        assert_eq!(ran.status, 3, "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains("steffle::audit::transcript"), "{}", ran.stderr);
        assert!(ran.stderr.contains(words), "{name}: {}", ran.stderr);
    }
}

/// What parties in processes of their own send is heard as well, and a run that fails leaves no
/// file.
#[test]
fn processes_are_recorded_and_failures_leave_nothing() {
    let place = Place::new("transcript-processes");
    place.write("people.csv", pairs(0..300));
    let columns = ["--label", "label", "--sensitive", "group", "--classes", "a,b"];
    let made = ["data", "partition", "people.csv", "--out", "parts", "--favourable", "high"];
    assert_eq!(place.run(&[&made[..], &columns].concat()).status, 0);
    let train =
        ["train", "--data", "parts/job.toml", "--processes", "--epsilon", "1", "--journal", "t"];
    for method in [&["--rounds", "2"][..], &["--method", "randomised-response"]] {
        let _ = fs::remove_file(place.path("t"));
        let ran = place.run(&[&train[..], &["--out", "run", "--force"], method].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let found = place.json(&["audit", "transcript", "t"]);
        assert_eq!(found["violation"], false, "{found}");
        assert!(found["private_replies"].as_u64().unwrap() >= 3, "{found}");
        assert_eq!(found["private_replies"], found["events"]);
    }
    fs::remove_file(place.path("t")).unwrap();
    let ran = place.run(&[&train[..], &["--out", "run", "--rounds", "2"]].concat());
    assert_eq!(ran.status, 3, "the run directory exists: {}", ran.stderr);
    assert!(!place.path("t").exists());
}
