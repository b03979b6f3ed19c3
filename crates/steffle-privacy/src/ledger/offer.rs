//! What a run asks of a store: offered as plain data, checked once, then believed.

use serde::{Deserialize, Serialize};

use super::NoiseKind;
use crate::accountant::Accountant;
use crate::discrete;
use crate::error::{PrivacyError, Result};
use crate::event::{Event, Neighbours};
use crate::quantity::{Delta, Epsilon};
use crate::rounding;
use crate::shares::NoiseShares;

/// What a run promises about a store, before anything is read.
///
/// ```
/// use steffle_privacy::{Claim, NoiseKind, Offer, Share};
/// let offer = Offer {
///     run: String::new(),
///     method: "steffle".into(),
///     mode: "exact".into(),
///     notion: "demographic-parity".into(),
///     rounds: 25,
///     epsilon: 1.0,
///     delta: 1e-6,
///     claim: Claim::Gaussian,
///     noise: NoiseKind::Secure,
/// };
/// let Share::Gaussian { squared, .. } = offer.check()?.share() else { unreachable!() };
/// assert!((squared.sqrt() - 0.2367).abs() < 1e-4);
/// # Ok::<(), steffle_privacy::PrivacyError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offer {
    /// The run's name. A store that keeps a book opens a run of a name once; without a name it cannot
    /// be gone on with after a crash.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub run: String,
    /// The method's name.
    pub method: String,
    /// The mode's name.
    pub mode: String,
    /// The notion's name.
    pub notion: String,
    /// Rounds that the run will take, for the reader: a sampled plan names its own.
    pub rounds: u32,
    /// What the run promises.
    pub epsilon: f64,
    /// What the run promises; 0 for [`Claim::Pure`].
    pub delta: f64,
    /// How the promise is kept.
    pub claim: Claim,
    /// Where the noise will come from.
    pub noise: NoiseKind,
}

/// How a promise is kept.
///
/// It decides how costs add up: squares of mu, sampled plans as a whole, or plain epsilons.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Claim {
    /// There is none.
    Nothing,
    /// By Gaussian messages whose costs are added up.
    Gaussian,
    /// The same, where every site adds a share of the noise and only sums over all sites are read.
    Shared(NoiseShares),
    /// By the rounds of a sampled plan.
    Sampled(Event),
    /// By pure releases whose epsilons are added up.
    Pure,
}

/// How the costs of a Gaussian grant are kept; others ignore it.
///
/// More totals let those who are asked less often spend less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accounts {
    /// One total.
    One,
    /// One total per public block.
    Blocks(u32),
    /// One total per unit.
    Units(u32),
}

/// What an offer takes from a store.
///
/// It is taken in full when the offer is accepted, and only Gaussian shares give back what was
/// never reserved.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Share {
    /// Nothing; it promises nothing.
    Nothing,
    /// Gaussian messages.
    Gaussian {
        /// mu^2 in all, rounded down.
        squared: f64,
        /// Sites whose noise the claim counts on; 1 where every site adds all of its own. A store
        /// whose share of the noise stands alone has spent so many times the square.
        honest: u32,
    },
    /// A sampled plan.
    Sampled {
        /// The plan.
        event: Event,
        /// What it costs at most.
        epsilon: f64,
        /// What it costs at most.
        delta: f64,
    },
    /// Pure releases.
    Pure {
        /// epsilon in all.
        epsilon: f64,
    },
}

/// An offer whose promise an accountant has read.
///
/// Only such an offer can be accepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Offer", into = "Offer")]
pub struct CheckedOffer {
    offer: Offer,
    share: Share,
}

impl Claim {
    /// How its noise is shared between sites, where it is.
    pub fn shares(&self) -> Option<NoiseShares> {
        match *self {
            Self::Shared(shares) => Some(shares),
            Self::Nothing | Self::Gaussian | Self::Sampled(_) | Self::Pure => None,
        }
    }
}

impl Offer {
    /// Refuses numbers that make no promise, a delta beside a pure claim, and a sampled plan that
    /// costs more than was offered.
    ///
    /// # Claim
    /// A grant that releases no more than [`CheckedOffer::share`] is (epsilon, delta)-private.
    ///
    /// # Proof
    /// Gaussian and sampled shares: [`discrete`] takes the slack of integer noise off; for a plan,
    /// the accountant's upper bound is read at what is left. Plans that are accounted for records
    /// that come and go are refused, since here an attribute is replaced. Test:
    /// `tests::shares_are_what_the_accountants_allow`.
    pub fn check(self) -> Result<CheckedOffer> {
        let share = match self.claim {
            Claim::Nothing => Share::Nothing,
            Claim::Gaussian | Claim::Shared(_) => {
                let (epsilon, delta) = self.promise()?;
                let mu = discrete::budget(epsilon, delta)?.value();
                let honest = self.claim.shares().map_or(1, NoiseShares::honest);
                Share::Gaussian { squared: rounding::product_down(mu, mu), honest }
            }
            Claim::Sampled(event) => {
                if event.neighbours == Neighbours::AddRemove {
                    return Err(PrivacyError::OtherNeighbours);
                }
                let (epsilon, delta) = self.promise()?;
                let (left, left_delta) = discrete::reduced(epsilon, delta)?;
                let reading = Accountant::Pld.epsilon(&[event], left_delta)?;
                if reading.epsilon > left.value() {
                    return Err(PrivacyError::Overspent {
                        costs: reading.epsilon + 2.0 * discrete::SLACK,
                        epsilon: epsilon.value(),
                        delta: delta.value(),
                    });
                }
                Share::Sampled { event, epsilon: epsilon.value(), delta: delta.value() }
            }
            Claim::Pure => {
                let epsilon = Epsilon::try_from(self.epsilon)?.value();
                if self.delta != 0.0 {
                    let allowed = "0 for a pure claim";
                    return Err(PrivacyError::OutOfRange {
                        name: "delta",
                        given: self.delta,
                        allowed,
                    });
                }
                Share::Pure { epsilon }
            }
        };
        Ok(CheckedOffer { offer: self, share })
    }

    fn promise(&self) -> Result<(Epsilon, Delta)> {
        Ok((Epsilon::try_from(self.epsilon)?, Delta::try_from(self.delta)?))
    }
}

impl CheckedOffer {
    /// What was offered.
    pub fn offer(&self) -> &Offer {
        &self.offer
    }

    /// What it takes from a store.
    pub fn share(&self) -> Share {
        self.share
    }

    /// The epsilon that is left if all other sites help the server, where sites share noise.
    pub fn epsilon_alone(&self) -> Option<f64> {
        let Offer { claim, epsilon, delta, .. } = &self.offer;
        let (epsilon, delta) = (Epsilon::try_from(*epsilon).ok()?, Delta::try_from(*delta).ok()?);
        claim.shares()?.alone(epsilon, delta).ok()
    }

    /// Whether it promises anything.
    pub fn claims(&self) -> bool {
        self.share != Share::Nothing
    }
}

impl TryFrom<Offer> for CheckedOffer {
    type Error = PrivacyError;

    fn try_from(offer: Offer) -> Result<Self> {
        offer.check()
    }
}

impl From<CheckedOffer> for Offer {
    fn from(checked: CheckedOffer) -> Self {
        checked.offer
    }
}
