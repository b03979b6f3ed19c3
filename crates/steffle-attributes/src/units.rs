//! Who is one unit, and in which public block it is: the store's own list, not what is announced.

use std::collections::HashMap;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use steffle_model::record::Ids;
use steffle_privacy::ledger::Roll;
use steffle_wire::Batch;

use super::PriceError;

/// The unit of every record that can be asked about.
///
/// A holder elsewhere has the list over the whole universal index, records that others hold
/// included, so that nothing in it tells holdings. It is the holder's own: silos' announcements are
/// compared with it, never believed. A unit announced in two halves, or by two silos, is still one,
/// and pays once for what both halves move together.
#[derive(Debug, Clone)]
pub struct UnitList(Arc<List>, Option<Arc<People>>);

/// The lasting ids of units, where a column names them.
#[derive(Debug)]
enum People {
    /// Of the unit of every position.
    Positions(Vec<u64>),
    /// Of the unit of every record id.
    Index(HashMap<u64, u64>),
}

#[derive(Debug, Clone)]
enum List {
    /// Asked by position, every record its own.
    Each(usize),
    /// Asked by position.
    Positions { of: Vec<u32>, count: usize },
    /// Asked by id.
    Index {
        of: HashMap<u64, u32>,
        /// Per unit the id that decides its block: the smallest when the unit entered.
        keys: Vec<u64>,
    },
}

/// The units of the records that a price is about, by position or by place in the announcement.
#[derive(Debug, Clone)]
pub(super) enum UnitsOf<'a> {
    /// Every record its own.
    Each(usize),
    /// Listed.
    Listed {
        /// The unit of each.
        of: std::borrow::Cow<'a, [u32]>,
        /// Units in all.
        count: usize,
    },
}

impl UnitList {
    /// For a division beside its records: the unit of every record, or each its own.
    pub fn beside(records: usize, units: Option<&[u32]>) -> Self {
        let list = match units {
            None => List::Each(records),
            Some(units) => List::Positions {
                count: units.iter().max().map_or(0, |&last| last as usize + 1),
                of: units.to_vec(),
            },
        };
        Self(Arc::new(list), None)
    }

    /// The same with the lasting id of the unit of every position.
    #[must_use]
    pub fn named(self, people: Option<&[u64]>) -> Self {
        Self(self.0, people.map(|people| Arc::new(People::Positions(people.to_vec()))))
    }

    /// For a holder elsewhere: every id of the index with the lasting id of its unit.
    pub fn of_people(people: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut numbers: HashMap<u64, u32> = HashMap::new();
        let people: Vec<(u64, u64)> = people.into_iter().collect();
        let mut number = |&(id, person): &(u64, u64)| {
            let next = numbers.len() as u32;
            (id, *numbers.entry(person).or_insert(next))
        };
        let list = Self::index(people.iter().map(&mut number).collect::<Vec<_>>());
        Self(list.0, Some(Arc::new(People::Index(people.into_iter().collect()))))
    }

    /// For a holder elsewhere: every id of the index with the number of its unit; units are
    /// numbered from 0 without gaps.
    pub fn index(ids: impl IntoIterator<Item = (u64, u32)>) -> Self {
        let of: HashMap<u64, u32> = ids.into_iter().collect();
        let count = of.values().max().map_or(0, |&last| last as usize + 1);
        let mut keys = vec![u64::MAX; count];
        for (&id, &unit) in &of {
            let key = &mut keys[unit as usize];
            *key = id.min(*key);
        }
        Self(Arc::new(List::Index { of, keys }), None)
    }

    /// Whether it lists a record.
    pub(super) fn lists(&self, id: u64) -> bool {
        matches!(&*self.0, List::Index { of, .. } if of.contains_key(&id))
    }

