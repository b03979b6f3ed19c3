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
    /// The table that holds them; none: the file itself.
    table: Option<&'static str>,
}

impl ConfigFile {
    /// Reads a file; refuses what is not TOML and keys that are not `allowed`, with their place.
    pub(crate) fn read(path: &Path, allowed: &[String]) -> Result<Self, Failure> {
        let text = fs::read_to_string(path).map_err(|error| {
            let help = "--config takes a TOML file; see `steffle train --help`";
            Failure { code: "steffle::config::unreadable".into(), ..Failure::at(path, &error) }
                .help(help)
        })?;
        let mut file = Self { path: path.to_path_buf(), text, values: Vec::new(), table: None };
        let table = DeTable::parse(&file.text).map_err(|error| file.refuse("syntax", &error))?;
        file.values = file.known(table.get_ref(), allowed)?;
        Ok(file)
    }

    /// One table of a file that holds other things as well; none where it does not have it.
    pub(crate) fn section(
        path: &Path,
        name: &'static str,
        allowed: &[String],
    ) -> Result<Option<Self>, Failure> {
        let text = fs::read_to_string(path).map_err(|error| Failure::at(path, &error))?;
        let (path, table) = (path.to_path_buf(), Some(name));
        let mut file = Self { path, text, values: Vec::new(), table };
        // What else is wrong with the file is told by who reads all of it.
        let Ok(whole) = DeTable::parse(&file.text) else { return Ok(None) };
        let Some(section) = whole.get_ref().get(name).and_then(|value| value.get_ref().as_table())
        else {
            return Ok(None);
        };
        file.values = file.known(section, allowed)?;
        Ok(Some(file))
    }

    /// The place of every value; refuses keys that are not `allowed`.
    fn known(
        &self,
        table: &DeTable<'_>,
        allowed: &[String],
    ) -> Result<Vec<(String, Range<usize>)>, Failure> {
        let mut values = Vec::new();
        for (key, value) in table {
            let name = key.get_ref().to_string();
            if !allowed.contains(&name) {
                return Err(self.unknown(&name, key.span(), allowed));
            }
            values.push((name, value.span()));
        }
        Ok(values)
    }

    /// The settings of one kind that the file holds; refuses values of the wrong type.
    pub(crate) fn settings<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        let Some(name) = self.table else {
            return toml::from_str(&self.text).map_err(|error| self.refuse("type", &error));
        };
        let mut whole: toml::Table =
            toml::from_str(&self.text).map_err(|error| self.refuse("syntax", &error))?;
        let section = whole.remove(name).unwrap_or(toml::Value::Table(toml::Table::new()));
        section.try_into().map_err(|error: toml::de::Error| self.refuse("type", &error))
    }

    /// Whether it has a value for `key`.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.values.iter().any(|(name, _)| name == key)
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
