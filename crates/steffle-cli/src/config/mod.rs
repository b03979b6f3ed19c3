//! What it means: flags over a configuration file over defaults, checked.

mod check;
mod file;
mod origin;
mod recipe;
mod resolve;
mod train;

pub(crate) use check::Check;
pub(crate) use file::ConfigFile;
pub(crate) use origin::Origins;
pub(crate) use recipe::{dialect, missing, recipe};
pub(crate) use resolve::heterogeneity;
pub(crate) use train::{TrainConfig, is_job};

/// A setting that may be silent.
pub(crate) trait Layer {
    /// This one, or `below` where this one is silent.
    fn over(self, below: Self) -> Self;
}

impl<T> Layer for Option<T> {
    fn over(self, below: Self) -> Self {
        self.or(below)
    }
}

impl<T> Layer for Vec<T> {
    fn over(self, below: Self) -> Self {
        if self.is_empty() { below } else { self }
    }
}

/// Layers two values of one struct, field by field; a field left out does not compile.
macro_rules! overlay {
    ($above:expr, $below:expr; $($field:ident),+) => {{
        let (above, below) = ($above, $below);
        Self { $($field: $crate::config::Layer::over(above.$field, below.$field)),+ }
    }};
}
pub(crate) use overlay;
