use steffle_model::linear::Features;
use steffle_model::record::{Layout, Rows};
use steffle_privacy::ledger::{Accounts, Claim};

use super::*;
use crate::attack::{Exact, Silence, offer, request};
use crate::noise::{NoiseKind, SimulatedNoise};
use crate::{
    Attributes, AttributesDivision, AttributesDivisionError, MISSING_CLASS, Sensitive, Share,
    Unreleased,
};

/// Six records with numbers, levels and an absent level.
fn rows() -> Rows {
    let layout = Layout { numeric: 2, categorical: 1, features: 5 };
    let absent = layout.absent();
    let numbers = vec![0.5, -1.25, 2.0, 0.0, -0.75, 3.5, 1.0, 1.0, -2.5, 0.25, 0.125, -0.5];
    Rows::new(layout, 6, numbers, vec![2, 3, 4, 2, absent, 3]).unwrap()
}

/// A holder of these classes with a share of mu^2 for its replies; ids from 100 on, and those from
/// 900 on that nobody here holds, each of the units that `unit_of` says.
fn holder(classes: Vec<u16>, count: usize, mu: f64, unit_of: &[u32]) -> AttributesDivision {
    let ids = (0..classes.len() as u64).map(|id| id + 100).collect();
    let attributes = Attributes::new(ids, Sensitive::new(classes), count).unwrap();
    let first = unit_of.iter().max().unwrap() + 1;
    let elsewhere = (900..910).zip(first..);
    let units = UnitList::index((100..).zip(unit_of.iter().copied()).chain(elsewhere));
    let mut division = AttributesDivision::by_id(attributes, units);
    let share = Share { round: mu * mu, table: 0.0 };
    // At delta 1e-9, mu is 0.502 at epsilon 2.92 and 1.01 at 6.7.
    let epsilon = if mu > 0.5 { 6.7 } else { 2.92 };
    let offer = offer(Claim::Gaussian, epsilon, 1e-9);
    division.open(&offer, Terms::Exact(share), Accounts::One).unwrap();
    division
}

fn exact(classes: Vec<u16>, count: usize, mu: f64) -> AttributesDivision {
    let units: Vec<u32> = (0..classes.len() as u32).collect();
    holder(classes, count, mu, &units)
}

/// Every assignment of `values` values to `n` places.
fn assignments(n: usize, values: u16) -> impl Iterator<Item = Vec<u16>> {
    (0..u64::from(values).pow(n as u32)).map(move |mut code| {
        let mut next = || {
            let digit = (code % u64::from(values)) as u16;
            code /= u64::from(values);
            digit
        };
        (0..n).map(|_| next()).collect()
    })
}

/// The integers that are sent, before the noise, and what they cost.
fn sent_integers(division: &mut AttributesDivision, capped: &Capped<'_>) -> (Exact, f64) {
    let ids: Vec<u64> = (100..106).collect();
    let asking = (capped, Who::Ids(&ids, 0));
    let (terms, classes) = (division.terms().clone(), division.classes());
    let units = division.store().units().clone();
    let price = price(&terms, classes, &units, &[asking], request(1)).unwrap();
    let Cost::Gaussian { squared, .. } = price.cost() else { panic!("{:?}", price.cost()) };
    let paid = price.reserve(division.store(), &mut Silence::default()).unwrap();
    let mut sums = Unreleased::<FeatureMessage>(paid.asked().empty());
    division.store().add(&paid, FeatureChunk { silo: 0, asking }, &mut sums);
    let exact = vec![(sums.0.silos[0].concat(), paid.asked().silos[0].noise)];
    (Exact::new(exact), squared)
}

