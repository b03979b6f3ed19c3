//! What leaves a silo without noise, and why it may.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::method::{Entry, Goal, Method};
use crate::study::Study;

/// One step and the numbers that leave a silo in it. None of them is protected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaves {
    /// When.
    pub step: Cow<'static, str>,
    /// Which numbers.
    pub what: Cow<'static, str>,
    /// Numbers (or names), per silo; per evaluation or round where the step says so.
    pub numbers: usize,
    /// How to send less.
    pub avoid: Cow<'static, str>,
}

/// How large a study and a model are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Cells of the notion.
    pub cells: usize,
    /// Classes of the sensitive attribute, k.
    pub classes: usize,
    /// Labels, l.
    pub labels: usize,
    /// Parameters of the model, d.
    pub parameters: usize,
    /// Features of a one-shot message in one cell: encoded features and the bias.
    pub weights: usize,
}

impl Leaves {
    pub(crate) fn new(
        step: &'static str,
        what: &'static str,
        numbers: usize,
        avoid: &'static str,
    ) -> Self {
        Self { step: step.into(), what: what.into(), numbers, avoid: avoid.into() }
    }
}

impl Counts {
    /// For a method on a study, with a model of so many parameters.
    pub(crate) fn new(study: &Study, method: &dyn Method, parameters: usize) -> Self {
        Self {
            cells: study.notion(&method.aim().notion).cells(),
            classes: study.classes(),
            labels: study.labels(),
            parameters,
            weights: study.schema().layout().weights(),
        }
    }
}

/// The table for a run of a method: before training, in training, and to attributes holders.
pub(crate) fn leaves(method: &dyn Method, study: &Study, counts: &Counts) -> Vec<Leaves> {
    let (schema, entry) = (study.schema(), method.entry());
    // Classes that are declared are not collected from the silos.
    let declared = !schema.recipe().classes.is_empty();
    let mut table = vec![
        Leaves::new(
            "standardisation",
            "rows; count, mean and sum of squared deviations of every numeric column",
            1 + 3 * schema.numeric().len(),
            "agree constants in the schema",
        ),
        Leaves::new(
            "one-hot levels",
            "the names of the levels",
            schema.categorical().iter().map(|column| column.levels.len()).sum(),
            "agree levels in the schema",
        ),
        Leaves::new(
            if declared { "labels" } else { "labels and classes" },
            "their names, no count",
            counts.labels + if declared { 0 } else { counts.classes },
            "needed",
        ),
        Leaves::new(
            "unconstrained model, per evaluation",
            "the loss, its gradient and two counts",
            3 + counts.parameters,
            "secure aggregation",
        ),
    ];
    table.extend(method.leaves(counts));
    if study.is_split() && entry.goal == Goal::Groups && counts.cells > 0 {
        let (what, numbers) = if entry.answers_by_id {
            ("nothing: holders publish answers by record id", 0)
        } else {
            ("the encoded features: the holder learns x", schema.layout().features)
        };
        let avoid = "randomised-response, or both divisions under one roof";
        table.push(Leaves::new("to every attributes holder, per record", what, numbers, avoid));
    }
    table
}

/// The table as one sentence, for the statement.
pub(crate) fn in_words(entry: &Entry, leaves: &[Leaves]) -> String {
    let each: Vec<String> =
        leaves.iter().map(|left| format!("{} ({})", left.step, left.numbers)).collect();
    let matrices = leaves.iter().any(|left| left.step.starts_with("pooled"));
    let squared = if matrices {
        "two of them are matrices of features by features"
    } else {
        "no matrix of features by features"
    };
    format!(" {}: {}; {squared}.", entry.without_noise, each.join(", "))
}
