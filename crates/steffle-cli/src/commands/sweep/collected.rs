//! The runs of one configuration, by lambda and seed.

use std::collections::BTreeMap;

use serde_json::Value;
use steffle_front::NotionName;
use steffle_front::trade_off::{Curve, Point};

use crate::config::TrainConfig;

/// What the runs of one configuration measured, in percentage points.
#[derive(Debug, Clone)]
pub(crate) struct Collected {
    gap: String,
    /// By seed: error and violation of the unconstrained model.
    unconstrained: BTreeMap<u64, (f64, f64)>,
    lambdas: Vec<(f64, BTreeMap<u64, Point>)>,
}

/// A mean over seeds and its standard error, which a single seed does not have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Mean {
    pub(crate) value: f64,
    pub(crate) standard_error: Option<f64>,
}

impl Collected {
    /// Nothing yet; `gap` is what counts as the violation.
    pub(crate) fn new(gap: &str) -> Self {
        Self { gap: gap.to_owned(), unconstrained: BTreeMap::new(), lambdas: Vec::new() }
    }

    /// Which gap the violation is.
    pub(crate) fn gap(&self) -> &str {
        &self.gap
    }

    /// Takes in the line of a run. A run that failed leaves a hole.
    pub(crate) fn add(&mut self, config: &TrainConfig, line: &Value) {
        let (seed, lambda) = (config.seed, config.method.aim().lambda);
        let place = self.lambdas.iter().position(|(own, _)| *own == lambda);
        let place = place.unwrap_or_else(|| {
            self.lambdas.push((lambda, BTreeMap::new()));
            self.lambdas.len() - 1
        });
        let metric = self.gap.replace('-', "_");
        let percent = |model: &str, name: &str| Some(100.0 * line[model][name].as_f64()?);
        let fair = percent("test", "error").zip(percent("test", &metric));
        let least = percent("baseline", "error").zip(percent("baseline", &metric));
        let (Some((error, violation)), Some(unconstrained)) = (fair, least) else { return };
        self.unconstrained.insert(seed, unconstrained);
        let point = Point { excess: error - unconstrained.0, violation };
        self.lambdas[place].1.insert(seed, point);
    }

    /// Lambdas that every seed has a result for, in the order in which they came.
    pub(crate) fn complete(&self) -> impl Iterator<Item = f64> {
        self.lambdas.iter().filter(|(_, own)| self.is_complete(own)).map(|(lambda, _)| *lambda)
    }

    /// Lambdas that some seed has no result for; they are not part of the curve.
    pub(crate) fn incomplete(&self) -> impl Iterator<Item = f64> {
        self.lambdas.iter().filter(|(_, own)| !self.is_complete(own)).map(|(lambda, _)| *lambda)
    }

    /// The trade-off over the complete lambdas, after the unconstrained model.
    pub(crate) fn curve(&self) -> Curve {
        let mut curve = Curve::default();
        for (seed, (_, violation)) in &self.unconstrained {
            let own = self.lambdas.iter().filter(|(_, own)| self.is_complete(own));
            curve.push(*violation, own.filter_map(|(_, points)| points.get(seed).copied()));
        }
        curve
    }

    /// Test error and violation of a lambda, over seeds.
    pub(crate) fn means(&self, lambda: f64) -> Option<(Mean, Mean)> {
        let (_, points) = self.lambdas.iter().find(|(own, _)| *own == lambda)?;
        let error = |(seed, point): (&u64, &Point)| point.excess + self.unconstrained[seed].0;
        let errors: Vec<f64> = points.iter().map(error).collect();
        let violations: Vec<f64> = points.values().map(|point| point.violation).collect();
        Some((Mean::of(&errors)?, Mean::of(&violations)?))
    }

    /// The mean test error of the unconstrained model.
    pub(crate) fn unconstrained_error(&self) -> Option<f64> {
        let errors: Vec<f64> = self.unconstrained.values().map(|(error, _)| *error).collect();
        Mean::of(&errors).map(|mean| mean.value)
    }

    /// How many seeds there are.
    pub(crate) fn seeds(&self) -> usize {
        self.unconstrained.len()
    }

    fn is_complete(&self, points: &BTreeMap<u64, Point>) -> bool {
        points.len() == self.unconstrained.len()
    }
}

impl Mean {
    /// Of at least one number.
    pub(crate) fn of(numbers: &[f64]) -> Option<Self> {
        let count = numbers.len() as f64;
        let value = numbers.iter().sum::<f64>() / count;
        let squares: f64 = numbers.iter().map(|number| (number - value).powi(2)).sum();
        let standard_error = (numbers.len() > 1).then(|| (squares / (count - 1.0) / count).sqrt());
        (!numbers.is_empty()).then_some(Self { value, standard_error })
    }
}

/// The gap that a notion is about.
pub(crate) fn gap_of(notion: &NotionName) -> &'static str {
    match notion {
        NotionName::EqualizedOdds => "equalized-odds",
        NotionName::EqualOpportunity => "equal-opportunity",
        NotionName::AccuracyParity => "accuracy-parity",
        _ => "demographic-parity",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_worked_by_hand() {
        // 1, 2, 6: mean 3, squares 4 + 1 + 9 = 14, variance 7, standard error sqrt(7 / 3).
        let mean = Mean::of(&[1.0, 2.0, 6.0]).unwrap();
        assert_eq!(mean.value, 3.0);
        assert!((mean.standard_error.unwrap() - (7.0_f64 / 3.0).sqrt()).abs() < 1e-15);
        assert_eq!(Mean::of(&[5.0]).unwrap().standard_error, None);
        assert_eq!(Mean::of(&[]), None);
    }
}
