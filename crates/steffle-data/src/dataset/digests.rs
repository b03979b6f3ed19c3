//! What records say, as numbers by which it is noticed that they were altered.

use sha2::{Digest, Sha256};

use super::Dataset;
use crate::table::{Categories, PIECE};

impl Dataset {
    /// A digest of every usable row, in ascending order: of all that sums over records can be about,
    /// which are features, label and stratum. Neither s nor who a row is about is in it, so whoever
    /// sorts rows, or numbers them anew, alters none.
    pub fn digests(&self) -> Vec<u64> {
        let mut names = Sha256::new();
        for (name, _) in self.numeric().chain(self.categorical()) {
            names.update(name.as_bytes());
            names.update([0]);
        }
        let texts: Vec<_> = self.categorical().map(|(_, column)| Categories::of(column)).collect();
        let (label, stratum) = (self.label(), self.stratum());
        let texts = || texts.iter().map(AsRef::as_ref).chain(label.as_deref()).chain(stratum);
        let mut digests = Vec::with_capacity(self.rows().len());
        for piece in self.rows().chunks(PIECE) {
            let numbers: Vec<Vec<f64>> = self
                .numeric()
                .map(|(_, column)| column.numbers_of(piece).unwrap_or_default())
                .collect();
            for (at, &row) in piece.iter().enumerate() {
                let mut hash = names.clone();
                for column in &numbers {
                    hash.update(
                        column.get(at).copied().unwrap_or(f64::NAN).to_bits().to_le_bytes(),
                    );
                }
                for text in texts() {
                    let level = text.level(row as usize);
                    hash.update([u8::from(level.is_some())]);
                    hash.update(level.unwrap_or_default().as_bytes());
                    hash.update([0]);
                }
                let hash: [u8; 32] = hash.finalize().into();
                digests.extend(hash.first_chunk().map(|first| u64::from_le_bytes(*first)));
            }
        }
        digests.sort_unstable();
        digests
    }
}
