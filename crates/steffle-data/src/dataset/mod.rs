//! A table whose columns have their meaning.

mod bundles;
mod digests;
mod ids;
mod labels;
mod rare;
mod reveal;
mod roles;
mod unfit;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::OnceLock;

use steffle_attributes::SealedColumns;

use self::rare::Pooled;
use self::unfit::LeftOut;
use crate::recipe::{Missing, Recipe};
use crate::schema::{Schema, Summary};
use crate::table::{Categories, Column, Columns, Dialect, Here, PIECE, Table, read_as, same_name};
use crate::{CellError, Error, NameError};

pub(crate) use bundles::Bundles;
pub(crate) use ids::{UnitColumn, ids_of, units_of};
pub(crate) use labels::lookalikes;
pub(crate) use rare::OTHER_NAME;

/// A table with a recipe applied: values renamed, the label cut, unusable rows set aside.
///
/// Which rows are usable depends on label, features and stratum, never on a sensitive value.
///
/// Rows are named by their place in the table; [`Dataset::rows`] lists the usable ones, and
/// splitting, partitioning, summarising and encoding all take such lists, so no row is copied
/// before it is encoded.
pub struct Dataset {
    table: Table,
    recipe: Recipe,
    numeric: Vec<usize>,
    /// Which of these have a number in every row of the table.
    complete: Vec<bool>,
    categorical: Vec<usize>,
    label: usize,
    /// The sensitive columns, which the table does not have.
    sealed: SealedColumns,
    stratum: Option<Categories>,
    ids: Option<Vec<u64>>,
    /// The id of the first row, where ids are counted.
    first_id: u64,
    units: Option<UnitColumn>,
    rows: Vec<u32>,
    missing: BTreeMap<String, usize>,
    left_out: Vec<LeftOut>,
    pooled: Vec<Pooled>,
    names: OnceLock<Summary>,
    /// Columns that tell the label, or s, for whoever asks first.
    tells_label: OnceLock<Vec<String>>,
    tells_sensitive: OnceLock<Vec<String>>,
}

impl Dataset {
    /// Applies a recipe; refuses unknown columns, clashing roles and a table without usable rows.
    pub fn new(table: Table, recipe: Recipe) -> Result<Self, Error> {
        Self::bind(table, recipe, true)
    }

    /// The same for a table of its own, which is looked at as a whole:
    ///
    /// - columns of names, ids and nothing are left out, unless the recipe keeps them or calls them
    ///   categorical: text with at least 50 different values, and half as many as there are values;
    ///   whole numbers that count the rows, or all differ and are called an id; columns without a
    ///   value;
    /// - levels that hardly any usable row has become one, `(other)`: fewer than [`Recipe::rare`], or
    ///   than 10 and than one row in 200, unless the recipe keeps the column or is a published one.
    ///
    /// Not for files of silos: each would decide for itself.
    pub fn of_table(mut table: Table, mut recipe: Recipe) -> Result<Self, Error> {
        table.seal(&recipe.sensitive)?;
        // A record id is no feature, also where it is found by its name.
        if recipe.record_id.is_none() && table.position("record_id").is_some() {
            recipe.record_id = Some("record_id".to_owned());
        }
        let left_out = unfit::unfit(&table, &recipe);
        recipe.drop.extend(left_out.iter().map(|left_out| left_out.column.clone()));
        let mut data = Self { left_out, ..Self::new(table, recipe)? };
        if !data.recipe.published || data.recipe.rare.is_some() {
            let Self { table, categorical, rows, recipe, .. } = &mut data;
            data.pooled = rare::pool(table, categorical, rows, recipe);
        }
        Ok(data)
    }

    /// The same for a table of the records division, which must not hold a sensitive column.
    pub fn records_only(table: Table, recipe: Recipe) -> Result<Self, Error> {
        let sensitive = |name: &&str| recipe.sensitive.iter().any(|own| same_name(own, name));
        let sealed = table.sealed().names().map(|(name, _)| name).find(sensitive);
        let open = || table.names().iter().map(String::as_str).find(sensitive);
        if let Some(column) = sealed.or_else(open) {
            let (origin, column) = (table.origin().to_owned(), column.to_owned());
            return Err(NameError::SensitiveInRecords { origin, column }.into());
        }
        Self::bind(table, recipe, false)
    }

