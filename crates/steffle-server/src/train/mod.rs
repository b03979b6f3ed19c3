//! Training: settings are checked into a plan, and a plan runs on a federation.

mod erm;
mod fair;
mod one_shot;
mod penalty;
mod protect;
mod run;
mod schedule;
mod settings;

pub use erm::{FitRule, PROBES, erm, probe};
pub use fair::{Fair, FairPath};
pub use one_shot::{MOST_MODELS, OneShotTerms, Targeted, target_gap};
pub use protect::Protected;
pub use run::{Outcome, RoundTrace, Start, Theorem, TrainError, needed, run, train};
pub use schedule::{Schedule, ScheduleError};
pub use settings::{Exact, Length, Mode, Paper, Settings, StepRule};

#[cfg(test)]
mod tests;
