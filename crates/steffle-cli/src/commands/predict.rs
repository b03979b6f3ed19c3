//! `steffle predict RUN FILE...`: labels and probabilities, in chunks, without the sensitive column.

mod columns;
mod source;
mod told;

use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::json;
use steffle_data::Dialect;
use steffle_front::{Asked, Error, Model, Predicted, without_sensitive};

use self::columns::Predictions;
use self::source::Source;
use self::told::Told;
use crate::args::{OnError, PredictArgs};
use crate::config::{Check, Origins, dialect};
use crate::failure::Failure;
use crate::staged::Staged;
use crate::ui::{Output, Progress};

/// What is to be predicted, and how.
struct Work {
    model: Model,
    sources: Vec<Source>,
    asked: Asked,
}

impl Work {
    fn new(args: &PredictArgs) -> Result<Self, Failure> {
        let said = dialect(Dialect::default(), &args.text, Check(&Origins::default()))?;
        let asked = Asked {
            dialect: said,
            id: args.id.clone(),
            threshold: args.threshold,
            skip: args.on_error == OnError::Skip,
        };
        if args.files.iter().filter(|file| *file == Path::new("-")).count() > 1 {
            let message = "standard input can be read once";
            return Err(Failure::usage("usage::arguments", message).help("name - once"));
        }
        let model = Model::load(&args.run)?;
        without_sensitive(model.schema(), &args.sensitive)?;
        let sources = args.files.iter().map(|file| Source::of(file)).collect::<Result<_, _>>()?;
        Ok(Self { model, sources, asked })
    }

    /// The names of the columns that are written.
    fn header(&self) -> Vec<String> {
        let file = (self.sources.len() > 1).then(|| "file".to_owned());
        let id = self.asked.id.clone().unwrap_or_else(|| "record_id".to_owned());
        let labels = self.model.schema().labels().iter();
        let probabilities = labels.map(|label| format!("probability_{label}"));
        file.into_iter().chain([id, "label".to_owned()]).chain(probabilities).collect()
    }

    /// The name of a file, where that is written.
    fn file<'s>(&self, source: &'s Source) -> Option<&'s str> {
        (self.sources.len() > 1).then_some(&source.name)
    }

    /// Hands out every record's prediction; returns what there is to tell.
    fn each(
        &self,
        mut take: impl FnMut(&Source, &Predicted<'_>) -> Result<(), Interrupted>,
    ) -> Result<Told, Interrupted> {
        let mut told = Told::default();
        for source in &self.sources {
            let named = |error: Error| {
                let mut failure = Failure::from(error);
                failure.message = source.named(&failure.message);
                Interrupted::Read(failure)
            };
            let mut rows = self.model.predict(&source.path, &self.asked).map_err(named)?;
            while let Some(chunk) = rows.next_chunk().map_err(named)? {
                chunk.iter().try_for_each(|row| take(source, row))?;
                told.add(source, chunk.len(), rows.take_skipped());
            }
            told.unmatched.add(rows.unmatched());
        }
        Ok(told)
    }

    /// Writes one line per record.
    fn write(&self, to: impl Write) -> Result<Told, Interrupted> {
        let mut writer = csv::Writer::from_writer(to);
        writer.write_record(self.header())?;
        let told = self.each(|source, row| {
            if let Some(file) = self.file(source) {
                writer.write_field(file)?;
            }
            writer.write_field(&row.id)?;
            writer.write_field(row.label)?;
            for probability in &row.probabilities {
                writer.write_field(probability.to_string())?;
            }
            writer.write_record(None::<&[u8]>)?;
            Ok(())
        })?;
        writer.flush()?;
        Ok(told)
    }
}

pub(crate) fn predict(args: &PredictArgs, output: Output) -> Result<(), Failure> {
    let Some(target) = &args.output else {
        return to_standard_output(args, output);
    };
    let work = Work::new(args)?;
    if work.sources.iter().any(|source| source.is(target)) {
        let message = format!("{}: is the file to read from", target.display());
        return Err(Failure::usage("usage::output", message).help("choose another --output"));
    }
    let progress = Progress::start("Predicting");
    let told = if Predictions::wanted(target) {
        let mut columns = Predictions::new(work.header(), work.sources.len() > 1);
        let told = work.each(|source, row| {
            columns.push(work.file(source), row);
            Ok(())
        });
        let told = told.map_err(|failure| failure.at(target))?;
        columns.write(target)?;
        told
    } else {
        let (staged, file) = Staged::file(target)?;
        let told = work.write(BufWriter::new(file)).map_err(|failure| failure.at(target))?;
        staged.commit()?;
        told
    };
    drop(progress);
    let mut value = json!({
        "run": args.run,
        "file": if let [only] = &args.files[..] { json!(only) } else { json!(null) },
        "files": args.files,
        "output": target,
    });
    told.describe(&mut value);
    let text = format!("{} records -> {}\n{}", told.records, target.display(), told.text());
    output.result(&value, &text)
}

fn to_standard_output(args: &PredictArgs, output: Output) -> Result<(), Failure> {
    if output.json() {
        let message = "--json prints a summary on standard output, so the predictions need \
                       another place";
        return Err(Failure::usage("usage::output", message).help("add --output FILE"));
    }
    let work = Work::new(args)?;
    let stdout = BufWriter::new(io::stdout());
    let told = work.write(stdout).map_err(Interrupted::on_standard_output)?;
    let text = told.text();
    if !text.is_empty() {
        output.note(text.trim_end());
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
