//! Theorem 3.2 of the paper, for reproduction: the noise it prescribes and what that noise gives.
//!
//! # Claim of the paper
//! Noise of [`sigma_dual`] and [`sigma_theta`] on the two messages makes Algorithm 1 (epsilon,
//! delta)-private for the sensitive attributes of each silo, if epsilon <= 2 ln(1/delta) and
//! T >= (n sqrt(epsilon) / 2m)^2.
//!
//! # What is wrong with it
//! [`Analysis`] puts numbers to each of these at a setting.
//! 1. *The batch is not secret.* Algorithm 1 sends the exact loss gradient of the same batch. With
//!    real-valued features it tells which records were drawn; given the batch, sampling amplifies
//!    nothing and a record that takes part E times costs mu = sqrt(E)/z.
//! 2. *Two messages, one price.* Each message alone gets z; together they have z/sqrt(2).
//! 3. *The cited theorem* (Abadi et al. 2016) has unspecified constants, and its lemma needs z >= 1
//!    and q < 1/(16 z). Neither holds throughout the experiments.
//! 4. *The sensitivity lemma* prints the square of the distance as if it were the distance, and
//!    needs W bounded in Frobenius norm where the theorem bounds its entries.
//!
//! The distance used here, [`dual_distance`], is the lemma's bound read as the square it is: then
//! sigma over distance is `z = q sqrt(2 T ln(1/delta)) / epsilon` for both messages.
//!
//! Tests that fail when a constant is halved: `theorem::tests::credit_card_sigma_of_the_paper` (the
//! 16 of sigma), `analysis::tests::the_claim_is_read_back` (the 2 of z), and
//! `analysis::tests::the_table_of_the_specification` (the 8 of the distance, the sqrt(2) of both
//! messages, the 4 of the condition, participations).

mod analysis;
mod setting;
mod theorem;

pub use analysis::{Analysis, Condition, Cost, FullBatchNoise, Needed};
pub use setting::{Experiment, Setting, rounds_of_epochs};
pub use theorem::{claimed_epsilon, dual_distance, sigma_dual, sigma_theta};
