//! How files of one job can fail to fit together, each with its own message.

use crate::error::{list, meant};

/// Files that do not fit together.
///
/// Each case names the files, the column and what to do.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum FilesError {
    /// Some silos name their records, others do not.
    #[error(
        "{without}: has no column `record_id`, which {with} has; give all files of silos record ids, \
         or none"
    )]
    SomeIds {
        /// A file that has them.
        with: String,
        /// A file that has none.
        without: String,
    },
    /// The same record ids in two files of a kind.
    #[error(
        "{first} and {second} both hold {ids} of the same record ids; an id names one record, and one \
         file holds it. Is a file named twice, or does every file count from 0?"
    )]
    Repeated {
        /// One file.
        first: String,
        /// The other.
        second: String,
        /// How many ids they share.
        ids: usize,
    },
    /// Records whose attributes are in the file of another silo.
    #[error(
        "{records}: {ids} of its record ids are not in {beside} but in {holds}: are two files swapped? \
         The first records file goes with the first attributes file, and so on; if holders of \
         attributes have a cut of their own, say centralisation = \"general:{holders}\""
    )]
    Swapped {
        /// The records file.
        records: String,
        /// The attributes file in its place.
        beside: String,
        /// The one that holds them.
        holds: String,
        /// How many.
        ids: usize,
        /// How many attributes files there are.
        holders: usize,
    },
    /// Records about whom no attributes file says anything.
    #[error(
        "{records}: {ids} of {of} record ids are not in {holder} (the first is in row {row}); an \
         unknown attribute is an empty cell there, not a missing row"
    )]
    NoAttributes {
        /// The records file.
        records: String,
        /// Where they should be.
        holder: String,
        /// How many are not there.
        ids: usize,
        /// Of how many.
        of: usize,
        /// The row of the first, counted from 1.
        row: u64,
    },
    /// A file of a kind in the place of another.
    #[error(
        "{file}: stands under `{under}` but has no column `{column}`{}; is it the other kind of file?",
        meant(column, columns)
    )]
    WrongKind {
        /// The file.
        file: String,
        /// The key of the job that names it.
        under: &'static str,
        /// What it does not have.
        column: String,
        /// What it has.
        columns: Vec<String>,
    },
    /// A column that one file has and another has not.
    #[error(
        "{second}: does not have the column `{column}` of {first}{}; rename it, or <drop> it everywhere",
        match others.len() {
            0 => String::new(),
            _ => format!("{}, but {}", meant(column, others), list(others)),
        }
    )]
    Column {
        /// A file that has it.
        first: String,
        /// The file that does not.
        second: String,
        /// The column.
        column: String,
        /// Columns that only the second has.
        others: Vec<String>,
    },
    /// A column that is numbers here and text there.
    #[error(
        "column `{column}` holds {one} in {first} and {two} in {second}; make the files agree, or say \
         <categorical {column}>, <missing-markers> or <drop {column}>"
    )]
    Kind {
        /// The column.
        column: String,
        /// A file.
        first: String,
        /// What it has there.
        one: String,
        /// Another file.
        second: String,
        /// What that has there.
        two: String,
    },
    /// Labels that are written in two ways.
    #[error(
        "the labels `{one}` ({first}) and `{two}` ({second}) of `{column}` differ in case or spaces \
         only; make them one, or agree on labels in the job: labels = [\"{one}\", ...]"
    )]
    Lookalikes {
        /// The label column.
        column: String,
        /// A label.
        one: String,
        /// Where it stands.
        first: String,
        /// A label that looks like it.
        two: String,
        /// Where it stands.
        second: String,
    },
    /// Two files without a label in common.
    #[error(
        "{first} has the labels {} in `{column}`, {second} has {}; make them agree",
        list(one),
        list(two)
    )]
    Labels {
        /// The label column.
        column: String,
        /// A file.
        first: String,
        /// Its labels.
        one: Vec<String>,
        /// Another file.
        second: String,
        /// Its labels.
        two: Vec<String>,
    },
}

impl FilesError {
    /// A name of the kind of error that stays the same between versions.
    pub fn code(&self) -> &'static str {
        match self {
            Self::SomeIds { .. } | Self::Repeated { .. } | Self::NoAttributes { .. } => "data::id",
            Self::Swapped { .. } | Self::WrongKind { .. } => "data::swapped",
            Self::Column { .. } | Self::Kind { .. } => "data::disagreement",
            Self::Lookalikes { .. } | Self::Labels { .. } => "data::labels",
        }
    }
}
