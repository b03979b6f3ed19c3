//! A vector together with its image.

use crate::server::curvature::add;

/// A vector and what the mean of the silos' inverses makes of it. The mean is known by its images
/// alone, and images of sums are sums of images.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Imaged {
    pub(crate) own: Vec<f64>,
    /// Empty where nobody asked for it.
    pub(crate) image: Vec<f64>,
}

impl Imaged {
    pub(crate) fn zero(parameters: usize, image: bool) -> Self {
        let image = if image { vec![0.0; parameters] } else { Vec::new() };
        Self { own: vec![0.0; parameters], image }
    }

    /// Adds `weight` times another one.
    pub(crate) fn add(&mut self, weight: f64, other: &Self) {
        add(&mut self.own, weight, &other.own);
        add(&mut self.image, weight, &other.image);
    }

    /// The way from another one to this one.
    pub(super) fn from(&self, start: &Self) -> Self {
        let mut way = self.clone();
        way.add(-1.0, start);
        way
    }
}
