//! The rounds of descent-ascent, asked by a server that wants to know one class.

use std::sync::Arc;

use steffle_model::fairness::NotionName;
use steffle_model::scores::Objective as _;
use steffle_privacy::ledger::Claim;
use steffle_privacy::{Delta, Epsilon, Mu, discrete};
use steffle_server::federation::Federation;
use steffle_server::game::ChiSquareGame;
use steffle_server::train::Exact;
use steffle_wire::{
    Added, Batch, CellQuestion, Form, Kind, Opening, Question, RoundReply, RoundTotals, Share,
    Terms, decode, parse,
};

use crate::population::Population;
use crate::tap::{Heard, Tapped};
use crate::{AuditError, Compared, Expected, Mechanism, Noise, Promise, Seen, What, World};

/// Who asks.
///
/// A static one asks the worst question in every round, an honest one trains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    /// Theta and C that do not depend on what is answered, and that make one record the worst one
    /// in every round: what is measured is the code, not the data.
    Static,
    /// The server that trains. The worst record changes from round to round, so that any one of
    /// them pays less than is charged.
    Honest,
}

/// SteFFLe's rounds under exact accounting.
///
/// # The static server
/// At theta = 0 all records have the same outputs F, so the record with the longest row moves the
/// theta message most, and all move the table equally: the canary attains the price of every round.
/// The census is round 0, as in every run; the T rounds after it have `C` and `-C` in turn, so that
/// noise which comes again in another round falls out of a difference. A round's number is part of
/// its request, hence no round is answered from the store.
#[derive(Debug, Clone)]
pub struct Interactive {
    pub(crate) population: Population,
    pub(crate) promise: (Epsilon, Delta, Mu),
    pub(crate) server: Server,
    /// Parameters that the static server asks at.
    theta: Vec<f64>,
    /// What the static server's rounds say without noise; nobody knows what the honest one will
    /// ask.
    expected: Vec<(What, Expected)>,
}

/// T: rounds after the census.
pub(crate) const ROUNDS: u32 = 4;

/// People that the static server asks about. Everybody's class but one is known, so that more would
/// only take longer.
const FEW: usize = 8;

/// People that the honest server trains on.
const SOME: usize = 40;

/// mu of every round where noise is to be next to nothing: a ten-thousandth of what a record moves.
pub(crate) const LOUD: f64 = 1e4;

impl Interactive {
    /// Rounds that promise (epsilon, delta) to people of `classes` classes; refuses what no noise
    /// reaches.
    pub fn new(
        epsilon: Epsilon,
        delta: Delta,
        classes: usize,
        notion: &NotionName,
        server: Server,
    ) -> Result<Self, AuditError> {
        let count = match server {
            Server::Static => FEW,
            Server::Honest => SOME,
        };
        let population = Population::new(count, classes, notion, "steffle")?;
        let promise = (epsilon, delta, discrete::budget(epsilon, delta)?);
        let theta = Population::start();
        Self { population, promise, server, theta, expected: Vec::new() }.at_theta()
    }

    /// The same at other parameters.
    #[cfg(test)]
    pub(crate) fn asking_at(self, theta: Vec<f64>) -> Result<Self, AuditError> {
        Self { theta, ..self }.at_theta()
    }

    /// What a training run would be told: the usual caps, noise shaped by the rows, and one account
    /// for all people, so that the canary is asked about in every round.
    pub(crate) fn exact(&self) -> Exact {
        let (epsilon, delta, _) = self.promise;
        Exact { epsilon, delta, cap: None, shaped: true, by_record: false, shares: None }
    }

    fn at_theta(mut self) -> Result<Self, AuditError> {
        if self.server == Server::Static {
            let [zero, one] = World::ALL.map(|world| self.without_noise(world, &self.questions()));
            let both = zero?.into_iter().zip(one?);
            let together = |((what, zero), (_, one))| (what, Arc::new([zero, one]));
            self.expected = both.map(together).collect();
        }
        Ok(self)
    }

    /// What the static server asks.
    pub(crate) fn questions(&self) -> Vec<Question> {
        let objective = self.population.objective;
        let census = ChiSquareGame::census(objective);
        let cell = |sign: f64| {
            // Of the rows the first two are furthest apart, and all others between them.
            let row = |class: usize| match class {
                0 => [sign, 0.0],
                1 => [0.0, sign],
                between => [sign / between as f64, sign - sign / between as f64],
            };
            let combinations = (0..objective.classes).flat_map(row).collect();
            CellQuestion { combinations, quadratic: vec![0.0; objective.columns()] }
        };
        let cells = |round: u32| match round {
            0 => census.clone(),
            odd if odd % 2 == 1 => vec![cell(1.0); census.len()],
            _ => vec![cell(-1.0); census.len()],
        };
        let ask = |round| Question {
            theta: self.theta.clone(),
            cells: cells(round),
            form: Form::Centred,
            batch: Batch::All,
            loss: false,
        };
        (0..=ROUNDS).map(ask).collect()
    }

