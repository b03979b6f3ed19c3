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

/// Runs `work` on every chunk of `which` and adds the sums up in order. `work` gets a chunk, where
/// in `which` it begins, and the positions that come after it, at last `upcoming`, to fetch them
/// early; and room to work in, which one task after the other uses, so that it stays in the cache.
///
/// A batch of one block runs on the calling thread, in `first`, without touching the pool.
pub fn sweep<S: Merge, R>(
    (which, upcoming): (&[u32], &[u32]),
    mut first: S,
    empty: impl Fn() -> S + Sync,
    first_room: &mut R,
    room: impl Fn() -> R + Sync + Send,
    work: impl Fn(&mut S, &mut R, usize, &[u32], &[u32]) + Sync,
) -> S {
    let block = |sums: &mut S, room: &mut R, start: usize| {
        let block = &which[start..which.len().min(start + BLOCK)];
        let later = block.chunks(Pass::CHUNK).skip(1).chain([upcoming]);
        let chunks = block.chunks(Pass::CHUNK).zip(later).zip((start..).step_by(Pass::CHUNK));
        chunks.for_each(|((chunk, later), at)| work(sums, room, at, chunk, later));
    };
    if which.len() <= BLOCK {
        block(&mut first, first_room, 0);
        return first;
    }
    let starts: Vec<usize> = (0..which.len()).step_by(BLOCK).collect();
    for wave in starts.chunks(WAVE) {
        let parts: Vec<S> = wave
            .par_iter()
            .map_init(&room, |room, &start| {
                let mut sums = empty();
                block(&mut sums, room, start);
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
