//! Tables worked by hand, and how often intervals cover what they are about.

use rand_distr::{Binomial, Distribution, StandardNormal};
use rayon::prelude::*;

use super::super::Names;
use super::gap::gap;
use super::rate::Ratio;
use super::*;
use crate::randomness::{ChaCha8Rng, Purpose, stream};

fn names(classes: usize) -> Names {
    let groups = ["a", "b", "c"][..classes].iter().map(ToString::to_string).collect();
    Names { labels: vec!["no".into(), "yes".into()], groups, favourable: 1 }
}

/// How a class is: its share of the label, and how often it is given it without and with it.
type Law = (f64, [f64; 2]);

const LAWS: [Law; 3] = [(0.35, [0.15, 0.7]), (0.5, [0.25, 0.62]), (0.42, [0.2, 0.81])];

/// People of every class, as many silos, and mu of every silo's release.
#[derive(Debug, Clone, Copy)]
struct Setting {
    sizes: &'static [u64],
    silos: u32,
    mu: f64,
    least: u32,
}

/// The truth: P(decided so), P(decided so | it is so), P(decided so | it is not), P(wrong).
fn truth((share, [without, with]): Law) -> [f64; 4] {
    let selection = share * with + (1.0 - share) * without;
    [selection, with, without, share * (1.0 - with) + (1.0 - share) * without]
}

fn ratios() -> [Ratio; 4] {
    [
        Ratio::selection(2, 1),
        Ratio::true_positive(2, 1),
        Ratio::false_positive(2, 1),
        Ratio::error(2),
    ]
}

/// People drawn by the laws, and what the silos release about them.
fn drawn(setting: &Setting, random: &mut ChaCha8Rng) -> Tally {
    let Setting { sizes, silos, mu, .. } = *setting;
    let k = sizes.len();
    let mut tally = Tally::new(2, k);
    let mut public = [0_u64; 4];
    let mut classes = Vec::new();
    for (&size, (share, decided)) in sizes.iter().zip(LAWS) {
        let mut some = |of: u64, share: f64| Binomial::new(of, share).unwrap().sample(random);
        let with = some(size, share);
        let (no, yes) = (some(size - with, decided[0]), some(with, decided[1]));
        let own = [size - with - no, no, with - yes, yes];
        public.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
        classes.push(own);
    }
    assert!(tally.add_public(&public));
    let deviation = if k == 2 { 1.0 } else { std::f64::consts::SQRT_2 } / mu;
    for silo in 0..silos {
        // All people are in the first silo: which silo they are in does not matter to sums.
        let rows = if k == 2 { 1..2 } else { 0..k };
        let row = |label: usize, row: usize| {
            let centred = |decision: usize| {
                let slot = 2 * label + decision;
                let own = classes[row][slot] as f64 - public[slot] as f64 / k as f64;
                if silo == 0 { own } else { 0.0 }
            };
            [centred(0), centred(1)]
        };
        let mut sent: Vec<f64> =
            (0..2).flat_map(|label| rows.clone().flat_map(move |at| row(label, at))).collect();
        for count in &mut sent {
            let noise: f64 = StandardNormal.sample(random);
            *count += deviation * noise;
        }
        assert!(tally.add_noisy(&sent, deviation * deviation, 1));
    }
    tally
}

/// Of intervals that were told: how many, and how many cover the truth.
#[derive(Debug, Clone, Copy, Default)]
struct Covered {
    told: u32,
    covers: u32,
}

impl Covered {
    fn see(&mut self, interval: Option<[f64; 2]>, truth: f64) {
        let Some([low, high]) = interval else { return };
        self.told += 1;
        self.covers += u32::from(low <= truth && truth <= high);
    }

    fn and(mut self, other: Self) -> Self {
        self.told += other.told;
        self.covers += other.covers;
        self
    }

    /// Told too seldom to say how often it covers.
    fn seldom(self) -> bool {
        u64::from(self.told) < draws() / 4
    }

    fn share(self) -> f64 {
        f64::from(self.covers) / f64::from(self.told.max(1))
    }
}

/// So many draws of every setting: then the standard error of a share of 95 % is a third of a point.
/// `STEFFLE_COVERAGE_DRAWS` sets another number.
fn draws() -> u64 {
    let given = std::env::var("STEFFLE_COVERAGE_DRAWS");
    given.map_or(4000, |given| given.parse().expect("a number of draws"))
}