    /// Reads a labelled file for evaluation: only the columns of the schema, as it knows them.
    /// `dialect` says how the file is written, over what the schema knows ([`Schema::dialect`]).
    pub fn for_evaluation(path: &Path, schema: &Schema, dialect: &Dialect) -> Result<Self, Error> {
        let recipe = schema.evaluation_recipe();
        let dialect = recipe.sealing(schema.dialect(dialect));
        Self::of_file(path, &schema.evaluation_columns(), &dialect, recipe, true)
    }

    /// Some columns of a file, bound to a recipe.
    pub(crate) fn of_file(
        path: &Path,
        columns: &Columns,
        dialect: &Dialect,
        recipe: Recipe,
        sensitive_here: bool,
    ) -> Result<Self, Error> {
        Self::bind(read_as(path, columns, dialect)?, recipe, sensitive_here)
    }

    fn bind(mut table: Table, mut recipe: Recipe, sensitive_here: bool) -> Result<Self, Error> {
        // Before any other name is looked up.
        table.seal(&recipe.sensitive)?;
        if recipe.record_id.is_none() && table.position("record_id").is_some() {
            recipe.record_id = Some("record_id".to_owned());
        }
        roles::check(&table, &recipe, sensitive_here)?;
        table.retain(|name| !roles::is_dropped(name, &recipe));
        let label = table.require(&recipe.label, "the label")?;
        name_values(&mut table, &recipe, label)?;
        let mut sealed = table.take_sealed().select(&recipe.sensitive);
        sealed.rename(&recipe.merges);
        let place = |name: &String| table.position(name);
        let (mut numeric, mut categorical) = (Vec::new(), Vec::new());
        for (at, name) in table.names().iter().enumerate() {
            if !roles::is_feature(name, &recipe) {
                continue;
            }
            let own = if table.columns()[at].is_text() { &mut categorical } else { &mut numeric };
            own.push(at);
        }
        if numeric.is_empty() && categorical.is_empty() {
            return Err(Error::NoFeatures);
        }
        // What the numbers of this file look like is what they mean in files to come.
        for name in table.reading().decimal_comma() {
            if !recipe.dialect.decimal_comma.contains(name) && roles::is_feature(name, &recipe) {
                recipe.dialect.decimal_comma.push(name.clone());
            }
        }
        for (name, order) in table.reading().dates() {
            if roles::is_feature(name, &recipe) {
                recipe.dialect.date_columns.insert(name.clone(), *order);
            }
        }
        recipe.categorical = categorical.iter().map(|&at| table.names()[at].clone()).collect();
        let column = |name: &Option<String>| name.as_ref().and_then(|name| table.column(name));
        let stratum = column(&recipe.stratum).map(Categories::from_column);
        // The table has no sensitive column: which rows are used is public, and decides the split and the
        // silos, so it must not be a function of s.
        let mut needed = vec![label];
        if recipe.missing == Missing::Drop {
            needed.extend(recipe.stratum.as_ref().and_then(place));
            needed.extend(numeric.iter().chain(&categorical));
        }
        labels::check(&table, label, &recipe)?;
        let rows = usable_rows(&table, &needed)?;
        let complete = check_numbers(&table, &numeric)?;
        let missing = needed.iter().map(|&at| (&table.names()[at], table.columns()[at].missing()));
        let missing = missing.filter(|&(_, count)| count > 0);
        let missing = missing.map(|(name, count)| (name.clone(), count)).collect();
        let ids = ids::record_ids(&table, &recipe, &rows)?;
        let units = ids::units(&table, &recipe, &rows)?;
        Ok(Self {
            table,
            recipe,
            numeric,
            complete,
            categorical,
            label,
            sealed,
            stratum,
            ids,
            first_id: 0,
            units,
            rows,
            missing,
            left_out: Vec::new(),
            pooled: Vec::new(),
            names: OnceLock::new(),
            tells_label: OnceLock::new(),
            tells_sensitive: OnceLock::new(),
        })
    }

    /// The usable rows, in the order of the table.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// How many rows were set aside for missing values.
    pub fn dropped(&self) -> usize {
        self.table.rows() - self.rows.len()
    }

    /// Why rows were set aside: per column how many rows miss its value. A row may miss several.
    /// Sensitive columns are never among them.
    pub fn missing(&self) -> &BTreeMap<String, usize> {
        &self.missing
    }

