//! `steffle predict RUN FILE`: labels and probabilities, in chunks, without the sensitive column.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::json;
use steffle::metrics::decide;
use steffle_data::{
    Column, Columns, Dialect, Error, Kind, Reader, Table, Unmatched, encode_features,
};

use crate::args::PredictArgs;
use crate::config::{Check, Origins, dialect};
use crate::failure::Failure;
use crate::run_dir::Run;
use crate::staged::Staged;
use crate::ui::{Output, Progress};

/// Rows per chunk: a few megabytes, whatever the size of the file.
const CHUNK: usize = 8192;
/// The column that names records, where a file has one.
const RECORD_ID: &str = "record_id";

pub(crate) fn predict(args: &PredictArgs, output: Output) -> Result<(), Failure> {
    let Some(target) = &args.output else {
        return to_standard_output(args, output);
    };
    let run = Run::open(&args.run)?;
    if same_file(target, &args.file) {
        let message = format!("{}: is the file to read from", target.display());
        return Err(Failure::usage("usage::output", message).help("choose another --output"));
    }
    let (staged, file) = Staged::file(target)?;
    let progress = Progress::start("Predicting");
    let written = write_predictions(&run, args, BufWriter::new(file));
    let (records, unmatched) = written.map_err(|failure| failure.at(target))?;
    drop(progress);
    staged.commit()?;
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
    let run = Run::open(&args.run)?;
    let stdout = BufWriter::new(io::stdout());
    let (_, unmatched) =
        write_predictions(&run, args, stdout).map_err(Interrupted::on_standard_output)?;
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
    run: &Run,
    args: &PredictArgs,
    to: impl Write,
) -> Result<(u64, Unmatched), Interrupted> {
    let labels = run.schema.labels();
    let said = dialect(Dialect::default(), &args.text, Check(&Origins::default()));
    let dialect = run.schema.dialect(&said.map_err(Interrupted::Read)?);
    let mut reader = open(run, &args.file, &dialect)?;
    let mut writer = csv::Writer::from_writer(to);
    let header = labels.iter().map(|label| format!("probability_{label}"));
    writer.write_record([RECORD_ID.to_owned(), "label".to_owned()].into_iter().chain(header))?;
    let (mut records, mut unmatched) = (0, Unmatched::default());
    while let Some(chunk) = reader.next_chunk(CHUNK)? {
        let (rows, unknown) = encode_features(&chunk, &run.schema)?;
        unmatched.add(&unknown);
        let probabilities = run.probabilities(&rows);
        let decisions = decide(&probabilities, labels.len());
        for (row, decision) in decisions.iter().enumerate() {
            writer.write_field(id(&chunk, row))?;
            writer.write_field(&labels[usize::from(*decision)])?;
            for probability in &probabilities[row * labels.len()..][..labels.len()] {
                writer.write_field(probability.to_string())?;
            }
            writer.write_record(None::<&[u8]>)?;
        }
        records += decisions.len() as u64;
    }
    writer.flush()?;
    Ok((records, unmatched))
}

/// Opens the features and, if the file has them, the record ids.
fn open(run: &Run, file: &Path, dialect: &Dialect) -> Result<Reader, Error> {
    let features = run.schema.feature_columns();
    let Columns::Only(mut columns) = features.clone() else {
        return Reader::open_as(file, &features, dialect);
    };
    columns.push((RECORD_ID.to_owned(), Kind::Text));
    match Reader::open_as(file, &Columns::Only(columns), dialect) {
        Err(Error::UnknownColumn { column, .. }) if column == RECORD_ID => {
            Reader::open_as(file, &features, dialect)
        }
        opened => opened,
    }
}

fn id(chunk: &Table, row: usize) -> String {
    match chunk.column(RECORD_ID) {
        Some(Column::Text(ids)) => ids.level(row).unwrap_or_default().to_owned(),
        _ => (chunk.first_row() + row as u64).to_string(),
    }
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
