//! About whom a run is, and what each of them has spent in the life of the store.
//!
//! # Claim
//! The pots are kept for every unit, whenever its records joined and in whichever runs they were:
//! the squared costs (and epsilons, deltas) of all messages that depend on a unit's class sum to at
//! most the pot.
//!
//! # Proof
//! A run's messages depend on the classes of the records on its roll alone, and which records these
//! are is public. A grant takes its share from every unit on its roll, so that a unit's total is at
//! most the sum over the grants it was in of their whole shares while they are open, and of what
//! they keep once they are closed: the unit's own total where the grant had an account for it, that
//! of the dearest account elsewhere. A unit that is on no roll yet is in no message. An id belongs to
//! one unit for life, and so does the name of a person where a column names people: a new row of a
//! known person joins that person's account, also where all rows are new, and a roll that joins or
//! parts known people is refused. Tests: `tests::rolls`.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::budget::Taken;
use super::offer::Share;
use super::refusal::Refusal;

/// The records that a run is about, each with its unit.
///
/// Budgets are kept by record id, for life.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Roll {
    /// Record ids.
    #[serde(with = "super::packed")]
    pub ids: Vec<u64>,
    /// The number of every record's unit, from 0; empty where each is its own.
    #[serde(with = "super::packed", default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<u32>,
    /// The id of the person of every record, where a column names people: a person with other records in
    /// every run is one all the same. Empty where every record is its own person.
    #[serde(with = "super::packed", default, skip_serializing_if = "Vec::is_empty")]
    pub people: Vec<u64>,
}

/// Everybody who was ever on a roll.
#[derive(Debug, Default)]
pub(super) struct People {
    unit_of: HashMap<u64, u32>,
    /// The unit of every person whom a column named.
    person: HashMap<u64, u32>,
    /// What the closed grants of each unit keep.
    life: Vec<Taken>,
    rolls: Vec<Listed>,
}

/// A roll, and the unit behind every account of a grant that is about it.
#[derive(Debug)]
struct Listed {
    roll: Roll,
    /// `None` where a number stands for nobody.
    units: Vec<Option<u32>>,
}

impl Roll {
    /// One account per unit.
    pub(super) fn accounts(&self) -> usize {
        match self.units.iter().max() {
            None => self.ids.len(),
            Some(&last) => last as usize + 1,
        }
    }

    /// Refuses names of people that are not those of its units: two people in one, or one in two.
    fn check_people(&self) -> Result<(), Refusal> {
        if self.people.is_empty() {
            return Ok(());
        }
        if self.people.len() != self.ids.len() {
            return Err(Refusal::Roll("it does not name the person of every record"));
        }
        let (mut person_of, mut unit_of) = (HashMap::new(), HashMap::new());
        for (at, &person) in self.people.iter().enumerate() {
            let unit = self.unit(at);
            if *person_of.entry(unit).or_insert(person) != person
                || *unit_of.entry(person).or_insert(unit) != unit
            {
                return Err(Refusal::Roll("its units are not the people that it names"));
            }
        }
        Ok(())
    }

    /// The number of the unit of a record at a place.
    fn unit(&self, at: usize) -> usize {
        self.units.get(at).map_or(at, |&unit| unit as usize)
    }
}

impl People {
    /// The number of a roll that was written down before.
    pub(super) fn known(&self, roll: &Roll) -> Option<u32> {
        self.rolls.iter().zip(0..).find(|(listed, _)| listed.roll == *roll).map(|(_, at)| at)
    }

