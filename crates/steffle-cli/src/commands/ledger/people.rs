//! `steffle ledger people`: the list of people of a holder elsewhere.

use std::path::Path;

use serde_json::json;
use steffle_data::{Silo, Site};
use steffle_ledger::{LedgerError, open};
use steffle_privacy::ledger::hexadecimal;

use super::clock;
use crate::args::LedgerPeopleArgs;
use crate::failure::Failure;
use crate::ui::{Output, wrap};

pub(super) fn people(args: &LedgerPeopleArgs, output: Output) -> Result<(), Failure> {
    let LedgerPeopleArgs { path, silo } = args;
    let Some((hash, records)) = accept(path, silo)? else {
        let message = format!("{}: the site has no list of people", silo.display());
        let help = "a site with role attributes names `people`; one that holds records is charged for \
                    its own records";
        return Err(Failure::data("ledger::list", message).help(help));
    };
    let text = wrap(&format!(
        "{}: the list of {records} records is accepted. They are charged for what is released, and \
         nobody else is answered about.",
        path.display()
    ));
    output.result(&json!({"path": path, "records": records, "hash": hexadecimal(&hash)}), &text)
}

/// Has a book accept the list of a site, where it has one: its hash, and the records on it.
pub(super) fn accept(book: &Path, silo: &Path) -> Result<Option<([u8; 32], usize)>, Failure> {
    let site = Site::of_silo(&Silo::read(silo)?)?;
    let Some(people) = site.people() else { return Ok(None) };
    let (hash, ids) = (people.digest(), people.ids());
    let place = book.display().to_string();
    open(book, clock)?
        .accept_list(hash, &mut ids.iter().copied())
        .map_err(|refusal| LedgerError::Refused { place, refusal })?;
    Ok(Some((hash, ids.len())))
}
