//! Counts of decisions: hostile cells, decisions, ids and units.

use steffle_attributes::attack::{Exact, counts as counts_of, offer, request};
use steffle_attributes::{
    Attributes, AttributesDivision, Decided, Sensitive, Share, Terms, UnitList,
};
use steffle_model::record::MISSING_CLASS;
use steffle_privacy::ledger::{Accounts, Claim};

use super::Asked;
use super::hostile::Adversary;
use crate::division::{NO_CELL, Who};

pub(super) fn ask(number: u64) -> Asked {
    let mut adversary = Adversary::new(number, 7);
    let records = if adversary.chance(60) { 1000 } else { 1 + adversary.below(9) };
    let (cells, columns) = (1 + adversary.below(3), 1 + adversary.below(4));
    let mut word = |end: usize| match adversary.below(200) {
        0 => adversary.bits() as u16,
        1 => NO_CELL,
        _ => adversary.below(end) as u16,
    };
    let cell_of: Vec<u16> = (0..records).map(|_| word(cells)).collect();
    let decided: Vec<u16> = (0..records).map(|_| word(columns)).collect();
    let mut ids: Vec<u64> = (0..records as u64).collect();
    let people = 1 + adversary.below(records);
    let mut units: Vec<u32> = (0..records).map(|_| adversary.below(people) as u32).collect();
    (0..people).for_each(|unit| units[unit] = unit as u32);
    let list = UnitList::index(ids.iter().copied().zip(units.iter().copied()));
    if adversary.chance(50) {
        ids[0] = adversary.below(2 * records) as u64;
    }
    let classes = adversary.one_of(&[2_u16, 2, 3, 5]);
    let victim = adversary.below(people) as u32;
    let mut class = |_| adversary.below(usize::from(classes) + 1) as u16;
    let by_unit: Vec<u16> = (0..people).map(&mut class).collect();
    let cut = adversary.below(records + 1);
    let terms = Terms::Exact(Share { round: adversary.one_of(&[0.5, 1e-6, 1e-2]), table: 0.0 });
    let part = |from: usize, to: usize| Decided {
        who: Who::Ids(&ids[from..to], from),
        cells: cells as u16,
        cell_of: &cell_of[from..to],
        columns: columns as u16,
        decided: &decided[from..to],
    };
    let asked = [part(0, cut), part(cut, records)];
    let mut priced = 0.0;
    let answers: Vec<Option<Exact>> = (0..=classes)
        .map(|own| {
            let class =
                |&unit: &u32| match if unit == victim { own } else { by_unit[unit as usize] } {
                    missing if missing >= classes => MISSING_CLASS,
                    class => class,
                };
            let (k, all) = (usize::from(classes), (0..records as u64).collect());
            let store = Sensitive::new(units.iter().map(class).collect());
            let attributes = Attributes::new(all, store, k).unwrap();
            let mut holder = AttributesDivision::by_id(attributes, list.clone());
            let offer = offer(Claim::Gaussian, 60.0, 1e-6);
            holder.open(&offer, terms.clone(), Accounts::One).unwrap();
            let (squared, exact) = counts_of(&mut holder, &list, &asked, request(number))?;
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
