//! From lists of values to runs: every combination, in order, each once.

use std::collections::HashSet;
use std::ffi::OsString;

use clap::{Arg, CommandFactory, FromArgMatches};
use serde_json::{Map, Value, json};
use steffle_front::{Entry, Mode};
use toml::Value as Toml;

use crate::args::{Cli, Command, SweepCommand, repeats, settings};
use crate::config::{ConfigFile, Origins, TrainConfig};
use crate::failure::Failure;

/// More runs than this are a typing error.
const MOST_RUNS: usize = 1_000_000;

/// One run of a sweep.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) config: TrainConfig,
    pub(crate) origins: Origins,
    /// The settings that differ between runs, as they were given.
    pub(crate) varying: Map<String, Value>,
}

impl Run {
    /// The settings that decide what the run computes.
    pub(crate) fn key(&self) -> Value {
        json!(self.config)
    }
}

/// A flag and the values it takes, each the words of one run.
#[derive(Debug, Clone, PartialEq)]
struct Axis {
    key: String,
    values: Vec<Vec<String>>,
}

/// The runs of a grid; refuses values that no run can have.
pub(crate) fn runs(command: &SweepCommand) -> Result<Vec<Run>, Failure> {
    let table = match &command.grid {
        Some(path) => ConfigFile::read(path, &keys())?.settings()?,
        None => toml::Table::new(),
    };
    let SweepCommand { lists, seeds, .. } = command;
    combine(&axes(&table, &lists.0, seeds.as_deref())?, false)
}

/// The runs of a grid that is part of a larger plan, where a setting is meant for the methods that
/// have it even if only one of them is in this grid.
pub(crate) fn runs_of(table: &toml::Table, seeds: &str) -> Result<Vec<Run>, Failure> {
    if let Some(unknown) = table.keys().find(|key| !keys().contains(key)) {
        return Err(Failure::data("config::unknown_key", format!("unknown key `{unknown}`")));
    }
    combine(&axes(table, &[], Some(seeds))?, true)
}

/// The keys of a grid.
fn keys() -> Vec<String> {
    let name = |flag: &Arg| flag.get_long().unwrap_or_default().to_owned();
    settings().iter().map(name).chain(["seeds".to_owned()]).collect()
}

/// Every combination once. `lenient` leaves out settings that a run's method does not have.
fn combine(axes: &[Axis], lenient: bool) -> Result<Vec<Run>, Failure> {
    let count = axes.iter().try_fold(1_usize, |count, axis| count.checked_mul(axis.values.len()));
    if count.is_none_or(|count| count > MOST_RUNS) {
        let message = format!("the grid has more than {MOST_RUNS} runs");
        return Err(Failure::usage("sweep::grid", message).help("leave out some values"));
    }
    let mut cli = Cli::command();
    let (mut runs, mut seen) = (Vec::new(), HashSet::new());
    let mut place = vec![0; axes.len()];
    loop {
        let chosen: Vec<(&str, &[String])> = axes
            .iter()
            .zip(&place)
            .map(|(axis, &at)| (axis.key.as_str(), &axis.values[at][..]))
            .collect();
        let chosen = applicable(axes, chosen, lenient)?;
        let run = resolve(&mut cli, axes, &chosen)?;
        if seen.insert(run.key().to_string()) {
            runs.push(run);
        }
        // The last axis moves fastest.
        let Some(moved) = (0..axes.len()).rev().find(|&at| place[at] + 1 < axes[at].values.len())
        else {
            return Ok(runs);
        };
        place[moved] += 1;
        place[moved + 1..].fill(0);
    }
}

/// All axes: what was typed, over the file. Lambda and the seed move fastest.
fn axes(
    table: &toml::Table,
    typed: &[(String, Vec<String>)],
    given_seeds: Option<&str>,
) -> Result<Vec<Axis>, Failure> {
    let mut axes = Vec::new();
    for flag in &settings() {
        let key = flag.get_long().unwrap_or_default().to_owned();
        let words = typed.iter().find(|(typed, _)| *typed == key);
        let values = match (words, table.get(&key)) {
            (Some((_, words)), _) if repeats(flag) => vec![words.clone()],
            (Some((_, words)), _) => split(&key, &words.join(",")),
            (None, Some(value)) => from_toml(&key, value, repeats(flag))?,
            (None, None) => continue,
        };
        axes.push(Axis { key, values });
    }
    let typed_seed = typed.iter().any(|(key, _)| key == "seed");
    let seeds = match (given_seeds, table.get("seeds")) {
        (Some(typed), _) => Some(seeds(typed)?),
        (None, Some(value)) if !typed_seed => {
            let words: Vec<String> = from_toml("seeds", value, false)?.concat();
            Some(match value {
                Toml::Array(_) => words,
                _ => seeds(&words.concat())?,
            })
        }
        _ => None,
    };
    if let Some(seeds) = seeds {
        axes.retain(|axis| axis.key != "seed");
        let values = seeds.into_iter().map(|seed| vec![seed]).collect();
        axes.push(Axis { key: "seed".to_owned(), values });
    }
    // A stable sort: all else stays in the order of the help.
    axes.sort_by_key(|axis| match axis.key.as_str() {
        "seed" => 2,
        "lambda" => 1,
        _ => 0,
    });
    Ok(axes)
}

