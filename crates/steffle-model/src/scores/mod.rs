//! Scores: what a record contributes to a min-max problem, before its class is known.

mod objective;
mod outputs;

pub use objective::{NO_CELL, Objective, ScoreBounds, ScoreTable};
pub use outputs::SteffleObjective;
