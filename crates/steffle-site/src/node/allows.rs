//! What a site lets be asked of it, whatever the server says.

use steffle_model::fairness::Notion;
use steffle_privacy::discrete;
use steffle_privacy::ledger::{Claim, Kind, METRICS, NoiseKind, Offer};
use steffle_wire::{Opening, Pool, Refused};

/// A site's own policy, beside that of its ledger. By default it allows everything.
#[derive(Debug, Clone, PartialEq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a rule of its own")]
pub struct Allows {
    /// The most epsilon of one run, at the delta below.
    pub epsilon: Option<f64>,
    /// The delta that the site's ledger promises; without one, that of the offer.
    pub delta: Option<f64>,
    /// The most rounds of one run.
    pub rounds: Option<u32>,
    /// Methods that may ask; none: all.
    pub methods: Vec<String>,
    /// Gram matrices of features do not leave.
    pub no_pool: bool,
    /// Attributes are read for secret noise alone.
    pub secret: bool,
    /// No book keeps the budget: nothing is promised.
    pub unbooked: bool,
    /// That sums are added up under masks is not taken from a server's word.
    pub not_declared: bool,
}

impl Allows {
    /// Refuses an offer that the site does not allow, one whose words are not what its run is about
    /// (`notion` is that of the scores), and shares of secret noise without masks.
    pub(super) fn offered(
        &self,
        opening: &Opening,
        notion: Notion,
        masked: bool,
    ) -> Result<(), Refused> {
        let offer = &opening.offer;
        offer.fits()?;
        is_about(offer, notion)?;
        let refuse = |what: String| {
            Err(Refused::new("steffle::node::policy", format!("this site's policy: {what}")))
        };
        if let Some(most) = self.epsilon.filter(|most| self.takes(offer) > *most) {
            let asked = offer.epsilon;
            let at = match self.delta {
                Some(delta) if offer.delta > delta => {
                    format!(" at delta {delta:e}, and delta {:e} is asked for", offer.delta)
                }
                _ => String::new(),
            };
            return refuse(format!("epsilon {asked} is asked for; at most {most} in one run{at}"));
        }
        if let Some(most) = self.rounds.filter(|most| offer.rounds > *most) {
            let asked = offer.rounds;
            return refuse(format!("{asked} rounds are asked for; at most {most} in one run"));
        }
        if !self.methods.is_empty() && !self.methods.contains(&offer.method) {
            let (asked, all) = (&offer.method, self.methods.join(", "));
            return refuse(format!("method {asked} is asked for; allowed are {all}"));
        }
        if self.secret && (offer.noise != NoiseKind::Secure || offer.claim == Claim::Nothing) {
            return refuse(
                "noise from a seed, or none, is asked for; its attributes are read for secret noise \
                 alone"
                    .to_owned(),
            );
        }
        if self.unbooked && offer.noise == NoiseKind::Secure {
            return refuse(
                "secret noise is asked for; without a ledger nothing is promised".to_owned(),
            );
        }
        if offer.claim.shares().is_some() && offer.noise == NoiseKind::Secure && !masked {
            let text = "secret noise is to be shared between sites, and what this site sends is not \
                        masked: its sums would be read with less noise than is claimed; use \
                        <noise-shares each>, or <noise simulated> to see what sharing would give";
            return Err(Refused::new("steffle::node::shares", text));
        }
        Ok(())
    }

    /// The epsilon that an offer takes, at the delta of the site's ledger: a small epsilon at a large delta
    /// is a large one at a small delta.
    fn takes(&self, offer: &Offer) -> f64 {
        let delta = match self.delta {
            Some(delta) if offer.delta > delta => delta,
            _ => return offer.epsilon,
        };
        let mu = match offer.claim {
            Claim::Gaussian | Claim::Shared(_) => {
                let promised = offer.epsilon.try_into().ok().zip(offer.delta.try_into().ok());
                promised.and_then(|(epsilon, delta)| discrete::budget(epsilon, delta).ok())
            }
            // Of a plan that is accounted for at another delta nothing else is known.
            Claim::Sampled(_) | Claim::Nothing | Claim::Pure => None,
        };
        let at = mu.zip(delta.try_into().ok());
        at.and_then(|(mu, delta)| discrete::epsilon(mu, delta).ok()).unwrap_or(f64::INFINITY)
    }

    /// Refuses a message about s that the offer does not speak of, and a round beyond the site's own
    /// limit; `before` messages were asked for in no round.
    pub(super) fn asked(
        &self,
        offer: &Offer,
        kind: Kind,
        round: Option<u32>,
        before: usize,
    ) -> Result<(), Refused> {
        offer.allows(kind, round, before)?;
        match (self.rounds, round) {
            (Some(most), Some(round)) if round > most => {
                let text = format!(
                    "this site's policy: round {round} is asked for; at most {most} in one run"
                );
                Err(Refused::new("steffle::node::policy", text))
            }
            _ => Ok(()),
        }
    }

    /// Refuses matrices that the site does not allow, and a declaration of masks that there are not.
    pub(super) fn pooled(&self, pool: &Pool, masked: bool) -> Result<(), Refused> {
        if let Pool::Gram { secure_aggregation: true, .. } = pool
            && self.not_declared
            && !masked
        {
            let text = "this site's policy: its matrices are masked, and not said to be";
            return Err(Refused::new("steffle::node::policy", text));
        }
        if self.no_pool
            && matches!(pool, Pool::Gram { .. } | Pool::Curvature { .. } | Pool::Entries { .. })
        {
            let text = "this site's policy: matrices of its features do not leave (pool = false)";
            return Err(Refused::new("steffle::node::policy", text));
        }
        Ok(())
    }
}

/// Refuses an offer that names another notion than its run is about. Counts of decisions are by label,
/// whatever the notion.
fn is_about(offer: &Offer, notion: Notion) -> Result<(), Refused> {
    let Offer { method, notion: word, claim, .. } = offer;
    if *claim == Claim::Nothing || method == METRICS || word.is_empty() {
        return Ok(());
    }
    let own = match notion {
        Notion::DemographicParity => "demographic-parity",
        Notion::EqualizedOdds { .. } => "equalized-odds",
        Notion::EqualOpportunity { .. } => "equal-opportunity",
        Notion::Conditional { .. } => "conditional",
        Notion::AccuracyParity => "accuracy-parity",
        Notion::None => "none",
    };
    // Conditional parity names its column, too.
    if word.split(':').next() == Some(own) {
        return Ok(());
    }
    let text = format!("the offer says notion {word}, and the run is about {own}");
    Err(Refused::new("steffle::node::policy", text))
}
