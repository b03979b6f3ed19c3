//! Epsilon in words and pictures: what is protected, from whom, for how long, and what is not.

mod picture;
mod scope;
mod svg;
mod trade_off;

use serde::Serialize;

use crate::gdp;
use crate::quantity::{Delta, Epsilon, Mu};
use crate::rounding;

pub use scope::Scope;
pub use trade_off::{Point, TradeOff};

/// For how long.
pub const HOW_LONG: &str = "For good. What was sent cannot be taken back, and nothing anyone \
computes from it later weakens the promise. The budget is for the life of the store: every run, \
setting, seed, repeated question with new noise and private metric adds to it.";

/// One promise, in numbers people understand.
///
/// How far odds, guesses and tests about one person can move, for people without statistics.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// The promise.
    pub epsilon: Epsilon,
    /// The promise; 0 where it is pure.
    pub delta: f64,
    /// e^epsilon: by how much odds can grow at most (except with probability delta).
    pub odds_factor: f64,
    /// The chance to name the right one of two equally likely values, whatever the mechanism.
    pub best_guess: f64,
    /// The same if all messages are Gaussian and use up the budget; none keeps a pure promise.
    pub best_guess_gaussian: Option<f64>,
    /// mu of Gaussian messages that use up the budget.
    pub mu: Option<Mu>,
    /// What someone can believe afterwards, by what they believed before.
    pub beliefs: Vec<Belief>,
    /// The errors an attacker must accept.
    pub trade_off: Vec<Point>,
}

/// A suspicion, before and after.
///
/// How sure somebody was of one person's attribute, and how sure everything that was sent can
/// make them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Belief {
    /// The probability someone gave the truth before.
    pub before: f64,
    /// The most they can give it afterwards (except with probability delta).
    pub after: f64,
}

impl Explanation {
    /// Explains the promise (epsilon, delta). Every number is rounded to the attacker's side.
    ///
    /// ```
    /// use steffle_privacy::explain::Explanation;
    /// let one = Explanation::of(1.0.try_into()?, 1e-9.try_into()?);
    /// assert!((one.best_guess - 0.7311).abs() < 1e-4);
    /// assert!((one.best_guess_gaussian.unwrap_or_default() - 0.5363).abs() < 1e-3);
    /// # Ok::<(), steffle_privacy::PrivacyError>(())
    /// ```
    pub fn of(epsilon: Epsilon, delta: Delta) -> Self {
        Self::new(epsilon, delta.value(), Some(gdp::mu(epsilon, delta)))
    }

    /// Explains a pure promise: delta 0.
    pub fn pure(epsilon: Epsilon) -> Self {
        Self::new(epsilon, 0.0, None)
    }

    fn new(epsilon: Epsilon, delta: f64, mu: Option<Mu>) -> Self {
        let curve = TradeOff::new(epsilon, delta, mu);
        let e = epsilon.value();
        let shrink = (-e).exp();
        Self {
            epsilon,
            delta,
            odds_factor: e.exp().min(f64::MAX),
            best_guess: (1.0 + delta * shrink) / (1.0 + shrink),
            best_guess_gaussian: curve.best_guess_gaussian(),
            mu,
            beliefs: [0.01, 0.1, 0.5, 0.9]
                .map(|before| Belief { before, after: before / (before + (1.0 - before) * shrink) })
                .to_vec(),
            trade_off: curve.points(20),
        }
    }

    /// The explanation as text, about twenty lines.
    pub fn text(&self, scope: &Scope) -> String {
        let percent = |probability: f64| rounding::up(100.0 * probability, 3);
        let mut lines = vec![
            format!(
                "epsilon {} at delta {}",
                rounding::up(self.epsilon.value(), 6),
                small(self.delta)
            ),
            String::new(),
            format!("What is protected. {}", scope.protected),
            format!("From whom. {}", scope.from_whom),
            format!("For how long. {HOW_LONG}"),
            "What is not protected.".to_owned(),
        ];
        lines.extend(scope.not_protected.iter().map(|item| format!("  - {item}")));
        let gaussian = self.best_guess_gaussian.map_or_else(String::new, |guess| {
            format!(
                "; at most {} times where every message is Gaussian, as in mode exact and in \
                 one-shot, but not with secret batches (mode poisson)",
                percent(guess)
            )
        });
        let except = match self.delta {
            0.0 => String::new(),
            delta => format!(", except with probability {}", one_in(delta)),
        };
        lines.extend([
            String::new(),
            format!(
                "In numbers. To somebody for whom {} was a coin toss, everything that was sent makes \
                 the best guess right at most {} times in 100 (50 by guessing){gaussian}.",
                scope.secret,
                percent(self.best_guess)
            ),
            format!(
                "Odds about one person move by a factor of at most {}{except}.",
                rounding::up(self.odds_factor, 4)
            ),
        ]);
        lines.extend(self.beliefs.iter().map(|belief| {
            format!(
                "  who was {:>2} % sure before is at most {} % sure afterwards",
                100.0 * belief.before,
                percent(belief.after)
            )
        }));
        lines.join("\n")
    }

    /// The trade-off curve for a terminal, plain characters, 17 lines of 60 columns.
    pub fn picture(&self) -> String {
        picture::draw(&self.curve())
    }

    /// The trade-off curve as a self-contained SVG file.
    pub fn svg(&self) -> String {
        svg::draw(&self.curve())
    }

    fn curve(&self) -> TradeOff {
        TradeOff::new(self.epsilon, self.delta, self.mu)
    }
}

/// A delta in digits.
fn small(delta: f64) -> String {
    if delta == 0.0 { "0".to_owned() } else { format!("{:e}", rounding::up(delta, 4)) }
}

/// A small probability as people say it.
fn one_in(probability: f64) -> String {
    // 1e-9 is one in a billion, although its reciprocal is a little less in binary.
    format!("one in {}", grouped((probability.recip() * (1.0 + 1e-12)).floor()))
}

/// Thousands apart up to a quadrillion, scientific beyond.
fn grouped(value: f64) -> String {
    if value >= 1e15 {
        return format!("{value:.1e}");
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests;
