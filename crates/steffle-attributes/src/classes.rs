//! A class per record instead of sums.

use std::collections::HashMap;

use steffle_model::record::Ids;
use steffle_privacy::ledger::{Charge, Cost, Kind, Refusal};
use steffle_wire::{Classes, Writer};

use super::door::{Held, Message, Price, Request, Unpriced, Work};
use super::room::Room;
use super::units::UnitList;
use super::{ClassRelease, PriceError};
use crate::noise::NoiseSource;

/// The message of methods that release every class once.
///
/// Each class is said once per unit, as it is or by randomised response.
#[derive(Debug)]
pub enum ClassMessage {}

impl Message for ClassMessage {}

/// What the price of a release of classes fixed.
///
/// Nothing else may be used when the classes are read.
#[derive(Debug)]
pub struct AskedClasses {
    release: ClassRelease,
    ids: Vec<u64>,
    /// Per record the place of the one that speaks for its unit; `None` for itself.
    speakers: Option<Vec<u32>>,
}

/// What a release of the classes of these records costs. Reads no `s`.
pub(super) fn price(
    release: ClassRelease,
    classes: usize,
    ids: &Ids,
    units: &UnitList,
    request: Request,
) -> Result<Price<ClassMessage>, PriceError> {
    let cost = match release {
        ClassRelease::Revealed => Cost::Revealed,
        ClassRelease::Randomised(response) if response.classes() == classes => {
            Cost::Pure { epsilon: response.epsilon() }
        }
        ClassRelease::Randomised(_) => {
            return Err(PriceError::Bound("another number of classes than the store"));
        }
    };
    let asked = AskedClasses { release, ids: ids.to_vec(), speakers: units.speakers(ids) };
    Ok(Price::new(asked, cost, Charge::All, request))
}

impl Work for ClassMessage {
    const KIND: Kind = Kind::Classes;
    type Asked = AskedClasses;
    /// 64 bits per record, the same for all records of a unit.
    type Drawn = Vec<u64>;
    type Sums = Vec<u16>;
    type Chunk<'a> = ();
    type Reply = Classes;

    fn draw(
        asked: &AskedClasses,
        source: &mut impl NoiseSource,
        _: &mut Room,
    ) -> Result<Vec<u64>, Refusal> {
        let mut thrown: HashMap<u32, u64> = HashMap::new();
        let mut bits = |place: usize| match &asked.speakers {
            None => source.bits(),
            Some(speakers) => *thrown.entry(speakers[place]).or_insert_with(|| source.bits()),
        };
        Ok(match asked.release {
            ClassRelease::Revealed => Vec::new(),
            ClassRelease::Randomised(_) => (0..asked.ids.len()).map(&mut bits).collect(),
        })
    }

    fn add(
        held: &Held<'_>,
        asked: &AskedClasses,
        drawn: &Vec<u64>,
        (): (),
        answers: &mut Vec<u16>,
    ) {
        *answers = match asked.release {
            ClassRelease::Revealed => held.all().to_vec(),
            ClassRelease::Randomised(response) => {
                let pairs = held.all().iter().zip(drawn);
                pairs.map(|(&class, &bits)| response.answer(class, bits)).collect()
            }
        };
    }

    fn finish(
        asked: Box<AskedClasses>,
        _: Vec<u64>,
        answers: Vec<u16>,
        (writer, _): (&mut Writer, &mut Room),
    ) -> Result<bool, Unpriced> {
        let AskedClasses { release, ids, .. } = *asked;
        if answers.len() != ids.len() {
            return Err(Unpriced);
        }
        Classes { ids, classes: answers }.write(writer);
        Ok(release != ClassRelease::Revealed)
    }
}

#[cfg(test)]
mod tests {
    use steffle_privacy::ledger::{Accounts, Claim};

    use super::super::{
        Attributes, AttributesDivision, MISSING_CLASS, RandomisedResponse, Sensitive, Terms,
    };
    use super::*;
    use crate::attack::{offer, request};
    use crate::noise::{NoiseKind, SimulatedNoise};

