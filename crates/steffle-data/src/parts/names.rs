//! Every name in a site's own files, and what it may be used for: looked at before joining.

use std::path::Path;

use serde::Serialize;

use super::RECORD_ID;
use crate::Error;
use crate::dataset::Dataset;
use crate::recipe::Recipe;
use crate::table::read_names;

/// A column of a site's own file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NamedColumn {
    /// The file.
    pub file: String,
    /// The column.
    pub column: String,
    /// What it may be used for.
    pub used: Used,
}

/// What a column may be used for, whatever a server asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Used {
    /// Only the attributes division reads it; what leaves has noise and a line in the ledger.
    Sensitive,
    /// It says whose budget pays.
    RecordId,
    /// It says which records are one person's.
    Unit,
    /// It is predicted.
    Label,
    /// A feature of numbers.
    Number,
    /// A feature of categories.
    Category,
    /// Parity is conditioned on it; it is no feature.
    Stratum,
    /// Nothing reads it.
    Nothing,
}

impl Used {
    /// The same in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Sensitive => "sensitive: read by the attributes division alone",
            Self::RecordId => "record id: whose budget pays; never a feature",
            Self::Unit => "unit: which records are one person's; never a feature",
            Self::Label => "label",
            Self::Number => "feature: numbers",
            Self::Category => "feature: categories",
            Self::Stratum => "stratum: parity is conditioned on it",
            Self::Nothing => "not used",
        }
    }
}

/// Which of a site's files it is.
#[derive(Clone, Copy)]
pub(super) enum Kept<'a> {
    /// With these records.
    Records(&'a Dataset),
    /// Record ids and sensitive columns.
    Attributes,
    /// A list of people.
    People,
}

/// The names in a file, in its order.
pub(super) fn names(
    path: &Path,
    recipe: &Recipe,
    kept: Kept<'_>,
) -> Result<Vec<NamedColumn>, Error> {
    let dialect = recipe.sealing(recipe.dialect.clone());
    let file = path.display().to_string();
    let one = |column: String| {
        let used = used(&column, recipe, kept);
        NamedColumn { file: file.clone(), column, used }
    };
    Ok(read_names(path, &dialect)?.into_iter().map(one).collect())
}

fn used(name: &str, recipe: &Recipe, kept: Kept<'_>) -> Used {
    let is = |role: &Option<String>| role.as_deref() == Some(name);
    let sensitive = recipe.sensitive.iter().any(|own| own == name);
    let id = name == recipe.record_id.as_deref().unwrap_or(RECORD_ID);
    if id {
        return Used::RecordId;
    }
    let data = match kept {
        Kept::People if is(&recipe.unit) => return Used::Unit,
        Kept::Attributes if sensitive => return Used::Sensitive,
        Kept::People | Kept::Attributes => return Used::Nothing,
        Kept::Records(data) => data,
    };
    let roles = [
        (sensitive, Used::Sensitive),
        (is(&recipe.unit), Used::Unit),
        (name == recipe.label, Used::Label),
        (data.numeric().any(|(own, _)| own == name), Used::Number),
        (data.categorical().any(|(own, _)| own == name), Used::Category),
        (is(&recipe.stratum), Used::Stratum),
    ];
    roles.into_iter().find(|(own, _)| *own).map_or(Used::Nothing, |(_, used)| used)
}
