//! The real binary, from outside: what is typed, printed, written and returned.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "these are tests")]

mod absences;
mod around;
mod audit;
mod bad_input;
mod baselines;
mod cells;
mod centralisation;
mod classes;
mod codes;
mod config;
mod data;
mod documents;
mod federated_baselines;
mod first_table;
mod harness;
mod help;
mod interrupt;
mod ledger;
mod modes;
mod nasty;
mod one_shot;
mod output;
mod owner;
mod paid;
mod predict;
mod privacy;
mod private_metrics;
mod processes;
mod released;
mod reproduce;
mod run_directory;
mod silos;
mod sites;
#[cfg(unix)]
mod submit;
mod sweep;
mod tables;
mod train;
