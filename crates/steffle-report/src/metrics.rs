//! Metrics by group from noisy counts, as plain data for their page.

use crate::run::Measure;

/// What a page says about the metrics of one model. Shares are in percent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MetricsPage {
    /// Heading.
    pub title: String,
    /// The result in a sentence or two.
    pub lead: String,
    /// The error and the gaps.
    pub measures: Vec<Measure>,
    /// Rates of every group: what they are of, and the groups.
    pub rates: Vec<(String, Vec<Measure>)>,
    /// What is not told for want of evidence, and how intervals are to be read: a sentence each.
    pub evidence: Vec<String>,
    /// What is said about privacy, a paragraph each.
    pub privacy: Vec<String>,
    /// What was measured: a name and a few words each.
    pub facts: Vec<(String, String)>,
}
