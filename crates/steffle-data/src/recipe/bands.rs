//! Groups that are ranges of a number: bands of age, for studies of named data sets.

use std::collections::BTreeSet;

use crate::Error;
use crate::table::{Categories, Column, Here, Table};

/// A column that says in which range another, numeric one lies.
///
/// It is there where a recipe names it as sensitive, and nowhere else. The number stays a feature: what
/// such a study asks is whether a model can be made fair to a range of what it sees.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bands {
    /// What the column is called.
    pub(super) name: &'static str,
    /// The numeric column.
    pub(super) of: &'static str,
    /// A number from the first of these on is in the second range, and so on.
    pub(super) from: &'static [f64],
    /// One name per range; ranges that share a name are one group.
    pub(super) names: &'static [&'static str],
}

impl Bands {
    /// The groups, in the order of their letters.
    pub(super) fn groups(&self) -> Vec<String> {
        let groups: BTreeSet<String> = self.names.iter().map(|&name| name.to_owned()).collect();
        groups.into_iter().collect()
    }

    /// Adds the column to a table that has none of its name. A missing number is in no range.
    pub(super) fn add(&self, table: &mut Table) -> Result<(), Error> {
        if table.position(self.name).is_some() {
            return Ok(());
        }
        let at = table.require(self.of, "banded")?;
        let Here::Numbers(numbers) = table.columns()[at].here() else {
            return Err(Error::Csv {
                origin: table.origin().to_owned(),
                line: 1,
                message: format!(
                    "column `{}` is not numeric, so `{}` has no ranges",
                    self.of, self.name
                ),
            });
        };
        let name = |number: &f64| {
            let band = self.from.iter().filter(|&&from| *number >= from).count();
            (!number.is_nan()).then(|| self.names[band])
        };
        let groups = Categories::from_text(numbers.iter().map(name));
        table.push(self.name, Column::Text(groups));
        Ok(())
    }
}
