//! From a data set's name or files to what every node of a run holds.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use steffle::randomness::{Purpose, stream};
use steffle::record::{Attributes, Records};
use steffle_data::{
    Dataset, Error, Groups, Job, Recipe, Schema, Source, attributes, encode, evaluation_groups,
    partition,
};

use super::shared::{Cut, Shared};
use crate::config::{Centralisation, Check, Origins, TrainConfig, is_job, recipe};
use crate::failure::Failure;

/// Everything a run needs to know about its data.
pub(crate) struct Loaded {
    pub(crate) schema: Schema,
    pub(crate) centralisation: Centralisation,
    pub(crate) holdings: Holdings,
    pub(crate) test: Arc<HeldOut>,
    pub(crate) validation: Option<Arc<HeldOut>>,
    /// Rows left out for missing values.
    pub(crate) dropped: usize,
    /// Per column how many rows miss its value; never of a sensitive one.
    pub(crate) missing: BTreeMap<String, usize>,
    /// What was decided while files were read, one sentence each.
    pub(crate) reading: Vec<String>,
    /// What could not be decided.
    pub(crate) warnings: Vec<String>,
    /// The largest number of rows about one person.
    pub(crate) largest_unit: usize,
}

/// Records whose groups may be looked at, because they are not trained on.
pub(crate) struct HeldOut {
    pub(crate) records: Records,
    pub(crate) groups: Groups,
}

/// Who holds what.
pub(crate) enum Holdings {
    /// Silos with two divisions each.
    Silos(Vec<(Records, Attributes)>),
    /// Records silos, and attributes holders with a cut of their own.
    Split { records: Vec<Records>, attributes: Vec<Attributes> },
}

impl Holdings {
    /// Records per records silo.
    pub(crate) fn sizes(&self) -> Vec<usize> {
        match self {
            Self::Silos(silos) => silos.iter().map(|(records, _)| records.len()).collect(),
            Self::Split { records, .. } => records.iter().map(Records::len).collect(),
        }
    }

    /// How many nodes hold attributes.
    pub(crate) fn attributes_holders(&self) -> usize {
        match self {
            Self::Silos(silos) => silos.len(),
            Self::Split { attributes, .. } => attributes.len(),
        }
    }
}

impl HeldOut {
    /// The given rows, encoded.
    pub(super) fn of(data: &Dataset, rows: &[u32], schema: &Schema) -> Result<Self, Failure> {
        let records = encode(data, rows, schema)?.records;
        let groups = evaluation_groups(data, rows, schema)?;
        Ok(Self { records, groups })
    }
}

/// Loads what the configuration names.
pub(crate) fn load(
    config: &TrainConfig,
    origins: &Origins,
    shared: &Shared,
) -> Result<Loaded, Failure> {
    match config.data.as_deref().map(Path::new) {
        Some(path) if is_job(path) => load_files(Job::read(path)?, config, origins),
        Some(name) => load_table(&name.to_string_lossy(), config, origins, shared),
        None => {
            let mut job = Job::new(Recipe::default());
            (job.records, job.attributes) = (config.records.clone(), config.attributes.clone());
            job.test = config.test.clone().unwrap_or_default();
            load_files(job, config, origins)
        }
    }
}

/// What the columns mean; refuses what would make public parts of a private run depend on s. Nothing
/// has been read by then but a `job.toml`.
fn meaning(
    known: Option<Recipe>,
    config: &TrainConfig,
    origins: &Origins,
) -> Result<Recipe, Failure> {
    let TrainConfig { meaning, partition_by, notion, .. } = config;
    let recipe = recipe(known, meaning, partition_by.as_ref(), notion, Check(origins))?;
    if config.claims() {
        recipe.check_private().map_err(not_private)?;
    }
    Ok(recipe)
}

fn not_private(error: Error) -> Failure {
    match error {
        Error::Undeclared { .. } => {
            let help = "name them: --classes NAME,NAME (classes = [\"NAME\", \"NAME\"] in a file); \
                        `steffle data describe FILE --label COLUMN --sensitive COLUMN` lists those \
                        that occur, for eyes that may see them";
            Failure::usage(error.code(), error.to_string()).help(help)
        }
        other => other.into(),
    }
}

