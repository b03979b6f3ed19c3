//! One round, reduced to one dimension: two densities and the logarithm of their ratio.
//!
//! Noise is spherical after scaling, and two adjacent stores differ along one direction, so all
//! other coordinates carry no information. In units of sigma every round compares mixtures of unit
//! normals; `shift` is the distance of their centres.
//!
//! | pair | P | Q | used for |
//! |---|---|---|---|
//! | A | (1-q) N(0) + q N(+s) | (1-q) N(0) + q N(-s), s = 1/(2z) | Poisson, centred replacement |
//! | remove | (1-q) N(0) + q N(u) | N(0), u = 1/z | Poisson, record removed |
//! | add | N(0) | (1-q) N(0) + q N(u) | Poisson, record added |
//! | B | the larger of two hockey-stick curves | | any replacement, fixed batch size |
//!
//! *Why A.* Everybody else takes part independently of record i, so their sum may be revealed; what
//! is left is i's own contribution, +v or -v when it is drawn (distance 2|v| = sigma/z). Records
//! with smaller contributions are a post-processing. The pair is its own mirror image, so one
//! direction is enough and self-composition is exact.
//!
//! *Why B.* For any two contributions the round's curve lies below
//! `H_a(q P1 + (1-q) P0 || P0)` for a >= 1 and `H_a(P1 || q P0 + (1-q) P1)` for a < 1
//! (Balle, Barthe, Gaboardi 2018; Zhu, Dong, Wang 2022), P0 and P1 at distance 1/z. Which branch is
//! worst can alternate between rounds, so the maximum is taken first and composed afterwards
//! (Lebeda, Regehr, Kamath, Steinke 2024). For a >= 1 it is the curve of the remove pair; a < 1 is
//! the same curve under `H_a(P||Q) = 1 - a + a H_1/a(Q||P)`. So B is the remove pair above the
//! point u/2 where P0 = P1, its mirror image below, and an atom without loss in between.
//!
//! A and B are symmetric: a mass m at loss x comes with a mass m e^-x at loss -x. Only their upper
//! half is stored.
//!
//! Tests that fail when a constant is halved: `tests::both_laws_add_up_to_one` (densities, where B
//! begins), `tests::points_and_losses_invert_each_other`,
//! `tests::one_round_is_the_amplification_formula` and `tests/vectors.rs` (rate and shift).

use crate::event::{Event, Neighbours, Sampling};
use crate::normal::cumulative;

/// Above this exponent one mixture component is all there is; below it nothing overflows.
const LARGE: f64 = 500.0;
const HALF_LOG_TWO_PI: f64 = 0.918_938_533_204_672_7;

/// The upper half of a symmetric pair (A, B), or the whole remove pair.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pair {
    kind: Kind,
    rate: f64,
    shift: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Centred,
    Remove,
    Largest,
}

/// Which way a run is read: with the record removed or added. Symmetric pairs read the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Remove,
    Add,
}

impl Pair {
    /// The pair that dominates one round of this event.
    pub(crate) fn of(event: &Event) -> Self {
        let distance = event.noise_multiplier.value().recip();
        let rate = event.sampling.rate();
        let (kind, shift) = match (event.sampling, event.neighbours) {
            // Without sampling A is the plain Gaussian pair, whatever the neighbours.
            (Sampling::FullBatch, _) | (Sampling::Poisson(_), Neighbours::ReplaceCentred) => {
                (Kind::Centred, 0.5 * distance)
            }
            (Sampling::Poisson(_), Neighbours::AddRemove) => (Kind::Remove, distance),
            (Sampling::Poisson(_), Neighbours::Replace) | (Sampling::WithoutReplacement(_), _) => {
                (Kind::Largest, distance)
            }
        };
        Self { kind, rate, shift }
    }

    /// Whether the stored half is to be mirrored.
    pub(crate) fn symmetric(self) -> bool {
        self.kind != Kind::Remove
    }

