//! The data sets that have a name: where their rows are and what their columns mean.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use super::Recipe;
use super::bands::Bands;
use crate::Error;
use crate::schema::combinations;
use crate::table::{Table, read_parquet_bytes};

/// A data set that has a name.
///
/// Its rows may be in the program, and its recipe always is.
#[derive(Clone, Copy)]
pub struct Builtin {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is, in one line.
    pub about: &'static str,
    /// Who made it, and under which licence it may be passed on.
    pub source: &'static str,
    /// SHA-256 of the shipped file, if one is shipped.
    pub sha256: Option<&'static str>,
    bytes: Option<&'static [u8]>,
    recipe: fn() -> Recipe,
    /// Which file it needs where none is shipped.
    file: &'static str,
    /// The values of columns that may be chosen as sensitive ones, as the recipe names them: from
    /// the publication, so that private runs need not read them off the data.
    values: &'static [(&'static str, &'static [&'static str])],
    /// Columns that are made of others where they are chosen as sensitive ones.
    bands: &'static [Bands],
}

/// Every data set that has a name.
pub const BUILTIN: &[Builtin] = &[
    Builtin {
        name: "adult",
        about: "Does a person in the 1994 US census earn more than 50,000 dollars? \
                48,842 rows, 45,222 complete; sensitive: sex",
        source: "Becker & Kohavi (1996), UCI Machine Learning Repository, CC BY 4.0",
        sha256: Some("caaba507719a930b8354aa8df1113336d51e545e18fa7d2a3211028a6367c511"),
        bytes: Some(include_bytes!("../../data/adult.parquet")),
        recipe: adult,
        file: "",
        values: &[("sex", &["Female", "Male"]), ("race", &RACES)],
        bands: &[
            Bands {
                name: "age-band",
                of: "age",
                from: &[25.0, 60.0],
                names: &["<25", "25-59", "60+"],
            },
            Bands {
                name: "middle-age",
                of: "age",
                from: &[25.0, 60.0],
                names: &["others", "25-59", "others"],
            },
        ],
    },
    Builtin {
        name: "credit-card",
        about: "Does a credit card client in Taiwan (2005) default next month? \
                30,000 rows; sensitive: SEX",
        source: "Yeh & Lien (2009), UCI Machine Learning Repository, CC BY 4.0",
        sha256: Some("45a526da3222c01a2f334180cef5df21a949c76924adc1f50c2050f6624087be"),
        bytes: Some(include_bytes!("../../data/credit_card.parquet")),
        recipe: credit_card,
        file: "",
        values: &[
            ("SEX", &["female", "male"]),
            ("EDUCATION", &["1", "2", "3", "4"]),
            ("MARRIAGE", &["1", "2", "3"]),
        ],
        bands: &[Bands { of: "AGE", ..THIRTY_AND_SIXTY }],
    },
    Builtin {
        name: "retired-adult",
        about: "Adult rebuilt with the income in dollars, cut at 50,000; sensitive: gender. \
                Needs its file, adult_reconstruction.csv",
        source: "Ding, Hardt, Miller & Schmidt (2021), \"Retiring Adult\"; not shipped",
        sha256: None,
        bytes: None,
        recipe: retired_adult,
        file: "adult_reconstruction.csv of the folktables project",
        values: &[("gender", &["Female", "Male"]), ("race", &RACES)],
        bands: &[],
    },
    Builtin {
        name: "bank-marketing",
        about: "Does a client of a Portuguese bank subscribe to a deposit? 41,188 calls; sensitive: \
                age-band. Needs its file, bank-additional-full.csv",
        source: "Moro, Cortez & Rita (2014), UCI Machine Learning Repository, CC BY 4.0; not shipped",
        sha256: None,
        bytes: None,
        recipe: bank_marketing,
        file: "bank-additional-full.csv of the UCI repository, also in the wheel aif360 0.3.0rc0",
        values: &[],
        bands: &[THIRTY_AND_SIXTY],
    },
];

/// Young, middle and old, as studies of bank clients cut them.
const THIRTY_AND_SIXTY: Bands =
    Bands { name: "age-band", of: "age", from: &[30.0, 60.0], names: &["<30", "30-59", "60+"] };

impl Builtin {
    /// The data set called `name`.
    pub fn find(name: &str) -> Option<&'static Self> {
        BUILTIN.iter().find(|builtin| builtin.name == name)
    }

    /// Whether its rows are part of this program.
    pub fn is_shipped(&self) -> bool {
        self.bytes.is_some()
    }

    /// What its columns mean.
    pub fn recipe(&self) -> Recipe {
        self.recipe_for(&[])
    }

    /// The same with other sensitive columns, where some are given. Classes are declared if the
    /// values of all of these columns are known; a sensitive column no longer cuts silos.
    pub fn recipe_for(&self, sensitive: &[String]) -> Recipe {
        let mut recipe = Recipe { published: true, ..(self.recipe)() };
        if !sensitive.is_empty() {
            recipe.sensitive = sensitive.to_vec();
        }
        let values: Option<Vec<Vec<String>>> =
            recipe.sensitive.iter().map(|column| self.values(column)).collect();
        recipe.classes = values.map_or_else(Vec::new, |values| combinations(&values));
        recipe.partition_by = recipe.partition_by.filter(|by| !recipe.sensitive.contains(by));
        recipe
    }

    fn values(&self, column: &str) -> Option<Vec<String>> {
        if let Some(bands) = self.bands.iter().find(|bands| bands.name == column) {
            return Some(bands.groups());
        }
        let (_, values) = self.values.iter().find(|(known, _)| *known == column)?;
        Some(values.iter().map(|&value| value.to_owned()).collect())
    }
}

