//! A class per record instead of sums: as it is, or by randomised response.

use std::collections::HashMap;

use steffle_privacy::Epsilon;

use super::release::Released;
use super::{AttributesDivision, MISSING_CLASS};
use crate::noise::NoiseSource;
use crate::protocol::{Classes, Encode, Units, Writer};

/// How an attributes division releases the class of every record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClassRelease {
    /// As it is: no noise, no claim.
    Revealed,
    /// By k-ary randomised response.
    Randomised(RandomisedResponse),
}

/// k-ary randomised response: the true class is kept with probability `e^eps / (e^eps + k - 1)`,
/// else one of the others is said, each with the same probability.
///
/// # Proof definition
/// **Claim.** For every answer z and any two values s, s' of a unit's attribute, missing included,
/// `P(z | s) <= e^eps P(z | s')`: pure epsilon, delta 0, and local: it needs no trust in the silo.
///
/// **Proof.** An answer is a function of s and one uniform 64-bit number. Each class other than s
/// owns exactly `B` of the `2^64` numbers and s owns the remaining `A = 2^64 - (k-1) B`; for a
/// missing s each class owns the floor or the ceiling of `2^64 / k`, call it `M`.
/// [`RandomisedResponse::new`] rounds `B` up, so `B >= 2^64 / (e^eps + k - 1)`, which is
/// `A <= e^eps B`. It also keeps `B <= 2^64 / k`, hence `B <= M <= A`. Every probability is one of
/// A, B and M over `2^64`, so no ratio exceeds `A / B <= e^eps`. All rows of a unit get one
/// answer, that of its first row. Test: `no_answer_is_more_likely_than_the_claim_allows`.
///
/// **Unbiased.** With `f = B / 2^64`, `shat_r = ([z = r] - f) / (1 - k f)` has mean `[s = r]`, and
/// `1/k` for a missing s (up to `2^-64`), which is how a missing s counts everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomisedResponse {
    classes: u16,
    /// B: how many of the `2^64` numbers each other class owns.
    other: u64,
}

/// Why there is no randomised response for these settings.
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum RandomisedResponseError {
    /// The answers would say nothing.
    #[error("epsilon is {0}; randomised response works from 0.000001 up")]
    Epsilon(f64),
    /// Nothing to protect, or more than a class number can count.
    #[error("{0} classes; randomised response needs 2 to 65534")]
    Classes(usize),
}

/// The smallest epsilon: below it the rounding of B could make the true class the unlikelier one.
const LEAST_EPSILON: f64 = 1e-6;

impl RandomisedResponse {
    /// For `classes` classes; refuses an epsilon below 1e-6.
    pub fn new(epsilon: Epsilon, classes: usize) -> Result<Self, RandomisedResponseError> {
        let epsilon = epsilon.value();
        if epsilon.is_nan() || epsilon < LEAST_EPSILON {
            return Err(RandomisedResponseError::Epsilon(epsilon));
        }
        let count = u16::try_from(classes).ok().filter(|k| (2..MISSING_CLASS).contains(k));
        let count = count.ok_or(RandomisedResponseError::Classes(classes))?;
        // The exponential is off by a few units in the last place, 2^-50 at most, and the sum and
        // the quotient by half a unit each: the factor and the addition round up past all of it.
        // An epsilon that overflows gives 0, hence B = 1. That B stays below 2^64 / k: the sum is
        // at least k + 1e-6, so the quotient is smaller than 2^64 / k by a factor of
        // 1 - 1e-6 / 65535 or less, and rounding up takes back 2^-48 of it.
        let share = 2_f64.powi(64) / (epsilon.exp() + f64::from(count - 1));
        let other = (share * (1.0 + 2_f64.powi(-48))) as u64 + 1;
        Ok(Self { classes: count, other })
    }

    /// The answer for a class and 64 uniform bits.
    pub fn answer(&self, class: u16, bits: u64) -> u16 {
        if class >= self.classes {
            return ((u128::from(bits) * u128::from(self.classes)) >> 64) as u16;
        }
        let place = bits / self.other;
        if place >= u64::from(self.classes - 1) {
            return class;
        }
        // The others in order, with the true class left out.
        place as u16 + u16::from(place >= u64::from(class))
    }

    /// f: the probability of each other class.
    pub fn flip(&self) -> f64 {
        self.other as f64 / 2_f64.powi(64)
    }

    /// What an answer adds to a class's membership where it is the answer, and where it is not.
    pub fn memberships(&self) -> (f64, f64) {
        let (flip, classes) = (self.flip(), f64::from(self.classes));
        let kept = 1.0 - classes * flip;
        ((1.0 - flip) / kept, -flip / kept)
    }

    /// Variance of the membership in a class that the record is not in.
    pub fn variance(&self) -> f64 {
        let (flip, classes) = (self.flip(), f64::from(self.classes));
        flip * (1.0 - flip) / (1.0 - classes * flip).powi(2)
    }
}

