//! A picture before it is a file: lines, circles and words in pixels, each with an ink.

use super::style::Ink;

/// A place in pixels; y grows downwards.
pub(crate) type Place = (f64, f64);

/// A picture.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// What is shown, for those who cannot see it; empty for decoration.
    pub(crate) title: String,
    pub(crate) items: Vec<Item>,
}

/// Anything that can be drawn.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    Group(Group),
    Path(Path),
    Text(Text),
}

/// Items that belong together, such as a curve.
#[derive(Debug, Clone, Default)]
pub(crate) struct Group {
    pub(crate) class: &'static str,
    /// Names and values of `data-` attributes.
    pub(crate) data: Vec<(&'static str, String)>,
    /// What a pointer that rests on it is told; may be empty.
    pub(crate) title: String,
    pub(crate) items: Vec<Item>,
}

/// Lines or a circle.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    pub(crate) outline: Outline,
    pub(crate) stroke: Option<Stroke>,
    pub(crate) fill: Option<Ink>,
}

/// The geometry of a path.
#[derive(Debug, Clone)]
pub(crate) enum Outline {
    Lines { places: Vec<Place>, closed: bool },
    Circle { centre: Place, radius: f64 },
}

/// A pen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stroke {
    pub(crate) ink: Ink,
    pub(crate) width: f64,
    /// Lengths drawn and left out in turn; empty for a solid line.
    pub(crate) dash: &'static [f32],
}

/// A line of words.
#[derive(Debug, Clone)]
pub(crate) struct Text {
    /// Of the baseline, at the anchor.
    pub(crate) at: Place,
    pub(crate) anchor: Anchor,
    pub(crate) size: f64,
    pub(crate) bold: bool,
    /// Read from below, as at a vertical axis.
    pub(crate) upwards: bool,
    pub(crate) ink: Ink,
    pub(crate) words: String,
}

/// Which part of a line of words stands at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Item {
    /// A line through places.
    pub(crate) fn line(places: impl Into<Vec<Place>>, stroke: Stroke) -> Self {
        let outline = Outline::Lines { places: places.into(), closed: false };
        Self::Path(Path { outline, stroke: Some(stroke), fill: None })
    }

    /// Words from left to right.
    pub(crate) fn words(
        words: impl Into<String>,
        at: Place,
        anchor: Anchor,
        size: f64,
        ink: Ink,
    ) -> Self {
        let words = words.into();
        Self::Text(Text { at, anchor, size, bold: false, upwards: false, ink, words })
    }
}

impl Stroke {
    /// An unbroken line.
    pub(crate) fn solid(ink: Ink, width: f64) -> Self {
        Self { ink, width, dash: &[] }
    }
}
