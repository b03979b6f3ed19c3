//! PF-LD with released signs, as a server of the same protocol as SteFFLe.

use std::ops::ControlFlow;

use steffle_model::model::head::RIDGE;
use steffle_model::scores::{Objective as _, OutputScores};
use steffle_server::federation::Federation;
use steffle_server::server::{Aggregate, Rates, Steps};
use steffle_server::train::{Outcome, RoundTrace, Schedule, Settings, Start, TrainError, run};
use steffle_wire::{Batch, CellQuestion, Form, Question, Transport};

use super::{Adam, LARGEST, sign};

/// The server's side of PF-LD, for two labels.
///
/// A round is a primal step and a dual step. The question has `C_g = sgn_cg / N_cg` for the second
/// label and `q = 2 sum_g sgn_cg / n_c`, so that the two theta messages, `public / 2 + private`, are
/// the gradient of `V_c`; the table has the sums of probabilities, hence `v_cg`. The counts `N_cg`
/// and the first signs come from the census, so denominators are released numbers, too.
pub struct PfLd {
    theta: Vec<f64>,
    adam: Adam,
    /// s.
    step: f64,
    conditions: Vec<Condition>,
}

/// What is known about one condition.
#[derive(Debug, Clone)]
struct Condition {
    /// n_c.
    size: f64,
    /// N_cg.
    counts: Vec<f64>,
    /// sgn of the last release.
    signs: Vec<f64>,
    /// V_c of the last release.
    violation: f64,
    /// l_c.
    multiplier: f64,
}

/// Runs `plan` from `start` with PF-LD's steps, on the protocol of SteFFLe.
pub fn pf_ld<T: Transport>(
    plan: &Schedule,
    objective: OutputScores,
    federation: &mut Federation<T>,
    start: Start,
    observe: impl FnMut(&RoundTrace) -> ControlFlow<()>,
) -> Result<Outcome, TrainError> {
    let Settings { lambda, rates, .. } = *plan.settings();
    let make = |theta: Vec<f64>, census: &Aggregate| -> Box<dyn Steps> {
        Box::new(PfLd::new(objective, lambda, rates, theta, census))
    };
    run(plan, objective, federation, start.theta, make, observe)
}

/// A group is taken to have at least this share of a condition: noise must not make it nothing.
const LEAST_SHARE: f64 = 0.01;

impl PfLd {
    /// Starts at `theta` after the census there; `lambda` times the dual rate is s.
    pub fn new(
        objective: OutputScores,
        lambda: f64,
        rates: Rates,
        theta: Vec<f64>,
        census: &Aggregate,
    ) -> Self {
        let labels = objective.columns();
        let condition = |cell: &steffle_server::server::AggregateCell| {
            let table = cell.table();
            let rows = table.chunks_exact(labels);
            let least = (LEAST_SHARE * cell.count).max(1.0);
            let counts: Vec<f64> = rows.map(|row| row.iter().sum::<f64>().max(least)).collect();
            let signs = vec![0.0; counts.len()];
            Condition { size: cell.count, counts, signs, violation: 0.0, multiplier: 0.0 }
        };
        let conditions = census.cells.iter().map(condition).collect();
        let adam = Adam::new(rates.theta, theta.len());
        let mut server = Self { theta, adam, step: lambda * rates.dual, conditions };
        server.ascend(census);
        server
    }

    /// The dual step: reads the released tables.
    fn ascend(&mut self, answers: &Aggregate) {
        for (condition, cell) in self.conditions.iter_mut().zip(&answers.cells) {
            let table = cell.table();
            let labels = cell.scores.len().max(1);
            let second = labels - 1;
            let mean = cell.scores.last().map_or(0.0, |sum| sum / cell.count.max(1.0));
            condition.violation = 0.0;
            let groups = table.chunks_exact(labels).zip(&condition.counts);
            for ((row, count), own) in groups.zip(&mut condition.signs) {
                let difference = row[second] / count - mean;
                *own = sign(difference);
                condition.violation += difference.abs();
            }
            condition.multiplier += self.step * condition.violation.min(LARGEST);
        }
    }
}

impl Steps for PfLd {
    fn ask(&self, batch: Batch) -> Question {
        let cell = |condition: &Condition| {
            let Condition { size, counts, signs, .. } = condition;
            let pairs = signs.iter().zip(counts);
            CellQuestion {
                combinations: pairs.flat_map(|(sign, count)| [0.0, sign / count]).collect(),
                quadratic: vec![0.0, 2.0 * signs.iter().sum::<f64>() / size.max(1.0)],
            }
        };
        Question {
            theta: self.theta.clone(),
            cells: self.conditions.iter().map(cell).collect(),
            form: Form::Centred,
            batch,
            loss: false,
        }
    }

    fn learn(&mut self, _round: u32, answers: &Aggregate) {
        let n = answers.records.max(1.0);
        let slopes = answers.gradient.iter().zip(&self.theta);
        let mut gradient: Vec<f64> =
            slopes.map(|(sum, theta)| sum / n + 2.0 * RIDGE * theta).collect();
        for (condition, cell) in self.conditions.iter().zip(&answers.cells) {
            let parts = cell.public.iter().zip(&cell.private);
            for (slope, (public, private)) in gradient.iter_mut().zip(parts) {
                *slope += condition.multiplier * (0.5 * public + private);
            }
        }
        self.adam.step(&mut self.theta, &gradient);
        self.ascend(answers);
    }

    fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// `sum_c V_c` of the last release.
    fn violation(&self) -> f64 {
        self.conditions.iter().map(|condition| condition.violation).sum()
    }
}
