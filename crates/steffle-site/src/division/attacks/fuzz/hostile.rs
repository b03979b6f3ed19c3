//! Numbers and questions as an adversary would choose them.

use rand::Rng;
use steffle_model::randomness::{ChaCha8Rng, Purpose, stream};
use steffle_wire::{CellQuestion, Question};

/// Choices of an adversary, from a seed.
pub(super) struct Adversary(ChaCha8Rng);

impl Adversary {
    pub(super) fn new(number: u64, purpose: u64) -> Self {
        Self(stream(number, purpose, Purpose::Split, 77))
    }

    pub(super) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform below `end`.
    pub(super) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }

    pub(super) fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    pub(super) fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    /// Between -1 and 1.
    pub(super) fn ordinary(&mut self) -> f64 {
        2.0 * (self.bits() >> 11) as f64 / (1_u64 << 53) as f64 - 1.0
    }

    /// Any bit pattern, the corners of floating point, powers of two with few bits, numbers at the
    /// bounds of questions, or an ordinary one of any size.
    pub(super) fn number(&mut self) -> f64 {
        let sign = self.one_of(&[1.0, -1.0]);
        match self.below(8) {
            0 => f64::from_bits(self.bits()),
            1 => {
                let corners = [0.0, 5e-324, f64::MIN_POSITIVE, f64::MAX, f64::NAN, f64::INFINITY];
                sign * self.one_of(&corners)
            }
            2 => {
                let few = (self.below(16) + 1) as f64;
                sign * few * ((self.below(2100) as f64) - 1070.0).exp2()
            }
            3 => {
                let bound = self.one_of(&[1_048_576.0, 1_099_511_627_776.0, 4096.0, 1.0, 0.25]);
                sign * self.one_of(&[bound, f64::next_up(bound), f64::next_down(bound)])
            }
            4 => self.ordinary() * 10.0_f64.powf(60.0 * self.ordinary()),
            _ => self.ordinary() * 10.0_f64.powf(6.0 * self.ordinary()),
        }
    }

    /// The same, inside of bounds: what gets past the first check.
    pub(super) fn within(&mut self, most: f64) -> f64 {
        loop {
            let number = self.number();
            if number.abs() <= most {
                return number;
            }
        }
    }

    /// Replaces the parameters and combinations of an honest question, in one of many ways.
    pub(super) fn question(&mut self, question: &mut Question, classes: usize) {
        const THETA: f64 = 1_048_576.0;
        const COMBINATION: f64 = 1_099_511_627_776.0;
        match self.below(6) {
            0 => {}
            1 => {
                // Saturated or nearly so: tiny slopes, and large ones of single records.
                let size = 10.0_f64.powf(3.0 * self.ordinary() + 3.0);
                question.theta.iter_mut().for_each(|theta| *theta = size * self.ordinary());
            }
            2 => question.theta.iter_mut().for_each(|theta| *theta = self.within(THETA)),
            3 => {
                let at = self.below(question.theta.len());
                question.theta[at] = self.within(THETA);
            }
            4 if self.chance(8) => {
                // Anything at all: mostly refused.
                question.theta.iter_mut().for_each(|theta| *theta = self.number());
            }
            _ => question.theta.iter_mut().for_each(|theta| *theta *= 100.0),
        }
        for cell in &mut question.cells {
            self.cell(cell, classes, COMBINATION);
        }
    }

    fn cell(&mut self, cell: &mut CellQuestion, classes: usize, most: f64) {
        let columns = cell.quadratic.len();
        let size = |own: &mut Self| 10.0_f64.powf(6.0 * own.ordinary() + 6.0).min(most / 4.0);
        match self.below(8) {
            0 => {}
            // A common part over all columns: what is left of a slope times it is rounding.
            1 | 2 => {
                let size = size(self);
                for row in cell.combinations.chunks_exact_mut(columns) {
                    let common = size * self.ordinary();
                    row.iter_mut().for_each(|c| *c += common);
                }
            }
            // A common part over all classes: what is left of a difference is rounding.
            3 | 4 => {
                let size = size(self);
                for column in 0..columns {
                    let common = size * self.ordinary();
                    let own = cell.combinations.iter_mut().skip(column).step_by(columns);
                    own.for_each(|c| *c += common);
                }
            }
            5 => cell.combinations.iter_mut().for_each(|c| *c = self.within(most)),
            6 => {
                // Candidates near a half step: two ways of rounding would differ by one.
                let step = (self.below(60) as f64 - 50.0).exp2();
                let half = |own: &mut Self| (own.below(1 << 20) as f64 + 0.5) * step;
                cell.combinations.iter_mut().for_each(|c| *c = half(self));
            }
            _ if self.chance(6) => {
                cell.combinations.iter_mut().for_each(|c| *c = self.number());
            }
            _ => {
                let at = self.below(classes * columns);
                cell.combinations[at] = self.within(most);
            }
        }
        if self.chance(4) {
            cell.quadratic.iter_mut().for_each(|q| *q = self.within(most));
        }
    }
}
