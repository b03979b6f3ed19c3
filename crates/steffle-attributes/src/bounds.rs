//! What a question may contain. Whatever is outside is refused before anything is computed, for
//! reasons that do not involve `s`.
//!
//! The bounds leave the proof of [`price`](super::price) without a corner: with them `|x' theta|`
//! is at most 2^48, every product of slopes and combinations stays below 2^330, and no infinity or
//! NaN can arise from finite numbers.

use steffle_model::model::Block;
use steffle_model::record::Rows;
use steffle_wire::Question;

use super::PriceError;

/// Most classes.
pub(crate) const CLASSES: usize = 64;

/// Most columns of a class table, and outputs of a layer.
const WIDTH: usize = steffle_model::model::MAX_WIDTH;

/// Most layers.
const LAYERS: usize = steffle_model::model::MAX_LAYERS;

/// Largest number in theta.
const THETA: f64 = 1_048_576.0;

/// Largest number in C and q: 2^40.
const COMBINATION: f64 = 1_099_511_627_776.0;

/// Largest number in a row, in standard deviations: times 4096 it is an integer up to 2^24, which
/// a row's own number type holds.
const INPUT: f32 = 4096.0;

/// Most numbers in a reply's tables, and in its theta messages.
const NUMBERS: usize = 1 << 26;

/// Most numbers and levels in a row.
const ROW: usize = 1 << 16;

/// Refuses a question with a number that is not finite or too large, or of an unheard-of shape.
pub(super) fn check(
    question: &Question,
    blocks: &[Block],
    classes: usize,
) -> Result<(), PriceError> {
    let columns = question.columns();
    let width = |block: &Block| (1..=WIDTH).contains(&block.outputs);
    let wide = !blocks.iter().all(width) || columns > WIDTH;
    let parameters: usize = blocks.iter().map(Block::parameters).sum();
    let most = parameters.max(classes * columns).saturating_mul(question.cells.len());
    if most > NUMBERS {
        return Err(PriceError::Bound("more than 2^26 numbers in its answer"));
    }
    if !(2..=CLASSES).contains(&classes) || blocks.len() > LAYERS || wide {
        return Err(PriceError::Bound("more classes, labels, layers or units of a layer"));
    }
    // A comparison with NaN is false.
    let within = |numbers: &[f64], most: f64| numbers.iter().all(|number| number.abs() <= most);
    if !within(&question.theta, THETA) {
        return Err(PriceError::Bound("a parameter larger than 2^20"));
    }
    let cells = question.cells.iter();
    let all = |numbers: &[f64]| within(numbers, COMBINATION);
    if !cells.clone().all(|cell| all(&cell.combinations) && all(&cell.quadratic)) {
        return Err(PriceError::Bound("a combination larger than 2^40"));
    }
    Ok(())
}

/// The sum over rows of the largest integer that a coefficient meets: `sum_i max(4096, |x_i| 4096)`,
/// which no layer's inputs exceed. Refuses rows that integers cannot hold, and a level that a row
/// names twice: both would move a sum by more than their length says.
pub fn reach(rows: &Rows) -> Result<u64, PriceError> {
    let layout = rows.layout();
    if layout.numeric + layout.categorical > ROW {
        return Err(PriceError::Bound("more than 65536 numbers and levels in a row"));
    }
    let (mut reach, mut codes) = (0_u64, Vec::with_capacity(layout.categorical));
    for row in 0..rows.len() {
        let largest = rows.numeric(row).iter().fold(1.0_f32, |top, x| top.max(x.abs()));
        if largest > INPUT {
            return Err(PriceError::Bound("a feature more than 4096 deviations from its mean"));
        }
        // At most 2^24, and a multiple of 1/4096.
        reach += (f64::from(largest) * f64::from(INPUT)) as u64;
        codes.clear();
        rows.codes_into(row, &mut codes);
        if repeats(&codes, layout.absent()) {
            return Err(PriceError::Bound("a row that names a level twice"));
        }
    }
    Ok(reach)
}

/// Whether a level stands twice; an absent one may.
fn repeats(codes: &[u32], absent: u32) -> bool {
    if codes.len() > 32 {
        let mut sorted: Vec<u32> = codes.iter().copied().filter(|&code| code != absent).collect();
        sorted.sort_unstable();
        return sorted.windows(2).any(|pair| pair[0] == pair[1]);
    }
    let after = |at: usize| &codes[at + 1..];
    (0..codes.len()).any(|at| codes[at] != absent && after(at).contains(&codes[at]))
}
