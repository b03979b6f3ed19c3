//! Rounds whose noise all silos share: what they agree on, the scales of a question, and the total.

use std::borrow::Cow;

use steffle_model::decode::{RoundBounds, RoundRead, RoundScale};
use steffle_model::linear::{SHAPE_RIDGE, SHAPED, Whitening};
use steffle_model::scores::Objective as _;
use steffle_privacy::NoiseShares;
use steffle_privacy::discrete::SMALLEST_SCALE;
use steffle_wire::{
    CellQuestion, Pool, PrivateTotals, Question, Round, RoundTotals, RowCap, SumsShare, TakeIn,
    Transport,
};

use super::{Federation, FederationError};
use crate::game::OutputScores;
use crate::server::Aggregate;

/// What silos agreed on.
pub(super) struct Sharing {
    shares: NoiseShares,
    whitening: Option<Whitening>,
    /// The longest row, under the whitening.
    length: f64,
    bits: u8,
    /// What a round may cost, and the table's part of it.
    round: (f64, f64),
}

/// Covers the rounding of slopes at a site.
const MARGIN: f64 = 1.0 + 1.0 / (1 << 20) as f64;

impl<T: Transport> Federation<T> {
    /// Has silos agree on the shape of one noise and on a cap, for rounds that cost `round` each, of which
    /// tables have a part. Refuses a model of several layers, and a run that may go on without some silos.
    pub fn share_rounds(
        &mut self,
        shares: NoiseShares,
        round: (f64, f64),
        (theta, cap, shaped): (&[f64], RowCap, bool),
    ) -> Result<(), FederationError> {
        if self.trips.may_drop() {
            return Err(FederationError::MissingShares);
        }
        let mut gram = None;
        if shaped && SHAPED.contains(&self.agreement.layout.features) {
            let without = self.rare(false)?;
            let pooled = self.pool(&Pool::Curvature { theta: theta.to_vec(), without })?;
            let mut matrix = pooled.matrix;
            let weight = super::once::number(&pooled.numbers, 1)?;
            matrix.scale(1.0 / weight.max(f64::MIN_POSITIVE));
            gram = Some(matrix);
        }
        let request = Pool::Length { gram, quantile: cap.share() };
        let pooled = self.pool(&request)?;
        let number = |at| super::once::number(&pooled.numbers, at);
        let (records, length) = (number(0)?, number(1)? / number(0)?.max(1.0));
        let bits = RoundBounds::bits(records.max(0.0) as usize);
        self.trips.ask(self.silos.clone(), 0, &TakeIn::Cap { length, bits })?;
        let Pool::Length { gram, .. } = request else { return Err(FederationError::Empty) };
        let whitening = gram.map(|gram| Whitening::new(gram, SHAPE_RIDGE)).transpose()?;
        self.sharing = Some(Sharing { shares, whitening, length, bits, round });
        Ok(())
    }

    /// A round of which every silo releases a share.
    pub(super) fn shared_round(
        &mut self,
        round: u32,
        question: &Question,
    ) -> Result<Aggregate, FederationError> {
        let scores = &self.agreement.scores;
        let objective = OutputScores {
            notion: scores.notion,
            classes: scores.classes,
            labels: scores.labels,
            sharpness: scores.sharpness,
        };
        let sharing = self.sharing.as_ref().ok_or(FederationError::NoShare)?;
        let outputs = self.model.logits();
        let scale = sharing.scale(question, objective, outputs).ok_or(FederationError::NoShare)?;
        let request = Round { question: Cow::Borrowed(question), noise: None, share: Some(scale) };
        let RoundTotals { public, shared, .. } =
            self.trips.ask_sum(self.silos.clone(), round, &request)?;
        let public = self.public(public, question)?;
        let shared = shared.ok_or(FederationError::Incomplete("private"))?;
        let private = self.read_round(&scale, &shared, question);
        Ok(Aggregate::new(public, self.private(private, question)?, 1.0))
    }

