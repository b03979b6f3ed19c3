//! What the private runs of a sweep cost together: no book adds them up.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use steffle_privacy::{Delta, NoiseKind, rounding, together};

use super::grid::Run;
use crate::commands::privacy::promise;

/// Said before a sweep with secret noise.
pub(super) fn before(runs: &[Run]) -> Option<String> {
    let releases = releases(runs).len();
    (releases > 0).then(|| {
        format!(
            "--noise secure: {releases} private release(s) about the same records (lambdas that share \
             one count once), which add up, and no ledger remembers them. Nothing is measured by \
             group: that would be a release of its own"
        )
    })
}

/// What they cost together, from what the runs said of themselves.
pub(super) fn after(runs: &[Run], lines: &[Value]) -> Option<String> {
    let releases = releases(runs);
    let promises: Vec<_> =
        releases.iter().filter_map(|&place| promise(lines.get(place)?)).collect();
    if promises.is_empty() {
        return None;
    }
    let sum = together(&promises, None).ok()?;
    let each = releases.iter().filter_map(|&place| {
        let promise = promise(lines.get(place)?)?;
        let (epsilon, delta) = (promise.epsilon.value(), promise.delta.map_or(0.0, Delta::value));
        let name = Value::Object(runs[place].varying.clone());
        Some(format!("{name}: epsilon {epsilon} at delta {delta:.1e}"))
    });
    let each: Vec<String> = each.collect();
    let free = if releases.len() < runs.len() {
        ". Lambdas of one release cost it once: to choose among them by what the release tells is \
         free"
    } else {
        ""
    };
    Some(format!(
        "the {} private release(s) of this sweep cost epsilon {} at delta {:.1e} together for a \
         record that was in all of them (their epsilons sum to {}); whoever chooses among the \
         models has used all of it. Run by run: {}{free}. To choose by metrics on held-out rows is \
         charged for every candidate: `steffle choose`",
        promises.len(),
        rounding::up(sum.epsilon, 4),
        sum.delta,
        sum.sum_of_epsilons,
        each.join("; ")
    ))
}

/// The place of one run per private release.
fn releases(runs: &[Run]) -> Vec<usize> {
    let mut first = BTreeMap::new();
    for (place, run) in runs.iter().enumerate() {
        let method = &run.config.method;
        if !method.claims() || method.noise() != NoiseKind::Secure {
            continue;
        }
        let mut key = run.key();
        if method.shares_release() {
            key["lambda"] = json!(null);
        }
        first.entry(key.to_string()).or_insert(place);
    }
    let mut places: Vec<usize> = first.into_values().collect();
    places.sort_unstable();
    places
}