    /// The records on a holder's list, in ascending order.
    pub fn ids(&self) -> Vec<u64> {
        let List::Index { of, .. } = &*self.0 else { return Vec::new() };
        let mut ids: Vec<u64> = of.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    /// The hash of a holder's list: who is on it, and which records are one unit, whatever its order.
    pub fn digest(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(b"steffle list of people 1");
        if let List::Index { of, keys } = &*self.0 {
            for id in self.ids() {
                let unit = of.get(&id).and_then(|&unit| keys.get(unit as usize));
                hash.update(id.to_le_bytes());
                hash.update(unit.copied().unwrap_or(id).to_le_bytes());
                if let Some(People::Index(people)) = self.1.as_deref() {
                    hash.update(people.get(&id).copied().unwrap_or_default().to_le_bytes());
                }
            }
        }
        hash.finalize().into()
    }

    /// Compares what a silo says about its records with a holder's own list, which alone is believed:
    /// refuses a record that is not on it, records of two people that the silo takes for one, and
    /// records of one that it takes for two. `units` numbers the unit of each record, where a unit can
    /// have several.
    pub fn compare(&self, ids: &[u64], units: Option<&[u32]>) -> Result<(), PriceError> {
        let listed = self.announced(ids)?;
        let UnitsOf::Listed { of, .. } = &listed else { return Ok(()) };
        let said = |at: usize| units.map_or(at as u32, |units| units[at]);
        let (mut own_of, mut said_of) = (HashMap::new(), HashMap::new());
        for (at, &own) in of.iter().enumerate() {
            if *own_of.entry(said(at)).or_insert(own) != own
                || *said_of.entry(own).or_insert(said(at)) != said(at)
            {
                return Err(PriceError::Announced(
                    "a silo says otherwise than the holder's own list which records are one person",
                ));
            }
        }
        Ok(())
    }

    /// The records of a store with these ids that it can be asked about, for its ledger. A holder
    /// elsewhere charges the whole index, so that nothing tells what it holds.
    pub(super) fn roll(&self, ids: &Ids) -> Roll {
        match &*self.0 {
            List::Each(_) => {
                Roll { ids: ids.to_vec(), units: Vec::new(), people: self.people(&[]) }
            }
            List::Positions { of, .. } => {
                Roll { ids: ids.to_vec(), units: of.clone(), people: self.people(&[]) }
            }
            List::Index { of, .. } => {
                let mut all: Vec<(u64, u32)> = of.iter().map(|(&id, &unit)| (id, unit)).collect();
                all.sort_unstable();
                let (ids, units): (Vec<u64>, Vec<u32>) = all.into_iter().unzip();
                let people = self.people(&ids);
                Roll { ids, units, people }
            }
        }
    }

    /// The lasting ids of the units of all positions, or of these records; none where nobody named them.
    fn people(&self, ids: &[u64]) -> Vec<u64> {
        match self.1.as_deref() {
            None => Vec::new(),
            Some(People::Positions(people)) => people.clone(),
            Some(People::Index(people)) => {
                ids.iter().map(|id| people.get(id).copied().unwrap_or_default()).collect()
            }
        }
    }

    /// Units in all.
    pub fn count(&self) -> usize {
        match &*self.0 {
            List::Each(count) | List::Positions { count, .. } => *count,
            List::Index { keys, .. } => keys.len(),
        }
    }

    /// Whether some unit has several records.
    pub(super) fn joins_records(&self) -> bool {
        match &*self.0 {
            List::Each(_) => false,
            List::Positions { of, count } => of.len() != *count,
            List::Index { of, keys } => {
                of.len() != keys.iter().filter(|&&key| key != u64::MAX).count()
            }
        }
    }

    /// The units of a store that is asked by position; refuses one that is asked by id.
    pub(super) fn of_positions(&self) -> Result<UnitsOf<'_>, PriceError> {
        match &*self.0 {
            List::Each(count) => Ok(UnitsOf::Each(*count)),
            List::Positions { of, count } => Ok(UnitsOf::Listed { of: of.into(), count: *count }),
            List::Index { .. } => {
                Err(PriceError::Announced("this division is asked by id, not by position"))
            }
        }
    }

