//! From what was typed, or stands in a file, to complete and checked settings.

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args};
use steffle_front::{Centralisation, Entry, Given, Value, method};

use super::train::{TrainConfig, is_job};
use super::{Check, ConfigFile, Origins, missing};
use crate::args::{CutArgs, DataArgs, TrainArgs, TrainCommand};
use crate::failure::Failure;

impl TrainConfig {
    /// Flags over the configuration file over defaults. With `lead`, the job was submitted to a server:
    /// its settings name no file.
    pub(crate) fn from_command(
        command: TrainCommand,
        typed: &ArgMatches,
        lead: Option<PathBuf>,
    ) -> Result<(Self, Origins), Failure> {
        let TrainCommand { mut train, mut data, mut cut, config, journal, .. } = command;
        let mut file = config.map(|path| ConfigFile::read(&path, &keys())).transpose()?;
        let job = train.data.as_deref().map(Path::new).filter(|path| is_job(path));
        if let Some(section) = job.map(|job| of_job(job, file.is_some())).transpose()?.flatten() {
            if lead.is_some() {
                names_no_file(&section)?;
            }
            file = Some(section);
        }
        if let Some(file) = &file {
            train = train.over(file.settings()?);
            data = data.over(file.settings()?);
            cut = cut.over(file.settings()?);
        }
        let origins = Origins::new(typed, file);
        Ok((Self { lead, journal, ..Self::resolve(train, data, cut, &origins)? }, origins))
    }

    /// Fills in defaults; refuses values out of range and contradictions.
    pub(crate) fn resolve(
        train: TrainArgs,
        meaning: DataArgs,
        cut: CutArgs,
        origins: &Origins,
    ) -> Result<Self, Failure> {
        let check = Check(origins);
        missing(check, &meaning)?;
        let explain = |error| origins.explain(error);
        let name = train.method.as_deref().unwrap_or("steffle");
        let entry = Entry::of(name).map_err(explain)?;
        let said = origins.given(train.said().into_iter().chain(cut.said()));
        let given = entry.pinned(&said).map_err(explain)?;
        let method = method(name, &said).map_err(explain)?;
        let data = data(check, &train)?;
        let (mut centralisation, mut silos) = who_holds_what(check, data.as_deref(), &given)?;
        let mut heterogeneity = heterogeneity(check, cut.heterogeneity)?;
        if entry.central && cuts_itself(data.as_deref()) {
            // The rows of all silos are in one place, however they were dealt out.
            (centralisation, silos) = (Some(Centralisation::OneSilo), Some(1));
            heterogeneity = 0.0;
        }
        Ok(Self {
            data,
            method,
            validation: check
                .number("validation", train.validation, 0.0..1.0, "a number in [0, 1)")?
                .unwrap_or(if train.max_excess.is_some() { 0.1 } else { 0.0 }),
            heterogeneity,
            seed: check.seed(cut.seed)?,
            threads: threads(check, train.threads)?,
            processes: train.processes.unwrap_or(false),
            store: None,
            lead: None,
            journal: None,
            centralisation,
            silos,
            meaning,
            min_group: check.count("min-group", train.min_group)?,
            partition_by: cut.partition_by,
            records: train.records,
            attributes: train.attributes,
            test: train.test,
            out: train.out,
        })
    }
}

/// The settings that a job has, in its table `train`; refuses them beside a configuration file.
fn of_job(job: &Path, configured: bool) -> Result<Option<ConfigFile>, Failure> {
    let section = ConfigFile::section(job, "train", &keys())?;
    if section.is_some() && configured {
        let message = "--config and the table `train` of the job both hold settings; keep one";
        return Err(Failure::usage("config::conflict", message));
    }
    Ok(section)
}

/// More threads than this are a typing error, and starting them takes minutes.
const MOST_THREADS: usize = 1024;

/// The keys of a configuration file: every flag that is a setting.
fn keys() -> Vec<String> {
    let flags = flags();
    let mut keys: Vec<String> =
        flags.get_arguments().filter_map(|flag| flag.get_long().map(str::to_owned)).collect();
    keys.sort();
    keys
}

fn flags() -> clap::Command {
    let flags = TrainArgs::augment_args(clap::Command::new("train"));
    CutArgs::augment_args(DataArgs::augment_args(flags))
}

