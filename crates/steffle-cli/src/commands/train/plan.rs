//! `train --dry-run`: what would be done and what it would cost.

use std::borrow::Cow;

use serde::Serialize;
use steffle_front::{Aggregation, Announced, Divided, Leaves, Plan, Privacy};

use super::report::RowCounts;
use crate::config::TrainConfig;
use crate::ui::{Output, Rows, all_flags, left_out, wrap};

/// The JSON of `train --dry-run`.
#[derive(Debug, Serialize)]
pub(crate) struct Preview<'a> {
    dry_run: bool,
    config: &'a TrainConfig,
    rows: RowCounts,
    /// What was decided while the file was read, one sentence each.
    reading: Vec<String>,
    silo_rows: Vec<usize>,
    attributes_holders: usize,
    features: usize,
    parameters: usize,
    classes: &'a [String],
    labels: &'a [String],
    #[serde(flatten)]
    announced: Announced,
    leaves_in_clear: &'a [Leaves],
    /// How sums are added up, where that is under masks.
    #[serde(skip_serializing_if = "Option::is_none")]
    aggregation: Option<&'a Aggregation>,
    privacy: Cow<'a, Privacy>,
    /// The share of the budget that buys the final metrics by group, and what these cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics_epsilon: Option<f64>,
    warnings: Vec<String>,
}

impl<'a> Preview<'a> {
    pub(crate) fn new(config: &'a TrainConfig, plan: &'a Plan, divided: Option<&Divided>) -> Self {
        let study = plan.study();
        let schema = study.schema();
        Self {
            dry_run: true,
            config,
            rows: RowCounts::of(study),
            reading: all_flags(&study.about().reading),
            silo_rows: study.known_sizes(),
            attributes_holders: study.attributes_holders(),
            features: schema.layout().features,
            parameters: plan.parameters(),
            classes: schema.classes(),
            labels: schema.labels(),
            announced: plan.announced(),
            leaves_in_clear: plan.leaves(),
            aggregation: plan.aggregation(),
            privacy: match divided {
                Some(divided) => Cow::Owned(divided.said(plan.privacy())),
                None => Cow::Borrowed(plan.privacy()),
            },
            metrics_share: divided.map(|divided| divided.share),
            metrics_epsilon: divided.map(|divided| divided.metrics),
            warnings: all_flags(plan.warnings()),
        }
    }

    /// The plan as a person reads it.
    pub(crate) fn text(&self, settings: &str, output: Output) -> String {
        let Self { rows, announced, .. } = self;
        let rounds = announced
            .rounds
            .map_or_else(|| "to the optimum".to_owned(), |rounds| format!("{rounds} rounds"));
        let mut text = format!(
            "{}\n{settings}\n{} training, {} validation and {} test rows\n{}silos of \
             {:?} records, {} attributes holder(s)\n{} features, {} parameters, {rounds}\n",
            output.strong("Plan (nothing is computed)"),
            rows.train,
            rows.validation,
            rows.test,
            left_out(rows.dropped, &rows.dropped_for),
            self.silo_rows,
            self.attributes_holders,
            self.features,
            self.parameters,
        );
        for sentence in &self.reading {
            text += &wrap(sentence);
        }
        if let Some(numbers) = announced.private_numbers_per_round {
            text += &format!(
                "every attributes holder sends {numbers} numbers about the sensitive attribute \
                 per round\n"
            );
        }
        if let Some(records) = announced.classes_released {
            text += &format!(
                "the attributes holders release a class for each of {records} records, once\n"
            );
        }
        if let Some(numbers) = announced.numbers_released_once {
            text += &format!(
                "every silo's attributes holder releases {numbers} noisy numbers, once, for all \
                 lambdas\n"
            );
        }
        if let (Some(share), Some(epsilon)) = (self.metrics_share, self.metrics_epsilon) {
            text += &format!(
                "a share of {share} of the budget buys metrics by group on the test rows (epsilon \
                 {epsilon})\n"
            );
        }
        if let Some(trips) = announced.trips {
            text += &format!(
                "at most {trips} trips over the wire; usually far fewer, as models are found before \
                 their last step\n"
            );
        }
        text += "\n";
        text += &leaves_text(self.leaves_in_clear);
        text += "\n";
        text += &wrap(&format!("{} {}", output.strong("Privacy:"), self.privacy.statement));
        for warning in &self.warnings {
            text += &wrap(&format!("{} {warning}", output.strong("Warning:")));
        }
        text
    }
}

/// What leaves a silo without noise, as a table.
fn leaves_text(leaves: &[Leaves]) -> String {
    let mut rows = Rows::new(&["leaves a silo without noise", "numbers", "to send less"]);
    for Leaves { step, numbers, avoid, .. } in leaves {
        rows.push(vec![step.to_string(), numbers.to_string(), avoid.to_string()]);
    }
    let mut text = rows.render();
    for Leaves { step, what, .. } in leaves {
        text += &wrap(&format!("{step}: {what}"));
    }
    text
}
