//! Training, validation and test rows.

use std::collections::BTreeMap;

use rand::Rng;
use rand::seq::SliceRandom;

use crate::Error;
use crate::dataset::Dataset;

/// Test rows are one part in four, as in the paper.
const TEST: f64 = 0.25;

/// Row lists of a data set, each in the order of the table; they share no row and no unit.
///
/// Which row is in which list is public.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Rows to train on.
    pub train: Vec<u32>,
    /// Rows to choose settings by; empty unless asked for.
    pub validation: Vec<u32>,
    /// Rows to report on.
    pub test: Vec<u32>,
}

/// Splits the usable rows 3:1 into training and test rows at random, then takes the fraction
/// `validation` out of the training rows. Every label has the same share in all parts, but for
/// published data sets, whose publications split without looking at it. Never by group: which rows
/// are in which part is public.
///
/// ```
/// use rand::SeedableRng;
/// use steffle_data::{Dataset, Source, split};
/// let source = Source::parse("adult", None)?;
/// let recipe = source.recipe().expect("a named data set has one");
/// let data = Dataset::new(source.read(&recipe)?, recipe)?;
/// let split = split(&data, 0.0, &mut rand::rngs::ChaCha20Rng::seed_from_u64(1))?;
/// assert_eq!((split.train.len(), split.test.len()), (33_916, 11_306));
/// # Ok::<(), steffle_data::Error>(())
/// ```
pub fn split(data: &Dataset, validation: f64, rng: &mut impl Rng) -> Result<Split, Error> {
    let (rest, test) = hold_out(data, data.rows(), TEST, rng)?;
    let (train, validation) = hold_out(data, &rest, validation, rng)?;
    if train.is_empty() || test.is_empty() {
        let (origin, rows) = (data.table().origin().to_owned(), data.rows().len());
        return Err(Error::TooFewRows { origin, rows });
    }
    Ok(Split { train, validation, test })
}

/// Takes a fraction of the given rows out at random, rounded up: (kept, taken).
///
/// Rows of one unit stay together: units are taken until there are enough rows. Unless the data set
/// is a published one, as many of every label are taken as its share asks for (of a unit, the label
/// of its first row counts).
pub fn hold_out(
    data: &Dataset,
    rows: &[u32],
    fraction: f64,
    rng: &mut impl Rng,
) -> Result<(Vec<u32>, Vec<u32>), Error> {
    if !(0.0..1.0).contains(&fraction) {
        return Err(Error::Fraction { given: fraction });
    }
    // 0.1 times 10 must be 1 although neither is exact.
    let wanted = (fraction * rows.len() as f64 - 1e-6).ceil().max(0.0) as usize;
    let bundles = data.bundles(rows);
    let mut order: Vec<u32> = (0..bundles.len() as u32).collect();
    order.shuffle(rng);
    let (mut kept, mut taken) = (Vec::new(), Vec::new());
    let label = data.label().filter(|_| !data.recipe().published);
    // The label of a row as a number; 0 where labels do not matter.
    let stratum = |row: u32| label.as_ref().map_or(0, |label| label.codes[row as usize]);
    let mut quotas = quotas(rows, stratum, fraction, wanted);
    for bundle in order {
        let rows = bundles.rows(bundle as usize);
        let quota = quotas.entry(stratum(rows[0])).or_default();
        let side = if *quota > 0 { &mut taken } else { &mut kept };
        *quota = quota.saturating_sub(if *quota > 0 { rows.len() } else { 0 });
        side.extend_from_slice(rows);
    }
    kept.sort_unstable();
    taken.sort_unstable();
    Ok((kept, taken))
}

/// How many rows to take of every label: its share rounded down, and one more for those that lost
/// most by that, until there are `wanted`.
fn quotas(
    rows: &[u32],
    stratum: impl Fn(u32) -> u32,
    fraction: f64,
    wanted: usize,
) -> BTreeMap<u32, usize> {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for &row in rows {
        *counts.entry(stratum(row)).or_default() += 1;
    }
    let share = |count: usize| fraction * count as f64;
    let mut quotas: BTreeMap<u32, usize> =
        counts.iter().map(|(&label, &count)| (label, share(count) as usize)).collect();
    let mut order: Vec<(u32, f64)> =
        counts.iter().map(|(&label, &count)| (label, share(count).fract())).collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1));
    let short = wanted.saturating_sub(quotas.values().sum());
    for (label, _) in order.iter().cycle().take(if order.is_empty() { 0 } else { short }) {
        *quotas.entry(*label).or_default() += 1;
    }
    quotas
}

#[cfg(test)]
mod tests;
