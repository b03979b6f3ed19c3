//! Attributes are matched with records by id, under the law of the job.

use std::collections::{HashMap, HashSet};

use steffle_attributes::Attributes;

use super::error::FilesError;
use crate::Error;
use crate::dataset::Dataset;
use crate::schema::AttributesFile;

/// Attributes beside their records, sealed in the order of these; what they say of others is not used,
/// and counted.
pub(super) fn together(
    records: &[Dataset],
    files: Vec<AttributesFile>,
) -> Result<(Vec<Attributes>, Vec<String>), Error> {
    once(&files.iter().map(|file| (file.origin(), file.ids())).collect::<Vec<_>>())?;
    let held: Vec<HashSet<u64>> =
        files.iter().map(|file| file.ids().iter().copied().collect()).collect();
    for (at, (silo, file)) in records.iter().zip(&files).enumerate() {
        let ids = silo.ids(silo.rows());
        let lost: Vec<u64> = ids.iter().copied().filter(|id| !held[at].contains(id)).collect();
        let there = |other: &HashSet<u64>| lost.iter().filter(|id| other.contains(id)).count();
        let elsewhere = held.iter().map(there).enumerate().max_by_key(|&(_, count)| count);
        if let Some((other, count)) = elsewhere.filter(|&(_, count)| count > 0) {
            return Err(Error::from(FilesError::Swapped {
                records: silo.table().origin().to_owned(),
                beside: file.origin().to_owned(),
                holds: files[other].origin().to_owned(),
                ids: count,
                holders: files.len(),
            }));
        }
        complete(silo, &held[at], file.origin())?;
    }
    let mut said = Vec::new();
    let mut sealed = Vec::with_capacity(files.len());
    for (silo, file) in records.iter().zip(files) {
        let ids = silo.ids(silo.rows());
        let unused = file.ids().len() - ids.len();
        if unused > 0 {
            said.push(format!(
                "{}: {unused} rows are not used: {} leaves these records out, or does not have them",
                file.origin(),
                silo.table().origin()
            ));
        }
        sealed.push(file.seal_for(ids)?);
    }
    Ok((sealed, said))
}

/// Attributes whose holders have a cut of their own.
pub(super) fn elsewhere(
    records: &[Dataset],
    files: Vec<AttributesFile>,
) -> Result<Vec<Attributes>, Error> {
    once(&files.iter().map(|file| (file.origin(), file.ids())).collect::<Vec<_>>())?;
    let held: HashSet<u64> = files.iter().flat_map(|file| file.ids().iter().copied()).collect();
    for silo in records {
        let holder = match &files[..] {
            [only] => only.origin(),
            _ => "any attributes file",
        };
        complete(silo, &held, holder)?;
    }
    files.into_iter().map(AttributesFile::seal).collect()
}

/// Refuses ids that two of the files hold.
pub(super) fn once(files: &[(&str, impl AsRef<[u64]>)]) -> Result<(), Error> {
    let mut holder: HashMap<u64, usize> = HashMap::new();
    let mut shared: HashMap<(usize, usize), usize> = HashMap::new();
    for (at, (_, ids)) in files.iter().enumerate() {
        for id in ids.as_ref() {
            if let Some(&first) = holder.get(id) {
                *shared.entry((first, at)).or_default() += 1;
            } else {
                holder.insert(*id, at);
            }
        }
    }
    let name = |at: usize| files[at].0.to_owned();
    match shared.into_iter().min() {
        Some(((first, second), ids)) => {
            Err(FilesError::Repeated { first: name(first), second: name(second), ids }.into())
        }
        None => Ok(()),
    }
}

/// Refuses records about which nothing is held.
fn complete(silo: &Dataset, held: &HashSet<u64>, holder: &str) -> Result<(), Error> {
    let (rows, ids) = (silo.rows(), silo.ids(silo.rows()));
    let mut lost = rows.iter().zip(&ids).filter(|(_, id)| !held.contains(id));
    let Some((&row, _)) = lost.next() else { return Ok(()) };
    Err(Error::from(FilesError::NoAttributes {
        records: silo.table().origin().to_owned(),
        holder: holder.to_owned(),
        ids: 1 + lost.count(),
        of: ids.len(),
        row: u64::from(row) + 1,
    }))
}
