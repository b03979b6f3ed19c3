//! What the lead of a run computes: what to ask of nodes, and what to make of their answers.
//!
//! The server knows messages ([`steffle_wire`]) and mathematics ([`steffle_model`]), and nothing of
//! what runs at a site: no division, no record, no schema, no sensitive class. It opens no file and
//! no socket, reads no clock and owns no global source of randomness.

pub mod federation;
pub mod game;
pub mod server;
pub mod train;