/// All stores of up to three classes and missing ones, both notions, records and units: the
/// largest move of the sent integers is the priced one, and almost attained.
#[test]
fn no_store_moves_more_than_the_price() {
    let rows = rows();
    let cell_of = [0, 1, 0, 1, 1, 0];
    let pairs = [0, 0, 1, 2, 2, 2];
    for classes in [2_u16, 3] {
        for cells in [1, 2] {
            for units in [None, Some(&pairs[..])] {
                let cell_of = if cells == 1 { [0; 6] } else { cell_of };
                let features = Features::released(&rows, &cell_of, cells).unwrap();
                let capped = Capped::new(features, units).unwrap();
                let unit_of = units.map_or_else(|| (0..6).collect(), <[u32]>::to_vec);
                let count = unit_of.iter().max().unwrap() + 1;
                let store = |s: &[u16]| {
                    let class = |&unit: &u32| match s[unit as usize] {
                        class if class == classes => MISSING_CLASS,
                        class => class,
                    };
                    let own = unit_of.iter().map(class).collect();
                    holder(own, usize::from(classes), 0.5, &unit_of)
                };
                let mut largest = 0.0_f64;
                let mut squared = 0.0;
                for s in assignments(count as usize, classes + 1) {
                    let (base, cost) = sent_integers(&mut store(&s), &capped);
                    squared = cost;
                    assert!(squared <= 0.25 && squared > 0.2499);
                    for unit in 0..count as usize {
                        // Each pair of neighbours once.
                        for other in s[unit] + 1..=classes {
                            let mut neighbour = s.clone();
                            neighbour[unit] = other;
                            let (moved, _) = sent_integers(&mut store(&neighbour), &capped);
                            largest = largest.max(base.squared_distance(&moved));
                        }
                    }
                }
                let cost = largest;
                assert!(cost <= squared, "{classes} {cells} {units:?}: {cost} {squared}");
                // The sum of a unit's lengths is an upper bound of the length of its sum, so with
                // units the price is not attained; without, it is.
                let attained = if units.is_none() { 0.999 } else { 0.3 };
                assert!(cost > attained * squared, "{classes} {cells} {units:?}: {cost} {squared}");
            }
        }
    }
}

#[test]
fn released_sums_are_the_sums_and_the_noise_they_say() {
    let n = 400;
    let layout = Layout { numeric: 3, categorical: 0, features: 3 };
    let numbers = (0..n * 3).map(|i| ((i * 37 % 101) as f32 - 50.0) / 32.0).collect();
    let rows = Rows::new(layout, n, numbers, vec![]).unwrap();
    let capped = Capped::new(Features::whole(&rows), None).unwrap();
    for count in [2_usize, 4] {
        let classes: Vec<u16> = (0..n).map(|i| (i % (count + 1)) as u16).collect();
        let stored =
            classes.iter().map(|&s| if usize::from(s) == count { MISSING_CLASS } else { s });
        let mu = 1.0;
        let ids: Vec<u64> = (100..100 + n as u64).collect();
        let mut distances = Vec::new();
        for seed in 0..200 {
            let mut division = exact(stored.clone().collect(), count, mu);
            let mut noise = SimulatedNoise::new(seed, 1, 0);
            let asking = [(&capped, Who::Ids(&ids, 0))];
            let released = division.release_features(&asking, request(1), &mut noise).unwrap();
            assert_eq!(released.noise_kind(), Some(NoiseKind::Simulation));
            let FeatureSums { sums, deviation } = &released.read().unwrap().silos[0];
            let variance = capped.message(sums.clone(), *deviation).variance;
            let expected = if count == 2 { 1.0 } else { 2.0 } / (mu * mu);
            assert!((variance / expected - 1.0).abs() < 0.01, "{variance}");
            for (class, sum) in sent(count).zip(sums) {
                let share = |s: u16| match usize::from(s) {
                    s if s == count => 0.0,
                    s => f64::from(u8::from(s == class)) - 1.0 / count as f64,
                };
                let own: Vec<f64> =
                    classes.iter().zip(capped.counts()).map(|(&s, c)| share(s) * c).collect();
                let mut rest: Vec<f64> =
                    sum.iter().zip(capped.features().sum(&own)).map(|(a, b)| a - b).collect();
                capped.whitening().whiten(&mut rest);
                distances.extend(rest.iter().map(|value| value / deviation));
            }
        }
        // Standard normals: mean and variance within six standard errors, which other seeds
        // exceed once in 2e8 comparisons.
        let m = distances.len() as f64;
        let mean = distances.iter().sum::<f64>() / m;
        let variance = distances.iter().map(|d| d * d).sum::<f64>() / m;
        assert!(mean.abs() < 6.0 / m.sqrt(), "{mean}");
        assert!((variance - 1.0).abs() < 6.0 * (2.0 / m).sqrt(), "{variance}");
    }
}

