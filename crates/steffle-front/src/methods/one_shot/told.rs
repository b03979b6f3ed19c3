//! What a one-shot release tells about models, and whether it tells enough.

use std::fmt;

use serde::Serialize;
use steffle::federation::{FirstLook, GapEstimate, OneShot, Pooling};
use steffle::train::Targeted;
use steffle_privacy::{Delta, Mu, discrete};

use crate::fairer::Fairer;
use crate::trained::Trained;

/// Evidence of this much is seldom noise. Of 300 releases on five groupings (docs/RESULTS.md), 61 of the
/// 65 that made no model fairer by a point had less about some class, and 32 of the 235 others.
const ENOUGH: f64 = 1.5;

/// What a one-shot release says about a model.
///
/// An estimated gap and how sure it is, from released numbers alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OneShotReport {
    /// Whether silos were decoded together.
    pub pooled: bool,
    /// Estimated gap of the unconstrained model's decisions on the training rows.
    pub unconstrained_gap: Estimate,
    /// How far the release tells each class from all, by the unconstrained model's decisions, in standard
    /// deviations of its noise; of two classes one number.
    pub evidence: Vec<f64>,
    /// The same of this model.
    pub gap: Estimate,
    /// What was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_gap: Option<f64>,
    /// Whether the estimate is at most the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_reached: Option<bool>,
    /// Below this epsilon, no fairness gain is to be expected on these rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub useful_from_epsilon: Option<f64>,
}

/// An estimate from the release, with the standard error that its noise gives.
///
/// Chance in the choice of rows is not in it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The estimate.
    pub estimate: f64,
    /// Its standard error, of the release's noise alone.
    pub standard_error: f64,
}

/// A release and what it says about the unconstrained model.
pub(super) struct Told {
    release: OneShot,
    look: FirstLook,
    mu: Mu,
    delta: Delta,
}

impl Told {
    pub(super) fn new(release: OneShot, look: FirstLook, mu: Mu, delta: Delta) -> Self {
        Self { release, look, mu, delta }
    }

    pub(super) fn one_shot(&self) -> &OneShot {
        &self.release
    }

    /// What it says about a model whose gap was chosen, and what to warn of.
    pub(super) fn targeted(
        &self,
        targeted: &Targeted,
        target: f64,
    ) -> (OneShotReport, Vec<String>) {
        let mut warnings = Vec::new();
        let report = self.report(targeted.estimate);
        if !targeted.reached {
            warnings.push(format!(
                "no lambda brings the estimated gap down to {target}: the smallest is {:.4} at \
                 lambda {:.3}",
                targeted.estimate.gap, targeted.lambda
            ));
        }
        if targeted.estimate.standard_error > target {
            warnings.push(format!(
                "the target gap is smaller than the standard error of its estimate ({:.4}): do \
                 not take the estimate for a proof",
                targeted.estimate.standard_error
            ));
        }
        let (target_gap, target_reached) = (Some(target), Some(targeted.reached));
        (OneShotReport { target_gap, target_reached, ..report }, warnings)
    }

    /// Whether there is anything in it to follow.
    pub(super) fn tells(&self) -> bool {
        deciding(&self.look.evidence).is_none_or(|evidence| evidence >= ENOUGH)
    }

    /// The unconstrained model, where nothing is told that another could follow.
    pub(super) fn unchanged(&self, trained: &mut Trained) {
        trained.one_shot = Some(self.report(self.look.gap));
        self.judge(trained);
        trained.warnings.push(
            "the unconstrained model is returned: one that follows this release would follow its \
             noise, and might be less fair"
                .to_owned(),
        );
    }

    /// Whether it tells the groups apart.
    pub(super) fn judge(&self, trained: &mut Trained) {
        let GapEstimate { gap, standard_error, .. } = self.look.gap;
        if self.look.unfinished > 0 {
            trained.warnings.push(format!(
                "the release was not decoded to the end in {} silo(s): gaps may be a point larger",
                self.look.unfinished
            ));
        }
        trained.judge(self.fairer(), || {
            let from = self.useful_from().map_or_else(String::new, |epsilon| {
                format!("; expect no fairness gain below epsilon {epsilon:.2} on this many records")
            });
            format!(
                "It puts the gap of the unconstrained model at {:.1} +- {:.1} percentage points{from}",
                100.0 * gap,
                100.0 * standard_error
            )
        });
    }

    /// What it says about a model with this gap.
    pub(super) fn report(&self, gap: GapEstimate) -> OneShotReport {
        let useful = self.useful_from();
        OneShotReport {
            pooled: self.release.pooling() != Pooling::Local,
            unconstrained_gap: self.look.gap.into(),
            evidence: self.look.evidence.clone(),
            gap: gap.into(),
            target_gap: None,
            target_reached: None,
            useful_from_epsilon: useful,
        }
    }

    /// Whether even the class that is told worst is told from all others.
    fn fairer(&self) -> Fairer {
        Fairer::new(self.look.evidence.iter().copied().fold(f64::INFINITY, f64::min), ENOUGH)
    }

    /// The epsilon at which there would be evidence enough, where there is not. Evidence that cannot be
    /// told from 0 is taken to be 1.
    fn useful_from(&self) -> Option<f64> {
        let Fairer { evidence, threshold, probably } = self.fairer();
        // Noise goes with 1 / mu.
        let enough = self.mu.value() * threshold / evidence.max(1.0);
        let enough = Mu::try_from(enough).ok().filter(|_| !probably)?;
        discrete::epsilon(enough, self.delta).ok()
    }
}

/// The evidence that decides whether a release is followed: of the middle class, because one that is not
/// told is not held against a release that tells the others, and because one that is like all others has
/// nothing to tell however little noise there is; of many classes the third best told, because with twelve of
/// them half are small.
fn deciding(evidence: &[f64]) -> Option<f64> {
    const TOLD: usize = 3;
    let mut evidence = evidence.to_vec();
    evidence.sort_by(f64::total_cmp);
    let middle = (evidence.len() / 2).max(evidence.len().saturating_sub(TOLD));
    evidence.get(middle).copied()
}

impl fmt::Display for OneShotReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let points = |value: f64| 100.0 * value;
        let target = self
            .target_gap
            .map_or_else(String::new, |target| format!(" for a target of {:.1}", points(target)));
        let free = self
            .target_gap
            .map_or("", |_| " Lambda was chosen from the release alone, which costs nothing more.");
        write!(
            f,
            "On the training rows the release puts the gap of this model at {:.1} +- {:.1} \
             percentage points{target} (unconstrained: {:.1} +- {:.1}). The errors count \
             the noise of the release only, not chance in the rows: a hint, not a proof, above all \
             below epsilon 0.5.{free}",
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

#[cfg(test)]
mod tests {
    use super::deciding;

    #[test]
    fn the_middle_class_decides_and_of_many_the_third_best_told() {
        assert_eq!(deciding(&[]), None);
        assert_eq!(deciding(&[0.5]), Some(0.5));
        assert_eq!(deciding(&[3.0, 0.1, 2.0]), Some(2.0));
        assert_eq!(deciding(&[5.0, 0.1, 3.0, 0.2, 4.0]), Some(3.0));
        assert_eq!(deciding(&[5.0, 0.1, 3.0, 0.2, 4.0, 0.3]), Some(3.0));
        assert_eq!(deciding(&[5.0, 0.1, 3.0, 0.2, 4.0, 0.3, 0.4, 0.5, 0.6]), Some(3.0));
    }
}
