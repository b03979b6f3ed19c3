//! `steffle ledger show`: a book for its owner.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};
use steffle_ledger::{Look, Spending};
use steffle_privacy::ledger::Balance;
use steffle_privacy::rounding;

use super::columns::in_words;
use super::{books, date, page};
use crate::args::LedgerShowArgs;
use crate::failure::Failure;
use crate::staged::Staged;
use crate::ui::{Output, Rows, wrap};

pub(super) fn show(args: &LedgerShowArgs, output: Output) -> Result<(), Failure> {
    let books = books(&args.path)?;
    let mut values: Vec<Value> = books.iter().map(|(name, look)| value(name, look)).collect();
    if let Some(path) = &args.html {
        write(path, &page::page(&books))?;
    }
    let mut object = match values.len() {
        1 => values.remove(0),
        _ => together(&values),
    };
    if let Some(path) = &args.html {
        object["html"] = json!(path);
    }
    let text: Vec<String> = books.iter().map(|(name, look)| text(name, look, output)).collect();
    output.result(&object, &text.join("\n"))
}

/// What a book says about itself.
pub(super) fn value(name: &str, look: &Look) -> Value {
    let policy = &look.charter.policy;
    let (units, records) = look.book.people();
    let balance = look.balance();
    json!({
        "path": name,
        "store": look.charter.store,
        "epsilon_budget": policy.epsilon,
        "epsilon_spent": balance.map_or(0.0, |balance| balance.epsilon_taken()),
        "delta": policy.delta,
        "entries": look.end().0,
        "policy": policy,
        "columns": look.book.columns(),
        "admitted": look.book.admitted(),
        "head": look.charter.head,
        "records": records,
        "units": units,
        "pots": balance,
        "epsilon_left": balance.map(|balance| balance.gaussian_epsilon_left()),
        "epsilon_left_for_new_records":
            look.book.balance_of_new().map(|balance| balance.gaussian_epsilon_left()),
        "runs": look.runs,
        "torn_bytes": look.reading.torn,
        "last_hash": look.end().1,
    })
}

/// Several books: the budget is each silo's own, so that the dearest counts.
fn together(books: &[Value]) -> Value {
    let most = |key: &str| books.iter().filter_map(|book| book[key].as_f64()).fold(0.0, f64::max);
    let entries: u64 = books.iter().filter_map(|book| book["entries"].as_u64()).sum();
    json!({
        "epsilon_budget": most("epsilon_budget"),
        "epsilon_spent": most("epsilon_spent"),
        "delta": most("delta"),
        "entries": entries,
        "books": books,
    })
}

fn text(name: &str, look: &Look, output: Output) -> String {
    let policy = &look.charter.policy;
    let (units, records) = look.book.people();
    let mut text = format!("{}\n", output.strong(name));
    text += &wrap(&format!(
        "The book of a store: the sensitive attributes of {units} people ({records} records) so far. \
         Promised to each of them, for all runs together and for good: epsilon {} at delta {:e}.",
        policy.epsilon, policy.delta
    ));
    text += &wrap(&about(look));
    text.push('\n');
    if look.runs.is_empty() {
        text += "No run has asked for anything yet.\n";
    } else {
        text += &runs(&look.runs);
        text.push('\n');
    }
    if let Some(balance) = look.balance() {
        text += &wrap(&left(look, &balance));
    }
    text += &wrap(&asides(look));
    text
}

/// What the owner said about the store.
fn about(look: &Look) -> String {
    let mut text = match look.book.columns() {
        Some(columns) => in_words(columns),
        None => {
            "Its columns are not named, and runs are refused until they are: see `steffle ledger \
                 columns`."
                .to_owned()
        }
    };
    if look.book.admitted() {
        text += " The next list of people of whom none is known is admitted.";
    }
    text
}

