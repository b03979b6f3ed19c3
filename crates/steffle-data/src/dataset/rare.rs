//! Levels that hardly any row has become one.

use std::collections::BTreeMap;

use crate::recipe::Recipe;
use crate::table::{Column, Here, Table};

/// The level of all that hardly any row has.
pub(crate) const OTHER_NAME: &str = "(other)";

/// A column with levels that became one.
pub(super) struct Pooled {
    column: String,
    levels: usize,
    below: u32,
}

impl Pooled {
    pub(super) fn sentence(&self) -> String {
        let Self { column, levels, below } = self;
        format!(
            "column `{column}`: {levels} levels that fewer than {below} rows have are one, \
             `{OTHER_NAME}`; <rare 0> keeps them apart"
        )
    }
}

/// The count below which a level is rare, where nobody says: 10 rows, or one row in 200 where that is
/// fewer. In 200 rows or fewer no level is rare.
fn usual(rows: usize) -> u32 {
    rows.div_ceil(200).min(10) as u32
}

/// Pools the rare levels of the given categorical columns, counted in the usable rows. A level alone
/// is left as it is: under another name it would say less and cost as much.
pub(super) fn pool(
    table: &mut Table,
    categorical: &[usize],
    rows: &[u32],
    recipe: &Recipe,
) -> Vec<Pooled> {
    let below = recipe.rare.unwrap_or_else(|| usual(rows.len()));
    let mut pooled = Vec::new();
    for &at in categorical {
        let name = table.names()[at].clone();
        // Where every level that occurs is kept there is nothing to count.
        if below < 2 || recipe.keep.contains(&name) {
            continue;
        }
        let Here::Text(text) = table.columns()[at].here() else { continue };
        let mut counts = vec![0u32; text.levels.len()];
        for &row in rows {
            if let Some(count) = counts.get_mut(text.codes[row as usize] as usize) {
                *count += 1;
            }
        }
        let rare = text.levels.iter().zip(&counts).filter(|&(_, &count)| count < below);
        let names: BTreeMap<String, String> =
            rare.clone().map(|(level, _)| (level.clone(), OTHER_NAME.to_owned())).collect();
        let levels = rare.filter(|&(_, &count)| count > 0).count();
        if levels > 1 {
            let mut text = text.into_owned();
            text.rename(&names);
            table.replace(at, Column::Text(text));
            pooled.push(Pooled { column: name, levels, below });
        }
    }
    pooled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_rows_have_no_rare_level() {
        assert_eq!([1, 200, 201, 1000, 2000, 1_000_000].map(usual), [1, 1, 2, 5, 10, 10]);
    }
}
