//! The noise of Algorithm 1 and of what shares its protocol: what bounds a record's part of a
//! message, and which settings mean something in which mode.

use steffle::division::records::RowCap;
use steffle::noise::NoiseKind;
use steffle::train::{Exact, Paper};
use steffle_privacy::{Delta, Epsilon, NoiseShares};

use super::{Accounting, Given, Mode, NoiseOrigin, NoiseShape, Reason, Written};
use crate::Error;

/// The settings of the modes that add noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Noise {
    pub(crate) epsilon: f64,
    /// Absent until the data is seen: 1/n^2 for n training rows.
    pub(crate) delta: Option<f64>,
    pub(crate) bounds: Bounds,
}

/// What bounds a record's part of a message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bounds {
    /// Its exact distances, after row caps.
    Exact { row_cap: Option<f64>, shape: NoiseShape, accounting: Accounting, origin: NoiseOrigin },
    /// Clipping, and a ball for W.
    Paper { clip: f64, diameter: f64 },
    /// Clipping, as PF-LD was published.
    Published { clip: f64 },
}

impl Noise {
    /// What was said for a mode; `None` where it has no noise. `published` are the bounds of mode
    /// `paper` for the clipping that was asked for.
    pub(crate) fn read(
        given: &Given,
        mode: Mode,
        published: impl FnOnce(Option<f64>) -> Result<Bounds, Error>,
    ) -> Result<Option<Self>, Error> {
        let delta = given.delta()?;
        Ok(match mode {
            Mode::None => None,
            Mode::Paper => {
                let epsilon = given.positive("epsilon")?.ok_or_else(needs_epsilon)?;
                Some(Self { epsilon, delta, bounds: published(given.positive("clip")?)? })
            }
            Mode::Exact | Mode::Poisson => {
                let bounds = Bounds::Exact {
                    row_cap: given.number("row-cap", 0.0..=1.0, "a number in (0, 1]")?,
                    shape: given.word("noise-shape")?.unwrap_or(NoiseShape::Shaped),
                    accounting: given.word("accounting")?.unwrap_or(Accounting::Record),
                    origin: given.word("noise")?.unwrap_or(NoiseOrigin::Simulated),
                };
                let epsilon = given.paid_epsilon()?.unwrap_or(1.0);
                Some(Self { epsilon, delta, bounds })
            }
        })
    }

    /// The bounds of mode `paper`, after Theorem 3.2.
    pub(crate) fn theorem(given: &Given, clip: Option<f64>) -> Result<Bounds, Error> {
        let diameter = given.positive("diameter")?;
        Ok(Bounds::Paper { clip: clip.unwrap_or(1.0), diameter: diameter.unwrap_or(3.0) })
    }

    /// With the delta of so many training rows, where none was asked for.
    #[must_use]
    pub(crate) fn settled(self, rows: usize) -> Self {
        Self { delta: self.delta.or(Some(usual_delta(rows))), ..self }
    }

    /// Whether its claim holds.
    pub(crate) fn holds(&self) -> bool {
        matches!(self.bounds, Bounds::Exact { .. })
    }

    /// Where it comes from.
    pub(crate) fn kind(&self) -> NoiseKind {
        match self.bounds {
            Bounds::Exact { origin, .. } => origin.into(),
            Bounds::Paper { .. } | Bounds::Published { .. } => NoiseKind::Simulation,
        }
    }

    /// Epsilon and delta, checked.
    pub(crate) fn budget(&self) -> Result<(Epsilon, Delta), Error> {
        budget(self.epsilon, self.delta)
    }

    /// The core's settings, for noise that silos share, where they do.
    pub(crate) fn to_core(
        self,
        mode: Mode,
        shares: Option<NoiseShares>,
    ) -> Result<steffle::train::Mode, Error> {
        let (epsilon, delta) = self.budget()?;
        Ok(match self.bounds {
            Bounds::Paper { clip, diameter } => {
                steffle::train::Mode::Paper(Paper { epsilon, delta, clip, diameter })
            }
            // It trains by itself.
            Bounds::Published { .. } => steffle::train::Mode::None,
            Bounds::Exact { row_cap, shape, accounting, .. } => {
                let cap = row_cap.and_then(RowCap::quantile);
                let shaped = shape == NoiseShape::Shaped;
                let by_record = accounting == Accounting::Record;
                let exact = Exact { epsilon, delta, cap, shaped, by_record, shares };
                match mode {
                    // With two classes the centred pair covers a missing value as well: it
                    // contributes 0, between the +v and -v of the two.
                    Mode::Poisson => steffle::train::Mode::Poisson(exact),
                    _ => steffle::train::Mode::Exact(exact),
                }
            }
        })
    }

    /// Its lines.
    pub(crate) fn write(&self, written: &mut Written) {
        written.push("epsilon", Some(self.epsilon));
        written.push("delta", self.delta);
        match self.bounds {
            Bounds::Exact { row_cap, shape, accounting, origin } => {
                written.push("row-cap", row_cap);
                written.push("noise-shape", Some(shape.to_string()));
                written.push("accounting", Some(accounting.to_string()));
                written.push("noise", Some(origin.to_string()));
            }
            Bounds::Paper { clip, diameter } => {
                written.push("clip", Some(clip));
                written.push("diameter", Some(diameter));
            }
            Bounds::Published { clip } => written.push("clip", Some(clip)),
        }
    }
}

/// delta of experiments: 1/n^2 for n training rows.
pub(crate) fn usual_delta(rows: usize) -> f64 {
    (rows as f64).powi(-2)
}

/// Epsilon and delta as the quantities they stand for.
pub(crate) fn budget(epsilon: f64, delta: Option<f64>) -> Result<(Epsilon, Delta), Error> {
    let refuse =
        |error: steffle_privacy::PrivacyError| Error::usage("config::privacy", error.to_string());
    let epsilon = Epsilon::try_from(epsilon).map_err(refuse)?;
    Ok((epsilon, Delta::try_from(delta.unwrap_or_default()).map_err(refuse)?))
}

/// Published noise is made for an epsilon.
pub(crate) fn needs_epsilon() -> Error {
    Error::conflict("mode", "mode paper needs a privacy parameter")
        .with_help("add <epsilon>, for example <epsilon 3>")
}

/// Refuses settings that mean nothing in a mode, to a method that has them in another.
pub(crate) fn refuse_by_mode(given: &Given, mode: Mode) -> Result<(), Error> {
    let foreign: &[&str] = match mode {
        Mode::Exact | Mode::Poisson => &["clip", "diameter"],
        Mode::Paper => &["row-cap", "noise-shape", "accounting", "noise"],
        Mode::None => &[
            "epsilon",
            "delta",
            "row-cap",
            "noise-shape",
            "accounting",
            "noise",
            "clip",
            "diameter",
        ],
    };
    match foreign.iter().find(|key| given.has(key)) {
        Some(key) => {
            let (message, help) = by_mode(key, mode);
            Err(Error::conflict(key, message).with_help(help))
        }
        None => Ok(()),
    }
}

/// Why a setting means nothing in a mode.
pub(crate) fn by_mode(key: &str, mode: Mode) -> Reason {
    let (why, help) = match (mode, key) {
        (Mode::None, "clip" | "diameter") => ("no noise is added there", "add <mode paper>"),
        (Mode::None, _) => ("no noise is added there", "use <mode exact>"),
        (Mode::Paper, _) => ("its noise is the published one", "leave it out, or use <mode exact>"),
        _ => ("its bounds are exact", "leave it out, or use <mode paper>"),
    };
    (format!("{key} means nothing in mode {mode}: {why}"), help)
}
