//! The page of an audit: no script, nothing fetched, the same on paper.

use super::{each, inks, table};
use crate::audit::{AuditPage, ErrorCurves};
use crate::error::{Error, Result};
use crate::escape::escape;
use crate::plot;

const STYLE: &str = include_str!("page.css");
const AUDIT_STYLE: &str = include_str!("audit.css");
/// The page runs nothing and fetches nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// An audit as an HTML page. Refuses shares that are none.
pub fn audit_html(page: &AuditPage) -> Result<String> {
    check(&page.errors)?;
    let facts = each(&page.facts, |(name, words)| {
        format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(words))
    });
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{inks}{STYLE}{AUDIT_STYLE}</style>\n</head>\n\
         <body class=\"audit\">\n<header>\n<h1>{title}</h1>\n<p class=\"lead {kind}\">{lead}</p>\n\
         </header>\n<main>\n\
         <section id=\"curve\">\n<figure>{drawing}</figure>\n</section>\n\
         <section id=\"numbers\">\n{numbers}</section>\n\
         <section id=\"facts\">\n<h2>The audit</h2>\n<dl>\n{facts}</dl>\n</section>\n\
         <section id=\"says\">\n<h2>What this shows, and what it cannot</h2>\n{says}</section>\n\
         </main>\n</body>\n</html>\n",
        title = escape(&page.title),
        inks = inks(),
        kind = if page.violation { "violated" } else { "kept" },
        lead = escape(&page.lead),
        drawing = plot::errors(&page.errors),
        numbers = table::plain(&page.numbers),
        says = each(&page.says, |text| format!("<p>{}</p>\n", escape(text))),
    ))
}

fn check(errors: &ErrorCurves) -> Result<()> {
    let curves =
        [("promised", &errors.promised), ("measured", &errors.measured), ("most", &errors.most)];
    for (name, points) in curves {
        let wrong = |share: &&f64| !(0.0..=1.0).contains(*share);
        if let Some(given) = points.iter().flatten().find(wrong) {
            return Err(Error::Value {
                place: format!("errors that were {name}"),
                given: given.to_string(),
                allowed: "shares are from 0 to 1",
            });
        }
    }
    Ok(())
}