    /// The units of announced ids; refuses an id that the list does not have, and one that stands
    /// twice.
    pub(super) fn announced(&self, ids: &[u64]) -> Result<UnitsOf<'static>, PriceError> {
        let List::Index { of, keys } = &*self.0 else {
            return Err(PriceError::Announced("this division is asked by position, not by id"));
        };
        let unknown =
            PriceError::Announced("an announced record id is not in the holder's own list");
        let units: Option<Vec<u32>> = ids.iter().map(|id| of.get(id).copied()).collect();
        let units = units.ok_or(unknown)?;
        let mut sorted = ids.to_vec();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(PriceError::Announced("a record id was announced twice"));
        }
        Ok(UnitsOf::Listed { of: units.into(), count: keys.len() })
    }

    /// The one public block, out of `blocks`, that all these units are in, if there is one.
    pub(super) fn block(&self, units: &UnitsOf<'_>, blocks: u32) -> Option<u32> {
        let (List::Index { keys, .. }, UnitsOf::Listed { of, .. }) = (&*self.0, units) else {
            return None;
        };
        let block = |unit: &u32| Batch::block_with(keys[*unit as usize], blocks) as u32;
        let first = of.first().map(block)?;
        of.iter().all(|unit| block(unit) == first).then_some(first)
    }

    /// Per record of a store with these ids, the place of the record whose class is its unit's:
    /// that with the smallest id. `None` where every record is its own unit.
    pub(super) fn speakers(&self, ids: &Ids) -> Option<Vec<u32>> {
        let units: Vec<u32> = match &*self.0 {
            List::Each(_) => return None,
            List::Positions { of, .. } => of.clone(),
            // A division keeps the ids of its list alone.
            List::Index { of, .. } => {
                ids.iter().map(|id| of.get(&id).copied().unwrap_or(u32::MAX)).collect()
            }
        };
        let mut first: HashMap<u32, u32> = HashMap::new();
        for (place, (unit, id)) in (0..).zip(units.iter().zip(ids.iter())) {
            let known = first.entry(*unit).or_insert(place);
            if ids.get(*known as usize).is_some_and(|own| id < own) {
                *known = place;
            }
        }
        Some(units.iter().map(|unit| first[unit]).collect())
    }
}

impl UnitsOf<'_> {
    /// The same, on its own.
    pub(super) fn to_owned(&self) -> UnitsOf<'static> {
        match self {
            Self::Each(count) => UnitsOf::Each(*count),
            Self::Listed { of, count } => {
                UnitsOf::Listed { of: of.clone().into_owned().into(), count: *count }
            }
        }
    }

    /// Units in all.
    pub(super) fn count(&self) -> usize {
        match self {
            Self::Each(count) | Self::Listed { count, .. } => *count,
        }
    }

    /// The same groups, named by consecutive numbers in order of appearance.
    pub(super) fn renumbered(&self) -> Option<Vec<u32>> {
        let Self::Listed { of, .. } = self else { return None };
        let mut numbers = HashMap::new();
        let number = |unit: &u32| {
            let next = numbers.len() as u32;
            *numbers.entry(*unit).or_insert(next)
        };
        Some(of.iter().map(number).collect())
    }

    /// What was said of units, said of records.
    pub(super) fn by_record(&self, by_unit: Vec<bool>) -> Vec<bool> {
        match self {
            Self::Each(_) => by_unit,
            Self::Listed { of, .. } => of.iter().map(|&unit| by_unit[unit as usize]).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_announced_in_halves_is_in_one_block() {
        let block = |list: &UnitList, id: u64| {
            let announced = list.announced(&[id]).unwrap();
            list.block(&announced, 2).unwrap()
        };
        let alone = UnitList::index((0..20).zip(0..));
        let other = (1..20).find(|&id| block(&alone, id) != block(&alone, 0)).unwrap();
        // Two records of one unit, whose ids alone would put them into different blocks.
        let together = UnitList::index([(0, 0), (other, 0)]);
        assert_eq!(block(&together, other), block(&together, 0));
        let whole = together.announced(&[0, other]).unwrap();
        assert!(together.block(&whole, 2).is_some());
    }
}
