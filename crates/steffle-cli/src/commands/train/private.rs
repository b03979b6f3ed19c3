//! `train --ledger`: a run on one machine that is paid from the stores' own books.

use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest, Sha256};
use steffle_front::{Centralisation, Privacy, Study};
use steffle_ledger::{book_paths, look};
use steffle_privacy::ledger::{Receipt, hexadecimal};

use crate::args::TrainCommand;
use crate::commands::ledger::{boxed, paying_books};
use crate::config::TrainConfig;
use crate::failure::Failure;
use crate::ui::Output;

/// What a run leaves in the books, as its run directory tells.
#[derive(Debug, Serialize)]
pub(crate) struct LedgerReport {
    pub(crate) path: PathBuf,
    pub(crate) run: String,
    /// One per store.
    pub(crate) stores: Vec<StoreReport>,
}

/// What one store released, and what it has spent in its life.
#[derive(Debug, Serialize)]
pub(crate) struct StoreReport {
    pub(crate) store: String,
    pub(crate) epsilon_budget: f64,
    pub(crate) epsilon_spent: f64,
    /// The last line of the book when the run ended, and its hash.
    pub(crate) entries: u64,
    pub(crate) last_hash: String,
    pub(crate) receipts: Vec<Receipt>,
}

impl LedgerReport {
    /// What was spent, in a sentence.
    pub(crate) fn text(&self, output: Output) -> String {
        let most = self.stores.iter().max_by(|a, b| a.epsilon_spent.total_cmp(&b.epsilon_spent));
        let (spent, budget) =
            most.map_or((0.0, 0.0), |store| (store.epsilon_spent, store.epsilon_budget));
        let spent = steffle_privacy::rounding::up(spent, 4);
        format!(
            "{} {}, run {}: epsilon {spent} of {budget} is spent for good by all runs together{}.",
            output.strong("Ledger:"),
            self.path.display(),
            self.run,
            if self.stores.len() > 1 { ", in the store that has spent most" } else { "" }
        )
    }
}

/// A run that is paid for has secret noise. Refuses a seed beside a ledger.
pub(crate) fn secret(command: &mut TrainCommand) -> Result<(), Failure> {
    if command.ledger.is_none() {
        return Ok(());
    }
    if command.train.noise.as_deref() == Some("simulated") {
        let message = "--ledger is for private runs, and --noise simulated is from a seed";
        let help = "leave --noise out, or leave --ledger out: a simulation spends nothing";
        return Err(Failure::usage("config::conflict", message).help(help));
    }
    command.train.noise = Some("secure".to_owned());
    Ok(())
}

/// Has the books pay for the run of this name; metrics of the name `also` stay open beside it.
pub(crate) fn open(
    path: &Path,
    run: [u8; 16],
    also: Option<[u8; 16]>,
    study: &Study,
    tested: &[u64],
    output: Output,
) -> Result<(), Failure> {
    // Where attributes are held elsewhere, every holder's book charges the whole index.
    let together =
        matches!(study.centralisation(), Centralisation::OneSilo | Centralisation::Silos);
    let ids = study.ids();
    let silos: Vec<&[u64]> = ids.iter().map(Vec::as_slice).collect();
    let silos = together.then_some(&silos[..]);
    let runs: Vec<[u8; 16]> = [run].into_iter().chain(also).collect();
    let lists = [&study.people()[..], tested];
    let books = paying_books(path, study.attributes_holders(), silos, &runs, &lists, output)?;
    let name = hexadecimal(&run);
    if books.iter().any(|book| book.book().run(&name).is_some_and(|(_, grant)| grant.closed())) {
        output.note(&format!(
            "run {name} has ended before: what it released is read from its book again, at no cost, and the \
             model is the same; another --seed is another run, and is paid for"
        ));
    }
    Ok(study.pay_from(run, boxed(books))?)
}

/// Says of a run that is only planned that books would pay for it; they are not opened.
pub(crate) fn announce(study: &Study) -> Result<(), Failure> {
    Ok(study.pay_from([0; 16], Vec::new())?)
}

/// What the books say of a run that has ended.
pub(crate) fn report(path: &Path, run: &[u8; 16]) -> Result<LedgerReport, Failure> {
    let run = hexadecimal(run);
    let store = |path: &PathBuf| {
        let look = look(path)?;
        let receipts = look.book.run(&run).map(|(_, grant)| grant.receipts().to_vec());
        let (entries, hash) = look.end();
        Ok(StoreReport {
            store: look.charter.store.0.clone(),
            epsilon_budget: look.charter.policy.epsilon,
            epsilon_spent: look.balance().map_or(0.0, |balance| balance.epsilon_taken()),
            entries,
            last_hash: hash.to_owned(),
            receipts: receipts.unwrap_or_default(),
        })
    };
    let stores = book_paths(path)?.iter().map(store).collect::<Result<_, Failure>>()?;
    Ok(LedgerReport { path: path.to_path_buf(), run, stores })
}

/// Said before a run that nothing will remember.
pub(crate) fn warn(privacy: &Privacy, output: Output) {
    if privacy.is_private() {
        output.note(
            "--noise secure without --ledger: this run spends the privacy of real people, and nothing \
             but you will remember it; `steffle ledger init` begins a book",
        );
    }
}

/// The same for the same command on the same records: a run that was interrupted goes on, and one
/// that has ended is not paid for twice.
pub(crate) fn run_id(
    config: &TrainConfig,
    study: &Study,
    metrics_share: Option<f64>,
) -> Result<[u8; 16], Failure> {
    let mut hash = Sha256::new();
    hash.update(study.schema().hash());
    hash.update(super::toml(config)?);
    metrics_share.iter().for_each(|share| hash.update(share.to_le_bytes()));
    for ids in study.ids() {
        hash.update((ids.len() as u64).to_le_bytes());
        ids.iter().for_each(|id| hash.update(id.to_le_bytes()));
    }
    let mut id = [0; 16];
    id.copy_from_slice(&hash.finalize()[..16]);
    Ok(id)
}
