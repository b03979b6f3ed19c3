//! Which model, by name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Classifier, Logistic, Mlp, Softmax};
use crate::record::Layout;

/// A model's name: `logistic`, `softmax` or `mlp:64,32`.
///
/// ```
/// use steffle_model::model::ModelKind;
/// let kind: ModelKind = "mlp:64,32".parse()?;
/// assert_eq!(kind.to_string(), "mlp:64,32");
/// # Ok::<(), steffle_model::model::ModelError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ModelKind {
    /// One logit; two labels.
    Logistic,
    /// One logit per label.
    Softmax,
    /// Hidden layers of the given widths, `tanh`, then softmax.
    Mlp(Vec<usize>),
}

/// Why a model was refused.
///
/// The message says what is allowed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelError {
    /// Not a model's name.
    #[error("unknown model {0:?}; allowed are logistic, softmax and mlp:WIDTH[,WIDTH...]")]
    Unknown(String),
    /// A hidden layer of no or absurd width.
    #[error("hidden layer of width {0}; allowed are 1 to {MAX_WIDTH}")]
    Width(String),
    /// Too many layers.
    #[error("{0} hidden layers; allowed are 1 to {most}", most = MAX_LAYERS - 1)]
    Layers(usize),
    /// The logistic model has two labels.
    #[error("the logistic model needs exactly 2 labels and the data has {0}; use softmax")]
    Binary(usize),
    /// A classifier needs two labels.
    #[error("the data has {0} label(s); a classifier needs at least 2")]
    Labels(usize),
}

/// Wider layers than this are no model for tables, and their sums could not be exact integers.
pub const MAX_WIDTH: usize = 4096;

/// Most layers, the last one included.
pub const MAX_LAYERS: usize = 8;

impl ModelKind {
    /// The model for rows of `layout` and `labels` labels; refuses logistic for more than two.
    pub fn build(&self, layout: Layout, labels: usize) -> Result<Box<dyn Classifier>, ModelError> {
        if labels < 2 {
            return Err(ModelError::Labels(labels));
        }
        match self {
            Self::Logistic if labels == 2 => Ok(Box::new(Logistic::new(layout))),
            Self::Logistic => Err(ModelError::Binary(labels)),
            Self::Softmax => Ok(Box::new(Softmax::new(layout, labels))),
            Self::Mlp(widths) => Ok(Box::new(Mlp::new(layout, widths, labels))),
        }
    }
}

impl FromStr for ModelKind {
    type Err = ModelError;

    fn from_str(name: &str) -> Result<Self, ModelError> {
        match name {
            "logistic" => return Ok(Self::Logistic),
            "softmax" => return Ok(Self::Softmax),
            _ => {}
        }
        let widths =
            name.strip_prefix("mlp:").ok_or_else(|| ModelError::Unknown(name.to_owned()))?;
        let width = |text: &str| match text.trim().parse() {
            Ok(width) if (1..=MAX_WIDTH).contains(&width) => Ok(width),
            _ => Err(ModelError::Width(text.to_owned())),
        };
        let widths: Vec<usize> = widths.split(',').map(width).collect::<Result<_, _>>()?;
        if widths.len() < MAX_LAYERS {
            Ok(Self::Mlp(widths))
        } else {
            Err(ModelError::Layers(widths.len()))
        }
    }
}

impl TryFrom<String> for ModelKind {
    type Error = ModelError;

    fn try_from(name: String) -> Result<Self, ModelError> {
        name.parse()
    }
}

impl From<ModelKind> for String {
    fn from(kind: ModelKind) -> Self {
        kind.to_string()
    }
}

impl fmt::Display for ModelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Logistic => f.write_str("logistic"),
            Self::Softmax => f.write_str("softmax"),
            Self::Mlp(widths) => {
                let widths: Vec<String> = widths.iter().map(ToString::to_string).collect();
                write!(f, "mlp:{}", widths.join(","))
            }
        }
    }
}
