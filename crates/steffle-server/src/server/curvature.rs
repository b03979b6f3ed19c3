//! What gradients tell about curvature: an inverse Hessian that is never a matrix.

/// An estimate of an inverse Hessian, built in layers on a diagonal.
///
/// Each layer is a curvature pair (the BFGS update) or a rank-one term of the Hessian itself (the
/// Sherman-Morrison update). It is applied in one walk down and up the layers, which is the
/// two-loop recursion when all layers are pairs (Nocedal & Wright, Algorithm 7.4), and costs four
/// products of length d per pair and two per term. Nothing of size d x d is ever formed.
#[derive(Debug, Clone, PartialEq)]
pub struct InverseHessian {
    base: Base,
    layers: Vec<Layer>,
}

/// What all layers stand on.
#[derive(Debug, Clone, PartialEq)]
enum Base {
    /// A multiple of the identity.
    Scaled(f64),
    Diagonal(Vec<f64>),
}

#[derive(Debug, Clone, PartialEq)]
enum Layer {
    Pair(CurvaturePair),
    /// The Hessian below plus `a g g'`, as `u` = the inverse below times `g` and
    /// `weight = a / (1 + a g'u)`.
    RankOne {
        image: Vec<f64>,
        weight: f64,
    },
}

/// A step and the change of the gradient along it.
///
/// Some of them stand for the inverse of the Hessian.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CurvaturePair {
    step: Vec<f64>,
    change: Vec<f64>,
    inverse: f64,
}

impl InverseHessian {
    /// `scale` times the identity.
    pub fn scaled(scale: f64) -> Self {
        Self { base: Base::Scaled(scale), layers: Vec::new() }
    }

    /// A diagonal matrix.
    pub fn diagonal(entries: Vec<f64>) -> Self {
        Self { base: Base::Diagonal(entries), layers: Vec::new() }
    }

    /// The estimate after one more pair: the result maps its change to its step.
    pub(crate) fn push_pair(&mut self, pair: CurvaturePair) {
        self.layers.push(Layer::Pair(pair));
    }

    /// The inverse after `weight * vector vector'` is added to the Hessian; several such terms are
    /// added one after the other. `weight` is not negative.
    pub fn push_rank_one(&mut self, weight: f64, vector: &[f64]) {
        let image = self.apply(vector);
        let below = dot(&image, vector);
        if weight > 0.0 && below > 0.0 {
            let weight = weight / (1.0 + weight * below);
            self.layers.push(Layer::RankOne { image, weight });
        }
    }

    /// The estimate for a Hessian that is larger by `bend` times the identity: what the pairs would
    /// have shown of it. Its layers are pairs alone.
    #[must_use]
    pub fn lifted(&self, bend: f64) -> Self {
        let lift = |layer: &Layer| match layer {
            Layer::RankOne { .. } => None,
            Layer::Pair(CurvaturePair { step, change, .. }) => {
                let change = change.iter().zip(step).map(|(change, step)| change + bend * step);
                CurvaturePair::new(step.clone(), change.collect()).map(Layer::Pair)
            }
        };
        let lifted = |inverse: f64| inverse / (1.0 + bend * inverse);
        let base = match &self.base {
            Base::Scaled(scale) => Base::Scaled(lifted(*scale)),
            Base::Diagonal(entries) => {
                Base::Diagonal(entries.iter().map(|&entry| lifted(entry)).collect())
            }
        };
        Self { base, layers: self.layers.iter().filter_map(lift).collect() }
    }

    /// How many pairs and terms there are.
    pub(super) fn layers(&self) -> usize {
        self.layers.len()
    }

    /// Another multiple of the identity under all layers, of which none is a rank-one term.
    pub(super) fn rescale(&mut self, scale: f64) {
        self.base = Base::Scaled(scale);
    }

    /// Forgets a pair that only pairs stand on.
    pub(super) fn remove(&mut self, layer: usize) {
        self.layers.remove(layer);
    }

    /// The estimate times `vector`.
    pub fn apply(&self, vector: &[f64]) -> Vec<f64> {
        let mut result = vector.to_vec();
        let mut kept = Vec::with_capacity(self.layers.len());
        for layer in self.layers.iter().rev() {
            kept.push(match layer {
                Layer::Pair(pair) => pair.down(&mut result),
                Layer::RankOne { image, .. } => dot(image, &result),
            });
        }
        match &self.base {
            Base::Scaled(scale) => result.iter_mut().for_each(|value| *value *= scale),
            Base::Diagonal(entries) => {
                result.iter_mut().zip(entries).for_each(|(value, entry)| *value *= entry);
            }
        }
        for (layer, kept) in self.layers.iter().zip(kept.iter().rev()) {
            match layer {
                Layer::Pair(pair) => pair.up(*kept, &mut result),
                Layer::RankOne { image, weight } => add(&mut result, -weight * kept, image),
            }
        }
        result
    }
}

