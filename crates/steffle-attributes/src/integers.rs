//! The one function that turns a chunk's candidates into integers. What it makes is priced, and
//! what it makes is summed: nothing is rounded afterwards.

use steffle_model::model::{Coefficients, Factor, Inputs, Layers, kernel};
use steffle_model::record::GRID;
use steffle_model::scores::{Candidates, Who};

use super::lattice::{Centred, Lattice};

/// Hidden units are integers up to this, times [`GRID`].
const HIDDEN: f64 = 1.0 / GRID;

/// A chunk's candidates: the coefficient `v_r` of every layer under every class, the inputs that
/// they meet, and the scores. Made without `s`.
///
/// Without a lattice they are the numbers themselves; nothing is claimed about sums of those.
#[derive(Debug, Default)]
pub(super) struct Integers {
    /// Of each class, or of the second of two alone; the first of two has the negatives.
    pub(super) candidates: Vec<Coefficients>,
    /// Hidden units on the grid of the rows, by layer.
    hidden: Vec<Vec<f64>>,
    /// `[record][column]`; 0 for a record in no cell.
    pub(super) scores: Vec<f64>,
    /// The cell of every record; the one after the last is none.
    pub(super) cells: Vec<u32>,
    /// Of every record: room of the digest.
    places: Vec<u32>,
    keys: Vec<u64>,
}

impl Integers {
    /// Makes them; says whether every number was in the lattice's range. If not, they must not be
    /// used.
    pub(super) fn fill(
        &mut self,
        centred: &Centred,
        lattice: Option<&Lattice>,
        chunk: &Candidates<'_>,
    ) -> bool {
        let Candidates { cells, scores, caps, factors, .. } = *chunk;
        let none = centred.cells as u32;
        self.cells.clear();
        self.cells.extend(cells.iter().map(|&cell| u32::from(cell).min(none)));
        let silent = lattice.map_or_else(|| centred.silent(), |lattice| lattice.coefficient == 0.0);
        let tables: &[Vec<f64>] = if silent { &[] } else { &centred.tables };
        self.candidates.resize_with(tables.len(), Coefficients::default);
        for (candidate, table) in self.candidates.iter_mut().zip(tables) {
            candidate.fill(factors, &self.cells, table, centred.columns, None);
        }
        let Some(lattice) = lattice else {
            self.scores.clear();
            self.scores.extend_from_slice(scores);
            return true;
        };
        let mut inside = true;
        for candidate in &mut self.candidates {
            for (values, factor) in candidate.layers_mut().iter_mut().zip(factors) {
                inside &= lattice.round_coefficients(values, caps, factor.block.outputs);
            }
        }
        inside &= self.round_hidden(factors);
        inside &= lattice.round_scores(scores, &mut self.scores);
        if self.cells.contains(&none) {
            let rows = self.scores.chunks_exact_mut(centred.columns);
            let outside = rows.zip(&self.cells).filter(|(_, cell)| **cell == none);
            outside.for_each(|(row, _)| row.fill(0.0));
        }
        inside
    }

    fn round_hidden(&mut self, factors: &[Factor<'_>]) -> bool {
        let mut inside = true;
        self.hidden.resize_with(factors.len(), Vec::new);
        for (factor, room) in factors.iter().zip(&mut self.hidden) {
            let Inputs::Dense(units) = factor.inputs else { continue };
            room.clear();
            room.extend_from_slice(units);
            inside &= kernel::round_all(room, HIDDEN, HIDDEN);
            room.iter_mut().for_each(|unit| *unit *= GRID);
        }
        inside
    }

    /// The chunk's factors with its hidden units on the grid.
    pub(super) fn on_grid<'a>(&'a self, factors: &[Factor<'a>]) -> Layers<'a> {
        if let [only] = factors {
            return Layers::One([*only]);
        }
        let layers = factors.iter().zip(&self.hidden);
        let layers = layers
            .map(|(factor, room)| match factor.inputs {
                Inputs::Rows(_) => *factor,
                Inputs::Dense(_) => Factor { inputs: Inputs::Dense(room), ..*factor },
            })
            .collect();
        Layers::Many(layers)
    }
}

/// That two passes saw the same integers: a sum in which each has the weight of its record, and how many
/// records there were.
///
/// It guards against a fault of this program or machine, not against an adversary: both passes run
/// here, over memory that nobody else writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Digest {
    sum: u64,
    records: u64,
}

impl Digest {
    /// Adds a chunk whose integers were made.
    pub(super) fn add(&mut self, who: Who<'_>, integers: &mut Integers) {
        let Integers { candidates, hidden, scores, cells, places, keys } = integers;
        keys.resize(cells.len(), 0);
        match who {
            Who::Positions(positions) => kernel::record_keys(positions, cells, keys),
            Who::Ids(_, first) => {
                places.clear();
                places.extend((first..).take(cells.len()).map(|at| at as u32));
                kernel::record_keys(places, cells, keys);
            }
        }
        kernel::checksum(keys, scores, 0, &mut self.sum);
        let layers = candidates.iter().flat_map(Coefficients::layers);
        for (turn, values) in (1..).zip(layers.chain(&*hidden).filter(|own| !own.is_empty())) {
            kernel::checksum(keys, values, turn, &mut self.sum);
        }
        self.records += cells.len() as u64;
    }

    /// Records that were added.
    pub(super) fn records(&self) -> u64 {
        self.records
    }

    /// Adds another part of the batch.
    pub(super) fn merge(&mut self, other: &Self) {
        self.sum = self.sum.wrapping_add(other.sum);
        self.records += other.records;
    }
}
