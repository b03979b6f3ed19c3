//! `steffle reproduce`: the paper's experiments, run again and reported.

mod experiment;
mod flat;
mod harm;
mod headline;
mod output;
mod panels;
mod promise;
mod theory;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use steffle_report::{Comparison, Panel};

use self::experiment::{AVERAGED, Experiment, Given};
use self::harm::harm;
use self::headline::headline;
use self::output::{present, write_all};
use self::panels::{Ended, panels};
use self::theory::theory;
use super::sweep::{Run, run_all, seeds, threads};
use crate::args::{ReproduceCommand, What};
use crate::failure::Failure;
use crate::ui::Output;

/// Where default directories are.
const DIRECTORY: &str = "reproduced";

/// The data that only a user can supply.
const RETIRED: &str = "retired-adult";
const BANK: &str = "bank-marketing";

pub(crate) fn reproduce(command: &ReproduceCommand, output: Output) -> Result<(), Failure> {
    let usual = || if command.quick { "2" } else { "15" }.to_owned();
    let asked = command.seeds.clone().unwrap_or_else(usual);
    let (seeds, threads) = (seeds(&asked)?, threads(command.threads)?);
    let given = given_files(command);
    let (experiments, absent) = available(command, &given)?;
    let directory = command.out.clone().unwrap_or_else(|| usual_directory(command));
    let with_theory = matches!(command.what, What::Theory | What::All);
    if with_theory && seeds.len() < 2 {
        let message = format!("--seeds {asked} is refused: intervals need 2 seeds or more");
        return Err(Failure::usage("config::seeds", message));
    }

    let mut runs: Vec<Run> = Vec::new();
    let mut places: Vec<Vec<usize>> = Vec::new();
    let mut known = std::collections::HashMap::new();
    for experiment in &experiments {
        let own = experiment.runs(&asked, command.quick, &given)?;
        // A run that two figures show is run once.
        let place = |run: Run| {
            *known.entry(run.key().to_string()).or_insert_with(|| {
                runs.push(run);
                runs.len() - 1
            })
        };
        places.push(own.into_iter().map(place).collect());
    }
    let lines = run_all(&runs, threads, &directory, |_| Ok(()))?;

    let mut comparison = Comparison {
        title: title(command),
        command: command_line(command, &asked),
        versions: vec![format!("steffle {}", env!("CARGO_PKG_VERSION"))],
        date: today(),
        machine: format!(
            "{} {}, {threads} runs at a time",
            std::env::consts::OS,
            std::env::consts::ARCH
        ),
        seeds: seeds.iter().filter_map(|seed| seed.parse().ok()).collect(),
        notes: absent,
        ..Comparison::default()
    };
    for (experiment, places) in experiments.iter().zip(&places) {
        let ended: Vec<Ended<'_>> =
            places.iter().map(|&place| Ended::new(&runs[place], &lines[place])).collect();
        comparison.panels.extend(panels(experiment, &ended));
        if command.what == What::Rare {
            comparison.tables.push(harm(&ended, &experiment.at));
        }
    }
    if matches!(command.what, What::Headline | What::All) {
        let averaged = |panel: &&Panel| AVERAGED.contains(&panel.figure.as_str());
        let panels: Vec<&Panel> = comparison.panels.iter().filter(averaged).collect();
        let table = headline(&panels);
        comparison.tables.push(table);
    }
    if with_theory {
        let numbers: Vec<u64> = comparison.seeds.clone();
        let (panels, slopes) = theory(&numbers, command.quick, threads)?;
        comparison.panels.extend(panels);
        comparison.tables.push(slopes);
    }
    let failed = failures(&lines);
    comparison.notes.extend(failed.clone());
    write_all(&directory, &comparison, &lines)?;
    present(&comparison, &directory, output)?;
    match failed {
        None => Ok(()),
        Some(message) => Err(Failure::data("reproduce::failed_runs", message)
            .help("everything else is complete; the same command tries the failed runs again")),
    }
}

