//! `steffle evaluate RUN FILE... --private --epsilon E`: metrics by group that cost privacy, and say
//! how much.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest, Sha256};
use steffle_data::Dialect;
use steffle_front::{Bought, Model, NoiseOrigin, NoisyReport, Privacy, Purchase, Testing};
use steffle_ledger::{book_paths, look};
use steffle_privacy::ledger::hexadecimal;

use crate::args::EvaluateArgs;
use crate::commands::ledger::paying_books;
use crate::commands::noisy::{gaps_table, groups_table, page, sentences};
use crate::commands::train::{LedgerReport, ledger_report};
use crate::config::{Check, Origins, dialect};
use crate::failure::Failure;
use crate::staged::Staged;
use crate::ui::{Output, Progress, wrap};

/// What `evaluate --private --json` prints.
#[derive(Serialize)]
struct Measured<'a> {
    run: &'a Path,
    files: &'a [PathBuf],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    attributes: &'a [PathBuf],
    notion: String,
    favourable: &'a str,
    silo_rows: &'a [usize],
    /// Rows left out because a value is missing.
    dropped: usize,
    unseen_total: u64,
    privacy: &'a Privacy,
    #[serde(skip_serializing_if = "Option::is_none")]
    spent_mu: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ledger: Option<LedgerReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<&'a Path>,
    #[serde(flatten)]
    report: &'a NoisyReport,
}

pub(super) fn evaluate(args: &EvaluateArgs, output: Output) -> Result<(), Failure> {
    let Some(epsilon) = args.epsilon else {
        let message = "--private needs --epsilon: what the metrics may cost everybody in the files";
        return Err(Failure::usage("config::epsilon", message).help("for example --epsilon 0.5"));
    };
    let noise = noise_of(&args.noise, args.ledger.is_some())?;
    let progress = Progress::start("Counting decisions");
    let model = Model::load(&args.run)?;
    let dialect = dialect(Dialect::default(), &args.text, Check(&Origins::default()))?;
    let testing = model.testing(args.files.clone(), args.attributes.clone(), &dialect)?;
    let run = match &args.ledger {
        Some(path) => run_id(path, &model, &testing, args)?,
        None => [0; 16],
    };
    let ids = testing.ids();
    let silos = (!testing.is_split()).then_some(&ids[..]);
    let books = match &args.ledger {
        Some(path) => paying_books(path, testing.stores(), silos, &[run], output)?,
        None => Vec::new(),
    };
    if args.ledger.is_none() && noise == NoiseOrigin::Secure {
        output.note(
            "--private without --ledger: this spends the privacy of real people, and nothing but you \
             will remember it; `steffle ledger init` begins a book",
        );
    }
    let (delta, seed) = (args.delta, args.seed);
    let purchase = Purchase { epsilon, delta, noise, seed, run, books };
    let bought = testing.buy(&[&model], args.min_group, purchase)?;
    drop(progress);
    show(args, &model, &testing, &bought, run, output)
}

fn show(
    args: &EvaluateArgs,
    model: &Model,
    testing: &Testing,
    bought: &Bought,
    run: [u8; 16],
    output: Output,
) -> Result<(), Failure> {
    let favourable = usize::from(model.schema().favourable());
    let label = &model.schema().labels()[favourable];
    let report = bought.reports.first().ok_or_else(|| Failure::bug("no metrics"))?;
    if let Some(path) = &args.html {
        let page = page(title(args), bought, label, favourable, facts(args, model, testing));
        write(path, &page.ok_or_else(|| Failure::bug("no metrics"))?)?;
    }
    let measured = Measured {
        run: &args.run,
        files: &args.files,
        attributes: &args.attributes,
        notion: model.notion().to_string(),
        favourable: label,
        silo_rows: testing.sizes(),
        dropped: testing.dropped(),
        unseen_total: testing.unseen(),
        privacy: &bought.privacy,
        spent_mu: bought.spent_mu,
        ledger: args.ledger.as_ref().map(|path| ledger_report(path, &run)).transpose()?,
        html: args.html.as_deref(),
        report,
    };
    let text = describe(&measured, favourable, output);
    output.result(&measured, &text)
}