/// A line per run.
fn runs(runs: &[Spending]) -> String {
    let header = ["run", "opened", "method", "people", "asked", "costs", "replies", "left", ""];
    let mut table = Rows::new(&header);
    for run in runs {
        let short: String = run.run.chars().take(8).collect();
        let state = match (run.closed, run.unsent) {
            (false, _) => "open: charged in full".to_owned(),
            (true, 0) => String::new(),
            (true, unsent) => format!("{unsent} paid, not sent"),
        };
        table.push(vec![
            if short.is_empty() { "-".to_owned() } else { short },
            date(run.opened),
            run.method.clone(),
            run.units.to_string(),
            format!("{}", run.epsilon),
            rounding::up(run.costs, 4).to_string(),
            run.replies.to_string(),
            format!("mu {:.4}", run.mu_left),
            state,
        ]);
    }
    table.render()
        + &wrap(
            "asked, costs: epsilon at the run's own delta. A run is charged what it asked for while it \
             is open, and what its replies cost once it has ended; a reply (release) is one message of \
             noisy sums that left the store. left: what the people of that run had afterwards, in mu, \
             the unit in which runs add up (as squares): epsilons of runs are not to be added.",
        )
}

/// What is left, and what that would buy.
fn left(look: &Look, balance: &Balance) -> String {
    let spent = rounding::up(balance.epsilon_taken(), 4);
    let budget = look.charter.policy.epsilon;
    let more = rounding::down(balance.gaussian_epsilon_left(), 4);
    let delta = balance.gaussian_delta;
    let mut text = format!("Spent or promised: epsilon {spent} of {budget}.");
    text += &match balance.gaussian.left {
        0.0 => " For those who were in every run nothing is left: further runs about them are \
                refused."
            .to_owned(),
        _ => format!(
            " What is left buys one more run of epsilon {more} at delta {delta:e} about everybody."
        ),
    };
    let last = look.runs.iter().rev().find(|run| run.mu.is_some_and(|mu| mu > 0.0));
    if let Some((run, mu)) = last.and_then(|run| Some((run, run.mu?))) {
        let times = |left: f64, mu: f64| ((left / mu).powi(2) * (1.0 - 1e-9)).floor();
        let alone = times(balance.alone.left, run.mu_alone.unwrap_or(mu));
        let times = times(balance.gaussian.left, mu).min(alone);
        text += &format!(
            " Runs that cost epsilon {} like the last one: {times} more.",
            rounding::up(run.costs, 4)
        );
    }
    if let Some(new) =
        look.book.balance_of_new().filter(|new| new.gaussian.left > balance.gaussian.left)
    {
        let more = rounding::down(new.gaussian_epsilon_left(), 4);
        text += &format!(" Whoever joins the store from now on begins with epsilon {more}.");
    }
    if let Some(alone) = look.charter.policy.epsilon_alone {
        let taken = rounding::up(balance.alone_epsilon_taken(), 4);
        text += &format!(
            " If all other sites help the server: epsilon {taken} of {} is spent or promised by \
             Gaussian messages; the store is promised epsilon {alone} then.",
            rounding::down(balance.alone_epsilon, 4)
        );
    }
    for (name, pot) in [("sampled plans", balance.sampled), ("pure releases", balance.pure)] {
        if pot.whole > 0.0 {
            let left = rounding::down(pot.left, 4);
            text += &format!(" Kept for {name}: epsilon {left} of {} left.", pot.whole);
        }
    }
    text
}

fn asides(look: &Look) -> String {
    let head = match (&look.charter.head, look.head) {
        (Some(head), Some(seen)) => {
            format!("its second head {} has seen line {seen}", head.display())
        }
        _ => "it has no second head, so that an older copy in its place would not be noticed"
            .to_owned(),
    };
    let torn = match look.reading.torn {
        0 => String::new(),
        torn => format!(" {torn} bytes of a line are not written to its end."),
    };
    format!("{} lines; {head}.{torn}", look.end().0)
}

pub(super) fn write(path: &Path, page: &str) -> Result<(), Failure> {
    let (staged, mut file) = Staged::file(path)?;
    file.write_all(page.as_bytes()).map_err(|error| Failure::at(path, &error))?;
    staged.commit()
}
