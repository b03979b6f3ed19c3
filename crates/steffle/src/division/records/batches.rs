//! Which records a silo uses in a round.

use rand::Rng;

use crate::protocol::Batch;
use crate::randomness::{Purpose, stream};

/// Draws a silo's minibatches: shuffled epochs, the last batch of an epoch what is left.
///
/// The batch is a function of (seed, node, round), so a silo that missed a round draws the same
/// ones afterwards. One epoch's order is kept, because the next rounds need it.
#[derive(Debug)]
pub struct Batches {
    seed: u64,
    node: u64,
    order: Vec<u32>,
    /// The epoch that `order` is shuffled for; `None` while it is the plain order.
    epoch: Option<u64>,
}

impl Batches {
    /// For a silo of `records` records.
    pub fn new(seed: u64, node: u64, records: usize) -> Self {
        Self { seed, node, order: (0..records as u32).collect(), epoch: None }
    }

    /// How many records round `round` has.
    pub fn len_of(&self, batch: Batch, round: u32) -> usize {
        match batch {
            Batch::All => self.order.len(),
            Batch::Mini(size) => {
                let (_, start) = self.place(size as usize, round);
                self.order.len().min(start + size as usize) - start
            }
        }
    }

    /// The epoch of a round and where in it the round's batch starts.
    fn place(&self, size: usize, round: u32) -> (u64, usize) {
        let per_epoch = self.order.len().div_ceil(size.max(1)).max(1);
        // Round 0 is the census of all records; minibatches start with round 1.
        let index = round.saturating_sub(1) as usize;
        ((index / per_epoch) as u64, index % per_epoch * size)
    }

    /// Back to the plain order, so that a shuffle depends on its epoch alone.
    fn reset(&mut self) {
        self.order.iter_mut().zip(0..).for_each(|(slot, position)| *slot = position);
    }

    /// The positions of the records of round `round`.
    pub fn draw(&mut self, batch: Batch, round: u32) -> &[u32] {
        let size = match batch {
            Batch::All => {
                if self.epoch.take().is_some() {
                    self.reset();
                }
                return &self.order;
            }
            Batch::Mini(size) => size as usize,
        };
        let (epoch, start) = self.place(size, round);
        if self.epoch != Some(epoch) {
            self.reset();
            shuffle(&mut self.order, &mut stream(self.seed, self.node, Purpose::Batch, epoch));
            self.epoch = Some(epoch);
        }
        &self.order[start..self.order.len().min(start + size)]
    }
}

/// Fisher-Yates, each index by multiply-shift with rejection (Lemire 2019), hence uniform.
fn shuffle(order: &mut [u32], random: &mut impl Rng) {
    for last in (1..order.len()).rev() {
        let range = last as u32 + 1;
        let mut product = u64::from(random.next_u32()) * u64::from(range);
        if (product as u32) < range {
            // Rarely so: only now is the exact threshold worth its division.
            let threshold = range.wrapping_neg() % range;
            while (product as u32) < threshold {
                product = u64::from(random.next_u32()) * u64::from(range);
            }
        }
        order.swap(last, (product >> 32) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_uses_every_record_once() {
        let mut batches = Batches::new(7, 1, 10);
        for epoch in 0..3 {
            let mut seen: Vec<u32> = (0..4)
                .flat_map(|b| batches.draw(Batch::Mini(3), 1 + epoch * 4 + b).to_vec())
                .collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..10).collect::<Vec<u32>>());
        }
    }

    #[test]
    fn a_batch_depends_on_the_round_alone() {
        let mut steady = Batches::new(7, 1, 100);
        let all: Vec<Vec<u32>> =
            (1..9).map(|round| steady.draw(Batch::Mini(30), round).to_vec()).collect();
        for round in [8, 2, 5, 1] {
            let fresh = Batches::new(7, 1, 100).draw(Batch::Mini(30), round).to_vec();
            assert_eq!(fresh, all[round as usize - 1]);
            assert_eq!(steady.draw(Batch::Mini(30), round), all[round as usize - 1]);
        }
        assert_eq!(steady.draw(Batch::All, 3), (0..100).collect::<Vec<u32>>());
        assert_ne!(all[0], all[4], "two epochs shuffle alike by chance once in 100! runs");
    }

    #[test]
    fn shuffles_are_uniform() {
        let mut counts = [0_u32; 6];
        for seed in 0..12_000 {
            let mut order = [0, 1, 2];
            shuffle(&mut order, &mut stream(seed, 0, Purpose::Batch, 0));
            let index = order[0] * 2 + u32::from(order[1] > order[2]);
            counts[index as usize] += 1;
        }
        // Chi-square with 5 degrees of freedom exceeds 30 with probability 1.5e-5; seeds are fixed.
        let statistic: f64 = counts.iter().map(|&c| (f64::from(c) - 2000.0).powi(2) / 2000.0).sum();
        assert!(statistic < 30.0, "{counts:?}");
    }
}
