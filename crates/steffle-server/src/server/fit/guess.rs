//! What is known about the inverse Hessian: images or a diagonal, and the pairs of all steps.

use super::Imaged;
use crate::server::curvature::{CurvaturePair, InverseHessian, add, dot};

/// The scale of the images, from the last pair, is kept within these.
const SCALES: (f64, f64) = (0.1, 10.0);

/// Added to the diagonal under what the fit leaves behind: columns that hardly anybody has bend so
/// little that steps along them would be all noise.
const LEAST: f64 = 1e-5;

/// Most pairs that are kept.
const PAIRS: usize = 60;

/// An estimate of the inverse Hessian: the two-loop recursion (Nocedal & Wright, Algorithm 7.4) on
/// vectors that carry their images, with the mean of the silos' inverses as its first matrix.
#[derive(Debug, Clone)]
pub(super) struct Guess {
    diagonal: Vec<f64>,
    /// Whether the first matrix is that of the images, and not the inverse diagonal.
    images: bool,
    pairs: Vec<Pair>,
}

#[derive(Debug, Clone)]
struct Pair {
    step: Vec<f64>,
    change: Imaged,
    inverse: f64,
}

impl Guess {
    pub(super) fn new(diagonal: Vec<f64>, images: bool) -> Self {
        Self { diagonal, images, pairs: Vec::new() }
    }

    pub(super) fn images(&self) -> bool {
        self.images
    }

    /// From now on the inverse diagonal is the first matrix.
    pub(super) fn leave_images(&mut self) {
        self.images = false;
    }

    pub(super) fn forget_pairs(&mut self) {
        self.pairs.clear();
    }

    /// Keeps a step and the change of the gradient along it where the curvature is positive.
    pub(super) fn learn(&mut self, step: Vec<f64>, change: Imaged) {
        let curvature = dot(&step, &change.own);
        let sizes = dot(&step, &step).sqrt() * dot(&change.own, &change.own).sqrt();
        if curvature > 1e-12 * sizes {
            if self.pairs.len() == PAIRS {
                self.pairs.remove(0);
            }
            self.pairs.push(Pair { step, change, inverse: 1.0 / curvature });
        }
    }

    /// `(sum_c weight_c v_c v_c' + H)^-1 g` for rank-one terms of the Hessian beside what the pairs
    /// know, by one Sherman-Morrison update after the other.
    pub(super) fn newton(&self, gradient: &Imaged, terms: &[(f64, Imaged)]) -> Vec<f64> {
        let mut updates: Vec<(f64, Vec<f64>)> = Vec::new();
        let update = |updates: &[(f64, Vec<f64>)], vector: &Imaged| {
            let mut result = self.apply(vector);
            for (weight, image) in updates {
                add(&mut result, -weight * dot(image, &vector.own), image);
            }
            result
        };
        for (weight, vector) in terms {
            let image = update(&updates, vector);
            let below = dot(&image, &vector.own);
            if *weight > 0.0 && below > 0.0 {
                updates.push((weight / (1.0 + weight * below), image));
            }
        }
        update(&updates, gradient)
    }

    /// The estimate times a vector.
    fn apply(&self, vector: &Imaged) -> Vec<f64> {
        let mut rest = vector.clone();
        let mut kept = Vec::with_capacity(self.pairs.len());
        for Pair { step, change, inverse } in self.pairs.iter().rev() {
            let weight = inverse * dot(step, &rest.own);
            rest.add(-weight, change);
            kept.push(weight);
        }
        let scale = self.scale();
        let mut result = self.first(&rest);
        result.iter_mut().for_each(|value| *value *= scale);
        for (Pair { step, change, inverse }, weight) in self.pairs.iter().zip(kept.iter().rev()) {
            let back = inverse * dot(&change.own, &result);
            add(&mut result, weight - back, step);
        }
        result
    }

    /// The first matrix times a vector.
    fn first(&self, vector: &Imaged) -> Vec<f64> {
        if self.images {
            return vector.image.clone();
        }
        vector.own.iter().zip(&self.diagonal).map(|(value, diagonal)| value / diagonal).collect()
    }

    fn scale(&self) -> f64 {
        let Some(Pair { change, inverse, .. }) = self.pairs.last() else { return 1.0 };
        let scale = 1.0 / (inverse * dot(&change.own, &self.first(change)));
        if scale.is_finite() && scale > 0.0 { scale.clamp(SCALES.0, SCALES.1) } else { 1.0 }
    }

    /// `|v|` in the metric of the diagonal, and in that of its inverse.
    pub(super) fn lengths(&self, step: &[f64], gradient: &[f64]) -> (f64, f64) {
        let squares = step.iter().zip(&self.diagonal).map(|(x, d)| x * x * d).sum::<f64>();
        let inverse = gradient.iter().zip(&self.diagonal).map(|(x, d)| x * x / d).sum::<f64>();
        (squares.sqrt(), inverse.sqrt())
    }

    /// What stays of it without images.
    pub(super) fn curvature(&self) -> InverseHessian {
        let diagonal = self.diagonal.iter().map(|entry| 1.0 / (entry + LEAST)).collect();
        let mut known = InverseHessian::diagonal(diagonal);
        for Pair { step, change, .. } in &self.pairs {
            if let Some(pair) = CurvaturePair::new(step.clone(), change.own.clone()) {
                known.push_pair(pair);
            }
        }
        known
    }
}