    /// What all silos' shares add up to. The noise of all of them is in it; the claim counts on those of
    /// N - c. None where they are not of the question.
    fn read_round(
        &self,
        scale: &RoundScale,
        shared: &SumsShare,
        question: &Question,
    ) -> Option<PrivateTotals> {
        let sharing = self.sharing.as_ref()?;
        let (parameters, classes) = (self.model.parameters(), self.agreement.scores.classes);
        let (cells, sent) = (question.cells.len(), if classes == 2 { 1 } else { classes });
        let thetas = if scale.theta.is_some() { cells } else { 0 };
        let fits = shared.thetas.len() == thetas
            && shared.thetas.iter().all(|theta| theta.len() == parameters)
            && shared.tables.len() == cells
            && shared.tables.iter().all(|table| table.len() == sent * question.columns());
        if !fits {
            return None;
        }
        let whitening = sharing.whitening.as_ref();
        let (sums, shape) = ((&shared.thetas[..], &shared.tables[..]), (classes, parameters));
        let read = scale.read(sums, sharing.shares.sites(), whitening, shape);
        let RoundRead { tables, thetas, table_variance, theta_variance, signal } = read;
        let theta_shaped = whitening.is_some();
        Some(PrivateTotals { tables, thetas, table_variance, theta_variance, signal, theta_shaped })
    }
}

impl Sharing {
    /// The scales of a question's noise, of a model with so many outputs; `None` where no integers are.
    fn scale(
        &self,
        question: &Question,
        objective: OutputScores,
        outputs: usize,
    ) -> Option<RoundScale> {
        let slope = MARGIN * objective.bounds().slope;
        let cells = || question.cells.iter();
        let largest = |of: fn(&CellQuestion, usize) -> f64| {
            cells().map(|cell| of(cell, objective.classes)).fold(0.0, f64::max)
        };
        let bounds = RoundBounds {
            coefficient: slope * largest(from_nothing),
            apart: slope * (outputs as f64).sqrt() * largest(between),
            length: self.length,
            pair: (outputs, objective.columns()) == (1, 2),
            classes: objective.classes,
            bits: self.bits,
        };
        RoundScale::new(&bounds, self.round, (self.shares.honest(), SMALLEST_SCALE))
    }
}

/// Over classes, the most that a combination of slopes can be times the largest of them, from that of a
/// missing class.
fn from_nothing(cell: &CellQuestion, classes: usize) -> f64 {
    centred(cell, classes).iter().map(|row| reach(row)).fold(0.0, f64::max)
}

/// The same over pairs of classes, missing among them.
fn between(cell: &CellQuestion, classes: usize) -> f64 {
    let rows = centred(cell, classes);
    if classes == 2 {
        // +D and -D, and 0 between them.
        return 2.0 * from_nothing(cell, classes);
    }
    let pairs = rows.iter().enumerate().flat_map(|(at, row)| {
        let apart = move |other: &Vec<f64>| {
            reach(&row.iter().zip(other).map(|(a, b)| a - b).collect::<Vec<f64>>())
        };
        rows[..at].iter().map(apart)
    });
    pairs.fold(from_nothing(cell, classes), f64::max)
}

/// `D_r` of every class, of two the second alone: what it adds beside what all share.
fn centred(cell: &CellQuestion, classes: usize) -> Vec<Vec<f64>> {
    let columns = cell.quadratic.len().max(1);
    let rows: Vec<&[f64]> = cell.combinations.chunks_exact(columns).collect();
    if let (2, [zero, one]) = (classes, &rows[..]) {
        return vec![one.iter().zip(*zero).map(|(one, zero)| one / 2.0 - zero / 2.0).collect()];
    }
    let mean = cell.mean(classes);
    rows.iter().map(|row| row.iter().zip(&mean).map(|(own, mean)| own - mean).collect()).collect()
}

/// `max |sum_u b_u d_u|` over slopes with `|b_u| <= 1` that sum to 0, as those of scores do that sum to 1:
/// nothing changes where all `d_u` are moved alike, so they are moved to their median. A little more, for
/// the rounding of slopes; above 0 where one of them is.
fn reach(row: &[f64]) -> f64 {
    let mut sorted = row.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let median = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
    let apart: f64 = row.iter().map(|d| (d - median).abs()).sum();
    let size: f64 = row.iter().map(|d| d.abs()).sum();
    apart + size * (MARGIN - 1.0)
}
