//! What a person sees: text, colour, tables and progress.

mod output;
mod progress;
mod table;
mod text;

pub(crate) use output::Output;
pub(crate) use progress::Progress;
pub(crate) use table::{Rows, number, percent, with_interval};
pub(crate) use text::{all_flags, flags, left_out, printable, wrap};
