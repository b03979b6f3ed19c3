//! What can be drawn: checked once, before anything is.

use std::collections::BTreeSet;

use crate::comparison::{Comparison, Kind, Panel};
use crate::error::{Error, Result};

/// Refuses panels that cannot be drawn and ids that are not unique.
pub(crate) fn comparison(comparison: &Comparison) -> Result<()> {
    let mut ids = BTreeSet::new();
    for panel in &comparison.panels {
        self::panel(panel)?;
        if !ids.insert(&panel.id) {
            return Err(Error::Duplicate { id: panel.id.clone() });
        }
    }
    Ok(())
}

/// Refuses ids that cannot be file names and values that no axis can show.
pub(crate) fn panel(panel: &Panel) -> Result<()> {
    let allowed = |letter: char| matches!(letter, 'a'..='z' | '0'..='9' | '-' | '.');
    if panel.id.is_empty() || panel.id.starts_with('.') || !panel.id.chars().all(allowed) {
        return Err(Error::Value {
            place: "panel id".into(),
            given: format!("{:?}", panel.id),
            allowed: "use lower-case letters, digits, `-` and `.`",
        });
    }
    let (x_log, y_log) = logarithmic(panel.kind);
    let here = |what: &str| format!("panel {:?}, {what}", panel.id);
    for (limit, log, what) in [(panel.x_limit, x_log, "x limit"), (panel.y_limit, y_log, "y limit")]
    {
        limit.map_or(Ok(()), |limit| value(limit, log, || here(what)))?;
    }
    for curve in &panel.curves {
        for (index, point) in curve.points.iter().enumerate() {
            let at = |axis: &str| here(&format!("{} {axis} of point {index}", curve.method));
            value(point.x, x_log, || at("x"))?;
            value(point.y, y_log, || at("y"))?;
            spread(point.x_error, || at("error of x"))?;
            spread(point.y_error, || at("error of y"))?;
        }
    }
    for point in &panel.published {
        value(point.x, x_log, || here(&format!("published x of {}", point.label)))?;
        value(point.y, y_log, || here(&format!("published y of {}", point.label)))?;
    }
    Ok(())
}

/// Which axes are logarithmic.
pub(crate) fn logarithmic(kind: Kind) -> (bool, bool) {
    match kind {
        Kind::TradeOff => (false, false),
        Kind::Line { x_log, y_log } => (x_log, y_log),
    }
}

fn value(value: f64, log: bool, place: impl Fn() -> String) -> Result<()> {
    // Beyond this, ticks cannot be told apart in floating point.
    let drawable = value.abs() <= 1e15 && (!log || value >= 1e-15);
    let allowed = if log { "use numbers from 1e-15 to 1e15" } else { "use numbers up to 1e15" };
    let refuse = || Error::Value { place: place(), given: value.to_string(), allowed };
    if drawable { Ok(()) } else { Err(refuse()) }
}

fn spread(error: Option<f64>, place: impl Fn() -> String) -> Result<()> {
    match error {
        Some(error) if !(0.0..=1e15).contains(&error) => Err(Error::Value {
            place: place(),
            given: error.to_string(),
            allowed: "a standard error is from 0 to 1e15; leave it out where there is none",
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
