//! The pots of a store: how its budget is split, for life, between three kinds of releases.
//!
//! # Claim
//! Whatever a store ever releases under claims is (epsilon, delta)-private, with
//! `epsilon = e_gaussian + e_sampled + e_pure` and `delta = d_gaussian + d_sampled`, where
//! (e_gaussian, d_gaussian) is what the Gaussian pot was made for; however the kinds are mixed, and
//! however runs are chosen, stopped and closed after seeing everything released so far.
//!
//! # Proof
//! Everything that decides what is released next (questions, prices, refusals, slack that is left)
//! is a function of the transcript and of public columns. So the three pots are three interactive
//! mechanisms on the same store, used concurrently by one adversary.
//! 1. *Gaussian pot:* all grants together are one filter per unit: its squared costs sum, over the
//!    grants it was in, to at most the open grants' whole shares and what the closed ones keep
//!    (`roll.rs`), which stay below the pot at any time. So the pot is mu-GDP
//!    ([`Filter`](crate::gdp::Filter)), hence, slack taken off, (e_gaussian, d_gaussian)-private as
//!    an interactive mechanism ([`crate::discrete`]).
//! 2. *Sampled pot:* plan j is, whoever chooses its questions, (e_j, d_j)-private, and is charged
//!    in full when it is opened; the sums of e_j and of d_j stay below the pot. Epsilons alone would
//!    not do: plans that cost an epsilon of 0 at delta would then be free.
//! 3. *Pure pot:* likelihood ratios multiply, to at most e^e_pure.
//! 4. An interactive (e, d)-private mechanism can be simulated by post-processing one randomised
//!    response of (e, d) (Lyu 2022; Vadhan, Zhang 2023), also when its parameters are chosen
//!    adaptively within a total (Haney et al. 2023). Three of them compose to the sums.
//!
//! *One common pot would be wrong.* A ledger that pays whatever keeps
//! `epsilon(mu spent, delta) + e_pure` below epsilon lets the adversary decide late which form the
//! rest takes: Gaussian rounds first and, when their likelihood ratio happens to be high, the rest
//! as randomised response. The true delta of that is several times the claimed one. For the same
//! reason pots are never exchanged, and nothing is given back to another pot.
//!
//! *Alone.* Where sites share noise, a Gaussian message costs mu^2 against the server and c sites, and
//! N - c times that against the server and all other sites. The second is a filter of its own: every
//! Gaussian grant takes both, one whose noise is all the store's own the same from each. So, without
//! any assumption about other sites, whatever the store ever releases is (epsilon_alone,
//! delta)-private by 1. to 4. with the pot for that. It is never smaller than the Gaussian pot, so
//! that it refuses nothing where no noise is shared. Tests: `tests::alone`.
//!
//! Tests: `tests::pots::a_policy_splits_its_budget_for_life`, `tests::pots::pots_are_never_exchanged`.

use serde::{Deserialize, Serialize};

use super::offer::{CheckedOffer, Share};
use super::refusal::{Pot, Refusal};
use crate::discrete;
use crate::error::{PrivacyError, Result};
use crate::quantity::{Delta, Epsilon, Mu};
use crate::rounding::{difference_down, product_down, sum_up};
use crate::shares::squared_alone;
use crate::together::Promise;

/// What the operator of a store allows, for its life. An empty list allows all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// The promise to everyone in the store.
    pub epsilon: f64,
    /// The promise to everyone in the store; 0 only if all of it is for pure releases.
    pub delta: f64,
    /// The promise to everyone in the store even if all other sites help the server, where sites
    /// share noise; at least epsilon, and epsilon where it is not given: no noise is shared then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon_alone: Option<f64>,
    /// The part of epsilon for pure releases.
    #[serde(default)]
    pub pure_share: f64,
    /// The part of epsilon and of delta for sampled plans.
    #[serde(default)]
    pub sampled_share: f64,
    /// Names of methods.
    #[serde(default)]
    pub methods: Vec<String>,
    /// Names of modes.
    #[serde(default)]
    pub modes: Vec<String>,
    /// Names of notions.
    #[serde(default)]
    pub notions: Vec<String>,
    /// Whether runs with seeded noise or without any may read it: for made-up people only.
    #[serde(default)]
    pub simulations: bool,
    /// How many runs may be open at a time.
    #[serde(default = "open_runs")]
    pub open_runs: u32,
}

/// Unless a policy says otherwise.
fn open_runs() -> u32 {
    3
}

