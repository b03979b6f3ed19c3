//! The real divisions, asked whatever a hostile server, silo or holder of features may ask. Only
//! the noise is replaced, by silence. For one unit all k + 1 values of `s` are tried, and what the
//! reply moves between them is compared with what it was priced at.
//!
//! `STEFFLE_FUZZ_SECONDS=1800 cargo test --release -p steffle --lib fuzz -- --nocapture` asks for as
//! long as one likes; the tests ask a fixed number of questions, from fixed seeds.

mod classes;
mod counts;
mod features;
mod hostile;
mod sums;

use std::time::{Duration, Instant};

use rayon::prelude::*;

/// What became of questions of one kind.
#[derive(Debug, Clone, Default)]
struct Tally {
    answered: u64,
    refused: u64,
    /// The largest move over its price: of squared distances, or of logarithms of probabilities.
    worst: f64,
    /// Replies whose worst pair attains at least a millionth less than its price.
    attained: u64,
}

/// The outcome of a question: `None` where it was refused.
type Asked = Option<f64>;

impl Tally {
    fn see(&mut self, outcome: Asked) {
        let Some(ratio) = outcome else {
            self.refused += 1;
            return;
        };
        self.answered += 1;
        self.attained += u64::from(ratio >= 1.0 - 1e-6);
        self.worst = self.worst.max(ratio);
        assert!(!ratio.is_nan());
    }

    fn merge(mut self, other: &Self) -> Self {
        self.answered += other.answered;
        self.refused += other.refused;
        self.attained += other.attained;
        self.worst = self.worst.max(other.worst);
        self
    }
}

/// Asks questions numbered from 0 until there were `count`, or for as long as the environment says.
/// Panics at the first that moves more than its price; the message has its number.
fn ask_all(name: &str, count: u64, ask: impl Fn(u64) -> Asked + Sync) {
    const BATCH: u64 = 1000;
    /// Questions are compared in exact integers, or in doubles far more accurate than this.
    const MOST: f64 = 1.0 + 1e-9;
    let seconds = std::env::var("STEFFLE_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let (start, limit) = (Instant::now(), seconds.map(Duration::from_secs));
    let mut total = Tally::default();
    for batch in 0.. {
        let done = match limit {
            Some(limit) => start.elapsed() >= limit,
            None => batch * BATCH >= count,
        };
        if done {
            break;
        }
        let parts: Vec<Tally> = (batch * BATCH..(batch + 1) * BATCH)
            .into_par_iter()
            .fold(Tally::default, |mut tally, number| {
                let outcome = ask(number);
                if let Some(ratio) = outcome {
                    assert!(ratio <= MOST, "{name} {number} moves {ratio} times its price");
                }
                tally.see(outcome);
                tally
            })
            .collect();
        total = parts.iter().fold(total, Tally::merge);
    }
    println!(
        "{name}: {} answered, {} refused; largest move over price {:.12}, {:.0} % attain it",
        total.answered,
        total.refused,
        total.worst,
        100.0 * total.attained as f64 / total.answered.max(1) as f64
    );
    // A fuzzer whose questions are all refused, or move nothing, finds nothing.
    assert!(total.answered * 4 > total.answered + total.refused, "{total:?}");
    assert!(total.worst > 0.99, "{total:?}");
}

#[test]
fn no_question_moves_more_than_its_price() {
    ask_all("sums in one house", 90_000, sums::ask_beside);
}

#[test]
fn no_handover_moves_more_than_its_price() {
    ask_all("sums by handover", 60_000, sums::ask_elsewhere);
}

#[test]
fn no_features_move_more_than_their_price() {
    ask_all("features", 50_000, features::ask);
}

#[test]
fn no_answer_of_randomised_response_says_more_than_its_price() {
    ask_all("classes", 5_000, classes::ask);
}

#[test]
fn no_count_moves_more_than_its_price() {
    ask_all("counts", 20_000, counts::ask);
}
