//! A plan whose budget is divided: most of it trains, a stated share buys the final metrics.
//!
//! # Claim
//! Training and metrics together are (epsilon, delta)-private for everybody, also for somebody whose
//! rows are trained and tested on.
//!
//! # Proof
//! The whole is a mu of [`discrete::budget`]; training is offered `(1 - share) mu^2` and metrics
//! `share mu^2`, both as the epsilons that these are worth at the same delta. What the stores take for
//! the two offers sums to at most `mu^2` ([`Divided::new`] computes it as they do, and shrinks both
//! until it does), and Gaussian messages compose by the sum of their squares. Somebody who is in one
//! of the two parts alone loses less. Test: `tests::two_parts_are_never_more_than_the_whole`.

use steffle_privacy::ledger::Claim;
use steffle_privacy::{Delta, Epsilon, Mu, discrete, rounding};

use super::{Given, Method, Plan, method};
use crate::Error;
use crate::leaves::Leaves;
use crate::privacy::Privacy;

/// A budget in two parts.
///
/// One pays for training, the other for the metrics that are told afterwards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Divided {
    /// The metrics' part of mu^2.
    pub share: f64,
    /// What both parts promise together.
    pub epsilon: f64,
    /// What both parts promise, and each.
    pub delta: f64,
    /// What training may cost.
    pub training: f64,
    /// What metrics may cost.
    pub metrics: f64,
}

impl Divided {
    /// Divides (epsilon, delta). Refuses what is no share.
    pub fn new(epsilon: f64, delta: f64, share: f64) -> Result<Self, Error> {
        if !(share > 0.0 && share < 1.0) {
            let given = share.to_string();
            let allowed = "it must be a number in (0, 1), ends excluded";
            return Err(Error::value("metrics-share", given, allowed));
        }
        let refuse = |error: steffle_privacy::PrivacyError| {
            let text =
                format!("a share of {share} of epsilon {epsilon} cannot be promised: {error}");
            Error::usage("config::metrics_share", text).with_help("divide it more evenly")
        };
        let at = Delta::try_from(delta).map_err(refuse)?;
        let mu_of = |epsilon: f64| discrete::budget(Epsilon::try_from(epsilon)?, at);
        let whole = mu_of(epsilon).map_err(refuse)?.value();
        let mut part = 1.0 - 1e-9;
        for _ in 0..60 {
            let worth = |share: f64| {
                let mu = Mu::try_from(whole * (share * part).sqrt())?;
                Ok::<_, steffle_privacy::PrivacyError>(rounding::down(
                    discrete::epsilon(mu, at)?,
                    6,
                ))
            };
            let (training, metrics) =
                (worth(1.0 - share).map_err(refuse)?, worth(share).map_err(refuse)?);
            let squares = mu_of(training).map_err(refuse)?.value().powi(2)
                + mu_of(metrics).map_err(refuse)?.value().powi(2);
            if squares <= whole * whole * (1.0 - 1e-12) {
                return Ok(Self { share, epsilon, delta, training, metrics });
            }
            part *= 1.0 - 1e-6;
        }
        Err(Error::bug("a budget that cannot be divided"))
    }

    /// What is said of both parts together.
    pub fn said(&self, training: &Privacy) -> Privacy {
        let Self { share, epsilon, delta, training: own, metrics } = self;
        let statement = format!(
            "Training and final metrics together are ({epsilon}, {delta:.1e})-differentially private for \
             everybody's sensitive attribute. A share of {share} of the budget (in mu^2) buys the final \
             metrics by group, on the test rows: epsilon {metrics} for whoever is among them; training \
             has the rest, epsilon {own} for whoever is trained on. Of training: {}",
            training.statement
        );
        Privacy {
            epsilon: Some(*epsilon),
            honest_epsilon: training.honest_epsilon.map(|_| *epsilon),
            statement,
            ..training.clone()
        }
    }
}

