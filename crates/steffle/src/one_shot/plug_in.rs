//! The plug-in rule: a second way to read a release, with nothing to train.
//!
//! With `eta(x) = P(y = 1 | x)` from the unconstrained model and the released `shat(x)`, label 1 is
//! said where `eta(x) - 1/2 > lambda (shat/p_1 - (1 - shat)/p_0)`: the rule that is best for
//! demographic parity among those that do not see s, with estimates in the place of what is not
//! known. It needs `shat` when it predicts, hence the Gram matrix and the cap.

use super::decode::Rule;
use super::{GAMMA, OneShotError};
use crate::linear::{Features, Symmetric, Whitening};
use crate::model::kernel::vector;
use crate::record::Rows;

/// How memberships come from scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Curve {
    /// A sigmoid: a silo's own decode.
    Logistic,
    /// Clipped to [0, 1]: the pooled decode.
    Linear,
}

/// The rule, for two classes and two labels.
#[derive(Debug, Clone)]
pub struct PlugIn {
    gram: Symmetric,
    whitening: Whitening,
    cap: f64,
    rule: Rule,
    curve: Curve,
    share: f64,
}

impl PlugIn {
    /// From a release: its Gram matrix, cap and rule, and the share of class 1. Refuses what is
    /// not a rule for one class of the matrix's features.
    pub fn new(
        gram: Symmetric,
        cap: f64,
        rule: Rule,
        curve: Curve,
        share: f64,
    ) -> Result<Self, OneShotError> {
        let fits = rule.intercepts.len() == 1
            && matches!(&rule.weights[..], [weights] if weights.len() == gram.size())
            && cap > 0.0
            && share > 0.0
            && share < 1.0;
        if !fits {
            return Err(OneShotError::PlugIn);
        }
        let whitening = Whitening::new(gram.clone(), GAMMA)?;
        Ok(Self { gram, whitening, cap, rule, curve, share })
    }

    /// Membership of every row in class 1.
    pub fn memberships(&self, rows: &Rows) -> Vec<f64> {
        let features = Features::whole(rows);
        let lengths = self.whitening.lengths(&features);
        let (Some(weights), Some(intercept)) =
            (self.rule.weights.first(), self.rule.intercepts.first())
        else {
            return vec![self.share; rows.len()];
        };
        let scale = |length: f64| {
            let length = length * self.whitening.grid();
            (self.cap / length).min(1.0) / self.cap
        };
        let scores = features.scores(weights);
        let mut memberships: Vec<f64> = scores
            .iter()
            .zip(&lengths)
            .map(|(score, &length)| intercept + scale(length) * score)
            .collect();
        match self.curve {
            Curve::Logistic => vector::sigmoid_in_place(&mut memberships),
            Curve::Linear => memberships.iter_mut().for_each(|p| *p = p.clamp(0.0, 1.0)),
        }
        memberships
    }

    /// The unconstrained model's probabilities, `[row][label]`, moved so that the more probable
    /// label is the one the rule says at `lambda`.
    pub fn adjust(&self, rows: &Rows, lambda: f64, probabilities: &mut [f64]) {
        let pairs = probabilities.as_chunks_mut::<2>().0.iter_mut();
        for ([first, second], shat) in pairs.zip(self.memberships(rows)) {
            let toll = lambda * (shat / self.share - (1.0 - shat) / (1.0 - self.share));
            *second = (*second - toll).clamp(0.0, 1.0);
            *first = 1.0 - *second;
        }
    }

    /// Everything that [`PlugIn::from_numbers`] needs.
    pub fn to_numbers(&self) -> Vec<f64> {
        let curve = f64::from(u8::from(self.curve == Curve::Linear));
        let mut numbers = vec![self.share, self.cap, curve];
        numbers.extend(&self.rule.intercepts);
        numbers.extend(self.rule.weights.iter().flatten());
        for i in 0..self.gram.size() {
            numbers.extend_from_slice(&self.gram.row(i)[..=i]);
        }
        numbers
    }

    /// What [`PlugIn::to_numbers`] gave, for rows of `size` numbers, bias included; refuses others.
    pub fn from_numbers(size: usize, numbers: &[f64]) -> Result<Self, OneShotError> {
        let (Some((head, rest)), true) =
            (numbers.split_first_chunk::<4>(), numbers.iter().all(|number| number.is_finite()))
        else {
            return Err(OneShotError::PlugIn);
        };
        if rest.len() != size + size * (size + 1) / 2 {
            return Err(OneShotError::PlugIn);
        }
        let [share, cap, curve, intercept] = *head;
        let (weights, lower) = rest.split_at(size);
        let gram = Symmetric::from_lower(size, |i, j| lower[i * (i + 1) / 2 + j]);
        let rule = Rule { intercepts: vec![intercept], weights: vec![weights.to_vec()] };
        let curve = if curve == 0.0 { Curve::Logistic } else { Curve::Linear };
        Self::new(gram, cap, rule, curve, share)
    }
}
