//! Books that were damaged, cut, swapped, restored or opened twice.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test has to fail")]

mod fixture;

use std::fs;
use std::path::{Path, PathBuf};

use fixture::{Scratch, answer, charter, clock, columns, entry, offer, open_run, roll, tenth};
use steffle_ledger::{Charter, FileLedger, LedgerError, StoreId, look, open};
use steffle_privacy::Refusal;
use steffle_privacy::ledger::{Accounts, Ledger, NoiseKind, Policy, Roll};

/// A book with a run of two rounds.
fn small(scratch: &Scratch, name: &str, head: bool) -> PathBuf {
    let path = scratch.path(name);
    let head = head.then(|| scratch.path(&format!("{name}.head")));
    steffle_ledger::create(&path, charter(head), &columns(), clock).unwrap();
    let mut keeper = open(&path, clock).unwrap();
    let grant = open_run(&mut keeper, "run").unwrap();
    for round in 0..2 {
        answer(&mut keeper, grant, round, 1).unwrap();
    }
    path
}

fn code(path: &Path) -> &'static str {
    open(path, clock).map_or_else(|error| error.code(), |_| "opened")
}

fn spent(keeper: &FileLedger) -> f64 {
    let (grant, _) = keeper.book().run("run").unwrap();
    keeper.spent(grant).unwrap().value().powi(2)
}

/// A flipped byte stops the store, or, in the last line alone, is a torn write that is cut off and
/// noted: then its reservation stays spent, and with a second head that is refused too.
#[test]
fn every_byte_counts() {
    let scratch = Scratch::new("flips");
    let path = small(&scratch, "book", false);
    let bytes = fs::read(&path).unwrap();
    let last = bytes[..bytes.len() - 1].iter().rposition(|&byte| byte == b'\n').unwrap() + 1;
    let (mut torn, copy) = (0, scratch.path("copy"));
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        fs::write(&copy, &damaged).unwrap();
        own(&copy);
        match open(&copy, clock) {
            Err(error) => {
                let expected = ["steffle::ledger::damaged", "steffle::ledger::not_a_ledger"];
                assert!(expected.contains(&error.code()), "byte {at}: {error}");
                assert_eq!(fs::read(&copy).unwrap(), damaged, "byte {at}: nothing is mended");
            }
            Ok(mut keeper) => {
                assert!(at >= last, "byte {at} of {}, before {last}", bytes.len());
                torn += 1;
                assert!(spent(&keeper) * (1.0 + 1e-9) >= 2.0 * tenth(), "byte {at}");
                // The reply that was cut off is drawn anew, and is paid for anew.
                if torn == 1 {
                    let (grant, _) = keeper.book().run("run").unwrap();
                    assert!(keeper.stored(grant, &entry(1).request).unwrap().is_none());
                    answer(&mut keeper, grant, 1, 2).unwrap();
                    assert!(spent(&keeper) * (1.0 + 1e-9) >= 3.0 * tenth());
                }
            }
        }
    }
    assert_eq!(torn, bytes.len() - last);
}

#[test]
fn every_cut_is_a_torn_write_or_stops() {
    let scratch = Scratch::new("cuts");
    for head in [false, true] {
        let path = small(&scratch, &format!("book-{head}"), head);
        let bytes = fs::read(&path).unwrap();
        let first = bytes.iter().position(|&byte| byte == b'\n').unwrap() + 1;
        for length in (0..bytes.len()).step_by(3).chain([first - 1, first]) {
            fs::write(&path, &bytes[..length]).unwrap();
            let expected = match (length < first, head) {
                (true, _) => "steffle::ledger::not_a_ledger",
                (false, true) => "steffle::ledger::rolled_back",
                (false, false) => "opened",
            };
            assert_eq!(code(&path), expected, "cut at {length}, second head: {head}");
        }
    }
}

#[test]
fn lines_are_neither_missing_nor_repeated_nor_moved() {
    let scratch = Scratch::new("lines");
    let path = small(&scratch, "book", false);
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let mut damaged = Vec::new();
    for at in 0..lines.len() - 1 {
        let mut without = lines.clone();
        without.remove(at);
        let mut twice = lines.clone();
        twice.insert(at, lines[at]);
        let mut moved = lines.clone();
        moved.swap(at, at + 1);
        damaged.extend([without, twice, moved]);
    }
    for lines in damaged {
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        let code = code(&path);
        assert!(code == "steffle::ledger::damaged", "{code}");
    }
}