/// What may ever be spent from each pot, and what the Gaussian one was made for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pots {
    /// Of Gaussian messages, in mu^2.
    gaussian: f64,
    made_for: (f64, f64),
    /// Of Gaussian messages as they are if all other sites help the server, in mu^2.
    alone: f64,
    /// The epsilon of that, at the same delta.
    alone_for: f64,
    sampled: (f64, f64),
    pure: f64,
}

/// What grants have taken from each pot.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Taken {
    gaussian: f64,
    alone: f64,
    sampled: (f64, f64),
    pure: f64,
}

/// What a pot was made with, what runs took of it, and what is left.
///
/// Roundings are on the safe side, so the three need not add up to the last digit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Amount {
    /// For life.
    pub whole: f64,
    /// Spent, or promised to a run that is open; rounded up.
    pub taken: f64,
    /// Rounded down.
    pub left: f64,
}

/// What is in the pots of a store, for the unit that has spent most.
///
/// Nobody has spent more than it says.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Balance {
    /// Gaussian messages, in mu.
    pub gaussian: Amount,
    /// What the Gaussian pot was made for.
    pub gaussian_epsilon: f64,
    /// What the Gaussian pot was made for.
    pub gaussian_delta: f64,
    /// Gaussian messages as they are if all other sites help the server, in mu.
    pub alone: Amount,
    /// What that was made for.
    pub alone_epsilon: f64,
    /// Sampled plans, in epsilon.
    pub sampled: Amount,
    /// Sampled plans, in delta.
    pub sampled_delta: Amount,
    /// Pure releases, in epsilon.
    pub pure: Amount,
}

impl Balance {
    /// The epsilon of all that was taken, at the delta of the store: bookkeeping, since the claim is
    /// the pots however much of them was spent.
    pub fn epsilon_taken(&self) -> f64 {
        let gaussian = self.gaussian_epsilon_of(self.gaussian.taken).min(self.gaussian_epsilon);
        sum_up(sum_up(gaussian, self.sampled.taken), self.pure.taken)
    }

    /// The epsilon of the largest Gaussian run, with all of its own noise, that still fits, at the
    /// delta of its pot.
    pub fn gaussian_epsilon_left(&self) -> f64 {
        let left = self.gaussian.left.min(self.alone.left);
        self.gaussian_epsilon_of(left).min(self.gaussian_epsilon)
    }

    /// The epsilon of all that Gaussian runs have taken if all other sites help the server, at the
    /// delta of their pot.
    pub fn alone_epsilon_taken(&self) -> f64 {
        let mu = self.alone.taken.try_into().ok().zip(self.gaussian_delta.try_into().ok());
        let epsilon = mu.and_then(|(mu, delta): (Mu, Delta)| discrete::epsilon(mu, delta).ok());
        epsilon.unwrap_or(self.alone_epsilon).min(self.alone_epsilon)
    }

    /// The same after one more run about everybody, or nothing where it does not fit.
    pub fn with(&self, run: &Promise) -> Option<Self> {
        let more = |pot: Amount, asked: f64| {
            let taken = sum_up(pot.taken, asked);
            let left = difference_down(pot.whole, taken);
            (left >= 0.0).then_some(Amount { taken, left, ..pot })
        };
        match (run.mu().ok()?, run.delta) {
            (Some(mu), _) => {
                let after = |pot: Amount| {
                    let squared = sum_up(pot.taken * pot.taken, mu.value() * mu.value());
                    // Roots of squares are known to a few units in the last place.
                    let left = (pot.whole * pot.whole - squared).max(0.0).sqrt();
                    let taken = squared.sqrt();
                    let fits = taken <= pot.whole * (1.0 + 8.0 * f64::EPSILON);
                    fits.then_some(Amount { taken, left, ..pot })
                };
                Some(Self { gaussian: after(self.gaussian)?, alone: after(self.alone)?, ..*self })
            }
            (None, None) => Some(Self { pure: more(self.pure, run.epsilon.value())?, ..*self }),
            (None, Some(delta)) => Some(Self {
                sampled: more(self.sampled, run.epsilon.value())?,
                sampled_delta: more(self.sampled_delta, delta.value())?,
                ..*self
            }),
        }
    }

    fn gaussian_epsilon_of(&self, mu: f64) -> f64 {
        match (Mu::try_from(mu), Delta::try_from(self.gaussian_delta)) {
            (Ok(mu), Ok(delta)) => discrete::epsilon(mu, delta).unwrap_or(self.gaussian_epsilon),
            _ => 0.0,
        }
    }
}

