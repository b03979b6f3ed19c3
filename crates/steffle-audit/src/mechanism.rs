//! What is attacked: something that can be played in two worlds.

use std::sync::Arc;

use steffle_privacy::{Delta, Epsilon, Mu};

use crate::AuditError;

/// Which class the one record has that the worlds differ in.
///
/// The two worlds are equal in everything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum World {
    /// The first class.
    Zero,
    /// The second class.
    One,
}

impl World {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Zero, Self::One];

    /// 0 or 1.
    pub fn index(self) -> usize {
        match self {
            Self::Zero => 0,
            Self::One => 1,
        }
    }
}

/// Where a run's noise comes from.
///
/// Calibration and judged runs use streams that never meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noise {
    /// The operating system, as in a private run.
    Secure,
    /// A seed: the same code on bits that can be repeated.
    Seeded(u64),
}

/// What a mechanism claims.
///
/// What is measured is compared with it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Promise {
    /// Gaussian messages of `mu` in all, which is (epsilon, delta).
    Gaussian {
        /// What the plan says.
        epsilon: Epsilon,
        /// What the plan says.
        delta: Delta,
        /// What its ledger lets it spend.
        mu: Mu,
    },
    /// No likelihood ratio above e^epsilon.
    Pure {
        /// What the plan says.
        epsilon: Epsilon,
    },
}

/// What a message is about.
///
/// The test weighs messages of different kinds by what it measured of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// The theta sums of a round.
    Theta(u32),
    /// The class tables of a round.
    Table(u32),
    /// The sums of features of a one-shot release.
    Features,
}

/// What a message would say without noise, in each world: known to an attacker who knows all but
/// one class, because the code is public.
pub type Expected = Arc<[Vec<f64>; 2]>;

/// One message: what it said, and what it would have said.
///
/// An attack compares the two.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// What it is about.
    pub what: What,
    /// Its numbers, decoded.
    pub said: Vec<f64>,
    /// Those of each world, without noise.
    pub expected: Expected,
}

/// What an attacker has seen of one run.
///
/// It is read from encoded replies, as a server or a holder of letters would.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    /// Messages of numbers.
    Numbers(Vec<Compared>),
    /// A class that was said of the record.
    Answer(u16),
}

/// Something that answers about people, and can be played.
///
/// The real ones run the nodes that train; tests play spoiled ones.
pub trait Mechanism: Sync {
    /// What it claims.
    fn promise(&self) -> Promise;

    /// Everything that leaves the nodes in one run in this world. Runs are independent.
    fn play(&self, world: World, noise: Noise) -> Result<Seen, AuditError>;
}
