//! A configuration file: TOML whose keys are the flags of a command.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use steffle_data::nearest;
use toml::de::DeTable;

use crate::failure::Failure;

/// A configuration file that parses and has no unknown key.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    path: PathBuf,
    text: String,
    /// Where each value stands.
    values: Vec<(String, Range<usize>)>,
}

impl ConfigFile {
    /// Reads a file; refuses what is not TOML and keys that are not `allowed`, with their place.
    pub(crate) fn read(path: &Path, allowed: &[String]) -> Result<Self, Failure> {
        let text = fs::read_to_string(path).map_err(|error| {
            let help = "--config takes a TOML file; see `steffle train --help`";
            Failure { code: "steffle::config::unreadable".into(), ..Failure::at(path, &error) }
                .help(help)
        })?;
        let mut file = Self { path: path.to_path_buf(), text, values: Vec::new() };
        let table = DeTable::parse(&file.text).map_err(|error| file.refuse("syntax", &error))?;
        let mut values = Vec::new();
        for (key, value) in table.get_ref() {
            let name = key.get_ref().to_string();
            if !allowed.contains(&name) {
                return Err(file.unknown(&name, key.span(), allowed));
            }
            values.push((name, value.span()));
        }
        file.values = values;
        Ok(file)
    }

    /// The settings of one kind that the file holds; refuses values of the wrong type.
    pub(crate) fn settings<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        toml::from_str(&self.text).map_err(|error| self.refuse("type", &error))
    }

    /// The place of the value of `key`, with its line shown.
    pub(crate) fn place(&self, key: &str) -> Option<String> {
        let (_, span) = self.values.iter().find(|(name, _)| name == key)?;
        Some(self.show(span.clone()))
    }

    fn unknown(&self, name: &str, span: Range<usize>, allowed: &[String]) -> Failure {
        let message = format!("unknown key `{name}`\n{}", self.show(span));
        let failure = Failure::data("config::unknown_key", message);
        match nearest(name, allowed) {
            Some(near) => failure.help(format!("did you mean `{near}`?")),
            None => failure.help(format!("the keys are {}", allowed.join(", "))),
        }
    }

    fn refuse(&self, code: &str, error: &toml::de::Error) -> Failure {
        let place = error.span().map(|span| format!("\n{}", self.show(span))).unwrap_or_default();
        let message = error.message().trim_end();
        Failure::data(&format!("config::{code}"), format!("{message}{place}"))
            .help("settings are written as `key = value`, e.g. `lambda = 2.0`")
    }

    /// `file:line:column` and the line with the span underlined.
    fn show(&self, span: Range<usize>) -> String {
        let start = span.start.min(self.text.len());
        let before = self.text.get(..start).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = self.text[line_start..].lines().next().unwrap_or_default();
        let number = before.matches('\n').count() + 1;
        let column = before[line_start..].chars().count() + 1;
        let marked = self.text.get(start..span.end.min(self.text.len())).unwrap_or_default();
        let width = marked.lines().next().unwrap_or_default().chars().count().max(1);
        let gutter = " ".repeat(number.to_string().len());
        format!(
            "{gutter}--> {}:{number}:{column}\n{gutter} |\n{number} | {line}\n{gutter} | {}{}",
            self.path.display(),
            " ".repeat(column - 1),
            "^".repeat(width)
        )
    }
}
