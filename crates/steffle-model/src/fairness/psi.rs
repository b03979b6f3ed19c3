//! `psi`, the per-record integrand of the min-max form, and its gradients (Theorem 3.1, complete
//! version in the paper's appendix). The divisions compute the same in sums; these are the
//! definitions they are tested against.

use super::{ClassWeights, Dual};

/// `- sum_ru W_ru^2 F_u + 2 sum_u W_su F_u / sqrt(p~_s) - 1` for a record of class `class`.
pub fn value(dual: &Dual, weights: &ClassWeights, outputs: &[f64], class: usize) -> f64 {
    let q = dual.quadratic();
    let quadratic: f64 = q.iter().zip(outputs).map(|(q, f)| q * f).sum();
    2.0 * cross(dual, weights, outputs, class) - quadratic - 1.0
}

/// The only part of `psi` that depends on `s`, halved: `sum_u W_su F_u / sqrt(p~_s)`.
pub fn cross(dual: &Dual, weights: &ClassWeights, outputs: &[f64], class: usize) -> f64 {
    let combinations = dual.combinations(weights);
    let row = &combinations[class * outputs.len()..][..outputs.len()];
    row.iter().zip(outputs).map(|(c, f)| c * f).sum()
}

/// `d psi / dW_ru = -2 W_ru F_u + 2 [s = r] F_u / sqrt(p~_r)`.
pub fn dual_gradient(
    dual: &Dual,
    weights: &ClassWeights,
    outputs: &[f64],
    class: usize,
) -> Vec<f64> {
    let mut gradient = Vec::with_capacity(dual.values().len());
    for ((r, row), root) in dual.rows().enumerate().zip(weights.inverse_roots()) {
        let own = if r == class { root } else { 0.0 };
        gradient.extend(row.iter().zip(outputs).map(|(w, f)| 2.0 * f * (own - w)));
    }
    gradient
}

/// The output combination whose pullback is `d psi / d theta`: `2 C_s - q`.
pub fn output_gradient(dual: &Dual, weights: &ClassWeights, class: usize) -> Vec<f64> {
    let (c, q) = (dual.combinations(weights), dual.quadratic());
    let row = &c[class * q.len()..][..q.len()];
    row.iter().zip(&q).map(|(c, q)| 2.0 * c - q).collect()
}