impl CurvaturePair {
    /// `None` where the curvature along the step is not positive.
    pub(crate) fn new(step: Vec<f64>, change: Vec<f64>) -> Option<Self> {
        let curvature = dot(&step, &change);
        let positive = curvature > 1e-12 * dot(&change, &change).sqrt() * dot(&step, &step).sqrt();
        positive.then(|| Self { step, change, inverse: 1.0 / curvature })
    }

    /// The length of a step.
    pub(super) fn parameters(&self) -> usize {
        self.step.len()
    }

    /// The multiple of the identity that fits this pair best.
    pub(crate) fn scale(&self) -> f64 {
        1.0 / (self.inverse * dot(&self.change, &self.change))
    }

    fn down(&self, vector: &mut [f64]) -> f64 {
        let weight = self.inverse * dot(&self.step, vector);
        add(vector, -weight, &self.change);
        weight
    }

    fn up(&self, weight: f64, vector: &mut [f64]) {
        let back = self.inverse * dot(&self.change, vector);
        add(vector, weight - back, &self.step);
    }
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    // Four sums side by side: one would wait for itself at every addition.
    let (fours_a, rest_a) = a.as_chunks::<4>();
    let (fours_b, rest_b) = b.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for (a, b) in fours_a.iter().zip(fours_b) {
        for lane in 0..4 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = rest_a.iter().zip(rest_b).map(|(a, b)| a * b).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

pub(super) fn add(sum: &mut [f64], weight: f64, values: &[f64]) {
    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: &[f64], expected: &[f64]) {
        let far = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(far < 1e-12, "{found:?} against {expected:?}");
    }

    #[test]
    fn conjugate_pairs_give_the_inverse_of_a_quadratic() {
        // H = [[2, 1], [1, 3]]; e_1 and (-1, 2) are conjugate, so two updates are exact.
        let mut inverse = InverseHessian::scaled(0.7);
        for (step, change) in [([1.0, 0.0], [2.0, 1.0]), ([-1.0, 2.0], [0.0, 5.0])] {
            inverse.push_pair(CurvaturePair::new(step.to_vec(), change.to_vec()).unwrap());
        }
        close(&inverse.apply(&[1.0, 0.0]), &[0.6, -0.2]);
        close(&inverse.apply(&[0.0, 1.0]), &[-0.2, 0.4]);
    }

    #[test]
    fn a_lifted_estimate_is_that_of_the_lifted_quadratic() {
        // H = diag(2, 0.5, 0.1) and its axes as steps; a pair fixes its axis whatever is below.
        let mut inverse = InverseHessian::scaled(3.0);
        for (axis, bend) in [2.0, 0.5, 0.1].into_iter().enumerate() {
            let at = |value: f64| (0..3).map(|j| if j == axis { value } else { 0.0 }).collect();
            inverse.push_pair(CurvaturePair::new(at(1.0), at(bend)).unwrap());
        }
        close(&inverse.lifted(0.5).apply(&[1.0; 3]), &[1.0 / 2.5, 1.0, 1.0 / 0.6]);
        close(&InverseHessian::scaled(4.0).lifted(0.25).apply(&[1.0]), &[2.0]);
    }

    #[test]
    fn rank_one_terms_are_woodbury_s_formula() {
        // (I/2 + 3 g g' + 5 h h')^-1 of orthogonal unit vectors, by hand.
        let mut inverse = InverseHessian::scaled(2.0);
        inverse.push_rank_one(3.0, &[0.6, 0.8, 0.0]);
        inverse.push_rank_one(5.0, &[0.0, 0.0, 1.0]);
        close(&inverse.apply(&[0.6, 0.8, 0.0]), &[0.6 / 3.5, 0.8 / 3.5, 0.0]);
        close(&inverse.apply(&[0.0, 0.0, 1.0]), &[0.0, 0.0, 1.0 / 5.5]);
        close(&inverse.apply(&[0.8, -0.6, 0.0]), &[1.6, -1.2, 0.0]);
    }

    #[test]
    fn a_pair_on_a_rank_one_term_still_maps_its_change_to_its_step() {
        let mut inverse = InverseHessian::scaled(1.0);
        inverse.push_rank_one(4.0, &[1.0, 2.0]);
        let pair = CurvaturePair::new(vec![0.5, -1.0], vec![2.0, 0.3]).unwrap();
        inverse.push_pair(pair);
        close(&inverse.apply(&[2.0, 0.3]), &[0.5, -1.0]);
    }

    #[test]
    fn a_step_without_curvature_is_no_pair() {
        assert_eq!(CurvaturePair::new(vec![1.0, 0.0], vec![-1.0, 0.0]), None);
        assert_eq!(CurvaturePair::new(vec![0.0, 0.0], vec![0.0, 0.0]), None);
    }
}
