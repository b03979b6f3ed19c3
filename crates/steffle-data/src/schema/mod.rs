//! What is agreed before a run: columns, levels, scaling, class names and labels.

mod checked;
mod coding;
mod encode;
mod favour;
mod groups;
mod hash;
mod measures;
mod strata;
mod summary;

use serde::{Deserialize, Serialize};
use steffle_attributes::PRODUCT;
use steffle_model::record::Layout;

use crate::Error;
use crate::dataset::lookalikes;
use crate::recipe::Recipe;
use crate::table::{Columns, Dialect, Kind, level_order};

pub use coding::Coding;
pub(crate) use encode::encode_any;
pub use encode::{Encoded, FARTHEST, Unmatched, encode, encode_features, encode_features_sparing};
pub(crate) use favour::{favourable, guessed};
pub(crate) use groups::{AttributesFile, kept_classes, load_attributes};
pub use groups::{Groups, attributes, evaluation_groups};
pub use measures::Measures;
pub use strata::SmallStrata;
pub use summary::{Moments, Summary};

/// Labels and sensitive classes beyond this are a sign of a number or an id in a wrong role.
pub(crate) const MOST_CLASSES: usize = 1000;
/// Levels of one feature beyond this are a sign of names or ids.
const MOST_LEVELS: usize = 1 << 16;
/// The level of a missing value where missing values are kept.
pub(crate) const MISSING_NAME: &str = "(missing)";

/// A numeric feature: `(value - centre) / scale` is what the model sees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Numeric {
    /// The column.
    pub name: String,
    /// Mean over the training rows.
    pub centre: f64,
    /// Population standard deviation over the training rows; 1 where that is 0.
    pub scale: f64,
}

/// A categorical feature: one 0/1 feature per level.
///
/// A value that is no level has 0 in all of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Categorical {
    /// The column.
    pub name: String,
    /// The levels, in the order of their features.
    pub levels: Vec<String>,
}

/// Everything about the data that all parties of a run must agree on.
///
/// ```
/// use steffle_data::{Dataset, Schema, Source, Summary};
/// let source = Source::parse("credit-card", None)?;
/// let recipe = source.recipe().expect("a named data set has one");
/// let data = Dataset::new(source.read(&recipe)?, recipe)?;
/// let summary = Summary::of(&data, data.rows());
/// let schema = Schema::from_summary(data.recipe(), &summary)?;
/// assert_eq!(schema.layout().features, 85);
/// assert_eq!(schema.classes(), ["female", "male"]);
/// # Ok::<(), steffle_data::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Agreed", into = "Agreed")]
pub struct Schema(Agreed);

/// The parts of a schema as they are stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Agreed {
    favourable: u16,
    labels: Vec<String>,
    classes: Vec<String>,
    #[serde(default)]
    strata: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    small_strata: Option<SmallStrata>,
    recipe: Recipe,
    #[serde(default)]
    numeric: Vec<Numeric>,
    #[serde(default)]
    categorical: Vec<Categorical>,
}

impl Schema {
    /// Scaling, levels and names from the merged summaries of all silos, and the classes that the
    /// recipe declares; refuses fewer than two labels or classes, too many of them, and a favourable
    /// label that does not exist. Where the recipe declares no class, those that occur are taken.
    pub fn from_summary(recipe: &Recipe, summary: &Summary) -> Result<Self, Error> {
        let labels =
            if recipe.labels.is_empty() { sorted(&summary.labels) } else { recipe.labels.clone() };
        check_classes("label", &recipe.label, &labels)?;
        let favourable = favourable(recipe, &labels)?;
        let names = recipe.sensitive.join(PRODUCT);
        let classes = if recipe.classes.is_empty() {
            let found = product(&names, &summary.sensitive)?;
            check_classes("sensitive", &names, &found)?;
            found
        } else {
            recipe.check_classes()?;
            recipe.classes.clone()
        };
        let found = summary.strata.len();
        if let (Some(column), true) = (&recipe.stratum, found > MOST_CLASSES) {
            return Err(too_many("conditioning", column, found, MOST_CLASSES));
        }
        let (strata, small_strata) = strata::cells(&summary.strata, recipe.smallest_stratum);
        let numeric = summary.numeric.iter().map(|(name, moments)| Numeric {
            name: name.clone(),
            centre: moments.mean,
            scale: moments.scale(),
        });
        let numbers = |name: &String| summary.numeric.iter().any(|(own, _)| own == name);
        let categorical = summary
            .categorical
            .iter()
            // A number that nobody misses needs no feature that says so.
            .filter(|(name, levels)| !levels.is_empty() || !numbers(name))
            .map(|(name, levels)| match levels.len() {
                found if found > MOST_LEVELS => {
                    Err(too_many("categorical", name, found, MOST_LEVELS))
                }
                _ => Ok(Categorical { name: name.clone(), levels: sorted(levels) }),
            })
            .collect::<Result<_, _>>()?;
        Self::try_from(Agreed {
            favourable,
            labels,
            classes,
            strata,
            small_strata,
            recipe: recipe.clone(),
            numeric: numeric.collect(),
            categorical,
        })
    }

