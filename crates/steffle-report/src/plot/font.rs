//! How wide words are, and their outlines: DejaVu Sans, whose widths common sans-serif fonts do not
//! exceed.

use ttf_parser::{Face, GlyphId};

/// Width of a letter that the font does not have, in its size.
const UNKNOWN: f64 = 0.65;

/// A face of the font; without it widths are estimates.
pub(crate) struct Font {
    face: Option<Face<'static>>,
}

impl Font {
    /// The regular or the bold face.
    pub(crate) fn new(bold: bool) -> Self {
        let bytes = if bold { dejavu::sans::bold() } else { dejavu::sans::regular() };
        Self { face: Face::parse(bytes, 0).ok() }
    }

    /// The face itself, for its outlines.
    pub(crate) fn face(&self) -> Option<&Face<'static>> {
        self.face.as_ref()
    }

    /// Width of a line of words in pixels.
    pub(crate) fn width(&self, words: &str, size: f64) -> f64 {
        words.chars().map(|letter| self.advance(letter)).sum::<f64>() * size
    }

    /// From one letter to the next, in sizes.
    pub(crate) fn advance(&self, letter: char) -> f64 {
        let Some(face) = &self.face else { return UNKNOWN };
        let glyph: Option<GlyphId> = face.glyph_index(letter);
        let units = glyph.and_then(|glyph| face.glyph_hor_advance(glyph));
        units.map_or(UNKNOWN, |units| f64::from(units) / f64::from(face.units_per_em()))
    }

    /// Words in lines that are no wider than `width`; a single word may be.
    pub(crate) fn wrap(&self, words: &str, size: f64, width: f64) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in words.split_whitespace() {
            match lines.last_mut() {
                Some(line) if self.width(&format!("{line} {word}"), size) <= width => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(word.to_owned()),
            }
        }
        lines
    }
}
