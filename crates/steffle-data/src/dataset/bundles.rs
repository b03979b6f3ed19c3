//! Rows that must stay together.

use std::collections::HashMap;
use std::ops::Range;

/// Rows in bundles: one per unit, or one per row where no unit is named.
pub(crate) struct Bundles {
    rows: Vec<u32>,
    /// Where each bundle starts, and the end; none when every bundle is one row.
    starts: Option<Vec<u32>>,
}

impl Bundles {
    /// Bundles in the order in which their units first appear.
    pub(super) fn new(rows: &[u32], units: Option<&[u32]>) -> Self {
        let Some(units) = units else {
            return Self { rows: rows.to_vec(), starts: None };
        };
        let mut places: HashMap<u32, u32> = HashMap::new();
        let place = rows.iter().map(|&row| {
            let next = places.len() as u32;
            *places.entry(units[row as usize]).or_insert(next)
        });
        let mut keyed: Vec<(u32, u32)> = place.zip(rows.iter().copied()).collect();
        keyed.sort_by_key(|&(place, _)| place);
        let mut starts: Vec<u32> = (0..keyed.len())
            .filter(|&at| at == 0 || keyed[at].0 != keyed[at - 1].0)
            .map(|at| at as u32)
            .collect();
        starts.push(keyed.len() as u32);
        Self { rows: keyed.into_iter().map(|(_, row)| row).collect(), starts: Some(starts) }
    }

    /// How many bundles there are.
    pub(crate) fn len(&self) -> usize {
        self.starts.as_ref().map_or(self.rows.len(), |starts| starts.len() - 1)
    }

    /// The rows of a bundle.
    pub(crate) fn rows(&self, bundle: usize) -> &[u32] {
        let range: Range<usize> = match &self.starts {
            Some(starts) => starts[bundle] as usize..starts[bundle + 1] as usize,
            None => bundle..bundle + 1,
        };
        &self.rows[range]
    }
}
