//! Algorithm 3: silos of a chosen heterogeneity.

use std::cmp::Ordering;

use rand::Rng;
use rand::seq::SliceRandom;

use crate::Error;
use crate::dataset::Dataset;
use crate::table::{Column, Here, level_order};

/// Deals rows out to silos (Algorithm 3 of the paper).
///
/// Rows are sorted by the recipe's `partition_by` column (numbers by value, text by name, missing
/// values last, equal values in the order of the table) and cut into as many equal bins as there
/// are silos. Each silo gets `floor(h n/K)` rows of its own bin at random, is filled up at random
/// to `floor(n/K)` rows, and the `n mod K` rows left over go to the last silos, one each. So
/// `h = 0` deals at random and `h = 1` sorts.
///
/// Where a unit column is named, units are dealt out instead of rows, each sorted by its first
/// row. Every silo lists its rows in the order of the table.
///
/// ```
/// use rand::SeedableRng;
/// use steffle_data::{Dataset, Source, partition};
/// let source = Source::parse("credit-card", None)?;
/// let recipe = source.recipe().expect("a named data set has one");
/// let data = Dataset::new(source.read(&recipe)?, recipe)?;
/// let mut rng = rand::rngs::ChaCha20Rng::seed_from_u64(1);
/// let silos = partition(&data, data.rows(), 7, 0.75, &mut rng)?;
/// let sizes: Vec<usize> = silos.iter().map(Vec::len).collect();
/// assert_eq!(sizes, [4285, 4285, 4286, 4286, 4286, 4286, 4286]);
/// # Ok::<(), steffle_data::Error>(())
/// ```
pub fn partition(
    data: &Dataset,
    rows: &[u32],
    silos: usize,
    heterogeneity: f64,
    rng: &mut impl Rng,
) -> Result<Vec<Vec<u32>>, Error> {
    if !(0.0..=1.0).contains(&heterogeneity) {
        return Err(Error::Heterogeneity { given: heterogeneity });
    }
    let mut sorted = rows.to_vec();
    match &data.recipe().partition_by {
        Some(name) => {
            // A run that claims privacy refuses silos that are cut by s.
            let kept = data.kept_columns().into_iter().find(|(own, _, _)| own == name);
            if let Some((_, _, column)) = kept {
                sort_by_column(&mut sorted, &column);
            } else {
                let at = data.table().require(name, "the column to partition by")?;
                sort_by_column(&mut sorted, &data.table().columns()[at]);
            }
        }
        None if heterogeneity > 0.0 => {
            return Err(Error::NoPartitionColumn { given: heterogeneity });
        }
        None => {}
    }
    deal_rows(data, &sorted, silos, heterogeneity, rng)
}

/// Deals rows out to silos of equal size at random, whatever their column says.
pub(crate) fn partition_at_random(
    data: &Dataset,
    rows: &[u32],
    silos: usize,
    rng: &mut impl Rng,
) -> Result<Vec<Vec<u32>>, Error> {
    deal_rows(data, rows, silos, 0.0, rng)
}

fn deal_rows(
    data: &Dataset,
    sorted: &[u32],
    silos: usize,
    heterogeneity: f64,
    rng: &mut impl Rng,
) -> Result<Vec<Vec<u32>>, Error> {
    let bundles = data.bundles(sorted);
    if silos == 0 || silos > bundles.len() {
        let what = if data.units().is_some() { "units" } else { "training rows" };
        return Err(Error::Silos { silos, rows: bundles.len(), what });
    }
    let dealt = deal(bundles.len(), silos, heterogeneity, rng);
    let rows_of = |places: Vec<u32>| {
        let mut rows: Vec<u32> =
            places.iter().flat_map(|&place| bundles.rows(place as usize)).copied().collect();
        rows.sort_unstable();
        rows
    };
    Ok(dealt.into_iter().map(rows_of).collect())
}

/// Deals the places `0..n` of a sorted list out to `silos`.
fn deal(n: usize, silos: usize, heterogeneity: f64, rng: &mut impl Rng) -> Vec<Vec<u32>> {
    let size = n / silos;
    // 0.29 times 100 must be 29 although 0.29 is not exact.
    let own = (heterogeneity * n as f64 / silos as f64 + 1e-6).floor() as usize;
    let own = own.min(size);
    let mut dealt = Vec::with_capacity(silos);
    let mut pool = Vec::with_capacity(n - own * silos);
    for silo in 0..silos {
        let mut bin: Vec<u32> =
            ((silo * n / silos) as u32..((silo + 1) * n / silos) as u32).collect();
        bin.shuffle(rng);
        pool.extend(bin.drain(own..));
        dealt.push(bin);
    }
    pool.shuffle(rng);
    for silo in &mut dealt {
        silo.extend(pool.drain(pool.len() - (size - own)..));
    }
    for (silo, place) in dealt.iter_mut().rev().zip(pool) {
        silo.push(place);
    }
    dealt
}

fn sort_by_column(rows: &mut [u32], column: &Column) {
    match column.here() {
        // NaN, a missing number, is the last in this order.
        Here::Numbers(numbers) => {
            rows.sort_by(|&a, &b| numbers[a as usize].total_cmp(&numbers[b as usize]));
        }
        Here::Text(text) => {
            let order = |a: Option<&str>, b: Option<&str>| match (a, b) {
                (Some(a), Some(b)) => level_order(a, b),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => Ordering::Equal,
            };
            rows.sort_by(|&a, &b| order(text.level(a as usize), text.level(b as usize)));
        }
    }
}

#[cfg(test)]
mod tests;
