//! What attacks on the door need: silence in place of noise, and the integers under it.
//!
//! Only tests see this: the feature `attack` is named by dev-dependencies alone
//! (`crates/steffle/tests/borders.rs`).
#![allow(clippy::unwrap_used, clippy::panic)] // an attack that cannot begin has to fail

use steffle_privacy::ledger::{CheckedOffer, Claim, Cost, Offer};

use crate::counts::{self, Decided};
use crate::features::{FeatureChunk, price};
use crate::noise::{NoiseKind, NoiseSource, SimulatedNoise};
use crate::noised::{Noise, theta_integers};
use crate::price::{IntegerNoise, Noises};
use crate::{Asking, AttributesDivision, Request, Reserved, Sums, UnitList, Unreleased};

/// A noise source that draws nothing: what is released is what the noise would be added to.
pub struct Silence(SimulatedNoise);

impl Default for Silence {
    fn default() -> Self {
        Self(SimulatedNoise::new(1, 1, 1))
    }
}

impl crate::noise::sealed::Sealed for Silence {}

impl NoiseSource for Silence {
    fn kind(&self) -> NoiseKind {
        NoiseKind::Simulation
    }

    fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    fn add_gaussian(&mut self, _: f64, _: &mut [f64]) {}

    fn discrete_gaussians(&mut self, _: u128, count: usize) -> Vec<i128> {
        vec![0; count]
    }
}

/// No share of a sum is larger.
pub const MOST_INTEGER: u128 = crate::share::MOST_INTEGER;

/// A noise source that draws the largest noise there is, above 0 or below.
pub struct Loud(SimulatedNoise, i128);

impl Loud {
    /// Above 0, or below.
    pub fn new(above: bool) -> Self {
        Self(SimulatedNoise::new(1, 1, 1), if above { 1 } else { -1 })
    }
}

impl crate::noise::sealed::Sealed for Loud {}

impl NoiseSource for Loud {
    fn kind(&self) -> NoiseKind {
        NoiseKind::Simulation
    }

    fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    fn add_gaussian(&mut self, _: f64, _: &mut [f64]) {}

    fn discrete_gaussians(&mut self, sigma: u128, count: usize) -> Vec<i128> {
        let largest = (sigma * u128::from(crate::noise::LARGEST_WHOLE) - 1).cast_signed();
        vec![self.1 * largest; count]
    }
}

/// An offer of simulated noise.
///
/// # Panics
/// Where nobody could accept it.
pub fn offer(claim: Claim, epsilon: f64, delta: f64) -> CheckedOffer {
    let name = || "test".to_owned();
    let (method, mode, notion, noise) = (name(), name(), name(), NoiseKind::Simulation);
    Offer { run: String::new(), method, mode, notion, rounds: 10, epsilon, delta, claim, noise }
        .check()
        .unwrap()
}

/// A request that differs from all others of a test.
pub fn request(number: u64) -> Request {
    Request::new(0, &[&number.to_le_bytes()])
}

/// What a price opened, as exact integers, each with what one step is of its noise's scale.
///
/// Two of them say how far one person moved a reply, and so whether its price was enough.
pub struct Exact(Vec<(Vec<i128>, f64)>);

impl Exact {
    /// Messages, each with its noise.
    pub fn new(messages: Vec<(Vec<i128>, Option<IntegerNoise>)>) -> Self {
        let scale =
            |noise: Option<IntegerNoise>| noise.map_or(f64::INFINITY, |n| n.unit_cost().sqrt());
        Self(messages.into_iter().map(|(sums, noise)| (sums, scale(noise))).collect())
    }

    /// The two messages of a round.
    ///
    /// # Panics
    /// Where they have no integer noise.
    pub fn of_sums(paid: &Reserved<Sums>, sums: &Unreleased<Sums>) -> Self {
        let Noise::Integer(Noises { theta, table, .. }) = &paid.asked().noise else { panic!() };
        let whitening = paid.asked().whitening.as_deref();
        let thetas = sums.0.thetas.iter().flat_map(|sum| theta_integers(sum, whitening)).collect();
        let tables = sums.0.tables.iter().flatten().map(|&sum| sum as i128).collect();
        Self::new(vec![(thetas, *theta), (tables, *table)])
    }

    /// The squared distance in units of the noise; numbers without noise must not differ.
    pub fn squared_distance(&self, other: &Self) -> f64 {
        let mut squared = 0.0;
        for ((own, scale), (others, _)) in self.0.iter().zip(&other.0) {
            for (a, b) in own.iter().zip(others).filter(|(a, b)| a != b) {
                squared += ((a - b) as f64 * scale).powi(2);
            }
        }
        squared
    }
}

/// What a one-shot question about one silo is priced at, in mu^2, and what it opens; `None` where it
/// is refused before anything was paid.
///
/// # Panics
/// Where it is refused afterwards.
pub fn features(
    holder: &mut AttributesDivision,
    units: &UnitList,
    asking: Asking<'_>,
    request: Request,
) -> Option<(f64, Exact)> {
    let price = price(holder.terms(), holder.classes(), units, &[asking], request).ok()?;
    let squared = match price.cost() {
        Cost::Gaussian { squared, .. } => squared,
        _ => 0.0,
    };
    let paid = price.reserve(holder.store(), &mut Silence::default()).ok()?;
    let mut sums = Unreleased(paid.asked().empty());
    holder.store().add(&paid, FeatureChunk { silo: 0, asking }, &mut sums);
    let exact = Exact::new(vec![(sums.0.silos[0].concat(), paid.asked().silos[0].noise)]);
    holder.store().release(paid, sums).unwrap();
    Some((squared, exact))
}

/// What a question for counts is priced at, in mu^2, and what it opens; `None` where it is refused
/// before anything was paid.
///
/// # Panics
/// Where it is refused afterwards.
pub fn counts(
    holder: &mut AttributesDivision,
    units: &UnitList,
    silos: &[Decided<'_>],
    request: Request,
) -> Option<(f64, Exact)> {
    let price = counts::price(holder.terms(), holder.classes(), units, silos, request).ok()?;
    let squared = match price.cost() {
        Cost::Gaussian { squared, .. } => squared,
        _ => 0.0,
    };
    let paid = price.reserve(holder.store(), &mut Silence::default()).ok()?;
    let mut sums = Unreleased(paid.asked().empty());
    silos.iter().for_each(|silo| holder.store().add(&paid, *silo, &mut sums));
    let exact = Exact::new(vec![(sums.0.counts.clone(), paid.asked().noise)]);
    holder.store().release(paid, sums).unwrap();
    Some((squared, exact))
}
