//! A panel as a scene.

use super::axis::Axis;
use super::font::Font;
use super::label::{Area, Spot, Taken, Wish};
use super::scene::{Anchor, Group, Item, Outline, Path, Place, Scene, Stroke, Text};
use super::style::{Ink, Look, Looks, Shape};
use crate::check::logarithmic;
use crate::comparison::{Curve, Fit, Panel, Point};
use crate::words;

/// How wide a picture is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// A file, or a page on a screen.
    Wide,
    /// A page on a phone.
    Narrow,
}

const MARKER: f64 = 4.2;
const LABEL: f64 = 11.5;
const TICK: f64 = 11.0;
const CAPTION: f64 = 11.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 14.0;

/// Draws a panel that was checked.
pub(crate) fn scene(panel: &Panel, looks: &Looks, size: Size) -> Scene {
    let (width, plot_height) = match size {
        Size::Wide => (640.0, 350.0),
        Size::Narrow => (360.0, 320.0),
    };
    let (regular, bold) = (Font::new(false), Font::new(true));
    let titles = bold.wrap(&panel.title, 14.0, width - 2.0 * RIGHT);
    let top = 12.0 + 18.0 * titles.len() as f64;
    let frame = Area { left: LEFT, top, right: width - RIGHT, bottom: top + plot_height };
    let sheet = Sheet::new(panel, looks, frame, size);

    let mut items = sheet.axes(&regular);
    for (line, words) in titles.into_iter().enumerate() {
        let at = (RIGHT, 20.0 + 18.0 * line as f64);
        let (anchor, ink) = (Anchor::Start, Ink::Text);
        items.push(Item::Text(Text {
            at,
            anchor,
            size: 14.0,
            bold: true,
            upwards: false,
            ink,
            words,
        }));
    }
    items.extend(sheet.curves());
    items.extend(sheet.published());
    let (labels, bottom) = sheet.labels(&regular, frame.bottom + 44.0);
    items.extend(labels);
    let mut bottom = bottom + 4.0;
    for words in regular.wrap(&words::caption(panel), CAPTION, width - 2.0 * RIGHT) {
        bottom += CAPTION + 3.5;
        items.push(Item::words(words, (RIGHT, bottom), Anchor::Start, CAPTION, Ink::Muted));
    }
    let height = bottom + 10.0;
    let paper = vec![(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)];
    let outline = Outline::Lines { places: paper, closed: true };
    items.insert(0, Item::Path(Path { outline, stroke: None, fill: Some(Ink::Paper) }));
    Scene { width, height, title: panel.title.clone(), items }
}

/// A panel with its axes laid out.
struct Sheet<'a> {
    panel: &'a Panel,
    looks: Vec<Look>,
    frame: Area,
    x: Axis,
    y: Axis,
    ticks: usize,
}

impl<'a> Sheet<'a> {
    fn new(panel: &'a Panel, looks: &Looks, frame: Area, size: Size) -> Self {
        let (x_log, y_log) = logarithmic(panel.kind);
        let points = || panel.curves.iter().flat_map(|curve| &curve.points);
        let mut xs: Vec<f64> =
            points().flat_map(|point| ends(point.x, point.x_error, x_log)).collect();
        let mut ys: Vec<f64> =
            points().flat_map(|point| ends(point.y, point.y_error, y_log)).collect();
        xs.extend(panel.published.iter().map(|point| point.x));
        ys.extend(panel.published.iter().map(|point| point.y));
        let twins = |index: usize| {
            let method = &panel.curves[index].method;
            panel.curves[..index].iter().filter(|curve| curve.method == *method).count()
        };
        let numbered = panel.curves.iter().enumerate();
        Self {
            looks: numbered.map(|(index, curve)| looks.look(curve, twins(index))).collect(),
            panel,
            frame,
            x: Axis::around(&xs, panel.x_limit, x_log, (frame.left, frame.right)),
            y: Axis::around(&ys, panel.y_limit, y_log, (frame.bottom, frame.top)),
            ticks: if size == Size::Wide { 8 } else { 4 },
        }
    }

    fn place(&self, x: f64, y: f64) -> Place {
        (self.x.pixel(x), self.y.pixel(y))
    }

    fn shows(&self, (x, y): Place) -> bool {
        let frame = self.frame.grown(0.01);
        Area { left: x, top: y, right: x, bottom: y }.within(&frame)
    }

