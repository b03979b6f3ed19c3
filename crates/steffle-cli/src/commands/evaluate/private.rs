//! `steffle evaluate RUN FILE... --private --epsilon E`: metrics by group that cost privacy, and say
//! how much.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;
use steffle_data::Dialect;
use steffle_front::{Bought, Model, NoisyReport, Privacy, Testing};

use crate::args::EvaluateArgs;
use crate::commands::buying::Buying;
use crate::commands::noisy::{gaps_table, groups_table, page, sentences};
use crate::commands::train::LedgerReport;
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
    let buying = Buying {
        ledger: args.ledger.as_deref(),
        sensitive: &args.sensitive,
        epsilon,
        delta: args.delta,
        noise: &args.noise,
        seed: args.seed,
    };
    buying.check()?;
    let progress = Progress::start("Counting decisions");
    let model = Model::load(&args.run)?;
    buying.admits(model.schema())?;
    let dialect = dialect(Dialect::default(), &args.text, Check(&Origins::default()))?;
    let testing = model.testing(args.files.clone(), args.attributes.clone(), &dialect)?;
    let purchase = buying.purchase(&[&model], &testing, output)?;
    let run = purchase.run;
    let bought = testing.buy(&[&model], args.min_group, purchase)?;
    drop(progress);
    show(args, &model, &testing, &bought, buying.report(run)?, output)
}

fn show(
    args: &EvaluateArgs,
    model: &Model,
    testing: &Testing,
    bought: &Bought,
    ledger: Option<LedgerReport>,
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
        ledger,
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
