//! The server's side of a min-max problem.

use steffle_wire::{CellQuestion, Form};

use super::Aggregate;

/// A problem `min_theta max_w`, as the server sees it: what to ask, how to read the answers, and
/// the set that w is projected on. Its silo side is an [`Objective`](steffle_model::scores::Objective).
pub trait Problem: Send {
    /// Takes in the census: round 0, all records, every combination 0.
    fn begin(&mut self, census: &Aggregate);

    /// How the theta message is formed.
    fn form(&self) -> Form;

    /// What to ask about each cell at the current dual variables.
    fn ask(&self) -> Vec<CellQuestion>;

    /// The gradient in theta of the objective, from a round's answers.
    fn theta_gradient(&self, theta: &[f64], answers: &Aggregate) -> Vec<f64>;

    /// The gradient in the dual variables, from a round's answers.
    fn dual_gradient(&self, answers: &Aggregate) -> Vec<f64>;

    /// The dual variables, all cells in one run.
    fn dual(&self) -> Vec<f64>;

    /// Moves the dual variables there and projects them on their set.
    fn set_dual(&mut self, dual: &[f64]);

    /// What the answers tell about the violation, for the trace.
    fn violation(&self, answers: &Aggregate) -> f64;
}
