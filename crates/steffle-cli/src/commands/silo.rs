//! `steffle silo check`: what a site would take into a run; `clean`: what it does not keep any more;
//! `key` and `roster accept`: whom it adds up with under masks, and whose letters it takes.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use steffle_data::Silo;
use steffle_front::{Forgotten, SiloReport, forget};
use steffle_ledger::look;

use crate::args::{SiloCleanArgs, SiloCommand, SiloRosterCommand};
use crate::failure::Failure;
use crate::ui::{Output, Rows, flags, wrap};

/// How many categories of a column are printed.
const SHOWN: usize = 6;

mod masks;

#[derive(Debug, Serialize)]
struct Checked {
    #[serde(flatten)]
    silo: SiloReport,
    ledger: Option<LedgerHealth>,
    masks: Option<masks::MaskHealth>,
    letters: Option<masks::LetterHealth>,
}

#[derive(Debug, Serialize)]
struct LedgerHealth {
    path: String,
    epsilon_budget: f64,
    epsilon_spent: f64,
    entries: u64,
    /// Runs that were begun and have not ended.
    open_runs: Vec<String>,
}

pub(crate) fn silo(command: &SiloCommand, output: Output) -> Result<(), Failure> {
    match command {
        SiloCommand::Check(args) => check(&args.file, output),
        SiloCommand::Clean(args) => clean(args, output),
        SiloCommand::Key(args) => masks::key(&args.file, output),
        SiloCommand::Roster(SiloRosterCommand::Accept(args)) => masks::accept(&args.file, output),
    }
}

/// Removes records of runs of long ago.
fn clean(args: &SiloCleanArgs, output: Output) -> Result<(), Failure> {
    let silo = Silo::read(&args.file)?;
    let older = Duration::from_secs(args.days.saturating_mul(24 * 60 * 60));
    let Forgotten { runs, kept } =
        forget(&silo.sent, older).map_err(|error| Failure::at(&silo.sent, &error))?;
    let text = format!(
        "{} record(s) of {} days ago and more are removed from {}; {kept} are kept.\n",
        runs.len(),
        args.days,
        silo.sent.display()
    );
    output.result(&json!({"removed": runs, "kept": kept}), &text)
}

fn check(file: &Path, output: Output) -> Result<(), Failure> {
    let (silo, own) = SiloReport::read(file)?;
    let ledger = match &own.ledger {
        None => None,
        Some(path) => {
            let look = look(path)?;
            let open = look.book.grants().iter().filter(|grant| !grant.closed());
            Some(LedgerHealth {
                path: path.display().to_string(),
                epsilon_budget: look.charter.policy.epsilon,
                epsilon_spent: look.balance().map_or(0.0, |balance| balance.epsilon_taken()),
                entries: look.end().0,
                open_runs: open.map(|grant| grant.offer().offer().run.clone()).collect(),
            })
        }
    };
    let masks = masks::MaskHealth::of(&own)?;
    let letters = masks::LetterHealth::of(&own)?;
    let checked = Checked { silo, ledger, masks, letters };
    output.result(&checked, &text(&checked, output))
}

fn text(Checked { silo, ledger, masks, letters }: &Checked, output: Output) -> String {
    let mut text = format!("{} ({:?})\n", output.strong(&silo.name), silo.role).to_lowercase();
    let mut rows = Rows::new(&["your column", "may be used as"]);
    for own in &silo.names {
        rows.push(vec![own.column.clone(), own.used.words().to_owned()]);
    }
    text += &format!("{}\n", rows.render());
    if !silo.numeric.is_empty() || !silo.categorical.is_empty() {
        text += &format!(
            "{} records, {} rows left out for missing values\n\n",
            silo.rows, silo.dropped
        );
        let mut rows = Rows::new(&["column", "as others see it described"]);
        for name in &silo.numeric {
            rows.push(vec![name.clone(), "numbers: count, mean, squares".to_owned()]);
        }
        for (name, levels) in &silo.categorical {
            let more = levels.len().saturating_sub(SHOWN);
            let shown = levels[..levels.len() - more].join(", ");
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            rows.push(vec![name.clone(), format!("{shown}{more}")]);
        }
        rows.push(vec!["labels".to_owned(), silo.labels.join(", ")]);
        text += &rows.render();
    }
    if let Some(groups) = &silo.groups {
        text += &format!("\n{}\n", output.strong("For your eyes only: records per class"));
        let mut rows = Rows::new(&["class", "records"]);
        for (class, count) in groups {
            let class = class.as_deref().unwrap_or("(missing, or not declared)");
            rows.push(vec![class.to_owned(), count.to_string()]);
        }
        text += &rows.render();
    }
    for sentence in &silo.tells {
        text += &wrap(&format!("Warning, for your eyes only: {}", flags(sentence)));
    }
    if silo.unmatched + silo.unused > 0 {
        text += &wrap(&format!(
            "{} record(s) have no row of attributes, {} row(s) of attributes have no record.",
            silo.unmatched, silo.unused
        ));
    }
    text += "\n";
    text += &match ledger {
        None => "Ledger: none; nothing private can be asked of this site.\n".to_owned(),
        Some(LedgerHealth { path, epsilon_budget, epsilon_spent, entries, open_runs }) => {
            let spent = steffle_privacy::rounding::up(*epsilon_spent, 4);
            let open = match open_runs.len() {
                0 => "no run is open".to_owned(),
                several => format!("{several} run(s) are open: {}", open_runs.join(", ")),
            };
            wrap(&format!(
                "Ledger {path}: {entries} lines, all as they were written; epsilon {spent} of \
                 {epsilon_budget} is spent for good; {open}."
            ))
        }
    };
    text += &masks.as_ref().map_or_else(String::new, |masks| masks.text(output));
    text += &letters.as_ref().map_or_else(String::new, |letters| letters.text(output));
    for (title, sentences) in [("Would be sent", &silo.sends), ("Never leaves", &silo.never)] {
        text += &format!("\n{}\n", output.strong(title));
        for sentence in sentences {
            text += &wrap(&format!("- {sentence}"));
        }
    }
    text
}