/// The files that were named, by the data set that they are of.
fn given_files(command: &ReproduceCommand) -> Given {
    [(RETIRED, &command.retired_adult), (BANK, &command.path)]
        .into_iter()
        .filter_map(|(name, path)| Some((name, path.as_ref()?.to_string_lossy().into_owned())))
        .collect()
}

/// The flag that names the file of a data set.
fn flag(data: &str) -> &'static str {
    if data == BANK { "--path" } else { "--retired-adult" }
}

/// The experiments whose data is there, and a sentence about what is absent.
fn available(
    command: &ReproduceCommand,
    given: &Given,
) -> Result<(Vec<Experiment>, Vec<String>), Failure> {
    let all = Experiment::of(command.what)?;
    for (data, path) in given {
        fs::metadata(path).map_err(|error| Failure::at(Path::new(path), &error))?;
        let without = given.iter().filter(|(name, _)| *name != data);
        let without = without.map(|(name, path)| (*name, path.clone())).collect();
        if all.iter().all(|own| own.absent(&without) == own.absent(given)) {
            let message = format!("{} means nothing to {}", flag(data), word(command.what));
            return Err(Failure::usage("reproduce::data", message).help(
                "leave it out: --retired-adult is for figure-4, headline and all, --path for rare",
            ));
        }
    }
    let sentence = |own: &Experiment| {
        let absent = own.absent(given).into_iter().map(|data| {
            format!(
                "{}: {data} ({}) is absent: its data is not part of steffle; add {} FILE.",
                own.name,
                own.title,
                flag(&data)
            )
        });
        absent.collect::<Vec<_>>()
    };
    let notes = all.iter().flat_map(sentence).collect();
    let there: Vec<_> = all.into_iter().filter(|own| own.can_run(given)).collect();
    if command.what == What::Figure4 && there.is_empty() {
        let message = "figure-4 needs the Retired Adult data, which steffle may not distribute";
        return Err(Failure::usage("reproduce::data", message)
            .help("name the file: --retired-adult FILE; docs/DATA.md says where to get it"));
    }
    Ok((there, notes))
}

/// A run that failed is not hidden behind the curves of the others.
fn failures(lines: &[Value]) -> Option<String> {
    let failed: Vec<&Value> = lines.iter().filter(|line| line.get("error").is_some()).collect();
    let first = failed.first()?;
    Some(format!(
        "{} of {} runs failed and are missing from the curves; the first: {}",
        failed.len(),
        lines.len(),
        first["error"]["message"].as_str().unwrap_or_default()
    ))
}

fn usual_directory(command: &ReproduceCommand) -> PathBuf {
    let quick = if command.quick { "-quick" } else { "" };
    Path::new(DIRECTORY).join(format!("{}{quick}", word(command.what)))
}

fn title(command: &ReproduceCommand) -> String {
    let quick = if command.quick { " (quick: few seeds, few values)" } else { "" };
    format!("SteFFLe reproduced: {}{quick}", word(command.what))
}

fn command_line(command: &ReproduceCommand, seeds: &str) -> String {
    let quick = if command.quick { " --quick" } else { "" };
    let files = given_files(command);
    let files: Vec<String> = files.keys().map(|data| format!(" {} FILE", flag(data))).collect();
    let files = files.concat();
    format!("steffle reproduce {}{quick} --seeds {seeds}{files}", word(command.what))
}

/// The word that was typed.
fn word(what: What) -> String {
    use clap::ValueEnum as _;

    what.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// Year, month and day in the proleptic Gregorian calendar (days since the epoch, by the rule of
/// 400 years of 146,097 days that begin on the first of March).
fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    date(seconds / 86_400)
}

fn date(days: u64) -> String {
    let since_march = days + 719_468;
    let (era, day) = (since_march / 146_097, since_march % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", year + 400 * era + next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(11_016), "2000-02-29");
        assert_eq!(date(11_017), "2000-03-01");
        assert_eq!(date(20_772), "2026-11-15");
    }
}
