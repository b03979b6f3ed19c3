//! Nodes in processes of their own.
//!
//! A node's process reads messages from its standard input and writes answers to its standard
//! output, each in a frame ([`frame`]); [`serve`] is all that it does. [`Processes`] is the
//! transport that starts such processes and carries messages to them, so that the walls between
//! organisations are walls between processes, on one machine.

pub mod frame;
mod processes;
mod serve;

pub use processes::{Patience, Processes};
pub use serve::serve;
