//! Metrics of a model on rows whose groups are known.

use std::fmt;

use serde::Serialize;
use steffle::fairness::NotionName;
use steffle::metrics::{Bootstrap, Evidence, Interval, Names, Report};
use steffle_data::Dialect;

use super::Model;
use crate::Error;
use crate::study::HeldOut;

/// What a model does on held-out rows: error, gaps between groups, and rates per group.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Judged {
    /// The metrics.
    pub report: Report,
}

/// Records that a rate must be of to count in a gap, unless somebody says otherwise: the 95 % interval
/// of a share of 30 is at most 36 points wide, that of a share of 5 nearly all there is.
pub const MIN_GROUP: u32 = 30;

impl Model {
    /// Judges the model with 95 % intervals and gaps between groups of at least [`MIN_GROUP`] records.
    pub fn judge(&self, held: &HeldOut) -> Result<Judged, Error> {
        let bootstrap = Bootstrap { seed: self.seed, ..Bootstrap::default() };
        self.judge_by(held, Some(bootstrap), MIN_GROUP)
    }

    /// Judges the model, with intervals where resamples are asked for. Rates of fewer records than
    /// `min_group` count in no gap and are listed.
    pub fn judge_by(
        &self,
        held: &HeldOut,
        by: Option<Bootstrap>,
        min_group: u32,
    ) -> Result<Judged, Error> {
        let (schema, HeldOut { records, groups, .. }) = (&self.schema, held);
        let names = Names {
            labels: schema.labels().to_vec(),
            groups: groups.names.clone(),
            favourable: schema.favourable(),
        };
        let strata: Vec<u16> = (0..records.len()).map(|row| records.stratum(row)).collect();
        let probabilities = self.probabilities(records.rows());
        let evidence = Evidence::new(&names, records.labels(), &groups.classes, &probabilities)
            .map(|evidence| evidence.with_least(min_group))
            .and_then(|evidence| evidence.with_strata(&strata))
            .map_err(|error| Error::data("data::metrics", error.to_string()))?;
        // A model without a notion is measured by demographic parity.
        let notion = match &self.notion {
            NotionName::None => &NotionName::DemographicParity,
            notion => notion,
        };
        let (labels, strata) = (schema.labels().len(), schema.strata().len());
        let notion = notion.resolve(labels, schema.favourable(), strata);
        let report = match by {
            Some(bootstrap) => Report::with_intervals(&evidence, notion, bootstrap),
            None => Report::new(&evidence, notion),
        };
        Ok(Judged { report })
    }

    /// The rows of a labelled file, to judge the model by.
    pub fn rows_of(
        &self,
        file: impl AsRef<std::path::Path>,
        dialect: &Dialect,
    ) -> Result<HeldOut, Error> {
        HeldOut::read(file.as_ref(), &self.schema, dialect)
    }
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { intervals, .. } = &self.report;
        let intervals = intervals.as_ref();
        let mut line = |name: &str, value: Option<f64>, interval: Option<Interval>| {
            let value = value.map_or_else(|| "-".to_owned(), |value| format!("{value:.4}"));
            let interval = interval.map_or_else(String::new, |[low, high]| {
                format!("  (95 % interval {low:.4} to {high:.4})")
            });
            writeln!(f, "{name:24}{value:>8}{interval}")
        };
        let report = &self.report;
        line("error", Some(report.error), intervals.and_then(|i| i.error))?;
        line(
            "demographic-parity gap",
            report.demographic_parity,
            intervals.and_then(|i| i.demographic_parity),
        )?;
        line(
            "equalized-odds gap",
            report.equalized_odds,
            intervals.and_then(|i| i.equalized_odds),
        )?;
        line(
            "equal-opportunity gap",
            report.equal_opportunity,
            intervals.and_then(|i| i.equal_opportunity),
        )?;
        line(
            "accuracy-parity gap",
            report.accuracy_parity,
            intervals.and_then(|i| i.accuracy_parity),
        )?;
        line("AUC", report.auc, intervals.and_then(|i| i.auc))
    }
}
