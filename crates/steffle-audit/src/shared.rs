//! A release whose silos share one noise, against whoever reads its sum and knows what some silos
//! sent.

use std::sync::Arc;

use steffle_model::decode::{GAMMA, ShareScale};
use steffle_model::fairness::NotionName;
use steffle_model::linear::Whitening;
use steffle_privacy::discrete::SMALLEST_SCALE;
use steffle_privacy::ledger::Claim;
use steffle_privacy::{Delta, Epsilon, NoiseShares};
use steffle_server::train::OneShotTerms;
use steffle_wire::{Added, Agreed, NodeId, Opening, Pool, PooledSums, Release, Summed, Terms};

use crate::population::Population;
use crate::tap::Tapped;
use crate::{AuditError, Compared, Expected, Mechanism, Noise, Promise, Seen, What, World};

/// The one-shot release of several silos with one noise. The canary is in the first of them; the
/// attacker subtracts what the last ones sent.
#[derive(Debug, Clone)]
pub struct SharedOneShot {
    population: Population,
    terms: OneShotTerms,
    shares: NoiseShares,
    known: u32,
    expected: Expected,
}

/// People of every silo.
const PEOPLE: usize = 12;

impl SharedOneShot {
    /// A release that promises (epsilon, delta) to people of `classes` classes against the server and
    /// the colluders that the shares name; attacked with what `known` silos sent. Refuses what no noise
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
        let population = Population::new(PEOPLE, classes, notion, "one-shot")?;
        let terms = OneShotTerms::new(epsilon, delta)?;
        let expected = Arc::new([Vec::new(), Vec::new()]);
        let mut audited = Self { population, terms, shares, known, expected };
        let [zero, one] = World::ALL.map(|world| audited.release(world, Noise::Seeded(0), None));
        audited.expected = Arc::new([zero?, one?]);
        Ok(audited)
    }

    /// What the sum over the silos that do not help says, all classes in one; without noise where
    /// there are no terms.
    fn release(
        &self,
        world: World,
        noise: Noise,
        terms: Option<&OneShotTerms>,
    ) -> Result<Vec<f64>, AuditError> {
        let (sites, classes) = (self.shares.sites(), self.population.objective.classes);
        let mut federation = self.population.silos(world, noise, sites)?;
        match terms {
            None => federation.open_plainly()?,
            Some(terms) => {
                let (epsilon, delta) = (terms.epsilon().value(), terms.delta().value());
                let offer = federation.offer(Claim::Shared(self.shares), epsilon, delta, 1)?;
                let terms = Terms::Exact(terms.share());
                federation.open(offer, |offer| Opening { terms, ..Opening::plain(offer) })?;
            }
        }
        // What `Federation::release_once` asks.
        let mut nodes = federation.into_transport();
        let agreed = agree(&mut nodes, sites)?;
        let whitening = Whitening::new(agreed.gram.clone(), GAMMA);
        let whitening = whitening.map_err(|error| AuditError::Population(error.to_string()))?;
        let under = (&whitening, agreed.cap);
        let least = (self.shares.honest(), SMALLEST_SCALE);
        let share = |terms: &OneShotTerms| {
            ShareScale::new(under, classes, terms.share().round, least).ok_or(AuditError::Spread)
        };
        let share = terms.map(share).transpose()?;
        let release = Release::Features { agreed: Some(agreed.clone()), share };
        for place in 0..sites {
            nodes.ask(NodeId::at(place as usize), &release)?;
        }
        // What the others sent is subtracted: what is left is the sum over those that do not help.
        let PooledSums { mut vectors, shares, .. } =
            sum(&mut nodes, sites - self.known, &Pool::Moments { sums: None })?;
        let sums = vectors.split_off(1.min(vectors.len()));
        let total = vectors.pop().ok_or(AuditError::Shape("their number"))?;
        Ok(match share {
            None => sums.concat(),
            Some(share) => share.read(&shares, sites, under, &total, classes).sums.concat(),
        })
    }
}

/// The Gram matrix and cap of all silos together, as the server makes them.
fn agree(nodes: &mut Tapped, sites: u32) -> Result<Agreed, AuditError> {
    let first = |numbers: &[f64]| numbers.first().copied().unwrap_or(1.0).max(1.0);
    let gram = Pool::Gram { secure_aggregation: true, without: Vec::new() };
    let pooled = sum(nodes, sites, &gram)?;
    let mut gram = pooled.matrix;
    gram.scale(1.0 / first(&pooled.numbers));
    let pooled = sum(nodes, sites, &Pool::Cap { gram: gram.clone() })?;
    let cap = pooled.numbers.get(1).copied().unwrap_or(0.0) / first(&pooled.numbers);
    Ok(Agreed { gram, cap })
}

/// What the first silos add up to.
fn sum(nodes: &mut Tapped, sites: u32, pool: &Pool) -> Result<PooledSums, AuditError> {
    let mut all: Option<Summed<PooledSums>> = None;
    for place in 0..sites {
        let own = nodes.ask(NodeId::at(place as usize), pool)?;
        match &mut all {
            None => all = Some(own),
            Some(all) => all.add(&own)?,
        }
    }
    Ok(all.ok_or(AuditError::Shape("there are none"))?.total()?)
}

impl Mechanism for SharedOneShot {
    fn promise(&self) -> Promise {
        let (epsilon, delta) = (self.terms.epsilon(), self.terms.delta());
        Promise::Gaussian { epsilon, delta, mu: self.terms.mu() }
    }

    fn play(&self, world: World, noise: Noise) -> Result<Seen, AuditError> {
        let said = self.release(world, noise, Some(&self.terms))?;
        let expected = Arc::clone(&self.expected);
        Ok(Seen::Numbers(vec![Compared { what: What::Features, said, expected }]))
    }
}
