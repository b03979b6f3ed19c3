//! `train --metrics-share`: final metrics by group that are bought with a share of the run's budget.

use std::path::Path;

use serde::Serialize;
use sha2::{Digest, Sha256};
use steffle_front::{
    Bought, Divided, Model, NoiseOrigin, NoisyReport, Plan, Purchase, Study, Testing,
};

use super::private::LedgerReport;
use crate::commands::ledger::{boxed, paying_books};
use crate::failure::Failure;
use crate::ui::Output;

/// Metrics that a run has set a share of its budget aside for.
pub(super) struct Metrics<'a> {
    divided: Divided,
    testing: Testing,
    people: Vec<u64>,
    book: &'a Path,
    run: [u8; 16],
    seed: u64,
    output: Output<'a>,
}

/// What was bought, as a run directory tells.
#[derive(Debug, Serialize)]
pub(crate) struct MetricsReport {
    /// The share of the run's mu^2.
    pub(crate) share: f64,
    /// What they cost whoever was measured on.
    pub(crate) epsilon: f64,
    pub(crate) delta: f64,
    pub(crate) statement: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ledger: Option<LedgerReport>,
    #[serde(flatten)]
    pub(crate) report: NoisyReport,
}

impl MetricsReport {
    /// What was paid for them, in a sentence.
    pub(crate) fn paid(&self) -> String {
        format!(
            "Metrics by group are from noisy counts on the test rows, for which {} of the run's budget \
             was set aside: epsilon {} at delta {:.1e} for whoever is among them.",
            self.share, self.epsilon, self.delta
        )
    }
}

impl<'a> Metrics<'a> {
    /// Takes the share from the books of all stores before anything is trained: a run that could not
    /// pay for what it announces does not begin.
    pub(super) fn reserve(
        divided: Divided,
        plan: &Plan,
        training: [u8; 16],
        book: &'a Path,
        output: Output<'a>,
    ) -> Result<Self, Failure> {
        let study: &Study = plan.study();
        let testing = study.testing()?;
        let mut run = [0; 16];
        let hash = Sha256::new().chain_update(b"metrics of ").chain_update(training).finalize();
        run.copy_from_slice(&hash[..16]);
        let seed = study.seed();
        let people = study.people();
        let metrics = Self { divided, testing, people, book, run, seed, output };
        let purchase = metrics.purchase(&[training, run])?;
        metrics.testing.reserve(plan.kind(), purchase)?;
        Ok(metrics)
    }

    /// Everybody whom its metrics are about.
    pub(super) fn tested(&self) -> Vec<u64> {
        self.testing.ids().concat()
    }

    /// The run's name in the books.
    pub(super) fn run(&self) -> [u8; 16] {
        self.run
    }

    /// Buys them.
    pub(super) fn buy(&self, model: &Model, min_group: u32) -> Result<MetricsReport, Failure> {
        let purchase = self.purchase(&[self.run])?;
        let Bought { mut reports, privacy, .. } =
            self.testing.buy(&[model], min_group, purchase)?;
        let report = reports.pop().ok_or_else(|| Failure::bug("no metrics"))?;
        Ok(MetricsReport {
            share: self.divided.share,
            epsilon: self.divided.metrics,
            delta: self.divided.delta,
            statement: privacy.statement,
            ledger: Some(super::private::report(self.book, &self.run)?),
            report,
        })
    }

    fn purchase(&self, running: &[[u8; 16]]) -> Result<Purchase, Failure> {
        let ids = self.testing.ids();
        let silos = (!self.testing.is_split()).then_some(&ids[..]);
        let books = paying_books(
            self.book,
            self.testing.stores(),
            silos,
            running,
            &[&self.people, &self.tested()],
            self.output,
        )?;
        let Divided { metrics, delta, .. } = self.divided;
        Ok(Purchase {
            epsilon: metrics,
            delta: Some(delta),
            noise: NoiseOrigin::Secure,
            seed: self.seed,
            run: self.run,
            books: boxed(books),
        })
    }
}
