//! One round on a grid of privacy losses, pessimistically: connect the dots.

use crate::loss::{Direction, Pair};
use crate::normal::cumulative;

/// Abscissae and weights on [0, 1] of the Gauss-Legendre rules of 2, 3 and 4 points.
const GAUSS_2: [(f64, f64); 2] = [(0.211_324_865_405_187_1, 0.5), (0.788_675_134_594_812_9, 0.5)];
const GAUSS_3: [(f64, f64); 3] = [
    (0.112_701_665_379_258_3, 0.277_777_777_777_777_8),
    (0.5, 0.444_444_444_444_444_4),
    (0.887_298_334_620_741_7, 0.277_777_777_777_777_8),
];
const GAUSS_4: [(f64, f64); 4] = [
    (0.069_431_844_202_973_7, 0.173_927_422_568_726_9),
    (0.330_009_478_207_571_9, 0.326_072_577_431_273_1),
    (0.669_990_521_792_428_1, 0.326_072_577_431_273_1),
    (0.930_568_155_797_026_3, 0.173_927_422_568_726_9),
];
/// The widest stretch of the line that one rule covers.
const WIDEST: f64 = 0.125;
/// On grids coarser than this, losses are simply rounded up.
const COARSE: f64 = 1.0;

/// How finely and how far to look.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid {
    /// The distance of neighbouring losses.
    pub(super) step: f64,
    /// Losses above this count as infinite.
    pub(super) largest_loss: f64,
    /// Standard deviations of the noise beyond which a round counts as infinite loss.
    pub(super) reach: f64,
    /// The most cells one round may have.
    pub(super) cells: usize,
}

/// The loss of one round: `mass[i]` at loss `(first + i) * step`.
#[derive(Debug, Clone)]
pub(super) struct Masses {
    pub(super) first: i64,
    pub(super) mass: Vec<f64>,
    /// The probability that counts as infinite loss.
    pub(super) infinite: f64,
}

impl Grid {
    /// How much one round's expected loss is rounded up at most, see `pld`.
    pub(super) fn drift(self) -> f64 {
        if self.step > COARSE { self.step } else { self.step * self.step / 8.0 }
    }
}

/// The stored part of a pair, and from it the direction that is asked for. `None` when the round
/// has more cells than allowed.
pub(super) fn discretise(pair: Pair, direction: Direction, grid: Grid) -> Option<Masses> {
    let stored = stored_part(pair, grid)?;
    let (first, mass) = (stored.first, &stored.mass);
    // A mass m at loss x is, under Q, a mass m e^-x: the mirror image.
    let mirror = |index: usize| {
        let position = first + index as i64;
        (-position, mass[index] * (-(position as f64) * grid.step).exp())
    };
    if pair.symmetric() {
        let last = first + mass.len() as i64 - 1;
        let mut both = vec![0.0; 2 * last as usize + 1];
        for (index, &m) in mass.iter().enumerate() {
            both[(first + last) as usize + index] += m;
            let (position, m) = mirror(index);
            both[(position + last) as usize] += m;
        }
        // The atom of pair B, and what lies beyond the lower end, moved up.
        both[last as usize] += (1.0 - both.iter().sum::<f64>() - stored.infinite).max(0.0);
        return Some(Masses { first: -last, mass: both, infinite: stored.infinite });
    }
    match direction {
        Direction::Remove => Some(with_remainder(stored)),
        Direction::Add => {
            let last = first + mass.len() as i64 - 1;
            let added = (0..mass.len()).rev().map(|index| mirror(index).1).collect();
            let infinite = 2.0 * cumulative(-grid.reach);
            Some(with_remainder(Masses { first: -last, mass: added, infinite }))
        }
    }
}

/// Probability that was not seen lies beyond the lower end: it is moved up to it.
fn with_remainder(mut masses: Masses) -> Masses {
    let seen: f64 = masses.mass.iter().sum();
    if let Some(lowest) = masses.mass.first_mut() {
        *lowest += (1.0 - seen - masses.infinite).max(0.0);
    }
    masses
}

/// Cuts the line where the loss crosses the grid and splits each cell's probability between its
/// two ends such that its probability under Q is kept as well.
fn stored_part(pair: Pair, grid: Grid) -> Option<Masses> {
    let step = grid.step;
    let cut = pair.point_of(grid.largest_loss);
    let mut stretches = pair.stretches(grid.reach);
    stretches.retain(|stretch| stretch.0 < cut);
    for stretch in &mut stretches {
        stretch.1 = stretch.1.min(cut);
    }
    let (Some(&(lowest, _)), Some(&(_, highest))) = (stretches.first(), stretches.last()) else {
        return Some(Masses { first: 0, mass: vec![0.0], infinite: pair.upper_tail(pair.start()) });
    };
    let index_of = |y: f64| (pair.at(y).1 / step).floor();
    let (first, last) = (index_of(lowest), index_of(highest) + 1.0);
    if last - first > grid.cells as f64 {
        return None;
    }
    let first = first as i64;
    let mut mass = vec![0.0; (last as i64 - first + 1) as usize];
    for (from, to) in stretches {
        let mut index = index_of(from);
        let mut left = from;
        while left < to {
            let end = pair.point_of((index + 1.0) * step).min(to);
            let right = end.min(left + WIDEST);
            if right > left {
                let (low, high) = split(pair, left, right, index * step, step);
                let place = (index as i64 - first) as usize;
                mass[place] += low;
                if let Some(next) = mass.get_mut(place + 1) {
                    *next += high;
                }
                left = right;
            }
            if right >= end {
                index += 1.0;
                if left >= to || index > last {
                    break;
                }
            }
        }
    }
    let infinite = pair.upper_tail(highest) + 2.0 * cumulative(-grid.reach);
    Some(Masses { first, mass, infinite })
}

/// The probability between two points, split between the losses `low` and `low + step`.
fn split(pair: Pair, left: f64, right: f64, low: f64, step: f64) -> (f64, f64) {
    let width = right - left;
    let rule: &[(f64, f64)] = if width < 0.005 {
        &GAUSS_2
    } else if width < 0.05 {
        &GAUSS_3
    } else {
        &GAUSS_4
    };
    let (mut at_low, mut at_high) = (0.0, 0.0);
    for &(x, weight) in rule {
        let (log_density, loss) = pair.at(left + width * x);
        let probability = weight * width * log_density.exp();
        let share = if step > COARSE {
            1.0
        } else {
            ((low - loss).exp_m1() / (-step).exp_m1()).clamp(0.0, 1.0)
        };
        at_low += probability * (1.0 - share);
        at_high += probability * share;
    }
    (at_low, at_high)
}