/// One table, cut here into silos.
fn load_table(
    name: &str,
    config: &TrainConfig,
    origins: &Origins,
    shared: &Shared,
) -> Result<Loaded, Failure> {
    let source = Source::parse(name, config.meaning.path.as_deref())?;
    exists(&source)?;
    let recipe = meaning(source.recipe_for(&config.meaning.sensitive), config, origins)?;
    let data = &*shared.table(&source, recipe)?;
    let cut = shared.cut(&source, data, config)?;
    // Whoever shares nothing is handed the only copy.
    let Cut { schema, train, silos, records, test, validation } = Arc::unwrap_or_clone(cut);
    let sealed = |rows: &Vec<u32>| Ok(attributes(data, rows, &schema)?);
    let centralisation = config.centralisation.unwrap_or(Centralisation::Silos);
    let holdings = match centralisation {
        Centralisation::OneSilo | Centralisation::Silos => {
            let sealed = silos.iter().map(sealed).collect::<Result<Vec<_>, Failure>>()?;
            Holdings::Silos(records.into_iter().zip(sealed).collect())
        }
        Centralisation::CentralAttributes => {
            Holdings::Split { records, attributes: vec![sealed(&train)?] }
        }
        Centralisation::General(holders) => {
            let random = &mut stream(config.seed, 0, Purpose::AttributesCut, 0);
            let cut = partition(data, &train, holders, 0.0, random)?;
            let attributes = cut.iter().map(sealed).collect::<Result<_, Failure>>()?;
            Holdings::Split { records, attributes }
        }
    };
    Ok(Loaded {
        centralisation,
        holdings,
        test,
        validation,
        dropped: data.dropped(),
        missing: data.missing().clone(),
        reading: data.table().reading().sentences(),
        warnings: [data.table().reading().warnings(), data.left_out()].concat(),
        largest_unit: data.largest_unit(&train),
        schema,
    })
}

/// Says that a file is missing before anything is said about its columns.
fn exists(source: &Source) -> Result<(), Failure> {
    match source {
        Source::File(path) => {
            fs::metadata(path).map(|_| ()).map_err(|error| Failure::at(path, &error))
        }
        Source::Named { .. } => Ok(()),
    }
}

/// Files that are already cut.
fn load_files(mut job: Job, config: &TrainConfig, origins: &Origins) -> Result<Loaded, Failure> {
    for (key, set) in [
        ("validation", config.validation > 0.0),
        ("heterogeneity", config.heterogeneity > 0.0),
        ("partition-by", config.partition_by.is_some()),
    ] {
        if set {
            let message = format!("{key} is for data that train cuts itself; these files are cut");
            return Err(origins.conflict(key, message));
        }
    }
    job.recipe = meaning(Some(job.recipe.clone()), config, origins)?;
    let whole = !job.silos.is_empty();
    let loaded = job.load()?;
    let steffle_data::Loaded {
        schema,
        records,
        attributes,
        test,
        largest_unit,
        dropped,
        missing,
        reading,
        warnings,
    } = loaded;
    let (centralisation, holdings) = arrange(config, whole, records, attributes, origins)?;
    Ok(Loaded {
        centralisation,
        holdings,
        test: Arc::new(HeldOut::of(&test, test.rows(), &schema)?),
        validation: None,
        dropped,
        missing,
        reading,
        warnings,
        largest_unit,
        schema,
    })
}

/// Which centralisation the files are, or whether they are the one that was asked for.
fn arrange(
    config: &TrainConfig,
    whole: bool,
    records: Vec<Records>,
    attributes: Vec<Attributes>,
    origins: &Origins,
) -> Result<(Centralisation, Holdings), Failure> {
    let (silos, holders) = (records.len(), attributes.len());
    let paired = silos == holders && records.iter().zip(&attributes).all(|(r, a)| same_ids(r, a));
    let natural = match (silos, holders) {
        (1, 1) => Centralisation::OneSilo,
        _ if paired => Centralisation::Silos,
        (_, 1) => Centralisation::CentralAttributes,
        _ => Centralisation::General(holders),
    };
    let centralisation = config.centralisation.unwrap_or(natural);
    let possible = match centralisation {
        Centralisation::OneSilo => silos == 1 && holders == 1,
        Centralisation::Silos => paired,
        Centralisation::CentralAttributes => holders == 1 && !whole,
        Centralisation::General(asked) => holders == asked && !whole,
    };
    if config.silos.is_some_and(|asked| asked != silos) {
        let message = format!("--silos differs from the number of records files, {silos}");
        return Err(origins.conflict("silos", message));
    }
    if !possible {
        let message = format!(
            "centralisation {centralisation} does not fit {silos} records and {holders} \
             attributes files, which are {natural}"
        );
        return Err(origins.conflict("centralisation", message));
    }
    let together = matches!(centralisation, Centralisation::OneSilo | Centralisation::Silos);
    let holdings = if together {
        Holdings::Silos(records.into_iter().zip(attributes).collect())
    } else {
        Holdings::Split { records, attributes }
    };
    Ok((centralisation, holdings))
}

fn same_ids(records: &Records, attributes: &Attributes) -> bool {
    let sorted = |ids: &[u64]| {
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        ids
    };
    sorted(records.ids()) == sorted(attributes.ids())
}
