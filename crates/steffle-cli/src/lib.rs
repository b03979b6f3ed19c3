//! The `steffle` command: reads what was typed, decides what it means, calls the libraries and
//! presents what they return. No mathematics lives here.
//!
//! A library, so that the Python package can be the same command: [`command`] is the whole program,
//! [`answer`] what those commands say that only compute.

#![allow(clippy::format_push_string, reason = "a page of text is put together once per run")]

mod args;
mod bug;
mod commands;
mod config;
mod failure;
mod interrupt;
mod run_dir;
mod staged;
mod ui;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use clap::error::ErrorKind;
use clap::{ArgMatches, CommandFactory, FromArgMatches};

use args::{Cli, Command, DataCommand, LedgerCommand};
use failure::Status;
use ui::Output;

pub use failure::Failure;

/// The whole program: does what was typed, the program's name first, and returns its exit status.
///
/// It listens for Ctrl-C and ends the process then; a panic ends it too.
pub fn command(typed: Vec<OsString>) -> u8 {
    let output = Output::peek(&typed);
    if let Some(program) = typed.first().map(PathBuf::from) {
        let _ = PROGRAM.set(program);
    }
    bug::report_panics(output);
    let done = parse(typed, output).and_then(|parsed| match parsed {
        Some((cli, matches)) => {
            interrupt::install()?;
            run(cli, &matches, output)
        }
        None => Ok(()),
    });
    let status = match done {
        Ok(()) => Status::Ok,
        Err(failure) => {
            output.failure(&failure);
            failure.status
        }
    };
    status as u8
}

/// How the program was called.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// The program, so that it can play other parties in processes of their own. A script that calls
/// [`command`] was called by its path; the process is then another program's.
fn program() -> std::io::Result<PathBuf> {
    let called = PROGRAM.get().filter(|called| called.parent() != Some(Path::new("")));
    match called.filter(|called| called.is_file()) {
        Some(called) => called.canonicalize(),
        None => std::env::current_exe(),
    }
}

/// What `--json` would print, for commands that compute and change nothing but files that they are
/// told to write: `privacy`, `ledger show`, `verify` and `export`, `data list` and `describe`.
/// Refuses all others.
///
/// ```
/// let words = ["privacy", "explain", "--epsilon", "1", "--delta", "1e-6"];
/// let told = steffle_cli::answer(&words.map(String::from)).unwrap();
/// assert_eq!(told["epsilon"], 1.0);
/// ```
pub fn answer(words: &[String]) -> Result<serde_json::Value, Failure> {
    let kept = Mutex::new(None);
    let output = Output::keeping(&kept);
    let typed = ["steffle".into()].into_iter().chain(words.iter().map(OsString::from)).collect();
    let Some((cli, matches)) = parse(typed, output)? else { return Ok(serde_json::Value::Null) };
    match &cli.command {
        Command::Privacy(_)
        | Command::Ledger(
            LedgerCommand::Show(_) | LedgerCommand::Verify(_) | LedgerCommand::Export(_),
        ) => {}
        Command::Data(data) if matches!(**data, DataCommand::List | DataCommand::Describe(_)) => {}
        _ => {
            let message = "this command does more than compute: run it as a program";
            return Err(Failure::usage("usage::arguments", message));
        }
    }
    run(cli, &matches, output)?;
    let told = kept.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    told.ok_or_else(|| Failure::bug("a command ended without an answer"))
}

/// What was typed; nothing where it was help that was asked for, which is printed.
fn parse(typed: Vec<OsString>, output: Output) -> Result<Option<(Cli, ArgMatches)>, Failure> {
    let parsed = Cli::command().color(output.color()).try_get_matches_from(typed);
    let matches = match parsed {
        Ok(matches) => matches,
        Err(error) => return explain(&error).map(|()| None),
    };
    let cli = Cli::from_arg_matches(&matches).map_err(|error| Failure::bug(error.to_string()))?;
    Ok(Some((cli, matches)))
}

fn run(cli: Cli, matches: &ArgMatches, output: Output) -> Result<(), Failure> {
    match cli.command {
        Command::Train(train) => {
            commands::train(*train, deepest(matches), output, commands::Carried::Here)
        }
        Command::Sweep(sweep) => commands::sweep(&sweep, output),
        Command::Reproduce(reproduce) => commands::reproduce(&reproduce, output),
        Command::Predict(predict) => commands::predict(&predict, output),
        Command::Export(export) => commands::export(&export, output),
        Command::Evaluate(evaluate) => commands::evaluate(&evaluate, output),
        Command::Choose(choose) => commands::choose(&choose, output),
        Command::Data(data) => commands::data(*data, deepest(matches), output),
        Command::Privacy(privacy) => commands::privacy(&privacy, output),
        Command::Silo(silo) => commands::silo(&silo, output),
        Command::Node(node) => commands::node(&node),
        Command::Server(server) => commands::server(*server, deepest(matches), output),
        Command::Submit(submit) => commands::submit(&submit, output),
        Command::Ledger(ledger) => commands::ledger(&ledger, output),
        Command::Audit(audit) => commands::audit(&audit, output),
        Command::Completions { shell } => commands::completions(shell, output),
    }
}

/// What was typed after the last command word.
fn deepest(matches: &ArgMatches) -> &ArgMatches {
    matches.subcommand().map_or(matches, |(_, inner)| deepest(inner))
}

/// Prints help or the version; anything else is a wrong command line.
fn explain(error: &clap::Error) -> Result<(), Failure> {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return error.print().map_err(|e| Failure::stdout(&e));
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let failure = Failure::usage("usage::arguments", "no command was given");
        return Err(failure.help(format!("{error}").trim_end()));
    }
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    let (message, help) = text.split_once("\n\n").unwrap_or((text, ""));
    Err(Failure::usage("usage::arguments", message).help(help.trim_start()))
}