    /// Where the stored part begins.
    pub(crate) fn start(self) -> f64 {
        match self.kind {
            Kind::Centred => 0.0,
            Kind::Remove => f64::NEG_INFINITY,
            Kind::Largest => 0.5 * self.shift,
        }
    }

    /// The distance of the messages of two adjacent stores, 1/z, when the record takes part.
    pub(crate) fn distance(self) -> f64 {
        if self.kind == Kind::Centred { 2.0 * self.shift } else { self.shift }
    }

    /// The distance between the centres of the two components of P.
    pub(crate) fn shift(self) -> f64 {
        self.shift
    }

    /// Between which points P (P/Q)^lambda and Q (Q/P)^lambda have all their peaks.
    pub(crate) fn outer_peaks(self, lambda: f64) -> (f64, f64) {
        match self.kind {
            Kind::Centred => (0.0, (1.0 + 2.0 * lambda) * self.shift),
            Kind::Remove | Kind::Largest => (-lambda * self.shift, (1.0 + lambda) * self.shift),
        }
    }

    /// Logarithm of the density of P, and the privacy loss ln(P/Q), at `y`.
    pub(crate) fn at(self, y: f64) -> (f64, f64) {
        let mixture = self.log_mixture(y);
        let log_density = -0.5 * y * y - HALF_LOG_TWO_PI + mixture;
        let loss = match self.kind {
            Kind::Centred => mixture - self.log_mixture(-y),
            Kind::Remove | Kind::Largest => mixture,
        };
        (log_density, loss)
    }

    /// The point whose loss is `loss`; minus infinity if every loss is larger.
    pub(crate) fn point_of(self, loss: f64) -> f64 {
        let (q, shift) = (self.rate, self.shift);
        if self.kind == Kind::Centred {
            // shift * y = loss/2 + arsinh((1-q)/q e^(shift^2/2) sinh(loss/2)), in logarithms
            // because both factors overflow.
            let log_double =
                ((1.0 - q) / q).ln() + 0.5 * shift * shift + 0.5 * loss + (-(-loss).exp_m1()).ln();
            let arsinh =
                if log_double > 40.0 { log_double } else { (0.5 * log_double.exp()).asinh() };
            return (0.5 * loss + arsinh) / shift;
        }
        let exponent = if q >= 1.0 {
            loss
        } else if loss > LARGE {
            loss - q.ln() + (-(1.0 - q) * (-loss).exp()).ln_1p()
        } else {
            let ratio = loss.exp_m1() / q;
            if ratio <= -1.0 {
                return f64::NEG_INFINITY;
            }
            ratio.ln_1p()
        };
        exponent / shift + 0.5 * shift
    }

    /// P-probability above `y`.
    pub(crate) fn upper_tail(self, y: f64) -> f64 {
        (1.0 - self.rate) * cumulative(-y) + self.rate * cumulative(self.shift - y)
    }

    /// The stretches of the line that carry all of P above [`Pair::start`] but for a probability
    /// of at most `2 * P(N(0,1) > reach)` in between and below; two when the components are far apart.
    pub(crate) fn stretches(self, reach: f64) -> Vec<(f64, f64)> {
        let start = self.start().max(-reach);
        let end = self.shift + reach;
        if self.shift - reach <= reach {
            return vec![(start, end)];
        }
        let second = (self.shift - reach).max(start);
        if self.rate >= 1.0 || start >= reach {
            vec![(second, end)]
        } else {
            vec![(start, reach), (second, end)]
        }
    }

    /// ln((1-q) N(0) + q N(shift)) - ln N(0) at `y`, accurate relative to itself.
    fn log_mixture(self, y: f64) -> f64 {
        let q = self.rate;
        let exponent = self.shift * y - 0.5 * self.shift * self.shift;
        if q >= 1.0 {
            exponent
        } else if exponent > LARGE {
            exponent + (q + (1.0 - q) * (-exponent).exp()).ln()
        } else {
            (q * exponent.exp_m1()).ln_1p()
        }
    }
}

#[cfg(test)]
mod tests;
