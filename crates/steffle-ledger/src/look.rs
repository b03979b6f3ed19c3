//! A book as its readers see it: nothing is locked, cut or written.

use std::fs;
use std::path::Path;

use serde::Serialize;
use steffle_privacy::ledger::{Balance, Book, Cost, Line, Share};

use crate::charter::Charter;
use crate::error::LedgerError;
use crate::head;
use crate::page::Says;
use crate::read::Reading;
use crate::shelf::readable;

/// A book that was read, and that keeps to its rules.
///
/// Looking changes nothing and needs no lock.
#[derive(Debug)]
pub struct Look {
    /// Whose it is.
    pub charter: Charter,
    /// Its lines.
    pub reading: Reading,
    /// What they add up to.
    pub book: Book,
    /// One per run, in the order in which they were opened.
    pub runs: Vec<Spending>,
    /// How many lines the second head has seen; `None` where there is none.
    pub head: Option<u64>,
}

/// What one run asked for and took.
///
/// As `ledger show` prints it.
#[derive(Debug, Clone, Serialize)]
pub struct Spending {
    /// Its name.
    pub run: String,
    /// When it was opened.
    pub opened: u64,
    /// What it is.
    pub method: String,
    /// What it is.
    pub mode: String,
    /// What it is.
    pub notion: String,
    /// What it asked for.
    pub epsilon: f64,
    /// What it asked for.
    pub delta: f64,
    /// Records that it was about.
    pub records: usize,
    /// Units that it was about.
    pub units: usize,
    /// Replies that were sent, or may have been.
    pub replies: usize,
    /// Replies that were paid for and not sent.
    pub unsent: u64,
    /// Whether it has ended.
    pub closed: bool,
    /// What it keeps of the Gaussian pot, in mu: its whole share while it is open.
    pub mu: Option<f64>,
    /// The same if all other sites help the server, where sites share noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mu_alone: Option<f64>,
    /// The epsilon that this is at its own delta; what it asked for, for other kinds of runs.
    pub costs: f64,
    /// What was left afterwards of the Gaussian pot for those whom it was about, in mu.
    pub mu_left: f64,
}

/// One line of a book, in a few words.
///
/// For people who read an export.
#[derive(Debug, Clone, Serialize)]
pub struct Event {
    /// Its number.
    pub line: u64,
    /// When it was written.
    pub time: u64,
    /// What it says.
    pub what: String,
}

/// Reads a book, and its second head where there is one and it can be read.
pub fn look(path: &Path) -> Result<Look, LedgerError> {
    let place = path.display().to_string();
    let bytes = fs::read(path).map_err(|source| LedgerError::io(path, source))?;
    let (reading, charter) = readable(&bytes, &place)?;
    let head = match &charter.head {
        None => None,
        Some(head) => {
            let bytes = fs::read(head).map_err(|source| LedgerError::io(head, source))?;
            Some(head::compare(&bytes, &reading, [&place, &head.display().to_string()])?.0)
        }
    };
    let mut book = Book::new(charter.policy.clone())?;
    let mut runs = Vec::new();
    for whole in &reading.pages {
        let Says::Line(line) = &whole.page.says else { continue };
        book.apply(line)
            .map_err(|refusal| LedgerError::Refused { place: place.clone(), refusal })?;
        if let Line::Open { .. } = line {
            runs.push((whole.page.time, 0.0));
        }
        // What is left after the last line that is about the run.
        if let Line::Open { .. } | Line::Close { .. } = line {
            let about = match line {
                Line::Close { grant } => grant.0 as usize,
                _ => runs.len() - 1,
            };
            let roll = book.grants().get(about).and_then(steffle_privacy::ledger::Grant::roll);
            if let (Some(run), Some(balance)) = (runs.get_mut(about), book.balance(roll)) {
                run.1 = balance.gaussian.left;
            }
        }
    }
    let runs = book.grants().iter().zip(runs).map(|(grant, at)| spending(&book, grant, at));
    let runs = runs.collect();
    Ok(Look { charter, reading, book, runs, head })
}

fn spending(
    book: &Book,
    grant: &steffle_privacy::ledger::Grant,
    (opened, mu_left): (u64, f64),
) -> Spending {
    let offer = grant.offer().offer();
    let (records, units) = grant.roll().and_then(|roll| book.roll_size(roll)).unwrap_or((0, 0));
    let replies = grant.receipts().len();
    let (mu, costs) = match grant.keeps() {
        Share::Gaussian { squared: 0.0, .. } => (Some(0.0), 0.0),
        Share::Gaussian { squared, .. } => {
            let mu = squared.sqrt().next_up();
            let epsilon = mu.try_into().ok().zip(offer.delta.try_into().ok());
            let epsilon =
                epsilon.and_then(|(mu, delta)| steffle_privacy::discrete::epsilon(mu, delta).ok());
            (Some(mu), epsilon.map_or(offer.epsilon, |epsilon| epsilon.min(offer.epsilon)))
        }
        Share::Nothing | Share::Sampled { .. } | Share::Pure { .. } => (None, offer.epsilon),
    };
    let shares = offer.claim.shares();
    let alone = |mu: f64| shares.map(|shares| mu * f64::from(shares.honest()).sqrt());
    Spending {
        run: offer.run.clone(),
        opened,
        method: offer.method.clone(),
        mode: offer.mode.clone(),
        notion: offer.notion.clone(),
        epsilon: offer.epsilon,
        delta: offer.delta,
        records,
        units,
        replies,
        unsent: grant.replies().saturating_sub(replies as u64),
        closed: grant.closed(),
        mu,
        mu_alone: mu.and_then(alone),
        costs,
        mu_left,
    }
}

impl Look {
    /// What is in the pots for whoever has spent most.
    pub fn balance(&self) -> Option<Balance> {
        self.book.balance(None)
    }

    /// The number and hash of the last line.
    pub fn end(&self) -> (u64, &str) {
        self.reading.end()
    }

    /// Every line in a few words.
    pub fn events(&self) -> impl Iterator<Item = Event> + '_ {
        self.reading.pages.iter().map(|whole| {
            let what = match &whole.page.says {
                Says::Charter(_) => "book begun".to_owned(),
                Says::Line(line) => words(line),
            };
            Event { line: whole.page.line, time: whole.page.time, what }
        })
    }
}

fn words(line: &Line) -> String {
    match line {
        Line::Columns(columns) => {
            format!("columns named: sensitive {}", columns.sensitive().join(", "))
        }
        Line::List { records, .. } => format!("list of {records} people accepted"),
        Line::Admit => "people admitted of whom none is known".to_owned(),
        Line::Roll(roll) => format!("list of {} records", roll.ids.len()),
        Line::Open { offer, .. } => {
            let offer = offer.offer();
            format!("run {} opened: {} at epsilon {}", offer.run, offer.method, offer.epsilon)
        }
        Line::Reserve { grant, entry, .. } => {
            let cost = match entry.cost {
                Cost::Free => "free".to_owned(),
                Cost::Gaussian { squared, .. } => format!("mu^2 {squared:.3e}"),
                Cost::Planned { .. } => "one round of its plan".to_owned(),
                Cost::Pure { epsilon } => format!("epsilon {epsilon}"),
                Cost::Revealed => "no claim".to_owned(),
            };
            format!("reply reserved by grant {}: {cost}", grant.0)
        }
        Line::Commit { reservation, .. } => format!("reply to reservation {reservation} kept"),
        Line::Close { grant } => format!("grant {} closed", grant.0),
        Line::Torn { bytes } => format!("a torn write of {bytes} bytes was cut off"),
    }
}
