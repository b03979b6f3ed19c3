//! The one-shot release: per class, the sum of its records' capped features, with integer noise.
//!
//! # Claim
//! One reply costs `mu^2 = cost`, at most the share that the terms name: it is `mu`-GDP for every
//! unit, up to the slack of [`steffle_privacy::discrete`], whatever Gram matrix, cap, cells and
//! rows were received.
//!
//! # Proof
//! 1. The integer whitening B, the coefficients `count_i` and `bound = max over units of
//!    sum_i |count_i B f_i|` are functions of x and y ([`Capped`]); nothing here reads `s` before
//!    the noise is drawn, and no branch depends on what is held.
//! 2. Sent are the rows r = 1 (two classes) or all r of
//!    `B sum_i (k [s_i = r] - 1) count_i f_i / GRID`, an integer; a missing class adds 0. Replacing
//!    the class of a unit changes the factor of one row from -1 to k - 1 and, with more than two
//!    classes, that of another row back: a distance of at most `2 bound / GRID` for two classes and
//!    `sqrt(2) k bound / GRID` for more. From or to "missing" it is `1` and `sqrt(k (k - 1))`,
//!    which is less.
//! 3. The integers are divided by a power of two and rounded, which moves each of N numbers by at
//!    most 1/2 in either world: the distance grows by at most `sqrt(N)`.
//! 4. Discrete Gaussian noise of integer scale sigma of at least 2^24 on the result is mu-GDP with
//!    `mu = distance / sigma`.
//! 5. Several records silos ask at once about disjoint ids: a unit's class enters the message of
//!    its own silo only, so the replies together cost what the dearest costs.
//!
//! Tests: `features::tests::no_store_moves_more_than_the_price` (it fails when the distance of 2.
//! is halved) and `features::tests::a_reply_does_not_tell_what_is_held`.

use steffle_privacy::discrete::{SMALLEST_SCALE, slack};

use super::account::{Charged, Cost, Refusal};
use super::price::{IntegerNoise, LARGEST_SCALE, PriceError};
use super::release::Released;
use super::{AttributesDivision, AttributesDivisionError, Terms};
use crate::division::Who;
use crate::noise::NoiseSource;
use crate::one_shot::{CLASSES, Capped};
use crate::protocol::{Encode, FeatureSums, Writer};
use crate::record::GRID;

/// What a one-shot reply will be released under. Computed without reading `s`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[must_use = "a price is nothing until it is reserved"]
pub struct FeaturePrice {
    /// `None` is no noise and no claim.
    noise: Option<IntegerNoise>,
    cost: Cost,
}

impl FeaturePrice {
    /// The noise for features whose units weigh at most `bound`, of `size` numbers, in `classes`
    /// classes, such that the cost is at most `share`.
    fn new(bound: f64, size: usize, classes: usize, share: f64) -> Result<Self, PriceError> {
        let range = PriceError::Range { records: 0 };
        let numbers = size * sent(classes).len();
        // Rounded up: a handful of float operations are far more accurate than the margin.
        let distance = distance(classes) * bound / GRID * (1.0 + 1e-12);
        let mu = (share * (1.0 - 1e-9)).sqrt();
        let smallest = SMALLEST_SCALE as f64;
        let first = (distance / mu / smallest).log2().floor().max(-20.0);
        for shift in [first, first + 1.0] {
            let moved = distance / shift.exp2() + (numbers as f64).sqrt();
            let sigma = (moved / mu).ceil().max(smallest);
            if !(sigma <= LARGEST_SCALE && shift <= 70.0) {
                continue;
            }
            let sigma = sigma as u64;
            let squared = (moved / sigma as f64).powi(2) * (1.0 + 1e-12);
            let cost = Cost::Gaussian { squared, slack: slack(numbers as u64, sigma as f64) };
            let unit = GRID * shift.exp2();
            let noise = Some(IntegerNoise { unit, shift: shift as i32, sigma });
            return Ok(Self { noise, cost });
        }
        Err(range)
    }

    /// What it costs.
    pub fn cost(&self) -> Cost {
        self.cost
    }
}

impl AttributesDivision {
    /// What the sums of these features would be released under. Reads no `s`.
    pub fn price_features(
        &self,
        capped: &Capped<'_>,
    ) -> Result<FeaturePrice, AttributesDivisionError> {
        let classes = self.classes();
        if !(2..=CLASSES).contains(&classes) {
            return Err(PriceError::Range { records: capped.features().len() }.into());
        }
        match self.terms() {
            Terms::Open => Ok(FeaturePrice { noise: None, cost: Cost::Unclaimed }),
            Terms::Exact(share) => {
                let size = capped.features().size();
                Ok(FeaturePrice::new(capped.bound(), size, classes, share.round)?)
            }
            _ => Err(Refusal::Kind.into()),
        }
    }

