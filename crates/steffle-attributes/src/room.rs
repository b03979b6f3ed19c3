//! Memory of a message that was sent, for the next one: there is one for every round of every silo, and
//! taking memory anew took a twentieth of a small one.

use steffle_model::model::Block;

use super::sums::{AskedForm, AskedSums, SummedSums};

/// Room of a store. What is left in it are sums over classes and noise, so it has no accessor outside of the
/// attributes division, where the classes themselves are.
#[derive(Default)]
pub struct Room {
    /// What a price fixed, of which nothing but memory is left.
    pub(super) asked: Option<Box<AskedSums>>,
    /// Sums.
    pub(super) summed: Option<SummedSums>,
    /// Numbers of theta messages and of tables, with their noise.
    pub(super) noise: [Vec<Vec<f64>>; 2],
    /// Bytes of a reply.
    pub(super) bytes: Vec<u8>,
}

impl Room {
    /// Bytes that are worth keeping: all that small rounds send.
    pub(super) const MOST: usize = 1 << 16;

    /// Takes what a price fixed, once it was released; units, coins and shape are not kept.
    pub(super) fn keep(&mut self, mut asked: Box<AskedSums>) {
        (asked.whitening, asked.left_out, asked.coins) = (None, None, None);
        self.asked = Some(asked);
    }

    /// What a price fixed, in memory that was kept.
    pub(super) fn boxed(&mut self, asked: AskedSums) -> Box<AskedSums> {
        let Some(mut old) = self.asked.take() else { return Box::new(asked) };
        *old = asked;
        old
    }

    /// The table of combinations that is left in it.
    pub(super) fn combinations(&mut self) -> Vec<f64> {
        match self.asked.as_deref_mut().map(|asked| &mut asked.form) {
            Some(AskedForm::Clipped(combinations)) => combinations.take_table(),
            _ => Vec::new(),
        }
    }
}

/// So many lists of so many zeros, in the room of old ones.
pub(super) fn zeros_in(mut room: Vec<Vec<f64>>, lists: usize, length: usize) -> Vec<Vec<f64>> {
    room.resize_with(lists, Vec::new);
    for list in &mut room {
        list.clear();
        list.resize(length, 0.0);
    }
    room
}

/// A model's layers. One takes no memory of its own.
#[derive(Debug, Clone)]
pub(super) enum Blocks {
    One([Block; 1]),
    Many(Vec<Block>),
}

impl Blocks {
    pub(super) fn new(blocks: &[Block]) -> Self {
        match blocks {
            [one] => Self::One([*one]),
            many => Self::Many(many.to_vec()),
        }
    }
}

impl std::ops::Deref for Blocks {
    type Target = [Block];

    fn deref(&self) -> &[Block] {
        match self {
            Self::One(one) => one,
            Self::Many(many) => many,
        }
    }
}
