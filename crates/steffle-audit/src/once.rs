//! Releases that happen once: sums of features, and randomised classes.
//!
//! Attributes are held elsewhere here: a silo with both divisions keeps what it released to itself,
//! and what leaves is to be looked at.

use std::sync::Arc;

use steffle_model::fairness::NotionName;
use steffle_privacy::ledger::Claim;
use steffle_privacy::{Delta, Epsilon};
use steffle_server::train::OneShotTerms;
use steffle_wire::{
    Added, ClassRelease, Classes, Kind, NodeId, Opening, RandomisedResponse, Release, Terms,
    decode, parse,
};

use crate::population::Population;
use crate::tap::Heard;
use crate::{AuditError, Compared, Expected, Mechanism, Noise, Promise, Seen, What, World};

/// The one-shot release: sums of features by class, whitened and capped.
///
/// The canary's row is longer than the cap, so that it moves the message as far as anybody can.
#[derive(Debug, Clone)]
pub struct OneShot {
    population: Population,
    terms: OneShotTerms,
    expected: Vec<Expected>,
}

/// k-ary randomised response: one class per record.
///
/// Each is the true one, or by chance another; the claim is pure epsilon.
#[derive(Debug, Clone)]
pub struct Response {
    population: Population,
    epsilon: Epsilon,
    randomised: RandomisedResponse,
}

/// Enough people for a Gram matrix of features in two cells.
const PEOPLE: usize = 24;

impl OneShot {
    /// A release that promises (epsilon, delta) to people of `classes` classes; refuses what no
    /// noise reaches.
    pub fn new(
        epsilon: Epsilon,
        delta: Delta,
        classes: usize,
        notion: &NotionName,
    ) -> Result<Self, AuditError> {
        let population = Population::new(PEOPLE, classes, notion, "one-shot")?;
        let terms = OneShotTerms::new(epsilon, delta)?;
        let mut audited = Self { population, terms, expected: Vec::new() };
        let [zero, one] = World::ALL.map(|world| audited.release(world, Noise::Seeded(0), None));
        let both = zero?.into_iter().zip(one?);
        audited.expected = both.map(|(zero, one)| Arc::new([zero, one])).collect();
        Ok(audited)
    }

    /// One vector per class that is sent; as it is where there are no terms.
    fn release(
        &self,
        world: World,
        noise: Noise,
        terms: Option<&OneShotTerms>,
    ) -> Result<Vec<Vec<f64>>, AuditError> {
        let mut federation = self.population.split(world, noise)?;
        match terms {
            None => federation.open_plainly()?,
            Some(terms) => {
                let (epsilon, delta) = (terms.epsilon().value(), terms.delta().value());
                let offer = federation.offer(Claim::Gaussian, epsilon, delta, 1)?;
                let terms = Terms::Exact(terms.share());
                federation.open(offer, |offer| Opening { terms, ..Opening::plain(offer) })?;
            }
        }
        // What `Federation::release_once` asks first; what silos make of the sums tells nobody
        // more.
        let mut nodes = federation.into_transport();
        let release = Release::Features { agreed: None, share: None };
        nodes.ask(NodeId::at(0), &release)?;
        let silos = nodes.ask(NodeId::at(1), &release)?.total()?.silos;
        // All classes in one: noise of theirs that hangs together would be seen.
        Ok(silos.into_iter().map(|silo| silo.sums.concat()).collect())
    }
}

#[cfg(test)]
impl OneShot {
    /// All messages of one run, as the server that trains asks.
    pub(crate) fn overheard(&self) -> Result<Vec<Heard>, AuditError> {
        let mut federation = self.population.split(World::Zero, Noise::Seeded(1))?;
        federation.release_once(steffle_server::federation::Pooling::Local, Some(&self.terms))?;
        Ok(federation.into_transport().heard)
    }
}

impl Mechanism for OneShot {
    fn promise(&self) -> Promise {
        let (epsilon, delta) = (self.terms.epsilon(), self.terms.delta());
        Promise::Gaussian { epsilon, delta, mu: self.terms.mu() }
    }

    fn play(&self, world: World, noise: Noise) -> Result<Seen, AuditError> {
        let said = self.release(world, noise, Some(&self.terms))?;
        let message = |(said, expected): (Vec<f64>, &Expected)| Compared {
            what: What::Features,
            said,
            expected: Arc::clone(expected),
        };
        Ok(Seen::Numbers(said.into_iter().zip(&self.expected).map(message).collect()))
    }
}

impl Response {
    /// Answers that promise epsilon to people of `classes` classes; refuses an epsilon that is too
    /// small to say anything.
    pub fn new(epsilon: Epsilon, classes: usize) -> Result<Self, AuditError> {
        let notion = NotionName::DemographicParity;
        let population = Population::new(PEOPLE, classes, &notion, "randomised-response")?;
        let randomised = RandomisedResponse::new(epsilon, classes)?;
        Ok(Self { population, epsilon, randomised })
    }
}

impl Mechanism for Response {
    fn promise(&self) -> Promise {
        Promise::Pure { epsilon: self.epsilon }
    }

    fn play(&self, world: World, noise: Noise) -> Result<Seen, AuditError> {
        let mut federation = self.population.split(world, noise)?;
        federation.impute(ClassRelease::Randomised(self.randomised))?;
        for Heard { letters, .. } in &federation.into_transport().heard {
            for letter in letters {
                let (envelope, reader) = parse(letter)?;
                if envelope.kind != Kind::Release {
                    continue;
                }
                let Classes { ids, classes } = decode(reader)?;
                let own = ids.iter().position(|&id| id == self.population.canary());
                if let Some(&answer) = own.and_then(|at| classes.get(at)) {
                    return Ok(Seen::Answer(answer));
                }
            }
        }
        Err(AuditError::Shape("no class was said of the record"))
    }
}
