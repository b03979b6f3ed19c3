//! Results as pictures: a [`Study`] is plain data, and everything here is a pure function of it.
//!
//! The crate knows no method, no data set and no file. Whoever ran the methods fills in a [`Study`].

mod error;
mod study;

pub use error::{Error, Result};
pub use study::{
    Curve, EqualError, Fit, Kind, Panel, Point, Privacy, Published, Reached, Study, Table,
};