impl Policy {
    /// All of a budget for Gaussian messages, and whatever keeps to it.
    pub fn of(epsilon: f64, delta: f64) -> Self {
        Self {
            epsilon,
            delta,
            epsilon_alone: None,
            pure_share: 0.0,
            sampled_share: 0.0,
            methods: Vec::new(),
            modes: Vec::new(),
            notions: Vec::new(),
            simulations: false,
            open_runs: open_runs(),
        }
    }

    /// Refuses names that are not listed.
    pub(super) fn allows(&self, offer: &CheckedOffer) -> std::result::Result<(), Refusal> {
        let offer = offer.offer();
        let lists = [
            ("methods", &self.methods, &offer.method),
            ("modes", &self.modes, &offer.mode),
            ("notions", &self.notions, &offer.notion),
        ];
        let named = lists.iter().any(|(_, list, _)| !list.is_empty());
        match lists.into_iter().find(|(_, list, name)| !list.is_empty() && !list.contains(name)) {
            None if named && !offer.is_known() => Err(Refusal::Policy {
                what: "methods",
                given: offer.method.clone(),
                allowed: "those of which it is known what they release".to_owned(),
            }),
            None => Ok(()),
            Some((what, list, name)) => {
                Err(Refusal::Policy { what, given: name.clone(), allowed: list.join(", ") })
            }
        }
    }
}

impl Pots {
    const NONE: Self = Self {
        gaussian: 0.0,
        made_for: (0.0, 0.0),
        alone: 0.0,
        alone_for: 0.0,
        sampled: (0.0, 0.0),
        pure: 0.0,
    };

    /// The pots of a policy. Refuses shares that are no parts, and a budget that one of its pots
    /// cannot use.
    pub(super) fn of(policy: &Policy) -> Result<Self> {
        let epsilon = Epsilon::try_from(policy.epsilon)?.value();
        for (name, given) in
            [("pure share", policy.pure_share), ("sampled share", policy.sampled_share)]
        {
            if !(0.0..=1.0).contains(&given) {
                return Err(PrivacyError::OutOfRange { name, given, allowed: "from 0 to 1" });
            }
        }
        let parts = policy.pure_share + policy.sampled_share;
        if parts > 1.0 {
            let (name, allowed) = ("sum of the pure and the sampled share", "at most 1");
            return Err(PrivacyError::OutOfRange { name, given: parts, allowed });
        }
        let delta = match policy.delta {
            0.0 if policy.pure_share == 1.0 => 0.0,
            delta => Delta::try_from(delta)?.value(),
        };
        // Every part is taken from what the others left, rounded down: they never sum to more than
        // the whole, wherever the products were rounded to.
        let pure = (epsilon * policy.pure_share).min(epsilon);
        let left = difference_down(epsilon, pure);
        let sampled = (epsilon * policy.sampled_share).min(left);
        let sampled_delta = (delta * policy.sampled_share).min(delta);
        let made_for = (difference_down(left, sampled), difference_down(delta, sampled_delta));
        let alone = policy.epsilon_alone.map_or(Ok(epsilon), |given| {
            let checked = Epsilon::try_from(given)?.value();
            let (name, allowed) = ("epsilon alone", "at least epsilon, which it is for too");
            let refused = PrivacyError::OutOfRange { name, given, allowed };
            if checked < epsilon { Err(refused) } else { Ok(checked) }
        })?;
        let none = Self { pure, ..Self::NONE };
        let none = match policy.sampled_share {
            0.0 => none,
            _ => Self { sampled: (sampled, sampled_delta), ..none },
        };
        if parts == 1.0 {
            return Ok(none);
        }
        let mu = discrete::budget(made_for.0.try_into()?, made_for.1.try_into()?)?.value();
        let alone_for = difference_down(difference_down(alone, pure), sampled);
        let alone = discrete::budget(alone_for.try_into()?, made_for.1.try_into()?)?.value();
        let (gaussian, alone) = (product_down(mu, mu), product_down(alone, alone));
        Ok(Self { gaussian, made_for, alone, alone_for, ..none })
    }

    /// The pots of a store without a policy: what its first offer needs, and no more.
    pub(super) fn of_first(offer: &CheckedOffer) -> Self {
        let none = Self::NONE;
        let made_for = (offer.offer().epsilon, offer.offer().delta);
        match offer.share() {
            Share::Nothing => none,
            Share::Gaussian { squared, honest } => {
                let alone = squared_alone(squared, honest);
                let alone_for = offer.epsilon_alone().unwrap_or(made_for.0);
                Self { gaussian: squared, made_for, alone, alone_for, ..none }
            }
            Share::Sampled { epsilon, delta, .. } => Self { sampled: (epsilon, delta), ..none },
            Share::Pure { epsilon } => Self { pure: epsilon, ..none },
        }
    }

