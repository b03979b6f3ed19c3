//! What was decided while a file was read, for people to check.

use super::date::DateOrder;
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
    /// Names of columns that had none.
    pub(super) nameless: Vec<String>,
    /// A number in the header line, which may be no header then, and how many names there are.
    pub(super) number_in_header: Option<(String, usize)>,
    pub(super) comma: Vec<String>,
    pub(super) point: Vec<String>,
    pub(super) ambiguous: Vec<(String, String)>,
    pub(super) dates: Vec<(String, DateOrder)>,
    pub(super) ambiguous_dates: Vec<(String, String)>,
    /// Columns of text that begin as numbers, how many there are, and the first cell that is none.
    pub(super) strangers: Vec<(String, u64, String)>,
}

impl Reading {
    pub(super) fn note(&mut self, column: &str, notation: Notation) {
        match notation {
            Notation::Plain => {}
            Notation::Point => self.point.push(column.to_owned()),
            Notation::Comma => self.comma.push(column.to_owned()),
            Notation::Date(order) => self.dates.push((column.to_owned(), order)),
        }
    }

    /// Columns whose numbers have a decimal comma.
    pub fn decimal_comma(&self) -> &[String] {
        &self.comma
    }

    /// Columns that are dates, and how these are written.
    pub fn dates(&self) -> &[(String, DateOrder)] {
        &self.dates
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
        if !self.nameless.is_empty() {
            let names = quoted(&self.nameless);
            said.push(format!("columns without a name are now called {names}"));
        }
        if !self.dates.is_empty() {
            let names: Vec<String> = self.dates.iter().map(|(name, _)| name.clone()).collect();
            said.push(format!("dates, as days from 1970-01-01, in {}", quoted(&names)));
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
                 thousand or a fraction; say <decimal point> or <decimal comma>"
            )
        };
        let date = |(column, example): &(String, String)| {
            format!(
                "column `{column}` is read as text, not as dates: `{example}` can be two days; say \
                 <dates day-first> or <dates month-first>"
            )
        };
        let stranger = |(column, numbers, cell): &(String, u64, String)| {
            format!(
                "column `{column}` is read as text because of `{cell}` after {numbers} numbers; if \
                 that means a missing value, say <missing-markers> with it"
            )
        };
        let header = |(number, names): &(String, usize)| {
            format!(
                "the first line looks like a row, not like names (`{number}` is a number); if the \
                 file has no header line, say <columns> with {names} names"
            )
        };
        let header = self.number_in_header.iter().map(header);
        let numbers = self.ambiguous.iter().map(sentence);
        let dates = self.ambiguous_dates.iter().map(date);
        header.chain(numbers).chain(dates).chain(self.strangers.iter().map(stranger)).collect()
    }
}

fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
