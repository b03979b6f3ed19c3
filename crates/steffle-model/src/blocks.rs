//! One pass over the records of a batch, in parallel, with sums that do not depend on threads.

use std::borrow::Cow;

use rayon::prelude::*;

use crate::model::Pass;

/// Records per task. Fixed, so that the order of every addition is fixed.
pub const BLOCK: usize = 4096;

/// Tasks whose sums are alive at once: bounds memory for large models and large silos.
const WAVE: usize = 64;

/// Positions of records: some of them, or all of so many in their order, which need no list.
#[derive(Debug, Clone, Copy)]
pub enum Positions<'a> {
    /// Those before this one.
    Before(usize),
    /// Listed.
    Listed(&'a [u32]),
}

/// The first block of records that are all there.
static FIRST: [u32; BLOCK] = {
    let mut positions = [0; BLOCK];
    let mut at = 0;
    while at < BLOCK {
        positions[at] = at as u32;
        at += 1;
    }
    positions
};

impl<'a> Positions<'a> {
    /// How many there are.
    pub fn len(self) -> usize {
        match self {
            Self::Before(count) => count,
            Self::Listed(positions) => positions.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// At most [`BLOCK`] of them, from the one at `start` on; `room` is for what is not listed.
    pub fn block<'b>(self, start: usize, room: &'b mut Vec<u32>) -> &'b [u32]
    where
        'a: 'b,
    {
        match self {
            Self::Listed(positions) => &positions[start..positions.len().min(start + BLOCK)],
            Self::Before(count) if start == 0 => &FIRST[..count.min(BLOCK)],
            Self::Before(count) => {
                room.clear();
                room.extend(start as u32..count.min(start + BLOCK) as u32);
                room
            }
        }
    }

    /// A list of them.
    pub fn list(self) -> Cow<'a, [u32]> {
        match self {
            Self::Before(count) => (0..count as u32).collect(),
            Self::Listed(positions) => positions.into(),
        }
    }
}

/// Sums that can be added up.
///
/// Blocks of rows are summed side by side and added in a fixed order, so that threads change no
/// bit.
pub trait Merge: Send {
    /// Adds `other`.
    fn merge(&mut self, other: &Self);
}

/// Runs `work` on every chunk of `which` and adds the sums up in order. `work` gets a chunk, where
/// in `which` it begins, and the positions that come after it, at last `upcoming`, to fetch them
/// early; and room to work in, which one task after the other uses, so that it stays in the cache.
///
/// A batch of one block runs on the calling thread, in `first`, without touching the pool.
pub fn sweep<S: Merge, R>(
    (which, upcoming): (Positions<'_>, &[u32]),
    mut first: S,
    empty: impl Fn() -> S + Sync,
    first_room: &mut R,
    room: impl Fn() -> R + Sync + Send,
    work: impl Fn(&mut S, &mut R, usize, &[u32], &[u32]) + Sync,
) -> S {
    let block = |sums: &mut S, room: &mut R, positions: &mut Vec<u32>, start: usize| {
        let block = which.block(start, positions);
        let later = block.chunks(Pass::CHUNK).skip(1).chain([upcoming]);
        let chunks = block.chunks(Pass::CHUNK).zip(later).zip((start..).step_by(Pass::CHUNK));
        chunks.for_each(|((chunk, later), at)| work(sums, room, at, chunk, later));
    };
    if which.len() <= BLOCK {
        block(&mut first, first_room, &mut Vec::new(), 0);
        return first;
    }
    let starts: Vec<usize> = (0..which.len()).step_by(BLOCK).collect();
    for wave in starts.chunks(WAVE) {
        let parts: Vec<S> = wave
            .par_iter()
            .map_init(
                || (room(), Vec::new()),
                |(room, positions), &start| {
                    let mut sums = empty();
                    block(&mut sums, room, positions, start);
                    sums
                },
            )
            .collect();
        parts.iter().for_each(|part| first.merge(part));
    }
    first
}

/// Runs `work` on every block and adds the sums up in order.
pub fn sum_in_order<T: Send, S: Merge>(
    mut first: S,
    blocks: Vec<T>,
    work: impl Fn(T) -> S + Sync,
) -> S {
    let mut blocks = blocks.into_iter();
    loop {
        let wave: Vec<T> = blocks.by_ref().take(WAVE).collect();
        if wave.is_empty() {
            return first;
        }
        let parts: Vec<S> = wave.into_par_iter().map(&work).collect();
        parts.iter().for_each(|part| first.merge(part));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_all_are_blocks_of_a_list_of_all() {
        for count in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7] {
            let (all, mut room) = (Positions::Before(count), Vec::new());
            let list: Vec<u32> = (0..count as u32).collect();
            let listed = Positions::Listed(&list);
            assert_eq!(
                (all.len(), all.is_empty(), &*all.list()),
                (count, count == 0, &*listed.list())
            );
            for start in (0..count).step_by(BLOCK) {
                assert_eq!(all.block(start, &mut room), listed.block(start, &mut Vec::new()));
            }
        }
    }
}
