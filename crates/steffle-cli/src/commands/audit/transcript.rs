//! `steffle audit transcript`: one run that really was.

use std::fs;

use serde_json::json;
use steffle_audit::transcript::{Kept, Verdict, check, read};
use steffle_ledger::{Look, Says, Whole};
use steffle_privacy::ledger::{Line, from_hexadecimal};

use crate::args::TranscriptArgs;
use crate::commands::ledger::books;
use crate::failure::{Failure, Status};
use crate::ui::{Output, wrap};

/// Mismatches that are printed; the others are counted.
const SHOWN: usize = 20;

pub(super) fn transcript(args: &TranscriptArgs, output: Output) -> Result<(), Failure> {
    let path = &args.file;
    let bytes = fs::read(path).map_err(|error| Failure::at(path, &error))?;
    let frames = read(&bytes).map_err(|error| {
        let message = format!("{}: {error}", path.display());
        Failure::data("audit::transcript", message)
            .help("a journal is written by `steffle train --journal FILE` and never changed")
    })?;
    let books = args.ledger.as_deref().map(books).transpose()?;
    let kept: Option<Vec<Kept<'_>>> =
        books.as_ref().map(|books| books.iter().map(|(_, look)| kept(look)).collect());
    let verdict = check(&frames, kept.as_deref());
    let mut value = json!(verdict);
    value["path"] = json!(path);
    value["ledger"] = json!(args.ledger);
    output.result(&value, &text(args, &verdict, output))?;
    match verdict.mismatches.first() {
        None => Ok(()),
        Some(first) => {
            let more = match verdict.mismatches.len() {
                1 => String::new(),
                all => format!(" ({all} mismatches in all)"),
            };
            let message = format!("{}: {first}{more}", path.display());
            Err(Failure::new(Status::Threshold, "audit::mismatch", message))
        }
    }
}

/// A book and the replies that its lines hold.
fn kept(look: &Look) -> Kept<'_> {
    let reply = |whole: &Whole| match (&whole.page.says, &whole.page.reply) {
        (Says::Line(Line::Commit { reply, .. }), Some(digits)) => {
            Some((*reply, from_hexadecimal(digits)?))
        }
        _ => None,
    };
    Kept { book: &look.book, replies: look.reading.pages.iter().filter_map(reply).collect() }
}

fn text(args: &TranscriptArgs, verdict: &Verdict, output: Output) -> String {
    let kept = verdict.mismatches.is_empty();
    let heading =
        if kept { "The messages are those of the plan" } else { "The messages do not fit" };
    let mut text = format!("{}\n", output.strong(heading));
    let compared = match &args.ledger {
        Some(path) => format!("compared with {}", path.display()),
        None => "not compared with a book: name it with --ledger".to_owned(),
    };
    let claim = match (verdict.claimed_epsilon, verdict.delta) {
        (Some(epsilon), Some(delta)) if delta > 0.0 => {
            format!("epsilon {epsilon} at delta {delta:e} is promised")
        }
        (Some(epsilon), _) => format!("epsilon {epsilon} is promised"),
        (None, _) => "nothing is promised".to_owned(),
    };
    let spent = verdict.spent_mu.map_or_else(String::new, |mu| format!(", mu {mu:.6} is spent"));
    text += &wrap(&format!(
        "Run {}: {} messages with {} node(s), {} private replies, {} event(s) that paid for them; \
         {claim}{spent}; {compared}.",
        verdict.run, verdict.messages, verdict.nodes, verdict.private_replies, verdict.events,
    ));
    if let Some(totals) = verdict.totals {
        text += &wrap(&format!(
            "A run under masks: what one site sent is noise to everybody else, and is compared with no book. \
             Instead: all sites were asked the same in every trip, the masks of {totals} totals cancel, matrices \
             were without columns of fewer than five records, every private reply has its event, and a book was \
             offered the same and has as many events{}.",
            if kept { "" } else { ", but for what follows" }
        ));
    }
    for mismatch in verdict.mismatches.iter().take(SHOWN) {
        text += &wrap(&format!("- {mismatch}"));
    }
    if verdict.mismatches.len() > SHOWN {
        text += &format!("- and {} more\n", verdict.mismatches.len() - SHOWN);
    }
    text
}
