//! The page of metrics from noisy counts: no script, nothing fetched, the same on paper.

use super::run::{POLICY, RUN_STYLE, STYLE, bars};
use super::{each, inks};
use crate::escape::escape;
use crate::metrics::MetricsPage;

/// Metrics as an HTML page.
pub fn metrics_html(page: &MetricsPage) -> String {
    let paragraphs = |class: &str, texts: &[String]| {
        each(texts, |text| format!("<p class=\"{class}\">{}</p>\n", escape(text)))
    };
    let facts = each(&page.facts, |(name, words)| {
        format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(words))
    });
    let rates = each(&page.rates, |(name, groups)| {
        format!("<section>\n<h2>Groups: {}</h2>\n{}</section>\n", escape(name), bars(groups))
    });
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{inks}{STYLE}{RUN_STYLE}</style>\n</head>\n\
         <body class=\"run\">\n<header>\n<h1>{title}</h1>\n<p class=\"lead\">{lead}</p>\n</header>\n\
         <main>\n<section id=\"result\">\n<h2>Error and gaps between groups</h2>\n{KEY}{measures}\
         </section>\n{rates}<section id=\"evidence\">\n<h2>How to read it</h2>\n{evidence}</section>\n\
         <section id=\"privacy\">\n<h2>Privacy</h2>\n{privacy}</section>\n\
         <section id=\"facts\">\n<h2>What was measured</h2>\n<dl>\n{facts}</dl>\n</section>\n\
         </main>\n</body>\n</html>\n",
        title = escape(&page.title),
        inks = inks(),
        lead = escape(&page.lead),
        measures = bars(&page.measures),
        evidence = paragraphs("", &page.evidence),
        privacy = paragraphs("", &page.privacy),
    )
}

/// What the marks mean.
const KEY: &str = "<p class=\"muted key\"><span class=\"dot\"></span> from noisy counts, with its 95 % \
                   interval for noise and sampling together</p>\n";
