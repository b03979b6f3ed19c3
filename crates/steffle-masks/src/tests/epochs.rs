//! When data may change between runs.

use super::*;

const LEAST: u64 = 3;

/// A store that has met sites with data in these epochs.
fn met(journal: &mut Journal, epochs: &[u32], own: (u32, &[u64])) -> Result<(), JournalError> {
    journal.meet(1, epochs, own)
}

#[test]
fn records_are_counted_once_whether_altered_added_or_removed() {
    assert_eq!(altered(&[1, 2, 3], &[1, 2, 3]), 0);
    assert_eq!(altered(&[1, 2, 3], &[1, 3]), 1, "removed");
    assert_eq!(altered(&[1, 3], &[1, 2, 3, 4]), 2, "added");
    assert_eq!(altered(&[1, 2, 3], &[1, 3, 9]), 1, "edited");
    assert_eq!(altered(&[1, 1, 2], &[1, 2, 2]), 1, "how often counts");
    assert_eq!(altered(&[], &[7, 8]), 2);
}

/// One row erased between two runs: the difference of two totals would be that person's. Many at one
/// site: that site's. So data change at `c + 2` sites, by enough records each, or at none.
#[test]
fn data_change_at_enough_sites_or_not_at_all() {
    let mut own = journal();
    let (before, after) = ([1, 2, 3, 4, 5], [1, 2, 6, 7, 8]);
    assert_eq!(own.epoch(&before, LEAST), Ok(0));
    met(&mut own, &[0, 0, 0, 0], (0, &before)).unwrap();
    // The same data: the same epoch, as often as it is asked.
    assert_eq!(own.epoch(&before, LEAST), Ok(0));
    met(&mut own, &[0, 0, 0, 0], (0, &before)).unwrap();
    // One erased, two edited.
    assert_eq!(own.epoch(&[1, 2, 3, 4], LEAST), Err(JournalError::Changed(LEAST)));
    assert_eq!(own.epoch(&[1, 2, 3, 8, 9], LEAST), Err(JournalError::Changed(LEAST)));
    // Enough here, and not enough elsewhere: with one site that may help, three change.
    assert_eq!(own.epoch(&after, LEAST), Ok(1));
    for (epochs, found) in [([1, 0, 0, 0], 1), ([1, 0, 1, 0], 2)] {
        let refused = met(&mut own, &epochs, (1, &after));
        assert_eq!(refused, Err(JournalError::Few { found, least: 3 }));
    }
    // Others' data have changed and its own have not.
    let refused = met(&mut own, &[0, 1, 1, 0], (0, &before));
    assert_eq!(refused, Err(JournalError::Few { found: 2, least: 3 }));
    // A run that was refused left nothing: the data may be what they were.
    assert_eq!(own.epoch(&before, LEAST), Ok(0));
    met(&mut own, &[1, 1, 1, 0], (1, &after)).unwrap();
    assert_eq!(own.epoch(&after, LEAST), Ok(1));
    // Nobody's data go back.
    assert_eq!(met(&mut own, &[1, 0, 2, 2], (1, &after)), Err(JournalError::Back(1)));
    // A run against more sites counts for all after it: what it said was about its totals.
    own.meet(2, &[1, 1, 1, 0], (1, &after)).unwrap();
    let refused = met(&mut own, &[1, 2, 2, 1], (1, &after));
    assert_eq!(refused, Err(JournalError::Few { found: 3, least: 4 }));
}

/// Data that go back to what they were, but for one record: two steps that are each large enough have a
/// difference of one.
#[test]
fn an_epoch_differs_from_all_before_it() {
    let mut own = journal();
    let (first, second) = ([1, 2, 3, 4], [11, 12, 13, 14]);
    met(&mut own, &[0, 0, 0], (0, &first)).unwrap();
    met(&mut own, &[1, 1, 1], (1, &second)).unwrap();
    assert_eq!(own.epoch(&[1, 2, 3], LEAST), Err(JournalError::Changed(LEAST)));
    assert_eq!(own.epoch(&first, LEAST), Err(JournalError::Changed(LEAST)));
    assert_eq!(own.epoch(&second, LEAST), Ok(1));
    assert_eq!(own.epoch(&[21, 22, 23], LEAST), Ok(2));
}

/// Where the owner says so, what was before is not compared, and no number comes again.
#[test]
fn who_accepts_a_roster_begins_anew() {
    let mut own = journal();
    let (before, after) = ([1, 2, 3, 4], [1, 2, 3]);
    own.begin([1; 32], [2; 32]).unwrap();
    met(&mut own, &[0, 0, 0], (0, &before)).unwrap();
    assert_eq!(own.epoch(&after, LEAST), Err(JournalError::Changed(LEAST)));
    own.accept([1; 32]).unwrap();
    assert_eq!(own.epoch(&after, LEAST), Ok(1));
    met(&mut own, &[1, 0, 0], (1, &after)).unwrap();
    // From then on as ever.
    assert_eq!(own.epoch(&[1, 2], LEAST), Err(JournalError::Changed(LEAST)));
    // Data that were the same are compared with from now on, too.
    own.accept([1; 32]).unwrap();
    met(&mut own, &[1, 0, 0], (1, &after)).unwrap();
    assert_eq!(own.epoch(&[1, 2], LEAST), Err(JournalError::Changed(LEAST)));
}
