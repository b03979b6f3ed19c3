//! A comparison as one page that needs nothing else: figures are drawn here, in Rust, so that they are there
//! without a script too; a small script adds toggles, values under the pointer and downloads.

mod audit;
mod metrics;
mod run;
mod table;

use std::collections::BTreeSet;

use crate::check;
use crate::comparison::{Comparison, Panel};
use crate::error::Result;
use crate::escape::escape;
use crate::plot::{self, Ink, Looks, PUBLISHED, Size};
use crate::words::epsilon_key;

pub use audit::audit_html;
pub use metrics::metrics_html;
pub use run::run_html;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// The page may run what is in it and fetch nothing.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// A comparison as an HTML page. Refuses panels that cannot be drawn and panels of one id.
pub fn html(comparison: &Comparison) -> Result<String> {
    check::comparison(comparison)?;
    let looks = Looks::of(&comparison.panels);
    let title = escape(&comparison.title);
    // Nothing in a script element without `<` can end it; in JSON it only stands inside strings.
    let json =
        serde_json::to_string(comparison).map_err(|error| crate::Error::Json(error.to_string()))?;
    let json = json.replace('<', "\\u003c");
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{inks}{STYLE}</style>\n</head>\n<body>\n\
         {header}<main>\n{filters}{figures}{tables}</main>\n\
         <div id=\"tip\" role=\"status\" hidden></div>\n\
         <script type=\"application/json\" id=\"study\">{json}</script>\n\
         <script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        inks = inks(),
        header = header(comparison),
        filters = filters(comparison, &looks),
        figures = figures(comparison, &looks),
        tables = tables(comparison),
    ))
}

/// The colours of both themes, and the classes that drawings name.
fn inks() -> String {
    let colours = |colour: fn(Ink) -> &'static str| {
        each(Ink::all(), |ink| format!("--{}:{};", ink.name(), colour(ink)))
    };
    let classes = each(Ink::all(), |ink| {
        let name = ink.name();
        format!(".fill-{name}{{fill:var(--{name})}}.line-{name}{{stroke:var(--{name})}}\n")
    });
    let (light, dark) = (colours(Ink::light), colours(Ink::dark));
    let dark = format!("@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n");
    format!(":root {{ {light} }}\n{dark}{classes}")
}

fn header(comparison: &Comparison) -> String {
    let sections = figure_ids(comparison).into_iter().map(|figure| {
        format!(
            "<li><a href=\"#{figure}\">{}</a></li>",
            escape(&heading(figure)),
            figure = escape(figure)
        )
    });
    let mut links: String = sections.collect();
    links.push_str("<li><a href=\"#privacy\">Privacy of every curve</a></li>");
    if !comparison.tables.is_empty() {
        links.push_str("<li><a href=\"#tables\">Tables</a></li>");
    }
    let notes = each(&comparison.notes, |note| format!("<p>{}</p>\n", escape(note)));
    format!(
        "<header>\n<h1>{}</h1>\n<pre><code>{}</code></pre>\n<dl>\n\
         <dt>Versions</dt><dd>{}</dd>\n<dt>Date</dt><dd>{}</dd>\n<dt>Machine</dt><dd>{}</dd>\n\
         <dt>Seeds</dt><dd>{}</dd>\n</dl>\n\
         <p class=\"script\"><button type=\"button\" data-save=\"study\">All data (JSON)</button></p>\n\
         {notes}<nav aria-label=\"Figures\"><ul>{links}</ul></nav>\n</header>\n",
        escape(&comparison.title),
        escape(&comparison.command),
        escape(&comparison.versions.join(", ")),
        escape(&comparison.date),
        escape(&comparison.machine),
        seeds(&comparison.seeds),
    )
}

