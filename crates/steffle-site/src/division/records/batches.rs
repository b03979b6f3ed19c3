//! Which records a silo uses in a round.

use rand::Rng;
use steffle_model::blocks::Positions;
use steffle_model::randomness::{Purpose, stream};
use steffle_model::record::Records;
use steffle_wire::Batch;

/// Draws a silo's minibatches: shuffled epochs, the last batch of an epoch what is left.
///
/// The batch is a function of (seed, node, round), so a silo that missed a round draws the same
/// ones afterwards. One epoch's order is kept, because the next rounds need it.
#[derive(Debug)]
pub struct Batches {
    seed: u64,
    node: u64,
    /// An order of all records, once a minibatch was asked for.
    order: Vec<u32>,
    /// The epoch that `order` is shuffled for.
    epoch: Option<u64>,
    records: Records,
    /// The blocks, once they were asked for.
    blocks: Vec<Vec<u32>>,
}

impl Batches {
    /// For a silo with these records.
    pub fn new(seed: u64, node: u64, records: Records) -> Self {
        Self { seed, node, order: Vec::new(), epoch: None, records, blocks: Vec::new() }
    }

    fn make_blocks(&mut self, count: u32) {
        if self.blocks.len() != count as usize {
            self.blocks = vec![Vec::new(); count as usize];
            for (key, record) in block_keys(&self.records).into_iter().zip(0..) {
                self.blocks[Batch::block_with(key, count)].push(record);
            }
        }
    }

    /// How many records round `round` has.
    pub fn len_of(&mut self, batch: Batch, round: u32) -> usize {
        match batch {
            Batch::Block(_) => self.draw(batch, round).len(),
            Batch::All => self.records.len(),
            Batch::Mini(size) => {
                let (_, start) = self.place(size as usize, round);
                self.records.len().min(start + size as usize) - start
            }
        }
    }

    /// The epoch of a round and where in it the round's batch starts.
    fn place(&self, size: usize, round: u32) -> (u64, usize) {
        let per_epoch = self.records.len().div_ceil(size.max(1)).max(1);
        // Round 0 is the census of all records; minibatches start with round 1.
        let index = round.saturating_sub(1) as usize;
        ((index / per_epoch) as u64, index % per_epoch * size)
    }

    /// Back to the plain order, so that a shuffle depends on its epoch alone.
    fn reset(&mut self) {
        self.order.clear();
        self.order.extend(0..self.records.len() as u32);
    }

    /// The positions of the records of round `round`.
    pub fn draw(&mut self, batch: Batch, round: u32) -> Positions<'_> {
        self.draw_ahead(batch, round).0
    }

    /// The positions of the records of round `round` and those that are likely drawn in the next,
    /// of which there may be none: to fetch them early.
    pub fn draw_ahead(&mut self, batch: Batch, round: u32) -> (Positions<'_>, &[u32]) {
        let size = match batch {
            Batch::All => return (Positions::Before(self.records.len()), &[]),
            Batch::Block(count) => {
                self.make_blocks(count);
                return (Positions::Listed(&self.blocks[Batch::block_of(count, round)]), &[]);
            }
            Batch::Mini(size) => size as usize,
        };
        let (epoch, start) = self.place(size, round);
        if self.epoch != Some(epoch) {
            self.reset();
            shuffle(&mut self.order, &mut stream(self.seed, self.node, Purpose::Batch, epoch));
            self.epoch = Some(epoch);
        }
        let rest = &self.order[start..];
        let (drawn, rest) = rest.split_at(size.min(rest.len()));
        (Positions::Listed(drawn), &rest[..size.min(rest.len())])
    }
}

/// What decides a record's public block: its id, or the first id of its unit.
fn block_keys(records: &Records) -> Vec<u64> {
    let Some(units) = records.units() else { return records.ids().to_vec() };
    let mut first = std::collections::HashMap::new();
    for (&unit, id) in units.iter().zip(records.ids().iter()) {
        let known = first.entry(unit).or_insert(id);
        *known = id.min(*known);
    }
    units.iter().map(|unit| first[unit]).collect()
}

/// Fisher-Yates. One draw serves as many steps as fit into 64 bits with room to spare.
pub(super) fn shuffle(order: &mut [u32], random: &mut impl Rng) {
    let mut left = order.len();
    while left > 1 {
        left -= match left {
            4..=0x4000 => place_last::<4>(&mut order[..left], random),
            _ => place_last::<2>(&mut order[..left], random),
        };
    }
}

