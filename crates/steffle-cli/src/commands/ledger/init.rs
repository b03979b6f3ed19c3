//! `steffle ledger init`.

use std::fs;

use serde_json::json;
use steffle_ledger::{Charter, StoreId, book_paths, create, create_folder, look};
use steffle_privacy::Policy;

use super::clock;
use super::columns::{in_words, named};
use super::people::accept;
use crate::args::LedgerInitArgs;
use crate::failure::Failure;
use crate::ui::{Output, wrap};

pub(super) fn init(args: &LedgerInitArgs, output: Output) -> Result<(), Failure> {
    let policy = policy(args)?;
    let columns = named(&args.columns)?;
    // A second head is found again from wherever the book is used.
    let head = args.head.as_deref().map(std::path::absolute).transpose();
    let head = head.map_err(|error| Failure::at(&args.path, &error))?;
    match args.silos {
        Some(0) => {
            return Err(Failure::usage("usage::arguments", "--silos is 0; it has to be 1 or more"));
        }
        Some(silos) => create_folder(&args.path, silos, &policy, &columns, head.as_deref(), clock)?,
        None => {
            let store = StoreId::random();
            let store = store.ok_or_else(|| Failure::bug("no random numbers for a name"))?;
            let charter = Charter::new(store, policy.clone(), head.clone());
            create(&args.path, charter, &columns, clock)?;
        }
    }
    let listed = match (&args.columns.silo, args.silos) {
        (Some(silo), None) => accept(&args.path, silo)?,
        _ => None,
    };
    let stores = book_paths(&args.path)?;
    let stores = stores.iter().map(|path| Ok(look(path)?.charter.store));
    let stores: Vec<StoreId> = stores.collect::<Result<_, Failure>>()?;
    let value = json!({
        "path": args.path,
        "stores": stores,
        "policy": policy,
        "columns": columns,
        "head": head,
    });
    let (place, Policy { epsilon, delta, .. }) = (args.path.display(), &policy);
    let books = match stores.len() {
        1 => "a book for one store".to_owned(),
        count => format!("books for {count} stores, one per silo"),
    };
    let mut text = wrap(&format!(
        "{place}: {books}. Everyone in a store is promised epsilon {epsilon} at delta {delta:e}, for \
         all runs together and for good."
    ));
    text += &wrap(&in_words(&columns));
    if let Some((_, records)) = listed {
        text += &wrap(&format!("The site's list of {records} records is accepted."));
    }
    if let Some(alone) = policy.epsilon_alone {
        text += &wrap(&format!(
            "Where sites share noise, that is while no more of them help the server than a run says; \
             if all others do: epsilon {alone}."
        ));
    }
    if head.is_none() {
        text += &wrap(
            "Without --head nobody can tell when an older copy of the book is put in its place: keep \
             one on another disk if you can.",
        );
    }
    text += &wrap(&format!("Next: steffle ledger show {place}"));
    output.result(&value, &text)
}

/// What was typed, or stands in the policy file.
fn policy(args: &LedgerInitArgs) -> Result<Policy, Failure> {
    if let Some(path) = &args.policy {
        let text = fs::read_to_string(path).map_err(|error| Failure::at(path, &error))?;
        return toml::from_str(&text).map_err(|error| {
            let message = format!("{}: not a policy: {}", path.display(), error.message());
            let help = "a policy has epsilon and delta, and may have epsilon_alone, pure_share, sampled_share, \
                        methods, modes, notions, open_runs and simulations";
            Failure::data("ledger::policy", message).help(help)
        });
    }
    let (Some(epsilon), Some(delta)) = (args.epsilon, args.delta) else {
        let message = "a book needs --epsilon and --delta, or --policy";
        return Err(Failure::usage("usage::missing", message));
    };
    Ok(Policy {
        epsilon_alone: args.epsilon_alone,
        pure_share: args.pure_share,
        sampled_share: args.sampled_share,
        methods: args.methods.clone(),
        modes: args.modes.clone(),
        notions: args.notions.clone(),
        ..Policy::of(epsilon, delta)
    })
}
