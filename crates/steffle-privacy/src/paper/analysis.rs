//! What the theorem's noise gives at a setting, by accountants that can be trusted.

use serde::Serialize;

use super::setting::Setting;
use super::theorem::{dual_distance, dual_distance_two_classes, sigma_dual};
use crate::accountant::Accountant;
use crate::calibrate;
use crate::error::Result;
use crate::event::{Event, Neighbours, Sampling};
use crate::gdp;
use crate::pld::{self, Precision};
use crate::quantity::{Mu, NoiseMultiplier, Rounds, SampleRate};
use crate::rounding;

/// What Theorem 3.2 claims, and what its noise gives.
///
/// The two differ, and the difference is said.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Analysis {
    /// What was analysed.
    pub setting: Setting,
    /// The theorem's sigma for the W message (a mean over the batch).
    pub sigma_dual: f64,
    /// z of each message alone: sigma over the distance it moves by.
    pub noise_multiplier: NoiseMultiplier,
    /// z of both messages of a round together.
    pub noise_multiplier_both: NoiseMultiplier,
    /// How often one record is used.
    pub participations: u64,
    /// What the theorem, and the lemma it cites, ask for.
    pub conditions: Vec<Condition>,
    /// What one of the two messages costs.
    pub one_message: Cost,
    /// What both messages cost: this is what is sent.
    pub both_messages: Cost,
}

/// A condition, with the numbers it compares.
///
/// The theorem assumes it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Condition {
    /// In words.
    pub name: &'static str,
    /// What the setting has; none for a condition without numbers.
    pub have: Option<f64>,
    /// What it needs at least.
    pub needed: Option<f64>,
    /// Whether it is met.
    pub holds: bool,
}

/// Epsilon at the setting's delta, by how batches are drawn and who learns them. Upper bounds. The
/// first three are left out by [`Analysis::quick`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cost {
    /// Secret Poisson batches, contributions not centred.
    pub poisson_add_remove: Option<f64>,
    /// Secret Poisson batches, centred contributions.
    pub poisson_centred: Option<f64>,
    /// Secret batches of fixed size.
    pub without_replacement: Option<f64>,
    /// Batches that can be told from what is sent, as in Algorithm 1.
    pub batch_revealed: f64,
}

/// How much noise would have been needed for the setting's epsilon, both messages together.
///
/// It depends on who knows which records are in a batch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Needed {
    /// Secret Poisson batches, contributions not centred.
    pub poisson_add_remove: NoiseMultiplier,
    /// Secret Poisson batches, centred contributions.
    pub poisson_centred: NoiseMultiplier,
    /// Secret batches of fixed size.
    pub without_replacement: NoiseMultiplier,
    /// Batches that can be told from what is sent.
    pub batch_revealed: NoiseMultiplier,
    /// Full batches instead, for several numbers of rounds.
    pub full_batch: Vec<FullBatchNoise>,
}

/// What full batches need.
///
/// No secret batch lowers it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FullBatchNoise {
    /// Rounds, T.
    pub rounds: Rounds,
    /// z of both messages together.
    pub noise_multiplier: NoiseMultiplier,
    /// sigma of the W message when it gets half of the budget; two sensitive classes.
    pub sigma_dual: f64,
}

impl Analysis {
    /// The whole table, in a second. Refuses a batch larger than the silo.
    pub fn of(setting: Setting) -> Result<Self> {
        let mut analysis = Self::quick(setting)?;
        analysis.one_message = sampled(&setting, analysis.noise_multiplier)?;
        analysis.both_messages = sampled(&setting, analysis.noise_multiplier_both)?;
        Ok(analysis)
    }

    /// Only what has a closed form: the epsilon of batches that are revealed, which is what
    /// Algorithm 1 gives. Takes microseconds.
    pub fn quick(setting: Setting) -> Result<Self> {
        let rate = setting.fixed_batch()?.rate();
        let Setting { epsilon, delta, rounds, silo_records, rho, batch, .. } = setting;
        let sigma_dual = sigma_dual(epsilon, delta, rounds, silo_records, rho);
        let one = NoiseMultiplier::try_from(sigma_dual / dual_distance(batch, rho))?;
        let both = NoiseMultiplier::try_from(one.value() / 2.0_f64.sqrt())?;
        let z = one.value();
        let compared = |name, have: f64, needed: f64| Condition {
            name,
            have: Some(have),
            needed: Some(needed),
            holds: have >= needed,
        };
        let never = |name| Condition { name, have: None, needed: None, holds: false };
        let conditions = vec![
            compared(
                "epsilon <= 2 ln(1/delta) (theorem)",
                -2.0 * delta.value().ln(),
                epsilon.value(),
            ),
            compared(
                "T >= (n sqrt(epsilon) / 2m)^2 (theorem)",
                rounds.value(),
                epsilon.value() / (4.0 * rate * rate),
            ),
            compared("z >= 1 (the lemma it cites)", z, 1.0),
            compared("q <= 1/(16z) (the lemma it cites)", 1.0 / (16.0 * z), rate),
            never("batches stay secret (the exact loss gradient tells them)"),
            never("both messages of a round are added up"),
        ];
        Ok(Self {
            setting,
            sigma_dual,
            noise_multiplier: one,
            noise_multiplier_both: both,
            participations: setting.participations(),
            conditions,
            one_message: revealed(&setting, one)?,
            both_messages: revealed(&setting, both)?,
        })
    }

