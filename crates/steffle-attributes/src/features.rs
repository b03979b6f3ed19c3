//! The one-shot message: per class, the sum of its records' capped features, with integer noise.
//!
//! # Claim
//! One reply costs `mu^2 = cost`, at most the share that the terms name: it is `mu`-GDP for every
//! unit, up to the slack of [`steffle_privacy::discrete`], whatever Gram matrix, cap, cells and
//! rows were received.
//!
//! # Proof
//! 1. The integer whitening B, the coefficients `count_i` and the lengths `|B f_i|` are functions of
//!    x, y and what was received ([`Capped`]), all of them finite; nothing here reads `s` before
//!    the noise is drawn, and no branch depends on what is held.
//! 2. Sent are the rows r = 1 (two classes) or all r of
//!    `B sum_i (k [s_i = r] - 1) count_i f_i / GRID`, integers; a missing class adds 0. Sums are
//!    exact: below 2^53 before the whitening, in 128 bits after it. Replacing the class of a unit
//!    moves them by at most the sum over its rows of `count_i |B f_i| / GRID`, times 2 for two
//!    classes (one row) and `sqrt(2) k` for more (two rows); from or to "missing" by less.
//! 3. Several records silos may ask at once, about disjoint ids (checked here). A unit may have rows
//!    in several: its cost is the sum, over silos, of its squared move over the squared scale of
//!    that silo's noise, and the reply's the largest over units.
//! 4. Discrete Gaussian noise of integer scale is mu-GDP with `mu = move / sigma`; nothing is
//!    rounded between the sum and the noise.
//!
//! Tests: `features::tests::no_store_moves_more_than_the_price` (it fails when the distance of 2.
//! is halved), `features::tests::a_reply_does_not_tell_what_is_held`, and `fuzz`.

use std::sync::Arc;

use steffle_model::decode::table_factor;
use steffle_model::linear::Whitening;
use steffle_model::record::GRID;
use steffle_model::scores::Who;
use steffle_privacy::discrete::slack;
use steffle_privacy::ledger::{Charge, Cost, Kind, Refusal};
use steffle_wire::{CodecError, FeatureReply, FeatureSums, Summed, Writer};

use super::bounds::{self, CLASSES};
use super::door::{Held, Message, Price, Released, Request, Unpriced, Work};
use super::price::{IntegerNoise, PriceError, largest};
use super::room::Room;
use super::units::UnitsOf;
use super::{Terms, UnitList};
use crate::Capped;
use crate::noise::NoiseSource;

/// The message of a one-shot run.
///
/// After it the server trains for any lambda without asking about `s` again.
#[derive(Debug)]
pub enum FeatureMessage {}

impl Message for FeatureMessage {}

impl Released<FeatureMessage> {
    /// What was released, as the part of one of `sites` holders: post-processing.
    pub fn summed(&self, sites: usize) -> Result<Summed<FeatureReply>, CodecError> {
        Ok(self.read()?.summed(sites))
    }
}

/// What one records silo asks about.
///
/// Its capped features, and whose records they are.
pub type Asking<'a> = (&'a Capped<'a>, Who<'a>);

/// What the price of a one-shot reply fixed; one entry per records silo.
#[derive(Debug)]
pub struct AskedFeatures {
    classes: usize,
    pub(super) silos: Vec<AskedSilo>,
}

#[derive(Debug, Clone)]
pub(super) struct AskedSilo {
    size: usize,
    /// B, where there is noise.
    whitening: Arc<Whitening>,
    /// `None` is no noise: nothing is claimed, or nothing can move.
    pub(super) noise: Option<IntegerNoise>,
    /// Of the coefficients that were priced.
    digest: u64,
}

/// Per silo and class that is sent, the integer sums, whitened where there is noise.
pub struct SummedFeatures {
    pub(super) silos: Vec<Vec<Vec<i128>>>,
    unpriced: bool,
}

/// A silo's number and what it asks about.
///
/// Several silos may ask one holder at once.
pub struct FeatureChunk<'a> {
    pub(super) silo: usize,
    pub(super) asking: Asking<'a>,
}

impl AskedFeatures {
    /// Sums to add to.
    pub(super) fn empty(&self) -> SummedFeatures {
        SummedFeatures { silos: vec![Vec::new(); self.silos.len()], unpriced: false }
    }
}