impl Plan {
    /// The same plan with a share of its budget set aside for final metrics, and how it is divided.
    /// Refuses methods whose messages are not Gaussian: their costs do not add up with those of counts.
    pub fn divided(&self, share: f64) -> Result<(Self, Divided), Error> {
        let own = self.method();
        let (claim, epsilon, delta) = self.offered();
        if claim.shares().is_some() {
            let message = "metrics-share divides one budget, and counts have all of their own noise: with \
                           noise-shares once the two claims are against different adversaries";
            let help = "leave out <noise-shares>, or measure the model afterwards, for an epsilon of its own";
            return Err(Error::conflict("metrics-share", message).with_help(help));
        }
        if claim != Claim::Gaussian {
            let message =
                "metrics-share divides the budget of Gaussian messages, and this run has none";
            let help = "use <method one-shot>, or steffle in <mode exact>; or measure the model afterwards, \
                        for an epsilon of its own";
            return Err(Error::conflict("metrics-share", message).with_help(help));
        }
        let divided = Divided::new(epsilon, delta, share)?;
        let training = again(own, divided.training, delta)?;
        let mut plan = Self::new(&*training, self.study())?;
        plan.sends(self.leaves_of_metrics());
        Ok((plan, divided))
    }
}

impl Plan {
    /// What final metrics send without noise.
    fn leaves_of_metrics(&self) -> Vec<Leaves> {
        let labels = self.study().labels();
        let counts = "how many test rows of each label got each decision";
        let mut leaves = vec![Leaves::new("metrics", counts, labels * labels, "needed")];
        if self.study().is_split() {
            let rows = "per test row its id, label and decision, to every attributes holder";
            leaves.push(Leaves::new(
                "metrics, per row",
                rows,
                3,
                "attributes beside their records",
            ));
        }
        leaves
    }
}

/// The same method for another promise.
fn again(own: &dyn Method, epsilon: f64, delta: f64) -> Result<std::sync::Arc<dyn Method>, Error> {
    let written = own.written();
    let mut given = Given::default();
    for (key, value) in written.own.into_iter().chain(written.steps) {
        match key {
            "method" => {}
            "epsilon" => given.set_as_written(key, epsilon),
            _ => given.set_as_written(key, value),
        }
    }
    given.set_as_written("delta", delta);
    method(own.entry().name, &given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_parts_are_never_more_than_the_whole() {
        let mu = |epsilon: f64, delta: f64| {
            let (epsilon, delta) = (epsilon.try_into().unwrap(), delta.try_into().unwrap());
            discrete::budget(epsilon, delta).unwrap().value().powi(2)
        };
        for epsilon in [0.01, 0.1, 1.0, 3.0, 20.0] {
            for delta in [1e-3, 1e-6, 1e-9] {
                for share in [1e-3, 0.05, 0.2, 0.5, 0.9] {
                    let Ok(Divided { training, metrics, .. }) = Divided::new(epsilon, delta, share)
                    else {
                        // A part that is worth less than integer noise takes off.
                        assert!(epsilon < 0.1 || share < 0.05, "{epsilon} {delta} {share}");
                        continue;
                    };
                    let (whole, parts) =
                        (mu(epsilon, delta), [mu(training, delta), mu(metrics, delta)]);
                    assert!(parts[0] + parts[1] <= whole, "{epsilon} {delta} {share}");
                    // And hardly less: six digits of an epsilon are a few parts in a million of mu^2,
                    // where the slack of integer noise does not weigh.
                    if epsilon >= 0.1 && share >= 0.05 {
                        assert!(parts[0] + parts[1] > 0.9999 * whole, "{epsilon} {delta} {share}");
                        assert!((parts[1] / whole - share).abs() < 1e-3 * share);
                    }
                }
            }
        }
        for share in [0.0, 1.0, -0.1, f64::NAN] {
            assert_eq!(
                Divided::new(1.0, 1e-6, share).unwrap_err().setting(),
                Some("metrics-share")
            );
        }
    }
}
