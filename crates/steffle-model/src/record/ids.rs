//! Universal record ids.

use std::sync::Arc;

/// Record ids in the order of their records; clones share them.
///
/// Ids that count on, as those of a table without ids of its own do, are not kept one by one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ids(Kept);

// Whatever counts on is never listed, so that equal ids are equal values.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kept {
    Counted { first: u64, count: usize },
    Listed(Arc<[u64]>),
}

impl Ids {
    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        match &self.0 {
            Kept::Counted { count, .. } => *count,
            Kept::Listed(ids) => ids.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The id of the record at a place, if there is one.
    #[inline]
    pub fn get(&self, place: usize) -> Option<u64> {
        (place < self.len()).then(|| self.at(place))
    }

    /// The same of a place where there is one.
    #[inline]
    fn at(&self, place: usize) -> u64 {
        match &self.0 {
            Kept::Counted { first, .. } => first + place as u64,
            Kept::Listed(ids) => ids[place],
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        (0..self.len()).map(|place| self.at(place))
    }

    /// A list of them.
    pub fn to_vec(&self) -> Vec<u64> {
        self.iter().collect()
    }

    /// An id that stands twice, if one does.
    pub fn repeated(&self) -> Option<u64> {
        let Kept::Listed(ids) = &self.0 else { return None };
        // Ids that rise are looked at where they are.
        if ids.is_sorted_by(|a, b| a < b) {
            return None;
        }
        let mut sorted = ids.to_vec();
        sorted.sort_unstable();
        sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
    }
}

impl From<Vec<u64>> for Ids {
    fn from(ids: Vec<u64>) -> Self {
        let next = |pair: &[u64]| pair[0].checked_add(1) == Some(pair[1]);
        if ids.windows(2).all(next) {
            let first = ids.first().copied().unwrap_or(0);
            return Self(Kept::Counted { first, count: ids.len() });
        }
        Self(Kept::Listed(ids.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_what_was_listed() {
        let last = u64::MAX;
        for list in [
            vec![],
            vec![7],
            vec![7, 8, 9],
            vec![7, 9],
            vec![last - 1, last],
            vec![last, 0],
            vec![3, 2],
        ] {
            let ids = Ids::from(list.clone());
            assert_eq!(
                (ids.to_vec(), ids.len(), ids.is_empty()),
                (list.clone(), list.len(), list.is_empty())
            );
            assert!(list.iter().enumerate().all(|(place, id)| ids.get(place) == Some(*id)));
            assert_eq!(
                (ids.repeated(), ids == Ids::from(vec![7, 8, 9])),
                (None, list == [7, 8, 9])
            );
        }
        assert_eq!((Ids::from(vec![7, 8]).get(2), Ids::from(vec![8, 7]).get(2)), (None, None));
        assert_eq!(Ids::from(vec![5, 9, 2, 9]).repeated(), Some(9));
    }
}
