//! Attacks around the door to s: names, lists, ids and files in place of numbers.
//!
//! Both targets have a longer form, in CONTRIBUTING.md. A finding names its number, and the same number
//! makes the same choices again. The first target's noise is secret, as at real sites: where it decides
//! what is accepted, later choices can differ.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a test that cannot write its files has to fail

mod book;
mod dice;
mod honest;
mod leaves;
mod mutate;
mod pays;
mod runs;
mod spoiled;
mod talk;
mod world;

use std::time::{Duration, Instant};

use rayon::prelude::*;

use crate::book::Does;
use crate::leaves::{Tally, recorded, sequence};
use crate::pays::Paid;
use crate::spoiled::Spoil;
use crate::world::Setting;

/// A number from the environment.
fn asked(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Whether so much was done, or the time is over that the environment gives.
fn done(start: Instant, count: u64, most: u64) -> bool {
    match asked("STEFFLE_FUZZ_SECONDS") {
        Some(seconds) => start.elapsed() >= Duration::from_secs(seconds),
        None => count >= most,
    }
}

/// Sends mutations until there were so many. Stops at the first that tells s.
fn leaves(most: u64, spoil: Spoil) -> Result<Tally, String> {
    const BATCH: u64 = 40;
    // Before there are threads, which would wait for each other.
    (0..Setting::all().len()).for_each(|at| _ = recorded(at));
    runs::prepare();
    let (start, mut total) = (Instant::now(), Tally::default());
    for batch in 0.. {
        if done(start, total.mutated, most) {
            break;
        }
        let numbers = (batch * BATCH..(batch + 1) * BATCH).into_par_iter();
        // Every eighth is about run directories.
        let tallies = numbers.map(|number| match number % 8 {
            7 if spoil == Spoil::No => runs::sequence(number),
            _ => sequence(number, spoil),
        });
        let tallies = tallies.collect::<Result<Vec<Tally>, String>>()?;
        total = tallies.iter().fold(total, Tally::add);
    }
    let Tally { mutated, accepted, opened, released } = total;
    println!(
        "{mutated} mutations, {accepted} accepted, {} refused; {opened} runs opened, {released} replies \
         paid for",
        mutated - accepted
    );
    Ok(total)
}

/// 2,000 mutations of messages, letters and files: whatever one cell of s says, the same bytes leave.
#[test]
fn nothing_leaves_but_what_was_paid_for() {
    let total = leaves(asked("STEFFLE_AROUND_MUTATIONS").unwrap_or(2000), Spoil::No).unwrap();
    // Whoever refuses everything tells nothing, and is no test.
    let Tally { mutated, accepted, opened, released } = total;
    assert!(accepted * 5 > mutated, "{total:?}");
    assert!(opened * 10 > mutated && released * 20 > mutated, "{total:?}");
}

/// A site that words a refusal with a value of s is caught.
#[test]
fn a_refusal_that_tells_s_is_caught() {
    let found = leaves(2000, Spoil::Words).unwrap_err();
    assert!(found.contains("the first value is"), "{found}");
}

/// A site that takes s for a feature when a schema says so is caught.
#[test]
fn s_in_the_open_table_is_caught() {
    let found = leaves(20_000, Spoil::OpenTable).unwrap_err();
    assert!(found.contains("bytes and"), "{found}");
}

/// Buys until there were so many sequences of purchases. Stops at the first person who was moved further
/// than was paid for.
fn pays(most: u64, does: &Does) -> Result<Paid, String> {
    const BATCH: u64 = 40;
    runs::prepare();
    let (start, mut total) = (Instant::now(), Paid::default());
    let mut sequences = 0;
    while !done(start, sequences, most) {
        let numbers = (sequences..sequences + BATCH).into_par_iter();
        let paid = numbers.map(|number| pays::sequence(number, does));
        total = paid.collect::<Result<Vec<Paid>, String>>()?.iter().fold(total, Paid::add);
        sequences += BATCH;
    }
    let Paid { purchases, accepted, replies, moved, sampled, worst } = total;
    println!(
        "{sequences} sequences of {purchases} purchases, {accepted} to their end; {replies} replies, of \
         which one person moved {moved}, {sampled} of them sampled; largest move over its charge {worst:.9}"
    );
    Ok(total)
}

/// Sequences of purchases while names, ids and lists change: nobody moves more than they pay.
#[test]
fn who_is_moved_pays() {
    let total = pays(asked("STEFFLE_AROUND_SEQUENCES").unwrap_or(400), &Does::Keeps).unwrap();
    let Paid { purchases, accepted, replies, moved, sampled, worst } = total;
    assert!(accepted * 4 > purchases && replies > purchases, "{total:?}");
    // The person has to be seen, and prices are exact.
    assert!(moved * 10 > replies && sampled > 0 && worst > 0.99, "{total:?}");
}

/// A book that charges other people than those whom a run is about is caught.
#[test]
fn a_book_that_charges_others_is_caught() {
    let found = pays(40, &Does::ChargesOthers).unwrap_err();
    assert!(found.contains("and 0 was charged"), "{found}");
}
