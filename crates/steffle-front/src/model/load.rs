//! A model from files, or a clear word why not.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;

use super::metadata::{Metadata, Unusable, VERSION};
use super::save::SCHEMA;
use super::{METRICS, MODEL, Model, hexadecimal, safetensors};
use crate::Error;
use crate::leaves::Leaves;
use crate::method::Entry;
use crate::privacy::Privacy;

/// What `metrics.json` says about a model, beside what a program has measured.
#[derive(Deserialize)]
struct Facts {
    method: String,
    mode: Option<String>,
    lambda: f64,
    seed: u64,
    privacy: Privacy,
    leaves_in_clear: Vec<Leaves>,
    #[serde(default)]
    warnings: Vec<String>,
}

impl Model {
    /// Reads and checks a directory that a model was saved to; refuses other versions and damaged
    /// files.
    pub fn load(directory: impl AsRef<Path>) -> Result<Self, Error> {
        let directory = directory.as_ref();
        if !directory.is_dir() {
            let message = format!("{}: no such run directory", directory.display());
            let help = "give a directory that `steffle train` wrote, for example runs/adult-1";
            return Err(Error::data("run::not_found", message).with_help(help));
        }
        Self::of_files(directory, |name| read(&directory.join(name)))
    }

    /// A model of the files that [`files`](Self::files) gave; `place` is what errors call them.
    pub fn of_files(
        place: impl AsRef<Path>,
        file: impl Fn(&str) -> Result<Vec<u8>, Error>,
    ) -> Result<Self, Error> {
        let directory = place.as_ref();
        let path = directory.join(MODEL);
        let (theta, metadata) =
            safetensors::decode(&file(MODEL)?).map_err(|why| damaged(&path, &why))?;
        let metadata = Metadata::from_map(metadata).map_err(|why| unusable(&path, why))?;
        let schema: steffle_data::Schema = from_json(&directory.join(SCHEMA), &file(SCHEMA)?)?;
        if hexadecimal(&schema.hash()) != metadata.schema {
            let why = format!("it is not the schema that {MODEL} was trained with");
            return Err(damaged(&directory.join(SCHEMA), &why));
        }
        let labels = schema.labels().len();
        let classifier = metadata.model.build(schema.layout(), labels);
        let classifier = classifier.map_err(|why| damaged(&path, &why.to_string()))?;
        if classifier.parameters() != theta.len() {
            let (found, wanted) = (theta.len(), classifier.parameters());
            let why = format!("it has {found} parameters where its model has {wanted}");
            return Err(damaged(&path, &why));
        }
        let facts: Facts = from_json(&directory.join(METRICS), &file(METRICS)?)?;
        let entry = Entry::of(&facts.method).map_err(|unknown| {
            let allowed = unknown.text().strip_prefix("it must be ").unwrap_or_default();
            let (place, method) = (directory.display(), &facts.method);
            let message = format!("{place}: its method is {method:?}, not {allowed}");
            Error::data("run::damaged", message)
        })?;
        Ok(Self {
            schema,
            kind: metadata.model,
            notion: metadata.notion,
            classifier: Arc::from(classifier),
            theta,
            entry,
            mode: facts.mode,
            lambda: facts.lambda,
            seed: facts.seed,
            privacy: facts.privacy,
            leaves: facts.leaves_in_clear,
            warnings: facts.warnings,
            outcome: None,
        })
    }
}

fn from_json<T: serde::de::DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(bytes).map_err(|why| damaged(path, &why.to_string()))
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|error| damaged(path, &error.to_string()))
}

fn damaged(path: &Path, why: &str) -> Error {
    let message = format!("{}: not a usable part of a run directory: {why}", path.display());
    let help = "the directory is incomplete or damaged: restore it from a copy, or train again";
    Error::data("run::damaged", message).with_help(help)
}

fn unusable(path: &Path, why: Unusable) -> Error {
    match why {
        Unusable::Damaged(why) => damaged(path, &why),
        Unusable::Version { version, writer } => {
            let message = format!(
                "{}: run directory of format version {version}; this program reads version \
                 {VERSION}",
                path.display()
            );
            let help = format!("use the program that wrote it ({writer}), or train again");
            Error::data("run::version", message).with_help(help)
        }
    }
}
