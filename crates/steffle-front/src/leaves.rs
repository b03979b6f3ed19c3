//! What leaves a silo without noise, and why it may.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use steffle::division::Objective as _;
use steffle::linear::Features;
use steffle::model::Classifier;
use steffle::protocol::{LENGTHS, MOST_FACTORED};

use crate::ground::{OPTIMUM, RULE};
use crate::method::{Entry, Goal, Method};
use crate::study::Study;

/// One step and the numbers that leave a silo in it. None of them is protected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaves {
    /// The step of a run.
    pub step: Cow<'static, str>,
    /// Which numbers.
    pub what: Cow<'static, str>,
    /// Numbers (or names), per silo; per trip, evaluation or round where the step says so.
    pub numbers: usize,
    /// How to send less.
    pub avoid: Cow<'static, str>,
}

/// How large a study and a model are.
///
/// What leaves a silo in the clear is counted from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Cells of the notion.
    pub cells: usize,
    /// Outcomes that it compares: the columns of a cell's class table.
    pub outcomes: usize,
    /// Classes of the sensitive attribute, k.
    pub classes: usize,
    /// Labels, l.
    pub labels: usize,
    /// Parameters of the model, d.
    pub parameters: usize,
    /// Layers of the model.
    pub layers: usize,
    /// Features of a one-shot message: encoded ones, squares, parts and the bias.
    pub released: usize,
}

/// What silos send beside gradients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fitted {
    /// Their own optima, diagonals, and products with their inverse Hessians.
    Images,
    /// The diagonals of their Hessians.
    Diagonal,
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
    /// For a method on a study, with its model.
    pub(crate) fn new(study: &Study, method: &dyn Method, model: &dyn Classifier) -> Self {
        let objective = study.objective(method.aim());
        Self {
            cells: objective.cells(),
            outcomes: objective.columns(),
            classes: objective.classes,
            labels: objective.labels,
            parameters: model.parameters(),
            layers: model.blocks().len(),
            released: Features::released_size(study.schema().layout(), objective.parts()),
        }
    }

    /// Most trips until there is the unconstrained model, those included in which nodes say who they
    /// are, and join.
    pub(crate) fn most_trips(&self) -> u32 {
        2 + RULE.most_trips(self.layers, self.parameters, OPTIMUM)
    }

    /// Whether silos send more than gradients when models are found: products with inverse Hessians,
    /// or, of models that are too large for these, at least diagonals.
    pub(crate) fn fitted(&self) -> Option<Fitted> {
        match self.layers {
            1 if self.parameters <= MOST_FACTORED => Some(Fitted::Images),
            1 => Some(Fitted::Diagonal),
            _ => None,
        }
    }

    /// Most numbers of one trip on the way to a linear model: a count, `values` at every part of a step,
    /// and `gradients` with their images.
    pub(crate) fn trip(&self, values: usize, gradients: usize) -> usize {
        match self.fitted() {
            Some(Fitted::Images) => 1 + LENGTHS.len() * values + 2 * gradients * self.parameters,
            // The trip that also brings the diagonal.
            Some(Fitted::Diagonal) => 1 + values + (1 + gradients) * self.parameters,
            None => 1 + values + gradients * self.parameters,
        }
    }
}

/// What is said of the values that parity is conditioned on, where it is; under masks rows are added up.
fn strata(study: &Study, masked: bool) -> Option<Leaves> {
    let schema = study.schema();
    schema.recipe().stratum.as_ref()?;
    let small = schema.small_strata();
    let pooled = small.map_or(0, |small| small.values.len() - usize::from(small.pooled));
    let values = schema.strata().len() + pooled;
    let (what, numbers) = if masked {
        ("the names of the values", values)
    } else {
        ("the names of the values, and the rows of each", 2 * values)
    };
    Some(Leaves::new("values that parity is conditioned on", what, numbers, "another notion"))
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
    ];
    table.extend(strata(study, method.secure_aggregation()));
    if method.secure_aggregation() {
        // Names alone are no sums.
        return crate::aggregation::leaves(study, &table[1..]);
    }
    table.push(unconstrained(counts));
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
    if study.is_split() && study.is_elsewhere() {
        table.push(Leaves::new(
            "letters between sites",
            "whoever runs the server can write them in a site's name, unless their receiver pins keys",
            0,
            "[masks] key and [peers] in every silo.toml",
        ));
    }
    table
}

fn unconstrained(counts: &Counts) -> Leaves {
    let avoid = "secure aggregation";
    let step = "unconstrained model, per trip";
    match counts.fitted() {
        Some(Fitted::Images) => {
            let what = "the silo's own optimum and the diagonal of its Hessian, which shows counts \
                        of rare levels; then count, losses, gradient and its product with an \
                        inverse Hessian";
            Leaves::new(step, what, counts.trip(1, 1), avoid)
        }
        Some(Fitted::Diagonal) => {
            let what = "the diagonal of the silo's Hessian, which shows counts of rare levels; then \
                        count, losses and gradient";
            Leaves::new(step, what, counts.trip(1, 1), avoid)
        }
        None => Leaves::new(
            step,
            "two counts, the loss of records that are held out, and the parameters that the silo \
             reaches in a pass over its others",
            3 + counts.parameters,
            avoid,
        ),
    }
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