    /// The noise that would have been enough. Takes some seconds.
    pub fn needed(&self) -> Result<Needed> {
        let Setting { epsilon, delta, silo_records, rho, .. } = self.setting;
        let calibrated = |event: Event| -> Result<NoiseMultiplier> {
            let best = Accountant::best_for(event.sampling);
            Ok(calibrate::noise_multiplier(best, event, epsilon, delta)?.noise_multiplier)
        };
        let [add_remove, centred, fixed] = events(&self.setting, self.noise_multiplier)?;
        let used = Rounds::try_from(self.participations)?;
        let full_batch = [50, 100, 200, 500].map(|rounds| -> Result<FullBatchNoise> {
            let rounds = Rounds::try_from(rounds)?;
            let noise_multiplier = calibrated(Event::full_batch(self.noise_multiplier, rounds))?;
            let sigma_dual = noise_multiplier.value()
                * 2.0_f64.sqrt()
                * dual_distance_two_classes(silo_records, rho);
            Ok(FullBatchNoise { rounds, noise_multiplier, sigma_dual })
        });
        Ok(Needed {
            poisson_add_remove: calibrated(add_remove)?,
            poisson_centred: calibrated(centred)?,
            without_replacement: calibrated(fixed)?,
            batch_revealed: calibrated(Event::full_batch(self.noise_multiplier, used))?,
            full_batch: full_batch.into_iter().collect::<Result<_>>()?,
        })
    }

    /// The honest statement, in two or three sentences.
    pub fn statement(&self) -> String {
        let Setting { epsilon, delta, .. } = self.setting;
        let digits = |value: f64| rounding::up(value, 4);
        let mut sentences = vec![
            format!("Theorem 3.2 claims epsilon {epsilon} at delta {:.3e}.", delta.value()),
            format!(
                "Its noise gives epsilon {}: both messages of a round count, and the exact loss \
                 gradient that is sent beside them tells which records were in the batch, so each \
                 record is exposed {} times without amplification.",
                digits(self.both_messages.batch_revealed),
                self.participations,
            ),
        ];
        let secret = [
            self.both_messages.poisson_centred,
            self.both_messages.poisson_add_remove,
            self.both_messages.without_replacement,
        ];
        if let [Some(centred), Some(add_remove), Some(fixed)] = secret {
            sentences.push(format!(
                "Had the batches stayed secret it would be {} (Poisson, centred), {} (Poisson) or \
                 {} (fixed size).",
                digits(centred),
                digits(add_remove),
                digits(fixed)
            ));
        }
        let failing: Vec<&str> = self
            .conditions
            .iter()
            .filter(|condition| condition.needed.is_some() && !condition.holds)
            .map(|condition| condition.name)
            .collect();
        if !failing.is_empty() {
            sentences.push(format!("Not met: {}.", failing.join("; ")));
        }
        sentences.join(" ")
    }
}

/// One run under the three ways to draw secret batches.
fn events(setting: &Setting, noise_multiplier: NoiseMultiplier) -> Result<[Event; 3]> {
    let fixed = setting.fixed_batch()?;
    let rate = SampleRate::try_from(fixed.rate())?;
    let event = |sampling, neighbours| Event {
        sampling,
        neighbours,
        noise_multiplier,
        rounds: setting.rounds,
    };
    Ok([
        event(Sampling::Poisson(rate), Neighbours::AddRemove),
        event(Sampling::Poisson(rate), Neighbours::ReplaceCentred),
        event(Sampling::WithoutReplacement(fixed), Neighbours::Replace),
    ])
}

/// Batches that are known: every use of a record is a Gaussian message of its own.
fn revealed(setting: &Setting, z: NoiseMultiplier) -> Result<Cost> {
    let mu = Mu::try_from((setting.participations() as f64).sqrt() / z.value())?;
    Ok(Cost {
        poisson_add_remove: None,
        poisson_centred: None,
        without_replacement: None,
        batch_revealed: gdp::epsilon(mu, setting.delta),
    })
}

fn sampled(setting: &Setting, z: NoiseMultiplier) -> Result<Cost> {
    let [add_remove, centred, fixed] = events(setting, z)?.map(|event| {
        pld::epsilon_at(&[event], setting.delta, Precision::FINE).map(|bounded| bounded.epsilon)
    });
    Ok(Cost {
        poisson_add_remove: Some(add_remove?),
        poisson_centred: Some(centred?),
        without_replacement: Some(fixed?),
        ..revealed(setting, z)?
    })
}

#[cfg(test)]
mod tests;
