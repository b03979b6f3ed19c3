//! One pass over the records of a batch, in parallel, with sums that do not depend on threads.

use rayon::prelude::*;

use crate::model::Pass;

/// Records per task. Fixed, so that the order of every addition is fixed.
pub const BLOCK: usize = 4096;

/// Tasks whose sums are alive at once: bounds memory for large models and large silos.
const WAVE: usize = 64;

/// Sums that can be added up.
///
/// Blocks of rows are summed side by side and added in a fixed order, so that threads change no
/// bit.
pub trait Merge: Send {
    /// Adds `other`.
    fn merge(&mut self, other: &Self);
}

/// Runs `work` on every chunk of `which` and adds the sums up in order. Beside a chunk, `work` gets
/// the positions that come after it, at last `upcoming`, to fetch them early.
///
/// A batch of one block runs on the calling thread, in `first`, without touching the pool.
pub fn sweep<S: Merge>(
    which: &[u32],
    upcoming: &[u32],
    mut first: S,
    empty: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &[u32], &[u32]) + Sync,
) -> S {
    let block = |sums: &mut S, block: &[u32]| {
        let later = block.chunks(Pass::CHUNK).skip(1).chain([upcoming]);
        let chunks = block.chunks(Pass::CHUNK).zip(later);
        chunks.for_each(|(chunk, later)| work(sums, chunk, later));
    };
    if which.len() <= BLOCK {
        block(&mut first, which);
        return first;
    }
    for wave in which.chunks(BLOCK * WAVE) {
        let blocks: Vec<&[u32]> = wave.chunks(BLOCK).collect();
        let parts: Vec<S> = blocks
            .into_par_iter()
            .map(|part| {
                let mut sums = empty();
                block(&mut sums, part);
                sums
            })
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
