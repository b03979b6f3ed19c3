//! One file per command.

mod audit;
mod buying;
mod choose;
mod completions;
mod data;
mod evaluate;
mod export;
mod judge;
mod ledger;
mod node;
mod noisy;
mod predict;
mod privacy;
mod reproduce;
mod silo;
mod submit;
mod sweep;
mod train;

pub(crate) use audit::audit;
pub(crate) use choose::choose;
pub(crate) use completions::completions;
pub(crate) use data::data;
pub(crate) use evaluate::evaluate;
pub(crate) use export::export;
pub(crate) use ledger::ledger;
pub(crate) use node::{node, server};
pub(crate) use noisy::{gaps as noisy_gaps, lead as noisy_lead};
pub(crate) use predict::predict;
pub(crate) use privacy::privacy;
pub(crate) use reproduce::reproduce;
pub(crate) use silo::silo;
pub(crate) use submit::submit;
pub(crate) use sweep::sweep;
pub(crate) use train::{Carried, Cells, MetricsReport, TrainReport, WITHOUT_GROUPS, train};