    /// What whoever trains should know or look at, one sentence each: names that may be one, a
    /// favourable label that was guessed, values that are no cells of their own.
    pub fn remarks(&self) -> Vec<String> {
        let told = self.favourable_guessed().into_iter().chain(self.small_strata_told());
        self.lookalikes().into_iter().chain(told).collect()
    }

    /// Levels of features that differ in case or spaces only, one sentence per column.
    fn lookalikes(&self) -> Vec<String> {
        const SHOWN: usize = 3;
        let sentence = |column: &Categorical| {
            let pairs = lookalikes(&column.levels);
            let shown = pairs.iter().take(SHOWN).map(|[one, two]| format!("`{one}` and `{two}`"));
            let mut shown: Vec<String> = shown.collect();
            if pairs.len() > SHOWN {
                shown.push(format!("{} more", pairs.len() - SHOWN));
            }
            let name = &column.name;
            (!pairs.is_empty()).then(|| {
                let shown = shown.join(", ");
                format!(
                    "levels of `{name}` that differ in case or spaces only: {shown}; one value?"
                )
            })
        };
        self.0.categorical.iter().filter_map(sentence).collect()
    }

    /// How encoded rows are laid out.
    pub fn layout(&self) -> Layout {
        let levels: usize = self.0.categorical.iter().map(|column| column.levels.len()).sum();
        Layout {
            numeric: self.0.numeric.len(),
            categorical: self.0.categorical.len(),
            features: self.0.numeric.len() + levels,
        }
    }

    /// Names of the features in the order of the layout: `age`, `education=Masters`.
    pub fn feature_names(&self) -> Vec<String> {
        let numeric = self.0.numeric.iter().map(|column| column.name.clone());
        let one_hot = self.0.categorical.iter().flat_map(|column| {
            column.levels.iter().map(move |level| format!("{}={level}", column.name))
        });
        numeric.chain(one_hot).collect()
    }

    /// Numeric features.
    pub fn numeric(&self) -> &[Numeric] {
        &self.0.numeric
    }

    /// Categorical features.
    pub fn categorical(&self) -> &[Categorical] {
        &self.0.categorical
    }

    /// Labels by number.
    pub fn labels(&self) -> &[String] {
        &self.0.labels
    }

    /// The number of the favourable label.
    pub fn favourable(&self) -> u16 {
        self.0.favourable
    }

    /// Sensitive classes by number.
    pub fn classes(&self) -> &[String] {
        &self.0.classes
    }

    /// The cells of conditional parity: values of the column that it conditions on, and `(other)` last
    /// where small ones are one cell; empty without such a column.
    pub fn strata(&self) -> &[String] {
        &self.0.strata
    }

    /// The values that too few rows have to be cells of their own, where there are any.
    pub fn small_strata(&self) -> Option<&SmallStrata> {
        self.0.small_strata.as_ref()
    }

    /// What the columns mean.
    pub fn recipe(&self) -> &Recipe {
        &self.0.recipe
    }

    /// What is known about how a file of such records is written, over which `said` goes.
    pub fn dialect(&self, said: &Dialect) -> Dialect {
        let known = self.recipe().dialect.lasting();
        Dialect {
            decimal: said.decimal.or(known.decimal),
            missing_markers: if said.missing_markers.is_empty() {
                known.missing_markers
            } else {
                said.missing_markers.clone()
            },
            decimal_comma: known.decimal_comma,
            dates: said.dates.or(known.dates),
            date_columns: known.date_columns,
            ..said.clone()
        }
    }

    /// The columns that prediction reads: features, and nothing else.
    pub fn feature_columns(&self) -> Columns {
        Columns::Only(self.feature_kinds().collect())
    }

    /// Whether the feature says that a number is missing.
    fn indicates(&self, column: &Categorical) -> bool {
        self.0.numeric.iter().any(|own| own.name == column.name)
    }

    fn feature_kinds(&self) -> impl Iterator<Item = (String, Kind)> {
        let numeric = self.0.numeric.iter().map(|column| (column.name.clone(), Kind::Number));
        let names = self.0.categorical.iter().filter(|column| !self.indicates(column));
        let text = names.map(|column| (column.name.clone(), Kind::Text));
        numeric.chain(text)
    }

