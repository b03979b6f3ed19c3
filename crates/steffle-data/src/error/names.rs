//! Names that stand in a role that is not theirs.

/// A column in a role that it must not have.
///
/// It names the column, and never a value of it.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameError {
    /// A table with two columns of the name of a sensitive one.
    #[error(
        "{origin}: the sensitive column `{column}` stands in it twice (as {}); the copy would be a \
         feature, so that everybody could read it. Remove one of them from the file",
        quoted(found)
    )]
    SensitiveTwice {
        /// The file.
        origin: String,
        /// The sensitive column.
        column: String,
        /// The names, as they stand in the file.
        found: Vec<String>,
    },
    /// A records file that has a sensitive column.
    #[error(
        "{origin}: a records file must not hold the sensitive column `{column}`; take it out, or, if \
         this is an attributes file or a whole silo, name it under `attributes` or `silos`"
    )]
    SensitiveInRecords {
        /// The file.
        origin: String,
        /// The column, as the file has it.
        column: String,
    },
    /// New names for ids or units.
    #[error(
        "column `{column}` is {role}, and {what} would change it; ids say whose budget pays, so they \
         are read as they are"
    )]
    Renamed {
        /// The column.
        column: String,
        /// What it is.
        role: &'static str,
        /// What touches it.
        what: &'static str,
    },
    /// A schema that names a column that the site does not offer as such.
    #[error(
        "the schema has `{column}` as {role}, and this site does not: a schema may name the columns \
         that a site described, in the same role"
    )]
    NotOffered {
        /// The column.
        column: String,
        /// The role that the schema gives it.
        role: &'static str,
    },
}

impl NameError {
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::SensitiveTwice { .. } => "data::sensitive-twice",
            Self::SensitiveInRecords { .. } => "data::sensitive-in-records",
            Self::Renamed { .. } => "data::renamed-ids",
            Self::NotOffered { .. } => "data::not-offered",
        }
    }
}

fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(" and ")
}
