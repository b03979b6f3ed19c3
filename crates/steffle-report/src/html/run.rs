//! The page of one run: no script, nothing fetched, the same on paper.

use super::{each, inks, table};
use crate::check;
use crate::comparison::{Comparison, Panel};
use crate::error::Result;
use crate::escape::escape;
use crate::plot::{self, Looks, Size};
use crate::run::{Measure, RunPage};

pub(super) const STYLE: &str = include_str!("page.css");
pub(super) const RUN_STYLE: &str = include_str!("run.css");
/// The page runs nothing and fetches nothing.
pub(super) const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// A run as an HTML page. Refuses drawings that cannot be drawn.
pub fn run_html(page: &RunPage) -> Result<String> {
    check::comparison(&Comparison { panels: page.panels.clone(), ..Comparison::default() })?;
    let looks = Looks::of(&page.panels);
    let facts = each(&page.facts, |(name, words)| {
        format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(words))
    });
    let paragraphs = |class: &str, texts: &[String]| {
        each(texts, |text| format!("<p class=\"{class}\">{}</p>\n", escape(text)))
    };
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{inks}{STYLE}{RUN_STYLE}</style>\n</head>\n\
         <body class=\"run\">\n<header>\n<h1>{title}</h1>\n<p class=\"lead\">{lead}</p>\n\
         {warnings}</header>\n<main>\n\
         <section id=\"result\">\n<h2>Result on the test rows</h2>\n{key}{measures}</section>\n\
         <section id=\"groups\">\n<h2>Groups: {share}</h2>\n{groups}{evidence}</section>\n\
         <section id=\"figures\">\n<h2>Pictures</h2>\n<div class=\"panels\">\n{panels}</div>\n\
         </section>\n\
         <section id=\"privacy\">\n<h2>Privacy</h2>\n{privacy}</section>\n\
         <section id=\"sent\">\n<h2>What is sent</h2>\n{sent}</section>\n\
         <section id=\"facts\">\n<h2>The run</h2>\n<dl>\n{facts}</dl>\n</section>\n\
         </main>\n</body>\n</html>\n",
        title = escape(&page.title),
        inks = inks(),
        lead = escape(&page.lead),
        warnings = paragraphs("warning", &page.warnings),
        key = KEY,
        measures = bars(&page.measures),
        share = escape(&page.share),
        groups = bars(&page.groups),
        evidence = paragraphs("muted", &page.evidence),
        panels = each(&page.panels, |panel| figure(panel, &looks)),
        privacy = paragraphs("", &page.privacy),
        sent = table::plain(&page.sent),
    ))
}

/// What the marks mean.
const KEY: &str = "<p class=\"muted key\"><span class=\"dot\"></span> this model, with its 95 % interval \
                   <span class=\"tick\"></span> the unconstrained model</p>\n";

/// A row per measure: name, numbers, and both on a line from 0 to a round number.
pub(super) fn bars(measures: &[Measure]) -> String {
    let ends = |measure: &Measure| {
        let interval = measure.interval.map_or(0.0, |[_, high]| high);
        interval.max(measure.value.unwrap_or(0.0)).max(measure.baseline.unwrap_or(0.0))
    };
    let most = measures.iter().map(ends).fold(0.0, f64::max);
    let full = [5.0, 10.0, 25.0, 50.0].into_iter().find(|end| *end >= most).unwrap_or(100.0);
    let rows = each(measures, |measure| bar(measure, full));
    format!(
        "<div class=\"bars\">\n{rows}</div>\n<p class=\"muted\">Lines go from 0 to {full} %.</p>\n"
    )
}

fn bar(measure: &Measure, full: f64) -> String {
    let at = |value: f64| (100.0 * value / full).clamp(0.0, 100.0);
    let percent = |value: f64| format!("{value:.2} %");
    let words = measure.value.map_or_else(|| "not enough evidence".to_owned(), percent);
    let interval = measure.interval.filter(|_| measure.value.is_some());
    let (stretch, ends) = interval.map_or_else(Default::default, |[low, high]| {
        let (left, width) = (at(low), at(high) - at(low));
        let style = format!("left:{left:.2}%;width:{width:.2}%");
        let stretch = format!("<span class=\"interval\" style=\"{style}\"></span>");
        (stretch, format!(" [{low:.2}, {high:.2}]"))
    });
    let mark = |class: &str, value: Option<f64>| {
        value.map_or_else(String::new, |value| {
            format!("<span class=\"{class}\" style=\"left:{:.2}%\"></span>", at(value))
        })
    };
    let other = measure.baseline.map(|value| format!(", unconstrained {}", percent(value)));
    let words = [words, ends, other.unwrap_or_default()].concat();
    let marks = [stretch, mark("tick", measure.baseline), mark("dot", measure.value)].concat();
    format!(
        "<div class=\"bar\"><span class=\"what\">{}</span><span class=\"numbers\">{words}</span>\
         <span class=\"line\" aria-hidden=\"true\">{marks}</span></div>\n",
        escape(&measure.name)
    )
}

fn figure(panel: &Panel, looks: &Looks) -> String {
    format!(
        "<article class=\"panel\" id=\"{}\">\n<figure>\n<div class=\"wide\">{}</div>\n\
         <div class=\"narrow\">{}</div>\n</figure>\n</article>\n",
        panel.id,
        plot::drawing(panel, looks, Size::Wide),
        plot::drawing(panel, looks, Size::Narrow),
    )
}
