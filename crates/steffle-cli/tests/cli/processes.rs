//! `--processes` and `steffle node`: the walls between parties are walls between processes.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::harness::{Place, pairs, people};

/// People handed out to parties as `flags` say.
fn handed_out(name: &str, csv: &str, flags: &[&str]) -> Place {
    let place = Place::new(name);
    place.write("people.csv", csv);
    let classes = if csv.contains(",c,") { "a,b,c" } else { "a,b" };
    let columns = ["--label", "label", "--sensitive", "group", "--classes", classes];
    let made = ["data", "partition", "people.csv", "--out", "parts", "--favourable", "high"];
    let ran = place.run(&[&made[..], &columns, flags].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    place
}

/// The same run in one process and in one per party, to the bit.
fn the_same(place: &Place, flags: &[&str]) {
    let run = |out: &str, more: &[&str]| {
        let train = ["train", "--data", "parts/job.toml", "--rounds", "4", "--out", out];
        let train = if flags.contains(&"one-shot") || flags.contains(&"randomised-response") {
            [&train[..3], &train[5..]].concat()
        } else {
            train.to_vec()
        };
        let ran = place.run(&[&train[..], flags, more].concat());
        assert_eq!(ran.status, 0, "{flags:?}: {}", ran.stderr);
        fs::read(place.path(out).join("model.safetensors")).unwrap()
    };
    let _ = fs::remove_dir_all(place.path("here"));
    let _ = fs::remove_dir_all(place.path("apart"));
    assert_eq!(run("here", &[]), run("apart", &["--processes"]), "{flags:?}");
}

#[test]
fn processes_give_the_same_model_to_the_bit_where_silos_have_both_divisions() {
    let place = handed_out("processes-silos", &pairs(0..600), &[]);
    the_same(&place, &[]);
    the_same(&place, &["--notion", "equalized-odds", "--mode", "poisson", "--batch", "50"]);
    the_same(&place, &["--model", "mlp:4"]);
    the_same(&place, &["--method", "one-shot"]);
    the_same(&place, &["--method", "one-shot", "--pool", "--secure-aggregation"]);
    let pooled = ["--method", "one-shot", "--pool", "--secure-aggregation"];
    the_same(&place, &[&pooled[..], &["--noise-shares", "once"]].concat());
    the_same(&place, &["--secure-aggregation", "--noise-shares", "once"]);
    the_same(&place, &["--method", "randomised-response", "--epsilon", "1"]);
    the_same(&place, &["--mode", "paper", "--batch", "40", "--epsilon", "3"]);
}

#[test]
fn processes_give_the_same_model_to_the_bit_where_attributes_are_elsewhere() {
    let flags = ["--split", "--holders", "2"];
    let place = handed_out("processes-split", &people(0..600), &flags);
    for method in ["steffle", "one-shot", "randomised-response"] {
        the_same(&place, &["--method", method, "--model", "softmax", "--epsilon", "1"]);
    }
    the_same(&place, &["--notion", "equalized-odds", "--model", "mlp:3"]);
}

#[test]
fn methods_with_all_records_at_hand_refuse_processes() {
    let place = handed_out("processes-refused", &pairs(0..300), &[]);
    let train = ["train", "--data", "parts/job.toml", "--processes"];
    let ran = place.run(&[&train[..], &["--method", "fedavg"]].concat());
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("steffle::config::processes"), "{}", ran.stderr);
    let ran = place.run(&["train", "--processes"]);
    assert!(ran.status == 2 && ran.stderr.contains("job.toml"), "{}", ran.stderr);
}

/// Bytes that are no frame end a node with a message and a status, in bounded time.
#[test]
fn a_node_ends_with_a_message_on_broken_frames() {
    let place = handed_out("processes-frames", &pairs(0..300), &[]);
    let node = ["node", "--stdio", "--data", "parts/job.toml", "--place", "0"];
    let huge = u64::MAX.to_le_bytes();
    let short = [&3_u64.to_le_bytes()[..], b"ab"].concat();
    let garbage = [&5_u64.to_le_bytes()[..], b"abcde"].concat();
    for (bytes, status, word) in [
        (&huge[..], 3, "a frame of"),
        (&short, 3, "the stream ended after 2 of 3"),
        (&garbage, 0, ""),
        (&[], 0, ""),
    ] {
        let mut child = place
            .command(&node)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(bytes).unwrap();
        let ended = child.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(status), "{stderr}");
        assert!(stderr.contains(word), "{stderr}");
    }
    let ran = place.run(&["node", "--stdio", "--data", "parts/job.toml", "--place", "9"]);
    assert!(ran.status == 2 && ran.stderr.contains("allowed are 0 to 2"), "{}", ran.stderr);
}
