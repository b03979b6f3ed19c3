//! The server: Algorithm 2, for any problem that says what to ask and how to read the answers.

mod aggregate;
mod curvature;
mod descent_ascent;
pub(crate) mod fit;
mod minimise;
mod output;
pub(crate) mod passes;
mod problem;

pub use aggregate::{Aggregate, AggregateCell};
pub(crate) use curvature::CurvaturePair;
pub use curvature::InverseHessian;
pub use descent_ascent::{DescentAscent, Rates};
pub use fit::fit;
pub(crate) use minimise::memory;
pub use minimise::{Found, Minimum, Tolerance, minimise, minimise_from};
pub(crate) use output::Returned;
pub use output::{Output, OutputError};
pub use problem::Problem;

use steffle_wire::{Batch, Question};

/// The server's steps in a run: what it asks, and what it makes of the answers.
pub trait Steps {
    /// The question of a round.
    fn ask(&self, batch: Batch) -> Question;

    /// Takes in the answers of round `round`; the first is 1.
    fn learn(&mut self, round: u32, answers: &Aggregate);

    /// The current iterate.
    fn theta(&self) -> &[f64];

    /// What the answers so far tell about the violation, for the trace.
    fn violation(&self) -> f64;

    /// How far the answers tell the groups apart at the model that was started from: the chi-square divergence
    /// that they show over what noise alone would show, in the cell where this is most. `None` without
    /// noise, and where steps do not keep book of it.
    fn evidence(&self) -> Option<f64> {
        None
    }
}
