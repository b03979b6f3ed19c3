//! Faults, done for real: every run ends with the model of the run that nothing interrupted, or with
//! a status and a message that names the site.
#![cfg(target_os = "linux")]

use std::fs;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Relay, change, ended, expected, handed_out, lead, model, train};
use crate::harness::{COLUMNS, Place, pairs, people};

/// Long enough to be interrupted.
const LONG: [&str; 6] = ["--mode", "none", "--server", "plain", "--rounds", "1500"];

fn three(name: &str) -> Place {
    handed_out(name, &pairs(0..2400), &["--silos", "3"])
}

/// Processes that a process has started, oldest first.
pub(crate) fn children_of(parent: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let mut children: Vec<u32> = lists
        .flat_map(|list| {
            list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>()
        })
        .collect();
    children.sort_unstable();
    children
}

/// The parties of a lead, once they are all there and rounds are under way.
fn parties(lead: &Child, count: usize, journal: &std::path::Path) -> Vec<u32> {
    let until = Instant::now() + Duration::from_mins(2);
    loop {
        let children = children_of(lead.id());
        let written = fs::metadata(journal).map_or(0, |file| file.len());
        // Describing and joining are a few kilobytes; what follows is rounds.
        if children.len() == count && written > 40_000 {
            return children;
        }
        assert!(Instant::now() < until, "the parties did not begin: {children:?}, {written} bytes");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn signal(name: &str, process: u32) {
    let sent = Command::new("kill").args([name, &process.to_string()]).status().unwrap();
    assert!(sent.success());
}

fn gone(process: u32) -> bool {
    fs::metadata(format!("/proc/{process}")).is_err()
}

const APART: [&str; 7] =
    ["train", "--data", "job.toml", "--processes", "--journal", "run.journal", "--out"];

#[test]
fn a_party_killed_in_the_middle_is_started_again() {
    let place = three("fault-killed");
    let wanted = expected(&place, &LONG);
    let lead = lead(&place, &[&APART[..], &["run"], &LONG].concat());
    let children = parties(&lead, 3, &place.path("run.journal"));
    signal("-9", children[1]);
    std::thread::sleep(Duration::from_millis(100));
    signal("-9", children[0]);
    let (status, stderr) = ended(lead, Duration::from_mins(5));
    assert_eq!(status, 0, "{stderr}");
    assert_eq!(wanted, model(&place, "run"));
    assert!(children.into_iter().all(gone));
}

#[test]
fn a_party_stopped_beyond_its_time_is_started_again() {
    let place = three("fault-stopped");
    change(&place, "job.toml", "version = 1\n", "version = 1\nreply_seconds = 3\n");
    let wanted = expected(&place, &LONG);
    let lead = lead(&place, &[&APART[..], &["run"], &LONG].concat());
    let children = parties(&lead, 3, &place.path("run.journal"));
    signal("-STOP", children[2]);
    let (status, stderr) = ended(lead, Duration::from_mins(5));
    assert_eq!(status, 0, "{stderr}");
    assert_eq!(wanted, model(&place, "run"));
    assert!(children.into_iter().all(gone), "the stopped one too");
}

const MASKED: [&str; 5] = ["--rounds", "1500", "--epsilon", "1", "--secure-aggregation"];

/// The same under masks of the sites' own keys: what was masked is masked by the same bytes again.
#[test]
fn a_masked_run_whose_lead_and_parties_were_killed_goes_on() {
    let place = three("fault-masked");
    let wanted = expected(&place, &MASKED[..4]);
    super::masks::with_keys(&place, 3, "");
    goes_on(&place, &MASKED, &wanted);
}

/// And with one noise for all sites, of which every share is sent once.
#[test]
fn a_run_of_shared_noise_whose_lead_and_parties_were_killed_goes_on() {
    let place = three("fault-shared");
    super::masks::with_keys(&place, 3, "");
    let flags = [&MASKED[..], &["--noise-shares", "once"]].concat();
    let wanted = expected(&place, &flags);
    goes_on(&place, &flags, &wanted);
}

/// Kills a party, and the lead as soon as another one has taken the killed one's place: most rounds are to
/// come then, so the run has not ended.
fn goes_on(place: &Place, flags: &[&str], wanted: &[u8]) {
    let mut killed = lead(place, &[&APART[..], &["run"], flags].concat());
    let children = parties(&killed, 3, &place.path("run.journal"));
    signal("-9", children[1]);
    let until = Instant::now() + Duration::from_mins(1);
    while children_of(killed.id()).iter().all(|child| children.contains(child)) {
        assert!(Instant::now() < until, "the killed party was not started again");
        std::thread::sleep(Duration::from_millis(5));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let before = fs::metadata(place.path("run.journal")).unwrap().len();
    let ran = place.run(&[&APART[..], &["run"], flags].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(wanted, model(place, "run"));
    assert!(fs::metadata(place.path("run.journal")).unwrap().len() > before, "it went on");
}

/// The lead dies with all its parties; the same command goes on.
#[test]
fn a_lead_that_was_killed_goes_on() {
    let place = three("fault-lead");
    let wanted = expected(&place, &LONG);
    let mut killed = lead(&place, &[&APART[..], &["run"], &LONG].concat());
    let children = parties(&killed, 3, &place.path("run.journal"));
    killed.kill().unwrap();
    killed.wait().unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while !children.iter().all(|child| gone(*child)) {
        assert!(Instant::now() < until, "parties outlive their lead");
        std::thread::sleep(Duration::from_millis(20));
    }
    let before = fs::metadata(place.path("run.journal")).unwrap().len();
    let ran = place.run(&[&APART[..], &["run"], &LONG].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(wanted, model(&place, "run"));
    assert!(fs::metadata(place.path("run.journal")).unwrap().len() > before, "it went on");
    let found = place.json(&["audit", "transcript", "run.journal"]);
    assert_eq!(found["violation"], false, "{found}");
    // Another run does not go on with it, and the finished one asks nobody.
    let ran = place.run(&[&APART[..], &["other"], &LONG, &["--seed", "3"]].concat());
    assert!(ran.status == 3 && ran.stderr.contains("train::journal"), "{}", ran.stderr);
    for site in ["silo-1", "silo-2", "silo-3"] {
        fs::remove_dir_all(place.path(site).join("sent")).unwrap();
    }
    let ran = place.run(&[&APART[..], &["again"], &LONG].concat());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(wanted, model(&place, "again"));
    assert!(!place.path("silo-1/sent").exists(), "nobody was asked");
}

/// Every site, and the server, killed between every two exchanges; letters between sites included. Sites have several
/// chunks of rows: sums that are computed again have to be added up in the same order.
#[test]
fn killed_between_every_two_exchanges() {
    for (name, flags, method) in [
        ("fault-each-both", &["--silos", "2"][..], &["--rounds", "2", "--epsilon", "1"][..]),
        ("fault-each-once", &["--silos", "2"], &["--method", "one-shot", "--epsilon", "1"]),
        (
            "fault-each-split",
            &["--silos", "2", "--split", "--holders", "2"],
            &["--rounds", "2", "--epsilon", "1", "--model", "softmax"],
        ),
    ] {
        let place = handed_out(name, &people(0..1600), flags);
        let wanted = expected(&place, method);
        let flags = [method, &["--force", "--journal", "run.journal"]].concat();
        let mut relay = Relay::start(&place, "run", &flags);
        let sites = if name.ends_with("split") { 4 } else { 2 };
        loop {
            let carried = relay.carried;
            if !relay.carry() {
                break;
            }
            match carried % 3 {
                0 => relay.kill_site(carried % sites),
                1 => (0..sites).for_each(|site| relay.kill_site(site)),
                _ => {
                    relay.kill_server();
                    let again = Relay::start(&place, "run", &flags);
                    relay.go_on_with(again);
                }
            }
        }
        let (status, stderr) = relay.end();
        assert_eq!(status, 0, "{name}: {stderr}");
        assert_eq!(wanted, model(&place, "run"), "{name}");
        let found = place.json(&["audit", "transcript", "run.journal"]);
        assert_eq!(found["violation"], false, "{name}: {found}");
    }
}

/// Messages that are lost, come twice, late, or in another order.
#[test]
fn a_relay_that_repeats_reorders_and_loses_changes_no_bit() {
    let flags = ["--silos", "2", "--split", "--holders", "2"];
    let place = handed_out("fault-relay", &people(0..200), &flags);
    let method = ["--rounds", "3", "--epsilon", "1", "--model", "softmax"];
    let wanted = expected(&place, &method);
    let mut relay = Relay::start(&place, "run", &method);
    let mut old: Vec<super::relay::Request> = Vec::new();
    while let Some(requests) = relay.next() {
        // The replies to a first delivery are lost; old requests come late, in any order.
        relay.ask(&requests);
        let late = relay.ask(&old.iter().rev().cloned().collect::<Vec<_>>());
        assert_eq!(late.len(), old.len());
        let turned: Vec<_> = requests.iter().rev().cloned().collect();
        let mut replies = relay.ask(&turned);
        replies.reverse();
        relay.give(&replies);
        old.extend(requests);
    }
    let (status, stderr) = relay.end();
    assert_eq!(status, 0, "{stderr}");
    assert_eq!(wanted, model(&place, "run"));
}

/// A site that is away: the run stops and says so, or goes on without it, as the job says.
#[test]
fn a_site_that_is_away_is_named_or_dropped() {
    let place = three("fault-away");
    let method = ["--rounds", "3", "--epsilon", "1", "--force"];
    let away = "no reply within 2 seconds".to_owned();
    // Exchange 0: the roster is short of a site; 6: in the middle of the fit.
    for at in [0, 6] {
        for (absent, status) in [("stop", 3), ("drop", 0)] {
            let job = place.read("job.toml");
            place.write(
                "job.toml",
                job.replace("version = 1\n", &format!("version = 1\nabsent = \"{absent}\"\n")),
            );
            let mut relay = Relay::start(&place, "run", &[&method[..], &["--json"]].concat());
            while let Some(requests) = relay.next() {
                let lost = relay.carried >= at;
                let there: Vec<_> =
                    requests.iter().filter(|(node, _)| !lost || *node != 3).cloned().collect();
                let mut replies = relay.ask(&there);
                if there.len() < requests.len() {
                    replies.push(Err(away.clone()));
                }
                relay.give(&replies);
            }
            let (ended, stderr) = relay.end();
            assert_eq!(ended, status, "{absent} at {at}: {stderr}");
            assert!(stderr.contains("silo 2 (silo-3)"), "{absent} at {at}: {stderr}");
            assert!(stderr.contains("no reply within 2 seconds"), "{absent} at {at}: {stderr}");
            if absent == "stop" {
                assert!(stderr.contains("steffle::train::lost"), "{stderr}");
            }
            place.write("job.toml", job);
        }
        if at == 0 {
            // Without a site from the start: the run of the others.
            let dropped = model(&place, "run");
            let job = place.read("job.toml");
            let third = "[[sites]]\nname = \"silo-3\"\nsilo = \"silo-3/silo.toml\"\n";
            place.write("job.toml", job.replace(third, ""));
            assert_eq!(dropped, expected(&place, &method[..4]));
            place.write("job.toml", job);
        }
    }
}

/// Where others wait for it, a site is not dropped.
#[test]
fn a_site_that_others_wait_for_cannot_be_left_out() {
    let absent = "no reply within 2 seconds".to_owned();
    let place = handed_out(
        "fault-away-split",
        &people(0..200),
        &["--silos", "2", "--split", "--holders", "1"],
    );
    change(&place, "job.toml", "version = 1\n", "version = 1\nabsent = \"drop\"\n");
    // From the start on, and later; records, and the attributes of them.
    for (at, lost) in [(0, 0), (0, 2), (8, 0), (8, 2)] {
        let mut relay = Relay::start(&place, "run", &["--rounds", "2", "--force"]);
        while let Some(requests) = relay.next() {
            let away = |node: u32| relay.carried >= at && node == lost + 1;
            let there: Vec<_> = requests.iter().filter(|(node, _)| !away(*node)).cloned().collect();
            let missing = requests.iter().position(|(node, _)| away(*node));
            let mut replies = relay.ask(&there);
            missing.iter().for_each(|place| replies.insert(*place, Err(absent.clone())));
            relay.give(&replies);
        }
        let (status, stderr) = relay.end();
        assert_eq!(status, 3, "{stderr}");
        let site = ["silo 0 (records-1)", "silo 1 (records-2)", "silo 2 (attributes-1)"];
        for word in [site[lost as usize], &absent, "cannot leave it out", "another run without it"]
        {
            assert!(stderr.contains(word), "{at} {lost}: {stderr}");
        }
    }
}

/// Two sites with books, private: whatever is killed, no budget is exceeded, every event has its reply.
pub(crate) fn paid(name: &str) -> Place {
    let place = handed_out(name, &pairs(0..1600), &["--silos", "2"]);
    paid_by(&place, "silo");
    place
}

/// Gives two sites of a kind books, and their policy no simulations.
pub(crate) fn paid_by(place: &Place, kind: &str) {
    let init = ["ledger", "init", "books", "--silos", "2", "--epsilon", "1.02", "--delta", "1e-6"];
    assert_eq!(place.run(&[&init[..], &COLUMNS].concat()).status, 0);
    for at in 0..2 {
        let file = format!("{kind}-{}/silo.toml", at + 1);
        change(place, &file, "simulations = true", "simulations = false");
        let ledger = format!("wait_seconds = 1\nledger = \"../books/silo-00{at}.ledger\"");
        change(place, &file, "wait_seconds = 5", &ledger);
        if kind == "attributes" {
            let book = format!("books/silo-00{at}.ledger");
            let ran = place.run(&["ledger", "people", &book, "--silo", &file]);
            assert_eq!(ran.status, 0, "{}", ran.stderr);
        }
    }
}

pub(crate) const PRIVATE: [&str; 8] =
    ["--rounds", "2", "--epsilon", "1", "--delta", "1e-6", "--noise", "secure"];

#[test]
fn killed_sites_pay_once_and_never_more_than_they_have() {
    let place = paid("fault-paid");
    let flags = [&PRIVATE[..], &["--journal", "run.journal"]].concat();
    let mut relay = Relay::start(&place, "run", &flags);
    loop {
        let carried = relay.carried;
        if !relay.carry() {
            break;
        }
        relay.kill_site(carried % 2);
        if carried == 9 {
            relay.kill_server();
            let again = Relay::start(&place, "run", &flags);
            relay.go_on_with(again);
        }
    }
    let (status, stderr) = relay.end();
    assert_eq!(status, 0, "{stderr}");
    let found = place.json(&["audit", "transcript", "run.journal", "--ledger", "books"]);
    assert_eq!(found["violation"], false, "{found}");
    assert_eq!(found["private_replies"], found["events"]);
    // Its sites let go of their ledgers.
    drop(relay);
    let spent = |place: &Place| {
        let found = place.json(&["silo", "check", "silo-1/silo.toml"]);
        (found["ledger"]["epsilon_spent"].as_f64().unwrap(), found["ledger"]["open_runs"].clone())
    };
    let (once, open) = spent(&place);
    assert!(once <= 1.0 && open == Value::Array(Vec::new()), "{once} {open}");
    // Another run is beyond the budget: the site refuses, and has spent nothing.
    let (status, stderr) =
        Relay::start(&place, "more", &[&PRIVATE[..], &["--seed", "2"]].concat()).carry_all();
    assert_eq!(status, 4, "{stderr}");
    assert!(stderr.contains("ledger::budget") && stderr.contains("silo-1"), "{stderr}");
    assert_eq!(spent(&place).0, once);
}

#[test]
fn two_jobs_on_one_store_wait_for_each_other() {
    let place = paid("fault-two-jobs");
    let mut first = Relay::start(&place, "first", &PRIVATE);
    for _ in 0..4 {
        assert!(first.carry());
    }
    let mut second = Relay::start(&place, "second", &[&PRIVATE[..], &["--seed", "2"]].concat());
    let (status, stderr) = second.carry_all();
    assert_eq!(status, 3, "{stderr}");
    assert!(stderr.contains("silo 0 (silo-1)"), "{stderr}");
    // Why is for the site's own log.
    assert!(stderr.contains("this site cannot take part"), "{stderr}");
    assert!(!stderr.contains("another process uses it"), "{stderr}");
    let (status, stderr) = first.carry_all();
    assert_eq!(status, 0, "{stderr}");
}

/// A party that cannot be started again is named.
#[test]
fn a_party_that_stays_away_is_named_with_the_seconds() {
    let place = three("fault-stays-away");
    fs::remove_file(place.path("silo-2/silo-2.csv")).unwrap();
    let ran = train(&place, "run", &["--processes"]);
    assert_eq!(ran.status, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("silo 1 (silo-2)"), "{}", ran.stderr);
    assert!(ran.stderr.contains("silo-2.csv"), "{}", ran.stderr);
    let site = place.path("silo-2").display().to_string();
    let told = ran.stderr.lines().find(|line| line.contains("silo 1 (silo-2)")).unwrap();
    assert!(!told.contains(&site), "where its files lie is not told: {told}");
}
