//! The `steffle` command: reads what was typed, decides what it means, calls the libraries and
//! presents what they return. No mathematics lives here.

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
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgMatches, CommandFactory, FromArgMatches};

use args::{Cli, Command};
use failure::{Failure, Status};
use ui::Output;

fn main() -> ExitCode {
    let typed: Vec<OsString> = std::env::args_os().collect();
    let output = Output::peek(&typed);
    bug::report_panics(output);
    let status = match run(typed, output) {
        Ok(()) => Status::Ok,
        Err(failure) => {
            output.failure(&failure);
            failure.status
        }
    };
    ExitCode::from(status as u8)
}

fn run(typed: Vec<OsString>, output: Output) -> Result<(), Failure> {
    let parsed = Cli::command().color(output.color()).try_get_matches_from(typed);
    let matches = match parsed {
        Ok(matches) => matches,
        Err(error) => return explain(&error),
    };
    let cli = Cli::from_arg_matches(&matches).map_err(|error| Failure::bug(error.to_string()))?;
    interrupt::install()?;
    match cli.command {
        Command::Train(train) => {
            commands::train(*train, deepest(&matches), output, commands::Carried::Here)
        }
        Command::Sweep(sweep) => commands::sweep(&sweep, output),
        Command::Reproduce(reproduce) => commands::reproduce(&reproduce, output),
        Command::Predict(predict) => commands::predict(&predict, output),
        Command::Evaluate(evaluate) => commands::evaluate(&evaluate, output),
        Command::Choose(choose) => commands::choose(&choose, output),
        Command::Data(data) => commands::data(*data, deepest(&matches), output),
        Command::Privacy(privacy) => commands::privacy(&privacy, output),
        Command::Silo(silo) => commands::silo(&silo, output),
        Command::Node(node) => commands::node(&node),
        Command::Server(server) => commands::server(*server, deepest(&matches), output),
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
