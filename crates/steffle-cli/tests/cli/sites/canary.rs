//! Values of s that stand out are in nothing that sites or the lead write, say or send.

use std::fs;
use std::path::Path;

use super::faults::{PRIVATE, paid_by};
use super::{Relay, handed_out};
use crate::harness::pairs;

/// Of a class that is not among the declared ones, so that its name is secret too.
const CANARY: &str = "Zanzibar7319";

fn everything(folder: &Path, seen: &mut impl FnMut(&Path, &[u8])) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            everything(&path, seen);
        } else {
            seen(&path, &fs::read(&path).unwrap());
        }
    }
}

#[test]
fn a_canary_is_in_no_message_record_journal_or_error() {
    let csv: String = pairs(0..300)
        .lines()
        .enumerate()
        .map(|(at, line)| match at % 10 {
            5 => format!("{}\n", line.replace(",a,", &format!(",{CANARY},"))),
            _ => format!("{line}\n"),
        })
        .collect();
    assert!(csv.matches(CANARY).count() > 5);
    for (name, flags) in [
        ("canary-both", &["--silos", "2"][..]),
        ("canary-split", &["--silos", "2", "--split", "--holders", "2"]),
    ] {
        let place = handed_out(name, &csv, flags);
        paid_by(&place, if flags.len() > 2 { "attributes" } else { "silo" });
        let flags = [&PRIVATE[..], &["--journal", "run.journal"]].concat();
        let mut said = Vec::new();
        let mut relay = Relay::start(&place, "run", &flags);
        while let Some(requests) = relay.next() {
            requests.iter().for_each(|(_, request)| said.extend_from_slice(request));
            let replies = relay.ask(&requests);
            replies.iter().flatten().for_each(|reply| said.extend_from_slice(reply));
            relay.kill_site(relay.carried % 2);
            relay.give(&replies);
        }
        let (status, stderr) = relay.end();
        assert_eq!(status, 0, "{name}: {stderr}");
        said.extend(stderr.bytes());
        // Refused: it asks for more than is left.
        let more = [&PRIVATE[..], &["--seed", "5", "--json"]].concat();
        drop(relay);
        let (status, stderr) = Relay::start(&place, "more", &more).carry_all();
        assert_eq!(status, 4, "{name}: {stderr}");
        said.extend(stderr.bytes());
        let mut files = 0;
        everything(&place.path(""), &mut |path, bytes| {
            if path.extension().is_none_or(|kind| kind != "csv") {
                files += 1;
                said.extend_from_slice(bytes);
            }
        });
        assert!(files > 10 && said.len() > 100_000, "{files} files, {} bytes", said.len());
        let seen = said.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
        assert!(!seen, "{name}: somebody saw it");
    }
}