    /// Columns of names, ids and nothing that are no features, one sentence each.
    pub fn left_out(&self) -> Vec<String> {
        self.left_out.iter().map(LeftOut::sentence).collect()
    }

    /// Columns whose rare levels became one, one sentence each.
    pub fn pooled(&self) -> Vec<String> {
        self.pooled.iter().map(Pooled::sentence).collect()
    }

    /// What whoever trains on this table should know or look at, one sentence each: what could not be
    /// decided, what was left out or pooled, what tells the label alone. Nothing is computed from s.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.table.reading().warnings();
        warnings.extend(self.left_out());
        warnings.extend(self.pooled());
        warnings.extend_from_slice(self.reveals_label());
        warnings
    }

    /// The columns, after renaming.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The recipe, with every categorical feature and the record id named.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Whether the sensitive columns are here.
    pub fn holds_sensitive(&self) -> bool {
        !self.sealed.is_empty()
    }

    /// Universal ids of rows.
    pub fn ids(&self, rows: &[u32]) -> Vec<u64> {
        match &self.ids {
            Some(ids) => rows.iter().map(|&row| ids[row as usize]).collect(),
            None => rows.iter().map(|&row| self.first_id + u64::from(row)).collect(),
        }
    }

    /// Counts ids from here, where the file has none: ids are universal, and files of silos each
    /// count their rows from 0.
    pub(crate) fn count_from(&mut self, first_id: u64) {
        self.first_id = first_id;
    }

    /// Per row of the table the number of its unit, if a unit column is named.
    pub fn units(&self) -> Option<&[u32]> {
        self.units.as_ref().map(|units| &units.of[..])
    }

    /// The largest number of the given rows that one unit has: 1 without a unit column.
    pub fn largest_unit(&self, rows: &[u32]) -> usize {
        let Some(units) = self.units() else {
            return usize::from(!rows.is_empty());
        };
        let mut counts = vec![0usize; units.iter().max().map_or(0, |&last| last as usize + 1)];
        for &row in rows {
            counts[units[row as usize] as usize] += 1;
        }
        counts.into_iter().max().unwrap_or(0)
    }

    /// The rows, bundled by unit.
    pub(crate) fn bundles(&self, rows: &[u32]) -> Bundles {
        Bundles::new(rows, self.units())
    }

    pub(crate) fn numeric(&self) -> impl Iterator<Item = (&str, &Column)> {
        self.features(&self.numeric)
    }

    /// Columns of numbers of which some usable row has none.
    pub(crate) fn gappy(&self) -> impl Iterator<Item = bool> {
        let missing = |column: &Column| {
            let piece = |rows| column.numbers_of(rows).unwrap_or_default();
            self.rows.chunks(PIECE).any(|rows| piece(rows).iter().any(|number| number.is_nan()))
        };
        let columns = self.complete.iter().zip(self.numeric());
        columns.map(move |(complete, (_, column))| !complete && missing(column))
    }

    /// Tells the numbers of rows, those of every column in the order of the rows: each time the place
    /// of a column among those of numbers, and some.
    pub(crate) fn each_number(&self, rows: &[u32], mut tell: impl FnMut(usize, &[f64])) {
        for piece in rows.chunks(PIECE) {
            for (at, (_, column)) in self.numeric().enumerate() {
                tell(at, &column.numbers_of(piece).unwrap_or_default());
            }
        }
    }

    pub(crate) fn categorical(&self) -> impl Iterator<Item = (&str, &Column)> {
        self.features(&self.categorical)
    }

    fn features(&self, places: &[usize]) -> impl Iterator<Item = (&str, &Column)> {
        let column = |&at: &usize| (self.table.names()[at].as_str(), &self.table.columns()[at]);
        places.iter().map(column)
    }

    /// The labels of all rows; read anew where they are lent.
    pub(crate) fn label(&self) -> Option<Cow<'_, Categories>> {
        text(&self.table.columns()[self.label])
    }

    /// The sensitive columns.
    pub(crate) fn sealed(&self) -> &SealedColumns {
        &self.sealed
    }

    /// The names of everything in the usable rows, collected once.
    pub(crate) fn names(&self) -> &Summary {
        self.names.get_or_init(|| Summary::names(self))
    }

    pub(crate) fn stratum(&self) -> Option<&Categories> {
        self.stratum.as_ref()
    }
}

