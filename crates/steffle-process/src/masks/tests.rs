use std::fs;
use std::path::PathBuf;

use steffle_masks::{Journal, JournalError};

use super::*;

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("steffle-masks-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn a_key_is_made_once_and_read_by_its_owner_alone() {
    let folder = folder("key");
    let path = folder.join("site.key");
    let made = create_key(&path).unwrap();
    assert_eq!(read_key(&path).unwrap().fingerprint(), made.fingerprint());
    assert!(matches!(create_key(&path), Err(MaskFileError::Exists(_))));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(read_key(&path), Err(MaskFileError::Permissions { mode: 0o640, .. })));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    fs::write(&path, "no key").unwrap();
    assert!(matches!(read_key(&path), Err(MaskFileError::NotAKey(_))));
}

/// Whatever is written outlives the process: the same secret, the same answers, one roster.
#[test]
fn a_journal_goes_on_where_it_was() {
    let folder = folder("journal");
    let path = folder.join("masks.journal");
    let mut journal = open_journal(&path, None).unwrap();
    let secret = journal.begin([1; 32], [2; 32]).unwrap();
    journal.answer(3, [4; 32], [5; 32]).unwrap();
    assert!(matches!(open_journal(&path, None), Err(MaskFileError::Busy(_))));
    drop(journal);
    let mut journal = open_journal(&path, None).unwrap();
    assert!(journal.begin([1; 32], [2; 32]).unwrap() == secret);
    journal.answer(3, [4; 32], [5; 32]).unwrap();
    assert_eq!(journal.answer(3, [4; 32], [6; 32]), Err(JournalError::Twice(3)));
    assert_eq!(journal.begin([9; 32], [2; 32]).err(), Some(JournalError::Roster([1; 32])));
    assert_eq!(read_journal(&path).unwrap(), Some([1; 32]));
    // Another run has another secret, and the old one is nowhere.
    let next = journal.begin([1; 32], [7; 32]).unwrap();
    assert!(next != secret);
    assert_eq!(fs::read(folder.join("masks.journal.secret")).unwrap()[..32], next.key);
    journal.end().unwrap();
    assert!(!folder.join("masks.journal.secret").exists());
    drop(journal);
    let mut journal = open_journal(&path, None).unwrap();
    assert_eq!(journal.begin([1; 32], [7; 32]).err(), Some(JournalError::Over));
}

/// Cut at every byte, a journal goes on from its last whole line; changed anywhere else it is refused.
#[test]
fn torn_lines_are_cut_off_and_changed_ones_refused() {
    let folder = folder("torn");
    let path = folder.join("masks.journal");
    let mut journal = open_journal(&path, None).unwrap();
    journal.begin([1; 32], [2; 32]).unwrap();
    journal.answer(3, [4; 32], [5; 32]).unwrap();
    drop(journal);
    let mut whole = fs::read(&path).unwrap();
    let ends: Vec<usize> = (1..=whole.len()).filter(|end| whole[end - 1] == b'\n').collect();
    assert_eq!(ends.len(), 3);
    let zeros = whole.split_off(ends[2]);
    assert!(zeros.len() > 1000 && zeros.iter().all(|byte| *byte == 0));
    let goes_on = |bytes: &[u8], kept: usize| {
        fs::write(&path, bytes).unwrap();
        drop(open_journal(&path, None).unwrap());
        assert_eq!(fs::read(&path).unwrap(), &whole[..kept], "{} bytes", bytes.len());
    };
    for cut in 0..whole.len() {
        let kept = ends.iter().copied().filter(|end| *end <= cut).max().unwrap_or(0);
        goes_on(&whole[..cut], kept);
        // Before the zeros that were there, and with the end of the line but not its beginning.
        if cut % 5 == 0 {
            goes_on(&[&whole[..cut], &zeros[..100]].concat(), kept);
        }
    }
    let mut torn = [&whole[..], &zeros[..100]].concat();
    torn[ends[1]..ends[1] + 40].fill(0);
    goes_on(&torn, ends[1]);
    torn[ends[0]] = 0;
    fs::write(&path, &torn).unwrap();
    assert!(open_journal(&path, None).is_err(), "a line that others follow was whole once");
    for at in (0..ends[1]).step_by(7) {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        fs::write(&path, &changed).unwrap();
        assert!(open_journal(&path, None).is_err(), "changed at {at}");
    }
}

/// An older copy whose run went on after it: the secret is gone, so that no mask covers two replies, and the
/// next run says a new hello.
#[test]
fn an_older_copy_says_a_new_hello() {
    let folder = folder("rollback");
    let (path, head) = (folder.join("masks.journal"), folder.join("elsewhere.head"));
    let secret = folder.join("masks.journal.secret");
    let mut journal = open_journal(&path, Some(&head)).unwrap();
    let before = journal.begin([1; 32], [2; 32]).unwrap();
    journal.meet(1, &[0, 0, 0], (0, &[5, 6, 7])).unwrap();
    let older = fs::read(&path).unwrap();
    journal.answer(3, [4; 32], [5; 32]).unwrap();
    drop(journal);
    fs::write(&path, older).unwrap();
    let mut journal = open_journal(&path, Some(&head)).unwrap();
    assert!(!secret.exists(), "masks of the older copy are gone");
    // What stands for the store's life is there.
    assert_eq!(journal.roster(), Some([1; 32]));
    assert_eq!(journal.epoch(&[5, 6], 50), Err(JournalError::Changed(50)));
    let after = journal.begin([1; 32], [2; 32]).unwrap();
    assert!(after != before, "the same request begins a run of other masks");
    journal.answer(3, [4; 32], [9; 32]).unwrap();
    drop(journal);
    // From there it goes on as ever.
    assert!(open_journal(&path, Some(&head)).unwrap().begin([1; 32], [2; 32]).unwrap() == after);
}

