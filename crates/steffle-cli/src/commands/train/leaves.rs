//! What leaves a silo without noise, because it does not involve the sensitive attribute.

use serde::Serialize;
use steffle::fairness::Notion;
use steffle_data::Schema;

use super::load::Holdings;
use crate::config::{Method, TrainConfig};

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
    let cells = if config.method == Method::Erm { 0 } else { notion.cells() };
    let mut table = vec![
        Leaves {
            step: "standardisation",
            what: "n, and the sum and sum of squares of every numeric column".to_owned(),
            numbers: 1 + 2 * schema.numeric().len(),
            avoid: "agree constants in the schema",
        },
        Leaves {
            step: "one-hot levels",
            what: "the names of the levels".to_owned(),
            numbers: schema.categorical().iter().map(|column| column.levels.len()).sum(),
            avoid: "agree levels in the schema",
        },
        Leaves {
            step: "label and cell counts",
            what: "records by label and by cell".to_owned(),
            numbers: labels + cells,
            avoid: "needed",
        },
        Leaves {
            step: "unconstrained model, per evaluation",
            what: "the loss and its gradient".to_owned(),
            numbers: 1 + parameters,
            avoid: "secure aggregation",
        },
    ];
    table.extend(training(config, notion, classes, labels, parameters));
    if config.one_shot.is_some_and(|settings| settings.pool) {
        table.extend(pooled(cells * schema.layout().weights()));
    }
    if matches!(holdings, Holdings::Split { .. }) && config.method != Method::Erm {
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
        Method::Steffle => (
            "training, per round",
            "the loss gradient and, per cell, output sums and the public part of the gradient",
            parameters + cells * (labels + parameters),
        ),
        Method::OneShot => (
            "training, per evaluation",
            "the loss, two gradients and a class table per cell, from the released sums",
            1 + 2 * parameters + cells * classes * labels,
        ),
        Method::Fermi | Method::RandomisedResponse => (
            "training, per evaluation",
            "the loss, two gradients and a class table per cell",
            1 + 2 * parameters + cells * classes * labels,
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
