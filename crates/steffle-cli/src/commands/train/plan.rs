//! `train --dry-run`: what would be done and what it would cost.

use serde::Serialize;
use steffle::train::Plan;

use super::Prepared;
use super::leaves::Leaves;
use super::load::Loaded;
use super::privacy::PrivacyReport;
use super::report::RowCounts;
use crate::config::{Method, TrainConfig};
use crate::ui::{Output, Rows, left_out, wrap};

/// The JSON of `train --dry-run`.
#[derive(Debug, Serialize)]
pub(crate) struct Preview<'a> {
    dry_run: bool,
    config: &'a TrainConfig,
    rows: &'a RowCounts,
    /// What was decided while the file was read, one sentence each.
    reading: &'a [String],
    silo_rows: &'a [usize],
    attributes_holders: usize,
    features: usize,
    parameters: usize,
    classes: &'a [String],
    labels: &'a [String],
    /// Absent for methods that stop at an optimum.
    rounds: Option<u32>,
    /// Numbers that one silo sends about the sensitive attribute in a round.
    private_numbers_per_round: Option<usize>,
    /// Classes that leave the attributes divisions, once, for methods that train on them.
    classes_released: Option<usize>,
    /// Numbers about the sensitive attribute that a silo releases, once, in a one-shot run.
    numbers_released_once: Option<usize>,
    leaves_in_clear: &'a [Leaves],
    privacy: &'a PrivacyReport,
    warnings: &'a [String],
}

impl<'a> Preview<'a> {
    pub(crate) fn new(config: &'a TrainConfig, loaded: &'a Loaded, prepared: &'a Prepared) -> Self {
        let schema = &loaded.schema;
        let (classes, labels) = (schema.classes(), schema.labels());
        let favourable = schema.favourable();
        let notion = config.notion.resolve(labels.len(), favourable, schema.strata().len());
        let parameters = prepared.model.parameters();
        let per_cell = parameters + classes.len() * labels.len();
        let plan = prepared.plan.as_ref();
        Self {
            dry_run: true,
            config,
            rows: &prepared.rows,
            reading: &loaded.reading,
            silo_rows: &prepared.silo_rows,
            attributes_holders: loaded.holdings.attributes_holders(),
            features: schema.layout().features,
            parameters,
            classes,
            labels,
            rounds: plan.map(Plan::rounds).or(prepared.federated.map(|own| own.rounds())),
            private_numbers_per_round: plan.map(|_| notion.cells() * per_cell),
            classes_released: (config.method.has_path() || prepared.published.is_some())
                .then_some(prepared.rows.train),
            numbers_released_once: (config.method == Method::OneShot).then(|| {
                let sent = if classes.len() == 2 { 1 } else { classes.len() };
                sent * notion.cells() * schema.layout().weights()
            }),
            leaves_in_clear: &prepared.leaves,
            privacy: &prepared.privacy,
            warnings: &prepared.warnings,
        }
    }

    /// The plan as a person reads it.
    pub(crate) fn text(&self, settings: &str, output: Output) -> String {
        let rows = self.rows;
        let rounds = self
            .rounds
            .map_or_else(|| "to the optimum".to_owned(), |rounds| format!("{rounds} rounds"));
        let mut text = format!(
            "{}\n{settings}\n{} training, {} validation and {} test rows\n{}silos of \
             {:?} records, {} attributes holder(s)\n{} features, {} parameters, {rounds}\n",
            output.strong("Plan (nothing was computed)"),
            rows.train,
            rows.validation,
            rows.test,
            left_out(rows.dropped, &rows.dropped_for),
            self.silo_rows,
            self.attributes_holders,
            self.features,
            self.parameters,
        );
        for sentence in self.reading {
            text += &wrap(sentence);
        }
        if let Some(numbers) = self.private_numbers_per_round {
            text += &format!(
                "every attributes holder sends {numbers} numbers about the sensitive attribute \
                 per round\n"
            );
        }
        if let Some(records) = self.classes_released {
            text += &format!(
                "the attributes holders release a class for each of {records} records, once\n"
            );
        }
        if let Some(numbers) = self.numbers_released_once {
            text += &format!(
                "every silo's attributes holder releases {numbers} noisy numbers, once, for all \
                 lambdas\n"
            );
        }
        text += "\n";
        text += &leaves_text(self.leaves_in_clear);
        text += "\n";
        text += &wrap(&format!("{} {}", output.strong("Privacy:"), self.privacy.statement));
        for warning in self.warnings {
            text += &wrap(&format!("{} {warning}", output.strong("Warning:")));
        }
        text
    }
}

/// What leaves a silo without noise, as a table.
fn leaves_text(leaves: &[Leaves]) -> String {
    let mut rows = Rows::new(&["leaves a silo without noise", "numbers", "to send less"]);
    for Leaves { step, numbers, avoid, .. } in leaves {
        rows.push(vec![(*step).to_owned(), numbers.to_string(), (*avoid).to_owned()]);
    }
    let mut text = rows.render();
    for Leaves { step, what, .. } in leaves {
        text += &wrap(&format!("{step}: {what}"));
    }
    text
}
