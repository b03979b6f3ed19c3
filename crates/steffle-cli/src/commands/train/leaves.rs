//! What leaves a silo without noise, and why it may.

use serde::Serialize;
use steffle::fairness::Notion;
use steffle_data::Schema;

use super::load::Holdings;
use crate::config::{Method, Mode, Sign, TrainConfig};

/// One step and the numbers that leave a silo in it. None of them is protected.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Leaves {
    pub(crate) step: &'static str,
    pub(crate) what: String,
    /// Numbers (or names), per silo; per evaluation or round where the step says so.
    pub(crate) numbers: usize,
    /// How to send less.
    pub(crate) avoid: &'static str,
}

/// The table for a run of these settings.
pub(crate) fn leaves(
    config: &TrainConfig,
    schema: &Schema,
    holdings: &Holdings,
    parameters: usize,
) -> Vec<Leaves> {
    let (classes, labels) = (schema.classes().len(), schema.labels().len());
    let notion = config.notion.resolve(labels, schema.favourable(), schema.strata().len());
    let cells =
        if config.method == Method::Erm || config.method.federated() { 0 } else { notion.cells() };
    // Classes that are declared are not collected from the silos.
    let declared = !schema.recipe().classes.is_empty();
    let mut table = vec![
        Leaves {
            step: "standardisation",
            what: "rows; count, mean and sum of squared deviations of every numeric column"
                .to_owned(),
            numbers: 1 + 3 * schema.numeric().len(),
            avoid: "agree constants in the schema",
        },
        Leaves {
            step: "one-hot levels",
            what: "the names of the levels".to_owned(),
            numbers: schema.categorical().iter().map(|column| column.levels.len()).sum(),
            avoid: "agree levels in the schema",
        },
        Leaves {
            step: if declared { "labels" } else { "labels and classes" },
            what: "their names, no count".to_owned(),
            numbers: labels + if declared { 0 } else { classes },
            avoid: "needed",
        },
        Leaves {
            step: "unconstrained model, per evaluation",
            what: "the loss, its gradient and two counts".to_owned(),
            numbers: 3 + parameters,
            avoid: "secure aggregation",
        },
    ];
    table.extend(training(config, notion, classes, labels, parameters));
    if matches!(config.mode, Mode::Exact | Mode::Poisson) && config.method.steps() {
        table.push(Leaves {
            step: "noise, per round",
            what: "its scales, which depend on the features".to_owned(),
            numbers: 4,
            avoid: "needed to average messages well",
        });
    }
    if config.method == Method::OneShot {
        table.push(Leaves {
            step: "gap estimate, per model",
            what: "per cell, decisions and memberships, and by class the corrected sums".to_owned(),
            numbers: cells * (1 + 2 * labels + classes + classes * labels),
            avoid: "needed for --target-gap and warnings",
        });
    }
    if config.one_shot.is_some_and(|settings| settings.pool) {
        table.extend(pooled(cells * schema.layout().weights()));
    }
    if matches!(holdings, Holdings::Split { .. }) && cells > 0 {
        let answers = matches!(config.method, Method::RandomisedResponse | Method::Fermi);
        let numbers = if answers { 0 } else { schema.layout().features };
        table.push(Leaves {
            step: "to every attributes holder, per record",
            what: if answers {
                "nothing: holders publish answers by record id".to_owned()
            } else {
                "the encoded features: the holder learns x".to_owned()
            },
            numbers,
            avoid: "randomised-response, or both divisions under one roof",
        });
    }
    table
}

/// The table as one sentence, for the statement.
pub(crate) fn in_words(method: Method, leaves: &[Leaves]) -> String {
    let each: Vec<String> =
        leaves.iter().map(|left| format!("{} ({})", left.step, left.numbers)).collect();
    let matrices = leaves.iter().any(|left| left.step.starts_with("pooled"));
    let squared = if matrices {
        "two of them are matrices of the size of the features squared"
    } else {
        "nothing of the size of the features squared"
    };
    format!(" {}: {}; {squared}.", without_noise(method), each.join(", "))
}

/// How the table is introduced: who computes it, and why without noise.
pub(crate) fn without_noise(method: Method) -> &'static str {
    match method {
        Method::Steffle | Method::SteffleNonprivate | Method::Erm | Method::FedAvg => {
            "Without noise, because it does not involve the attribute, every silo sends numbers for"
        }
        Method::OneShot => {
            "Without noise, because it involves the attribute only as it was released, every silo \
             sends numbers for"
        }
        Method::RandomisedResponse => {
            "Without noise, because it involves the attribute only as it was answered, every silo \
             sends numbers for"
        }
        // Its promise is about features and labels, too.
        Method::FedFdp => "Without noise, and outside of any claim, every silo sends numbers for",
        Method::DpFermi | Method::PfLd => {
            "Nothing is sent before the curator has it. Without noise, because it does not involve \
             the attribute, the curator computes numbers for"
        }
        Method::Fermi | Method::Reductions => {
            "Nothing is sent before the curator has it. Without noise, and in training from the \
             true classes, the curator computes numbers for"
        }
    }
}

fn training(
    config: &TrainConfig,
    notion: Notion,
    classes: usize,
    labels: usize,
    parameters: usize,
) -> Option<Leaves> {
    let cells = notion.cells();
    let (step, what, numbers) = match config.method {
        Method::Erm => return None,
        Method::FedAvg | Method::FedFdp if config.mode == Mode::None => (
            "training, per round",
            "the record count, the parameters after local training and, with lambda, the loss",
            1 + parameters + usize::from(config.lambda > 0.0),
        ),
        Method::FedAvg | Method::FedFdp => {
            ("training, once", "the record count; all else in training has noise", 1)
        }
        Method::PfLd if config.sign == Some(Sign::Batch) => {
            ("training, per step", "the loss gradient of a batch", parameters)
        }
        Method::Steffle | Method::DpFermi | Method::PfLd | Method::SteffleNonprivate => (
            "training, per round",
            "two counts, the loss gradient; per cell a count, output sums and, unless the mode is \
             paper, the public part of the gradient",
            2 + parameters
                + cells * (1 + labels + if config.mode == Mode::Paper { 0 } else { parameters }),
        ),
        Method::OneShot => (
            "training, per evaluation",
            "count, loss, two gradients; per cell a count and a class table from the release",
            2 + 2 * parameters + cells * (1 + classes * labels),
        ),
        Method::Reductions => (
            "training, per evaluation",
            "the loss and its gradient, weighted by the classes",
            1 + parameters,
        ),
        Method::Fermi | Method::RandomisedResponse => (
            "training, per evaluation",
            "count, loss, two gradients; per cell a count and a class table from the answers",
            2 + 2 * parameters + cells * (1 + classes * labels),
        ),
    };
    Some(Leaves { step, what: what.to_owned(), numbers, avoid: "secure aggregation" })
}

fn pooled(features: usize) -> [Leaves; 2] {
    let matrix = features * (features + 1) / 2;
    [
        Leaves {
            step: "pooled Gram matrix and cap",
            what: "a matrix of the features (a rare level's row can be a record) and a quantile"
                .to_owned(),
            numbers: matrix + 2,
            avoid: "leave out --pool; secure aggregation",
        },
        Leaves {
            step: "pooled moments",
            what: "a matrix and a sum of the capped features".to_owned(),
            numbers: matrix + features + 1,
            avoid: "leave out --pool; secure aggregation",
        },
    ]
}
