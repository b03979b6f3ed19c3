//! Many runs, in parallel: fitting the test to some, judging the others.

use std::ops::ControlFlow;

use rand::Rng;
use rayon::prelude::*;
use steffle_model::randomness::{Purpose, stream};

use crate::attack::Attack;
use crate::bound::thresholds;
use crate::{AuditError, Finding, Mechanism, Noise, Seen, World};

/// How an audit is made.
///
/// More runs give tighter bounds, a higher confidence looser ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Runs in each of the two worlds that are judged; a quarter as many, at most 10,000, are made
    /// before to fit the test.
    pub runs: u32,
    /// The probability with which all bounds hold.
    pub confidence: f64,
    /// The seed of all noise; `None` takes it from the operating system, as private runs do.
    pub seed: Option<u64>,
}

/// Fewer runs bound nothing.
pub(crate) const LEAST_RUNS: u32 = 100;

/// More would not fit into memory.
pub(crate) const MOST_RUNS: u32 = 100_000_000;

/// Runs between two looks at the observer.
const BATCH: u64 = 1024;

const LEAST_CALIBRATION: u32 = 200;
const MOST_CALIBRATION: u32 = 10_000;

impl Settings {
    /// Runs in each world that the test is fitted to.
    pub fn calibration_runs(&self) -> u32 {
        (self.runs / 4).clamp(LEAST_CALIBRATION, MOST_CALIBRATION)
    }

    /// Runs in all, in both worlds.
    pub fn all_runs(&self) -> u64 {
        2 * (u64::from(self.runs) + u64::from(self.calibration_runs()))
    }

    fn check(self) -> Result<Self, AuditError> {
        if !(LEAST_RUNS..=MOST_RUNS).contains(&self.runs) {
            return Err(AuditError::Runs(self.runs));
        }
        if !(0.5..1.0).contains(&self.confidence) {
            return Err(AuditError::Confidence(self.confidence));
        }
        Ok(self)
    }
}

/// Attacks a mechanism and says what was found; refuses settings that bound nothing. With a seed,
/// the number of threads changes no bit. `observe` hears how many runs of how many are done, and
/// may stop.
pub fn audit(
    mechanism: &impl Mechanism,
    settings: Settings,
    mut observe: impl FnMut(u64, u64) -> ControlFlow<()>,
) -> Result<Finding, AuditError> {
    let settings = settings.check()?;
    let Settings { runs, confidence, seed } = settings;
    let (calibration, total) = (settings.calibration_runs(), settings.all_runs());
    let mut done = 0;
    let mut step = |made: u64| {
        done += made;
        match observe(done, total) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(AuditError::Interrupted(done)),
        }
    };
    let play = |world: World, run: u64| mechanism.play(world, noise(seed, world, run));

    let first = u64::from(calibration);
    let seen = |world| each(0..first, &mut step, |run| play(world, run));
    let [zero, one] = World::ALL.map(seen);
    let (zero, one): (Vec<Seen>, Vec<Seen>) = (zero?, one?);
    let attack = Attack::fit([&zero, &one])?;
    let scores = zero.iter().chain(&one).map(|seen| attack.score(seen));
    let thresholds = thresholds(scores.collect::<Result<_, _>>()?, 1.0 - confidence);
    drop((zero, one));

    let judged = first..first + u64::from(runs);
    let scores = |world| each(judged.clone(), &mut step, |run| attack.score(&play(world, run)?));
    let [zero, one] = World::ALL.map(scores);
    let (zero, one) = (zero?, one?);
    Finding::new(mechanism.promise(), confidence, calibration, &thresholds, [&zero, &one])
}

/// Makes runs, in parallel; results come in their order.
fn each<T: Send>(
    runs: std::ops::Range<u64>,
    step: &mut impl FnMut(u64) -> Result<(), AuditError>,
    make: impl Fn(u64) -> Result<T, AuditError> + Sync,
) -> Result<Vec<T>, AuditError> {
    let mut made = Vec::with_capacity((runs.end - runs.start) as usize);
    let mut start = runs.start;
    while start < runs.end {
        let end = runs.end.min(start + BATCH);
        let batch: Result<Vec<T>, AuditError> = (start..end).into_par_iter().map(&make).collect();
        made.extend(batch?);
        step(end - start)?;
        start = end;
    }
    Ok(made)
}

/// Noise that no other run has.
fn noise(seed: Option<u64>, world: World, run: u64) -> Noise {
    seed.map_or(Noise::Secure, |seed| {
        Noise::Seeded(stream(seed, world.index() as u64, Purpose::Audit, run).next_u64())
    })
}
