//! What a site runs: its two divisions, and the [`node`](mod@node) that answers requests about them.
//!
//! A site knows no server: bytes come, bytes go. Its attributes division, the only code that reads
//! `s`, is a crate of its own, [`steffle_attributes`]. Nothing here opens a file or a socket, reads a clock or owns a global source of randomness,
//! secure noise aside, which asks the operating system by name.

pub mod division;
pub mod node;
pub mod one_shot;
