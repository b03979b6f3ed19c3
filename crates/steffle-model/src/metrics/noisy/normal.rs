//! The standard normal law, as precise as intervals need it.

/// Phi, to 1e-7: formula 26.2.17 of Abramowitz and Stegun.
pub(super) fn normal(z: f64) -> f64 {
    const POWERS: [f64; 5] =
        [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let sum = POWERS.iter().rev().fold(0.0, |sum, power| (sum + power) * t);
    let above = density(z) * sum;
    if z > 0.0 { 1.0 - above } else { above }
}

/// Its density.
pub(super) fn density(z: f64) -> f64 {
    (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

#[cfg(test)]
mod tests {
    #[test]
    fn tabled_values() {
        for (z, share) in [(-1.959_964, 0.025), (0.0, 0.5), (1.0, 0.841_344_75), (4.0, 0.999_968)] {
            assert!((super::normal(z) - share).abs() < 1e-6, "{z} {}", super::normal(z));
        }
    }
}
