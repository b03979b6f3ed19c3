//! Metrics by group from noisy counts: rates and gaps, with intervals for both kinds of chance.
//!
//! Everything here is computed from what was released ([`Tally`]) and from public counts: nothing is
//! known about a single person's group, and nothing costs privacy. An interval is about the people
//! that the records are a sample of, and covers two things at once: which records were drawn, and
//! which noise was added to their counts.
//!
//! **Too little to say.** A rate is of `n` records, but noise makes `n` records tell less than they
//! would: the interval of a rate of one half is as wide as that of
//! `n^2 / (n + variance of the noise in n)` records without noise. Where these *effective records* are
//! fewer than a rate must be of, there is not enough evidence: no rate, no interval, and no part in a
//! gap. Their number is made of released numbers alone.

mod gap;
mod normal;
mod rate;
mod report;
mod spread;
mod tally;

pub use report::{NoisyGap, NoisyGroup, NoisyLabel, NoisyRate, NoisyReport};
pub use tally::Tally;

#[cfg(test)]
mod tests;
