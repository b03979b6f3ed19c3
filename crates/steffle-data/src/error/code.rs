//! Names of the kinds of error.

use super::Error;

impl Error {
    /// A name of the kind of error that stays the same between versions.
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownDataSet { .. } => "data::unknown-data-set",
            Self::PathNeeded { .. } => "data::path-needed",
            Self::NotFound { .. } => "data::not-found",
            Self::Io { .. } => "data::io",
            Self::Extension { .. } => "data::extension",
            Self::Occupied { .. } => "data::occupied",
            Self::EmptyCsv { .. } => "data::empty-csv",
            Self::Ragged { .. } => "data::ragged-csv",
            Self::Csv { .. } => "data::csv",
            Self::Cell(problem) => problem.code(),
            Self::Parquet { .. } => "data::parquet",
            Self::Job { .. } => "data::job",
            Self::ColumnType { .. } => "data::column-type",
            Self::UnnamedColumn { .. } => "data::unnamed-column",
            Self::RepeatedColumn { .. } => "data::repeated-column",
            Self::UnknownColumn { .. } => "data::unknown-column",
            Self::TwoRoles { .. } => "data::two-roles",
            Self::NoSensitive => "data::no-sensitive",
            Self::NoFeatures => "data::no-features",
            Self::NoRows { .. } => "data::no-rows",
            Self::TooFewRows { .. } => "data::too-few-rows",
            Self::TooFewClasses { .. } => "data::too-few-classes",
            Self::TooManyClasses { .. } => "data::too-many-classes",
            Self::Undeclared { .. } | Self::Classes { .. } => "data::classes",
            Self::Favourable { .. } => "data::favourable",
            Self::Threshold { .. } => "data::threshold",
            Self::Unagreed { .. } => "data::unagreed",
            Self::Disagreement { .. } => "data::disagreement",
            Self::Site(problem) => problem.code(),
            Self::Id { .. } | Self::RepeatedIds { .. } => "data::id",
            Self::Labels { .. } | Self::Lookalikes { .. } => "data::labels",
            Self::Files(problem) => problem.code(),
            Self::Name(problem) => problem.code(),
            Self::Silos { .. } => "data::silos",
            Self::Heterogeneity { .. } => "data::heterogeneity",
            Self::NoPartitionColumn { .. } => "data::no-partition-column",
            Self::Fraction { .. } => "data::fraction",
            Self::Schema(_) => "data::schema",
            Self::Rows(_) => "data::rows",
            Self::Records(_) => "data::records",
            Self::Attributes(_) => "data::attributes",
        }
    }
}
