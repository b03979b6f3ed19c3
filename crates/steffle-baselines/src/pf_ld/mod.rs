//! PF-LD (Tran, Fioretto, Van Hentenryck 2021): a private Lagrangian dual for group fairness.
//!
//! For conditions c and groups g, `v_cg` is the mean probability of the second label in the group
//! less that in the condition, `V_c = sum_g |v_cg|`, and the Lagrangian is `loss + sum_c l_c V_c`.
//! Primal steps descend in theta, dual steps add `s min(V_c, 1/4)` to `l_c`, from 0. One curator has
//! all records and classes; theta and the multipliers may be seen by anyone.
//!
//! The gradient of `V_c` has signs: `sum_g sgn(v_cg) (mean gradient in the group - in the
//! condition)`. **Erratum.** The published noise is that of a sum whose signs are fixed. Near
//! parity, where the method is to end, one person's class can flip a sign, and then the gradient
//! moves by its whole length, not by a part in n; the stated bound also lacks a factor of 2 where
//! two groups are small. So there are two variants:
//!
//! - [`PfLd`]: dual steps release signed `v_cg`, and primal steps use the signs of the last release.
//!   Its messages are those of [`Terms::Exact`](steffle_attributes::Terms), whose price
//!   knows the question, signs included: the claim holds.
//! - [`published()`]: minibatches with signs of their own and the published noise. Its claim does
//!   not hold, and [`PublishedNoise::honest_epsilon`] says what does.

mod published;
mod released;

pub use published::{Published, PublishedNoise, published};
pub use released::{PfLd, pf_ld};

use steffle_model::model::Adam;

/// The most that a dual step takes of a violation.
const LARGEST: f64 = 0.25;

/// 1, 0 or -1.
fn sign(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value.signum() }
}

#[cfg(test)]
mod tests;
