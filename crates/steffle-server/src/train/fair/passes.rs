//! Fair networks: from the unconstrained one, a few passes of the silos that are pulled by the tables
//! of all silos.

use std::ops::ControlFlow;

use steffle_wire::{PassQuestion, PassSums, Pull, PullCell, Transport};

use super::{Fair, FairPath, TrainError};
use crate::server::passes::{PASSES, average, mean_loss};

/// Rounds of two trips: a pass, and a look at where it has led.
const ROUNDS: u32 = 5;

/// The length of the first pass's steps; it falls to nothing with the last.
const STEP: f64 = 0.004;

/// Trips of a solve, with the first look, which the path keeps.
pub(super) const TRIPS: u32 = 1 + 2 * ROUNDS;

impl<T: Transport> FairPath<'_, T> {
    /// The fair network for `lambda`, from the unconstrained one.
    pub(super) fn by_passes(
        &mut self,
        lambda: f64,
        mut observe: impl FnMut(u32, f64) -> ControlFlow<()>,
    ) -> Result<Fair, TrainError> {
        let mut theta = self.public.theta.clone();
        let mut seen = match self.looked.take() {
            Some(seen) => seen,
            None => self.look(&theta)?,
        };
        self.looked = Some(seen.clone());
        let rounds = if lambda > 0.0 { ROUNDS } else { 0 };
        for round in 0..rounds {
            let step = STEP * (1.0 - f64::from(round) / f64::from(ROUNDS));
            let pull = Some(self.pull(lambda, &seen));
            let trip = PASSES + round;
            let decay = self.federation.decay();
            let question = PassQuestion::Walk { theta, trip, step, decay, pull };
            let walked = self.federation.ask_pass(&question)?;
            theta = average(&walked).collect();
            seen = self.look(&theta)?;
            if observe(2 * (round + 1), self.told(lambda, &seen).value).is_break() {
                break;
            }
        }
        Ok(Fair { theta, ..self.told(lambda, &seen) })
    }

    fn look(&mut self, theta: &[f64]) -> Result<PassSums, TrainError> {
        let question = PassQuestion::Look { theta: theta.to_vec(), imputed: true };
        let sums = self.federation.ask_pass(&question)?;
        self.penalty.counts = sums.cells.iter().map(|(count, _)| *count).collect();
        Ok(sums)
    }

    /// What a look has told, the loss of records that are held out.
    fn told(&self, lambda: f64, seen: &PassSums) -> Fair {
        let tables: Vec<f64> = seen.cells.iter().flat_map(|(_, table)| table.clone()).collect();
        let penalised = self.penalty.at(&tables);
        Fair {
            theta: Vec::new(),
            chi_square: penalised.chi_square,
            value: mean_loss(seen) + lambda * penalised.value,
            gradient: f64::INFINITY,
            evaluations: 0,
        }
    }

    fn pull(&self, lambda: f64, seen: &PassSums) -> Pull {
        let inside: f64 = seen.cells.iter().map(|(count, _)| count).sum();
        let all = self.federation.sizes().iter().sum::<usize>() as f64;
        let cell = |(count, table): &(f64, Vec<f64>)| PullCell {
            count: *count,
            floor: self.penalty.floor(*count),
            table: table.clone(),
        };
        let strength = lambda * all / inside.max(1.0);
        Pull { strength, cells: seen.cells.iter().map(cell).collect() }
    }
}
