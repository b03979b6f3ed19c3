//! Trains one classifier across silos that may not share their records, makes its predictions
//! independent of a sensitive attribute, and keeps that attribute private.
//!
//! This crate is the algorithm and nothing else: it opens no file and no socket, reads no clock
//! and owns no global source of randomness.

pub mod division;
pub mod federation;
#[doc = include_str!("../../../GLOSSARY.md")]
pub mod glossary {}
pub mod node;
pub mod noise;
pub mod one_shot;
pub mod protocol;
pub mod record;
pub mod server;
pub mod steffle;
pub mod train;

pub use steffle_model::{fairness, linear, metrics, model, randomness};
