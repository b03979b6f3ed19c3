//! How a class is said instead of summed: as it is, or by randomised response.

use steffle_model::record::MISSING_CLASS;
use steffle_privacy::Epsilon;

use super::codec::{Encode, Writer};

/// How an attributes division releases the class of every record.
///
/// Randomised answers protect each person by themselves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ClassRelease {
    /// As it is: no noise, no claim.
    Revealed,
    /// By k-ary randomised response.
    Randomised(RandomisedResponse),
}

/// As a question: how, and at which epsilon.
impl Encode for ClassRelease {
    fn encode(&self, writer: &mut Writer) {
        match self {
            Self::Revealed => writer.u8(0),
            Self::Randomised(response) => {
                writer.u8(1);
                writer.f64(response.epsilon);
                writer.u16(response.classes);
            }
        }
    }
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
/// answer. Test: `no_answer_is_more_likely_than_the_claim_allows`.
///
/// **Unbiased.** With `f = B / 2^64`, `shat_r = ([z = r] - f) / (1 - k f)` has mean `[s = r]`, and
/// `1/k` for a missing s (up to `2^-64`), which is how a missing s counts everywhere.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomisedResponse {
    epsilon: f64,
    classes: u16,
    /// B: how many of the `2^64` numbers each other class owns.
    other: u64,
}

/// Why there is no randomised response for these settings.
///
/// The message says what is allowed.
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
        Ok(Self { epsilon, classes: count, other })
    }

    /// The epsilon that was asked for.
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// How many classes it is for.
    pub fn classes(&self) -> usize {
        usize::from(self.classes)
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

    /// The law of an answer, counted and not drawn: how many of the 2^64 numbers give each, from the
    /// ends of the runs of equal answers.
    pub fn law(&self, class: u16) -> Vec<u128> {
        let mut counts = vec![0; usize::from(self.classes)];
        let mut start = 0_u128;
        while start < 1 << 64 {
            let answer = self.answer(class, start as u64);
            // The last number of this run, by bisection: answers come in runs.
            let (mut inside, mut outside) = (start, 1_u128 << 64);
            let mut width = 1;
            while inside + width < outside && self.answer(class, (inside + width) as u64) == answer
            {
                inside += width;
                width *= 2;
            }
            outside = outside.min(inside + width);
            while outside - inside > 1 {
                let middle = inside.midpoint(outside);
                if self.answer(class, middle as u64) == answer {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn response(epsilon: f64, classes: usize) -> RandomisedResponse {
        RandomisedResponse::new(epsilon.try_into().unwrap(), classes).unwrap()
    }

    #[test]
    fn no_answer_is_more_likely_than_the_claim_allows() {
        for classes in [2, 3, 5, 10] {
            for epsilon in [1e-6, 0.1, 0.25, 1.0, 3.0, 9.0, 44.0] {
                let response = response(epsilon, classes);
                let laws: Vec<Vec<u128>> = (0..classes as u16)
                    .chain([MISSING_CLASS])
                    .map(|class| response.law(class))
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
                let law = response.law(class);
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
