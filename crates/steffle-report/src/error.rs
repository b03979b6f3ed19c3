//! What cannot be drawn.

/// A result of this crate.
///
/// Its error says which picture, and why.
pub type Result<T> = std::result::Result<T, Error>;

/// Why there is no picture.
///
/// Numbers that are none cannot be drawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value that no axis can show, or a name that cannot be an anchor or a file name.
    #[error("{place}: {given} cannot be drawn; {allowed}")]
    Value {
        /// The panel, curve and field.
        place: String,
        /// What stands there.
        given: String,
        /// What may stand there.
        allowed: &'static str,
    },
    /// Two panels of one name: files and links could not tell them apart.
    #[error("two panels are called {id:?}; give each its own id")]
    Duplicate {
        /// The name.
        id: String,
    },
    /// A picture that could not be encoded.
    #[error("panel {id:?} could not be made a PNG: {reason}")]
    Png {
        /// The panel.
        id: String,
        /// What the encoder said.
        reason: String,
    },
    /// A comparison that could not be written as JSON.
    #[error("the comparison could not be written as JSON: {0}")]
    Json(String),
}