/// Refuses settings of a submitted job that name a file or start programs: these are the server's owner's
/// to choose. Every flag that takes a path is one, whoever adds it.
fn names_no_file(section: &ConfigFile) -> Result<(), Failure> {
    let flags = flags();
    let paths = flags.get_arguments().filter(|flag| {
        let path = clap::builder::ValueParser::path_buf().type_id();
        flag.get_value_parser().type_id() == path
    });
    let paths = paths.filter_map(clap::Arg::get_long).chain(["data", "processes"]);
    match paths.into_iter().find(|key| section.has(key)) {
        None => Ok(()),
        Some(key) => {
            let message = format!("`{key}` under [train] is for jobs on one machine");
            let help = "a job that is submitted names no file: leave the key out";
            Err(Failure::data("config::submitted", message).help(help))
        }
    }
}

/// h of Algorithm 3.
pub(crate) fn heterogeneity(check: Check<'_>, given: Option<f64>) -> Result<f64, Failure> {
    let checked = check.number("heterogeneity", given, 0.0..=1.0, "a number in [0, 1]")?;
    Ok(checked.unwrap_or(0.0))
}

fn threads(check: Check<'_>, given: Option<usize>) -> Result<Option<usize>, Failure> {
    match given {
        Some(threads) if !(1..=MOST_THREADS).contains(&threads) => {
            let allowed = format!("a whole number from 1 to {MOST_THREADS}");
            Err(check.0.refuse("threads", threads, &allowed))
        }
        given => Ok(given),
    }
}

fn data(check: Check<'_>, train: &TrainArgs) -> Result<Option<String>, Failure> {
    let files = !train.records.is_empty();
    let job = train.data.as_deref().is_some_and(|data| is_job(Path::new(data)));
    let parts = [("attributes", !train.attributes.is_empty()), ("test", train.test.is_some())];
    if files && train.data.is_some() {
        let message = "--data and --records both say where the rows are; give one of them";
        return Err(check.0.conflict("data", message));
    }
    if train.test.is_some() && job {
        let message = "a job names its test file itself";
        return Err(check.0.conflict("test", message).help("change `test` in the job"));
    }
    for (key, given) in parts {
        // A table may have a test file of its own, too.
        if given != files && (key != "test" || files) {
            let message = "--records, --attributes and --test belong together; give all or none";
            return Err(check.0.conflict(if given { key } else { "records" }, message));
        }
    }
    let name = || train.data.clone().unwrap_or_else(|| "adult".to_owned());
    Ok((!files).then(name))
}

/// Whether the data is a table that is cut here; otherwise it is files that are cut already.
fn cuts_itself(data: Option<&str>) -> bool {
    data.is_some_and(|name| !is_job(Path::new(name)))
}

/// The centralisation and the number of records silos, as far as the files do not say them.
fn who_holds_what(
    check: Check<'_>,
    data: Option<&str>,
    given: &Given,
) -> Result<(Option<Centralisation>, Option<usize>), Failure> {
    let asked = given.value("centralisation").map(ToString::to_string);
    let asked = check.word("centralisation", asked.as_deref())?;
    let silos = match given.value("silos") {
        Some(Value::Whole(silos)) => Some(*silos as usize),
        _ => None,
    };
    let silos = check.count("silos", silos)?;
    if !cuts_itself(data) {
        return Ok((asked, silos));
    }
    match (asked, silos) {
        (Some(Centralisation::OneSilo), Some(silos)) if silos != 1 => {
            let message = format!("centralisation one-silo has 1 silo, not {silos}");
            Err(check.0.conflict("silos", message).help("leave out one of the two"))
        }
        (Some(Centralisation::OneSilo), _) => Ok((asked, Some(1))),
        // One table of the user's is one silo; the named data sets are dealt out as in the paper.
        (asked, silos) => Ok((asked, Some(silos.unwrap_or(if is_named(data) { 3 } else { 1 })))),
    }
}

/// Whether the data is a data set that has a name.
fn is_named(data: Option<&str>) -> bool {
    data.is_some_and(|name| steffle_data::Builtin::find(name).is_some())
}

#[cfg(test)]
mod tests;
