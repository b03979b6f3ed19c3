//! What is in a table, for people who look before they train.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use steffle_attributes::{PRODUCT, RevealTo, Revealed};

use crate::Error;
use crate::dataset::Dataset;
use crate::recipe::{Missing, Recipe};
use crate::schema::{MISSING_NAME, Summary, favourable, guessed};
use crate::table::{Categories, Column, Here, Table, date_of, level_order};

/// A description of a table, and of its meaning where that is known.
///
/// It counts sensitive values exactly: it is for the eyes of those who hold them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Description {
    /// The data set or file.
    pub name: String,
    /// Rows in the file.
    pub rows: usize,
    /// What was decided while the file was read, one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reading: Vec<String>,
    /// Columns in the order of the file.
    pub columns: Vec<ColumnDescription>,
    /// What should be decided or looked at before training, one sentence each, with the flag that
    /// decides it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<String>,
    /// What the recipe makes of them, if there is one.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub meaning: Option<Meaning>,
}

/// One column.
///
/// What `describe` says about it: kind, missing cells, levels, range.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ColumnDescription {
    /// Its name.
    pub name: String,
    /// `number`, `date` or `text`, as read.
    pub kind: &'static str,
    /// Rows without a value.
    pub missing: usize,
    /// Different values, of a column of text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub levels: Option<usize>,
    /// Smallest and largest value, of a column of numbers; of dates as days from 1970-01-01.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
    /// First and last day, of a column of dates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub days: Option<[String; 2]>,
}

/// A data set as training would see it.
///
/// Labels, groups and features that a recipe makes of the columns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Meaning {
    /// Rows that training can use.
    pub usable_rows: usize,
    /// Rows left out for missing values.
    pub dropped: usize,
    /// Per column of label, features and stratum, how many rows miss its value.
    pub dropped_for: BTreeMap<String, usize>,
    /// Columns of names and ids that are no features, one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Columns whose rare levels became one, one sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pooled: Vec<String>,
    /// Features after encoding.
    pub features: usize,
    /// The label column.
    pub label: String,
    /// The favourable label.
    pub favourable: String,
    /// The labels and how many usable rows have each.
    pub labels: Vec<Share>,
    /// The sensitive columns.
    pub sensitive: Vec<String>,
    /// The sensitive classes that occur.
    pub groups: Vec<Group>,
}

/// A label.
///
/// How many rows have it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Share {
    /// Its name.
    pub name: String,
    /// Rows that have it.
    pub rows: usize,
    /// The same as a fraction of the usable rows.
    pub share: f64,
}

/// A sensitive class.
///
/// How many rows are in it, for the eyes of whoever keeps the table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Rows of the class.
    pub rows: usize,
    /// The same as a fraction of the usable rows.
    pub share: f64,
    /// The fraction of its rows with the favourable label.
    pub favourable_rate: f64,
}

/// Describes a table; without a recipe only its columns.
///
/// ```
/// use steffle_data::{Source, describe};
/// let source = Source::parse("adult", None)?;
/// let recipe = source.recipe().expect("a named data set has one");
/// let description = describe("adult", source.read(&recipe)?, Some(&recipe))?;
/// let meaning = description.meaning.expect("a recipe was given");
/// assert_eq!((description.rows, meaning.usable_rows, meaning.features), (48_842, 45_222, 102));
/// # Ok::<(), steffle_data::Error>(())
/// ```
pub fn describe(name: &str, table: Table, recipe: Option<&Recipe>) -> Result<Description, Error> {
    let (name, rows) = (name.to_owned(), table.rows());
    let columns = describe_columns(&table);
    let reading = table.reading().sentences();
    let Some(recipe) = recipe else {
        let questions = codes(&table, |_| true);
        return Ok(Description { name, rows, reading, columns, questions, meaning: None });
    };
    let data = Dataset::of_table(table, recipe.clone())?;
    let meaning = describe_meaning(&data)?;
    let questions = questions(&data, &meaning);
    Ok(Description { name, rows, reading, columns, questions, meaning: Some(meaning) })
}

/// All columns in the order of the file, those that are sealed included: their keeper looks.
fn describe_columns(table: &Table) -> Vec<ColumnDescription> {
    let columns = table.names().iter().zip(table.columns());
    let mut all: Vec<ColumnDescription> =
        columns.map(|(name, column)| describe_column(name, column, table)).collect();
    let revealed = table.sealed().reveal(RevealTo::Keeper).into_iter().map(categories);
    let mut sealed: Vec<_> = table.sealed().names().zip(revealed).collect();
    sealed.sort_by_key(|((_, place), _)| *place);
    for ((name, place), values) in sealed {
        let described = describe_column(name, &Column::Text(values), table);
        all.insert(place.min(all.len()), described);
    }
    all
}

fn categories(Revealed { codes, levels }: Revealed) -> Categories {
    Categories { codes, levels }
}

fn describe_column(name: &str, column: &Column, table: &Table) -> ColumnDescription {
    let is_date = table.reading().dates().iter().any(|(own, _)| own == name);
    let (kind, levels, range) = match column.here() {
        Here::Text(text) => ("text", Some(text.levels.len()), None),
        Here::Numbers(numbers) => {
            let present = numbers.iter().copied().filter(|number| !number.is_nan());
            let bounds = present.fold(None, |bounds: Option<[f64; 2]>, number| {
                let [low, high] = bounds.unwrap_or([number; 2]);
                Some([low.min(number), high.max(number)])
            });
            (if is_date { "date" } else { "number" }, None, bounds)
        }
    };
    let days = range.filter(|_| is_date).map(|range| range.map(date_of));
    ColumnDescription {
        name: name.to_owned(),
        kind,
        missing: column.missing(),
        levels,
        range,
        days,
    }
}