    /// Grid, ticks and words beside the axes.
    fn axes(&self, font: &Font) -> Vec<Item> {
        let Area { left, top, right, bottom } = self.frame;
        let grid = Stroke::solid(Ink::Grid, 1.0);
        let mut items = Vec::new();
        let mut free = f64::NEG_INFINITY;
        for (value, words) in self.x.ticks(self.ticks) {
            let x = self.x.pixel(value);
            items.push(Item::line([(x, top), (x, bottom)], grid));
            let half = font.width(&words, TICK) / 2.0;
            if x - half > free && x + half < right + RIGHT {
                free = x + half + 4.0;
                items.push(Item::words(
                    words,
                    (x, bottom + 15.0),
                    Anchor::Middle,
                    TICK,
                    Ink::Muted,
                ));
            }
        }
        for (value, words) in self.y.ticks(7) {
            let y = self.y.pixel(value);
            items.push(Item::line([(left, y), (right, y)], grid));
            items.push(Item::words(words, (left - 6.0, y + 4.0), Anchor::End, TICK, Ink::Muted));
        }
        items.push(Item::line(
            [(left, top), (left, bottom), (right, bottom)],
            Stroke::solid(Ink::Muted, 1.0),
        ));
        let middle = f64::midpoint(left, right);
        let x_label = self.panel.x_label.as_str();
        items.push(Item::words(x_label, (middle, bottom + 34.0), Anchor::Middle, 12.0, Ink::Text));
        items.push(Item::Text(Text {
            at: (14.0, f64::midpoint(top, bottom)),
            anchor: Anchor::Middle,
            size: 12.0,
            bold: false,
            upwards: true,
            ink: Ink::Text,
            words: self.panel.y_label.clone(),
        }));
        items
    }

    fn curves(&self) -> Vec<Item> {
        let numbered = self.panel.curves.iter().zip(&self.looks);
        numbered.map(|(curve, look)| Item::Group(self.curve(curve, *look))).collect()
    }

    fn curve(&self, curve: &Curve, look: Look) -> Group {
        let mut items = Vec::new();
        if let Some(line) = curve.fit.and_then(|fit| self.theorem(curve, &fit)) {
            items.push(line);
        }
        let segments = self.segments(curve);
        items.extend(joined(&segments).into_iter().map(|places| look.line(places)));
        for bar in self.bars(curve) {
            items.push(Item::line([bar.0, bar.1], Stroke::solid(Ink::Line(look.colour), 1.0)));
        }
        for (index, point) in curve.points.iter().enumerate() {
            let at = self.place(point.x, point.y);
            if self.shows(at) {
                items.push(Item::Group(Group {
                    class: "point",
                    data: vec![
                        ("index", index.to_string()),
                        ("x", format!("{:.1}", at.0)),
                        ("y", format!("{:.1}", at.1)),
                    ],
                    title: words::tip(self.panel, curve, point),
                    items: vec![look.marker(at, MARKER)],
                }));
            }
        }
        Group { class: "curve", data: keys(curve), title: String::new(), items }
    }

    /// What the theorem says, through the middle of the points.
    fn theorem(&self, curve: &Curve, fit: &Fit) -> Option<Item> {
        let (x_log, y_log) = logarithmic(self.panel.kind);
        let along = |value: f64, log: bool| if log { value.log10() } else { value };
        let back = |value: f64, log: bool| if log { 10f64.powf(value) } else { value };
        let xs: Vec<f64> = curve.points.iter().map(|point| along(point.x, x_log)).collect();
        let count = xs.len() as f64;
        let middle_x = xs.iter().sum::<f64>() / count;
        let middle_y = curve.points.iter().map(|point| along(point.y, y_log)).sum::<f64>() / count;
        let low = xs.iter().copied().fold(f64::INFINITY, f64::min);
        let high = xs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let slope = fit.predicted?;
        let at =
            |x: f64| self.place(back(x, x_log), back(middle_y + slope * (x - middle_x), y_log));
        let (from, to) = self.frame.clip((at(low), at(high)))?;
        Some(Item::line([from, to], Stroke { ink: Ink::Muted, width: 1.2, dash: &[2.0, 4.0] }))
    }

