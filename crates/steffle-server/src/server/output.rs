//! Which iterate is returned.

use std::fmt;
use std::str::FromStr;

use rand::Rng;
use serde::{Deserialize, Serialize};
use steffle_model::randomness::{Purpose, stream};

/// Which iterate of 1..T training returns.
///
/// The last one, the mean, or one drawn at random as the theorem has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Output {
    /// The last one.
    Last,
    /// The mean of all.
    Average,
    /// One drawn uniformly, as Algorithm 1 says.
    Random,
}

/// Not an output's name.
///
/// The message lists what is allowed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("unknown output {0:?}; allowed are last, average and random")]
pub struct OutputError(String);

impl FromStr for Output {
    type Err = OutputError;

    fn from_str(name: &str) -> Result<Self, OutputError> {
        match name {
            "last" => Ok(Self::Last),
            "average" => Ok(Self::Average),
            "random" => Ok(Self::Random),
            _ => Err(OutputError(name.to_owned())),
        }
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Last => "last",
            Self::Average => "average",
            Self::Random => "random",
        })
    }
}

/// Builds the returned parameters while the iterates pass by.
///
/// The last one, their average, or one at random as in the theorem.
#[derive(Debug)]
pub(crate) struct Returned {
    output: Output,
    rounds: u32,
    /// The iterate that [`Output::Random`] drew before the first round.
    drawn: u32,
    theta: Vec<f64>,
}

impl Returned {
    /// For `rounds` rounds of the run with this seed.
    pub(crate) fn new(output: Output, rounds: u32, seed: u64) -> Self {
        // The modulo's bias is below rounds / 2^64.
        let draw = stream(seed, 0, Purpose::Output, 0).next_u64() % u64::from(rounds.max(1));
        Self { output, rounds, drawn: draw as u32 + 1, theta: Vec::new() }
    }

    /// Takes in the iterate after round `round` (the first is 1).
    pub(crate) fn see(&mut self, round: u32, theta: &[f64]) {
        match self.output {
            Output::Last if round < self.rounds => {}
            Output::Random if round != self.drawn => {}
            Output::Last | Output::Random => self.theta = theta.to_vec(),
            Output::Average => {
                self.theta.resize(theta.len(), 0.0);
                for (mean, value) in self.theta.iter_mut().zip(theta) {
                    *mean += (value - *mean) / f64::from(round);
                }
            }
        }
    }

    /// The returned parameters.
    pub(crate) fn finish(self) -> Vec<f64> {
        self.theta
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn returned(output: Output, seed: u64) -> f64 {
        let mut returned = Returned::new(output, 4, seed);
        (1..=4).for_each(|round| returned.see(round, &[f64::from(round)]));
        returned.finish()[0]
    }

    #[test]
    fn outputs_are_what_they_say() {
        assert_eq!(returned(Output::Last, 0), 4.0);
        assert_eq!(returned(Output::Average, 0), 2.5);
        let drawn: std::collections::BTreeSet<u64> =
            (0..64).map(|seed| returned(Output::Random, seed) as u64).collect();
        // Some iterate of four is never drawn in 64 with probability 4 * 0.75^64 = 4e-8.
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [1, 2, 3, 4]);
    }
}
