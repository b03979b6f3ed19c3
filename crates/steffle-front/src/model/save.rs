//! A model as files.
//!
//! | file | what |
//! |---|---|
//! | `model.safetensors` | theta, with metadata |
//! | `schema.json` | columns, levels, scaling, labels, classes |
//! | `metrics.json` | method, privacy and what left in the clear; a program may add what it measured |
//! | `trace.jsonl` | one JSON object per round |

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use serde::Serialize;

use super::{Model, safetensors};
use crate::Error;

/// The parameters, and what is needed to use them.
pub const MODEL: &str = "model.safetensors";
/// What is known about the model.
pub(super) const METRICS: &str = "metrics.json";
pub(super) const SCHEMA: &str = "schema.json";
const TRACE: &str = "trace.jsonl";

impl Model {
    /// Writes the model into a directory that must not exist; it appears when it is complete.
    pub fn save(&self, directory: impl AsRef<Path>) -> Result<(), Error> {
        let directory = directory.as_ref();
        let at = |path: &Path| {
            let path = path.to_path_buf();
            move |error: io::Error| Error::at(&path, &error)
        };
        if directory.exists() {
            let message = format!("{}: exists already", directory.display());
            return Err(Error::data("run::exists", message).with_help("choose another name"));
        }
        let name = directory.file_name().unwrap_or_default().to_string_lossy();
        let staged = directory.with_file_name(format!(".{name}.unfinished"));
        fs::create_dir_all(&staged).map_err(at(&staged))?;
        let written = self.files(&self.facts()).and_then(|files| {
            for (name, bytes) in files {
                let path = staged.join(name);
                fs::write(&path, bytes).map_err(at(&path))?;
                File::open(&path).and_then(|file| file.sync_all()).map_err(at(&path))?;
            }
            fs::rename(&staged, directory).map_err(at(directory))
        });
        if written.is_err() {
            // Its name says what it is, if it cannot be removed.
            let _ = fs::remove_dir_all(&staged);
        }
        written
    }

    /// The files of the model by their names, for a program that adds files of its own. `metrics` is
    /// what `metrics.json` is to hold instead of what the model knows by itself: it needs the keys
    /// `method`, `mode`, `lambda`, `seed`, `privacy` and `leaves_in_clear`.
    pub fn files(&self, metrics: &impl Serialize) -> Result<Vec<(&'static str, Vec<u8>)>, Error> {
        let mut trace = String::new();
        for round in self.trace() {
            // Writing to a string cannot fail.
            let _ = writeln!(trace, "{}", json(round)?);
        }
        Ok(vec![
            (MODEL, safetensors::encode(&self.theta, &self.metadata().to_map())),
            (SCHEMA, pretty(&self.schema)?.into_bytes()),
            (METRICS, pretty(metrics)?.into_bytes()),
            (TRACE, trace.into_bytes()),
        ])
    }
}

fn json(value: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|error| Error::bug(error.to_string()))
}

fn pretty(value: &impl Serialize) -> Result<String, Error> {
    let text = serde_json::to_string_pretty(value).map_err(|e| Error::bug(e.to_string()))?;
    Ok(text + "\n")
}