fn describe(measured: &Measured<'_>, favourable: usize, output: Output) -> String {
    let report = measured.report;
    let mut text = format!(
        "{} records in {} silo(s) judged, {} left out for missing values",
        report.records,
        measured.silo_rows.len(),
        measured.dropped
    );
    if measured.unseen_total > 0 {
        text += &format!(", {} cells with a category training never saw", measured.unseen_total);
    }
    text += &format!(
        "\n\n{}\n{} (rates are those of {}; 95 % intervals)\n{}\n",
        gaps_table(report),
        output.strong("Per group"),
        measured.favourable,
        groups_table(report, favourable)
    );
    let said = sentences(report, favourable);
    text += &said.iter().map(|sentence| wrap(sentence)).collect::<String>();
    let title = output.strong(&format!("Privacy ({}):", measured.privacy.kind));
    text += &format!("\n{}", wrap(&format!("{title} {}", measured.privacy.statement)));
    if let Some(ledger) = &measured.ledger {
        text += &wrap(&ledger.text(output));
    }
    if let Some(path) = measured.html {
        text += &format!("Page: {}\n", path.display());
    }
    text
}

/// Where the noise comes from. A book pays for secret noise only.
pub(crate) fn noise_of(origin: &str, paid: bool) -> Result<NoiseOrigin, Failure> {
    if origin == "simulated" && paid {
        let message = "--ledger is for private metrics, and --noise simulated is from a seed";
        let help = "leave --noise out, or leave --ledger out: a simulation spends nothing";
        return Err(Failure::usage("config::conflict", message).help(help));
    }
    Ok(if origin == "simulated" { NoiseOrigin::Simulated } else { NoiseOrigin::Secure })
}

/// The same for the same question about the same records, as long as it has not ended: what was
/// interrupted goes on. One that has ended may be asked again: it gets the same bytes, and pays
/// nothing.
fn run_id(
    path: &Path,
    model: &Model,
    testing: &Testing,
    args: &EvaluateArgs,
) -> Result<[u8; 16], Failure> {
    let mut hash = Sha256::new();
    hash.update(b"metrics");
    hash.update(model.schema().hash());
    model.theta().iter().for_each(|number| hash.update(number.to_le_bytes()));
    for number in [args.epsilon, args.delta].into_iter().flatten() {
        hash.update(number.to_le_bytes());
    }
    for ids in testing.ids() {
        hash.update((ids.len() as u64).to_le_bytes());
        ids.iter().for_each(|id| hash.update(id.to_le_bytes()));
    }
    first_open(path, &hash)
}

/// The first name of a question that has not ended in any of the books.
pub(crate) fn first_open(path: &Path, question: &Sha256) -> Result<[u8; 16], Failure> {
    let looks = book_paths(path)?.iter().map(|path| look(path)).collect::<Result<Vec<_>, _>>()?;
    let mut id = [0; 16];
    for attempt in 0_u32.. {
        let hash = question.clone().chain_update(attempt.to_le_bytes()).finalize();
        id.copy_from_slice(&hash[..16]);
        let name = hexadecimal(&id);
        let ended = |look: &steffle_ledger::Look| {
            look.book.run(&name).is_some_and(|(_, grant)| grant.closed())
        };
        if !looks.iter().any(ended) {
            break;
        }
    }
    Ok(id)
}

fn title(args: &EvaluateArgs) -> String {
    format!("{}: metrics by group", args.run.display())
}

fn facts(args: &EvaluateArgs, model: &Model, testing: &Testing) -> Vec<(String, String)> {
    let fact = |name: &str, words: String| (name.to_owned(), words);
    let files: Vec<String> = args.files.iter().map(|file| file.display().to_string()).collect();
    vec![
        fact("Model", format!("{}, lambda {}", model.method().name, model.lambda())),
        fact("Notion it was trained for", model.notion().to_string()),
        fact("Files", files.join(", ")),
        fact("Records", format!("{} in {:?} silo(s)", testing.rows(), testing.sizes().len())),
        fact("Stores of attributes", testing.stores().to_string()),
    ]
}

fn write(path: &Path, page: &str) -> Result<(), Failure> {
    let (staged, mut file) = Staged::file(path)?;
    file.write_all(page.as_bytes()).map_err(|error| Failure::at(path, &error))?;
    staged.commit()
}
