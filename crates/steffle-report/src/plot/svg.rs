//! A scene as SVG. Every shape carries its light colours and the names of its inks, so that the file
//! stands alone on white and a page can give it other colours.

use std::fmt::Write;

use super::axis::short;
use super::scene::{Anchor, Group, Item, Outline, Path, Scene, Text};
use crate::escape::escape;

/// The scene as one SVG element.
pub(crate) fn write(scene: &Scene) -> String {
    let (width, height) = (short(scene.width), short(scene.height));
    let spoken = match scene.title.as_str() {
        "" => "aria-hidden=\"true\"".into(),
        title => format!("role=\"group\" aria-label=\"{}\"", escape(title)),
    };
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" {spoken} \
         font-family=\"'DejaVu Sans', Verdana, Helvetica, Arial, sans-serif\">\n"
    );
    scene.items.iter().for_each(|item| write_item(&mut out, item));
    out.push_str("</svg>\n");
    out
}

fn write_item(out: &mut String, item: &Item) {
    match item {
        Item::Group(group) => write_group(out, group),
        Item::Path(path) => write_path(out, path),
        Item::Text(text) => write_text(out, text),
    }
}

fn write_group(out: &mut String, group: &Group) {
    out.push_str("<g");
    if !group.class.is_empty() {
        put(out, format_args!(" class=\"{}\"", group.class));
    }
    for (name, value) in &group.data {
        put(out, format_args!(" data-{name}=\"{}\"", escape(value)));
    }
    out.push('>');
    if !group.title.is_empty() {
        put(out, format_args!("<title>{}</title>", escape(&group.title)));
    }
    out.push('\n');
    group.items.iter().for_each(|item| write_item(out, item));
    out.push_str("</g>\n");
}

fn write_path(out: &mut String, path: &Path) {
    match &path.outline {
        Outline::Circle { centre: (x, y), radius } => {
            put(out, format_args!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\""));
        }
        Outline::Lines { places, closed } => {
            out.push_str("<path d=\"");
            for (index, (x, y)) in places.iter().enumerate() {
                let letter = if index == 0 { 'M' } else { 'L' };
                put(out, format_args!("{letter}{x:.1} {y:.1}"));
            }
            out.push_str(if *closed { "Z\"" } else { "\"" });
        }
    }
    let mut classes = Vec::new();
    match path.fill {
        Some(ink) => {
            classes.push(format!("fill-{}", ink.name()));
            put(out, format_args!(" fill=\"{}\"", ink.light()));
        }
        None => out.push_str(" fill=\"none\""),
    }
    if let Some(stroke) = &path.stroke {
        classes.push(format!("line-{}", stroke.ink.name()));
        let (colour, width) = (stroke.ink.light(), stroke.width);
        put(out, format_args!(" stroke=\"{colour}\" stroke-width=\"{width}\""));
        if !stroke.dash.is_empty() {
            let lengths: Vec<String> = stroke.dash.iter().map(ToString::to_string).collect();
            put(out, format_args!(" stroke-dasharray=\"{}\"", lengths.join(" ")));
        }
    }
    put(out, format_args!(" class=\"{}\"/>\n", classes.join(" ")));
}

fn write_text(out: &mut String, text: &Text) {
    let (x, y) = text.at;
    put(out, format_args!("<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{}\"", text.size));
    match text.anchor {
        Anchor::Start => {}
        Anchor::Middle => out.push_str(" text-anchor=\"middle\""),
        Anchor::End => out.push_str(" text-anchor=\"end\""),
    }
    if text.bold {
        out.push_str(" font-weight=\"bold\"");
    }
    if text.upwards {
        put(out, format_args!(" transform=\"rotate(-90 {x:.1} {y:.1})\""));
    }
    let (colour, name, words) = (text.ink.light(), text.ink.name(), escape(&text.words));
    put(out, format_args!(" fill=\"{colour}\" class=\"fill-{name}\">{words}</text>\n"));
}

/// Writing to a string cannot fail.
fn put(out: &mut String, arguments: std::fmt::Arguments) {
    let _ = out.write_fmt(arguments);
}
