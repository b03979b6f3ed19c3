//! A round over all nodes: one trip where divisions share a house, two where they do not.

use std::borrow::Cow;

use steffle_wire::{
    Batch, CellSums, FitQuestion, FitSums, ImputedCell, ImputedQuestion, ImputedSums, Loss,
    NoiseScale, PassQuestion, PassSums, PrivateTotals, PublicSums, Question, Refused, Round,
    RoundTotals, Tables, Transport,
};

use super::{Federation, FederationError};
use crate::server::Aggregate;

impl<T: Transport> Federation<T> {
    /// Both legs of a round.
    pub fn round(&mut self, round: u32, question: &Question) -> Result<Aggregate, FederationError> {
        let mut question = Cow::Borrowed(question);
        if self.losses {
            question.to_mut().loss = true;
        }
        let question = &*question;
        if self.sharing.is_some() {
            return self.shared_round(round, question);
        }
        let RoundTotals { public, private, .. } =
            self.ask_round(self.silos.clone(), round, question)?;
        let public = self.public(public, question)?;
        if self.holders.is_empty() {
            return Ok(Aggregate::new(public, self.private(private, question)?, 1.0));
        }
        let RoundTotals { private, .. } = self.ask_round(self.holders.clone(), round, question)?;
        // Holders are asked about what was announced, and know nothing of the rest.
        let scale = public.scale();
        Ok(Aggregate::new(public, self.private(private, question)?, scale))
    }

    fn ask_round(
        &mut self,
        places: std::ops::Range<usize>,
        round: u32,
        question: &Question,
    ) -> Result<RoundTotals, FederationError> {
        let shares = !self.holders.is_empty() && matches!(question.batch, Batch::Mini(_));
        if self.noise.is_none() && !(shares && places == self.silos) {
            let request = Round { question: Cow::Borrowed(question), noise: None, share: None };
            return self.trips.ask_sum_in(&mut self.room, places, round, &request);
        }
        let Self { trips, sizes, noise, silos, room, .. } = self;
        let all = sizes.iter().sum();
        let largest = sizes.iter().copied().max().unwrap_or(1);
        trips.ask_sum_each_in(room, places, round, |place| {
            let mut question = Cow::Borrowed(question);
            // An attributes reply mixes the records of all silos, so every silo must announce the
            // same share of its records for the sum to be an estimate of the whole.
            if let (Batch::Mini(size), true) = (question.batch, shares && silos.contains(&place)) {
                let own = size as usize * sizes[place] / largest;
                question.to_mut().batch = Batch::Mini(own.clamp(1, size as usize) as u32);
            }
            let held = if silos.contains(&place) { sizes[place] } else { all };
            let noise = noise.as_ref().map(|noise| noise.for_records(held));
            Round { question, noise, share: None }
        })
    }

    /// The public half of a round; refuses one that does not fit the question.
    pub(super) fn public(
        &self,
        sums: Option<PublicSums>,
        question: &Question,
    ) -> Result<PublicSums, FederationError> {
        let parameters = self.model.parameters();
        let fits = |sums: &PublicSums| {
            let cell = |cell: &CellSums| {
                cell.scores.len() == question.columns()
                    && (cell.theta.is_empty() || cell.theta.len() == parameters)
            };
            sums.gradient.len() == parameters
                && sums.cells.len() == question.cells.len()
                && sums.cells.iter().all(cell)
        };
        sums.filter(fits).ok_or(FederationError::Incomplete("public"))
    }

    /// The private half.
    pub(super) fn private(
        &self,
        sums: Option<PrivateTotals>,
        question: &Question,
    ) -> Result<PrivateTotals, FederationError> {
        let entries = self.agreement.scores.classes * question.columns();
        let parameters = self.model.parameters();
        let fits = |sums: &PrivateTotals| {
            sums.tables.len() == question.cells.len()
                && sums.tables.iter().all(|table| table.len() == entries)
                && sums.thetas.len() == question.messages()
                && sums.thetas.iter().all(|theta| theta.len() == parameters)
        };
        sums.filter(fits).ok_or(FederationError::Incomplete("private"))
    }

