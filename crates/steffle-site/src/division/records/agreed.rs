//! What sites agree on that share noise in rounds: its shape and the length of a capped row. No `s` here.

use steffle_model::decode::RoundBounds;
use steffle_model::linear::{Features, Symmetric, Whitening, WhiteningError};
use steffle_wire::{QuestionError, RowCap};

use super::division::{RecordsDivision, RecordsDivisionError};
use super::protection::{Protection, curvatures};

impl RecordsDivision {
    /// Records, what they weigh in the curvature of the loss at theta, and the sum of `w x x'`.
    pub(crate) fn curvature(
        &self,
        theta: &[f64],
        without: &[u32],
    ) -> Result<(f64, f64, Symmetric), RecordsDivisionError> {
        self.agrees()?;
        let (expected, found) = (self.model.parameters(), theta.len());
        if found != expected {
            return Err(QuestionError::Theta { found, expected }.into());
        }
        let features = Features::whole(self.records.rows());
        if features.size() > Whitening::MOST {
            let (size, most) = (features.size(), Whitening::MOST);
            return Err(WhiteningError::Size { size, most }.into());
        }
        let weights = curvatures(self.records.rows(), self.model.as_ref(), theta);
        let sum = weights.iter().sum();
        let features = features.without(without).map_err(|_| RecordsDivisionError::Layout)?;
        Ok((weights.len() as f64, sum, features.gram(&weights)))
    }

    /// Takes a common shape; says how many records there are, and that number times the length at a
    /// quantile of them.
    pub(crate) fn shape_shared(
        &mut self,
        gram: Option<Symmetric>,
        quantile: RowCap,
    ) -> Result<(f64, f64), RecordsDivisionError> {
        self.agrees()?;
        self.fitting.forget();
        let size = Features::whole(self.records.rows()).size();
        if gram.as_ref().is_some_and(|gram| gram.size() != size) {
            return Err(RecordsDivisionError::NotAgreed);
        }
        self.protection = Protection::shared(self.records.rows(), gram)?;
        Ok(self.protection.lengths_at(quantile))
    }

    /// Takes the common cap, under the shape that was taken before.
    pub(crate) fn cap_shared(&mut self, length: f64, bits: u8) -> Result<(), RecordsDivisionError> {
        self.agrees()?;
        let lengths = self.protection.lengths().len() == self.records.len();
        if !(lengths && length.is_finite() && length > 0.0 && RoundBounds::allows(bits)) {
            return Err(RecordsDivisionError::NotAgreed);
        }
        self.protection.cap_at(length, bits);
        Ok(())
    }

    /// Bits of coefficients, once sites agreed.
    pub(in crate::division) fn shared_bits(&self) -> Option<u8> {
        self.protection.bits()
    }

    /// One layer, and every record its own person: the bound that sites agree on is about one row.
    fn agrees(&self) -> Result<(), RecordsDivisionError> {
        let alone = self.records.unit_count() == self.records.len();
        if alone && self.model.blocks().len() == 1 {
            Ok(())
        } else {
            Err(RecordsDivisionError::NotAgreed)
        }
    }
}
