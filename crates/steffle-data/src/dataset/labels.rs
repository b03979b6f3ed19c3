//! Labels are agreed: what is not among them, and what looks like one of them.

use std::collections::HashMap;

use crate::Error;
use crate::recipe::Recipe;
use crate::table::{Here, Table};

/// Refuses labels that are not among the agreed ones and, where nothing is agreed, labels that differ
/// in case or spaces only: they would become two labels of one model.
pub(super) fn check(table: &Table, label: usize, recipe: &Recipe) -> Result<(), Error> {
    let Here::Text(text) = table.columns()[label].here() else { return Ok(()) };
    let (origin, column) = (|| table.origin().to_owned(), || recipe.label.clone());
    if recipe.labels.is_empty() {
        return match lookalikes(&text.levels).pop() {
            Some(names) => Err(Error::Lookalikes { origin: origin(), column: column(), names }),
            None => Ok(()),
        };
    }
    let strange: Vec<bool> =
        text.levels.iter().map(|level| !recipe.labels.contains(level)).collect();
    let known = |code: &&u32| strange.get(**code as usize).copied().unwrap_or(false);
    let rows = text.codes.iter().filter(known).count();
    if rows == 0 {
        return Ok(());
    }
    let found = text.levels.iter().zip(&strange).filter(|(_, strange)| **strange);
    Err(Error::Labels {
        origin: origin(),
        column: column(),
        rows,
        found: found.map(|(level, _)| level.clone()).collect(),
        known: recipe.labels.clone(),
    })
}

/// Pairs of names that differ in case or spaces only.
pub(crate) fn lookalikes(names: &[String]) -> Vec<[String; 2]> {
    let mut seen: HashMap<String, &String> = HashMap::new();
    let mut pairs = Vec::new();
    for name in names {
        let plain: String = name.chars().filter(|c| !c.is_whitespace()).collect();
        if let Some(other) = seen.insert(plain.to_lowercase(), name) {
            pairs.push([other.clone(), name.clone()]);
        }
    }
    pairs
}
