//! What sums cost and which integer noise they get, before `s` is read.
//!
//! # Claim
//! Under [`Terms::Exact`] a reply is `sqrt(cost)`-GDP (up to the slack of
//! [`steffle_privacy::discrete`]), whatever theta, C, q, handovers and rows were sent; the cost is
//! at most the round's share. Under [`Terms::Poisson`] it is, for the units whose coin says so, a
//! message of the plan's noise multiplier.
//!
//! # Proof
//! 1. Given the transcript so far and the public columns, everything that this file computes is a
//!    constant: nothing here reads `s`. Questions outside of [`bounds`](super::bounds) are refused.
//! 2. What is summed are integers, made by [`Integers::fill`](super::integers::Integers::fill) and
//!    by nothing else; both passes over the records call it, on the same logits where the first kept
//!    them for the second, and [`Digest`] compares what they saw. A record that no pass measured is
//!    refused ([`Measured::finish`]): its place may hold the number of another round. The sums are exact: all partial sums stay at most 2^53 ([`Lattice`]), in whitened
//!    coordinates they are formed in 128-bit integers. Nothing is rounded after the sum; where the
//!    noise would be too fine, the sum is shifted to the left, which is exact too.
//! 3. The two messages of neighbouring stores differ, for the one unit that differs, by at most the
//!    distances of [`Measured`], which are taken from those integers.
//! 4. A unit moves both messages at once. Discrete Gaussian noise of integer scales makes them one
//!    Gaussian message with `mu^2` the sum of both squared distances over the squared scales; the
//!    cost is the largest over units, recomputed from the scales as they are.
//!
//! Tests that fail when a step is dropped: `tests::no_store_moves_more_than_the_price` (3, 4),
//! `fuzz::no_question_moves_more_than_its_price` (1 to 4), `tests::two_passes_must_agree` (2).

use steffle_model::decode::{RoundScale, ShareScale};
use steffle_model::model::kernel;
use steffle_privacy::discrete::{SMALLEST_SCALE, slack};

use super::integers::Digest;
use super::lattice::Lattice;
use super::measured::Measured;
use super::units::UnitsOf;
use crate::noise::LARGEST_SCALE;

/// Why a question cannot be priced. No reason depends on `s`.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PriceError {
    /// Numbers too far apart for exact integer sums.
    #[error(
        "the question's numbers are too large or too far apart for exact integer sums over \
         {records} records"
    )]
    Range {
        /// Records announced.
        records: usize,
    },
    /// Outside of what a question may contain.
    #[error("a private question may not have {0}, or numbers that are not finite")]
    Bound(&'static str),
    /// A form that has no exact price.
    #[error("the division's terms price centred messages only, not the paper's clipped ones")]
    Clipped,
    /// Announced records that do not fit the list of units.
    #[error("{0}")]
    Announced(&'static str),
}

/// The largest shift to the left: with it sums stay below 2^121.
const MOST_SHIFT: i32 = 34;

/// Most rows of a unit: their lengths are added in doubles, and the margin is for so many roundings.
const UNIT: u32 = 1 << 20;

/// Float sums of a few positive terms are far more accurate than this.
const SAFETY: f64 = 1e-9;

/// Integer noise of one message.
///
/// Its scale and what one step of it is worth follow from the price.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IntegerNoise {
    /// What one unit of the integers that are sent is worth.
    pub unit: f64,
    /// The integer sum is multiplied by 2 to this power before it is noised.
    pub shift: u32,
    /// The scale of the discrete Gaussian.
    pub sigma: u128,
}

impl IntegerNoise {
    /// Standard deviation in the message's own units.
    pub fn deviation(&self) -> f64 {
        self.sigma as f64 * self.unit
    }

    /// The integer sum, noise added, as a number.
    pub(super) fn add(&self, sum: i128, draw: i128) -> f64 {
        ((sum << self.shift) + draw) as f64 * self.unit
    }

    /// What a squared distance of 1 costs.
    pub(super) fn unit_cost(&self) -> f64 {
        let scaled = f64::from(self.shift).exp2() / self.sigma as f64;
        scaled * scaled
    }

