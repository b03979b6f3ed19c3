//! Whether files of one job are about the same columns and labels, told file by file.

use std::collections::BTreeMap;

use super::error::FilesError;
use crate::Error;
use crate::dataset::{Dataset, lookalikes};
use crate::schema::Summary;

/// Refuses files whose columns or labels differ; returns what should be looked at.
pub(super) fn agree<'d>(
    files: impl Iterator<Item = &'d Dataset> + Clone,
) -> Result<Vec<String>, Error> {
    let mut others = files.clone();
    if let Some(first) = others.next() {
        for second in others {
            same_columns(first, second)?;
            same_columns(second, first)?;
        }
    }
    labels(files)
}

fn origin(data: &Dataset) -> String {
    data.table().origin().to_owned()
}

/// Per feature what it holds, in words.
fn kinds(data: &Dataset) -> BTreeMap<&str, String> {
    let dates = &data.recipe().dialect.date_columns;
    let numeric = data.numeric().map(|(name, _)| {
        (name, if dates.contains_key(name) { "dates" } else { "numbers" }.to_owned())
    });
    let text = data.categorical().map(|(name, column)| {
        let levels = column.levels().unwrap_or_default();
        let odd = levels.iter().find(|level| level.parse::<f64>().is_err());
        (name, odd.map_or("text".to_owned(), |level| format!("text (`{level}`)")))
    });
    numeric.chain(text).collect()
}

fn same_columns(first: &Dataset, second: &Dataset) -> Result<(), Error> {
    let (one, two) = (kinds(first), kinds(second));
    for (column, kind) in &one {
        let (first, second) = (origin(first), origin(second));
        let Some(other) = two.get(column) else {
            let others = two.keys().filter(|name| !one.contains_key(*name));
            let others = others.map(|name| (*name).to_owned()).collect();
            let column = (*column).to_owned();
            return Err(FilesError::Column { first, second, column, others }.into());
        };
        let word = |kind: &str| kind.split(' ').next().map(str::to_owned);
        if word(kind) != word(other) {
            let (one, two) = (kind.clone(), other.clone());
            let column = (*column).to_owned();
            return Err(FilesError::Kind { column, first, one, second, two }.into());
        }
    }
    Ok(())
}

/// Where nothing is agreed: refuses labels that look alike and files without a common one, and tells
/// which labels only one file has.
fn labels<'d>(files: impl Iterator<Item = &'d Dataset> + Clone) -> Result<Vec<String>, Error> {
    let found: Vec<(String, Vec<String>)> =
        files.clone().map(|data| (origin(data), Summary::of(data, &[]).sorted_labels())).collect();
    let Some(recipe) = files.map(Dataset::recipe).find(|recipe| recipe.labels.is_empty()) else {
        return Ok(Vec::new());
    };
    let column = recipe.label.clone();
    let mut holders: BTreeMap<&String, Vec<&String>> = BTreeMap::new();
    for (file, labels) in &found {
        for label in labels {
            holders.entry(label).or_default().push(file);
        }
    }
    let names: Vec<String> = holders.keys().map(|name| (*name).clone()).collect();
    if let Some([one, two]) = lookalikes(&names).pop() {
        let (first, second) = (holders[&one][0].clone(), holders[&two][0].clone());
        return Err(FilesError::Lookalikes { column, one, first, two, second }.into());
    }
    for (at, (first, one)) in found.iter().enumerate() {
        let apart =
            |(_, two): &&(String, Vec<String>)| one.iter().all(|label| !two.contains(label));
        if let Some((second, two)) = found[at + 1..].iter().find(apart) {
            let (first, second) = (first.clone(), second.clone());
            let (one, two) = (one.clone(), two.clone());
            return Err(FilesError::Labels { column, first, one, second, two }.into());
        }
    }
    let alone = holders.iter().filter(|(_, files)| files.len() == 1 && found.len() > 2);
    let sentence = |(label, files): (&&String, &Vec<&String>)| {
        format!("label `{label}` of `{column}` occurs in {} only", files[0])
    };
    Ok(alone.map(sentence).collect())
}