    /// What is in every pot, beside what was taken.
    pub(super) fn balance(&self, taken: &Taken) -> Balance {
        let pot = |whole: f64, taken: f64| {
            let left = difference_down(whole, taken).max(0.0);
            Amount { whole, taken, left }
        };
        let mu = |squared: f64| squared.sqrt();
        let up = |squared: f64| if squared == 0.0 { 0.0 } else { squared.sqrt().next_up() };
        let in_mu = |Amount { whole, taken, left }| Amount {
            whole: mu(whole),
            taken: up(taken),
            left: mu(left),
        };
        Balance {
            gaussian: in_mu(pot(self.gaussian, taken.gaussian)),
            alone: in_mu(pot(self.alone, taken.alone)),
            alone_epsilon: self.alone_for,
            gaussian_epsilon: self.made_for.0,
            gaussian_delta: self.made_for.1,
            sampled: pot(self.sampled.0, taken.sampled.0),
            sampled_delta: pot(self.sampled.1, taken.sampled.1),
            pure: pot(self.pure, taken.pure),
        }
    }

    /// Refuses a share that does not fit beside what was taken.
    pub(super) fn fits(&self, taken: &Taken, share: Share) -> std::result::Result<(), Refusal> {
        let check = |pot, taken: f64, asked: f64, whole: f64, (epsilon, delta)| {
            if sum_up(taken, asked) <= whole {
                return Ok(());
            }
            let left = difference_down(whole, taken).max(0.0);
            // Gaussian pots are kept in mu^2 and told in mu.
            let squares = matches!(pot, Pot::Gaussian | Pot::Alone);
            let told = |value: f64| if squares { value.sqrt() } else { value };
            let (spent, asked, left) = (told(taken), told(asked), told(left));
            Err(Refusal::Budget { pot, spent, asked, left, epsilon, delta })
        };
        match share {
            Share::Nothing => Ok(()),
            Share::Gaussian { squared, honest } => {
                check(Pot::Gaussian, taken.gaussian, squared, self.gaussian, self.made_for)?;
                let alone = squared_alone(squared, honest);
                let made_for = (self.alone_for, self.made_for.1);
                check(Pot::Alone, taken.alone, alone, self.alone, made_for)
            }
            Share::Sampled { epsilon, delta, .. } => {
                check(Pot::Sampled, taken.sampled.0, epsilon, self.sampled.0, self.sampled)?;
                check(Pot::SampledDelta, taken.sampled.1, delta, self.sampled.1, self.sampled)
            }
            Share::Pure { epsilon } => {
                check(Pot::Pure, taken.pure, epsilon, self.pure, (self.pure, 0.0))
            }
        }
    }
}

impl Taken {
    /// Both.
    pub(super) fn plus(self, other: Self) -> Self {
        let both = |a: (f64, f64), b: (f64, f64)| (sum_up(a.0, b.0), sum_up(a.1, b.1));
        Self {
            gaussian: sum_up(self.gaussian, other.gaussian),
            alone: sum_up(self.alone, other.alone),
            sampled: both(self.sampled, other.sampled),
            pure: sum_up(self.pure, other.pure),
        }
    }

    /// The larger part of each pot.
    pub(super) fn most(self, other: Self) -> Self {
        let larger = |a: (f64, f64), b: (f64, f64)| (a.0.max(b.0), a.1.max(b.1));
        Self {
            gaussian: self.gaussian.max(other.gaussian),
            alone: self.alone.max(other.alone),
            sampled: larger(self.sampled, other.sampled),
            pure: self.pure.max(other.pure),
        }
    }

    /// With another grant that keeps this share.
    pub(super) fn and(self, share: Share) -> Self {
        match share {
            Share::Nothing => self,
            Share::Gaussian { squared, honest } => Self {
                gaussian: sum_up(self.gaussian, squared),
                alone: sum_up(self.alone, squared_alone(squared, honest)),
                ..self
            },
            Share::Sampled { epsilon, delta, .. } => {
                let sampled = (sum_up(self.sampled.0, epsilon), sum_up(self.sampled.1, delta));
                Self { sampled, ..self }
            }
            Share::Pure { epsilon } => Self { pure: sum_up(self.pure, epsilon), ..self },
        }
    }
}
