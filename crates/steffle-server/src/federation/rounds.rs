//! A round over all nodes: one trip where divisions share a house, two where they do not.

use steffle_wire::{
    Batch, CellSums, FitQuestion, FitSums, ImputedQuestion, ImputedSums, Loss, NoiseScale,
    PrivateSums, PublicSums, Question, Round, RoundReply, Scores, Tables, Transport,
};

use super::{Federation, FederationError};
use crate::server::Aggregate;

impl<T: Transport> Federation<T> {
    /// Both legs of a round.
    pub fn round(&mut self, round: u32, question: &Question) -> Result<Aggregate, FederationError> {
        let mut total = Aggregate::default();
        if self.holders.is_empty() {
            for reply in self.ask_round(self.silos.clone(), round, question)? {
                let (public, private) =
                    (self.public(&reply, question)?, self.private(&reply, question)?);
                total.add_public(public);
                total.add_private(private, public.held as f64, public.batch as f64);
            }
            return Ok(total);
        }
        let mut announced = 0.0;
        for reply in self.ask_round(self.silos.clone(), round, question)? {
            let public = self.public(&reply, question)?;
            announced += public.batch as f64;
            total.add_public(public);
        }
        let all = self.sizes.iter().sum::<usize>() as f64;
        for reply in self.ask_round(self.holders.clone(), round, question)? {
            total.add_private(self.private(&reply, question)?, all, announced);
        }
        Ok(total)
    }

    fn ask_round(
        &mut self,
        places: std::ops::Range<usize>,
        round: u32,
        question: &Question,
    ) -> Result<Vec<RoundReply>, FederationError> {
        let shares = !self.holders.is_empty() && matches!(question.batch, Batch::Mini(_));
        if self.noise.is_none() && !(shares && places == self.silos) {
            let request = Round { question: question.clone(), noise: None };
            return self.trips.ask(places, round, &request);
        }
        let (sizes, noise) = (self.sizes.clone(), self.noise.clone());
        let (silos, all) = (self.silos.clone(), sizes.iter().sum());
        let largest = sizes.iter().copied().max().unwrap_or(1);
        self.trips.ask_each(places, round, |place| {
            let mut question = question.clone();
            // An attributes reply mixes the records of all silos, so every silo must announce the
            // same share of its records for the sum to be an estimate of the whole.
            if let (Batch::Mini(size), true) = (question.batch, shares && silos.contains(&place)) {
                let own = size as usize * sizes[place] / largest;
                question.batch = Batch::Mini(own.clamp(1, size as usize) as u32);
            }
            let held = if silos.contains(&place) { sizes[place] } else { all };
            let noise = noise.as_ref().map(|noise| noise.for_records(held));
            Round { question, noise }
        })
    }

    /// The public half of a reply; refuses one that does not fit the question.
    fn public<'a>(
        &self,
        reply: &'a RoundReply,
        question: &Question,
    ) -> Result<&'a PublicSums, FederationError> {
        let parameters = self.model.parameters();
        let fits = |sums: &&PublicSums| {
            let cell = |cell: &CellSums| {
                cell.scores.len() == question.columns()
                    && (cell.theta.is_empty() || cell.theta.len() == parameters)
            };
            sums.gradient.len() == parameters
                && sums.cells.len() == question.cells.len()
                && sums.cells.iter().all(cell)
        };
        reply.public.as_ref().filter(fits).ok_or(FederationError::Incomplete("public"))
    }

    /// The private half.
    fn private<'a>(
        &self,
        reply: &'a RoundReply,
        question: &Question,
    ) -> Result<&'a PrivateSums, FederationError> {
        let entries = self.agreement.scores.classes * question.columns();
        let parameters = self.model.parameters();
        let fits = |sums: &&PrivateSums| {
            sums.tables.len() == question.cells.len()
                && sums.tables.iter().all(|table| table.len() == entries)
                && sums.thetas.iter().all(|theta| theta.len() == parameters)
        };
        reply.private.as_ref().filter(fits).ok_or(FederationError::Incomplete("private"))
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
        let replies = self.trips.ask(self.silos.clone(), 0, &Loss { theta: theta.to_vec() })?;
        let mut total = Aggregate::default();
        replies.iter().for_each(|reply| total.add_public(reply));
        let n = total.records.max(1.0);
        Ok((total.loss / n, total.gradient.iter().map(|sum| sum / n).collect()))
    }

    /// One trip of a fit in few trips: the sums of all silos.
    pub fn ask_fit(&mut self, question: &FitQuestion) -> Result<FitSums, FederationError> {
        let Scores { notion, classes, labels, .. } = self.agreement.scores;
        let shape = question.shape(Tables { cells: notion.cells(), classes, columns: labels });
        let replies = self.trips.ask(self.silos.clone(), 0, question)?;
        let mut total: Option<FitSums> = None;
        for (silo, sums) in replies.into_iter().enumerate() {
            sums.check(shape, self.model.parameters())
                .map_err(|source| FederationError::Message { silo, source })?;
            match &mut total {
                None => total = Some(sums),
                Some(total) => total.add(&sums),
            }
        }
        total.ok_or(FederationError::Empty)
    }

    /// An evaluation on imputed classes: the sums of all silos.
    pub fn ask_imputed(
        &mut self,
        question: &ImputedQuestion,
    ) -> Result<ImputedSums, FederationError> {
        let mut replies = self.trips.ask(self.silos.clone(), 0, question)?.into_iter();
        let mut total = replies.next().ok_or(FederationError::Empty)?;
        replies.for_each(|reply| total.add(&reply));
        Ok(total)
    }
}

/// Standard deviations that the paper prescribes, by the records that a store is asked about.
#[derive(Debug, Clone)]
pub(super) struct PaperNoise {
    by_records: Vec<(usize, NoiseScale)>,
}

impl PaperNoise {
    fn for_records(&self, records: usize) -> NoiseScale {
        let own = self.by_records.iter().find(|(held, _)| *held == records);
        own.map_or_else(|| NoiseScale { theta: 0.0, table: Vec::new() }, |(_, own)| own.clone())
    }
}
