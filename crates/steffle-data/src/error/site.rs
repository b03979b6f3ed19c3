//! What can be wrong with a site's own files.

use std::path::PathBuf;

/// A site's own file, or its ids, that cannot be used.
///
/// It names the file, or the field that the site declares otherwise than the job does.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum SiteError {
    /// Ids that cannot become pseudonyms, or a key that is none.
    #[error("{}: {message}", path.display())]
    Pseudonyms {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// A site's own file that cannot be used.
    #[error("{}: {message}", path.display())]
    Silo {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the line.
        message: String,
    },
    /// A site that declares something else than was agreed on.
    #[error(
        "field `{field}` of its recipe is {}, and the job says {}; whoever is wrong changes it",
        declared(own),
        declared(agreed)
    )]
    Otherwise {
        /// The field of the recipe.
        field: &'static str,
        /// What the site says.
        own: Vec<String>,
        /// What the job says.
        agreed: Vec<String>,
    },
}

impl SiteError {
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Pseudonyms { .. } => "data::pseudonyms",
            Self::Silo { .. } => "data::silo",
            Self::Otherwise { .. } => "data::disagreement",
        }
    }
}

/// Names as a message shows them.
fn declared(names: &[String]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [one] => format!("`{one}`"),
        several => format!("[{}]", several.join(", ")),
    }
}
