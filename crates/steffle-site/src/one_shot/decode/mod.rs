//! From a released message to estimated class memberships of a silo's own records.
//!
//! Nothing here reads `s`: the input is x and a message that is already released.

mod descent;
mod fit;
mod straight;

pub(crate) use straight::straight_memberships;

use steffle_attributes::Capped;
use steffle_model::decode::{ClassSums, Moments};
use steffle_model::linear::{Cholesky, NotPositive};

use descent::{Found, descend};
use fit::Fit;

/// The gradient at which a fit has converged, as a share of what noise alone gives it. With a tenth
/// instead of a fiftieth, gaps are a point off.
const TOLERANCE: f64 = 0.02;

/// Estimated class memberships.
///
/// They stand for `s` in training from then on.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// `[record][class]`; in each record non-negative with sum 1.
    pub memberships: Vec<f64>,
    /// Evaluations that it took.
    pub evaluations: u32,
    /// Whether the fit came to its end.
    pub converged: bool,
}

/// Fits a logistic (two classes) or softmax model to the message: the maximum-entropy memberships whose
/// sums are the released ones, with a mild ridge. `moments` are those of `capped`.
///
/// With `w_i` the whitened row, `h_i` its scale in the message, `b` the shares of the classes and `V`
/// the variance of the noise:
/// `min sum_i h_i logsumexp_r(log b_r + w_i'W_r) - sum_r m_r'W_r + (ridge/2) sum_r |W_r|^2`.
/// The rows count with their scales, so that sums are compared with sums, but memberships are those of
/// whole rows: a cap says what a record may tell, not what it is.
pub fn decode(
    capped: &Capped<'_>,
    moments: &Moments,
    message: &ClassSums,
) -> Result<Decoded, NotPositive> {
    let message = moments.project(message);
    let shares = moments.shares(&message)?;
    let fit = Fit::new(capped, moments, &message, &shares);
    let factors = fit.curvatures(&shares).map(Cholesky::new).collect::<Result<Vec<_>, _>>()?;
    let size = moments.total.len();
    let precondition = |gradient: &mut [f64]| {
        gradient.chunks_exact_mut(size).zip(&factors).for_each(|(own, factor)| factor.solve(own));
    };
    // In the coordinates of the message, where its noise is spherical.
    let grid = capped.whitening().grid();
    let length = |gradient: &[f64]| {
        let whitened = gradient.chunks_exact(size).flat_map(|own| {
            let mut own = own.to_vec();
            capped.whitening().whiten(&mut own);
            own
        });
        whitened.map(|entry| (grid * entry).powi(2)).sum::<f64>().sqrt()
    };
    let numbers = (message.sums.len() * size) as f64;
    let noise = message.variance.max(1e-6 * moments.records);
    let tolerance = TOLERANCE * (numbers * noise).sqrt();
    let evaluate = |weights: &[f64]| fit.evaluate(weights);
    let start = vec![0.0; message.sums.len() * size];
    let Found { weights, evaluations, converged } =
        descend(start, evaluate, precondition, length, tolerance);
    Ok(Decoded { memberships: fit.memberships(&weights), evaluations, converged })
}
