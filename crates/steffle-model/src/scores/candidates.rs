//! What goes from the records division to the attributes division.

use crate::model::Factor;

/// Who the records of a chunk are.
///
/// By their places where both divisions are under one roof, by record ids elsewhere.
#[derive(Debug, Clone, Copy)]
pub enum Who<'a> {
    /// Positions in the store: both divisions of one silo keep their records in the same order.
    Positions(&'a [u32]),
    /// Universal record ids, some of which the receiver may not hold, and how many were announced
    /// before them.
    Ids(&'a [u64], usize),
}

impl Who<'_> {
    /// The place of a record of the chunk: its position in the store, or in the announcement.
    #[inline]
    pub fn position(&self, record: usize) -> usize {
        match self {
            Self::Positions(positions) => positions[record] as usize,
            Self::Ids(_, first) => first + record,
        }
    }
}

/// What each record of a chunk would contribute under each class, in factored form.
///
/// Nothing in it depends on `s`. For class r of cell c the record adds `phi_i` to row r of the
/// cell's table and `J_i' c_r` to the theta message, where `c_r` comes from the question.
#[derive(Clone, Copy)]
pub struct Candidates<'a> {
    /// Who they are.
    pub who: Who<'a>,
    /// Their cells, [`NO_CELL`](super::NO_CELL) for none.
    pub cells: &'a [u16],
    /// Their scores, `[record][column]`.
    pub scores: &'a [f64],
    /// A factor of at most 1 per record on its theta candidates, whatever its class; empty for 1.
    pub caps: &'a [f64],
    /// The Jacobian of the scores in factors, one per layer.
    pub factors: &'a [Factor<'a>],
}
