//! `steffle predict RUN FILE`: labels and probabilities, in chunks, without the sensitive column.

mod columns;

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::json;
use steffle_data::{Dialect, Unmatched};
use steffle_front::{Error, Model, Predicted};

use self::columns::Predictions;
use crate::args::PredictArgs;
use crate::config::{Check, Origins, dialect};
use crate::failure::Failure;
use crate::staged::Staged;
use crate::ui::{Output, Progress};

pub(crate) fn predict(args: &PredictArgs, output: Output) -> Result<(), Failure> {
    let Some(target) = &args.output else {
        return to_standard_output(args, output);
    };
    let model = Model::load(&args.run)?;
    if same_file(target, &args.file) {
        let message = format!("{}: is the file to read from", target.display());
        return Err(Failure::usage("usage::output", message).help("choose another --output"));
    }
    let progress = Progress::start("Predicting");
    let (records, unmatched) = if Predictions::wanted(target) {
        let mut columns = Predictions::new(model.schema().labels());
        let read = each_prediction(&model, args, |row| {
            columns.push(row);
            Ok(())
        });
        let read = read.map_err(|failure| failure.at(target))?;
        columns.write(target)?;
        read
    } else {
        let (staged, file) = Staged::file(target)?;
        let written = write_predictions(&model, args, BufWriter::new(file));
        let written = written.map_err(|failure| failure.at(target))?;
        staged.commit()?;
        written
    };
    drop(progress);
    let value = json!({
        "run": args.run,
        "file": args.file,
        "output": target,
        "records": records,
        "unseen": unmatched.unseen,
        "missing": unmatched.missing,
    });
    let text = format!("{records} records -> {}\n{}", target.display(), warnings(&unmatched));
    output.result(&value, &text)
}

fn same_file(a: &Path, b: &Path) -> bool {
    fs::canonicalize(a).ok().zip(fs::canonicalize(b).ok()).is_some_and(|(a, b)| a == b)
}

fn to_standard_output(args: &PredictArgs, output: Output) -> Result<(), Failure> {
    if output.json() {
        let message = "--json prints a summary on standard output, so the predictions need \
                       another place";
        return Err(Failure::usage("usage::output", message).help("add --output FILE"));
    }
    let model = Model::load(&args.run)?;
    let stdout = BufWriter::new(io::stdout());
    let (_, unmatched) =
        write_predictions(&model, args, stdout).map_err(Interrupted::on_standard_output)?;
    let warnings = warnings(&unmatched);
    if !warnings.is_empty() {
        output.note(warnings.trim_end());
    }
    Ok(())
}

/// Reading or writing stopped.
enum Interrupted {
    Read(Failure),
    Write(io::Error),
}

impl Interrupted {
    fn at(self, target: &Path) -> Failure {
        match self {
            Self::Read(failure) => failure,
            Self::Write(error) => Failure::at(target, &error),
        }
    }

    fn on_standard_output(self) -> Failure {
        match self {
            Self::Read(failure) => failure,
            Self::Write(error) => Failure::stdout(&error),
        }
    }
}

impl From<Error> for Interrupted {
    fn from(error: Error) -> Self {
        Self::Read(error.into())
    }
}

impl From<csv::Error> for Interrupted {
    fn from(error: csv::Error) -> Self {
        Self::Write(match error.into_kind() {
            csv::ErrorKind::Io(error) => error,
            other => io::Error::other(format!("{other:?}")),
        })
    }
}

impl From<io::Error> for Interrupted {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

/// Writes one line per record; returns how many there were and what did not fit the schema.
fn write_predictions(
    model: &Model,
    args: &PredictArgs,
    to: impl Write,
) -> Result<(u64, Unmatched), Interrupted> {
    let mut writer = csv::Writer::from_writer(to);
    let header = model.schema().labels().iter().map(|label| format!("probability_{label}"));
    writer.write_record(["record_id".to_owned(), "label".to_owned()].into_iter().chain(header))?;
    let read = each_prediction(model, args, |row| {
        writer.write_field(&row.id)?;
        writer.write_field(row.label)?;
        for probability in &row.probabilities {
            writer.write_field(probability.to_string())?;
        }
        writer.write_record(None::<&[u8]>)?;
        Ok(())
    })?;
    writer.flush()?;
    Ok(read)
}

/// Hands out every record's prediction; returns how many there were and what did not fit the schema.
fn each_prediction(
    model: &Model,
    args: &PredictArgs,
    mut take: impl FnMut(&Predicted<'_>) -> Result<(), Interrupted>,
) -> Result<(u64, Unmatched), Interrupted> {
    let said = dialect(Dialect::default(), &args.text, Check(&Origins::default()));
    let mut rows = model.predict(&args.file, &said.map_err(Interrupted::Read)?)?;
    let mut records = 0;
    while let Some(chunk) = rows.next_chunk()? {
        chunk.iter().try_for_each(&mut take)?;
        records += chunk.len() as u64;
    }
    Ok((records, rows.unmatched().clone()))
}

fn warnings(unmatched: &Unmatched) -> String {
    let list = |cells: &std::collections::BTreeMap<String, u64>| {
        let columns: Vec<String> = cells.iter().map(|(name, n)| format!("{name}: {n}")).collect();
        columns.join(", ")
    };
    let mut text = String::new();
    if unmatched.unseen_total() > 0 {
        let (cells, columns) = (unmatched.unseen_total(), list(&unmatched.unseen));
        text += &format!("{cells} cells hold a category that training never saw ({columns}); ");
        text += "each switched on no feature\n";
    }
    if unmatched.missing_total() > 0 {
        let (cells, columns) = (unmatched.missing_total(), list(&unmatched.missing));
        text += &format!("{cells} cells are missing ({columns}); ");
        text += "a number counted as the training mean, a category as none\n";
    }
    text
}
