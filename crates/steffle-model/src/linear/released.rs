//! The features of a release: a record's row, squares of its numbers, and which part it is in.

use super::Features;
use crate::record::{Layout, Rows, RowsError};
use crate::scores::NO_CELL;

/// Most numeric columns whose squares are features, too. A square doubles what a column costs in noise
/// and time; with so many columns a group is seldom the middle of one of them.
const SQUARED: usize = 512;

/// A number counts as if it were no further than this from its mean: one record far out does not
/// stretch a square.
const FAR: f32 = 3.0;

/// Records whose features are made together, so that they are never in memory twice.
const CHUNK: usize = 65_536;

impl Features<'static> {
    /// Of record `i`: its row, `(min(x^2, 9) - 1) / sqrt 2` for every number x of it, and a level for
    /// its part unless that is part 0. A record in no part has none. All of it is rounded to the grid
    /// of rows, as rows are, so that what is summed and what is priced are the same integers.
    ///
    /// A group may be the middle of a range: without squares no linear rule tells it from both ends.
    /// Parts have intercepts of their own, not rows: a hundred parts would be as many copies of all
    /// features, each with its noise.
    pub fn released(rows: &Rows, part_of: &[u16], parts: usize) -> Result<Self, RowsError> {
        let (from, layout) = (rows.layout(), Self::layout(rows.layout(), parts));
        let squares = layout.numeric - from.numeric;
        let first_part = (from.features + squares) as u32;
        let mut features = Rows::with_room(layout, rows.len())?;
        for start in (0..rows.len()).step_by(CHUNK) {
            let chunk = start..(start + CHUNK).min(rows.len());
            let mut numbers = Vec::with_capacity(chunk.len() * layout.numeric);
            let mut codes = Vec::with_capacity(chunk.len() * layout.categorical);
            for record in chunk.clone() {
                let own = rows.numeric(record);
                numbers.extend_from_slice(own);
                numbers.extend(own.iter().take(squares).map(|&x| square(x)));
                let moved = |code: u32| {
                    if code == from.absent() { layout.absent() } else { code + squares as u32 }
                };
                codes.extend(rows.codes(record).map(moved));
                if parts > 1 {
                    let part = u32::from(part_of[record]);
                    let told = (1..parts as u32).contains(&part);
                    codes.push(if told { first_part + part - 1 } else { layout.absent() });
                }
            }
            features.push_all(chunk.len(), numbers, codes)?;
        }
        let inside = |&(_, &part): &(u32, &u16)| part != NO_CELL && usize::from(part) < parts;
        let members = (0..).zip(part_of).filter(inside).map(|(record, _)| record).collect();
        Ok(Self::of_members(features, members))
    }

    /// Numbers in the features of rows of a layout with so many parts: p.
    pub fn released_size(layout: Layout, parts: usize) -> usize {
        Self::layout(layout, parts).weights()
    }

    fn layout(rows: Layout, parts: usize) -> Layout {
        let squares = if rows.numeric <= SQUARED { rows.numeric } else { 0 };
        Layout {
            numeric: rows.numeric + squares,
            categorical: rows.categorical + usize::from(parts > 1),
            features: rows.features.saturating_add(squares + parts.saturating_sub(1)),
        }
    }
}

/// Of a number with mean 0 and variance 1, with mean about 0 and, were it normal, variance 1.
fn square(x: f32) -> f32 {
    let x = x.clamp(-FAR, FAR);
    (x * x - 1.0) * std::f32::consts::FRAC_1_SQRT_2
}