/// What a release of classes will be released under.
#[derive(Debug)]
#[must_use = "a price is nothing until it is reserved"]
pub struct ClassPrice(ClassRelease);

/// A price that was written down; it opens one release.
#[derive(Debug)]
pub struct ReservedClasses(ClassRelease);

impl ClassPrice {
    /// Takes the price as spent: a ledger stands here, as for [`Price`](super::Price).
    pub fn reserve(self) -> ReservedClasses {
        ReservedClasses(self.0)
    }
}

impl AttributesDivision {
    /// What a release of all classes costs. Reads no `s`.
    pub fn price_classes(&self, release: ClassRelease) -> ClassPrice {
        ClassPrice(release)
    }

    /// The class of every record it holds, as it was paid for. Records that `units` puts together
    /// get one answer; a record that it does not name is a unit of its own.
    ///
    /// All random bits are drawn before any class is read.
    #[expect(clippy::needless_pass_by_value, reason = "a reserved price opens one release")]
    pub fn release_classes(
        &self,
        reserved: ReservedClasses,
        units: &[Units],
        noise: &mut impl NoiseSource,
    ) -> Released<Classes> {
        let attributes = self.attributes();
        let ids = attributes.ids().to_vec();
        let (classes, kind) = match reserved.0 {
            ClassRelease::Revealed => (attributes.classes().to_vec(), None),
            ClassRelease::Randomised(response) => {
                let coins = coins(&ids, units, noise);
                let real = attributes.classes();
                let answer = |coin: Coin| response.answer(real[coin.first], coin.bits);
                (coins.into_iter().map(answer).collect(), Some(noise.kind()))
            }
        };
        Released::new(Classes { ids, classes }, kind)
    }
}

/// Random bits of a unit, and the position of its first record, whose class is answered for all
/// of them: should the classes of a unit differ, its answer is still one.
#[derive(Clone, Copy)]
struct Coin {
    first: usize,
    bits: u64,
}

/// A coin per record, the same for all records of a unit.
fn coins(ids: &[u64], units: &[Units], noise: &mut impl NoiseSource) -> Vec<Coin> {
    let named = units.iter().enumerate().flat_map(|(silo, part)| {
        part.ids.iter().zip(&part.units).map(move |(&id, &unit)| (id, (silo, unit)))
    });
    let named: HashMap<u64, (usize, u32)> = named.collect();
    let mut thrown = HashMap::new();
    let coin = |(position, id): (usize, &u64)| {
        let mut throw = || Coin { first: position, bits: noise.bits() };
        match named.get(id) {
            None => throw(),
            Some(unit) => *thrown.entry(unit).or_insert_with(throw),
        }
    };
    ids.iter().enumerate().map(coin).collect()
}

impl Encode for Released<Classes> {
    fn encode(&self, writer: &mut Writer) {
        self.value().write(writer);
    }

