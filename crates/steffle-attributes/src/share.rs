//! The one-shot message where sites share one noise: the same sums of capped features, as integers,
//! with this site's share.
//!
//! # Claim
//! N sites answer one question. Against whoever reads the sum over all of them and knows what c of
//! them sent, the reply costs at most its [`Cost`]; against whoever knows what all others sent, at most
//! N - c times that, which the ledger takes from a pot of its own. Up to the slack of
//! [`steffle_privacy::shares`]; whatever scale, Gram matrix and cap were received.
//!
//! # Proof
//! 1. to 3. of [`features`](super::features) for one silo: integers, whose squared distance for a unit
//!    is at most `T_u`, from x, y and what was received. They are sent as integers, and everything that
//!    is read is a function of their sum over all sites: no site rounds, scales or un-whitens its own.
//! 4. The noise of this site is a discrete Gaussian of the scale s that was asked for, at least 2^24,
//!    drawn for every number *always*: also where no unit moves anything, or the site has no record in
//!    any cell. Were it left out then, a sum would lack a share that others count on. So the
//!    noise of the sum over the N - c sites that do not help is that of [`steffle_privacy::shares`]
//!    whatever they hold, and the reply of a unit's site is `sqrt(T_u / ((N - c) s^2))`-GDP in that sum,
//!    `sqrt(T_u) / s` alone.
//! 5. s is the same at all sites because it stands in the question. No site believes it: a small one
//!    costs more than the grant has, and is refused before anything is read.
//! 6. A person with rows at m sites moves the sum by up to m times as far: mu times m, which no site
//!    can see; the statement says so.
//!
//! 7. Sums over all sites do not leave the ring of 2^128: [`MOST_INTEGER`], by construction. So nothing is
//!    compared, cut or refused once `s` was read: a check would be one more thing to learn from.
//!
//! Tests: `tests::a_share_is_added_always`, `tests::no_store_moves_the_sum_more_than_the_price`,
//! `tests::a_person_at_two_sites_moves_the_sum_twice_as_far`, `tests::the_largest_shares_add_up_in_the_ring`,
//! `tests::nothing_is_refused_once_s_was_read`.

use steffle_model::decode::ShareScale;
use steffle_model::linear::Whitening;
use steffle_model::record::GRID;
use steffle_privacy::NoiseShares;
use steffle_privacy::discrete::{SMALLEST_SCALE, slack};
use steffle_privacy::ledger::{Charge, Cost, Kind, Refusal};
use steffle_wire::{FeatureShare, Writer};

use super::UnitList;
use super::bounds::{self, CLASSES};
use super::door::{Held, Message, Price, Request, Unpriced, Work};
use super::features::{Asking, class_sum, digest, sent, unit_moves};
use super::price::{IntegerNoise, PriceError, largest};
use super::room::Room;
use crate::noise::{LARGEST_SCALE, LARGEST_WHOLE, NoiseSource};

/// No integer that a site adds to a sum, of one-shot or of a round, is larger: about 2^120.
///
/// # Proof
/// Sums of integers before the whitening are at most 2^53, which what is refused before `s` is read sees to:
/// [`Capped`](crate::Capped) and [`Lattice`](crate::lattice::Lattice). A row of the matrix has at most
/// [`Whitening::MOST`] entries of at most [`Whitening::LARGEST`], and a shift is at most
/// [`ShareScale::MOST_SHIFT`]: 2^113. A draw is below [`LARGEST_WHOLE`] scales, and a scale is at most
/// [`LARGEST_SCALE`]: 2^120. The compiler adds up that [`NoiseShares::MOST`] such sites stay below 2^127.
pub(crate) const MOST_INTEGER: u128 = {
    let whitened = (1 << 53) * Whitening::LARGEST as u128 * Whitening::MOST as u128;
    (whitened << ShareScale::MOST_SHIFT) + LARGEST_SCALE * LARGEST_WHOLE as u128
};

const _: () = assert!(MOST_INTEGER < (1 << 127) / NoiseShares::MOST as u128);

/// The message of a one-shot run whose sites share noise.
///
/// Nobody reads it but as a summand.
#[derive(Debug)]
pub enum ShareMessage {}

