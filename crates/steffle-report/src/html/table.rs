//! Tables of a page.

use super::each;
use crate::comparison::{Comparison, Curve, Panel, Table};
use crate::escape::escape;
use crate::plot::short;
use crate::words::{differing_claim, epsilon_key, honest, spread};

/// The violation at equal error; nothing for a panel without such rows.
pub(super) fn equal_error(panel: &Panel) -> String {
    let Some(first) = panel.equal_error.first() else { return String::new() };
    let heads = first.at.iter().map(|reached| {
        format!("<th scope=\"col\" class=\"number\">+{}</th>", short(reached.excess))
    });
    let heads: String = heads.collect();
    let rows = panel.equal_error.iter().map(|row| {
        let cells = row.at.iter().map(|reached| match reached.violation {
            Some(violation) => {
                format!("<td class=\"number\">{}</td>", spread(violation, reached.standard_error))
            }
            None => "<td class=\"number\">not reached</td>".into(),
        });
        format!(
            "<tr data-method=\"{}\" data-epsilon=\"{}\"><th scope=\"row\">{}</th>{}</tr>\n",
            escape(&row.method),
            epsilon_key(row.epsilon),
            escape(&row.label),
            cells.collect::<String>()
        )
    });
    let caption = "Violation (percentage points) at equal error: so many points above the unconstrained model";
    scrolling(
        caption,
        &format!(
            "<thead><tr><th scope=\"col\">method</th>{heads}</tr></thead>\n<tbody>\n{}</tbody>\n",
            rows.collect::<String>()
        ),
    )
}

/// What every curve promises, each promise once.
pub(super) fn privacy(comparison: &Comparison) -> String {
    let mut rows: Vec<(&str, &Curve)> = Vec::new();
    for panel in &comparison.panels {
        for curve in &panel.curves {
            let same = |(data, other): &(&str, &Curve)| {
                *data == panel.data
                    && other.method == curve.method
                    && other.epsilon == curve.epsilon
                    && other.privacy == curve.privacy
            };
            if !rows.iter().any(same) {
                rows.push((&panel.data, curve));
            }
        }
    }
    let heads =
        ["method", "data", "asked ε", "honest ε", "claimed ε", "δ", "protects", "trusted", "holds"];
    let numbers = ["asked ε", "honest ε", "claimed ε", "δ"];
    let heads = heads.map(|head| {
        let class = if numbers.contains(&head) { " class=\"number\"" } else { "" };
        format!("<th scope=\"col\"{class}>{head}</th>")
    });
    let rows = rows.into_iter().map(|(data, curve)| privacy_row(data, curve));
    scrolling(
        "The honest ε is computed by our accountants; the claimed one stands beside it where it differs",
        &format!(
            "<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody>\n",
            heads.concat(),
            rows.collect::<String>()
        ),
    )
}

fn privacy_row(data: &str, curve: &Curve) -> String {
    let (privacy, data) = (&curve.privacy, escape(data));
    let number = |value: Option<f64>| {
        let value = value.map_or_else(|| "\u{2013}".into(), short);
        format!("<td class=\"number\">{value}</td>")
    };
    let honest = format!("<td class=\"number\">{}</td>", honest(privacy));
    let kept = match (privacy.holds, privacy.honest_epsilon) {
        (false, _) => "<td class=\"broken\">no</td>",
        (true, Some(_)) => "<td>yes</td>",
        (true, None) => "<td>none asked</td>",
    };
    format!(
        "<tr data-method=\"{}\" data-epsilon=\"{}\" data-data=\"{data}\"><th scope=\"row\">{}</th><td>{data}</td>{}{honest}{}{}<td>{}</td><td>{}</td>{kept}</tr>\n",
        escape(&curve.method),
        epsilon_key(curve.epsilon),
        escape(&curve.label),
        number(curve.epsilon),
        number(differing_claim(privacy)),
        number(privacy.delta),
        escape(&privacy.protects),
        escape(&privacy.trusted),
    )
}

/// A table of text.
pub(super) fn plain(table: &Table) -> String {
    let heads = each(&table.columns, |head| format!("<th scope=\"col\">{}</th>", escape(head)));
    let rows = each(&table.rows, |row| {
        format!("<tr>{}</tr>\n", each(row, |cell| format!("<td>{}</td>", escape(cell))))
    });
    let body = format!("<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n");
    format!("{}<p class=\"muted\">{}</p>\n", scrolling(&table.title, &body), escape(&table.caption))
}

/// A table that scrolls by itself where it is wider than the page.
fn scrolling(caption: &str, body: &str) -> String {
    let caption = escape(caption);
    format!(
        "<p class=\"caption\">{caption}</p>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\">\n\
         <table>\n{body}</table>\n</div>\n"
    )
}
