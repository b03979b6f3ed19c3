//! How a cell can fail to be what it should be.

/// A cell, or a column of cells, that cannot be read as what it should be.
///
/// It names the column, and the row where one row is to blame.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum CellError {
    /// Bytes that are no text in the encoding of the file.
    #[error(
        "{origin}: line {line} (row {row}), column `{column}` is not UTF-8 text; if the file is \
         Latin-1 or Windows-1252, say <encoding latin-1>, else save it as UTF-8"
    )]
    Encoding {
        /// The file.
        origin: String,
        /// The line, counted from 1.
        line: u64,
        /// The row, counted from 1 after the header.
        row: u64,
        /// The column.
        column: String,
    },
    /// A cell that is no value at all.
    #[error("{origin}: row {row}, column `{column}`: {problem}")]
    Value {
        /// The file.
        origin: String,
        /// The row, counted from 1 after the header.
        row: u64,
        /// The column.
        column: String,
        /// What is wrong.
        problem: String,
    },
    /// Numbers that can be read in two ways, where a number is needed.
    #[error(
        "{origin}: column `{column}`: `{value}` can be more than a thousand or a fraction; say \
         <decimal point> or <decimal comma>"
    )]
    AmbiguousNumber {
        /// The file.
        origin: String,
        /// The column.
        column: String,
        /// An example.
        value: String,
    },
    /// Dates that can be read in two ways, where dates are needed.
    #[error(
        "{origin}: column `{column}`: `{value}` can be two days; say <dates day-first> or \
         <dates month-first>"
    )]
    AmbiguousDate {
        /// The file.
        origin: String,
        /// The column.
        column: String,
        /// An example.
        value: String,
    },
    /// Dates where training had other numbers, or the other way round.
    #[error("{origin}: column `{column}` {problem}; write it as the training file did")]
    Date {
        /// The file.
        origin: String,
        /// The column.
        column: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// NaN or an infinity.
    #[error(
        "{origin}: row {row}, column `{column}`: `{value}` is not a finite number; \
         write missing numbers as an empty cell, `?` or `NA`, or say <missing-markers {value}>"
    )]
    NotFinite {
        /// The file.
        origin: String,
        /// The row, counted from 1 after the header.
        row: u64,
        /// The column.
        column: String,
        /// What stands there.
        value: String,
    },
    /// Text where the schema has a number.
    #[error(
        "{origin}: row {row}, column `{column}`: `{value}` is not a number, which the schema asks for"
    )]
    NotANumber {
        /// The file.
        origin: String,
        /// The row, counted from 1 after the header.
        row: u64,
        /// The column.
        column: String,
        /// What stands there.
        value: String,
    },
}

impl CellError {
    /// A name of the kind of error that stays the same between versions.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Encoding { .. } => "data::encoding",
            Self::Value { .. } => "data::cell",
            Self::AmbiguousNumber { .. } => "data::ambiguous-number",
            Self::AmbiguousDate { .. } | Self::Date { .. } => "data::date",
            Self::NotFinite { .. } => "data::not-finite",
            Self::NotANumber { .. } => "data::not-a-number",
        }
    }
}