/// Rates of the first class, then the three gaps.
fn coverage(setting: &Setting, number: u64) -> [Covered; 7] {
    let one = |repetition: u64| {
        let mut random = stream(number, 0, Purpose::Noise, repetition);
        let tally = drawn(setting, &mut random);
        let least = f64::from(setting.least);
        let mut covered = [Covered::default(); 7];
        for (at, ratio) in ratios().iter().enumerate() {
            let measured = ratio.of_class(&tally, 0);
            let told = (measured.effective() >= least).then(|| measured.interval());
            covered[at].see(told, truth(LAWS[0])[at]);
        }
        let gaps: [&[usize]; 3] = [&[0], &[1, 2], &[1]];
        for (at, rates) in gaps.iter().enumerate() {
            let own: Vec<Ratio> = rates.iter().map(|&rate| ratios()[rate].clone()).collect();
            // The truth about the classes that are compared.
            let mut widest = 0.0_f64;
            for &rate in *rates {
                let enough =
                    |class: &usize| ratios()[rate].of_class(&tally, *class).effective() >= least;
                let known: Vec<f64> = (0..setting.sizes.len())
                    .filter(enough)
                    .map(|class| truth(LAWS[class])[rate])
                    .collect();
                for a in &known {
                    known.iter().for_each(|b| widest = widest.max((a - b).abs()));
                }
            }
            covered[4 + at].see(gap(&tally, &own, least).map(|gap| gap.1), widest);
        }
        covered
    };
    let add = |a: [Covered; 7], b: [Covered; 7]| std::array::from_fn(|at| a[at].and(b[at]));
    (0..draws()).into_par_iter().map(one).reduce(<[Covered; 7]>::default, add)
}

/// Groups of 30 to 30,000 people in 1 to 12 silos, two and three classes, noise that matters at every
/// size. Printed with `--nocapture`; the table of `docs/PRIVACY.md` has 20,000 draws of each.
///
/// Seeds are fixed. Of an interval that covers with 95 %, two points are almost six standard errors. The
/// furthest of the table is at 96.6 %, where 97 are more than one; with other seeds, use more draws.
#[test]
fn intervals_cover_what_they_say() {
    // Of the group whose rates are looked at: its size, mu of a silo's release, and evidence.
    let by_size = [(30, 1.5, 10), (300, 0.5, 30), (3000, 0.25, 30), (30_000, 0.1, 30)];
    let two: [&[u64]; 4] = [&[30, 60], &[300, 600], &[3000, 6000], &[30_000, 60_000]];
    let three: [&[u64]; 4] =
        [&[30, 60, 90], &[300, 600, 900], &[3000, 6000, 900], &[30_000, 60_000, 3000]];
    println!("classes    group silos   mu  select    tpr    fpr  error     dp     eo   eopp");
    let mut number = 0;
    for sizes in [two, three] {
        for (sizes, (group, mu, least)) in sizes.into_iter().zip(by_size) {
            for silos in [1, 3, 12] {
                number += 1;
                let covered = coverage(&Setting { sizes, silos, mu, least }, number);
                let shares: Vec<f64> = covered.iter().map(|own| 100.0 * own.share()).collect();
                print!("{:7} {group:8} {silos:5} {mu:4}", sizes.len());
                for (share, own) in shares.iter().zip(&covered) {
                    let text = if own.seldom() { "-".into() } else { format!("{share:.1}") };
                    print!(" {text:>6}");
                }
                println!();
                for (at, (share, own)) in shares.iter().zip(&covered).enumerate() {
                    let right = own.seldom() || (93.0..=97.0).contains(share);
                    assert!(right, "{sizes:?} {silos} {at}: {share} of {}", own.told);
                }
                // Where people are many everything is told.
                assert!(least == 10 || covered.iter().all(|own| !own.seldom()), "{covered:?}");
            }
        }
    }
}

fn tally(counts: [[f64; 4]; 2], deviation: f64) -> Tally {
    let mut tally = Tally::new(2, 2);
    let public: Vec<u64> = (0..4).map(|at| (counts[0][at] + counts[1][at]) as u64).collect();
    assert!(tally.add_public(&public));
    let sent = |at: usize| (counts[1][at] - counts[0][at]) / 2.0;
    assert!(tally.add_noisy(&[0, 1, 2, 3].map(sent), deviation * deviation, 1));
    tally
}

