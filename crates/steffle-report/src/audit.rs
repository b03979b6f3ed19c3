//! What an audit found, as plain data for its page.

use crate::comparison::Table;

/// What a page says about one audit.
///
/// The curve that was found is drawn beside the one that was promised.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AuditPage {
    /// Heading.
    pub title: String,
    /// What was found, in a sentence or two.
    pub lead: String,
    /// Whether the promise is broken.
    pub violation: bool,
    /// What was done: a name and a few words each.
    pub facts: Vec<(String, String)>,
    /// Claim, estimate and bounds.
    pub numbers: Table,
    /// What the attack did.
    pub errors: ErrorCurves,
    /// What this shows and what it cannot, a paragraph each.
    pub says: Vec<String>,
}

/// Errors of an attack, as shares from 0 to 1: false alarms, then missed cases.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ErrorCurves {
    /// The fewest that the promise allows.
    pub promised: Vec<[f64; 2]>,
    /// Those that were made.
    pub measured: Vec<[f64; 2]>,
    /// The most that both can really be, at some thresholds, with the audit's confidence.
    pub most: Vec<[f64; 2]>,
}
