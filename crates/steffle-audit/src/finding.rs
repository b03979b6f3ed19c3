//! What an audit found: plain data, for tables, JSON and pictures.

use serde::{Deserialize, Serialize};
use steffle_privacy::{Delta, Mu, gdp};

use crate::bound::{Bounds, Counted, Rates};
use crate::{AuditError, Promise};

/// What is claimed, and what was found beside it.
///
/// The `mu` of a mechanism without Gaussian messages is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Whether what was found is above what is claimed, beyond chance.
    pub violation: bool,
    /// mu that the plan's ledger lets it spend.
    pub claimed_mu: Option<f64>,
    /// mu of the test, where its bound is best.
    pub estimated_mu: Option<f64>,
    /// mu, at least, with the confidence below: from the whole trade-off curve.
    pub lower_mu: Option<f64>,
    /// epsilon of the plan, at its delta.
    pub claimed_epsilon: f64,
    /// `estimated_mu` as epsilon at that delta; without Gaussian messages, that of the test.
    pub estimated_epsilon: f64,
    /// `lower_mu` as epsilon at that delta; without Gaussian messages, the bound below.
    pub lower_epsilon: f64,
    /// epsilon, at least, from the counts alone (Clopper, Pearson): no law of the noise is assumed.
    pub clopper_pearson_epsilon: f64,
    /// delta of the plan; 0 for a pure promise.
    pub delta: f64,
    /// The probability with which all bounds hold.
    pub confidence: f64,
    /// Runs in each of the two worlds.
    pub runs: u32,
    /// Runs in each world that the test was fitted to; they are not counted.
    pub calibration_runs: u32,
    /// The test at several thresholds.
    pub thresholds: Vec<Threshold>,
    /// The whole curve that was measured: rates of false alarms and of missed cases.
    pub curve: Vec<[f64; 2]>,
}

/// The errors of the test at one threshold.
///
/// Errors at many of them make the trade-off curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// The log-likelihood ratio above which world one is said.
    pub above: f64,
    /// World one was said of world zero.
    pub false_alarm: f64,
    /// World zero was said of world one.
    pub missed: f64,
    /// The false alarms, at most.
    pub highest_false_alarm: f64,
    /// The missed cases, at most.
    pub highest_missed: f64,
}

/// Points of the curve that is drawn.
const POINTS: usize = 200;

impl Finding {
    pub(crate) fn new(
        promise: Promise,
        confidence: f64,
        calibration_runs: u32,
        thresholds: &[(f64, f64)],
        scores: [&[f64]; 2],
    ) -> Result<Self, AuditError> {
        let runs = scores[0].len() as u64;
        let count = |&(threshold, alpha): &(f64, f64)| Counted::new(threshold, alpha, scores);
        let counted: Vec<Counted> = thresholds.iter().map(count).collect();
        let rates: Vec<Rates> = counted.iter().map(|counted| counted.rates(runs)).collect();
        let told = |(counted, rates): (&Counted, &Rates)| Threshold {
            above: counted.threshold,
            false_alarm: counted.false_alarms as f64 / runs as f64,
            missed: 1.0 - counted.hits as f64 / runs as f64,
            highest_false_alarm: rates.highest_false_alarm,
            highest_missed: 1.0 - rates.lowest_hit,
        };
        let thresholds = counted.iter().zip(&rates).map(told).collect();
        let finding = Self {
            violation: false,
            claimed_mu: None,
            estimated_mu: None,
            lower_mu: None,
            claimed_epsilon: 0.0,
            estimated_epsilon: 0.0,
            lower_epsilon: 0.0,
            clopper_pearson_epsilon: 0.0,
            delta: 0.0,
            confidence,
            runs: runs as u32,
            calibration_runs,
            thresholds,
            curve: curve(scores),
        };
        finding.judged(promise, &rates)
    }

    fn judged(self, promise: Promise, rates: &[Rates]) -> Result<Self, AuditError> {
        match promise {
            Promise::Pure { epsilon } => {
                let found = Bounds::new(rates, 0.0);
                let claimed = epsilon.value();
                Ok(Self {
                    violation: found.epsilon > claimed,
                    claimed_epsilon: claimed,
                    estimated_epsilon: found.estimated_epsilon,
                    lower_epsilon: found.epsilon,
                    clopper_pearson_epsilon: found.epsilon,
                    ..self
                })
            }
            Promise::Gaussian { epsilon, delta, mu } => {
                let found = Bounds::new(rates, delta.value());
                let claimed = epsilon.value();
                Ok(Self {
                    violation: found.mu > mu.value() || found.epsilon > claimed,
                    claimed_mu: Some(mu.value()),
                    estimated_mu: Some(found.estimated_mu),
                    lower_mu: Some(found.mu),
                    claimed_epsilon: claimed,
                    estimated_epsilon: as_epsilon(found.estimated_mu, delta)?,
                    lower_epsilon: as_epsilon(found.mu, delta)?,
                    clopper_pearson_epsilon: found.epsilon,
                    delta: delta.value(),
                    ..self
                })
            }
        }
    }
}

fn as_epsilon(mu: f64, delta: Delta) -> Result<f64, AuditError> {
    Ok(gdp::epsilon(Mu::try_from(mu)?, delta))
}

/// False alarms and missed cases at thresholds along all scores.
fn curve(scores: [&[f64]; 2]) -> Vec<[f64; 2]> {
    let [zero, one] = scores.map(|scores| {
        let mut sorted = scores.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted
    });
    let mut all = [zero.clone(), one.clone()].concat();
    all.sort_by(f64::total_cmp);
    all.dedup();
    let above = |sorted: &[f64], threshold: f64| {
        let below = sorted.partition_point(|&score| score <= threshold);
        1.0 - below as f64 / sorted.len().max(1) as f64
    };
    let at = |threshold: f64| [above(&zero, threshold), 1.0 - above(&one, threshold)];
    let inner = |i: usize| at(all[(all.len() - 1) * i / POINTS]);
    let mut curve = vec![[1.0, 0.0]];
    curve.extend((0..=POINTS).map(inner));
    curve.dedup();
    curve
}
