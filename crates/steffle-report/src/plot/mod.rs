//! Panels as pictures.

mod axis;
mod errors;
mod font;
mod label;
mod panel;
mod png;
mod scene;
mod style;
mod svg;

pub(crate) use axis::short;
pub(crate) use panel::{PUBLISHED, Size};
pub(crate) use style::{Ink, Look, Looks};

use crate::audit::ErrorCurves;
use crate::check;
use crate::comparison::Panel;
use crate::error::{Error, Result};

/// A panel as an SVG file: stands alone, on white, its words are text. Refuses values that no axis can
/// show.
pub fn svg(panel: &Panel) -> Result<String> {
    check::panel(panel)?;
    Ok(drawing(panel, &Looks::of([panel]), Size::Wide))
}

/// A panel as a PNG file: the picture of [`svg`] at twice its size. Refuses values that no axis can show.
pub fn png(panel: &Panel) -> Result<Vec<u8>> {
    check::panel(panel)?;
    let scene = panel::scene(panel, &Looks::of([panel]), Size::Wide);
    png::write(&scene).map_err(|reason| Error::Png { id: panel.id.clone(), reason })
}

/// A panel that was checked, as an SVG element.
pub(crate) fn drawing(panel: &Panel, looks: &Looks, size: Size) -> String {
    svg::write(&panel::scene(panel, looks, size))
}

/// The errors of an attack, checked, as an SVG element.
pub(crate) fn errors(errors: &ErrorCurves) -> String {
    svg::write(&errors::scene(errors))
}

/// The marker of a curve as a small SVG element.
pub(crate) fn sign(look: Look) -> String {
    small(look.marker((8.0, 8.0), 4.2))
}

/// The marker of what others printed as a small SVG element.
pub(crate) fn published_sign() -> String {
    small(panel::published_marker((8.0, 8.0)))
}

fn small(marker: scene::Item) -> String {
    let (width, height, title) = (16.0, 16.0, String::new());
    svg::write(&scene::Scene { width, height, title, items: vec![marker] })
}
