//! Which method looks how: the same in every panel, told apart without colour too.

use super::scene::{Item, Outline, Path, Place, Stroke};
use crate::comparison::{Curve, Panel};

/// What something is drawn with. A page may replace the colours by those of a dark theme.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    /// Words.
    Text,
    /// Words and lines of less weight.
    Muted,
    /// Grid lines.
    Grid,
    /// The background.
    Paper,
    /// Lines and markers of a method.
    Line(usize),
    /// Words of a method: the same hue with the contrast that words need.
    Word(usize),
}

/// The colours of Okabe and Ito (<https://jfly.uni-koeln.de/color/>), with grey in the place of yellow,
/// which cannot be seen on white. Per colour: lines on white (contrast at least 3), words on white
/// (4.5), both on a dark page (4.5).
const PALETTE: [(&str, [&str; 3]); 8] = [
    ("blue", ["#0072b2", "#0072b2", "#4fb3f0"]),
    ("vermillion", ["#d55e00", "#b85100", "#ff8a3d"]),
    ("green", ["#009e73", "#00795a", "#2fcf9f"]),
    ("purple", ["#cc6299", "#a8417a", "#e79ac4"]),
    ("black", ["#000000", "#000000", "#ffffff"]),
    ("orange", ["#c28500", "#8f6200", "#f5b83d"]),
    ("sky", ["#3a97cf", "#1f75a8", "#7cc8f5"]),
    ("grey", ["#767676", "#666666", "#b0b0b0"]),
];

/// For methods without a mark.
const SPARE: [(usize, Shape); 5] =
    [(2, Shape::Star), (3, Shape::Square), (5, Shape::Circle), (6, Shape::Down), (1, Shape::Cross)];

const PRIVATE_DASHES: [&[f32]; 4] = [&[], &[7.0, 3.0], &[2.0, 3.0], &[9.0, 3.0, 2.0, 3.0]];
const OPEN_DASH: &[f32] = &[4.0, 4.0];

/// The shape of a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Circle,
    Square,
    Up,
    Down,
    Diamond,
    Star,
    Plus,
    Cross,
}

/// The look of one curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Look {
    pub(crate) colour: usize,
    pub(crate) shape: Shape,
    /// Filled markers are private methods, open ones are not.
    pub(crate) filled: bool,
    pub(crate) dash: &'static [f32],
}

/// The looks of all methods of a picture or page.
#[derive(Debug, Clone)]
pub(crate) struct Looks {
    /// Methods without a mark.
    unmarked: Vec<String>,
}

impl Looks {
    /// For the methods of these panels.
    pub(crate) fn of<'a>(panels: impl IntoIterator<Item = &'a Panel>) -> Self {
        let mut unmarked: Vec<String> = Vec::new();
        for curve in panels.into_iter().flat_map(|panel| &panel.curves) {
            if marked(curve).is_none() && !unmarked.contains(&curve.method) {
                unmarked.push(curve.method.clone());
            }
        }
        Self { unmarked }
    }

    /// The look of a curve that has `twins` curves of its method before it in the panel.
    pub(crate) fn look(&self, curve: &Curve, twins: usize) -> Look {
        let (colour, shape) = self.hue(curve);
        let filled = curve.privacy.honest_epsilon.is_some();
        let dash = match (filled, twins) {
            (false, 0) => OPEN_DASH,
            (_, twins) => PRIVATE_DASHES[twins % PRIVATE_DASHES.len()],
        };
        Look { colour, shape, filled, dash }
    }

    fn hue(&self, curve: &Curve) -> (usize, Shape) {
        marked(curve).unwrap_or_else(|| {
            let rank = self.unmarked.iter().position(|name| *name == curve.method).unwrap_or(0);
            SPARE[rank % SPARE.len()]
        })
    }
}

/// The colour and shape of a curve's mark, if it has one and both exist.
fn marked(curve: &Curve) -> Option<(usize, Shape)> {
    let mark = curve.mark.as_ref()?;
    let colour = PALETTE.iter().position(|(name, _)| *name == mark.colour)?;
    Some((colour, Shape::of(&mark.marker)?))
}

impl Look {
    /// The marker at a place.
    pub(crate) fn marker(self, at: Place, size: f64) -> Item {
        let stroke = Some(Stroke::solid(Ink::Line(self.colour), 1.6));
        let fill = Some(if self.filled { Ink::Line(self.colour) } else { Ink::Paper });
        Item::Path(Path { outline: self.shape.outline(at, size), stroke, fill })
    }

