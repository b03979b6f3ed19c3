//! Keeps panics of the Parquet decoder inside.
//!
//! The decoder answers most damage with an error, but some with a panic (single bytes of a good
//! file overwritten are enough, as the tests of this module do). A user with a
//! damaged file deserves the same message in all cases.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

static QUIET: Once = Once::new();

/// Runs `work`; none if it panicked, in which case its state must not be used again.
pub(super) fn contain<T>(work: impl FnOnce() -> T) -> Option<T> {
    // The hook would print a backtrace before the panic is caught. Other panics still go to the
    // hook that was there before.
    QUIET.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !CONTAINED.get() {
                before(panic);
            }
        }));
    });
    let outer = CONTAINED.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(work)).ok();
    CONTAINED.set(outer);
    outcome
}