    /// The noise of this scale for integers worth `unit` each; `None` where there is none.
    pub(super) fn of_scale(scale: f64, unit: f64) -> Option<Self> {
        let smallest = SMALLEST_SCALE as f64;
        let shift = (smallest / scale).log2().ceil().max(0.0);
        let sigma = (scale * shift.exp2()).ceil().max(smallest);
        let fits = shift <= f64::from(MOST_SHIFT) && sigma <= LARGEST_SCALE as f64;
        let (shift, finer) = (shift as u32, (-shift).exp2());
        fits.then_some(Self { unit: unit * finer, shift, sigma: sigma as u128 })
    }
}

/// How the numbers of a reply are noised.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Noises {
    /// Of the theta messages; `None` when they are 0 for every store.
    pub(super) theta: Option<IntegerNoise>,
    /// Of the tables; `None` when they are 0 for every store.
    pub(super) table: Option<IntegerNoise>,
    /// How many sites' noise counts beside each other; 1 where a site adds all of its own.
    pub(super) honest: u32,
}

/// Squared distances of all units, in both messages.
pub(super) struct Distances {
    theta: Vec<f64>,
    table: Vec<f64>,
    /// The largest of each.
    tops: [f64; 2],
    pub(super) digest: Digest,
}

impl Distances {
    /// By unit; refuses what was out of range.
    pub(super) fn new(
        measured: &mut Measured,
        units: &UnitsOf<'_>,
        records: usize,
    ) -> Result<Self, PriceError> {
        let (theta, table) = match units {
            UnitsOf::Each(count) => measured.by_record(*count),
            UnitsOf::Listed { of, count } => {
                if largest_unit(of, *count) > UNIT {
                    return Err(PriceError::Bound("a unit of more than 2^20 rows"));
                }
                measured.by_unit(|position| of[position as usize], *count)
            }
        };
        let distances = Self { theta, table, tops: [0.0; 2], digest: measured.digest };
        let tops = distances.largest();
        // False of what is no number, too.
        if measured.outside || !tops.iter().all(|top| *top < f64::INFINITY) {
            return Err(PriceError::Range { records });
        }
        Ok(Self { tops, ..distances })
    }

    /// The largest of each; not a number if one is not.
    fn largest(&self) -> [f64; 2] {
        let mut found = ([0.0; 2], 0);
        kernel::largest_each(&self.theta, &self.table, &mut found);
        if found.1 == 0 { found.0 } else { [f64::NAN; 2] }
    }

    /// Returns the room of its numbers.
    pub(super) fn give_back(self, to: &mut Measured) {
        to.give_back(self.theta, self.table);
    }

    /// Units that take no part cost nothing: their candidates are left out of the sums.
    pub(super) fn leave_out(&mut self, units: &[bool]) {
        let all = self.theta.iter_mut().zip(&mut self.table).zip(units);
        for ((theta, table), _) in all.filter(|(_, out)| **out) {
            (*theta, *table) = (0.0, 0.0);
        }
        self.tops = self.largest();
    }

    /// What a squared distance of 1 costs in either message.
    fn unit_costs(noises: &Noises) -> (f64, f64) {
        let honest = f64::from(noises.honest);
        let of =
            |noise: &Option<IntegerNoise>| noise.map_or(0.0, |noise| noise.unit_cost() / honest);
        (of(&noises.theta), of(&noises.table))
    }

    /// What the dearest unit pays; not a number if what one pays is not.
    fn dearest(&self, noises: &Noises) -> f64 {
        let mut found = (0.0, 0);
        kernel::largest_sum(&self.theta, &self.table, Self::unit_costs(noises), &mut found);
        if found.1 == 0 { found.0 } else { f64::NAN }
    }

    /// What every unit pays, in the room of its distances: stores have millions of records.
    pub(super) fn charged(&mut self, noises: &Noises) -> Vec<f64> {
        let (theta, table) = Self::unit_costs(noises);
        let mut units = std::mem::take(&mut self.theta);
        for (own, own_table) in units.iter_mut().zip(&self.table) {
            *own = *own * theta + own_table * table;
        }
        units
    }

