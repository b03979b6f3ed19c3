//! Rounds whose silos share one noise, against whoever reads their sums and knows what some silos sent.

use std::sync::Arc;

use steffle_model::decode::ShareScale;
use steffle_model::fairness::NotionName;
use steffle_privacy::ledger::Claim;
use steffle_privacy::{Delta, Epsilon, Mu, NoiseShares, discrete};
use steffle_wire::{Added as _, Kind, Opening, Round, RoundReply, Share, SumsShare, Terms};
use steffle_wire::{decode, parse};

use crate::interactive::{LOUD, ROUNDS, Server};
use crate::tap::Heard;
use crate::{
    AuditError, Compared, Expected, Interactive, Mechanism, Noise, Promise, Seen, What, World,
};

/// SteFFLe's rounds where several silos share one noise, asked by the static server of [`Interactive`].
/// The canary is in the first silo; the attacker subtracts what the last ones sent.
///
/// At theta = 0 the canary, whose row is capped, attains the bound that all silos agreed on in every
/// round; the census alone is made for outputs that are surer than these, and costs half of its part.
#[derive(Debug, Clone)]
pub struct SharedRounds {
    own: Interactive,
    shares: NoiseShares,
    known: u32,
    expected: Vec<(What, Expected)>,
}

impl SharedRounds {
    /// Rounds that promise (epsilon, delta) to people of `classes` classes against the server and the
    /// colluders that the shares name; attacked with what `known` silos sent. Refuses what no noise
    /// reaches, and an attack with what the canary's own silo sent.
    pub fn new(
        epsilon: Epsilon,
        delta: Delta,
        classes: usize,
        notion: &NotionName,
        shares: NoiseShares,
        known: u32,
    ) -> Result<Self, AuditError> {
        if known >= shares.sites() {
            return Err(AuditError::Shape("silos that help"));
        }
        let own = Interactive::new(epsilon, delta, classes, notion, Server::Static)?;
        let mut audited = Self { own, shares, known, expected: Vec::new() };
        let loud = Mu::try_from(LOUD * f64::from(ROUNDS + 1).sqrt())?;
        // Above what the shares sum to: nothing is claimed about these runs.
        let promised = Epsilon::try_from(discrete::epsilon(loud, delta)? * 1.01)?;
        let [zero, one] =
            World::ALL.map(|world| audited.asked(world, Noise::Seeded(0), (promised, LOUD * LOUD)));
        let both = zero?.into_iter().zip(one?);
        let together = |((what, zero), (_, one))| (what, Arc::new([zero, one]));
        audited.expected = both.map(together).collect();
        Ok(audited)
    }

    /// What the sums over the silos that do not help say, in a run of this epsilon and round's share.
    fn asked(
        &self,
        world: World,
        noise: Noise,
        (epsilon, round): (Epsilon, f64),
    ) -> Result<Vec<(What, Vec<f64>)>, AuditError> {
        let exact = self.own.exact();
        let mut federation = self.own.population.silos(world, noise, self.shares.sites())?;
        let claim = Claim::Shared(self.shares);
        let offer = federation.offer(claim, epsilon.value(), exact.delta.value(), ROUNDS)?;
        let terms = Terms::Exact(Share { round, table: Share::TABLE });
        federation.open(offer, |offer| Opening { terms, ..Opening::plain(offer) })?;
        let questions = self.own.questions();
        let theta = questions.first().map(|asked| asked.theta.clone()).unwrap_or_default();
        let cap = exact.row_cap(1);
        federation.share_rounds(self.shares, (round, Share::TABLE), (&theta, cap, exact.shaped))?;
        for (round, question) in questions.iter().enumerate() {
            federation.round(round as u32, question)?;
        }
        self.read(&federation.into_transport().heard)
    }

    /// The sums over the first silos, round by round, in steps of the integers before they were shifted.
    fn read(&self, heard: &[Heard]) -> Result<Vec<(What, Vec<f64>)>, AuditError> {
        let mut rounds = Vec::new();
        for Heard { request, .. } in heard {
            let (envelope, reader) = parse(request)?;
            // All nodes are asked the same.
            let known = rounds.last().is_some_and(|(round, _)| *round == envelope.round);
            if envelope.kind == Kind::Round
                && !known
                && let Some(scale) = decode::<Round<'_>>(reader)?.share
            {
                rounds.push((envelope.round, scale));
            }
        }
        if rounds.is_empty() {
            return Err(AuditError::Shape("there are none"));
        }
        let mut said = Vec::new();
        for (round, scale) in rounds {
            let SumsShare { thetas, tables } = self.sum(heard, round)?;
            let steps = |sums: Vec<Vec<i128>>, ShareScale { shift, .. }: ShareScale| {
                let unit = (-f64::from(shift)).exp2();
                sums.concat().into_iter().map(|sum| sum as f64 * unit).collect()
            };
            said.push((What::Table(round), steps(tables, scale.table)));
            if let Some(scale) = scale.theta {
                said.push((What::Theta(round), steps(thetas, scale)));
            }
        }
        Ok(said)
    }

    /// What is left of a round's sum when what the last silos sent is subtracted.
    fn sum(&self, heard: &[Heard], round: u32) -> Result<SumsShare, AuditError> {
        let mut all: Option<RoundReply> = None;
        for Heard { reply, .. } in heard {
            let (envelope, reader) = parse(reply)?;
            let counts = envelope.from.0 <= self.shares.sites() - self.known;
            if envelope.kind != Kind::Round || envelope.round != round || !counts {
                continue;
            }
            let own: RoundReply = decode(reader)?;
            match &mut all {
                None => all = Some(own),
                Some(all) => all.add(&own)?,
            }
        }
        let all = all.ok_or(AuditError::Shape("there are none"))?;
        all.total()?.shared.ok_or(AuditError::Shape("no shares"))
    }
}

impl Mechanism for SharedRounds {
    fn promise(&self) -> Promise {
        self.own.promise()
    }

    fn play(&self, world: World, noise: Noise) -> Result<Seen, AuditError> {
        let (epsilon, _, mu) = self.own.promise;
        // What a plan of T rounds gives each of them, see `Schedule::protected`.
        let round = mu.value().powi(2) / (f64::from(ROUNDS) + Share::TABLE) * (1.0 - 1e-12);
        let said = self.asked(world, noise, (epsilon, round))?;
        if said.len() != self.expected.len() {
            return Err(AuditError::Shape("their number"));
        }
        let message = |((what, said), (_, expected)): ((What, Vec<f64>), &(What, Expected))| {
            Compared { what, said, expected: Arc::clone(expected) }
        };
        Ok(Seen::Numbers(said.into_iter().zip(&self.expected).map(message).collect()))
    }
}