/// An older copy that has forgotten whom it met, about which data: were it to go on, it would answer about data
/// that differ by one record from those that it answered about. Its owner begins anew.
#[test]
fn an_older_copy_that_lost_what_stands_waits_for_its_owner() {
    let folder = folder("rollback-stands");
    let (path, head) = (folder.join("masks.journal"), folder.join("elsewhere.head"));
    let mut journal = open_journal(&path, Some(&head)).unwrap();
    journal.begin([1; 32], [2; 32]).unwrap();
    let older = fs::read(&path).unwrap();
    journal.meet(1, &[0, 0, 0], (0, &[5, 6, 7])).unwrap();
    assert_eq!(journal.epoch(&[5, 6, 8], 50), Err(JournalError::Changed(50)));
    drop(journal);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &older).unwrap();
    let refused = open_journal(&path, Some(&head)).err().unwrap();
    assert!(matches!(refused, MaskFileError::RolledBack { found: 2, seen: 4, .. }), "{refused}");
    assert!(!folder.join("masks.journal.secret").exists(), "masks of the older copy are gone");
    // Why it waits: nobody else knows.
    let forgetful = open_journal(&path, None).unwrap();
    assert_eq!(forgetful.epoch(&[5, 6, 8], 50), Ok(0), "one record would be shown");
    drop(forgetful);
    // Another journal of as many lines is no better, nor is a head that is none.
    let mut other = open_journal(&folder.join("other.journal"), None).unwrap();
    other.begin([1; 32], [2; 32]).unwrap();
    other.meet(1, &[0, 0, 0], (0, &[5, 6, 8])).unwrap();
    drop(other);
    fs::write(&path, fs::read(folder.join("other.journal")).unwrap()).unwrap();
    let refused = open_journal(&path, Some(&head)).err().unwrap();
    assert!(matches!(refused, MaskFileError::RolledBack { found: 4, seen: 4, .. }), "{refused}");
    // A head of an older program has the number alone: whatever is missing, its owner is asked.
    fs::write(&path, &whole).unwrap();
    fs::write(&head, "5").unwrap();
    assert!(matches!(open_journal(&path, Some(&head)), Err(MaskFileError::RolledBack { .. })));
    fs::write(&head, "many").unwrap();
    assert!(matches!(open_journal(&path, Some(&head)), Err(MaskFileError::Damaged { .. })));
    fs::write(&head, "5").unwrap();
    accept_roster(&path, Some(&head), [1; 32]).unwrap();
    let mut journal = open_journal(&path, Some(&head)).unwrap();
    assert_eq!(journal.roster(), Some([1; 32]));
    journal.begin([1; 32], [2; 32]).unwrap();
}

/// What data were is known to the next process, and to the owner who looks.
#[test]
fn epochs_outlive_the_process() {
    let folder = folder("epochs");
    let path = folder.join("masks.journal");
    let (before, after) = ([1, 2, 3, 4], [1, 2, 8, 9]);
    let mut journal = open_journal(&path, None).unwrap();
    journal.begin([1; 32], [2; 32]).unwrap();
    assert_eq!(read_epoch(&path, &before).unwrap(), None);
    journal.meet(1, &[0, 0, 0], (0, &before)).unwrap();
    drop(journal);
    let mut journal = open_journal(&path, None).unwrap();
    assert_eq!(journal.epoch(&before, 2), Ok(0));
    assert_eq!(journal.epoch(&[1, 2, 3], 2), Err(JournalError::Changed(2)));
    assert_eq!(read_epoch(&path, &before).unwrap(), Some((0, 0)));
    assert_eq!(read_epoch(&path, &[1, 2, 3]).unwrap(), Some((0, 1)));
    let few = journal.meet(1, &[1, 0, 0], (1, &after));
    assert_eq!(few, Err(JournalError::Few { found: 1, least: 3 }));
    journal.meet(1, &[1, 1, 1], (1, &after)).unwrap();
    fs::write(folder.join("masks.journal.epoch-notes"), "mine").unwrap();
    assert_eq!(read_epoch(&path, &after).unwrap(), Some((1, 0)));
    // Whoever lost the digests cannot say what changed.
    fs::remove_file(folder.join("masks.journal.epoch-0")).unwrap();
    assert!(matches!(journal.epoch(&[7], 2), Err(JournalError::Stopped(_))));
    assert!(read_epoch(&path, &after).is_err());
    drop(journal);
    accept_roster(&path, None, [1; 32]).unwrap();
    assert_eq!(read_epoch(&path, &[7]).unwrap(), None);
    assert!(folder.join("masks.journal.epoch-1").exists());
    assert_eq!(open_journal(&path, None).unwrap().epoch(&[7], 2), Ok(2), "no number twice");
    // Nothing is compared with what was before, and its digests are gone; whatever else lies there stays.
    assert!(!folder.join("masks.journal.epoch-1").exists());
    assert!(folder.join("masks.journal.epoch-notes").exists());
}

#[test]
fn a_store_that_answered_in_the_clear_is_asked_before_it_answers_under_masks() {
    let folder = folder("accept");
    let path = folder.join("masks.journal");
    let mut journal = open_journal(&path, None).unwrap();
    journal.clear().unwrap();
    assert_eq!(journal.begin([1; 32], [2; 32]).err(), Some(JournalError::Roster(Journal::CLEAR)));
    drop(journal);
    accept_roster(&path, None, [1; 32]).unwrap();
    let mut journal = open_journal(&path, None).unwrap();
    journal.begin([1; 32], [2; 32]).unwrap();
    assert_eq!(journal.clear(), Err(JournalError::Roster([1; 32])));
}
