//! Sites that are killed after whatever they wrote down, before they have said it; and data that are edited
//! while a site answers.

use std::fs;
use std::path::PathBuf;

use super::masks::with_keys;
use super::{Relay, change, expected, handed_out, model};
use crate::harness::{COLUMNS, Place, pairs};

/// Every site's records of what it answered.
fn records(place: &Place) -> Vec<(PathBuf, Vec<u8>)> {
    let folders =
        (1..=3).filter_map(|site| fs::read_dir(place.path(&format!("silo-{site}/sent"))).ok());
    let files = folders.flatten().flatten().map(|entry| entry.path());
    files.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// Secret noise that three sites with books share. In every exchange all of them answer, closing their books
/// at the end, and are killed before the answer is in their records or sent: asked again they say the same,
/// pay nothing, and the run ends.
#[test]
fn sites_killed_before_they_said_what_they_wrote_down_say_the_same() {
    let place = handed_out("closing", &pairs(0..300), &["--silos", "3"]);
    with_keys(&place, 3, "");
    let init = ["ledger", "init", "books", "--silos", "3", "--epsilon", "1.02", "--delta", "1e-6"];
    assert_eq!(place.run(&[&init[..], &["--epsilon-alone", "4"], &COLUMNS].concat()).status, 0);
    for at in 0..3 {
        let file = format!("silo-{}/silo.toml", at + 1);
        change(&place, &file, "simulations = true", "simulations = false");
        let ledger = format!("wait_seconds = 1\nledger = \"../books/silo-00{at}.ledger\"");
        change(&place, &file, "wait_seconds = 5", &ledger);
    }
    let private = ["--rounds", "2", "--epsilon", "1", "--delta", "1e-6", "--noise", "secure"];
    let masked = ["--secure-aggregation", "--noise-shares", "once", "--journal", "run.journal"];
    let mut relay = Relay::start(&place, "run", &[&private[..], &masked].concat());
    while let Some(requests) = relay.next() {
        let before = records(&place);
        let said = relay.ask(&requests);
        (0..3).for_each(|site| relay.kill_site(site));
        for (path, _) in records(&place) {
            match before.iter().find(|(known, _)| *known == path) {
                Some((_, bytes)) => fs::write(&path, bytes).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
        }
        let again = relay.ask(&requests);
        assert_eq!(said, again, "exchange {}", relay.carried);
        relay.give(&again);
    }
    let (status, stderr) = relay.end();
    assert_eq!(status, 0, "{stderr}");
    drop(relay);
    let found = place.json(&["silo", "check", "silo-1/silo.toml"]);
    let spent = found["ledger"]["epsilon_spent"].as_f64().unwrap();
    assert!(spent <= 1.0 && found["ledger"]["open_runs"].as_array().unwrap().is_empty(), "{found}");
    // What the journal of such a run can show, it shows.
    let audit = ["audit", "transcript", "run.journal", "--ledger", "books"];
    let found = place.json(&audit);
    assert_eq!(found["violation"], false, "{found}");
    assert!(found["totals"].as_u64().unwrap() > 5, "{found}");
    assert_eq!(found["private_replies"], found["events"]);
    let shown = place.run(&audit).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("what one site sent is noise") && shown.contains("cancel"), "{shown}");
    // And the sheet says what is left if all others help.
    let sheet = place.run(&["privacy", "sheet", "run", "--ledger", "books"]).stdout;
    for words in
        ["| *alone*: epsilon if all other sites", "| against | the server and any one of the 3"]
    {
        assert!(sheet.contains(words), "{words}: {sheet}");
    }
    assert!(sheet.contains("| the same, *alone* | epsilon 4 at delta 1e-6 |"), "{sheet}");
}

/// A site reads its data when it starts. Edited under it they change no answer: it goes on about those that its
/// hello was about. A process that is started again has other data, and refuses.
#[test]
fn data_that_are_edited_while_a_site_answers_change_no_bit() {
    let place = handed_out("closing-edited", &pairs(0..300), &["--silos", "3"]);
    let method = ["--rounds", "3", "--epsilon", "1"];
    let wanted = expected(&place, &method);
    with_keys(&place, 3, "");
    let file = "silo-2/silo-2.csv";
    let before = place.read(file);
    let mut rows: Vec<&str> = before.lines().collect();
    rows.remove(5);
    let edited = rows.join("\n") + "\n";
    let flags = [&method[..], &["--secure-aggregation", "--force"]].concat();
    let mut relay = Relay::start(&place, "run", &flags);
    while relay.carry() {
        if relay.carried == 4 {
            place.write(file, &edited);
        }
    }
    let (status, stderr) = relay.end();
    assert_eq!(status, 0, "{stderr}");
    assert_eq!(wanted, model(&place, "run"), "of the data as they were");
    drop(relay);
    // The next process has the other data: in a run of its own, and in the middle of one.
    let mut relay = Relay::start(&place, "next", &flags);
    let (status, stderr) = relay.carry_all();
    assert!(status == 3 && stderr.contains("fewer than 50 records"), "{stderr}");
    drop(relay);
    place.write(file, &before);
    let mut relay = Relay::start(&place, "middle", &[&flags[..], &["--seed", "2"]].concat());
    while relay.carry() {
        if relay.carried == 6 {
            place.write(file, &edited);
            relay.kill_site(1);
        }
    }
    let (status, stderr) = relay.end();
    assert!(status == 3 && stderr.contains("has changed since the run began"), "{stderr}");
}
