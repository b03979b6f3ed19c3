//! What rounds of other programs cost, by our accountants.

use pyo3::prelude::*;
use steffle_privacy::{Accountant, Event, Neighbours, PrivacyError, Sampling};

use crate::error::{raised, safely};

/// A kind of round: sigma over the distance, the sampling rate, how often.
type Rounds = (f64, f64, u64);

/// Epsilon of all rounds together, as JSON: the best accountant for them, or the one that is named.
///
/// Neighbours have one record more or less, or one replaced whatever its contributions look like.
#[pyfunction]
pub(crate) fn epsilon_of(
    py: Python<'_>,
    rounds: Vec<Rounds>,
    delta: f64,
    replaced: bool,
    accountant: Option<String>,
) -> PyResult<String> {
    safely(
        py,
        |py, error: &PrivacyError| raised(py, &error.clone().into()),
        || {
            let neighbours = if replaced { Neighbours::Replace } else { Neighbours::AddRemove };
            let event = |&(noise, rate, rounds): &Rounds| -> Result<Event, PrivacyError> {
                let sampling = match rate {
                    1.0 => Sampling::FullBatch,
                    rate => Sampling::Poisson(rate.try_into()?),
                };
                let (noise_multiplier, rounds) = (noise.try_into()?, rounds.try_into()?);
                Ok(Event { sampling, neighbours, noise_multiplier, rounds })
            };
            let events = rounds.iter().map(event).collect::<Result<Vec<_>, _>>()?;
            let named =
                Accountant::ALL.into_iter().find(|own| Some(own.name()) == accountant.as_deref());
            let full = events.iter().all(|event| event.sampling == Sampling::FullBatch);
            let best = if full { Accountant::Gdp } else { Accountant::Pld };
            named.unwrap_or(best).epsilon(&events, delta.try_into()?)
        },
    )
    .map(|reading| serde_json::json!(reading).to_string())
}
