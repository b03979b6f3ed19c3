//! From a data set's name or files to a study.

use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};
use steffle_data::{Encoding, Recipe};
use steffle_front::{Cut, Files, Library, Split, Study, Table, recipe_of_store};

use crate::commands::ledger::waiting_book;
use crate::config::{Check, Origins, TrainConfig, is_job, recipe};
use crate::failure::Failure;

/// The study that the configuration names.
pub(super) fn study(
    config: &TrainConfig,
    origins: &Origins,
    library: &Library,
) -> Result<Study, Failure> {
    match config.data.as_deref().map(Path::new) {
        Some(path) if is_job(path) => {
            let read = match &config.lead {
                Some(lead) => Files::submitted(path, lead)?,
                None => Files::read(path)?,
            };
            files(read, config, origins, library)
        }
        Some(name) => table(&name.to_string_lossy(), config, origins, library),
        None => {
            let test = config.test.clone().unwrap_or_default();
            let named = Files::new(config.records.clone(), config.attributes.clone(), test);
            files(named, config, origins, library)
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
    let TrainConfig { meaning, partition_by, method, .. } = config;
    let notion = &method.aim().notion;
    // A file does not say what is sensitive; the ledger that pays does.
    let known = known.or_else(|| {
        let sensitive = config.store.as_ref()?.sensitive().to_vec();
        Some(Recipe { sensitive, ..Recipe::default() })
    });
    let recipe = recipe(known, meaning, partition_by.as_ref(), notion, Check(origins))?;
    let recipe = match &config.store {
        Some(columns) => recipe_of_store(recipe, columns)?,
        None => recipe,
    };
    method.admits(&recipe)?;
    Ok(recipe)
}

/// One table, cut here into silos.
fn table(
    name: &str,
    config: &TrainConfig,
    origins: &Origins,
    library: &Library,
) -> Result<Study, Failure> {
    if config.processes || config.lead.is_some() {
        let message = "processes are started for the parties of a job.toml";
        let help = "write one: steffle data partition FILE --out parts, then --data parts/job.toml";
        return Err(Failure::usage("config::processes", message).help(help));
    }
    let table = Table::find(name, config.meaning.path.as_deref())?;
    let said = &config.meaning.sensitive;
    let known = match &config.store {
        Some(columns) if said.is_empty() => table.recipe(columns.sensitive()),
        _ => table.recipe(said),
    };
    let recipe = meaning(known, config, origins)?;
    let data = library.data(table, recipe)?;
    let TrainConfig { validation, seed, test, .. } = config;
    let split = Split { validation: *validation, seed: *seed, test: test.clone() };
    let mut cut = Cut::from(config.silos.unwrap_or(1)).heterogeneity(config.heterogeneity);
    if let Some(centralisation) = config.centralisation {
        cut = cut.centralisation(centralisation);
    }
    Ok(library.study(&data, split, cut)?)
}

/// What is run with parties that keep their files to themselves: the same for the same settings and the
/// same job, wherever that lies, so that a run that was interrupted goes on.
fn what(config: &TrainConfig) -> Result<[u8; 8], Failure> {
    let job = config.data.as_deref().map(Path::new).filter(|path| is_job(path));
    let mut hash = Sha256::new();
    if let Some(path) = job {
        hash.update(fs::read(path).map_err(|error| Failure::at(path, &error))?);
    }
    hash.update(super::toml(&TrainConfig { data: None, ..config.clone() })?);
    let mut what = [0; 8];
    what.copy_from_slice(&hash.finalize()[..8]);
    Ok(what)
}

/// Files that are already cut.
fn files(
    files: Files,
    config: &TrainConfig,
    origins: &Origins,
    library: &Library,
) -> Result<Study, Failure> {
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
    let written = &files.recipe().dialect;
    let set = |key: &&str| files.settings().is_some_and(|settings| settings.contains_key(*key));
    let said = !written.columns.is_empty()
        || written.delimiter.is_some()
        || ["columns", "delimiter", "encoding"].iter().any(set);
    if config.store.is_some() && (said || written.encoding != Encoding::default()) {
        let message = "the job says how the files are written (columns, delimiter or encoding), and \
                       beside a ledger that is their owner's word: another reading has other names \
                       and other ids";
        let help = "take it out of [recipe.dialect] and [train] of the job, and say --columns, --delimiter or \
                    --encoding";
        return Err(Failure::data("ledger::dialect", message).help(help));
    }
    let recipe = meaning(Some(files.recipe().clone()), config, origins)?;
    let TrainConfig { centralisation, silos, seed, .. } = *config;
    let mut files = files.with(recipe).masked(&config.method);
    let (what, journal) = (what(config)?, config.journal.as_deref());
    if config.lead.is_some() {
        files = files.over_relay(what, journal)?;
    } else if config.processes {
        let program = crate::program();
        let program = program.map_err(|error| Failure::data("node::start", error.to_string()))?;
        files = files.in_processes(program, what, journal)?;
    } else if files.has_sites() {
        files = files.in_one_process(waiting_book, what, journal)?;
    }
    let study = library.files(&files, centralisation, silos, seed);
    study.map_err(|error| origins.explain(error))
}
