//! `steffle ledger people`: the list of people of a holder elsewhere.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use serde_json::json;
use steffle_data::{Silo, Site};
use steffle_ledger::{LedgerError, open};
use steffle_privacy::ledger::hexadecimal;

use super::clock;
use crate::args::LedgerPeopleArgs;
use crate::failure::Failure;
use crate::staged::Staged;
use crate::ui::{Output, wrap};

pub(super) fn people(args: &LedgerPeopleArgs, output: Output) -> Result<(), Failure> {
    let LedgerPeopleArgs { path, silo, list } = args;
    if let Some(list) = list {
        name(silo, list)?;
    }
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

/// Writes the list into a `silo.toml` that names none; refuses one that names another.
fn name(silo: &Path, list: &Path) -> Result<(), Failure> {
    let text = fs::read_to_string(silo).map_err(|error| Failure::at(silo, &error))?;
    let refuse =
        |message: &str| Err(Failure::data("data::silo", format!("{}: {message}", silo.display())));
    let Ok(written) = text.parse::<toml::Table>() else { return refuse("is not TOML") };
    let folder = silo.parent().unwrap_or(Path::new(""));
    let own = match list.strip_prefix(folder) {
        Ok(own) => own.to_path_buf(),
        Err(_) => std::path::absolute(list).map_err(|error| Failure::at(list, &error))?,
    };
    let own = toml::Value::from(own.to_string_lossy().into_owned());
    match written.get("people") {
        Some(there) if *there == own => return Ok(()),
        Some(_) => return refuse("names another list under `people`; change it there"),
        None => {}
    }
    // Keys of their own stand before the first table.
    let at = text.lines().take_while(|line| !line.trim_start().starts_with('[')).count();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.insert(at, format!("people = {own}"));
    let (staged, mut file) = Staged::file(silo)?;
    let whole = lines.join("\n") + "\n";
    file.write_all(whole.as_bytes()).map_err(|error| Failure::at(silo, &error))?;
    staged.commit()
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