    /// Answers records silos that ask for the sums of their features by class: pays once for all
    /// of them, draws the noise, then reads the classes of the records it holds.
    ///
    /// Refuses what the account does not cover. Silos must have announced disjoint ids.
    pub fn release_features(
        &mut self,
        silos: &[(&Capped<'_>, Who<'_>)],
        source: &mut impl NoiseSource,
    ) -> Result<Vec<Released<FeatureSums>>, AttributesDivisionError> {
        let prices = silos
            .iter()
            .map(|(capped, _)| self.price_features(capped))
            .collect::<Result<Vec<_>, _>>()?;
        self.pay(together(prices.iter().map(|price| price.cost)), Charged::All)?;
        let classes = self.classes();
        let drawn: Vec<Vec<Vec<i64>>> = silos
            .iter()
            .zip(&prices)
            .map(|((capped, _), price)| {
                let size = capped.features().size();
                let mut draw = |noise: IntegerNoise| {
                    let draws = source.discrete_gaussians(u128::from(noise.sigma), size);
                    draws.into_iter().map(|draw| draw as i64).collect()
                };
                sent(classes).map(|_| price.noise.map(&mut draw).unwrap_or_default()).collect()
            })
            .collect();
        let kind = source.kind();
        let mut released = Vec::with_capacity(silos.len());
        for (((capped, who), price), draws) in silos.iter().zip(&prices).zip(&drawn) {
            let held = self.held_classes(capped, *who);
            let sums = sent(classes)
                .zip(draws)
                .map(|(class, draws)| {
                    let sum = class_sum(capped, &held, class, classes);
                    noised(capped, &sum, price.noise, draws, classes)
                })
                .collect();
            let deviation = price.noise.map_or(0.0, |noise| noise.deviation() / classes as f64);
            released
                .push(Released::new(FeatureSums { sums, deviation }, price.noise.map(|_| kind)));
        }
        Ok(released)
    }

    /// The class of every record, `classes` where it is missing or not held.
    fn held_classes(&self, capped: &Capped<'_>, who: Who<'_>) -> Vec<u16> {
        let none = self.classes() as u16;
        let attributes = self.attributes();
        let real = attributes.classes();
        let mut held: Vec<u16> = match who {
            Who::Positions(positions) => positions.iter().map(|&at| real[at as usize]).collect(),
            Who::Ids(ids) => {
                ids.iter().map(|id| self.position(*id).map_or(none, |at| real[at])).collect()
            }
        };
        held.iter_mut().for_each(|class| *class = (*class).min(none));
        held.resize(capped.features().len(), none);
        held
    }
}

impl Encode for Released<FeatureSums> {
    fn encode(&self, writer: &mut Writer) {
        self.value().write(writer);
    }
}

/// The classes whose sums are sent: with two, one tells the other.
fn sent(classes: usize) -> std::ops::Range<usize> {
    if classes == 2 { 1..2 } else { 0..classes }
}

/// How far replacing a class moves the factors of one record in the rows that are sent.
fn distance(classes: usize) -> f64 {
    let k = classes as f64;
    if classes == 2 { k } else { k * 2_f64.sqrt() }
}

/// The cost of messages about disjoint records.
fn together(costs: impl Iterator<Item = Cost>) -> Cost {
    costs.fold(Cost::Unclaimed, |all, cost| match (all, cost) {
        (Cost::Gaussian { squared, slack }, Cost::Gaussian { squared: other, slack: more }) => {
            Cost::Gaussian { squared: squared.max(other), slack: slack + more }
        }
        (_, cost) => cost,
    })
}

/// `sum_i (k [s_i = r] - 1) count_i f_i / GRID`, exact: every partial sum is an integer below
/// 2^53 ([`Capped`] sees to it), so neither order nor threads matter.
fn class_sum(capped: &Capped<'_>, held: &[u16], class: usize, classes: usize) -> Vec<i128> {
    let mut factors = vec![-1.0; classes + 1];
    factors[class] = classes as f64 - 1.0;
    factors[classes] = 0.0;
    let coefficients: Vec<f64> = held
        .iter()
        .zip(capped.counts())
        .map(|(&class, count)| factors[usize::from(class)] * count)
        .collect();
    capped.features().sum(&coefficients).iter().map(|sum| (sum / GRID) as i128).collect()
}

/// Whitens, adds the noise, turns back: `sum_i ([s_i = r] - 1/k) count_i f_i` plus noise.
fn noised(
    capped: &Capped<'_>,
    sum: &[i128],
    noise: Option<IntegerNoise>,
    draws: &[i64],
    classes: usize,
) -> Vec<f64> {
    let k = classes as f64;
    let Some(noise) = noise else {
        return sum.iter().map(|&sum| sum as f64 * GRID / k).collect();
    };
    // Sums below 2^53 times entries below 2^21, 4096 of them: it always fits.
    let whitened = capped.whitening().whiten_exactly(sum).unwrap_or_default();
    let mut released: Vec<f64> =
        whitened.iter().zip(draws).map(|(&sum, &draw)| noise.add(sum, draw) / k).collect();
    capped.whitening().unwhiten(&mut released);
    released
}

#[cfg(test)]
mod tests;
