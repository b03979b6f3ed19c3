//! Trains one fair classifier across silos that may not share their records, and says exactly what
//! privacy everybody was given.
//!
//! ```no_run
//! use steffle_front::{Error, Fit, Recipe, Split, Steffle, Table};
//!
//! fn main() -> Result<(), Error> {
//!     let recipe = Recipe::new("hired", &["sex"]).classes(&["female", "male"]);
//!     let data = Table::read("hiring.csv")?.with(recipe)?;
//!     let study = data.split(Split::default())?.silos(3)?;
//!     let model = Steffle::new().epsilon(1.0).lambda(2.0).fit(&study)?;
//!     println!("{}\n{}", model.privacy(), model.judge(study.test())?);
//!     Ok(())
//! }
//! ```
//!
//! | step | type |
//! |---|---|
//! | rows | [`Table`]: a file, a named data set, or columns in memory |
//! | what columns mean | [`Recipe`]; a run that claims privacy needs the classes of the sensitive attribute declared |
//! | training and test rows | [`Data::split`]; a test file of its own: [`Split`] |
//! | silos, and who holds what | [`Parted::silos`], or [`Files`] that are cut already |
//! | how to train | [`Steffle`], [`OneShot`], ..., or by name: [`method()`]; all of them: [`METHODS`] |
//! | what it would do and cost | [`Fit::plan`] |
//! | training | [`Fit::fit`], [`Fit::fit_with`] (progress, stopping), [`Fit::fit_path`] (several lambdas) |
//! | the model | [`Model`]: decisions, metrics, privacy, what left in the clear, files |
//! | metrics by group that cost privacy, and say how much | [`Model::testing`] or [`Study::testing`], then [`Testing::buy`] |
//!
//! Errors and warnings name settings and their values in angle brackets, `<drop age>`: a command line
//! shows them as flags, other programs as whatever settings are there.
//!
//! Noise comes from a seed unless a method is told `noise(NoiseOrigin::Secure)`: a simulation, which
//! protects nobody and says so.

mod aggregation;
mod clock;
mod error;
mod fairer;
mod ground;
mod leaves;
mod legs;
mod method;
mod methods;
mod model;
mod observer;
mod owner;
mod privacy;
mod processes;
mod silo;
mod study;
mod table;
mod testing;
pub mod trade_off;
mod trained;

pub use steffle::fairness::NotionName;
pub use steffle::metrics::{
    Bootstrap, GroupIntervals, GroupReport, Interval, LeftOut, NoisyGap, NoisyGroup, NoisyRate,
    NoisyReport, Report,
};
pub use steffle::model::ModelKind;
pub use steffle::train::Theorem;
pub use steffle_baselines::theory;
pub use steffle_data::{Column, Dialect, Recipe};
pub use steffle_masks::{Fingerprint, Journal as MaskJournal};
pub use steffle_process::{
    Forgotten, MaskFileError, accept_roster, create_key, forget, read_epoch, read_journal, read_key,
};

pub use aggregation::Aggregation;
pub use error::{Error, Status};
pub use fairer::{Fairer, NOT_FAIRER};
pub use ground::{Ground, LOST};
pub use leaves::{Counts, Leaves};
pub use method::{
    Accounting, Aim, Announced, BatchSize, Divided, Entry, Given, Goal, Look, Method, Mode,
    NoiseOrigin, NoiseShape, Plan, Protects, Reason, ServerKind, Shares, Sign, Training, Value,
    Written, method, names,
};
pub use methods::{
    DpFermi, Erm, Estimate, ExcessReport, FedAvg, FedFdp, Fermi, Fit, METHODS, OneShot,
    OneShotReport, PfLd, RandomisedResponse, Reductions, SharedClaim, Steffle, SteffleNonprivate,
};
pub use model::{Asked, Judged, MIN_GROUP, MODEL, Model, Outcome, Predicted, Predictions, Skipped};
pub use observer::{Observer, Stage, Told};
pub use owner::{recipe_of_store, schema_of_owner, schema_of_store, without_sensitive};
pub use privacy::Privacy;
pub use processes::{OpenBook, Own, Party};
pub use silo::SiloReport;
pub use study::{About, Centralisation, Cut, Files, HeldOut, Library, Split, Study};
pub use table::{Data, Parted, Table};
pub use testing::{Bought, Purchase, Testing};
pub use trained::{Took, Trace, Trained};