/// What the sums of these features would be released under. Reads no `s`.
pub(super) fn price(
    terms: &Terms,
    classes: usize,
    units: &UnitList,
    silos: &[Asking<'_>],
    request: Request,
) -> Result<Price<FeatureMessage>, PriceError> {
    let records = silos.iter().map(|(capped, _)| capped.features().len()).sum();
    if !(2..=CLASSES).contains(&classes) {
        return Err(PriceError::Bound("more than 64 classes"));
    }
    let asked = |noise| {
        let silos = silos.iter().zip(noise).map(|((capped, _), noise)| AskedSilo {
            size: capped.features().size(),
            whitening: capped.shared_whitening(),
            noise,
            digest: digest(capped),
        });
        AskedFeatures { classes, silos: silos.collect() }
    };
    let Terms::Exact(share) = terms else {
        let nothing = asked(vec![None; silos.len()]);
        return Ok(Price::new(nothing, Cost::Revealed, Charge::All, request));
    };
    let share = share.round * (1.0 - 1e-9);
    for (capped, _) in silos {
        bounds::reach(capped.features().rows())?;
    }
    let moves = unit_moves(classes, units, silos)?;
    // Every silo's noise alone would use the share up; a unit with rows in several silos makes
    // all of them larger.
    let tops: Vec<f64> = moves.iter().map(|own| largest(own.iter().copied())).collect();
    let mut by = 1.0;
    for _ in 0..20 {
        let noises: Option<Vec<Option<IntegerNoise>>> = tops
            .iter()
            .map(|&top| {
                let noise = || IntegerNoise::of_scale(top / share.sqrt() * by, GRID);
                if top > 0.0 { noise().map(Some) } else { Some(None) }
            })
            .collect();
        let noises = noises.ok_or(PriceError::Range { records })?;
        let mut costs = vec![0.0; moves.first().map_or(0, Vec::len)];
        for (own, noise) in moves.iter().zip(&noises) {
            let Some(noise) = noise else { continue };
            let unit = noise.unit_cost();
            costs.iter_mut().zip(own).for_each(|(cost, far)| *cost += far * far * unit);
        }
        let squared = largest(costs.into_iter()) * (1.0 + 1e-12);
        if squared <= share {
            let (mut total, mut numbers) = (0.0, 0);
            for ((capped, _), noise) in silos.iter().zip(&noises) {
                let Some(noise) = noise else { continue };
                let own = (capped.features().size() * sent(classes).len()) as u64;
                total += slack(own, noise.sigma as f64);
                numbers += own;
            }
            let cost = match numbers {
                0 => Cost::Free,
                _ => Cost::Gaussian { squared, slack: total, numbers },
            };
            return Ok(Price::new(asked(noises), cost, Charge::All, request));
        }
        by *= (squared / share).sqrt() * (1.0 + 1e-9);
    }
    Err(PriceError::Range { records })
}

/// Per silo, how far each unit can move its message, in steps of the integers.
pub(super) fn unit_moves(
    classes: usize,
    units: &UnitList,
    silos: &[Asking<'_>],
) -> Result<Vec<Vec<f64>>, PriceError> {
    let listed = if let [(_, Who::Positions(_))] = silos {
        None
    } else {
        if silos.iter().any(|(_, who)| matches!(who, Who::Positions(_))) {
            return Err(PriceError::Announced(
                "several silos are told apart by ids, not positions",
            ));
        }
        // All at once: an id that two silos announce would be counted in both.
        let ids = silos.iter().flat_map(|(_, who)| match who {
            Who::Ids(ids, _) => ids.to_vec(),
            Who::Positions(_) => Vec::new(),
        });
        Some(units.announced(&ids.collect::<Vec<u64>>())?)
    };
    let own = match &listed {
        None => units.of_positions()?,
        Some(listed) => listed.clone(),
    };
    let mut first = 0;
    let mut moves = Vec::with_capacity(silos.len());
    for (capped, who) in silos {
        let mut far = vec![0.0; own.count()];
        let weights = capped.weights();
        let unit = |record: usize| match (&listed, who) {
            (None, Who::Positions(positions)) => match &own {
                UnitsOf::Each(_) => positions[record] as usize,
                UnitsOf::Listed { of, .. } => of[positions[record] as usize] as usize,
            },
            (Some(UnitsOf::Listed { of, .. }), _) => of[first + record] as usize,
            (Some(UnitsOf::Each(_)) | None, _) => record,
        };
        for (record, weight) in weights.enumerate() {
            far[unit(record)] += weight;
        }
        first += capped.features().len();
        // The sum of a unit's rows, a product and a root: far more accurate than the margin.
        let factor = table_factor(classes).sqrt() / GRID * (1.0 + 1e-9);
        far.iter_mut().for_each(|far| *far *= factor);
        if !far.iter().all(|far| far.is_finite()) {
            return Err(PriceError::Range { records: capped.features().len() });
        }
        moves.push(far);
    }
    Ok(moves)
}

impl Work for FeatureMessage {
    const KIND: Kind = Kind::Features;
    type Asked = AskedFeatures;
    type Drawn = Vec<Vec<Vec<i128>>>;
    type Sums = SummedFeatures;
    type Chunk<'a> = FeatureChunk<'a>;
    type Reply = FeatureReply;

    fn draw(
        asked: &AskedFeatures,
        source: &mut impl NoiseSource,
        _: &mut Room,
    ) -> Result<Vec<Vec<Vec<i128>>>, Refusal> {
        let silo = |silo: &AskedSilo| {
            let mut draw = |_| match silo.noise {
                Some(noise) => source.discrete_gaussians(noise.sigma, silo.size),
                None => vec![0; silo.size],
            };
            sent(asked.classes).map(&mut draw).collect()
        };
        Ok(asked.silos.iter().map(silo).collect())
    }

    fn add(
        held: &Held<'_>,
        asked: &AskedFeatures,
        _: &Vec<Vec<Vec<i128>>>,
        chunk: FeatureChunk<'_>,
        sums: &mut SummedFeatures,
    ) {
        let FeatureChunk { silo, asking: (capped, who) } = chunk;
        let mut classes = Vec::new();
        held.classes_of(who, &mut classes);
        let AskedSilo { noise, whitening, digest: priced, .. } = &asked.silos[silo];
        sums.unpriced |= digest(capped) != *priced;
        let each = sent(asked.classes).map(|class| {
            let sum = class_sum(capped, &classes, class, asked.classes);
            if noise.is_some() { whitening.whiten_exactly(&sum) } else { sum }
        });
        sums.silos[silo] = each.collect();
    }

    fn finish(
        asked: Box<AskedFeatures>,
        drawn: Vec<Vec<Vec<i128>>>,
        sums: SummedFeatures,
        (writer, _): (&mut Writer, &mut Room),
    ) -> Result<bool, Unpriced> {
        let AskedFeatures { classes, silos } = *asked;
        if sums.unpriced || sums.silos.iter().any(|own| own.len() != sent(classes).len()) {
            return Err(Unpriced);
        }
        let mut reply = Vec::with_capacity(silos.len());
        for ((silo, draws), sums) in silos.iter().zip(&drawn).zip(&sums.silos) {
            let own = sums.iter().zip(draws).map(|(sum, draws)| noised(sum, silo, draws, classes));
            let deviation = silo.noise.map_or(0.0, |noise| noise.deviation() / classes as f64);
            reply.push(FeatureSums { sums: own.collect(), deviation });
        }
        let any = silos.iter().any(|silo| silo.noise.is_some());
        FeatureReply { silos: reply }.write(writer);
        Ok(any)
    }
}

/// The classes whose sums are sent: with two, one tells the other.
pub(super) fn sent(classes: usize) -> std::ops::Range<usize> {
    if classes == 2 { 1..2 } else { 0..classes }
}

/// `sum_i (k [s_i = r] - 1) count_i f_i / GRID`, exact: every partial sum is an integer below
/// 2^53 ([`Capped`] sees to it), so neither order nor threads matter. The class enters as a factor.
pub(super) fn class_sum(
    capped: &Capped<'_>,
    held: &[u16],
    class: usize,
    classes: usize,
) -> Vec<i128> {
    let coefficients: Vec<f64> = held
        .iter()
        .zip(capped.counts())
        .map(|(&own, count)| {
            let known = f64::from(u8::from(usize::from(own) < classes));
            let is = f64::from(u8::from(usize::from(own) == class));
            (classes as f64 * is - known) * count
        })
        .collect();
    capped.features().sum(&coefficients).iter().map(|sum| (sum / GRID) as i128).collect()
}

/// Adds the noise and turns back: `sum_i ([s_i = r] - 1/k) count_i f_i` plus noise.
fn noised(sum: &[i128], silo: &AskedSilo, draws: &[i128], classes: usize) -> Vec<f64> {
    let k = classes as f64;
    let Some(noise) = silo.noise else {
        return sum.iter().map(|&sum| sum as f64 * GRID / k).collect();
    };
    let noisy = sum.iter().zip(draws).map(|(&sum, &draw)| noise.add(sum, draw) / k);
    let mut released: Vec<f64> = noisy.collect();
    silo.whitening.unwhiten(&mut released);
    released
}

/// That the sums are over the coefficients that were priced: against a fault, not an adversary.
pub(super) fn digest(capped: &Capped<'_>) -> u64 {
    let mix = |hash: u64, count: &f64| {
        (hash ^ count.to_bits()).wrapping_mul(0xd6e8_feb8_6659_fd93).rotate_left(29)
    };
    capped.counts().iter().fold(capped.features().size() as u64, mix)
}

#[cfg(test)]
mod tests;
