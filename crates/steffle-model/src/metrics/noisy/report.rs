//! One report of what noisy counts tell, as it is printed and stored.

use serde::Serialize;

use super::super::{Bootstrap, Interval, Names};
use super::gap::gap;
use super::rate::{Measured, Ratio, Z};
use super::tally::Tally;

/// Metrics of one model by group, from noisy counts.
///
/// All intervals are 95 % ones and include the noise and the sampling error.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NoisyReport {
    /// Records judged.
    pub records: u64,
    /// Share of wrong decisions: exact, groups are not involved.
    pub error: f64,
    /// Of [`NoisyReport::error`].
    pub error_interval: Interval,
    /// What intervals aim to cover.
    pub level: f64,
    /// Stores that released counts.
    pub stores: u64,
    /// Standard deviation of the noise in one count of a group by label and decision.
    pub noise_deviation: f64,
    /// Effective records that a rate must be of to be told.
    pub min_group: u32,
    /// Largest pairwise gap in selection rates; absent where fewer than two groups can be compared.
    pub demographic_parity: Option<NoisyGap>,
    /// Largest pairwise gap in true or false positive rates.
    pub equalized_odds: Option<NoisyGap>,
    /// Largest pairwise gap in the true positive rate of the favourable label.
    pub equal_opportunity: Option<NoisyGap>,
    /// Largest pairwise gap in the share of right decisions.
    pub accuracy_parity: Option<NoisyGap>,
    /// The same per group.
    pub groups: Vec<NoisyGroup>,
}

/// A gap, and what it may be.
///
/// Its interval counts the noise and the chance in who was sampled.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct NoisyGap {
    /// The largest difference; it is above the truth more often than below, the more comparisons it
    /// is the largest of.
    pub value: f64,
    /// Its interval.
    pub interval: Interval,
    /// Differences that it is the largest of.
    pub comparisons: usize,
}

/// Metrics of one group.
///
/// Estimated from noisy counts: a group's records are a noisy number too.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NoisyGroup {
    /// Name of the group.
    pub name: String,
    /// Records of the group, with noise.
    pub records: f64,
    /// How many there may be.
    pub records_interval: Interval,
    /// Share of wrong decisions.
    pub error: NoisyRate,
    /// Rates per label.
    pub labels: Vec<NoisyLabel>,
}

/// How often a group is given a label.
///
/// Among all of the group, among those who have the label, and among those who have another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NoisyLabel {
    /// Name of the label.
    pub label: String,
    /// P(decided so).
    pub selection_rate: NoisyRate,
    /// P(decided so | it is so).
    pub true_positive_rate: NoisyRate,
    /// P(decided so | it is not so).
    pub false_positive_rate: NoisyRate,
}

/// A rate, where there is enough evidence for one.
///
/// Otherwise it says how much there is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct NoisyRate {
    /// The rate; absent where there is not enough evidence.
    pub value: Option<f64>,
    /// Its interval; absent likewise.
    pub interval: Option<Interval>,
    /// Records without noise that would tell as much about a rate of one half.
    pub effective_records: f64,
}

impl NoisyReport {
    /// What released counts tell about groups of these names; a rate has to be of `least` effective
    /// records.
    pub fn new(tally: &Tally, names: &Names, least: u32) -> Self {
        let labels = tally.labels();
        let (records, wrong) = (tally.records() as f64, tally.wrong() as f64);
        let exact = Ratio { part: vec![0], whole: vec![0, 1] };
        let exact = exact.of_counts(&[wrong, records - wrong], 0.0);
        let favourable = usize::from(names.favourable);
        // The second of two labels has the gaps of the first.
        let told: Vec<usize> = if labels == 2 { vec![favourable] } else { (0..labels).collect() };
        let all = |of: fn(usize, usize) -> Ratio| told.iter().map(move |&label| of(labels, label));
        let gap = |rates: &[Ratio]| {
            let (value, interval, comparisons) = gap(tally, rates, f64::from(least))?;
            Some(NoisyGap { value, interval, comparisons })
        };
        let odds: Vec<Ratio> =
            all(Ratio::true_positive).chain(all(Ratio::false_positive)).collect();
        Self {
            records: tally.records(),
            error: exact.rate(),
            error_interval: exact.interval(),
            level: Bootstrap::LEVEL,
            stores: tally.stores(),
            noise_deviation: tally.variance().sqrt(),
            min_group: least,
            demographic_parity: gap(&all(Ratio::selection).collect::<Vec<_>>()),
            equalized_odds: gap(&odds),
            equal_opportunity: gap(&[Ratio::true_positive(labels, favourable)]),
            accuracy_parity: gap(&[Ratio::error(labels)]),
            groups: names
                .groups
                .iter()
                .take(tally.classes())
                .enumerate()
                .map(|(class, name)| group(tally, names, class, name, f64::from(least)))
                .collect(),
        }
    }
}

fn group(tally: &Tally, names: &Names, class: usize, name: &str, least: f64) -> NoisyGroup {
    let labels = tally.labels();
    let rate = |ratio: &Ratio| NoisyRate::of(&ratio.of_class(tally, class), least);
    let whole = Ratio::error(labels).of_class(tally, class).whole;
    let spread = Z * (tally.variance() * (labels * labels) as f64).sqrt();
    let of_label = |(at, label): (usize, &String)| NoisyLabel {
        label: label.clone(),
        selection_rate: rate(&Ratio::selection(labels, at)),
        true_positive_rate: rate(&Ratio::true_positive(labels, at)),
        false_positive_rate: rate(&Ratio::false_positive(labels, at)),
    };
    let most = tally.records() as f64;
    NoisyGroup {
        name: name.to_owned(),
        records: whole.clamp(0.0, most),
        records_interval: [whole - spread, whole + spread].map(|end| end.clamp(0.0, most)),
        error: rate(&Ratio::error(labels)),
        labels: names.labels.iter().take(labels).enumerate().map(of_label).collect(),
    }
}

impl NoisyRate {
    fn of(measured: &Measured, least: f64) -> Self {
        let effective_records = measured.effective();
        let enough = measured.enough(least);
        Self {
            value: enough.then(|| measured.rate()),
            interval: enough.then(|| measured.interval()),
            effective_records,
        }
    }
}
