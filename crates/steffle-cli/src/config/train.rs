//! The settings of a training run, complete and checked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use steffle_front::{Centralisation, MIN_GROUP, Method, Plan, Value, Written};
use steffle_privacy::ledger::StoreColumns;

use crate::args::DataArgs;

/// All settings of a run. As TOML it is a configuration file that gives the same run again.
#[derive(Debug, Clone)]
pub(crate) struct TrainConfig {
    /// A data set's name, a file or a job; absent when `records` are given.
    pub(crate) data: Option<String>,
    pub(crate) records: Vec<PathBuf>,
    pub(crate) attributes: Vec<PathBuf>,
    pub(crate) test: Option<PathBuf>,
    pub(crate) meaning: DataArgs,
    /// Records that a rate must be of to count in a gap, where the user says it.
    pub(crate) min_group: Option<u32>,
    pub(crate) validation: f64,
    pub(crate) method: Arc<dyn Method>,
    /// Absent until the data is seen, when files say it.
    pub(crate) centralisation: Option<Centralisation>,
    /// Absent until the data is seen, when files say it.
    pub(crate) silos: Option<usize>,
    pub(crate) heterogeneity: f64,
    pub(crate) partition_by: Option<String>,
    pub(crate) seed: u64,
    /// The machine's own and the run's own, so not written down with the settings.
    pub(crate) threads: Option<usize>,
    /// Every party in a process of its own.
    pub(crate) processes: bool,
    /// The columns of the store that pays, where one does.
    pub(crate) store: Option<StoreColumns>,
    /// The file of the server's owner, where somebody else reaches the parties of a job that was submitted.
    pub(crate) lead: Option<PathBuf>,
    /// Where the run is written down.
    pub(crate) journal: Option<PathBuf>,
    pub(crate) out: Option<PathBuf>,
}

impl TrainConfig {
    /// Takes over what depends on the data.
    pub(crate) fn settle(&mut self, plan: &Plan) {
        self.method = plan.settled();
        self.silos = Some(plan.study().sizes().len());
        self.centralisation = Some(plan.study().centralisation());
    }

    /// Records that a rate must be of to count in a gap.
    pub(crate) fn min_group(&self) -> u32 {
        self.min_group.unwrap_or(MIN_GROUP)
    }

    /// What the data is called: a run's default name. Files that were cut have the name of their
    /// directory.
    pub(crate) fn name(&self) -> String {
        let data = self.data.as_deref().map(Path::new);
        let cut = data.filter(|path| is_job(path)).or(self.records.first().map(PathBuf::as_path));
        let directory = cut.and_then(Path::parent).and_then(Path::file_name);
        let name = directory.or(data.or(cut).and_then(Path::file_stem));
        name.unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// The order of the lines is that of the first version: a sweep knows its runs by them.
impl Serialize for TrainConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "kebab-case")]
        struct Lines<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            data: &'a Option<String>,
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            records: &'a [PathBuf],
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            attributes: &'a [PathBuf],
            #[serde(skip_serializing_if = "Option::is_none")]
            test: &'a Option<PathBuf>,
            #[serde(flatten)]
            meaning: &'a DataArgs,
            #[serde(skip_serializing_if = "Option::is_none")]
            min_group: Option<u32>,
            validation: f64,
            #[serde(flatten)]
            method: Settings<'a>,
            #[serde(skip_serializing_if = "Option::is_none")]
            centralisation: Option<Centralisation>,
            #[serde(skip_serializing_if = "Option::is_none")]
            silos: Option<usize>,
            heterogeneity: f64,
            #[serde(skip_serializing_if = "Option::is_none")]
            partition_by: &'a Option<String>,
            #[serde(flatten)]
            steps: Settings<'a>,
            seed: u64,
        }

        let Written { own, steps, .. } = self.method.written();
        Lines {
            data: &self.data,
            records: &self.records,
            attributes: &self.attributes,
            test: &self.test,
            meaning: &self.meaning,
            min_group: self.min_group,
            validation: self.validation,
            method: Settings(&own),
            centralisation: self.centralisation,
            silos: self.silos,
            heterogeneity: self.heterogeneity,
            partition_by: &self.partition_by,
            steps: Settings(&steps),
            seed: self.seed,
        }
        .serialize(serializer)
    }
}

/// Settings of a method, in their order.
struct Settings<'a>(&'a [(&'static str, Value)]);

impl Serialize for Settings<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// Whether a file describes data that is already cut.
pub(crate) fn is_job(path: &Path) -> bool {
    path.extension().is_some_and(|kind| kind == "toml")
}
