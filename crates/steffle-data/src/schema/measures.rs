//! Columns that are measured from agreed points, so that what silos say of them adds up.
//!
//! A silo's count, sum and sum of squares of `(x - centre) / 2^exponent` are three numbers that add up
//! over silos in any order and, under masks, without anybody seeing one silo's. Agreed points keep them
//! small: sums of squares of timestamps would leave their range, and a small variance would be lost in
//! a large mean.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use steffle_wire::{Added, Met, Summed};

use super::summary::{Moments, Summary};
use crate::Error;

/// No value is taken to be farther from its column's centre, in units of `2^exponent`.
const MOST: f64 = 4096.0;

/// Where columns of numbers are measured from, by whoever leads a run: the centres and spreads of the
/// rows that it has itself, in few digits. And the values whose rows are counted: those that parity is
/// conditioned on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measures {
    columns: Vec<Measure>,
    strata: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Measure {
    column: String,
    centre: f64,
    exponent: i32,
}

impl Measures {
    /// From the rows of a summary.
    pub fn of(summary: &Summary) -> Self {
        let measure = |(column, moments): &(String, Moments)| {
            let spread = moments.scale().max(f64::MIN_POSITIVE);
            let exponent = if moments.count == 0 { 0 } else { spread.log2().ceil() as i32 };
            let exponent = exponent.clamp(-500, 500);
            let step = 2_f64.powi(exponent - 4);
            let centre = (moments.mean / step).round_ties_even() * step;
            let centre = if centre.is_finite() { centre } else { 0.0 };
            Measure { column: column.clone(), centre, exponent }
        };
        let columns = summary.numeric.iter().map(measure).collect();
        Self { columns, strata: Vec::new() }
    }

