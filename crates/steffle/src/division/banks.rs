//! Small tables that are added to once per record.

/// Copies of a small table, used in turn.
///
/// An addition to a slot that was just written waits for the write; neighbouring records mostly
/// hit the same few slots. With four copies the additions do not wait for each other. Tables
/// that are not small go straight to memory.
pub(super) struct Banks {
    copies: [[f64; Self::SLOTS]; 4],
}

impl Banks {
    const SLOTS: usize = 16;

    /// Copies for a table of `slots` slots, if that is small.
    pub(super) fn for_table(slots: usize) -> Option<Self> {
        (slots <= Self::SLOTS).then_some(Self { copies: [[0.0; Self::SLOTS]; 4] })
    }

    /// Adds the values of record `record` from slot `start` on.
    #[inline]
    pub(super) fn add(&mut self, record: usize, start: usize, values: &[f64]) {
        let copy = &mut self.copies[record % 4][start..][..values.len()];
        copy.iter_mut().zip(values).for_each(|(slot, value)| *slot += value);
    }

    /// Adds all copies to `sums`.
    pub(super) fn drain_into<'a>(&self, sums: impl Iterator<Item = &'a mut f64>) {
        let [a, b, c, d] = &self.copies;
        for (slot, sum) in sums.enumerate() {
            *sum += (a[slot] + b[slot]) + (c[slot] + d[slot]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_add_up() {
        let mut banks = Banks::for_table(4).unwrap();
        for record in 0..10 {
            banks.add(record, 2 * (record % 2), &[1.0, record as f64]);
        }
        let mut sums = [100.0; 4];
        banks.drain_into(sums.iter_mut());
        assert_eq!(sums, [105.0, 120.0, 105.0, 125.0]);
        assert!(Banks::for_table(17).is_none());
    }
}
