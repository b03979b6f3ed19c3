//! Scores: what a record contributes to a min-max problem, before its class is known.

mod candidates;
mod objective;
mod outputs;

pub use candidates::{Candidates, Who};
pub use objective::{NO_CELL, Objective, ScoreBounds, ScoreTable};
pub use outputs::OutputScores;