/// What people should decide, or look at, before they train.
fn questions(data: &Dataset, meaning: &Meaning) -> Vec<String> {
    let recipe = data.recipe();
    let labels: Vec<String> = meaning.labels.iter().map(|label| label.name.clone()).collect();
    let mut questions: Vec<String> = guessed(recipe, &labels).into_iter().collect();
    let feature = |name: &str| data.numeric().any(|(own, _)| own == name);
    if !recipe.published {
        questions.extend(codes(data.table(), feature));
    }
    if recipe.missing == Missing::Drop && 10 * meaning.dropped > data.table().rows() {
        questions.push(format!(
            "{} of {} rows miss a value and would be left out; <missing impute> keeps them, <drop> \
             takes columns away that are mostly missing",
            meaning.dropped,
            data.table().rows()
        ));
    }
    questions.extend(nobody(recipe, meaning));
    questions.extend_from_slice(data.reveals_label());
    questions.extend_from_slice(data.reveals_sensitive());
    questions
}

/// Declared groups, and groups with some label, that nobody here belongs to: for the eyes of the one
/// who keeps the table. A private run neither says so nor answers otherwise.
fn nobody(recipe: &Recipe, meaning: &Meaning) -> Vec<String> {
    let rows = |class: &String| meaning.groups.iter().find(|group| group.name == *class);
    let sentence = |class: &String| match rows(class) {
        None => Some(format!("nobody here is in group `{class}`; a run goes on all the same")),
        Some(group) if group.favourable_rate == 0.0 || group.favourable_rate == 1.0 => {
            let all = if group.favourable_rate == 0.0 { "nobody" } else { "everybody" };
            Some(format!(
                "{all} in group `{class}` has label `{}`; within labels there is nothing to compare \
                 it by",
                meaning.favourable
            ))
        }
        Some(_) => None,
    };
    recipe.classes.iter().filter_map(sentence).collect()
}

/// Columns of a few whole numbers, which may be codes: asked about, never guessed.
fn codes(table: &Table, asked: impl Fn(&str) -> bool) -> Vec<String> {
    const MOST: usize = 12;
    const ROWS_PER_VALUE: usize = 10;
    let columns = table.names().iter().zip(table.columns()).filter(|(name, _)| asked(name));
    let sentence = |(name, column): (&String, &Column)| {
        let Here::Numbers(numbers) = column.here() else { return None };
        let mut values: Vec<f64> = Vec::new();
        for &number in numbers.iter().filter(|number| !number.is_nan()) {
            if !values.contains(&number) {
                values.push(number);
            }
            if number.fract() != 0.0 || values.len() > MOST {
                return None;
            }
        }
        values.sort_unstable_by(f64::total_cmp);
        // Two values are the same to a model either way.
        let few = values.len() > 2 && ROWS_PER_VALUE * values.len() <= numbers.len();
        few.then(|| {
            let (low, high) = (values[0], values[values.len() - 1]);
            format!(
                "column `{name}` has {} whole numbers, {low} to {high}: amounts, or codes? Of codes say \
                 <categorical {name}>",
                values.len()
            )
        })
    };
    columns.filter_map(sentence).collect()
}

fn describe_meaning(data: &Dataset) -> Result<Meaning, Error> {
    let recipe = data.recipe();
    let summary = Summary::of(data, data.rows());
    let labels = summary.sorted_labels();
    let favourable = labels[usize::from(favourable(recipe, &labels)?)].clone();
    let mut label_rows: HashMap<&str, usize> = HashMap::new();
    let mut groups: HashMap<String, (usize, usize)> = HashMap::new();
    let label = data.label();
    let sensitive: Vec<Categories> =
        data.sealed().reveal(RevealTo::Keeper).into_iter().map(categories).collect();
    for &row in data.rows() {
        let row = row as usize;
        let label = label.as_ref().and_then(|text| text.level(row)).unwrap_or_default();
        *label_rows.entry(label).or_default() += 1;
        let levels: Option<Vec<&str>> = sensitive.iter().map(|text| text.level(row)).collect();
        let class = levels.map_or_else(|| MISSING_NAME.to_owned(), |levels| levels.join(PRODUCT));
        let (rows, wanted) = groups.entry(class).or_default();
        *rows += 1;
        *wanted += usize::from(label == favourable);
    }
    let usable_rows = data.rows().len();
    let share = |rows: usize| rows as f64 / usable_rows as f64;
    let shares = labels.iter().map(|name| {
        let rows = label_rows.get(name.as_str()).copied().unwrap_or(0);
        Share { name: name.clone(), rows, share: share(rows) }
    });
    let mut groups: Vec<Group> = groups
        .into_iter()
        .map(|(name, (rows, wanted))| Group {
            name,
            rows,
            share: share(rows),
            favourable_rate: wanted as f64 / rows as f64,
        })
        .collect();
    groups.sort_by(|a, b| level_order(&a.name, &b.name));
    Ok(Meaning {
        usable_rows,
        dropped: data.dropped(),
        dropped_for: data.missing().clone(),
        left_out: data.left_out(),
        pooled: data.pooled(),
        features: summary.features(),
        label: recipe.label.clone(),
        favourable,
        labels: shares.collect(),
        sensitive: recipe.sensitive.clone(),
        groups,
    })
}

#[cfg(test)]
mod tests;
