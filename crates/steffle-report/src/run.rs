//! One training run, as plain data for its page.

use crate::comparison::{Panel, Table};

/// What a page says about one run. Shares are in percent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunPage {
    /// Heading.
    pub title: String,
    /// The result in a sentence or two.
    pub lead: String,
    /// What was done: a name and a few words each.
    pub facts: Vec<(String, String)>,
    /// What should be looked at.
    pub warnings: Vec<String>,
    /// The numbers of the model beside those of the unconstrained one.
    pub measures: Vec<Measure>,
    /// What the share of every group is a share of.
    pub share: String,
    /// The groups.
    pub groups: Vec<Measure>,
    /// What is not compared for want of evidence, a sentence each.
    pub evidence: Vec<String>,
    /// Drawings: the trade-off, the privacy curve.
    pub panels: Vec<Panel>,
    /// What was sent without noise.
    pub sent: Table,
    /// What is said about privacy, a paragraph each.
    pub privacy: Vec<String>,
}

/// A share with its interval, beside that of the unconstrained model.
///
/// A bar shows both.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measure {
    /// What it is, or whose.
    pub name: String,
    /// Of this model; none where there is not enough evidence.
    pub value: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<[f64; 2]>,
    /// Of the unconstrained model.
    pub baseline: Option<f64>,
}