    /// The line that joins the points.
    pub(crate) fn line(self, places: Vec<Place>) -> Item {
        Item::line(places, Stroke { ink: Ink::Line(self.colour), width: 1.8, dash: self.dash })
    }
}

impl Shape {
    /// By its name.
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "circle" => Self::Circle,
            "square" => Self::Square,
            "up" => Self::Up,
            "down" => Self::Down,
            "diamond" => Self::Diamond,
            "star" => Self::Star,
            "plus" => Self::Plus,
            "cross" => Self::Cross,
            _ => return None,
        })
    }

    /// The outline, about as large as a circle of radius `size`.
    pub(crate) fn outline(self, (x, y): Place, size: f64) -> Outline {
        let corners: &[(f64, f64)] = match self {
            Self::Circle => return Outline::Circle { centre: (x, y), radius: size },
            Self::Square => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            Self::Up => &[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)],
            Self::Down => &[(0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)],
            Self::Diamond => &[(0.0, -1.3), (1.1, 0.0), (0.0, 1.3), (-1.1, 0.0)],
            Self::Star => return Outline::Lines { places: star(x, y, size * 1.5), closed: true },
            Self::Plus | Self::Cross => {
                return Outline::Lines { places: plus(x, y, size * 1.2, self), closed: true };
            }
        };
        let places = corners.iter().map(|(dx, dy)| (x + dx * size, y + dy * size)).collect();
        Outline::Lines { places, closed: true }
    }
}

impl Ink {
    /// Every ink, for a style sheet.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let plain = [Self::Text, Self::Muted, Self::Grid, Self::Paper];
        let hues = (0..PALETTE.len()).flat_map(|hue| [Self::Line(hue), Self::Word(hue)]);
        plain.into_iter().chain(hues)
    }

    /// Its name in a style sheet.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Text => "text".into(),
            Self::Muted => "muted".into(),
            Self::Grid => "grid".into(),
            Self::Paper => "paper".into(),
            Self::Line(hue) => PALETTE[hue].0.into(),
            Self::Word(hue) => format!("{}-word", PALETTE[hue].0),
        }
    }

    /// On white.
    pub(crate) fn light(self) -> &'static str {
        match self {
            Self::Text => "#1a1a1a",
            Self::Muted => "#5c5c5c",
            Self::Grid => "#e4e4e4",
            Self::Paper => "#ffffff",
            Self::Line(hue) => PALETTE[hue].1[0],
            Self::Word(hue) => PALETTE[hue].1[1],
        }
    }

    /// On a dark page.
    pub(crate) fn dark(self) -> &'static str {
        match self {
            Self::Text => "#ececec",
            Self::Muted => "#aaaaaa",
            Self::Grid => "#3a3d42",
            Self::Paper => "#17191c",
            Self::Line(hue) | Self::Word(hue) => PALETTE[hue].1[2],
        }
    }
}

fn star(x: f64, y: f64, size: f64) -> Vec<Place> {
    (0..10)
        .map(|corner| {
            let radius = if corner % 2 == 0 { size } else { size * 0.45 };
            let angle = f64::from(corner) * std::f64::consts::PI / 5.0;
            (x + radius * angle.sin(), y - radius * angle.cos())
        })
        .collect()
}

/// A thick plus, upright or turned into a cross.
fn plus(x: f64, y: f64, size: f64, shape: Shape) -> Vec<Place> {
    const ARM: f64 = 0.38;
    let corners = [
        (-ARM, -1.0),
        (ARM, -1.0),
        (ARM, -ARM),
        (1.0, -ARM),
        (1.0, ARM),
        (ARM, ARM),
        (ARM, 1.0),
        (-ARM, 1.0),
        (-ARM, ARM),
        (-1.0, ARM),
        (-1.0, -ARM),
        (-ARM, -ARM),
    ];
    let (sin, cos) =
        if shape == Shape::Cross { std::f64::consts::FRAC_PI_4.sin_cos() } else { (0.0, 1.0) };
    let turned = |(dx, dy): (f64, f64)| (dx * cos - dy * sin, dx * sin + dy * cos);
    corners.into_iter().map(turned).map(|(dx, dy)| (x + dx * size, y + dy * size)).collect()
}

#[cfg(test)]
mod tests;