#[test]
fn another_book_and_an_old_backup_are_noticed() {
    let scratch = Scratch::new("backup");
    let (path, other) = (small(&scratch, "book", true), small(&scratch, "other", true));
    let backup = fs::read(&path).unwrap();
    let mut keeper = open(&path, clock).unwrap();
    let grant = open_run(&mut keeper, "run").unwrap();
    answer(&mut keeper, grant, 2, 1).unwrap();
    drop(keeper);
    let now = fs::read(&path).unwrap();
    fs::write(&path, &backup).unwrap();
    let refused = open(&path, clock).unwrap_err();
    assert_eq!(refused.code(), "steffle::ledger::rolled_back", "{refused}");
    assert_eq!(look(&path).unwrap_err().code(), "steffle::ledger::rolled_back");
    // Another history of the same length.
    let again = scratch.path("again");
    let store = StoreId("ffffffffffffffffffffffffffffffff".into());
    steffle_ledger::create(&again, Charter { store, ..charter(None) }, &columns(), clock).unwrap();
    let forged = Charter { head: Some(scratch.path("book.head")), ..charter(None) };
    let forged = Charter { policy: Policy::of(9.0, 1e-6), ..forged };
    let elsewhere = scratch.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let _ = fs::rename(scratch.path("book.head"), elsewhere.join("head"));
    fs::remove_file(&path).unwrap();
    steffle_ledger::create(&path, forged, &columns(), clock).unwrap();
    fs::rename(elsewhere.join("head"), scratch.path("book.head")).unwrap();
    assert_eq!(code(&path), "steffle::ledger::swapped");
    // Another store's book names its own head.
    fs::write(&path, &now).unwrap();
    assert_eq!((code(&path), code(&other)), ("opened", "opened"));
    fs::remove_file(scratch.path("book.head")).unwrap();
    assert_eq!(code(&path), "steffle::ledger::io");
    fs::write(scratch.path("book.head"), b"").unwrap();
    own(&scratch.path("book.head"));
    assert_eq!(code(&path), "steffle::ledger::head");
}

#[test]
fn one_process_at_a_time_and_nobody_else() {
    let scratch = Scratch::new("lock");
    let path = small(&scratch, "book", false);
    let keeper = open(&path, clock).unwrap();
    let busy = open(&path, clock).unwrap_err();
    assert!(busy.to_string().contains("another process uses it (run run)"), "{busy}");
    look(&path).unwrap();
    drop(keeper);
    open(&path, clock).unwrap();
    assert_eq!(
        steffle_ledger::create(&path, charter(None), &columns(), clock).unwrap_err().code(),
        "steffle::ledger::exists"
    );
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let refused = open(&path, clock).unwrap_err();
        assert!(matches!(refused, LedgerError::Permissions { mode: 0o640, .. }), "{refused}");
    }
}

/// A server that opens many runs, reuses names, skips, repeats and goes back, through a book that is
/// opened anew before every question.
#[test]
fn a_server_gets_what_the_rules_say_after_every_restart() {
    let scratch = Scratch::new("server");
    let path = scratch.path("book");
    let policy = Policy { open_runs: 2, ..Policy::of(3.0, 1e-6) };
    let store = StoreId("00112233445566778899aabbccddeeff".into());
    steffle_ledger::create(&path, Charter::new(store, policy, None), &columns(), clock).unwrap();
    let keeper = || open(&path, clock).unwrap();
    let first = keeper().open(&offer("a", 0.5), Accounts::Units(5), &roll).unwrap();
    assert_eq!(keeper().open(&offer("a", 0.5), Accounts::Units(5), &roll), Ok(first));
    let reused = keeper().open(&offer("a", 0.6), Accounts::Units(5), &roll);
    assert_eq!(reused, Err(Refusal::Run("a".into())));
    let second = keeper().open(&offer("b", 1.0), Accounts::Units(5), &roll).unwrap();
    let third = keeper().open(&offer("c", 0.1), Accounts::One, &roll);
    assert!(matches!(third, Err(Refusal::OpenRuns { most: 2, .. })), "{third:?}");

    let reply = answer(&mut keeper(), second, 3, 1).unwrap();
    assert_eq!(answer(&mut keeper(), second, 3, 2).unwrap(), reply, "a repeated round");
    assert_eq!(answer(&mut keeper(), first, 3, 3).unwrap(), reply, "in another run, too");
    answer(&mut keeper(), second, 7, 1).unwrap();
    let back = answer(&mut keeper(), second, 5, 1);
    assert_eq!(back, Err(Refusal::Round { asked: 5, last: 7 }));
    // Another question in a round that was answered.
    let other = steffle_privacy::Entry { request: [9; 32], ..entry(7) };
    let equivocating = keeper().reserve(second, other, NoiseKind::Secure).map(drop);
    assert_eq!(equivocating, Err(Refusal::Round { asked: 7, last: 7 }));
    keeper().close(second).unwrap();
    let closed = keeper().open(&offer("b", 1.0), Accounts::Units(5), &roll);
    assert_eq!(closed, Err(Refusal::Run("b".into())));
    // Whoever joins later has a full budget.
    let all = |ids: std::ops::Range<u64>| {
        move || Roll { ids: ids.clone().collect(), units: vec![], ..Roll::default() }
    };
    let most = keeper().open(&offer("d", 3.0), Accounts::One, &all(0..9));
    assert!(matches!(most, Err(Refusal::Budget { .. })), "{most:?}");
    let strangers = keeper().open(&offer("d", 3.0), Accounts::One, &all(5..9));
    assert_eq!(strangers, Err(Refusal::Strangers { known: 5, listed: 4 }));
    keeper().admit().unwrap();
    keeper().open(&offer("d", 3.0), Accounts::One, &all(5..9)).unwrap();
    let look = look(&path).unwrap();
    assert_eq!((look.runs.len(), look.book.people()), (3, (9, 9)));
    assert!(look.runs[1].closed && look.runs[1].replies == 2 && look.runs[1].costs < 1.0);
}

fn own(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }
}
