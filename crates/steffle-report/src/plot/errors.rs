//! The errors of an attack beside those that a promise allows, in a square.

use super::font::Font;
use super::scene::{Anchor, Group, Item, Outline, Path, Place, Scene, Stroke, Text};
use super::style::Ink;
use crate::audit::ErrorCurves;

const WIDTH: f64 = 400.0;
const LEFT: f64 = 58.0;
const TOP: f64 = 14.0;
const SIDE: f64 = WIDTH - LEFT - 18.0;
const SMALL: f64 = 11.0;

const MEASURED: usize = 0;
const PROMISED: usize = 1;

/// The picture.
pub(crate) fn scene(errors: &ErrorCurves) -> Scene {
    let bottom = TOP + SIDE;
    let mut items = axes();
    let grey = Stroke { ink: Ink::Muted, width: 1.0, dash: &[2.0, 4.0] };
    items.push(curve("nothing", &[[0.0, 1.0], [1.0, 0.0]], grey));
    let measured = Stroke::solid(Ink::Line(MEASURED), 2.2);
    items.push(curve("measured", &errors.measured, measured));
    // On top: where the claim is attained they are one line.
    let promised = Stroke { ink: Ink::Line(PROMISED), width: 2.0, dash: &[7.0, 5.0] };
    items.push(curve("promised", &errors.promised, promised));
    let dots = errors.most.iter().map(|&at| dot(place(at)));
    items.push(Item::Group(Group { class: "most", items: dots.collect(), ..Group::default() }));

    let mut row = bottom + 64.0;
    let line = |row: f64, stroke| Item::line([(LEFT, row - 4.0), (LEFT + 28.0, row - 4.0)], stroke);
    let keys = [
        (line(row, grey), "nothing to learn: guessing"),
        (line(row + 20.0, promised), "the fewest errors that the promise allows"),
        (line(row + 40.0, measured), "the errors that the attack made"),
        (dot((LEFT + 14.0, row + 56.0)), "the most that they can really be"),
    ];
    for (sign, words) in keys {
        items.push(sign);
        items.push(Item::words(words, (LEFT + 36.0, row), Anchor::Start, SMALL, Ink::Text));
        row += 20.0;
    }
    let caption = "A dot below the dashed line would be a broken promise.";
    for words in Font::new(false).wrap(caption, SMALL, WIDTH - LEFT) {
        items.push(Item::words(words, (LEFT, row + 4.0), Anchor::Start, SMALL, Ink::Muted));
        row += SMALL + 4.0;
    }
    let height = row + 4.0;
    let corners = vec![(0.0, 0.0), (WIDTH, 0.0), (WIDTH, height), (0.0, height)];
    let outline = Outline::Lines { places: corners, closed: true };
    items.insert(0, Item::Path(Path { outline, stroke: None, fill: Some(Ink::Paper) }));
    Scene { width: WIDTH, height, title: "Errors of the attack".into(), items }
}

/// Where a pair of shares stands.
fn place([false_alarm, missed]: [f64; 2]) -> Place {
    (LEFT + SIDE * false_alarm, TOP + SIDE * (1.0 - missed))
}

fn curve(class: &'static str, points: &[[f64; 2]], stroke: Stroke) -> Item {
    let line = Item::line(points.iter().map(|&at| place(at)).collect::<Vec<_>>(), stroke);
    Item::Group(Group { class, items: vec![line], ..Group::default() })
}

fn dot(centre: Place) -> Item {
    let outline = Outline::Circle { centre, radius: 3.2 };
    let stroke = Some(Stroke::solid(Ink::Line(MEASURED), 1.5));
    Item::Path(Path { outline, stroke, fill: Some(Ink::Paper) })
}

fn axes() -> Vec<Item> {
    let (right, bottom) = (LEFT + SIDE, TOP + SIDE);
    let grid = Stroke::solid(Ink::Grid, 1.0);
    let mut items = Vec::new();
    for quarter in 0..=4 {
        let share = f64::from(quarter) / 4.0;
        let (x, y) = place([share, share]);
        let words = format!("{} %", 25 * quarter);
        items.push(Item::line([(x, TOP), (x, bottom)], grid));
        items.push(Item::line([(LEFT, y), (right, y)], grid));
        let below = (x, bottom + 17.0);
        items.push(Item::words(words.clone(), below, Anchor::Middle, SMALL, Ink::Muted));
        let beside = (LEFT - 6.0, y + 4.0);
        items.push(Item::words(words, beside, Anchor::End, SMALL, Ink::Muted));
    }
    let middle = LEFT + 0.5 * SIDE;
    let below = (middle, bottom + 36.0);
    items.push(Item::words("false alarms", below, Anchor::Middle, SMALL, Ink::Text));
    items.push(Item::Text(Text {
        at: (14.0, TOP + 0.5 * SIDE),
        anchor: Anchor::Middle,
        size: SMALL,
        bold: false,
        upwards: true,
        ink: Ink::Text,
        words: "missed cases".into(),
    }));
    items
}