    /// From now on every round also asks for the loss, for whoever watches: a function of features,
    /// labels and theta, which changes nothing that is computed.
    pub fn ask_for_losses(&mut self) {
        self.losses = true;
    }

    /// The mean loss that a round told, where it was asked for.
    pub(crate) fn mean_loss(&self, answers: &Aggregate) -> Option<f64> {
        self.losses.then(|| answers.loss / answers.records.max(1.0))
    }

    /// The paper's noise for every round from now on, by the records that a store is asked about.
    pub fn set_noise(&mut self, scale: impl Fn(usize) -> NoiseScale) {
        let mut held = self.sizes.clone();
        held.push(self.sizes.iter().sum());
        let by_records = held.into_iter().map(|records| (records, scale(records))).collect();
        self.noise = Some(PaperNoise { by_records });
    }

    /// Mean loss (with the ridge left to the caller) and mean gradient.
    pub fn loss(&mut self, theta: &[f64]) -> Result<(f64, Vec<f64>), FederationError> {
        let asked = self.trips.ask_sum(self.silos.clone(), 0, &Loss { theta: theta.to_vec() });
        let total = match asked {
            // A step so long that a sum left its range is no step.
            Err(FederationError::Refused { refused, .. }) if refused.code == Refused::RANGE => {
                return Ok((f64::INFINITY, vec![0.0; theta.len()]));
            }
            asked => asked?,
        };
        if total.gradient.len() != theta.len() {
            return Err(FederationError::Incomplete("public"));
        }
        let n = (total.held as f64).max(1.0);
        Ok((total.loss / n, total.gradient.iter().map(|sum| sum / n).collect()))
    }

    /// One trip of a fit in few trips: the sums of all silos.
    pub fn ask_fit(&mut self, question: &FitQuestion) -> Result<FitSums, FederationError> {
        let shape = question.shape(self.agreement.scores.tables());
        let total = self.trips.ask_sum(self.silos.clone(), 0, question)?;
        total.check(shape, self.model.parameters()).map_err(FederationError::Total)?;
        Ok(total)
    }

    /// What networks are pulled towards 0 by in passes.
    pub fn decay(&self) -> f64 {
        self.decay
    }

    /// From now on it is this.
    pub fn set_decay(&mut self, decay: f64) {
        self.decay = decay;
    }

    /// A trip with a network: the sums of all silos.
    pub fn ask_pass(&mut self, question: &PassQuestion) -> Result<PassSums, FederationError> {
        let tables = self.agreement.scores.tables();
        let total: PassSums = self.trips.ask_sum(self.silos.clone(), 0, question)?;
        total.check(question, self.model.parameters(), tables).map_err(FederationError::Total)?;
        Ok(total)
    }

    /// An evaluation on imputed classes: the sums of all silos.
    pub fn ask_imputed(
        &mut self,
        question: &ImputedQuestion,
    ) -> Result<ImputedSums, FederationError> {
        let all = self.agreement.scores.tables();
        let tables = Tables { cells: 1, ..all };
        let parameters = self.model.parameters();
        let total: ImputedSums = self.trips.ask_sum(self.silos.clone(), 0, question)?;
        let cell = |cell: &ImputedCell| {
            cell.table.len() == tables.numbers()
                && cell.slopes.len() == tables.gradients()
                && cell.slopes.iter().all(|slope| slope.len() == parameters)
        };
        let fits = total.gradient.len() == parameters
            && (total.diagonal.is_empty() || total.diagonal.len() == parameters)
            && total.cells.len() == all.cells
            && total.cells.iter().all(cell);
        if fits { Ok(total) } else { Err(FederationError::Incomplete("imputed")) }
    }
}

/// Standard deviations that the paper prescribes, by the records that a store is asked about.
#[derive(Debug, Clone)]
pub(super) struct PaperNoise {
    by_records: Vec<(usize, NoiseScale)>,
}

impl PaperNoise {
    fn for_records(&self, records: usize) -> Cow<'_, NoiseScale> {
        let own = self.by_records.iter().find(|(held, _)| *held == records);
        let none = || Cow::Owned(NoiseScale { theta: 0.0, table: Vec::new() });
        own.map_or_else(none, |(_, own)| Cow::Borrowed(own))
    }
}