    /// Both messages' noise such that the joint cost of the dearest unit is at most `share`, and
    /// that cost. A message that no store can move is sent as it is and its part is not spent.
    pub(super) fn noises(
        &self,
        lattice: &Lattice,
        share: f64,
        table_part: f64,
        records: usize,
    ) -> Result<(Noises, f64), PriceError> {
        let share = share * (1.0 - SAFETY);
        let scale =
            |largest: f64, part: f64| (largest > 0.0).then(|| largest / (share * part).sqrt());
        let [theta, table] = self.tops.map(f64::sqrt);
        let mut scales = [scale(theta, 1.0 - table_part), scale(table, table_part)];
        let allowed = match scales {
            [Some(_), Some(_)] => share,
            [Some(_), None] => share * (1.0 - table_part),
            [None, Some(_)] => share * table_part,
            [None, None] => return Ok((Noises { theta: None, table: None, honest: 1 }, 0.0)),
        };
        let units = lattice.units();
        let realise = |scale: Option<f64>, unit: f64| match scale {
            None => Ok(None),
            Some(scale) => match IntegerNoise::of_scale(scale, unit) {
                Some(noise) => Ok(Some(noise)),
                None => Err(PriceError::Range { records }),
            },
        };
        // Each turn scales both by what is missing or left over; rounding to integers is a part in
        // ten millions, so the second turn is already within it.
        for turn in 0..20 {
            let noises = Noises {
                theta: realise(scales[0], units[0])?,
                table: realise(scales[1], units[1])?,
                honest: 1,
            };
            let cost = self.dearest(&noises);
            if cost <= allowed && (turn > 1 || cost >= allowed * (1.0 - 1e-6)) {
                // The scale's square and two products: a relative 2^-50.
                return Ok((noises, cost * (1.0 + SAFETY / 2.0)));
            }
            let by = (cost / allowed).sqrt() * if turn > 1 { 1.0 + 1e-6 } else { 1.0 + 1e-8 };
            scales = scales.map(|scale| scale.map(|scale| scale * by));
        }
        Err(PriceError::Range { records })
    }

    /// The noise of a share of these scales, and what the dearest unit pays where so many shares count.
    /// It is added to every number that the question has, also where no unit moves one.
    pub(super) fn shared(
        &self,
        lattice: &Lattice,
        scale: &RoundScale,
        honest: u32,
    ) -> Result<(Noises, f64), PriceError> {
        let [theta, table] = lattice.units();
        let within = |scale: &ShareScale| {
            (u128::from(SMALLEST_SCALE)..=LARGEST_SCALE).contains(&scale.sigma)
                && scale.shift <= ShareScale::MOST_SHIFT
        };
        if !scale.theta.iter().chain([&scale.table]).all(within) {
            return Err(PriceError::Bound(
                "a share of noise below 2^24 or above 2^100, a larger shift",
            ));
        }
        let noise = |ShareScale { shift, sigma }: ShareScale, unit: f64| IntegerNoise {
            unit: unit * (-f64::from(shift)).exp2(),
            shift,
            sigma,
        };
        let noises = Noises {
            theta: scale.theta.map(|scale| noise(scale, theta)),
            table: Some(noise(scale.table, table)),
            honest,
        };
        let cost = self.dearest(&noises);
        if cost < f64::INFINITY {
            Ok((noises, cost * (1.0 + SAFETY)))
        } else {
            Err(PriceError::Bound("a share of noise that costs no number"))
        }
    }
}

impl Noises {
    /// What integer noise adds to a reply of so many numbers.
    pub(super) fn slack(&self, theta: u64, table: u64) -> (f64, u64) {
        let of = |noise: &Option<IntegerNoise>, numbers: u64| match noise {
            None => (0.0, 0),
            Some(noise) => (slack(numbers, noise.sigma as f64), numbers),
        };
        let (theta, table) = (of(&self.theta, theta), of(&self.table, table));
        (theta.0 + table.0, theta.1 + table.1)
    }

    /// Whether no store can move anything.
    pub(super) fn silent(&self) -> bool {
        self.theta.is_none() && self.table.is_none()
    }
}

/// Rows of the largest unit.
fn largest_unit(units: &[u32], count: usize) -> u32 {
    let mut rows = vec![0_u32; count];
    units.iter().for_each(|&unit| rows[unit as usize] += 1);
    rows.into_iter().max().unwrap_or(0)
}

/// The largest of numbers that are not negative; not a number if one is not. (`f64::max` forgets
/// such a one, and with it a price.)
pub(super) fn largest(numbers: impl Iterator<Item = f64>) -> f64 {
    let (mut top, mut wrong) = (0.0, 0_u64);
    for number in numbers {
        top = if number > top { number } else { top };
        wrong += u64::from(number.is_nan());
    }
    if wrong == 0 { top } else { f64::NAN }
}