    /// The unit that every account of a roll stands for, as far as its records are known. Refuses a
    /// roll that names a record twice, or that joins or parts units.
    pub(super) fn check(&self, roll: &Roll) -> Result<Vec<Option<u32>>, Refusal> {
        let refused = |why| Err(Refusal::Roll(why));
        if !roll.units.is_empty() && roll.units.len() != roll.ids.len() {
            return refused("it does not name the unit of every record");
        }
        roll.check_people()?;
        let mut units: Vec<Option<u32>> = vec![None; roll.accounts()];
        for (at, id) in roll.ids.iter().enumerate() {
            let stands_for = &mut units[roll.unit(at)];
            let person = roll.people.get(at).and_then(|person| self.person.get(person));
            for &known in self.unit_of.get(id).into_iter().chain(person) {
                if *stands_for.get_or_insert(known) != known {
                    return refused("records of two people are one unit in it");
                }
            }
        }
        let mut seen = vec![false; self.life.len()];
        for unit in units.iter().flatten() {
            if std::mem::replace(&mut seen[*unit as usize], true) {
                return refused("records of one person are two units in it");
            }
        }
        let mut ids = roll.ids.clone();
        ids.sort_unstable();
        if ids.windows(2).any(|pair| pair[0] == pair[1]) {
            return refused("a record id stands on it twice");
        }
        Ok(units)
    }

    /// Puts a roll down, or refuses it and stays as it was.
    pub(super) fn enrol(&mut self, roll: &Roll) -> Result<(), Refusal> {
        let mut units = self.check(roll)?;
        for (at, &id) in roll.ids.iter().enumerate() {
            let next = self.life.len() as u32;
            let unit = *units[roll.unit(at)].get_or_insert(next);
            if unit == next {
                self.life.push(Taken::default());
            }
            self.unit_of.insert(id, unit);
            if let Some(&person) = roll.people.get(at) {
                self.person.insert(person, unit);
            }
        }
        self.rolls.push(Listed { roll: roll.clone(), units });
        Ok(())
    }

    /// The unit behind every account of a grant that is about a roll.
    pub(super) fn listed(&self, roll: u32) -> Option<&[Option<u32>]> {
        self.rolls.get(roll as usize).map(|listed| &listed.units[..])
    }

    /// Whether one of these people was ever named.
    pub(super) fn knows_person(&self, people: &[u64]) -> bool {
        people.iter().any(|person| self.person.contains_key(person))
    }

    /// Whether a record was ever on a roll.
    pub(super) fn knows(&self, id: u64) -> bool {
        self.unit_of.contains_key(&id)
    }

    /// Adds to the life of a roll's units what a closed grant keeps of each.
    pub(super) fn keep(&mut self, roll: u32, keeps: impl Fn(usize) -> Share) {
        let Some(listed) = self.rolls.get(roll as usize) else { return };
        for (account, unit) in listed.units.iter().enumerate() {
            if let Some(unit) = *unit {
                let life = &mut self.life[unit as usize];
                *life = life.and(keeps(account));
            }
        }
    }

    /// The most that any of these units (of all without a list) has taken from each pot, if `open` are
    /// the rolls and shares of the open grants.
    pub(super) fn most_taken(&self, about: Option<&[Option<u32>]>, open: &[(u32, Share)]) -> Taken {
        let mut totals = self.life.clone();
        for &(roll, share) in open {
            for unit in self.listed(roll).unwrap_or_default().iter().flatten() {
                let total = &mut totals[*unit as usize];
                *total = total.and(share);
            }
        }
        match about {
            None => totals.into_iter().fold(Taken::default(), Taken::most),
            Some(units) => {
                let totals = units.iter().flatten().map(|unit| totals[*unit as usize]);
                totals.fold(Taken::default(), Taken::most)
            }
        }
    }

    /// Units that were ever on a roll.
    pub(super) fn units(&self) -> usize {
        self.life.len()
    }

    /// Records that were ever on a roll.
    pub(super) fn ids(&self) -> impl Iterator<Item = u64> + '_ {
        self.unit_of.keys().copied()
    }

    /// Records and units of a roll.
    pub(super) fn size(&self, roll: u32) -> Option<(usize, usize)> {
        let listed = self.rolls.get(roll as usize)?;
        Some((listed.roll.ids.len(), listed.units.iter().flatten().count()))
    }
}
