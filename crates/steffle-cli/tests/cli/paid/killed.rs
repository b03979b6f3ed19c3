//! Runs whose process is killed, and the same command after it.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use super::TRAIN;
use crate::harness::Place;

/// Longer than anything here takes.
const LONG: Duration = Duration::from_mins(1);

/// A command that trains so many rounds, to `run`.
fn train<'a>(rounds: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = TRAIN.iter().map(|word| if *word == "4" { rounds } else { *word });
    words.chain(["--epsilon", "1", "--out", "run"]).chain(more.iter().copied()).collect()
}

/// Silos of several chunks of rows: sums that are computed again have to be added up in the same order.
fn place(name: &str) -> Place {
    super::place(name, 2400)
}

fn started(place: &Place, flags: &[&str]) -> Child {
    place.command(flags).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Waits for something that the run does.
fn wait(run: &mut Child, what: &str, done: impl Fn() -> bool) {
    let since = Instant::now();
    while !done() {
        assert!(since.elapsed() < LONG && run.try_wait().unwrap().is_none(), "not {what}");
        sleep(Duration::from_millis(1));
    }
}

fn kill(mut run: Child) {
    run.kill().unwrap();
    run.wait().unwrap();
}

fn books(place: &Place) -> [String; 3] {
    [0, 1, 2].map(|silo| place.read(&format!("books/silo-00{silo}.ledger")))
}

fn read(pipe: &Path) -> Vec<u8> {
    let (send, receive) = mpsc::channel();
    let pipe = pipe.to_path_buf();
    thread::spawn(move || send.send(fs::read(pipe).unwrap()));
    receive.recv_timeout(LONG).unwrap()
}

/// A run that is killed when it has written its model and not yet all that belongs beside it; returns the
/// model, which nobody else has.
fn killed_while_it_writes(place: &Place, flags: &[&str]) -> Vec<u8> {
    let mut run = started(place, flags);
    let contents = place.path(".run.unfinished/contents");
    wait(&mut run, "begun", || contents.is_dir());
    // At a pipe it waits until somebody reads what it writes.
    let pipes = ["model.safetensors", "report.html"].map(|name| contents.join(name));
    assert!(Command::new("mkfifo").args(&pipes).status().unwrap().success());
    let model = read(&pipes[0]);
    assert!(run.try_wait().unwrap().is_none() && !place.path("run").exists());
    kill(run);
    assert!(books(place).iter().all(|book| book.contains("{\"close\":")), "they have closed it");
    model
}

/// It was paid for, and nobody has it.
#[test]
fn a_run_killed_before_its_model_was_written_writes_the_same_one() {
    for (name, more) in [
        ("paid-killed", &[][..]),
        ("paid-killed-metrics", &["--metrics-share", "0.3"]),
        ("paid-killed-journal", &["--journal", "run.journal"]),
        ("paid-killed-masks", &["--secure-aggregation"]),
    ] {
        let (place, flags) = (place(name), train("60", more));
        let model = killed_while_it_writes(&place, &flags);
        let paid = books(&place);
        let ran = place.run(&flags);
        assert_eq!(ran.status, 0, "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains("has ended before"), "{name}: {}", ran.stderr);
        assert!(model == fs::read(place.path("run/model.safetensors")).unwrap(), "{name}");
        assert!(paid == books(&place), "{name}: something was paid for again");
        let verified = place.run(&["ledger", "verify", "books", "--run", "run"]);
        assert_eq!(verified.status, 0, "{name}: {}", verified.stderr);
    }
}

/// What was answered is answered again at no cost, and then the run asks on.
#[test]
fn a_run_killed_in_the_middle_goes_on() {
    let (place, flags) = (place("paid-killed-middle"), train("60", &[]));
    let mut run = started(&place, &flags);
    let lines = |what: &str| books(&place).map(|book| book.matches(what).count());
    wait(&mut run, "answered", || lines("{\"commit\":")[0] > 4);
    kill(run);
    assert!(lines("{\"close\":") == [0; 3]);
    let ran = place.run(&flags);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    // The census and 60 rounds.
    assert_eq!((lines("{\"reserve\":"), lines("{\"commit\":")), ([61; 3], [61; 3]));
}

/// One of three books has closed the run when its process is killed.
#[test]
fn a_run_killed_between_the_ends_of_two_books_goes_on() {
    let (place, flags) = (place("paid-killed-between"), train("60", &[]));
    let model = killed_while_it_writes(&place, &flags);
    let paid = books(&place);
    for (silo, book) in paid.iter().enumerate().skip(1) {
        let last = book.trim_end().rfind('\n').unwrap();
        place.write(&format!("books/silo-00{silo}.ledger"), &book[..=last]);
    }
    let ran = place.run(&flags);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(model == fs::read(place.path("run/model.safetensors")).unwrap());
    let lines = |books: [String; 3]| books.map(|book| book.lines().count());
    assert_eq!(lines(paid), lines(books(&place)), "the others are closed");
}

/// Of a run that was closed too early there is nothing more, and it says so.
#[test]
fn a_run_that_was_closed_in_the_middle_does_not_go_on() {
    let (place, flags) = (place("paid-closed"), train("400", &[]));
    let mut run = started(&place, &flags);
    wait(&mut run, "answered", || books(&place)[0].matches("{\"commit\":").count() > 4);
    kill(run);
    let shown = place.json(&["ledger", "show", "books"]);
    let name = shown["books"][0]["runs"][0]["run"].as_str().unwrap();
    assert_eq!(place.run(&["ledger", "close", "books", name]).status, 0);
    let closed = books(&place);
    let ran = place.run(&flags);
    assert_eq!(ran.status, 3, "{}", ran.stderr);
    for word in ["error[steffle::ledger::closed]", "before it had asked this", "another --seed"] {
        assert!(ran.stderr.contains(word), "{word}: {}", ran.stderr);
    }
    assert!(closed == books(&place) && !place.path("run").exists());
}
