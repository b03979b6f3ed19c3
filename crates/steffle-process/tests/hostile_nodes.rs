//! Children that are no nodes: the lead names each, in bounded time, and leaves no process behind.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic)] // a test that cannot start a process has to fail

use std::process::Command;
use std::time::{Duration, Instant};

use steffle_process::{Patience, Processes};
use steffle_wire::{NodeId, Transport};

/// What became of a request to a child that runs this script.
fn asked(script: &str) -> (String, Duration) {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    let patience = Patience { reply: Duration::from_millis(700), bytes: 1 << 20 };
    let mut nodes = Processes::start([command], patience).unwrap();
    let id = nodes.ids()[0];
    let began = Instant::now();
    let replies = nodes.exchange(&[(NodeId::at(0), b"a request")]);
    let [Err(lost)] = &replies[..] else { panic!("{script}: {replies:?}") };
    assert!(lost.to_string().contains("node 1"), "{lost}");
    let (told, took) = (lost.to_string(), began.elapsed());
    // Whoever is asked again is as lost.
    assert!(nodes.exchange(&[(NodeId::at(0), b"again")])[0].is_err());
    drop(nodes);
    let left = Command::new("kill").args(["-0", &id.to_string()]).output().unwrap();
    assert!(!left.status.success(), "{script}: process {id} is left");
    (told, took)
}

#[test]
fn children_that_are_no_nodes_are_named_in_bounded_time() {
    for (script, word) in [
        // A length beyond the cap.
        (r"printf '\377\377\377\377\377\377\377\177'; sleep 60", "a frame of"),
        // Three bytes announced, two sent.
        (r"printf '\003\0\0\0\0\0\0\0ab'", "2 of 3 bytes"),
        // Half a length.
        (r"printf 'abc'", "3 of 8 bytes"),
        // A frame that is no answer.
        (r"printf '\005\0\0\0\0\0\0\0abcde'; sleep 60", "cannot be read"),
        // Nothing, for ever; and at once.
        ("exec sleep 60", "no reply within"),
        ("exit 7", "exit status: 7"),
        // Never reads, never ends, and talks on and on.
        ("exec yes", "a frame of"),
        ("exec cat /dev/zero", "cannot be read"),
    ] {
        let (told, took) = asked(script);
        assert!(told.contains(word), "{script}: {told}");
        assert!(took < Duration::from_secs(10), "{script}: {took:?}");
    }
}
