//! What was decided while a file was read, for people to check.

use super::dialect::{Delimiter, Encoding};
use super::notation::Notation;
use super::reader::Packing;

/// What was decided about a text file; nothing for other files. Nothing in it comes from a column
/// that is read as names, so from no sensitive one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    pub(super) delimiter: Option<Delimiter>,
    pub(super) delimiter_found: bool,
    pub(super) packing: Packing,
    pub(super) encoding: Encoding,
    pub(super) without_header: bool,
    /// New names of columns whose name stood twice.
    pub(super) renamed: Vec<String>,
    pub(super) comma: Vec<String>,
    pub(super) point: Vec<String>,
    pub(super) ambiguous: Vec<(String, String)>,
}

impl Reading {
    pub(super) fn note(&mut self, column: &str, notation: Notation) {
        match notation {
            Notation::Plain => {}
            Notation::Point => self.point.push(column.to_owned()),
            Notation::Comma => self.comma.push(column.to_owned()),
        }
    }

    /// Columns whose numbers have a decimal comma.
    pub fn decimal_comma(&self) -> &[String] {
        &self.comma
    }

    /// Everything that was decided, one sentence each.
    pub fn sentences(&self) -> Vec<String> {
        let mut said = Vec::new();
        if let Some(delimiter) = self.delimiter {
            let how = if self.delimiter_found { "found in the first lines" } else { "as given" };
            said.push(format!("cells are separated by `{delimiter}` ({how})"));
        }
        match self.packing {
            Packing::None => {}
            Packing::Gzip => said.push("compressed by gzip".to_owned()),
            Packing::Zstd => said.push("compressed by zstd".to_owned()),
        }
        if self.encoding == Encoding::Latin1 {
            said.push("encoding Latin-1 (as given)".to_owned());
        }
        if self.without_header {
            said.push("no header line: column names as given".to_owned());
        }
        if !self.renamed.is_empty() {
            let names = quoted(&self.renamed);
            said.push(format!("column names that repeat are now called {names}"));
        }
        if !self.comma.is_empty() {
            said.push(format!("numbers with a decimal comma in {}", quoted(&self.comma)));
        }
        if !self.point.is_empty() {
            let names = quoted(&self.point);
            said.push(format!(
                "numbers with separators of thousands or signs of money in {names}, decimal point"
            ));
        }
        said.extend(self.warnings());
        said
    }

    /// What could not be decided, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let sentence = |(column, example): &(String, String)| {
            format!(
                "column `{column}` is read as text, not as numbers: `{example}` can be more than a \
                 thousand or a fraction; say --decimal point or --decimal comma"
            )
        };
        self.ambiguous.iter().map(sentence).collect()
    }
}

fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
