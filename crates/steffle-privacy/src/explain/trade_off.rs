//! The trade-off curve: which errors a test between two adjacent stores must make.

use serde::Serialize;

use crate::normal::{cumulative, quantile};
use crate::quantity::{Epsilon, Mu};

/// For every rate of false alarms, the smallest rate of missed cases a test can have.
///
/// The general curve belongs to the promise itself, `max(0, 1 - delta - e^epsilon a,
/// e^-epsilon (1 - delta - a))` (Wasserman, Zhou 2010); the Gaussian one to N(0, 1) against
/// N(mu, 1), `Phi(Phi^-1(1 - a) - mu)` (Dong, Roth, Su 2022).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TradeOff {
    pub(super) epsilon: f64,
    pub(super) delta: f64,
    mu: Option<f64>,
}

/// One point of both curves.
///
/// False alarms against missed detections.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
    /// Probability of saying "changed" about the unchanged store.
    pub false_alarm: f64,
    /// Least probability of saying "unchanged" about the changed one, whatever the mechanism.
    pub missed: f64,
    /// The same for Gaussian messages; none keeps a pure promise.
    pub missed_gaussian: Option<f64>,
}

impl TradeOff {
    /// The curves of a promise, and of Gaussian messages with `mu` where some keep it.
    pub fn new(epsilon: Epsilon, delta: f64, mu: Option<Mu>) -> Self {
        Self { epsilon: epsilon.value(), delta, mu: mu.map(Mu::value) }
    }

    /// Least missed rate under the promise.
    pub fn missed(&self, false_alarm: f64) -> f64 {
        let rest = 1.0 - self.delta;
        if false_alarm <= 0.0 {
            return rest;
        }
        let steep = rest - self.epsilon.exp() * false_alarm;
        let flat = (-self.epsilon).exp() * (rest - false_alarm);
        steep.max(flat).max(0.0)
    }

    /// Least missed rate for Gaussian messages.
    pub fn missed_gaussian(&self, false_alarm: f64) -> Option<f64> {
        self.mu.map(|mu| cumulative(quantile(1.0 - false_alarm) - mu))
    }

    /// `count + 1` points at equal distances.
    pub fn points(&self, count: u32) -> Vec<Point> {
        (0..=count)
            .map(|i| {
                let false_alarm = f64::from(i) / f64::from(count);
                Point {
                    false_alarm,
                    missed: self.missed(false_alarm),
                    missed_gaussian: self.missed_gaussian(false_alarm),
                }
            })
            .collect()
    }

    /// The chance to name the right one of two equally likely values, for Gaussian messages.
    pub(super) fn best_guess_gaussian(&self) -> Option<f64> {
        self.mu.map(|mu| cumulative(0.5 * mu))
    }
}
