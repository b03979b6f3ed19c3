//! Where a setting came from, so that a complaint can point at it.

use std::fmt::Display;

use clap::ArgMatches;
use clap::parser::ValueSource;
use steffle_front::{Error, Given, Value};

use super::ConfigFile;
use crate::failure::{Failure, Status};

/// Which settings were typed and which stand in a configuration file.
#[derive(Debug, Default)]
pub(crate) struct Origins {
    typed: Vec<String>,
    file: Option<ConfigFile>,
}

impl Origins {
    /// Looks at what was typed; `file` is the configuration file, if one was named.
    pub(crate) fn new(matches: &ArgMatches, file: Option<ConfigFile>) -> Self {
        let by_user = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        // Argument groups have ids too, without a value of their own to have a source.
        let ids = matches.ids().map(clap::Id::as_str);
        let typed = ids.filter(|id| by_user(id)).map(|id| id.replace('_', "-")).collect();
        Self { typed, file }
    }

    /// Whether it stands on the command line.
    pub(crate) fn typed(&self, key: &str) -> bool {
        self.typed.iter().any(|typed| typed == key)
    }

    /// What was said about a method, and whether it was typed or stands in a file.
    pub(crate) fn given(&self, said: impl IntoIterator<Item = (&'static str, Value)>) -> Given {
        let mut given = Given::default();
        for (key, value) in said {
            if self.typed(key) {
                given.set(key, value);
            } else {
                given.set_as_written(key, value);
            }
        }
        given
    }

    /// An error of the library, with the place of the setting that it is about.
    pub(crate) fn explain(&self, error: Error) -> Failure {
        let failure = match (error.setting(), error.given()) {
            (Some(key), Some(given)) => self.reject(key, given, error.text()),
            (Some(key), None) => self.at(key, "config::conflict", error.text()),
            (None, _) => return error.into(),
        };
        match error.help() {
            Some(help) => failure.help(help),
            None => failure,
        }
    }

    /// Refuses the value of `key`: what was given, where, and what is allowed.
    pub(crate) fn refuse(&self, key: &str, given: impl Display, allowed: &str) -> Failure {
        self.reject(key, given, &format!("it must be {allowed}"))
    }

    /// Refuses the value of `key`: what was given, where, and why.
    pub(crate) fn reject(&self, key: &str, given: impl Display, why: &str) -> Failure {
        let setting = match self.place(key) {
            Some(_) => format!("{key} = {given}"),
            None => format!("--{key} {given}"),
        };
        self.at(key, &format!("config::{key}"), &format!("{setting} is refused: {why}"))
    }

    /// Refuses a setting that contradicts another.
    pub(crate) fn conflict(&self, key: &str, message: impl Into<String>) -> Failure {
        self.at(key, "config::conflict", &message.into())
    }

    /// A wrong flag is a wrong command line; a wrong line of a file is wrong data.
    pub(crate) fn at(&self, key: &str, code: &str, message: &str) -> Failure {
        match self.place(key) {
            Some(place) => Failure::new(Status::Data, code, format!("{message}\n{place}")),
            None => Failure::usage(code, message),
        }
    }

    /// The place in the file, for a setting that comes from there.
    fn place(&self, key: &str) -> Option<String> {
        let from_file = self.file.as_ref().filter(|_| !self.typed(key));
        from_file.and_then(|file| file.place(key))
    }
}
