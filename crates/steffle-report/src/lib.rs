//! Results as pictures: a [`Study`] is plain data, and everything here is a pure function of it.
//!
//! [`svg`] and [`png()`] draw one [`Panel`]; [`html`] makes one page of a whole study that needs nothing
//! else, no network and no other file. The crate knows no method, no data set and no file: whoever
//! ran the methods fills in a [`Study`], and whoever asked for pictures writes them down.

mod check;
mod error;
mod escape;
mod html;
mod plot;
mod study;
mod words;

pub use error::{Error, Result};
pub use html::html;
pub use plot::{png, svg};
pub use study::{
    Curve, EqualError, Fit, Kind, Panel, Point, Privacy, Published, Reached, Study, Table,
};