    /// The same with rows of the values that these silos name counted as well.
    #[must_use]
    pub fn counting<'s>(self, silos: impl IntoIterator<Item = &'s Summary>) -> Self {
        let values: BTreeSet<&String> =
            silos.into_iter().flat_map(|silo| silo.strata.keys()).collect();
        Self { strata: values.into_iter().cloned().collect(), ..self }
    }

    /// As bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Reads them; refuses what is out of range, by its words alone.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let read: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        let fits = |own: &Measure| own.centre.is_finite() && (-500..=500).contains(&own.exponent);
        if read.columns.iter().all(fits) {
            Ok(read)
        } else {
            Err("a measure is out of range".to_owned())
        }
    }

    /// A silo's part: count, sum and squares of every column, then the rows of every value. What it does
    /// not have has none.
    pub fn part(&self, summary: &Summary) -> Met {
        let own = |measure: &Measure| {
            let found = summary.numeric.iter().find(|(name, _)| *name == measure.column);
            found.map(|(_, moments)| *moments).unwrap_or_default()
        };
        let columns = self.columns.iter().flat_map(|measure| {
            let Moments { count, mean, squares } = own(measure);
            let n = count as f64;
            let unit = 2_f64.powi(-measure.exponent);
            let mean = ((mean - measure.centre) * unit).clamp(-MOST, MOST);
            let squares = (squares * unit * unit).clamp(0.0, n * MOST * MOST);
            [n, n * mean, squares + n * mean * mean]
        });
        let rows = |value: &String| summary.strata.get(value).map_or(0.0, |&rows| rows as f64);
        let columns = columns.chain(self.strata.iter().map(rows)).collect();
        Met { records: summary.rows, columns }
    }

    /// Moments and counts of all silos together, from what they add up to; refuses another number of
    /// them.
    pub fn total(&self, met: &Met, into: &mut Summary) -> Result<(), Error> {
        let wrong = || Error::Disagreement {
            column: String::new(),
            problem: "what silos say of their columns does not add up",
        };
        if met.columns.len() != 3 * self.columns.len() + self.strata.len() {
            return Err(wrong());
        }
        let (columns, counts) = met.columns.split_at(3 * self.columns.len());
        let counts = self.strata.iter().cloned().zip(counts);
        into.strata.extend(counts.map(|(value, &rows)| (value, rows as u64)));
        into.rows = met.records;
        for (measure, sums) in self.columns.iter().zip(columns.chunks(3)) {
            let [n, sum, squares] = *sums else { return Err(wrong()) };
            let unit = 2_f64.powi(measure.exponent);
            let moments = if n >= 1.0 {
                let shift = sum / n;
                // What rounding leaves of a constant column is no deviation.
                let rest = squares - sum * shift;
                let squares = if rest > 1e-12 * squares { rest } else { 0.0 };
                let mean = measure.centre + shift * unit;
                Moments { count: n as u64, mean, squares: squares * unit * unit }
            } else {
                Moments::default()
            };
            if let Some((_, own)) = into.numeric.iter_mut().find(|own| own.0 == measure.column) {
                *own = moments;
            }
        }
        Ok(())
    }

    /// The same where all silos' summaries are at hand: the same bits as under masks.
    pub fn add_up(&self, silos: &[&Summary], into: &mut Summary) -> Result<(), Error> {
        let part = |silo: &&Summary| Summed::cut(&self.part(silo), silos.len());
        let mut parts = silos.iter().map(part);
        let Some(mut all) = parts.next() else { return Ok(()) };
        let added = parts.try_for_each(|part| all.add(&part)).and_then(|()| all.total());
        let met = added.map_err(|_| Error::Disagreement {
            column: String::new(),
            problem: "what silos say of their columns does not add up",
        })?;
        self.total(&met, into)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn summary(columns: &[&[f64]]) -> Summary {
        let numeric = columns.iter().zip(0..);
        Summary {
            rows: columns.first().map_or(0, |own| own.len()) as u64,
            labels: BTreeSet::new(),
            sensitive: Vec::new(),
            strata: BTreeMap::new(),
            numeric: numeric
                .map(|(own, at)| (format!("x{at}"), Moments::of(own.iter().copied())))
                .collect(),
            categorical: Vec::new(),
        }
    }

    /// Timestamps, a constant and ordinary numbers: within 1e-9 of one pass over all rows, whatever
    /// the order of silos, to the bit.
    #[test]
    fn what_adds_up_is_what_one_pass_gives() {
        let stamps = [1.7e9, 1.700_000_1e9, 1.71e9, 1.72e9, 1.705e9, 1.712e9];
        let ages = [19.0, 33.0, 71.0, 45.0, 28.0, 60.0];
        let flat = [0.1; 6];
        let whole = summary(&[&stamps, &ages, &flat]);
        let one = summary(&[&stamps[..2], &ages[..2], &flat[..2]]);
        let two = summary(&[&stamps[2..], &ages[2..], &flat[2..]]);
        let measures = Measures::of(&summary(&[&stamps[1..4], &ages[..3], &flat[..3]]));
        let (mut all, mut turned) = (summary(&[&[], &[], &[]]), summary(&[&[], &[], &[]]));
        measures.add_up(&[&one, &two], &mut all).unwrap();
        measures.add_up(&[&two, &one], &mut turned).unwrap();
        assert_eq!(all, turned);
        assert_eq!(all.rows, 6);
        for ((_, found), (_, expected)) in all.numeric.iter().zip(&whole.numeric) {
            assert_eq!(found.count, expected.count);
            assert!((found.mean - expected.mean).abs() <= 1e-12 * expected.mean.abs());
            assert!((found.scale() - expected.scale()).abs() <= 1e-9 * expected.scale());
        }
        assert_eq!(all.numeric[2].1.squares, 0.0, "a constant column has no deviation");
    }

    /// Rows of values are counted over silos that do not all have them; a value that nobody named is
    /// not in the sum.
    #[test]
    fn rows_of_values_add_up() {
        let with = |rows: &[(&str, u64)]| {
            let strata = rows.iter().map(|&(value, rows)| (value.to_owned(), rows)).collect();
            Summary { strata, ..summary(&[&[1.0, 2.0]]) }
        };
        let mut names = with(&[("a", 0), ("b", 0), ("c", 0)]);
        let measures = Measures::of(&names).counting([&names]);
        assert_eq!(Measures::from_bytes(&measures.to_bytes()).unwrap(), measures);
        let silos = [with(&[("a", 70), ("b", 1)]), with(&[("b", 40)])];
        measures.add_up(&[&silos[0], &silos[1]], &mut names).unwrap();
        assert_eq!(names.strata, with(&[("a", 70), ("b", 41), ("c", 0)]).strata);
        let short = Met { records: 4, columns: vec![0.0; 5] };
        assert!(measures.total(&short, &mut names).is_err());
    }

    #[test]
    fn measures_come_back_from_bytes_and_out_of_range_ones_do_not() {
        let measures = Measures::of(&summary(&[&[1.0, 5.0]]));
        assert_eq!(Measures::from_bytes(&measures.to_bytes()).unwrap(), measures);
        let far = br#"{"columns":[{"column":"x0","centre":0.0,"exponent":900}],"strata":[]}"#;
        assert!(Measures::from_bytes(far).is_err());
        assert!(Measures::from_bytes(b"no").is_err());
    }
}
