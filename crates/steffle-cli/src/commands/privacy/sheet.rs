//! `steffle privacy sheet`: one page to sign before a run, and to keep after it.

use std::fs;
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};
use steffle_ledger::{book_paths, look};
use steffle_privacy::explain::Scope;
use steffle_privacy::rounding;

use super::{metrics, promise};
use crate::args::SheetArgs;
use crate::failure::Failure;
use crate::staged::Staged;
use crate::ui::Output;

pub(super) fn sheet(args: &SheetArgs, output: Output) -> Result<(), Failure> {
    let asked = asked(&args.what)?;
    let markdown = markdown(&asked, args.ledger.as_deref())?;
    if let Some(path) = &args.html {
        let (staged, mut file) = Staged::file(path)?;
        file.write_all(html(&markdown).as_bytes()).map_err(|error| Failure::at(path, &error))?;
        staged.commit()?;
    }
    output.result(&json!({"sheet": markdown, "html": args.html}), &markdown)
}

/// A plan that `train --dry-run --json` printed, or what a run directory says.
fn asked(path: &Path) -> Result<Value, Failure> {
    if path.is_dir() {
        return metrics(path);
    }
    let wrong = |why: String| {
        let message = format!("{}: not a plan: {why}", path.display());
        let help = "give what `steffle train ... --dry-run --json` printed, or a run directory";
        Failure::data("privacy::sheet", message).help(help)
    };
    let text = fs::read_to_string(path).map_err(|error| Failure::at(path, &error))?;
    let mut plan: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if plan["privacy"]["statement"].as_str().is_none() {
        return Err(wrong("it says nothing about privacy".into()));
    }
    for key in ["method", "mode", "notion", "data"] {
        plan[key] = plan["config"][key].clone();
    }
    Ok(plan)
}

fn markdown(asked: &Value, ledger: Option<&Path>) -> Result<String, Failure> {
    let word = |name: &str| asked[name].as_str().unwrap_or("-").to_owned();
    let privacy = &asked["privacy"];
    let number = |value: &Value| value.as_f64().map_or_else(|| "none".into(), |n| n.to_string());
    let before = asked["dry_run"].as_bool().unwrap_or(false);
    let people: u64 =
        asked["silo_rows"].as_array().into_iter().flatten().filter_map(Value::as_u64).sum();
    let mut page = format!(
        "# Sign-off sheet: {}\n\n{}\n\n## What {} asked\n\n\
         | | |\n|---|---|\n| method | {}, mode {}, for {} |\n| rounds (questions of the server, one reply \
         per store each) | {} |\n| epsilon (odds about one person move by at most a factor e^epsilon) | {} \
         |\n{}| delta (the chance that this fails) | {} |\n| kind | {} |\n\n{}\n\n",
        word("data"),
        "A *store* is the table of record ids and sensitive attributes of one organisation. A *release* is \
         one message of noisy numbers that leaves it. A *unit* is a person: one row, or all rows that \
         `--unit` joins. A *cell* is a part of the records in which groups are compared.",
        if before { "will be" } else { "was" },
        word("method"),
        word("mode"),
        word("notion"),
        asked["rounds"].as_u64().map_or_else(|| "until the optimum".into(), |n| n.to_string()),
        number(&privacy["epsilon"]),
        alone(&privacy["claim"]),
        number(&privacy["delta"]),
        privacy["kind"].as_str().unwrap_or("none"),
        privacy["statement"].as_str().unwrap_or_default(),
    );
    page += &format!(
        "## Of whom\n\n{people} training records in {} silo(s). Neighbours: {}.\n\n",
        asked["silo_rows"].as_array().map_or(0, Vec::len),
        privacy["adjacency"].as_str().unwrap_or("nothing is claimed")
    );
    page += &budget(ledger, asked, before)?;
    page += "## What leaves in the clear\n\n| step | numbers | to send less |\n|---|---|---|\n";
    for left in asked["leaves_in_clear"].as_array().into_iter().flatten() {
        let word = |name: &str| left[name].as_str().unwrap_or_default();
        page += &format!(
            "| {}: {} | {} | {} |\n",
            word("step"),
            word("what"),
            left["numbers"],
            word("avoid")
        );
    }
    page += "\n## What is not protected\n\n";
    for item in Scope::ATTRIBUTE.not_protected {
        page += &format!("- {item}\n");
    }
    page += "\n";
    page += &receipts(asked);
    page += "## Who agreed\n\n| name | role | date | signature |\n|---|---|---|---|\n| | privacy officer | \
             | |\n| | owner of the data | | |\n";
    Ok(page)
}

/// Of noise that sites share: against whom it is claimed, and what is left if all others help.
fn alone(claim: &Value) -> String {
    let Some(epsilon) = claim["epsilon_alone"].as_f64() else { return String::new() };
    format!(
        "| against | {} |\n| *alone*: epsilon if all other sites help the server | {} |\n",
        claim["against"].as_str().unwrap_or("-"),
        rounding::up(epsilon, 4)
    )
}