    /// The visible parts of the lines between points.
    fn segments(&self, curve: &Curve) -> Vec<(Place, Place)> {
        let pairs = curve.points.windows(2);
        let lines =
            pairs.map(|pair| (self.place(pair[0].x, pair[0].y), self.place(pair[1].x, pair[1].y)));
        lines.filter_map(|line| self.frame.clip(line)).collect()
    }

    /// The visible parts of error bars.
    fn bars(&self, curve: &Curve) -> Vec<(Place, Place)> {
        let (x_log, y_log) = logarithmic(self.panel.kind);
        let both = |point: &Point| {
            let [left, right] = ends(point.x, point.x_error, x_log);
            let [low, high] = ends(point.y, point.y_error, y_log);
            [
                (self.place(left, point.y), self.place(right, point.y)),
                (self.place(point.x, low), self.place(point.x, high)),
            ]
        };
        let shown = curve.points.iter().filter(|point| self.shows(self.place(point.x, point.y)));
        let bars = shown.flat_map(both).filter(|(from, to)| from != to);
        bars.filter_map(|bar| self.frame.clip(bar)).collect()
    }

    /// Points that others printed: large open circles in the colour of words.
    fn published(&self) -> Vec<Item> {
        let shown = self.panel.published.iter().map(|point| (point, self.place(point.x, point.y)));
        let groups = shown.filter(|(_, at)| self.shows(*at)).map(|(point, at)| Group {
            class: "point published",
            data: vec![
                ("method", PUBLISHED.into()),
                ("x", format!("{:.1}", at.0)),
                ("y", format!("{:.1}", at.1)),
            ],
            title: words::published_tip(self.panel, point),
            items: vec![published_marker(at)],
        });
        let thin = Stroke { ink: Ink::Muted, width: 1.0, dash: &[1.0, 3.0] };
        let joined = self.sources().into_iter().filter(|(_, places)| places.len() > 1);
        let lines = joined.map(|(_, places)| Group {
            class: "published",
            data: vec![("method", PUBLISHED.into())],
            title: String::new(),
            items: vec![Item::line(places, thin)],
        });
        lines.chain(groups).map(Item::Group).collect()
    }

    /// Names next to their curves; those without a free place in a list that starts at `bottom`.
    /// Returns where what follows may start.
    fn labels(&self, font: &Font, bottom: f64) -> (Vec<Item>, f64) {
        let mut taken = Taken::default();
        for curve in &self.panel.curves {
            let places = curve.points.iter().map(|point| self.place(point.x, point.y));
            taken.markers.extend(places.filter(|at| self.shows(*at)));
            taken.lines.extend(self.segments(curve));
            taken.lines.extend(self.bars(curve));
        }
        taken.markers.extend(self.panel.published.iter().map(|point| self.place(point.x, point.y)));

        let frame = self.frame.grown(-3.0);
        let mut items = Vec::new();
        let mut rest: Vec<(Name, f64)> = Vec::new();
        let names = self.names();
        let places: Vec<(usize, Place)> = names
            .iter()
            .enumerate()
            .flat_map(|(index, name)| name.anchors.iter().map(move |at| (index, *at)))
            .collect();
        for (index, name) in names.into_iter().enumerate() {
            let width = font.width(&name.words, LABEL);
            let others = places.iter().filter(|(owner, _)| *owner != index).map(|(_, at)| *at);
            let (anchors, others) = (name.anchors.clone(), others.collect());
            let wish = Wish { width, height: LABEL + 1.0, anchors, others };
            match taken.place(&wish, &frame) {
                Some(spot) => items.push(Item::Group(name.at(&spot))),
                None => rest.push((name, width)),
            }
        }
        let (mut x, mut y) = (LEFT, bottom);
        for (name, width) in rest {
            if x > LEFT && x + 16.0 + width > self.frame.right {
                (x, y) = (LEFT, y + 16.0);
            }
            items.push(Item::Group(name.listed((x, y + 10.0))));
            x += 16.0 + width + 18.0;
        }
        let used = if x > LEFT { y + 14.0 } else { bottom };
        (items, used)
    }