    /// What every message would say without noise: the same code, on an own copy of the records,
    /// with a budget so large that noise is next to nothing.
    pub(crate) fn without_noise(
        &self,
        world: World,
        questions: &[Question],
    ) -> Result<Vec<(What, Vec<f64>)>, AuditError> {
        let mut federation = self.population.silo(world, Noise::Seeded(0))?;
        let mu = Mu::try_from(LOUD * (questions.len() as f64).sqrt())?;
        // Above what the shares sum to: nothing is claimed about these runs.
        let epsilon = Epsilon::try_from(discrete::epsilon(mu, self.promise.1)? * 1.01)?;
        open(&mut federation, &self.exact(), epsilon, LOUD * LOUD)?;
        ask_all(&mut federation, questions)?;
        messages(&federation.into_transport().heard)
    }

    /// A run of the plan's budget that asks these questions.
    fn asked(
        &self,
        world: World,
        noise: Noise,
        questions: &[Question],
    ) -> Result<Federation<Tapped>, AuditError> {
        let (epsilon, _, mu) = self.promise;
        let mut federation = self.population.silo(world, noise)?;
        // What a plan of T rounds gives each of them, see `Schedule::protected`.
        let round = mu.value().powi(2) / (f64::from(ROUNDS) + Share::TABLE) * (1.0 - 1e-12);
        open(&mut federation, &self.exact(), epsilon, round)?;
        ask_all(&mut federation, questions)?;
        Ok(federation)
    }

    /// Asks more than the plan pays for.
    #[cfg(test)]
    pub(crate) fn overspend(&self, questions: &[Question]) -> Result<(), AuditError> {
        self.asked(World::Zero, Noise::Seeded(0), questions).map(|_| ())
    }

    /// All messages of one run.
    #[cfg(test)]
    pub(crate) fn overheard(&self) -> Result<Vec<Heard>, AuditError> {
        let mut federation = self.asked(World::Zero, Noise::Seeded(1), &self.questions())?;
        federation.close()?;
        Ok(federation.into_transport().heard)
    }

    fn static_run(&self, world: World, noise: Noise) -> Result<Seen, AuditError> {
        let mut federation = self.asked(world, noise, &self.questions())?;
        federation.close()?;
        let said = messages(&federation.into_transport().heard)?;
        if said.len() != self.expected.len() {
            return Err(AuditError::Shape("their number"));
        }
        let message = |((what, said), (_, expected)): ((What, Vec<f64>), &(What, Expected))| {
            Compared { what, said, expected: Arc::clone(expected) }
        };
        Ok(Seen::Numbers(said.into_iter().zip(&self.expected).map(message).collect()))
    }
}

impl Mechanism for Interactive {
    fn promise(&self) -> Promise {
        let (epsilon, delta, mu) = self.promise;
        Promise::Gaussian { epsilon, delta, mu }
    }

    fn play(&self, world: World, noise: Noise) -> Result<Seen, AuditError> {
        match self.server {
            Server::Static => self.static_run(world, noise),
            Server::Honest => self.honest_run(world, noise),
        }
    }
}

/// Offers rounds of these shares, with the caps and the shape of noise that `exact` says.
fn open(
    federation: &mut Federation<Tapped>,
    exact: &Exact,
    epsilon: Epsilon,
    round: f64,
) -> Result<(), AuditError> {
    let delta = exact.delta;
    let offer = federation.offer(Claim::Gaussian, epsilon.value(), delta.value(), ROUNDS)?;
    let opening = |offer| Opening {
        terms: Terms::Exact(Share { round, table: Share::TABLE }),
        cap: Some(exact.row_cap(1).share()),
        shaped: exact.shaped,
        ..Opening::plain(offer)
    };
    Ok(federation.open(offer, opening)?)
}

fn ask_all(federation: &mut Federation<Tapped>, questions: &[Question]) -> Result<(), AuditError> {
    for (round, question) in questions.iter().enumerate() {
        federation.round(round as u32, question)?;
    }
    Ok(())
}

/// The private sums of every round, from the bytes of its reply.
pub(crate) fn messages(heard: &[Heard]) -> Result<Vec<(What, Vec<f64>)>, AuditError> {
    let mut messages = Vec::new();
    for Heard { reply, .. } in heard {
        let (envelope, reader) = parse(reply)?;
        if envelope.kind != Kind::Round {
            continue;
        }
        // What one node sent, read as the server reads the total of all.
        let RoundTotals { private, .. } = decode::<RoundReply>(reader)?.total()?;
        let Some(sums) = private else { continue };
        messages.push((What::Table(envelope.round), sums.tables.concat()));
        messages.push((What::Theta(envelope.round), sums.thetas.concat()));
    }
    Ok(messages)
}
