//! Randomised response: hostile epsilons, any number of classes, units of many rows.
//!
//! The law of an answer is counted exactly over all `2^64` noise numbers; the real division is then
//! asked with one of them, to see that it answers by that law and that nobody else's answer moves.

use steffle_attributes::{
    Attributes, AttributesDivision, ClassRelease, RandomisedResponse, Sensitive, Terms, UnitList,
};
use steffle_model::record::MISSING_CLASS;
use steffle_privacy::Epsilon;
use steffle_privacy::ledger::{Accounts, Claim};

use super::Asked;
use super::hostile::Adversary;
use crate::division::attacks::fixture::{Silence, offer, request};

pub(super) fn ask(number: u64) -> Asked {
    let mut adversary = Adversary::new(number, 6);
    let epsilon = match adversary.below(3) {
        0 => adversary.number(),
        1 => adversary.within(60.0).abs(),
        _ => 10.0_f64.powf(4.0 * adversary.ordinary() - 2.0),
    };
    let classes = adversary.one_of(&[2, 2, 3, 5, 17, 200]);
    let response = RandomisedResponse::new(Epsilon::try_from(epsilon).ok()?, classes).ok()?;

    let records = if adversary.chance(60) { 1000 } else { 1 + adversary.below(8) };
    let units = 1 + adversary.below(records);
    let unit_of: Vec<u32> = (0..records).map(|row| (row % units) as u32).collect();
    let own: Vec<u16> = (0..units).map(|_| adversary.below(classes + 1) as u16).collect();
    let victim = adversary.below(units);
    // Few values of many classes: the law knows no more than same, other and missing.
    let values = [0, classes / 2, classes - 1, classes];
    let known = |class: usize| if class >= classes { MISSING_CLASS } else { class as u16 };

    let mut answers = Vec::new();
    for &value in &values {
        let class = |unit: usize| if unit == victim { value } else { usize::from(own[unit]) };
        let held = unit_of.iter().map(|&unit| known(class(unit as usize))).collect();
        let ids: Vec<u64> = (0..records as u64).collect();
        let attributes = Attributes::new(ids.clone(), Sensitive::new(held), classes).unwrap();
        let list = UnitList::index(ids.into_iter().zip(unit_of.iter().copied()));
        let mut holder = AttributesDivision::by_id(attributes, list);
        // What the store granted is what it charges: an offer of another epsilon is refused.
        let granted = offer(Claim::Pure, response.epsilon(), 0.0);
        holder.open(&granted, Terms::Open, Accounts::One).unwrap();
        let release = ClassRelease::Randomised(response);
        let mut noise = Silence::default();
        let released = holder.release_classes(release, request(number), &mut noise).unwrap();
        let answer = released.read().unwrap().classes;
        let of_victim: Vec<u16> = (victim..records).step_by(units).map(|row| answer[row]).collect();
        assert!(of_victim.iter().all(|z| *z == of_victim[0]), "{number}: a unit answers twice");
        let others: Vec<u16> =
            (0..records).filter(|row| row % units != victim).map(|row| answer[row]).collect();
        answers.push((of_victim[0], others));
    }
    assert!(answers.iter().all(|(_, others)| *others == answers[0].1), "{number}: others move");

    let laws: Vec<Vec<u128>> = values.iter().map(|&value| response.law(known(value))).collect();
    // An answer that its law gives no number at all cannot have been said.
    let said = answers.iter().zip(&laws).all(|((z, _), law)| law[usize::from(*z)] > 0);
    assert!(said, "{number}: an answer outside of its law");
    let mut largest = 0.0_f64;
    for (law, other) in laws.iter().flat_map(|a| laws.iter().map(move |b| (a, b))) {
        for (&likely, &less) in law.iter().zip(other) {
            largest = largest.max((likely as f64 / less as f64).ln());
        }
    }
    Some(largest / response.epsilon())
}
