//! Whether a run made its model fairer, as far as what was released can tell.

use serde::Serialize;

use crate::trained::Trained;

/// What a run knows, from released numbers alone, about whether it made its model fairer.
///
/// Every method measures its own evidence, and has its own threshold; the shape, and the words where
/// there is too little of it, are the same. Nothing about it costs privacy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Fairer {
    /// How far what was released tells the groups apart, against its noise.
    pub evidence: f64,
    /// With less than this, training follows noise.
    pub threshold: f64,
    /// Whether the evidence reaches it.
    pub probably: bool,
}

/// What is said where the evidence is below its threshold.
pub const NOT_FAIRER: &str =
    "this release cannot tell the groups apart: the model is probably not fairer";

impl Fairer {
    /// Evidence that is no number is none.
    pub(crate) fn new(evidence: f64, threshold: f64) -> Self {
        Self { evidence, threshold, probably: evidence >= threshold }
    }
}

impl Trained {
    /// Keeps what is known about fairness; where it is not enough warns of it, with what `helps`.
    pub(crate) fn judge(&mut self, fairer: Fairer, helps: impl FnOnce() -> String) {
        if !fairer.probably {
            self.warnings.push(format!("{NOT_FAIRER}. {}", helps()));
        }
        self.fairer = Some(fairer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_evidence_at_the_threshold_is_enough() {
        assert!(Fairer::new(2.0, 2.0).probably);
        assert!(!Fairer::new(1.999, 2.0).probably);
        assert!(!Fairer::new(f64::NAN, 2.0).probably);
    }
}
