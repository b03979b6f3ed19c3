//! One-shot releases: hostile Gram matrices, caps, rows and units.

use steffle_attributes::attack::{Exact, features as features_of, offer, request};
use steffle_attributes::{
    Attributes, AttributesDivision, Capped, Sensitive, Share, Terms, UnitList, mean_gram,
};
use steffle_model::linear::{Features, Symmetric};
use steffle_model::record::{Layout, MISSING_CLASS, Rows};
use steffle_privacy::ledger::{Accounts, Claim};

use super::Asked;
use super::hostile::Adversary;
use crate::division::Who;

const LAYOUT: Layout = Layout { numeric: 2, categorical: 1, features: 4 };

pub(super) fn ask(number: u64) -> Asked {
    let mut adversary = Adversary::new(number, 5);
    let records = if adversary.chance(60) { 1000 } else { 2 + adversary.below(8) };
    let numeric = (0..2 * records).map(|_| match adversary.below(8) {
        0 => adversary.within(4096.0) as f32,
        _ => (3.0 * adversary.ordinary()) as f32,
    });
    let numeric = numeric.collect();
    let codes = (0..records).map(|_| 2 + adversary.below(2) as u32).collect();
    let rows = Rows::new(LAYOUT, records, numeric, codes).ok()?;
    let cells = 1 + adversary.below(4);
    let cell_of: Vec<u16> = (0..records).map(|_| adversary.below(cells + 1) as u16).collect();
    // Squares and levels of cells among them, rounded like all rows.
    let features = Features::released(&rows, &cell_of, cells).ok()?;
    let classes = adversary.one_of(&[2_u16, 2, 3, 5]);
    let units: Vec<u32> = if adversary.chance(3) {
        let count = 1 + adversary.below(records.min(3));
        let mut units: Vec<u32> = (0..records).map(|_| adversary.below(count) as u32).collect();
        (0..count).for_each(|unit| units[unit] = unit as u32);
        units
    } else {
        (0..records as u32).collect()
    };
    let gram = gram(&mut adversary, &features);
    let cap = match adversary.below(4) {
        0 => None,
        1 => Some(adversary.number()),
        _ => Some(adversary.within(1e12)),
    };
    let capped = Capped::with_gram(features, gram, Some(&units), |own| cap.unwrap_or(own)).ok()?;

    let victim = units[adversary.below(records)];
    let mut class = |_| adversary.below(usize::from(classes) + 1) as u16;
    let by_unit: Vec<u16> = (0..=*units.iter().max()?).map(&mut class).collect();
    let ids: Vec<u64> = (0..records as u64).collect();
    let share = Share { round: 0.5, table: 0.0 };
    let offer = offer(Claim::Gaussian, 60.0, 1e-6);
    let mut priced = 0.0;
    let answers: Vec<Option<Exact>> = (0..=classes)
        .map(|own| {
            let class =
                |&unit: &u32| match if unit == victim { own } else { by_unit[unit as usize] } {
                    missing if missing >= classes => MISSING_CLASS,
                    class => class,
                };
            let store = units.iter().map(class).collect();
            let attributes =
                Attributes::new(ids.clone(), Sensitive::new(store), usize::from(classes)).unwrap();
            let list = UnitList::index(ids.iter().copied().zip(units.iter().copied()));
            let mut holder = AttributesDivision::by_id(attributes, list.clone());
            holder.open(&offer, Terms::Exact(share), Accounts::One).unwrap();
            let asking = (&capped, Who::Ids(&ids, 0));
            let (squared, exact) = features_of(&mut holder, &list, asking, request(number))?;
            priced = squared;
            Some(exact)
        })
        .collect();
    let refused = answers.iter().filter(|answer| answer.is_none()).count();
    assert!(refused == 0 || refused == answers.len(), "{number}: a refusal tells the class");
    let answers: Vec<Exact> = answers.into_iter().collect::<Option<_>>()?;
    let mut worst = 0.0_f64;
    for (at, first) in answers.iter().enumerate() {
        for second in &answers[..at] {
            worst = worst.max(first.squared_distance(second));
        }
    }
    Some(if worst == 0.0 { 0.0 } else { worst / priced })
}

/// The own one, a random positive one, a chain whose inverse grows by 2^26 a step, or anything.
fn gram(adversary: &mut Adversary, features: &Features<'_>) -> Symmetric {
    let size = features.size();
    match adversary.below(4) {
        0 => mean_gram(features),
        1 | 2 => {
            let chain = adversary.chance(2);
            let lower = |own: &mut Adversary, i: usize, j: usize| match (i == j, chain) {
                (true, _) => 1.0,
                (false, true) if i == j + 1 => (own.below(27) as f64).exp2(),
                (false, true) => 0.0,
                (false, false) => own.ordinary() * 10.0_f64.powf(4.0 * own.ordinary()),
            };
            let mut l = vec![0.0; size * size];
            for i in 0..size {
                (0..=i).for_each(|j| l[i * size + j] = lower(adversary, i, j));
            }
            Symmetric::from_lower(size, |i, j| {
                (0..size).map(|k| l[i * size + k] * l[j * size + k]).sum()
            })
        }
        _ => {
            let numbers: Vec<f64> = (0..size * size).map(|_| adversary.number()).collect();
            Symmetric::from_lower(size, |i, j| numbers[i * size + j])
        }
    }
}
