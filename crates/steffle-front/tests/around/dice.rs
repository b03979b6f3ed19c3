//! Choices that a seed fixes, so that a finding can be looked at again by its number.

/// A stream of choices (splitmix64).
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5eed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `count`, which is not 0.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    /// True in so many cases out of 100.
    pub(crate) fn percent(&mut self, cases: usize) -> bool {
        self.below(100) < cases
    }

    /// One of a list, which is not empty.
    pub(crate) fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// A number as an adversary would choose it: extremes, and what has no size at all.
    pub(crate) fn number(&mut self) -> f64 {
        const EXTREMES: [f64; 20] = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            1e-3,
            3.0,
            50.0,
            1e6,
            -1e6,
            1e12,
            3.4e38,
            1e39,
            f64::MAX,
            f64::MIN_POSITIVE,
            5e-324,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            1e-40,
        ];
        match self.below(3) {
            0 => *self.of(&EXTREMES),
            1 => (self.next() % 20_001) as f64 / 1000.0 - 10.0,
            _ => f64::from(f32::MAX) / (1.0 + (self.next() % 100) as f64),
        }
    }
}
