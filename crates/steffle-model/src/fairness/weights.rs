//! Class weights `p~`: estimates of `P(s | cell)`.

/// Weights of the k classes in one cell; 0 for a class that is absent and left out of the sum.
///
/// They add up to 1.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassWeights(Vec<f64>);

impl ClassWeights {
    /// From class counts (exact or noisy) of a cell.
    ///
    /// Counts are clamped below at `floor` times their sum and renormalised; with `floor = 0`
    /// (no noise) a class without records gets weight 0 and is left out.
    pub fn from_counts(counts: &[f64], floor: f64) -> Self {
        let total: f64 = counts.iter().map(|count| count.max(0.0)).sum();
        if total <= 0.0 {
            return Self(vec![1.0 / counts.len() as f64; counts.len()]);
        }
        let clamped: Vec<f64> = counts.iter().map(|count| (count / total).max(floor)).collect();
        let sum: f64 = clamped.iter().sum();
        Self(clamped.iter().map(|p| p / sum).collect())
    }

    /// The weights.
    pub fn get(&self) -> &[f64] {
        &self.0
    }

    /// `p~_r^(-1/2)`, 0 for a class that is left out: the diagonal of the paper's `P_S^(-1/2)`.
    pub fn inverse_roots(&self) -> impl Iterator<Item = f64> + '_ {
        self.0.iter().map(|&p| if p > 0.0 { 1.0 / p.sqrt() } else { 0.0 })
    }

    /// The smallest positive weight: the paper's rho.
    pub fn smallest(&self) -> f64 {
        self.0.iter().copied().filter(|&p| p > 0.0).fold(1.0, f64::min)
    }
}