#[test]
fn rates_and_gaps_of_a_table_worked_by_hand() {
    let tally = tally([[300.0, 100.0, 40.0, 160.0], [200.0, 100.0, 60.0, 40.0]], 0.0);
    let report = NoisyReport::new(&tally, &names(2), 30);
    assert_eq!((report.records, report.stores, report.noise_deviation), (1000, 1, 0.0));
    assert_eq!(report.error, 0.3);
    let [a, b] = &report.groups[..] else { panic!() };
    assert_eq!((&a.name[..], a.records, b.records), ("a", 600.0, 400.0));
    assert_eq!(a.records_interval, [600.0, 600.0]);
    let yes = |group: &NoisyGroup| group.labels[1].clone();
    assert_eq!(yes(a).selection_rate.value, Some(260.0 / 600.0));
    assert_eq!(yes(b).true_positive_rate.value, Some(0.4));
    assert_eq!(yes(b).false_positive_rate.value, Some(1.0 / 3.0));
    assert_eq!(b.error.value, Some(0.4));
    // Without noise: Wilson's interval of 160 of 200.
    let [low, high] = yes(a).true_positive_rate.interval.unwrap();
    assert!((low - 0.7391).abs() < 1e-4 && (high - 0.8495).abs() < 1e-4, "{low} {high}");
    let parity = report.demographic_parity.unwrap();
    assert!((parity.value - (260.0 / 600.0 - 0.35)).abs() < 1e-12 && parity.comparisons == 1);
    let odds = report.equalized_odds.unwrap();
    assert!((odds.value - 0.4).abs() < 1e-12 && odds.comparisons == 2);
    assert_eq!(report.equal_opportunity.unwrap().value, odds.value);
    let right = report.accuracy_parity.unwrap();
    assert!((right.value - (0.4 - 140.0 / 600.0)).abs() < 1e-12 && right.comparisons == 1);
    assert!(odds.interval[0] < 0.4 && odds.interval[1] > 0.4);
}

#[test]
fn more_noise_is_less_evidence_and_longer_intervals() {
    let counts = [[300.0, 100.0, 40.0, 160.0], [20.0, 10.0, 6.0, 4.0]];
    let mut last: Option<NoisyReport> = None;
    for deviation in [0.0, 3.0, 8.0, 20.0, 100.0, 1000.0] {
        let report = NoisyReport::new(&tally(counts, deviation), &names(2), 30);
        let rate = report.groups[0].labels[1].selection_rate;
        // Four counts of 600 people: their noise has four times the variance of one.
        let effective = 600.0 * 600.0 / (600.0 + 4.0 * deviation * deviation);
        assert!((rate.effective_records - effective).abs() < 1e-9);
        assert_eq!(rate.value.is_some(), effective >= 30.0, "{deviation}");
        if let (Some(last), Some([low, high])) = (&last, rate.interval) {
            let [before, after] = last.groups[0].labels[1].selection_rate.interval.unwrap();
            assert!(low < before && high > after);
        }
        // Forty people, of whom ten have the label: too few for it, whatever the noise.
        assert_eq!(report.groups[1].labels[1].true_positive_rate.value, None);
        assert_eq!(report.equal_opportunity, None);
        assert_eq!(report.demographic_parity.is_some(), deviation == 0.0, "{deviation}");
        last = Some(report);
    }
}

/// Counts that noise has made negative, empty groups, one group, no records: never a panic or a number
/// that is none.
#[test]
fn whatever_noise_makes_of_counts_a_report_is_numbers() {
    let numbers = [-1e6, -3.0, 0.0, 0.5, 40.0, 1e9];
    let mut seen = 0;
    for a in numbers {
        for b in numbers {
            for deviation in [0.0, 5.0, 1e5] {
                let mut tally = Tally::new(2, 3);
                assert!(tally.add_public(&[50, 0, 1, 30]));
                assert!(!tally.add_public(&[1]) && !tally.add_noisy(&[1.0], 1.0, 1));
                let sent: Vec<f64> = (0..12).map(|at| if at % 5 == 0 { a } else { b }).collect();
                assert!(tally.add_noisy(&sent, deviation * deviation, 1));
                let report = NoisyReport::new(&tally, &names(3), 0);
                let text = format!("{report:?}");
                assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
                for gap in [report.demographic_parity, report.equalized_odds].into_iter().flatten()
                {
                    assert!(gap.interval[0] <= gap.interval[1] && gap.interval[1] <= 1.0);
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 20);
    let empty = NoisyReport::new(&Tally::new(2, 2), &names(2), 30);
    assert!(empty.demographic_parity.is_none() && !format!("{empty:?}").contains("NaN"));
}
