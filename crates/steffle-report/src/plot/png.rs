//! A scene as PNG: the same picture with the font built in, so that it looks the same everywhere.

use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint, PathBuilder, Pixmap, StrokeDash, Transform,
};

use super::font::Font;
use super::scene::{Anchor, Item, Outline, Path, Scene, Text};
use super::style::Ink;

/// Pixels of the file per pixel of the scene.
const SCALE: f32 = 2.0;

/// The scene on white, or why it could not be encoded.
pub(crate) fn write(scene: &Scene) -> Result<Vec<u8>, String> {
    let (width, height) = (scene.width as f32 * SCALE, scene.height as f32 * SCALE);
    let pixmap = Pixmap::new(width.ceil() as u32, height.ceil() as u32);
    let mut canvas = Canvas {
        pixmap: pixmap.ok_or_else(|| format!("{width} by {height} pixels is no size"))?,
        regular: Font::new(false),
        bold: Font::new(true),
    };
    canvas.pixmap.fill(Color::WHITE);
    scene.items.iter().for_each(|item| canvas.draw(item));
    canvas.pixmap.encode_png().map_err(|error| error.to_string())
}

struct Canvas {
    pixmap: Pixmap,
    regular: Font,
    bold: Font,
}

impl Canvas {
    fn draw(&mut self, item: &Item) {
        match item {
            Item::Group(group) => group.items.iter().for_each(|item| self.draw(item)),
            Item::Path(path) => self.path(path),
            Item::Text(text) => self.text(text),
        }
    }

    fn path(&mut self, path: &Path) {
        let Some(outline) = outline(&path.outline) else { return };
        let scale = Transform::from_scale(SCALE, SCALE);
        if let Some(ink) = path.fill {
            self.pixmap.fill_path(&outline, &paint(ink), FillRule::Winding, scale, None);
        }
        if let Some(stroke) = &path.stroke {
            let pen = tiny_skia::Stroke {
                width: stroke.width as f32,
                line_cap: LineCap::Butt,
                line_join: LineJoin::Round,
                dash: StrokeDash::new(stroke.dash.to_vec(), 0.0),
                ..tiny_skia::Stroke::default()
            };
            self.pixmap.stroke_path(&outline, &paint(stroke.ink), &pen, scale, None);
        }
    }

    fn text(&mut self, text: &Text) {
        let font = if text.bold { &self.bold } else { &self.regular };
        let Some(face) = font.face() else { return };
        let width = font.width(&text.words, text.size);
        let mut pen = match text.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => -width / 2.0,
            Anchor::End => -width,
        };
        let per_unit = (text.size / f64::from(face.units_per_em())) as f32;
        let turn = if text.upwards { -90.0 } else { 0.0 };
        let place = Transform::from_scale(SCALE, SCALE)
            .pre_translate(text.at.0 as f32, text.at.1 as f32)
            .pre_concat(Transform::from_rotate(turn));
        for letter in text.words.chars() {
            let mut glyph = Glyph(PathBuilder::new());
            let known = face.glyph_index(letter).and_then(|id| face.outline_glyph(id, &mut glyph));
            if let (Some(_), Some(shape)) = (known, glyph.0.finish()) {
                // Fonts count upwards from the baseline.
                let there = place.pre_translate(pen as f32, 0.0).pre_scale(per_unit, -per_unit);
                let ink = paint(text.ink);
                self.pixmap.fill_path(&shape, &ink, FillRule::Winding, there, None);
            }
            pen += font.advance(letter) * text.size;
        }
    }
}

/// The outline of a letter on its way from the font to the canvas.
struct Glyph(PathBuilder);

impl ttf_parser::OutlineBuilder for Glyph {
    fn move_to(&mut self, x: f32, y: f32) {
        self.0.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.0.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.0.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.0.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.0.close();
    }
}

fn outline(outline: &Outline) -> Option<tiny_skia::Path> {
    match outline {
        Outline::Circle { centre: (x, y), radius } => {
            PathBuilder::from_circle(*x as f32, *y as f32, *radius as f32)
        }
        Outline::Lines { places, closed } => {
            let mut builder = PathBuilder::new();
            for (index, (x, y)) in places.iter().enumerate() {
                let (x, y) = (*x as f32, *y as f32);
                if index == 0 { builder.move_to(x, y) } else { builder.line_to(x, y) }
            }
            if *closed {
                builder.close();
            }
            builder.finish()
        }
    }
}

fn paint(ink: Ink) -> Paint<'static> {
    let mut paint = Paint::default();
    let value = u32::from_str_radix(ink.light().trim_start_matches('#'), 16).unwrap_or(0);
    let [_, red, green, blue] = value.to_be_bytes();
    paint.set_color_rgba8(red, green, blue, 255);
    paint.anti_alias = true;
    paint
}