impl fmt::Debug for Builtin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Builtin").field(&self.name).finish()
    }
}

/// Where rows come from: a data set that has a name, or a file.
#[derive(Debug, Clone)]
pub enum Source {
    /// A named data set, from the user's own file if a path is given.
    Named {
        /// The data set.
        builtin: &'static Builtin,
        /// The user's copy.
        path: Option<PathBuf>,
    },
    /// A file that the user describes.
    File(PathBuf),
}

impl Source {
    /// Understands `adult`, `retired-adult` with a path, or the name of a file.
    ///
    /// ```
    /// use steffle_data::{Dataset, Source};
    /// let source = Source::parse("adult", None)?;
    /// let recipe = source.recipe().expect("a named data set has one");
    /// let data = Dataset::new(source.read(&recipe)?, recipe)?;
    /// assert_eq!(data.rows().len(), 45_222);
    /// # Ok::<(), steffle_data::Error>(())
    /// ```
    pub fn parse(name: &str, path: Option<&Path>) -> Result<Self, Error> {
        if let Some(builtin) = Builtin::find(name) {
            if !builtin.is_shipped() && path.is_none() {
                let advice = builtin.file;
                return Err(Error::PathNeeded { name: name.to_owned(), advice });
            }
            return Ok(Self::Named { builtin, path: path.map(Path::to_path_buf) });
        }
        let file = PathBuf::from(name);
        if file.extension().is_some() || file.exists() {
            return Ok(Self::File(file));
        }
        let known = BUILTIN.iter().map(|builtin| builtin.name.to_owned()).collect();
        Err(Error::UnknownDataSet { name: name.to_owned(), known })
    }

    /// What its columns mean, if that is known: a file's columns only its owner knows.
    pub fn recipe(&self) -> Option<Recipe> {
        self.recipe_for(&[])
    }

    /// The same with other sensitive columns, where some are given ([`Builtin::recipe_for`]).
    pub fn recipe_for(&self, sensitive: &[String]) -> Option<Recipe> {
        match self {
            Self::Named { builtin, .. } => Some(builtin.recipe_for(sensitive)),
            Self::File(_) => None,
        }
    }

    /// Reads all rows, with the recipe's categorical columns as text.
    pub fn read(&self, recipe: &Recipe) -> Result<Table, Error> {
        let mut table = match self {
            Self::Named { path: Some(path), .. } | Self::File(path) => recipe.read(path)?,
            Self::Named { builtin, path: None } => {
                let bytes = builtin.bytes.unwrap_or_default();
                read_parquet_bytes(builtin.name, bytes, &recipe.columns())?
            }
        };
        if let Self::Named { builtin, .. } = self {
            let chosen = |bands: &&Bands| recipe.sensitive.iter().any(|name| name == bands.name);
            builtin.bands.iter().filter(chosen).try_for_each(|bands| bands.add(&mut table))?;
        }
        Ok(table)
    }
}

/// The values of race in the 1994 census data.
const RACES: [&str; 5] = ["Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"];

fn adult() -> Recipe {
    Recipe {
        favourable: Some(">50K".to_owned()),
        partition_by: Some("age".to_owned()),
        ..Recipe::new("income", &["sex"])
    }
}

/// No default is what a client wants to be predicted. The merges are the paper's: the codes 0, 5
/// and 6 of EDUCATION and 0 of MARRIAGE are undocumented and join "other".
fn credit_card() -> Recipe {
    let payments = ["PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6"];
    let categorical = ["EDUCATION", "MARRIAGE"].into_iter().chain(payments);
    Recipe {
        favourable: Some("0".to_owned()),
        partition_by: Some("AGE".to_owned()),
        categorical: categorical.map(str::to_owned).collect(),
        merges: merges(&[
            ("EDUCATION", &[("0", "4"), ("5", "4"), ("6", "4")]),
            ("MARRIAGE", &[("0", "3")]),
            ("SEX", &[("1", "male"), ("2", "female")]),
        ]),
        ..Recipe::new("default payment next month", &["SEX"])
    }
}

fn retired_adult() -> Recipe {
    Recipe {
        partition_by: Some("age".to_owned()),
        threshold: Some(50_000.0),
        ..Recipe::new("income", &["gender"])
    }
}

/// How long a call took is not known before it: no model may see it.
fn bank_marketing() -> Recipe {
    Recipe {
        favourable: Some("yes".to_owned()),
        partition_by: Some("age".to_owned()),
        drop: vec!["duration".to_owned()],
        ..Recipe::new("y", &["age-band"])
    }
}

fn merges(columns: &[(&str, &[(&str, &str)])]) -> BTreeMap<String, BTreeMap<String, String>> {
    let names = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|&(old, new)| (old.to_owned(), new.to_owned())).collect()
    };
    columns.iter().map(|&(column, pairs)| (column.to_owned(), names(pairs))).collect()
}

#[cfg(test)]
mod tests;