/// `15` is the first fifteen; `7,8,9` are these.
pub(crate) fn seeds(given: &str) -> Result<Vec<String>, Failure> {
    let refuse = |why: &str| {
        let message = format!("--seeds {given} is refused: {why}");
        let help = "--seeds 15 is the first fifteen, --seeds 7,8,9 are these three; for one seed \
                    use --seed";
        Failure::usage("config::seeds", message).help(help)
    };
    let numbers: Vec<u64> = given
        .split(',')
        .map(|word| word.trim().parse().map_err(|_| refuse("it must be whole numbers")))
        .collect::<Result<_, _>>()?;
    match numbers[..] {
        [0] => Err(refuse("it must be 1 or more")),
        [count] if count > MOST_RUNS as u64 => Err(refuse("that many runs are a typing error")),
        [count] => Ok((0..count).map(|seed| seed.to_string()).collect()),
        _ => Ok(numbers.iter().map(ToString::to_string).collect()),
    }
}

/// Splits at commas; the widths of a network (`mlp:64,32`) stay together.
fn split(key: &str, words: &str) -> Vec<Vec<String>> {
    let mut values: Vec<String> = Vec::new();
    for word in words.split(',').map(str::trim) {
        let width = key == "model" && word.parse::<u64>().is_ok();
        match values.last_mut() {
            Some(last) if width => *last = format!("{last},{word}"),
            _ => values.push(word.to_owned()),
        }
    }
    values.into_iter().map(|value| vec![value]).collect()
}

fn from_toml(key: &str, value: &Toml, repeats: bool) -> Result<Vec<Vec<String>>, Failure> {
    let refuse = || {
        let message = format!("grid: {key} = {value} is neither a value nor a list of values");
        Failure::data("config::type", message)
    };
    let word = |value: &Toml| match value {
        Toml::String(word) => Ok(word.clone()),
        Toml::Integer(_) | Toml::Float(_) | Toml::Boolean(_) => Ok(value.to_string()),
        _ => Err(refuse()),
    };
    let list = |values: &[Toml]| values.iter().map(word).collect::<Result<Vec<_>, _>>();
    let values = match value {
        Toml::Array(lists) if repeats && lists.iter().all(Toml::is_array) => {
            lists.iter().filter_map(Toml::as_array).map(|words| list(words)).collect()
        }
        Toml::Array(words) if repeats => Ok(vec![list(words)?]),
        Toml::Array(words) => Ok(list(words)?.into_iter().map(|word| vec![word]).collect()),
        one => Ok(vec![vec![word(one)?]]),
    }?;
    if values.is_empty() { Err(refuse()) } else { Ok(values) }
}

/// Leaves out what the run's method or mode does not have, where methods or modes are compared:
/// then a value is meant for those that have it.
fn applicable<'a>(
    axes: &[Axis],
    chosen: Vec<(&'a str, &'a [String])>,
    lenient: bool,
) -> Result<Vec<(&'a str, &'a [String])>, Failure> {
    let several =
        |key: &str| lenient || axes.iter().any(|axis| axis.key == key && axis.values.len() > 1);
    let word = |key: &str| {
        let words = chosen.iter().find(|(own, _)| *own == key);
        words.and_then(|(_, words)| words.first()).map(String::as_str)
    };
    let name = word("method").unwrap_or("steffle");
    let method = Entry::of(name).map_err(|error| Origins::default().explain(error))?;
    let mode: Option<Mode> = word("mode").and_then(|mode| mode.parse().ok());
    let keep = |key: &str| {
        let known = key != "mode" || mode.is_none_or(|mode| method.modes.contains(&mode));
        (!several("method") || (method.takes(key) && known))
            && (!several("mode")
                || mode.is_none_or(|mode| !method.takes("mode") || mode.takes(key)))
    };
    Ok(chosen.into_iter().filter(|(key, _)| keep(key)).collect())
}

/// One combination, understood as `train` would understand it.
fn resolve(
    cli: &mut clap::Command,
    axes: &[Axis],
    chosen: &[(&str, &[String])],
) -> Result<Run, Failure> {
    let mut typed: Vec<OsString> = vec!["steffle".into(), "train".into()];
    for (key, words) in chosen {
        typed.extend(words.iter().map(|word| OsString::from(format!("--{key}={word}"))));
    }
    let matches = cli.try_get_matches_from_mut(typed).map_err(|error| {
        let text = error.to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        let message = text.split("\n\n").next().unwrap_or(text).trim_end();
        Failure::usage("usage::arguments", message)
    })?;
    let parsed =
        Cli::from_arg_matches(&matches).map_err(|error| Failure::bug(error.to_string()))?;
    let (Command::Train(train), Some((_, own))) = (parsed.command, matches.subcommand()) else {
        return Err(Failure::bug("a run of a sweep is not `train`"));
    };
    let (config, origins) = TrainConfig::from_command(*train, own, None)?;
    let mut varying = Map::new();
    for axis in axes.iter().filter(|axis| axis.values.len() > 1) {
        if let Some((key, words)) = chosen.iter().find(|(key, _)| *key == axis.key) {
            varying.insert((*key).to_owned(), shown(words));
        }
    }
    Ok(Run { config, origins, varying })
}

/// Numbers as numbers, several words as a list.
fn shown(words: &[String]) -> Value {
    let one = |word: &String| match word.parse::<f64>() {
        Ok(number) if number.is_finite() => serde_json::from_str(word).unwrap_or(json!(number)),
        _ => json!(word),
    };
    match words {
        [word] => one(word),
        words => words.iter().map(one).collect(),
    }
}

#[cfg(test)]
mod tests;
