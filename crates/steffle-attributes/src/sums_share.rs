//! The message of a round where sites share one noise: the same integers, with this site's share.
//!
//! # Claim
//! N sites answer one question of a round. Against whoever reads the sum over all of them and knows
//! what c of them sent, the reply costs every unit at most what its [`Charge`](steffle_privacy::ledger::Charge)
//! says; against whoever knows what all others sent, at most N - c times that, which the ledger takes from a pot
//! of its own. Rounds add up by the accounts of the grant, in both readings. Up to the slack of
//! [`steffle_privacy::shares`]; whatever theta, C, q, scales, shape and cap were received.
//!
//! # Proof
//! 1. to 3. of [`price`](super::price): integers made by one function, whose squared distances for a unit u are
//!    at most `T_u` (theta) and `U_u` (tables), from x, y and what was received. Whitening by the
//!    agreed matrix is exact in integers and part of the distance. Grids are powers of two that were received:
//!    a coefficient beyond them is refused before `s` is read, and the sums stay exact because the
//!    bits that were agreed on are at most those of [`Lattice::new`](super::lattice::Lattice).
//! 4. Integers are sent as integers, and all that is read is a function of their sum over the
//!    sites: no site rounds, scales, projects or un-whitens its own.
//! 5. The noise of this site is discrete Gaussian of the scales s that were received, at least 2^24, on
//!    every number that the *question* has: whether there is a theta message is said by the question, and
//!    units that are left out, or a site without a record, leave no share out. So the noise of the sum over the
//!    N - c sites that do not help is that of [`steffle_privacy::shares`], whatever they hold, and a unit's site
//!    is `mu_u`-GDP in that sum with `mu_u^2 = (4^j T_u / s_theta^2 + 4^j' U_u / s_table^2) / (N - c)`,
//!    shifts j, j' included, and with N - c times that alone.
//! 6. No site believes a scale: a small one costs more than the accounts have, and is refused before
//!    anything is read. In the accounts ([`Account`](steffle_privacy::ledger)) a unit's costs add up
//!    over rounds; they are functions of the transcript and public columns, so its sum is a filter, and N - c times
//!    it is the filter of the other reading.
//! 7. Where a site draws anew what others send again, two sums would share their other shares, and the
//!    difference of both would have the noise of two shares only. So a stored reply belongs to its run and
//!    number in it (its request names both), and anywhere else it is drawn anew and paid for.
//! 8. A person with rows at m sites moves the sum by up to m times as far: mu times m, which no site
//!    can see; the statement says so.
//!
//! Tests, in `steffle-site`, `division::attacks::shared`: `no_store_moves_a_shared_sum_more_than_its_price`
//! (1 to 5), `a_share_is_added_to_every_number_of_the_question`,
//! `a_site_whose_units_have_all_retired_adds_its_share` (5), `a_scale_is_priced_and_not_believed` (6);
//! `node::tests::shared_rounds`: `a_share_of_a_round_is_sent_again_in_its_own_place_only` (7).

use steffle_privacy::ledger::{Kind, Refusal};
use steffle_wire::{CodecError, Summed, SumsShare, Writer};

use super::door::{Held, Message, Released, Unpriced, Work};
use super::noised::{Drawn, Integer, theta_integers};
use super::room::Room;
use super::sums::{AskedSums, DrawnSums, RoundMessage, SummedSums, Sums, SumsChunk};
use crate::noise::NoiseSource;

/// The message of a round whose sites share noise.
///
/// Nobody reads it but as a summand.
#[derive(Debug)]
pub enum SharedSums {}

impl Message for SharedSums {}

impl RoundMessage for SharedSums {}

impl Work for SharedSums {
    const KIND: Kind = Kind::Sums;
    type Asked = AskedSums;
    type Drawn = DrawnSums;
    type Sums = SummedSums;
    type Chunk<'a> = SumsChunk<'a>;
    type Reply = SumsShare;

    fn draw(
        asked: &AskedSums,
        source: &mut impl NoiseSource,
        room: &mut Room,
    ) -> Result<DrawnSums, Refusal> {
        Sums::draw(asked, source, room)
    }

    fn add(
        held: &Held<'_>,
        asked: &AskedSums,
        drawn: &DrawnSums,
        chunk: SumsChunk<'_>,
        sums: &mut SummedSums,
    ) {
        Sums::add(held, asked, drawn, chunk, sums);
    }

    fn finish(
        asked: Box<AskedSums>,
        drawn: DrawnSums,
        sums: SummedSums,
        (writer, room): (&mut Writer, &mut Room),
    ) -> Result<bool, Unpriced> {
        asked.fits(&sums)?;
        let DrawnSums { noise: Drawn::Integer { theta, table: Some(table) }, .. } = drawn else {
            return Err(Unpriced);
        };
        let whitening = asked.whitening.as_deref();
        let thetas = theta.map_or_else(Vec::new, |theta| {
            let own = sums.thetas.iter().map(|sum| theta_integers(sum, whitening));
            share(own, &theta)
        });
        let sent = table.draws.len() / sums.tables.len().max(1);
        // The last rows: with two classes the second alone.
        let own = sums.tables.iter().map(|own| &own[own.len().saturating_sub(sent)..]);
        let own = own.map(|own| own.iter().map(|&sum| sum as i128).collect());
        let tables = share(own, &table);
        SumsShare { thetas, tables }.write(writer);
        room.summed = Some(sums);
        room.keep(asked);
        Ok(true)
    }
}

impl Released<SharedSums> {
    /// What was released, as the part of one of `sites` sites.
    pub fn summed(&self, sites: usize) -> Result<Summed<SumsShare>, CodecError> {
        Ok(self.read()?.summed(sites))
    }
}

/// Integers with their noise, message by message.
fn share(sums: impl Iterator<Item = Vec<i128>>, noise: &Integer) -> Vec<Vec<i128>> {
    let (shift, mut draws) = (noise.noise.shift, noise.draws.iter());
    let noisy = |sum: Vec<i128>| {
        sum.iter().zip(draws.by_ref()).map(|(sum, draw)| (sum << shift) + draw).collect()
    };
    sums.map(noisy).collect()
}