impl Message for ShareMessage {}

/// What the price of a share fixed.
#[derive(Debug)]
pub struct AskedShare {
    classes: usize,
    size: usize,
    noise: IntegerNoise,
    whitening: std::sync::Arc<steffle_model::linear::Whitening>,
    /// Of the coefficients that were priced.
    digest: u64,
}

/// Per class that is sent, the whitened integer sums.
#[derive(Default)]
pub struct SummedShare {
    sums: Vec<Vec<i128>>,
    unpriced: bool,
}

/// What a share of the sums of these features would be released under. Reads no `s`.
pub(super) fn price(
    shares: NoiseShares,
    scale: ShareScale,
    classes: usize,
    units: &UnitList,
    asking: Asking<'_>,
    request: Request,
) -> Result<Price<ShareMessage>, PriceError> {
    let (capped, _) = asking;
    let size = capped.features().size();
    if !(2..=CLASSES).contains(&classes) {
        return Err(PriceError::Bound("more than 64 classes"));
    }
    if !(u128::from(SMALLEST_SCALE)..=LARGEST_SCALE).contains(&scale.sigma)
        || scale.shift > ShareScale::MOST_SHIFT
    {
        return Err(PriceError::Bound(
            "a share of noise below 2^24 or above 2^100, a larger shift",
        ));
    }
    if !capped.in_agreed_steps() {
        return Err(PriceError::Range { records: capped.features().len() });
    }
    bounds::reach(capped.features().rows())?;
    let moves = unit_moves(classes, units, &[asking])?;
    let top = largest(moves.iter().flatten().copied());
    let unit = GRID * (-f64::from(scale.shift)).exp2();
    let noise = IntegerNoise { unit, shift: scale.shift, sigma: scale.sigma };
    // A quotient and two products: far more accurate than the margin.
    let squared = top * top * noise.unit_cost() / f64::from(shares.honest()) * (1.0 + 1e-12);
    let numbers = (size * sent(classes).len()) as u64;
    let slack = slack(numbers, scale.sigma as f64);
    let whitening = capped.shared_whitening();
    let asked = AskedShare { classes, size, noise, whitening, digest: digest(capped) };
    Ok(Price::new(asked, Cost::Gaussian { squared, slack, numbers }, Charge::All, request))
}

impl Work for ShareMessage {
    const KIND: Kind = Kind::Features;
    type Asked = AskedShare;
    type Drawn = Vec<Vec<i128>>;
    type Sums = SummedShare;
    type Chunk<'a> = Asking<'a>;
    type Reply = FeatureShare;

    fn draw(
        asked: &AskedShare,
        source: &mut impl NoiseSource,
        _: &mut Room,
    ) -> Result<Vec<Vec<i128>>, Refusal> {
        let draw = |_| source.discrete_gaussians(asked.noise.sigma, asked.size);
        Ok(sent(asked.classes).map(draw).collect())
    }

    fn add(
        held: &Held<'_>,
        asked: &AskedShare,
        _: &Vec<Vec<i128>>,
        (capped, who): Asking<'_>,
        sums: &mut SummedShare,
    ) {
        let mut classes = Vec::new();
        held.classes_of(who, &mut classes);
        sums.unpriced |= digest(capped) != asked.digest;
        let sum = |class| {
            asked.whitening.whiten_exactly(&class_sum(capped, &classes, class, asked.classes))
        };
        sums.sums = sent(asked.classes).map(sum).collect();
    }

    fn finish(
        asked: Box<AskedShare>,
        drawn: Vec<Vec<i128>>,
        SummedShare { sums, unpriced }: SummedShare,
        (writer, _): (&mut Writer, &mut Room),
    ) -> Result<bool, Unpriced> {
        if unpriced || sums.len() != drawn.len() {
            return Err(Unpriced);
        }
        let shift = asked.noise.shift;
        let share = |(sum, draws): (&Vec<i128>, &Vec<i128>)| {
            sum.iter().zip(draws).map(|(sum, draw)| (sum << shift) + draw).collect()
        };
        FeatureShare { sums: sums.iter().zip(&drawn).map(share).collect() }.write(writer);
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
