//! Attacks on the attributes division, through the house that it is in: what was once broken, what
//! a fuzzer asks, and what every price must cover.

mod breaks;
mod fixture;
mod fuzz;
mod prices;
mod shared;
