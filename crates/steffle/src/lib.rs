//! Trains one classifier across silos that may not share their records, makes its predictions
//! independent of a sensitive attribute, and keeps that attribute private.
//!
//! The parts are crates of their own, cut where organisations are: [`steffle_site`] is what a site
//! runs, [`steffle_attributes`] the only part of it that reads the sensitive attribute,
//! [`steffle_server`] what the lead runs, [`steffle_wire`] what crosses between them, and
//! [`steffle_model`] the mathematics that all share. Here they are under one roof.

#[doc = include_str!("../GLOSSARY.md")]
pub mod glossary {}

pub use steffle_attributes as attributes;
pub use steffle_attributes::noise;
pub use steffle_model::{fairness, linear, metrics, model, randomness, record};
pub use steffle_privacy as privacy;
pub use steffle_server::{federation, game, server, train};
pub use steffle_site::{division, node, one_shot};
pub use steffle_wire as protocol;
