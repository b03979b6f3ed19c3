//! Who pays for metrics by group: the books of the stores, or nobody who remembers.

use std::path::Path;

use sha2::{Digest, Sha256};
use steffle_data::Schema;
use steffle_front::{Model, NoiseOrigin, Purchase, Testing, schema_of_owner, schema_of_store};
use steffle_ledger::{Look, book_paths, look};
use steffle_privacy::ledger::hexadecimal;

use super::ledger::{boxed, paying_books, store_columns};
use super::train::{LedgerReport, ledger_report};
use crate::failure::Failure;
use crate::ui::Output;

/// What was typed about the cost.
#[derive(Clone, Copy)]
pub(super) struct Buying<'a> {
    pub(super) ledger: Option<&'a Path>,
    /// The sensitive columns, as the owner of the files names them.
    pub(super) sensitive: &'a [String],
    pub(super) epsilon: f64,
    pub(super) delta: Option<f64>,
    /// `secure` or `simulated`.
    pub(super) noise: &'a str,
    pub(super) seed: u64,
}

impl Buying<'_> {
    /// Refuses seeded noise beside a book.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.noise == "simulated" && self.ledger.is_some() {
            let message = "--ledger is for private metrics, and --noise simulated is from a seed";
            let help = "leave --noise out, or leave --ledger out: a simulation spends nothing";
            return Err(Failure::usage("config::conflict", message).help(help));
        }
        Ok(())
    }

    /// Refuses a run directory that says otherwise about the store's columns than its ledger or, without
    /// one, than the owner of the files, before any of them is read. A simulation claims nothing.
    pub(super) fn admits(&self, schema: &Schema) -> Result<(), Failure> {
        if let Some(path) = self.ledger {
            schema_of_store(schema, &store_columns(path)?)?;
        }
        match self.sensitive {
            [] if self.ledger.is_some() || self.noise == "simulated" => Ok(()),
            [] => {
                let message = "without --ledger, --sensitive has to name the sensitive columns of the \
                               files: a run directory alone does not decide what is protected";
                let help = "add --sensitive COLUMN, or pay from a book: --ledger FILE";
                Err(Failure::usage("usage::missing", message).help(help))
            }
            sensitive => Ok(schema_of_owner(schema, sensitive)?),
        }
    }

    /// The purchase of these models' metrics on these rows, with the books that pay for it.
    pub(super) fn purchase(
        &self,
        models: &[&Model],
        testing: &Testing,
        output: Output,
    ) -> Result<Purchase, Failure> {
        let noise = match self.noise {
            "simulated" => NoiseOrigin::Simulated,
            _ => NoiseOrigin::Secure,
        };
        let Self { epsilon, delta, seed, .. } = *self;
        let Some(path) = self.ledger else {
            if noise == NoiseOrigin::Secure {
                output.note(
                    "no --ledger: this spends the privacy of real people, and nothing but you will \
                     remember it; `steffle ledger init` begins a book",
                );
            }
            let (run, books) = ([0; 16], Vec::new());
            return Ok(Purchase { epsilon, delta, noise, seed, run, books });
        };
        let ids = testing.ids();
        let run = self.run(path, models, &ids)?;
        let silos = (!testing.is_split()).then_some(&ids[..]);
        let books =
            boxed(paying_books(path, testing.stores(), silos, &[run], &[&ids.concat()], output)?);
        Ok(Purchase { epsilon, delta, noise, seed, run, books })
    }

    /// What the books say of a purchase that has ended.
    pub(super) fn report(&self, run: [u8; 16]) -> Result<Option<LedgerReport>, Failure> {
        self.ledger.map(|path| ledger_report(path, &run)).transpose()
    }

    /// The name of the purchase: the same for the same question about the same records, as long as it
    /// has not ended in any of the books, so that what was interrupted goes on. One that has ended may
    /// be asked again: it gets the same bytes, and pays nothing.
    fn run(&self, path: &Path, models: &[&Model], ids: &[&[u64]]) -> Result<[u8; 16], Failure> {
        let mut question = Sha256::new();
        question.update(b"metrics");
        for model in models {
            question.update(model.schema().hash());
            model.theta().iter().for_each(|number| question.update(number.to_le_bytes()));
        }
        for number in [Some(self.epsilon), self.delta].into_iter().flatten() {
            question.update(number.to_le_bytes());
        }
        for ids in ids {
            question.update((ids.len() as u64).to_le_bytes());
            ids.iter().for_each(|id| question.update(id.to_le_bytes()));
        }
        let looks =
            book_paths(path)?.iter().map(|path| look(path)).collect::<Result<Vec<_>, _>>()?;
        let mut id = [0; 16];
        for attempt in 0_u32.. {
            let hash = question.clone().chain_update(attempt.to_le_bytes()).finalize();
            id.copy_from_slice(&hash[..16]);
            let name = hexadecimal(&id);
            let ended = |look: &Look| look.book.run(&name).is_some_and(|(_, grant)| grant.closed());
            if !looks.iter().any(ended) {
                break;
            }
        }
        Ok(id)
    }
}
