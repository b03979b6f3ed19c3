//! `steffle evaluate RUN FILE`: all metrics per group and overall, with intervals.

mod private;

use serde::Serialize;
use std::path::Path;
use steffle_data::{Dialect, Unmatched};
use steffle_front::{Bootstrap, Model, Report};

use super::judge::{gaps_in_evidence, group_table, overall_table};
use crate::args::EvaluateArgs;
use crate::config::{Check, Origins, dialect};
use crate::failure::Failure;
use crate::ui::{Output, Progress, wrap};

/// What `evaluate --json` prints.
#[derive(Serialize)]
struct Evaluation<'a> {
    run: &'a Path,
    file: &'a Path,
    notion: String,
    favourable: &'a str,
    /// Rows left out because a value is missing.
    dropped: usize,
    #[serde(flatten)]
    unmatched: &'a Unmatched,
    #[serde(flatten)]
    report: Report,
}

pub(crate) fn evaluate(args: &EvaluateArgs, output: Output) -> Result<(), Failure> {
    if args.private {
        return private::evaluate(args, output);
    }
    let [file] = &args.files[..] else {
        let message = "several files are the rows of several silos, which are measured together with \
                       --private only";
        let help = "add --private --epsilon E, or give one file";
        return Err(Failure::usage("config::private", message).help(help));
    };
    if args.resamples == 0 {
        let message = "--resamples 0 is refused: it must be a whole number, 1 or more";
        return Err(Failure::usage("config::resamples", message));
    }
    let progress = Progress::start("Evaluating");
    let model = Model::load(&args.run)?;
    let dialect = dialect(Dialect::default(), &args.text, Check(&Origins::default()))?;
    let held = model.rows_of(file, &dialect)?;
    let bootstrap = Bootstrap { resamples: args.resamples as usize, seed: args.seed };
    let report = model.judge_by(&held, Some(bootstrap), args.min_group)?.report;
    drop(progress);
    let favourable = model.schema().favourable();
    let evaluation = Evaluation {
        run: &args.run,
        file,
        notion: model.notion().to_string(),
        favourable: &model.schema().labels()[usize::from(favourable)],
        dropped: held.dropped(),
        unmatched: held.unmatched(),
        report,
    };
    let text = describe(&evaluation, favourable, output);
    output.result(&evaluation, &text)
}

fn describe(evaluation: &Evaluation<'_>, favourable: u16, output: Output) -> String {
    let Evaluation { report, dropped, unmatched, .. } = evaluation;
    let mut text =
        format!("{} records judged, {dropped} left out for missing values", report.records);
    if unmatched.unseen_total() > 0 {
        text += &format!(", {} cells with a category training never saw", unmatched.unseen_total());
    }
    text += &format!(
        "\n\n{}\n{}\n{} (rates are those of {}; 95 % intervals)\n{}",
        output.strong("Overall"),
        overall_table(report),
        output.strong("Per group"),
        evaluation.favourable,
        group_table(report, favourable)
    );
    let evidence: String = gaps_in_evidence(report).iter().map(|sentence| wrap(sentence)).collect();
    if evidence.is_empty() { text } else { format!("{text}\n{evidence}") }
}