    fn response(epsilon: f64) -> RandomisedResponse {
        RandomisedResponse::new(epsilon.try_into().unwrap(), 3).unwrap()
    }

    /// A division of these classes, and what it was granted.
    fn division(
        classes: Vec<u16>,
        units: &[u32],
        claim: Claim,
        epsilon: f64,
    ) -> AttributesDivision {
        let ids: Vec<u64> = (0..classes.len() as u64).collect();
        let attributes = Attributes::new(ids.clone(), Sensitive::new(classes), 3).unwrap();
        let units = UnitList::index(ids.into_iter().zip(units.iter().copied()));
        let mut division = AttributesDivision::by_id(attributes, units);
        division.open(&offer(claim, epsilon, 0.0), Terms::Open, Accounts::One).unwrap();
        division
    }

    #[test]
    fn answers_have_the_law_they_claim() {
        let n = 90_000;
        let units: Vec<u32> = (0..n).collect();
        let classes = (0..n).map(|i| (i % 3) as u16).collect();
        let mut division = division(classes, &units, Claim::Pure, 1.0);
        let release = ClassRelease::Randomised(response(1.0));
        let mut noise = SimulatedNoise::new(1, 2, 3);
        let released = division.release_classes(release, request(1), &mut noise).unwrap();
        assert_eq!(released.noise_kind(), Some(NoiseKind::Simulation));
        let answers = released.read().unwrap().classes;
        let kept = answers.iter().zip(0..).filter(|&(&z, i)| z == (i % 3) as u16);
        let share = kept.count() as f64 / f64::from(n);
        let expected = 1.0_f64.exp() / (1.0_f64.exp() + 2.0);
        // Fixed seed; six standard errors, which another seed exceeds once in 5e8.
        let error = (expected * (1.0 - expected) / f64::from(n)).sqrt();
        assert!((share - expected).abs() < 6.0 * error, "{share} {expected}");
        // The budget is spent: another answer is refused, the same one is not.
        let again = division.release_classes(release, request(2), &mut noise);
        assert!(again.unwrap_err().to_string().contains("left"));
        let same = division.release_classes(release, request(1), &mut noise).unwrap();
        assert_eq!(same.read().unwrap().classes, answers);
    }

    #[test]
    fn a_unit_answers_once() {
        let units: Vec<u32> = (0..300).map(|row| row / 10).collect();
        // The first row of each unit has a class, the others another.
        let class = |row: u16| if row.is_multiple_of(10) { row / 10 % 3 } else { 2 };
        let mut division = division((0..300).map(class).collect(), &units, Claim::Pure, 0.1);
        let release = ClassRelease::Randomised(response(0.1));
        let mut noise = SimulatedNoise::new(1, 2, 3);
        let released = division.release_classes(release, request(1), &mut noise).unwrap();
        let answers = released.read().unwrap().classes;
        for rows in answers.chunks(10) {
            assert!(rows.iter().all(|&answer| answer == rows[0]));
        }
        // Thirty answers at epsilon 0.1 are all alike with probability below 1e-13.
        assert!(answers.iter().any(|&answer| answer != answers[0]));
    }

    #[test]
    fn revealed_classes_say_that_nothing_protects_them() {
        let mut division = division(vec![0, 2, MISSING_CLASS], &[0, 1, 2], Claim::Nothing, 0.0);
        let mut noise = SimulatedNoise::new(1, 2, 3);
        let revealed = ClassRelease::Revealed;
        let released = division.release_classes(revealed, request(1), &mut noise).unwrap();
        assert_eq!(released.noise_kind(), None);
        assert_eq!(released.read().unwrap().classes, [0, 2, MISSING_CLASS]);
        // Who claims something reveals nothing.
        let mut division = self::division(vec![0, 2, 1], &[0, 1, 2], Claim::Pure, 1.0);
        assert!(division.release_classes(revealed, request(1), &mut noise).is_err());
    }
}