/// Puts records into the last `N` places, and says how many those are. Each index is the upper half
/// of draw times range, and the lower half is the next index's draw; draws that would favour some of
/// the outcomes are rejected, hence uniform (Brackett-Rozinsky and Lemire 2024).
fn place_last<const N: usize>(order: &mut [u32], random: &mut impl Rng) -> usize {
    let ranges: [u64; N] = std::array::from_fn(|step| (order.len() - step) as u64);
    let outcomes: u64 = ranges.iter().product();
    let indices = loop {
        let mut draw = random.next_u64();
        let indices = ranges.map(|range| {
            let product = u128::from(draw) * u128::from(range);
            draw = product as u64;
            (product >> 64) as usize
        });
        // Seldom below: only then is the exact threshold worth its division.
        if draw >= outcomes || draw >= outcomes.wrapping_neg() % outcomes {
            break indices;
        }
    };
    for (index, range) in indices.into_iter().zip(ranges) {
        order.swap(range as usize - 1, index);
    }
    N
}

#[cfg(test)]
mod tests {
    use steffle_model::record::{Layout, Rows};

    use super::*;

    /// Records with these ids, and nothing else.
    fn records(ids: std::ops::Range<u64>) -> Records {
        let len = ids.clone().count();
        let layout = Layout { numeric: 0, categorical: 0, features: 0 };
        let rows = Rows::new(layout, len, Vec::new(), Vec::new()).unwrap();
        Records::new(ids.collect(), rows, vec![0; len], None, 1).unwrap()
    }

    #[test]
    fn an_epoch_uses_every_record_once() {
        let mut batches = Batches::new(7, 1, records(0..10));
        for epoch in 0..3 {
            let mut seen: Vec<u32> = (0..4)
                .flat_map(|b| batches.draw(Batch::Mini(3), 1 + epoch * 4 + b).list().to_vec())
                .collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..10).collect::<Vec<u32>>());
        }
    }

    #[test]
    fn a_batch_depends_on_the_round_alone() {
        let mut steady = Batches::new(7, 1, records(0..100));
        let all: Vec<Vec<u32>> =
            (1..9).map(|round| steady.draw(Batch::Mini(30), round).list().to_vec()).collect();
        for round in [8, 2, 5, 1] {
            let fresh =
                Batches::new(7, 1, records(0..100)).draw(Batch::Mini(30), round).list().to_vec();
            assert_eq!(fresh, all[round as usize - 1]);
            assert_eq!(
                steady.draw(Batch::Mini(30), round).list().to_vec(),
                all[round as usize - 1]
            );
        }
        assert_eq!(steady.draw(Batch::All, 3).list().to_vec(), (0..100).collect::<Vec<u32>>());
        assert_ne!(all[0], all[4], "two epochs shuffle alike by chance once in 100! runs");
    }

    #[test]
    fn blocks_are_a_partition_that_ids_alone_decide() {
        let mut all = Batches::new(7, 1, records(0..100));
        let blocks: Vec<Vec<u32>> =
            (1..=4).map(|round| all.draw(Batch::Block(4), round).list().to_vec()).collect();
        let mut seen = blocks.concat();
        seen.sort_unstable();
        assert_eq!(seen, (0..100).collect::<Vec<u32>>());
        assert_eq!(
            all.draw(Batch::Block(4), 5).list().to_vec(),
            blocks[0],
            "blocks come round again"
        );
        assert!(blocks.iter().all(|block| block.len() > 10), "{blocks:?}");
        // Half of the records, with another seed: every one of them stays in its block.
        let mut half = Batches::new(8, 2, records(50..100));
        for (block, round) in blocks.iter().zip(1..) {
            let expected: Vec<u32> = block.iter().filter(|&&r| r >= 50).map(|r| r - 50).collect();
            assert_eq!(half.draw(Batch::Block(4), round).list().to_vec(), expected);
        }
    }

    #[test]
    fn shuffles_are_uniform() {
        // Chi-square with 5, 23 and 119 degrees of freedom exceeds these with probabilities of
        // 1.5e-5, 4e-5 and 1e-5; seeds are fixed.
        for (len, orders, most) in [(3, 6, 30.0), (4, 24, 60.0), (5, 120, 196.0)] {
            let mut counts = std::collections::BTreeMap::new();
            for seed in 0..2000 * orders {
                let mut order: Vec<u32> = (0..len).collect();
                shuffle(&mut order, &mut stream(seed, 0, Purpose::Batch, 0));
                *counts.entry(order).or_insert(0) += 1;
            }
            assert_eq!(counts.len() as u64, orders);
            let squares = counts.values().map(|&c| (f64::from(c) - 2000.0).powi(2) / 2000.0);
            let statistic: f64 = squares.sum();
            assert!(statistic < most, "{len}: {statistic}");
        }
    }
}