/// Shape and meaning only: the rows may be many, and hold sensitive values.
impl fmt::Debug for Dataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dataset")
            .field("table", &self.table)
            .field("recipe", &self.recipe)
            .field("usable_rows", &self.rows.len())
            .finish_non_exhaustive()
    }
}

fn text(column: &Column) -> Option<Cow<'_, Categories>> {
    match column.here() {
        Here::Text(text) => Some(text),
        Here::Numbers(_) => None,
    }
}

/// Turns columns into text where the recipe says so, and gives their values the recipe's names.
fn name_values(table: &mut Table, recipe: &Recipe, label: usize) -> Result<(), Error> {
    if let Some(threshold) = recipe.threshold {
        let Here::Numbers(numbers) = table.columns()[label].here() else {
            return Err(Error::Threshold { column: recipe.label.clone(), threshold });
        };
        let code = |&number: &f64| match number {
            number if number.is_nan() => crate::table::MISSING_LEVEL,
            number => u32::from(number > threshold),
        };
        let codes = numbers.iter().map(code).collect();
        let levels = vec![format!("<={threshold}"), format!(">{threshold}")];
        table.replace(label, Column::Text(Categories { codes, levels }));
    }
    let named = [&recipe.label].into_iter();
    for name in named.chain(&recipe.categorical).chain(recipe.merges.keys()) {
        let Some(at) = table.position(name) else { continue };
        let (column, renamed) = (&table.columns()[at], recipe.merges.get(name));
        // Text that is lent may stay with whoever lends it.
        if renamed.is_none() && column.is_text() {
            continue;
        }
        let mut values = Categories::from_column(column);
        if let Some(names) = renamed {
            values.rename(names);
        }
        table.replace(at, Column::Text(values));
    }
    Ok(())
}

/// Refuses numbers whose squares could not be summed: centre and scale would be infinite. Tells which
/// columns have a number in every row.
fn check_numbers(table: &Table, numeric: &[usize]) -> Result<Vec<bool>, Error> {
    const LARGEST: f64 = 1e100;
    let mut complete = vec![true; numeric.len()];
    for start in (0..table.rows()).step_by(PIECE) {
        let rows: Vec<u32> = (start as u32..table.rows().min(start + PIECE) as u32).collect();
        for (&at, complete) in numeric.iter().zip(&mut complete) {
            let numbers = table.columns()[at].numbers_of(&rows).unwrap_or_default();
            let (mut largest, mut missing) = (0.0_f64, false);
            for number in &numbers {
                largest = largest.max(number.abs());
                missing |= number.is_nan();
            }
            *complete &= !missing;
            if largest <= LARGEST {
                continue;
            }
            let row = numbers.iter().position(|number| number.abs() > LARGEST).unwrap_or_default();
            return Err(Error::from(CellError::Value {
                origin: table.origin().to_owned(),
                row: table.first_row() + (start + row) as u64 + 1,
                column: table.names()[at].clone(),
                problem: format!(
                    "{:e} is too large; a feature may be from -1e100 to 1e100. Is it a marker of a \
                     missing value? (<missing-markers>)",
                    numbers[row]
                ),
            }));
        }
    }
    Ok(complete)
}

/// The rows in which none of the needed columns is missing.
fn usable_rows(table: &Table, needed: &[usize]) -> Result<Vec<u32>, Error> {
    let mut complete = vec![true; table.rows()];
    for &at in needed {
        let gaps = table.columns()[at].gaps();
        complete.iter_mut().zip(gaps).for_each(|(complete, gap)| *complete &= !gap);
    }
    let mut rows = Vec::with_capacity(complete.iter().filter(|&&on| on).count());
    rows.extend((0..).zip(&complete).filter_map(|(row, &on)| on.then_some(row)));
    if rows.is_empty() {
        let gaps = needed.iter().map(|&at| (at, table.columns()[at].missing()));
        let columns = gaps
            .filter(|&(_, missing)| missing > 0)
            .map(|(at, missing)| format!("{}: {missing}", table.names()[at]))
            .collect();
        let (origin, rows) = (table.origin().to_owned(), table.rows());
        return Err(Error::NoRows { origin, rows, dropped: rows, columns });
    }
    Ok(rows)
}

#[cfg(test)]
mod tests;
