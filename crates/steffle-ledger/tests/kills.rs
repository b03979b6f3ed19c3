//! A process that is killed: between every two operations on its files, and at random moments.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test has to fail")]

mod fixture;

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fixture::{Numbers, ROUNDS, Scratch, Server, answer, charter, clock, columns, open_run};
use steffle_ledger::{Disk, Storage, reopen};
use steffle_privacy::Refusal;

const BOOK: &str = "STEFFLE_LEDGER_TEST_BOOK";
const KILL_AT: &str = "STEFFLE_LEDGER_TEST_KILL_AT";

/// A file whose process kills itself before one of its operations.
struct Deadly {
    disk: Disk,
    left: std::sync::Arc<std::sync::atomic::AtomicI64>,
}

impl Deadly {
    fn step(&self) {
        use std::sync::atomic::Ordering;
        if self.left.fetch_sub(1, Ordering::SeqCst) == 0 {
            let own = rustix::process::getpid();
            let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
            // It takes effect before the next instruction of this thread, or soon after.
            loop {
                std::thread::sleep(Duration::from_secs(1));
            }
        }
    }
}

impl Storage for Deadly {
    fn read(&self) -> io::Result<Vec<u8>> {
        self.step();
        self.disk.read()
    }

    fn read_at(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        self.step();
        self.disk.read_at(offset, length)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.step();
        // A write that is cut short in the middle.
        let (first, second) = bytes.split_at(bytes.len() / 2);
        self.disk.append(first)?;
        self.step();
        self.disk.append(second)
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.step();
        self.disk.cut(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.step();
        self.disk.sync()
    }
}

/// Not a test of its own: the process that is killed. It says `ready`, then answers all rounds, and
/// prints what it sends.
#[test]
fn child() {
    let Ok(book) = std::env::var(BOOK) else { return };
    let kill_at = std::env::var(KILL_AT).ok().and_then(|at| at.parse().ok()).unwrap_or(i64::MAX);
    let left = std::sync::Arc::new(std::sync::atomic::AtomicI64::new(kill_at));
    let file = |path: &Path| {
        let file = std::fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
        Deadly { disk: Disk::new(file), left: left.clone() }
    };
    let say = |line: String| io::stdout().lock().write_all(line.as_bytes()).unwrap();
    say("\nready\n".into());
    let second = |charter: &steffle_ledger::Charter| Ok(charter.head.as_deref().map(file));
    let mut keeper = reopen(file(Path::new(&book)), &book, second, clock).unwrap();
    let grant = open_run(&mut keeper, "run").unwrap();
    let mut noise = Numbers(u64::from(std::process::id()) << 20 ^ kill_at.cast_unsigned());
    for round in 0..ROUNDS {
        match answer(&mut keeper, grant, round, noise.next()) {
            Ok(reply) => say(format!("sent {round} {}\n", String::from_utf8(reply).unwrap())),
            Err(Refusal::Budget { .. } | Refusal::Round { .. }) => {}
            Err(refusal) => panic!("{refusal}"),
        }
    }
    say("done\n".into());
}

/// Runs the child; kills it after a while, if one is given. Says whether it came to its end.
fn life(book: &Path, kill_at: Option<u64>, after: Option<Duration>, server: &mut Server) -> bool {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture", "--test-threads=1"]);
    command.env(BOOK, book).stdout(Stdio::piped()).stderr(Stdio::null());
    if let Some(at) = kill_at {
        command.env(KILL_AT, at.to_string());
    }
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let ready = lines.by_ref().map(Result::unwrap).any(|line| line == "ready");
    assert!(ready, "the child did not start");
    if let Some(after) = after {
        let begun = Instant::now();
        while begun.elapsed() < after {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
    }
    let mut done = false;
    // A line that was not finished was not received.
    for line in lines.map_while(Result::ok) {
        done |= line == "done";
        if let Some((round, reply)) = line.strip_prefix("sent ").and_then(|l| l.split_once(' '))
            && reply.len() == format!("round {round} noise {:016x}", 0).len()
        {
            server.receive(round.parse().unwrap(), reply.as_bytes().to_vec());
        }
    }
    child.wait().unwrap();
    done
}

fn made(scratch: &Scratch, name: &str) -> std::path::PathBuf {
    let book = scratch.path(name);
    let head = scratch.path(&format!("{name}.head"));
    steffle_ledger::create(&book, charter(Some(head)), &columns(), clock).unwrap();
    book
}

#[test]
fn killed_between_every_two_steps() {
    let scratch = Scratch::new("steps");
    let mut at = 0;
    loop {
        let book = made(&scratch, &format!("book-{at}"));
        let mut server = Server::default();
        let done = life(&book, Some(at), None, &mut server);
        // Another process goes on, is killed too, and a third comes to the end.
        life(&book, Some(at / 2 + 3), None, &mut server);
        assert!(life(&book, None, None, &mut server), "killed at step {at}");
        server.check(&steffle_ledger::open(&book, clock).unwrap());
        assert!(server.seen.len() >= 8, "at most two rounds are lost to crashes");
        if done {
            break;
        }
        // Later rounds are like the second one.
        at += if at < 40 { 1 } else { 7 };
    }
    assert!(at > 80, "{at} steps");
}

/// `STEFFLE_LEDGER_KILLS=1000` asks for more moments.
#[test]
fn killed_at_random_moments() {
    let kills = std::env::var("STEFFLE_LEDGER_KILLS").ok().and_then(|kills| kills.parse().ok());
    let scratch = Scratch::new("moments");
    let (mut numbers, mut alive) = (Numbers(7), 0);
    let kills: u64 = kills.unwrap_or(40);
    let (mut book, mut server) = (made(&scratch, "book"), Server::default());
    for kill in 0..kills {
        // From before the first line to after the last one.
        let after = Duration::from_micros(numbers.below(30_000));
        let done = life(&book, None, Some(after), &mut server);
        alive += u64::from(!done && !server.seen.is_empty());
        if done || kill % 5 == 4 || kill + 1 == kills {
            server.check(&steffle_ledger::open(&book, clock).unwrap());
            (book, server) = (made(&scratch, &format!("book-{kill}")), Server::default());
        }
    }
    println!("{kills} processes were killed, {alive} of them after they had sent something");
    assert!(alive > 0, "every process was killed before it sent anything");
}