    /// The columns that evaluation reads: features, label, sensitive columns, stratum.
    pub(crate) fn evaluation_columns(&self) -> Columns {
        let recipe = self.recipe();
        let mut columns: Vec<(String, Kind)> = self.feature_kinds().collect();
        let label = if recipe.threshold.is_some() { Kind::Number } else { Kind::Text };
        columns.push((recipe.label.clone(), label));
        columns.extend(recipe.sensitive.iter().map(|name| (name.clone(), Kind::Text)));
        let stratum =
            recipe.stratum.iter().filter(|name| columns.iter().all(|(known, _)| known != *name));
        let stratum: Vec<_> = stratum.map(|name| (name.clone(), Kind::Text)).collect();
        columns.extend(stratum);
        Columns::Only(columns)
    }

    /// The recipe without what only training needs.
    pub(crate) fn evaluation_recipe(&self) -> Recipe {
        let Columns::Only(read) = self.evaluation_columns() else {
            return self.recipe().clone();
        };
        let mut recipe = self.recipe().clone();
        (recipe.partition_by, recipe.unit, recipe.record_id) = (None, None, None);
        let is_read = |name: &String| read.iter().any(|(known, _)| known == name);
        // A stratum that is not a feature stays in `drop`, or it would become one.
        recipe.drop.retain(is_read);
        recipe.keep.clear();
        // An unknown label is counted and refused before a row is encoded.
        recipe.labels.clone_from(&self.0.labels);
        recipe.merges.retain(|name, _| is_read(name));
        recipe
    }

    /// The columns of a labelled file of people with a budget: those of an evaluation, record ids and
    /// units; sensitive ones where they lie in the same file.
    pub(crate) fn testing_columns(&self, sensitive: bool) -> Columns {
        let Columns::Only(mut columns) = self.evaluation_columns() else {
            return self.evaluation_columns();
        };
        let recipe = self.testing_recipe();
        columns.retain(|(name, _)| sensitive || !recipe.sensitive.contains(name));
        let people = recipe.record_id.iter().chain(&recipe.unit).cloned();
        columns.extend(people.map(|name| (name, Kind::Text)));
        Columns::Only(columns)
    }

    /// The recipe of such a file.
    pub(crate) fn testing_recipe(&self) -> Recipe {
        let recipe = self.recipe();
        let (unit, record_id) = (recipe.unit.clone(), Some(crate::parts::record_id(recipe)));
        Recipe { unit, record_id, ..self.evaluation_recipe() }
    }
}

impl From<Schema> for Agreed {
    fn from(schema: Schema) -> Self {
        schema.0
    }
}

fn sorted<'n>(names: impl IntoIterator<Item = &'n String>) -> Vec<String> {
    let mut names: Vec<String> = names.into_iter().cloned().collect();
    names.sort_by(|a, b| level_order(a, b));
    names
}

fn check_classes(role: &'static str, column: &str, found: &[String]) -> Result<(), Error> {
    match found.len() {
        0 | 1 => {
            Err(Error::TooFewClasses { role, column: column.to_owned(), found: found.to_vec() })
        }
        2..=MOST_CLASSES => Ok(()),
        many => Err(too_many(role, column, many, MOST_CLASSES)),
    }
}

fn too_many(role: &'static str, column: &str, found: usize, limit: usize) -> Error {
    Error::TooManyClasses { role, column: column.to_owned(), found, limit }
}

/// Every combination of the levels of the sensitive columns.
///
/// All combinations, not only those that occur: which of them occur is a fact about the people.
fn product(
    names: &str,
    columns: &[std::collections::BTreeSet<String>],
) -> Result<Vec<String>, Error> {
    let columns: Vec<Vec<String>> = columns.iter().map(sorted).collect();
    let found = columns.iter().fold(1, |found: usize, own| found.saturating_mul(own.len()));
    if found > MOST_CLASSES {
        return Err(too_many("sensitive", names, found, MOST_CLASSES));
    }
    Ok(combinations(&columns))
}

/// The names of all combinations of the columns' levels, the last column running fastest.
pub(crate) fn combinations(columns: &[Vec<String>]) -> Vec<String> {
    let Some((first, rest)) = columns.split_first() else { return Vec::new() };
    rest.iter().fold(first.clone(), |before, levels| {
        let with = |class: &String| -> Vec<String> {
            levels.iter().map(|level| format!("{class}{PRODUCT}{level}")).collect()
        };
        before.iter().flat_map(with).collect()
    })
}

#[cfg(test)]
mod tests;
