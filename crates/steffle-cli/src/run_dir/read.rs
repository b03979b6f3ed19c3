//! Opens a run directory, or says clearly why not.

use std::fs;
use std::path::Path;

use serde_json::Value;
use steffle::model::{Classifier, Point};
use steffle::record::Rows;
use steffle_data::Schema;

use super::metadata::{Metadata, Unusable, VERSION};
use super::{METRICS, MODEL, SCHEMA, safetensors};
use crate::failure::Failure;

/// A trained model, ready to predict.
pub(crate) struct Run {
    pub(crate) schema: Schema,
    pub(crate) metadata: Metadata,
    model: Box<dyn Classifier>,
    theta: Vec<f64>,
}

impl Run {
    /// Reads and checks a run directory; refuses other versions and damaged files.
    pub(crate) fn open(directory: &Path) -> Result<Self, Failure> {
        if !directory.is_dir() {
            let message = format!("{}: no such run directory", directory.display());
            let help = "give a directory that `steffle train` wrote, for example runs/adult-1";
            return Err(Failure::data("run::not_found", message).help(help));
        }
        let path = directory.join(MODEL);
        let (theta, metadata) =
            safetensors::decode(&read(&path)?).map_err(|why| damaged(&path, &why))?;
        let metadata = Metadata::from_map(metadata).map_err(|why| unusable(&path, why))?;
        let schema = read_schema(&directory.join(SCHEMA))?;
        if hexadecimal(&schema.hash()) != metadata.schema {
            let why = format!("it is not the schema that {MODEL} was trained with");
            return Err(damaged(&directory.join(SCHEMA), &why));
        }
        let labels = schema.labels().len();
        let model = metadata.model.build(schema.layout(), labels);
        let model = model.map_err(|why| damaged(&path, &why.to_string()))?;
        if model.parameters() != theta.len() {
            let (found, wanted) = (theta.len(), model.parameters());
            let why = format!("it has {found} parameters where its model has {wanted}");
            return Err(damaged(&path, &why));
        }
        Ok(Self { schema, metadata, model, theta })
    }

    /// What `train --json` printed, from a run directory of a version that can be read.
    pub(crate) fn metrics(directory: &Path) -> Result<Value, Failure> {
        Self::open(directory)?;
        let path = directory.join(METRICS);
        serde_json::from_slice(&read(&path)?).map_err(|why| damaged(&path, &why.to_string()))
    }

    /// Probabilities of every label for every row, row by row.
    pub(crate) fn probabilities(&self, rows: &Rows) -> Vec<f64> {
        Point::new(self.model.as_ref(), &self.theta).probabilities(rows)
    }
}

/// Bytes as hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |digits, byte| digits + &format!("{byte:02x}"))
}

fn read_schema(path: &Path) -> Result<Schema, Failure> {
    serde_json::from_slice(&read(path)?).map_err(|why| damaged(path, &why.to_string()))
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| damaged(path, &error.to_string()))
}

fn damaged(path: &Path, why: &str) -> Failure {
    let message = format!("{}: not a usable part of a run directory: {why}", path.display());
    let help = "the directory is incomplete or damaged: restore it from a copy, or train again";
    Failure::data("run::damaged", message).help(help)
}

fn unusable(path: &Path, why: Unusable) -> Failure {
    match why {
        Unusable::Damaged(why) => damaged(path, &why),
        Unusable::Version { version, writer } => {
            let message = format!(
                "{}: run directory of format version {version}; this program reads version \
                 {VERSION}",
                path.display()
            );
            let help = format!("use the program that wrote it ({writer}), or train again");
            Failure::data("run::version", message).help(help)
        }
    }
}
