//! What a one-shot release tells about models, and whether it tells enough.

use std::fmt;

use serde::Serialize;
use steffle::federation::{FirstLook, GapEstimate, OneShot, Pooling};
use steffle::train::Targeted;
use steffle_privacy::{Delta, Mu, discrete};

use crate::fairer::Fairer;
use crate::trained::Trained;

/// Evidence of this much is seldom noise. Of 300 releases on five groupings (docs/RESULTS.md), 55 of the
/// 65 that made no model fairer by a point had less about the third class and the rest, and 20 of the 235
/// others; of 480 on eight other groupings 74 of 90, and 49 of 390.
const ENOUGH: f64 = 1.5;

/// A gap is between two classes, and a third that is told keeps others from taking their place. With twelve
/// classes there are always some that are too small to be told.
const TOLD: usize = 3;

/// Of more classes than this the widest difference is one of so many that whatever makes decisions more
/// alike narrows it. Noise may widen it before: by some lambda in 5 of 15 splits of twelve classes at
/// epsilon 0.1, all of which a larger one made fairer (docs/RESULTS.md).
const MANY: usize = 6;

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
        tells(&self.look.evidence)
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

    /// Whether three classes are told from all others, or as many as there are.
    fn fairer(&self) -> Fairer {
        Fairer::new(third(&self.look.evidence), ENOUGH)
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

/// Whether a release is followed: if it tells the middle class, because one that is not told is not held against
/// a release that tells the others, and because one that is like all others has nothing to tell however
/// little noise there is. A release about many classes always is.
fn tells(evidence: &[f64]) -> bool {
    let (ranked, many) = (ranked(evidence), evidence.len() > MANY);
    many || ranked.get(ranked.len().div_ceil(2).max(1) - 1).is_none_or(|&middle| middle >= ENOUGH)
}

/// The evidence of the third best told class, or of the worst of fewer.
fn third(evidence: &[f64]) -> f64 {
    ranked(evidence).into_iter().take(TOLD).next_back().unwrap_or(f64::INFINITY)
}

/// The best told class first.
fn ranked(evidence: &[f64]) -> Vec<f64> {
    let mut evidence = evidence.to_vec();
    evidence.sort_by(|a, b| b.total_cmp(a));
    evidence
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
    use super::{tells, third};

    #[test]
    fn a_release_is_followed_if_it_tells_the_middle_class_or_is_about_many() {
        assert!(tells(&[]));
        assert!(tells(&[1.5]) && !tells(&[1.4]));
        assert!(tells(&[3.0, 0.1, 2.0]) && !tells(&[3.0, 0.1, 1.4]));
        // Of four the second, of six the third.
        assert!(tells(&[0.1, 1.5, 0.2, 1.6]) && !tells(&[0.1, 1.4, 0.2, 1.6]));
        assert!(tells(&[5.0, 0.1, 1.5, 0.2, 4.0, 0.3]) && !tells(&[5.0, 0.1, 1.4, 0.2, 4.0, 0.3]));
        assert!(tells(&[0.1; 7]));
    }

    /// Whoever gets the unconstrained model back is warned, too.
    #[test]
    fn the_third_best_told_class_is_judged_and_never_one_that_is_better_told_than_the_middle() {
        let evidence = [4.0, 0.5, 2.0, 0.1, 3.0, 1.0];
        let expected = [4.0, 0.5, 0.5, 0.5, 2.0, 2.0];
        for (count, expected) in (1..).zip(expected) {
            assert_eq!(third(&evidence[..count]), expected, "{count}");
            let bar = 1.5 / expected;
            let below: Vec<f64> = evidence[..count].iter().map(|z| 0.99 * bar * z).collect();
            assert!(third(&below) < 1.5);
            let above: Vec<f64> = evidence[..count].iter().map(|z| 1.01 * bar * z).collect();
            assert!(tells(&above), "{above:?}");
        }
        assert_eq!(third(&[]), f64::INFINITY);
    }
}
