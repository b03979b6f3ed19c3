//! What a reproduction leaves in its directory and in the terminal.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use steffle_report::{Comparison, Panel, Privacy, Reached, Table, html, png, svg};

use super::flat::write_parquet;
use crate::commands::sweep::write;
use crate::failure::Failure;
use crate::ui::{Output, Progress, Rows, wrap};

/// Writes the data, the pictures, the tables and the page.
pub(super) fn write_all(
    directory: &Path,
    comparison: &Comparison,
    lines: &[Value],
) -> Result<(), Failure> {
    let progress = Progress::start("Drawing");
    let figures = directory.join("figures");
    fs::create_dir_all(&figures).map_err(|error| Failure::at(&figures, &error))?;
    if !lines.is_empty() {
        write_parquet(&directory.join("results.parquet"), lines)?;
    }
    let drawn = |error: steffle_report::Error| Failure::bug(error.to_string());
    progress.steps("Drawing", comparison.panels.len());
    for panel in &comparison.panels {
        write(&figures.join(format!("{}.svg", panel.id)), svg(panel).map_err(drawn)?.as_bytes())?;
        write(&figures.join(format!("{}.png", panel.id)), &png(panel).map_err(drawn)?)?;
        progress.step();
    }
    let data = serde_json::to_string_pretty(comparison).map_err(|e| Failure::bug(e.to_string()))?;
    write(&directory.join("study.json"), (data + "\n").as_bytes())?;
    write(&directory.join("tables.md"), markdown(comparison).as_bytes())?;
    write(&directory.join("report.html"), html(comparison).map_err(drawn)?.as_bytes())
}

/// What was found, in a terminal.
pub(super) fn present(
    comparison: &Comparison,
    directory: &Path,
    output: Output,
) -> Result<(), Failure> {
    let mut text = String::new();
    for Table { title, columns, rows, caption } in tables(comparison) {
        text += &format!("{}\n", output.strong(&title));
        let mut shown = Rows::new(&columns.iter().map(String::as_str).collect::<Vec<_>>());
        rows.into_iter().for_each(|row| shown.push(row));
        text += &shown.render();
        text += &wrap(&caption);
        text += "\n";
    }
    for note in &comparison.notes {
        text += &wrap(&format!("{} {note}", output.strong("Note:")));
    }
    text += &format!("Report: {}\n", directory.join("report.html").display());
    let value = json!({
        "directory": directory,
        "report": directory.join("report.html"),
        "study": comparison,
    });
    output.result(&value, &text)
}

/// The tables, as Markdown.
fn markdown(comparison: &Comparison) -> String {
    let mut text = String::new();
    for Table { title, columns, rows, caption } in tables(comparison) {
        text += &format!("### {title}\n\n| {} |\n", columns.join(" | "));
        text += &format!("|{}\n", "---|".repeat(columns.len()));
        for row in rows {
            text += &format!("| {} |\n", row.join(" | "));
        }
        text += &format!("\n{caption}\n\n");
    }
    text
}

/// Violation at equal error of every panel, and the tables of the comparison.
fn tables(comparison: &Comparison) -> Vec<Table> {
    let panels = comparison.panels.iter().filter(|panel| !panel.equal_error.is_empty());
    panels.map(equal_error).chain(comparison.tables.iter().cloned()).collect()
}

const CAPTION: &str = "Gap in percentage points at so many points of test error above the \
                       unconstrained model: lower envelope over lambda of the means over seeds, in \
                       brackets the standard error. Every method may return the unconstrained \
                       model.";

fn equal_error(panel: &Panel) -> Table {
    let mut columns = vec!["violation at equal error".to_owned(), "honest epsilon".to_owned()];
    let first = panel.equal_error.first().into_iter().flat_map(|row| &row.at);
    columns.extend(first.map(|reached| format!("+{}", reached.excess)));
    let row = |(own, curve): (&steffle_report::EqualError, &steffle_report::Curve)| {
        let Privacy { honest_epsilon, claimed_epsilon, .. } = &curve.privacy;
        let claimed = claimed_epsilon.map(|claimed| format!(" (claims {claimed})"));
        let honest = honest_epsilon
            .map(|honest| format!("{honest:.2}{}", claimed.as_deref().unwrap_or_default()));
        let mut row = vec![own.label.clone(), honest.unwrap_or_else(|| "not private".to_owned())];
        row.extend(own.at.iter().map(cell));
        row
    };
    Table {
        title: panel.title.clone(),
        columns,
        rows: panel.equal_error.iter().zip(&panel.curves).map(row).collect(),
        caption: CAPTION.to_owned(),
    }
}

fn cell(reached: &Reached) -> String {
    match (reached.violation, reached.standard_error) {
        (None, _) => "-".to_owned(),
        (Some(violation), None) => format!("{violation:.2}"),
        (Some(violation), Some(error)) => format!("{violation:.2} ({error:.2})"),
    }
}