#[test]
fn a_reply_does_not_tell_what_is_held() {
    let rows = rows();
    let capped = Capped::new(Features::whole(&rows), None).unwrap();
    let reply = |ids: &[u64]| {
        let mut division = exact(vec![1, 0, 1, 1, 0, 0], 2, 0.5);
        let asking = [(&capped, Who::Ids(ids, 0))];
        let mut noise = SimulatedNoise::new(1, 1, 0);
        let released = division.release_features(&asking, request(1), &mut noise).unwrap();
        let sums = released.read().unwrap().silos[0].clone();
        (sums.deviation, sums.sums[0].len(), division.spent(), sums)
    };
    let all = reply(&[100, 101, 102, 103, 104, 105]);
    let one = reply(&[100, 901, 902, 903, 904, 905]);
    let none = reply(&[900, 901, 902, 903, 904, 905]);
    assert_eq!((all.0, all.1, all.2), (none.0, none.1, none.2));
    assert_eq!((one.0, one.1, one.2), (none.0, none.1, none.2));
    assert_ne!(all.3, none.3);
}

#[test]
fn silos_with_disjoint_records_are_charged_once_and_a_second_reply_is_refused() {
    let rows = rows();
    let capped = Capped::new(Features::whole(&rows), None).unwrap();
    let mut division = exact(vec![1, 0, 1, 1, 0, 0], 2, 0.5);
    let (first, second): (Vec<u64>, Vec<u64>) = ((100..106).collect(), (900..906).collect());
    let silos = [(&capped, Who::Ids(&first, 0)), (&capped, Who::Ids(&second, 0))];
    let mut noise = SimulatedNoise::new(1, 1, 0);
    let released = division.release_features(&silos, request(1), &mut noise).unwrap();
    assert_eq!(released.read().unwrap().silos.len(), 2);
    assert!((division.spent().unwrap().value() - 0.5).abs() < 1e-6);
    let again = division.release_features(&silos, request(2), &mut noise);
    assert!(matches!(again, Err(AttributesDivisionError::Refused(_))));
}

#[test]
fn open_terms_release_the_sums_themselves() {
    let rows = rows();
    let capped = Capped::new(Features::whole(&rows), None).unwrap();
    let mut division = exact(vec![1, 0, 1, 1, 0, 0], 2, 0.5);
    let nothing = offer(Claim::Nothing, 0.0, 0.0);
    division.open(&nothing, Terms::Open, Accounts::One).unwrap();
    let ids: Vec<u64> = (100..106).collect();
    let mut noise = SimulatedNoise::new(1, 1, 0);
    let asking = [(&capped, Who::Ids(&ids, 0))];
    let released = division.release_features(&asking, request(1), &mut noise).unwrap();
    assert_eq!(released.noise_kind(), None);
    let own: Vec<f64> = [0.5, -0.5, 0.5, 0.5, -0.5, -0.5]
        .iter()
        .zip(capped.counts())
        .map(|(share, count)| share * count)
        .collect();
    assert_eq!(released.read().unwrap().silos[0].sums, [capped.features().sum(&own)]);
}

/// A unit with rows in two silos moves both messages, and pays for both.
#[test]
fn a_unit_in_two_silos_pays_for_both() {
    let rows = rows();
    let capped = Capped::new(Features::whole(&rows), None).unwrap();
    let ids = [vec![100, 101, 102, 103, 104, 105], vec![106, 107, 108, 109, 110, 111]];
    let silos = [(&capped, Who::Ids(&ids[0], 0)), (&capped, Who::Ids(&ids[1], 0))];
    let cost = |units: &[u32]| {
        let mut division = holder(vec![1; 12], 2, 0.5, units);
        let (terms, list) = (division.terms().clone(), division.store().units().clone());
        let price = price(&terms, 2, &list, &silos, request(1)).unwrap();
        let sigma = price.asked().silos[0].noise.unwrap().sigma;
        let paid = price.reserve(division.store(), &mut Silence::default()).unwrap();
        drop(paid);
        sigma as f64
    };
    let apart: Vec<u32> = (0..12).collect();
    let together: Vec<u32> = (0..12).map(|record| record % 6).collect();
    let ratio = cost(&together) / cost(&apart);
    assert!((ratio / 2_f64.sqrt() - 1.0).abs() < 1e-6, "{ratio}");
}