    fn size_hint(&self) -> usize {
        100 + 10 * self.value().ids.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{NoiseKind, SimulatedNoise};
    use crate::record::{Attributes, Sensitive};

    fn response(epsilon: f64, classes: usize) -> RandomisedResponse {
        RandomisedResponse::new(epsilon.try_into().unwrap(), classes).unwrap()
    }

    /// How many of the 2^64 numbers give each answer, from the ends of the runs of equal answers.
    fn counts(response: &RandomisedResponse, class: u16) -> Vec<u128> {
        let mut counts = vec![0; usize::from(response.classes)];
        let mut start = 0_u128;
        while start < 1 << 64 {
            let answer = response.answer(class, start as u64);
            // The last number of this run, by bisection: answers come in runs.
            let (mut inside, mut outside) = (start, 1_u128 << 64);
            let mut width = 1;
            while inside + width < outside
                && response.answer(class, (inside + width) as u64) == answer
            {
                inside += width;
                width *= 2;
            }
            outside = outside.min(inside + width);
            while outside - inside > 1 {
                let middle = inside.midpoint(outside);
                if response.answer(class, middle as u64) == answer {
                    inside = middle;
                } else {
                    outside = middle;
                }
            }
            counts[usize::from(answer)] += inside + 1 - start;
            start = inside + 1;
        }
        counts
    }

    #[test]
    fn no_answer_is_more_likely_than_the_claim_allows() {
        for classes in [2, 3, 5, 10] {
            for epsilon in [1e-6, 0.1, 0.25, 1.0, 3.0, 9.0, 44.0] {
                let response = response(epsilon, classes);
                let laws: Vec<Vec<u128>> = (0..classes as u16)
                    .chain([MISSING_CLASS])
                    .map(|class| counts(&response, class))
                    .collect();
                let mut largest = 0.0_f64;
                for (law, other) in laws.iter().flat_map(|a| laws.iter().map(move |b| (a, b))) {
                    assert_eq!(law.iter().sum::<u128>(), 1 << 64);
                    for (&likely, &less) in law.iter().zip(other) {
                        // The quotient of two integers below 2^65, to two roundings.
                        largest = largest.max((likely as f64 / less as f64).ln());
                    }
                }
                assert!(largest <= epsilon * (1.0 + 1e-15), "{classes} {epsilon} {largest}");
                // And the budget is used: the keeping is not weaker than it has to be.
                assert!(largest >= epsilon - 1e-9 * epsilon.exp(), "{epsilon} {largest}");
            }
        }
    }

    #[test]
    fn the_rounding_is_on_the_safe_side_exactly() {
        // e = 2.718281828459045235..., so A <= e B is A 10^18 <= 2718281828459045235 B.
        let response = response(1.0, 3);
        let other = u128::from(response.other);
        let kept = (1_u128 << 64) - 2 * other;
        assert!(kept * 10_u128.pow(18) <= 2_718_281_828_459_045_235 * other);
        assert!(kept * 10_u128.pow(12) >= 2_718_281_828_458 * other);
    }

    #[test]
    fn memberships_have_the_true_class_as_their_mean() {
        for classes in [2, 3, 7] {
            let response = response(0.5, classes);
            let (own, other) = response.memberships();
            for class in (0..classes as u16).chain([MISSING_CLASS]) {
                let law = counts(&response, class);
                for (r, &count) in law.iter().enumerate() {
                    let share = count as f64 / 2_f64.powi(64);
                    let mean = share * own + (1.0 - share) * other;
                    let expected = match class {
                        MISSING_CLASS => 1.0 / classes as f64,
                        class => f64::from(u8::from(usize::from(class) == r)),
                    };
                    assert!((mean - expected).abs() < 1e-12, "{classes} {class} {r}: {mean}");
                }
            }
        }
    }

    fn division(classes: Vec<u16>) -> AttributesDivision {
        let ids = (0..classes.len() as u64).collect();
        AttributesDivision::by_id(Attributes::new(ids, Sensitive::new(classes), 3).unwrap())
    }

    #[test]
    fn answers_have_the_law_they_claim() {
        let response = response(1.0, 3);
        let n = 90_000;
        let division = division((0..n).map(|i| (i % 3) as u16).collect());
        let reserved = division.price_classes(ClassRelease::Randomised(response)).reserve();
        let released = division.release_classes(reserved, &[], &mut SimulatedNoise::new(1, 2, 3));
        assert_eq!(released.noise_kind(), Some(NoiseKind::Simulation));
        let kept = released.value().classes.iter().zip(0..).filter(|&(&z, i)| z == (i % 3) as u16);
        let share = kept.count() as f64 / f64::from(n);
        let expected = 1.0_f64.exp() / (1.0_f64.exp() + 2.0);
        // Fixed seed; six standard errors, which another seed exceeds once in 5e8.
        let error = (expected * (1.0 - expected) / f64::from(n)).sqrt();
        assert!((share - expected).abs() < 6.0 * error, "{share} {expected}");
    }

    #[test]
    fn a_unit_answers_once() {
        let response = response(0.1, 3);
        let division = division((0..300).map(|row| (row / 10 % 3) as u16).collect());
        // Two records silos, each with numbers of its own for its units.
        let half = |ids: std::ops::Range<u64>| Units {
            units: ids.clone().map(|id| ((id - ids.start) / 10) as u32).collect(),
            ids: ids.collect(),
        };
        let units = [half(0..150), half(150..300)];
        let reserved = division.price_classes(ClassRelease::Randomised(response)).reserve();
        let released =
            division.release_classes(reserved, &units, &mut SimulatedNoise::new(1, 2, 3));
        for rows in released.value().classes.chunks(10) {
            assert!(rows.iter().all(|&answer| answer == rows[0]));
        }
        // Thirty answers at epsilon 0.1 are all alike with probability below 1e-13.
        let first = released.value().classes[0];
        assert!(released.value().classes.iter().any(|&answer| answer != first));
    }

    #[test]
    fn revealed_classes_say_that_nothing_protects_them() {
        let division = division(vec![0, 2, MISSING_CLASS]);
        let reserved = division.price_classes(ClassRelease::Revealed).reserve();
        let released = division.release_classes(reserved, &[], &mut SimulatedNoise::new(1, 2, 3));
        assert_eq!(released.noise_kind(), None);
        assert_eq!(released.value().classes, [0, 2, MISSING_CLASS]);
    }

    #[test]
    fn what_cannot_be_randomised_is_refused() {
        let new = |epsilon: f64, classes| {
            RandomisedResponse::new(epsilon.try_into().unwrap(), classes).unwrap_err().to_string()
        };
        assert!(new(1e-7, 2).contains("0.0000001"));
        assert!(new(1.0, 1).contains("1 classes"));
        assert!(new(1.0, 65_535).contains("65535 classes"));
    }
}
