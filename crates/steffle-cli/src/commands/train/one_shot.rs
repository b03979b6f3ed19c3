//! What a one-shot release tells about models, and whether it tells enough.

use serde::Serialize;
use steffle::federation::{Federation, FederationError, GapEstimate, OneShot, Pooling};
use steffle::node::InProcess;
use steffle::train::{FairPath, Targeted};
use steffle_privacy::{Delta, Mu, discrete};

use super::run::failed;
use crate::config::Once;
use crate::failure::Failure;

/// The `one_shot` object of the JSON of `train`.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct OneShotReport {
    /// Whether silos were decoded together.
    pub(crate) pooled: bool,
    /// Estimated gap of the unconstrained model's decisions on the training rows.
    pub(crate) unconstrained_gap: Estimate,
    /// The same of this model.
    pub(crate) gap: Estimate,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) target_gap: Option<f64>,
    /// Whether the estimate is at most the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) target_reached: Option<bool>,
    /// Below this epsilon, no fairness gain is to be expected on these rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) useful_from_epsilon: Option<f64>,
    /// What to tell the user.
    #[serde(skip)]
    pub(crate) warnings: Vec<String>,
}

/// An estimate from the release, with the standard error that its noise gives.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Estimate {
    pub(crate) estimate: f64,
    pub(crate) standard_error: f64,
}

/// A release and what it says about the unconstrained model.
pub(crate) struct Told {
    release: OneShot,
    unconstrained: GapEstimate,
    mu: Mu,
    delta: Delta,
}

impl Told {
    /// Has every attributes division release its sums under the terms of the run.
    pub(crate) fn release(
        federation: &mut Federation<InProcess>,
        once: Once,
        unconstrained: &[f64],
    ) -> Result<Self, FederationError> {
        let release = federation.release_once(once.pooling, Some(&once.terms))?;
        let unconstrained = federation.estimate_gap(&release, unconstrained)?;
        Ok(Self { release, unconstrained, mu: once.terms.mu(), delta: once.delta })
    }

    pub(crate) fn one_shot(&self) -> &OneShot {
        &self.release
    }

    /// What it says about a model.
    pub(crate) fn about(
        &self,
        path: &mut FairPath<'_, InProcess>,
        theta: &[f64],
    ) -> Result<OneShotReport, Failure> {
        let gap = path.estimate_gap(&self.release, theta);
        Ok(self.report(gap.map_err(|error| failed(&error))?))
    }

    /// What it says about a model whose gap was chosen.
    pub(crate) fn targeted(&self, targeted: &Targeted, target: f64) -> OneShotReport {
        let mut report = self.report(targeted.estimate);
        report.target_gap = Some(target);
        report.target_reached = Some(targeted.reached);
        if !targeted.reached {
            report.warnings.push(format!(
                "no lambda brought the estimated gap down to {target}: the smallest was {:.4} at \
                 lambda {:.3}",
                targeted.estimate.gap, targeted.lambda
            ));
        }
        if targeted.estimate.standard_error > target {
            report.warnings.push(format!(
                "the target gap is smaller than the standard error of its estimate ({:.4}): do \
                 not take the estimate for a certificate",
                targeted.estimate.standard_error
            ));
        }
        report
    }

    pub(crate) fn report(&self, gap: GapEstimate) -> OneShotReport {
        let useful = self.useful_from();
        let GapEstimate { gap: before, standard_error, .. } = self.unconstrained;
        let weak = useful.map(|epsilon| {
            format!(
                "your noise exceeds the signal: the release puts the gap of the unconstrained \
                 model at {:.1} +- {:.1} percentage points; expect no fairness gain below epsilon \
                 {epsilon:.2} on this many records",
                100.0 * before,
                100.0 * standard_error
            )
        });
        OneShotReport {
            pooled: self.release.pooling() != Pooling::Local,
            unconstrained_gap: self.unconstrained.into(),
            gap: gap.into(),
            target_gap: None,
            target_reached: None,
            useful_from_epsilon: useful,
            warnings: weak.into_iter().collect(),
        }
    }

    /// The epsilon at which noise alone would no longer explain the gap, where it does. A gap that
    /// cannot be told from 0 is taken to be one standard error.
    fn useful_from(&self) -> Option<f64> {
        let GapEstimate { gap, standard_error, .. } = self.unconstrained;
        if !self.unconstrained.within_noise() {
            return None;
        }
        let needed = self.unconstrained.threshold() * standard_error;
        let ratio = needed / gap.max(standard_error);
        // Noise goes with 1 / mu.
        let enough = Mu::try_from(self.mu.value() * ratio).ok()?;
        discrete::epsilon(enough, self.delta).ok()
    }
}

impl OneShotReport {
    /// As a person reads it.
    pub(crate) fn text(&self) -> String {
        let points = |value: f64| 100.0 * value;
        let target = self
            .target_gap
            .map_or_else(String::new, |target| format!(" for a target of {:.1}", points(target)));
        format!(
            "On the training rows the release puts the gap of this model at {:.1} +- {:.1} \
             percentage points{target} (unconstrained: {:.1} +- {:.1}). The error is that of the \
             release's noise alone: no certificate, least of all below epsilon 0.5.\n",
            points(self.gap.estimate),
            points(self.gap.standard_error),
            points(self.unconstrained_gap.estimate),
            points(self.unconstrained_gap.standard_error),
        )
    }
}

impl From<GapEstimate> for Estimate {
    fn from(GapEstimate { gap, standard_error, .. }: GapEstimate) -> Self {
        Self { estimate: gap, standard_error }
    }
}