/// What every store has spent: before the run and, if it happens, after it.
fn budget(ledger: Option<&Path>, asked: &Value, before: bool) -> Result<String, Failure> {
    let Some(path) = ledger else {
        return Ok("## Budget\n\nNo ledger was named: nothing but this sheet remembers what was \
                   spent before.\n\n"
            .into());
    };
    let columns = if before {
        "spent before the run | spent after it"
    } else {
        "spent, the run included | left for one more run"
    };
    let mut text = format!(
        "## Budget\n\n| store | promised to everyone in it, for life | {columns} |\n|---|---|---|---|\n"
    );
    let promise = promise(asked);
    for path in book_paths(path)? {
        let look = look(&path)?;
        let balance = look.balance();
        let spent = balance.map_or(0.0, |balance| balance.epsilon_taken());
        let other = match (before, balance, &promise) {
            (true, Some(balance), Some(promise)) => balance.with(promise).map_or_else(
                || "more than is left: the store will refuse".to_owned(),
                |after| format!("epsilon {}", rounding::up(after.epsilon_taken(), 4)),
            ),
            (true, ..) => "-".to_owned(),
            (false, balance, _) => {
                let left = balance.map_or(0.0, |balance| balance.gaussian_epsilon_left());
                format!("epsilon {}", rounding::down(left, 4))
            }
        };
        let policy = &look.charter.policy;
        text += &format!(
            "| {} | epsilon {} at delta {:e} | epsilon {} | {other} |\n",
            look.charter.store.0,
            policy.epsilon,
            policy.delta,
            rounding::up(spent, 4),
        );
        // The second pot: what is promised where nobody else's noise counts.
        if let Some(promised) = policy.epsilon_alone {
            let spent = balance.map_or(0.0, |balance| balance.alone_epsilon_taken());
            text += &format!(
                "| the same, *alone* | epsilon {promised} at delta {:e} | epsilon {} | {} |\n",
                policy.delta,
                rounding::up(spent, 4),
                claimed_alone(asked, before),
            );
        }
    }
    text += "\nEpsilons of runs are not added: with Gaussian noise the squares of mu are, where mu is \
             the signal about one person over the noise. A store that has less left refuses a run \
             before anything is read.\n\n";
    Ok(text)
}

/// What a run that is to come takes from the second pot.
fn claimed_alone(asked: &Value, before: bool) -> String {
    match asked["privacy"]["claim"]["epsilon_alone"].as_f64().filter(|_| before) {
        Some(epsilon) => format!("the run alone: epsilon {}", rounding::up(epsilon, 4)),
        None => "-".to_owned(),
    }
}

/// What the stores noted of a run that has ended: one line per release.
fn receipts(asked: &Value) -> String {
    let Some(stores) = asked["ledger"]["stores"].as_array() else {
        return String::new();
    };
    let mut text = "## Receipts\n\nOne line per release, as it stands in the store's book \
                    (`steffle ledger verify BOOK --run DIRECTORY` compares them).\n\n\
                    | store | release of its life | about | hash of what was sent |\n|---|---|---|---|\n"
        .to_owned();
    for store in stores {
        for receipt in store["receipts"].as_array().into_iter().flatten() {
            let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
            text += &format!(
                "| {} | {} | {} | {} |\n",
                word(&store["store"]),
                receipt["sequence"],
                word(&receipt["kind"]),
                word(&receipt["reply"]),
            );
        }
    }
    text + "\n"
}

/// The same as a page: the few forms of Markdown that stand above.
fn html(markdown: &str) -> String {
    let escape = |text: &str| {
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        pairs(&pairs(&text, '*', "em"), '`', "code")
    };
    let mut body = String::new();
    let mut table = false;
    for line in markdown.lines() {
        let row = line.strip_prefix("| ").or_else(|| line.strip_prefix("|"));
        if table && row.is_none() {
            body += "</table>\n";
            table = false;
        }
        if let Some(row) = row {
            if row.starts_with("---") {
                continue;
            }
            if !table {
                body += "<table>\n";
                table = true;
            }
            let cells = row.trim_end_matches('|').split('|').map(|cell| escape(cell.trim()));
            body += &format!("<tr><td>{}</tr>\n", cells.collect::<Vec<_>>().join("<td>"));
        } else if let Some(title) = line.strip_prefix("## ") {
            body += &format!("<h2>{}</h2>\n", escape(title));
        } else if let Some(title) = line.strip_prefix("# ") {
            body += &format!("<h1>{}</h1>\n", escape(title));
        } else if let Some(item) = line.strip_prefix("- ") {
            body += &format!("<li>{}</li>\n", escape(item));
        } else if !line.is_empty() {
            body += &format!("<p>{}</p>\n", escape(line));
        }
    }
    if table {
        body += "</table>\n";
    }
    format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>Sign-off sheet</title><style>\
         body{{font:15px/1.45 system-ui,sans-serif;max-width:50rem;margin:1.5rem auto;padding:0 1rem;\
         overflow-wrap:anywhere}}\
         @media print{{body{{font-size:10px;margin:0 auto}}p,li,h1,h2{{margin:.3em 0}}}}\
         table{{border-collapse:collapse;width:100%}}td{{border:1px solid #ccc;padding:.25rem .5rem}}\
         </style>\n{body}</html>\n"
    )
}

/// What stands between two marks becomes an element.
fn pairs(text: &str, mark: char, element: &str) -> String {
    let mut parts = text.split(mark);
    let mut html = parts.next().unwrap_or_default().to_owned();
    while let Some(inside) = parts.next() {
        html += &match parts.next() {
            Some(after) => format!("<{element}>{inside}</{element}>{after}"),
            None => format!("{mark}{inside}"),
        };
    }
    html
}
