//! Results as pictures: a [`Comparison`] is plain data, and everything here is a pure function of it.
//!
//! [`svg`] and [`png()`] draw one [`Panel`]; [`run_html`] makes the page of one run ([`RunPage`]), [`audit_html`] that of an audit ([`AuditPage`]); [`html`] makes one page of a whole comparison that needs nothing
//! else, no network and no other file. The crate knows no method, no data set and no file: whoever
//! ran the methods fills in a [`Comparison`], and whoever asked for pictures writes them down.
//!
//! ```
//! use steffle_report::{Curve, Kind, Panel, Point, Privacy, Comparison};
//!
//! let points = [(15.3, 18.0), (16.0, 6.0), (16.8, 1.0)].map(|(x, y)| Point {
//!     x,
//!     x_error: Some(0.05),
//!     y,
//!     y_error: Some(0.4),
//!     lambda: None,
//!     honest_epsilon: None,
//!     seeds: 15,
//! });
//! let curve = Curve {
//!     method: "one-shot".into(),
//!     mark: None,
//!     label: "one-shot".into(),
//!     epsilon: Some(1.0),
//!     privacy: Privacy { honest_epsilon: Some(1.0), holds: true, ..Privacy::default() },
//!     points: points.to_vec(),
//!     fit: None,
//! };
//! let panel = Panel {
//!     id: "example".into(),
//!     figure: "figure-0".into(),
//!     title: "Made-up numbers".into(),
//!     data: "none".into(),
//!     notion: "demographic parity".into(),
//!     epsilon: Some(1.0),
//!     heterogeneity: None,
//!     silos: None,
//!     kind: Kind::TradeOff,
//!     x_label: "test error (%)".into(),
//!     y_label: "violation (percentage points)".into(),
//!     x_limit: None,
//!     y_limit: None,
//!     curves: vec![curve],
//!     published: Vec::new(),
//!     equal_error: Vec::new(),
//!     caption: "Mean over 15 seeds with standard errors.".into(),
//! };
//! assert!(steffle_report::svg(&panel)?.contains("one-shot</text>"));
//! assert!(steffle_report::png(&panel)?.starts_with(b"\x89PNG"));
//! let comparison = Comparison { title: "Example".into(), panels: vec![panel], ..Comparison::default() };
//! assert!(steffle_report::html(&comparison)?.starts_with("<!doctype html>"));
//! # Ok::<(), steffle_report::Error>(())
//! ```
//!
//! Figures are laid out once, as a scene of lines and words, which SVG and PNG then write down; the page
//! holds the same drawings, at two widths. SVG and HTML are written by hand, without a plotting or
//! template crate: the drawings are simple, and what they need is labels that keep out of each other's way.

mod audit;
mod check;
mod comparison;
mod error;
mod escape;
mod html;
mod metrics;
mod plot;
mod run;
mod words;

pub use audit::{AuditPage, ErrorCurves};
pub use comparison::{
    Comparison, Curve, EqualError, Fit, Kind, Mark, Panel, Point, Privacy, Published, Reached,
    Table,
};
pub use error::{Error, Result};
pub use html::{audit_html, html, metrics_html, run_html};
pub use metrics::MetricsPage;
pub use plot::{png, svg};
pub use run::{Measure, RunPage};