    fn names(&self) -> Vec<Name> {
        let curves = self.panel.curves.iter().zip(&self.looks).map(|(curve, look)| {
            let places: Vec<Place> =
                curve.points.iter().map(|point| self.place(point.x, point.y)).collect();
            let shown: Vec<Place> = places.iter().copied().filter(|at| self.shows(*at)).collect();
            let beyond = places.len() - shown.len();
            let name = words::name(curve);
            let words = match beyond {
                0 => name,
                _ if shown.is_empty() => format!("{name}: beyond the axes"),
                1 => format!("{name}, 1 point beyond"),
                _ => format!("{name}, {beyond} points beyond"),
            };
            let Area { left, top, right, bottom } = self.frame;
            let edge = |(x, y): &Place| (x.clamp(left, right), y.clamp(top, bottom));
            let anchors = if shown.is_empty() {
                places.first().map(edge).into_iter().collect()
            } else {
                shown
            };
            let marker = Some(*look);
            Name { words, anchors, ink: Ink::Word(look.colour), data: keys(curve), marker }
        });
        let published = self.sources().into_iter().map(|(label, places)| Name {
            words: format!("{label} (published)"),
            anchors: places,
            ink: Ink::Text,
            data: vec![("method", PUBLISHED.into())],
            marker: None,
        });
        curves.chain(published).collect()
    }

    /// The visible places of what others printed, by label: they are named once.
    fn sources(&self) -> Vec<(&str, Vec<Place>)> {
        let mut all: Vec<(&str, Vec<Place>)> = Vec::new();
        for point in &self.panel.published {
            let at = self.place(point.x, point.y);
            match all.iter_mut().find(|(label, _)| *label == point.label) {
                _ if !self.shows(at) => {}
                Some((_, places)) => places.push(at),
                None => all.push((&point.label, vec![at])),
            }
        }
        all
    }
}

/// The value of `data-method` for what others printed.
pub(crate) const PUBLISHED: &str = "published";

/// A name on its way to its place.
struct Name {
    words: String,
    anchors: Vec<Place>,
    ink: Ink,
    data: Vec<(&'static str, String)>,
    /// None for what others printed.
    marker: Option<Look>,
}

impl Name {
    fn at(self, spot: &Spot) -> Group {
        let thin = Stroke::solid(Ink::Muted, 0.7);
        let mut items: Vec<Item> =
            spot.leader.map(|(from, to)| Item::line([from, to], thin)).into_iter().collect();
        let at = (spot.area.left, spot.area.bottom - 2.5);
        items.push(Item::words(self.words, at, Anchor::Start, LABEL, self.ink));
        Group { class: "name", data: self.data, title: String::new(), items }
    }

    fn listed(self, at: Place) -> Group {
        let sign = (at.0 + 5.0, at.1 - 4.0);
        let marker = match self.marker {
            Some(look) => look.marker(sign, MARKER),
            None => published_marker(sign),
        };
        let words = Item::words(self.words, (at.0 + 16.0, at.1), Anchor::Start, LABEL, self.ink);
        Group { class: "name", data: self.data, title: String::new(), items: vec![marker, words] }
    }
}

/// Open, in the colour of words, larger than those of curves.
pub(crate) fn published_marker(at: Place) -> Item {
    let outline = Shape::Circle.outline(at, MARKER + 2.0);
    let centre = Shape::Circle.outline(at, 1.2);
    let stroke = Some(Stroke::solid(Ink::Text, 1.5));
    let ring = Item::Path(Path { outline, stroke, fill: Some(Ink::Paper) });
    let dot = Item::Path(Path { outline: centre, stroke, fill: Some(Ink::Text) });
    Item::Group(Group { items: vec![ring, dot], ..Group::default() })
}

/// What the toggles of a page go by.
fn keys(curve: &Curve) -> Vec<(&'static str, String)> {
    vec![("method", curve.method.clone()), ("epsilon", words::epsilon_key(curve.epsilon))]
}

/// Both ends of an error bar; on a logarithmic axis it cannot reach zero.
fn ends(mean: f64, error: Option<f64>, log: bool) -> [f64; 2] {
    let error = error.unwrap_or(0.0);
    let low = if log { (mean - error).max(mean / 10.0) } else { mean - error };
    [low, mean + error]
}

/// Segments that follow each other as one line each, so that dashes run on.
fn joined(segments: &[(Place, Place)]) -> Vec<Vec<Place>> {
    let mut lines: Vec<Vec<Place>> = Vec::new();
    for (from, to) in segments {
        match lines.last_mut() {
            Some(line) if line.last() == Some(from) => line.push(*to),
            _ => lines.push(vec![*from, *to]),
        }
    }
    lines
}
