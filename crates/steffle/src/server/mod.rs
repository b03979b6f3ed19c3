//! The server: Algorithm 2, for any problem that says what to ask and how to read the answers.

mod aggregate;
mod descent_ascent;
mod minimise;
mod output;
mod problem;

pub use aggregate::{Aggregate, AggregateCell};
pub use descent_ascent::{DescentAscent, Rates};
pub use minimise::{Minimum, Tolerance, minimise};
pub use output::{Output, OutputError, Returned};
pub use problem::Problem;