/// Toggles for methods, epsilons and data. They do nothing without the script, which shows them.
fn filters(comparison: &Comparison, looks: &Looks) -> String {
    let mut methods: Vec<(&str, String, &str)> = Vec::new();
    let mut epsilons: Vec<Option<f64>> = Vec::new();
    for curve in comparison.panels.iter().flat_map(|panel| &panel.curves) {
        if !methods.iter().any(|(method, ..)| *method == curve.method) {
            methods.push((&curve.method, plot::sign(looks.look(curve, 0)), &curve.label));
        }
        if !epsilons.contains(&curve.epsilon) {
            epsilons.push(curve.epsilon);
        }
    }
    if comparison.panels.iter().any(|panel| !panel.published.is_empty()) {
        methods.push((PUBLISHED, plot::published_sign(), PUBLISHED));
    }
    epsilons.sort_by(|left, right| {
        left.unwrap_or(f64::INFINITY).total_cmp(&right.unwrap_or(f64::INFINITY))
    });
    let data: BTreeSet<&str> = comparison.panels.iter().map(|panel| panel.data.as_str()).collect();

    // A switch has the name that stands beside the curves.
    let methods = methods.iter().map(|(method, sign, label)| toggle("method", method, sign, label));
    let epsilons = epsilons.iter().map(|epsilon| {
        let key = epsilon_key(*epsilon);
        toggle("epsilon", &key, "", if epsilon.is_some() { &key } else { "no privacy" })
    });
    let data = data.iter().map(|data| toggle("data", data, "", data));
    format!(
        "<form id=\"filters\" class=\"script\" aria-label=\"What is shown\" autocomplete=\"off\">\n{}{}{}</form>\n\
         <p id=\"nothing\" hidden>Nothing is selected: switch on a method, an ε and a data set.</p>\n",
        fieldset("Method", &methods.collect::<String>()),
        fieldset("ε", &epsilons.collect::<String>()),
        fieldset("Data", &data.collect::<String>()),
    )
}

fn fieldset(legend: &str, toggles: &str) -> String {
    format!(
        "<fieldset><legend>{legend}</legend>{toggles}\
         <button type=\"button\" data-all=\"1\">all / none</button></fieldset>\n"
    )
}

fn toggle(name: &str, value: &str, sign: &str, words: &str) -> String {
    let (value, words) = (escape(value), escape(words));
    format!(
        "<label><input type=\"checkbox\" name=\"{name}\" value=\"{value}\" checked>{sign}{words}</label>\n"
    )
}

fn figures(comparison: &Comparison, looks: &Looks) -> String {
    let section = |figure: &str| {
        let panels = comparison.panels.iter().filter(|panel| panel.figure == figure);
        let panels: String = panels.map(|panel| article(panel, looks)).collect();
        format!(
            "<section class=\"figure\" id=\"{}\">\n<h2>{}</h2>\n<div class=\"panels\">\n{panels}</div>\n</section>\n",
            escape(figure),
            escape(&heading(figure))
        )
    };
    figure_ids(comparison).into_iter().map(section).collect()
}

fn article(panel: &Panel, looks: &Looks) -> String {
    let epsilon =
        panel.epsilon.map(|epsilon| format!(" data-epsilon=\"{}\"", epsilon_key(Some(epsilon))));
    let id = &panel.id;
    format!(
        "<article class=\"panel\" id=\"{id}\" data-data=\"{}\"{}>\n\
         <figure>\n<div class=\"wide\">{}</div>\n<div class=\"narrow\">{}</div>\n</figure>\n{}\
         <p class=\"script\"><button type=\"button\" data-save=\"data\" data-panel=\"{id}\">Data (JSON)</button> \
         <button type=\"button\" data-save=\"picture\" data-panel=\"{id}\">Picture (SVG)</button></p>\n\
         </article>\n",
        escape(&panel.data),
        epsilon.unwrap_or_default(),
        plot::drawing(panel, looks, Size::Wide),
        plot::drawing(panel, looks, Size::Narrow),
        table::equal_error(panel),
    )
}

fn tables(comparison: &Comparison) -> String {
    let mut out = format!(
        "<section id=\"privacy\">\n<h2>Privacy of every curve</h2>\n{}</section>\n",
        table::privacy(comparison)
    );
    if !comparison.tables.is_empty() {
        let tables = each(&comparison.tables, table::plain);
        out.push_str("<section id=\"tables\">\n<h2>Tables</h2>\n");
        out.push_str(&tables);
        out.push_str("</section>\n");
    }
    out
}

/// A piece of the page for each item.
fn each<T>(items: impl IntoIterator<Item = T>, piece: impl Fn(T) -> String) -> String {
    items.into_iter().map(piece).collect()
}

/// Figures in the order of their first panel.
fn figure_ids(comparison: &Comparison) -> Vec<&str> {
    let mut ids: Vec<&str> = Vec::new();
    for panel in &comparison.panels {
        if !ids.contains(&panel.figure.as_str()) {
            ids.push(&panel.figure);
        }
    }
    ids
}

/// `figure-3` as `Figure 3`.
fn heading(figure: &str) -> String {
    let words = figure.replace('-', " ");
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Seeds that follow each other by their ends.
fn seeds(seeds: &[u64]) -> String {
    match seeds {
        [first, .., last]
            if seeds.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1])) =>
        {
            format!("{first} to {last} ({} seeds)", seeds.len())
        }
        _ => seeds.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}
