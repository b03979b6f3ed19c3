//! Columns that stay in the memory of whoever lends them.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::{Categories, Column};

/// Rows of which all columns are read before the next ones are: what is read is small, and the cells of
/// a matrix that is lent row by row lie beside each other, in the cache.
pub(crate) const PIECE: usize = 1 << 12;

/// A column of somebody else, read when it is wanted.
///
/// A table of such columns has no second copy of them: what is read is one column at a time, or a few
/// rows of one.
#[derive(Debug, Clone)]
pub enum Lent {
    /// Numbers; a missing one is NaN.
    Numbers(Arc<dyn Cells<f64>>),
    /// Codes of text and the levels that they stand for; a code beyond these is a missing value.
    Text(Arc<dyn Cells<u32>>, Arc<[String]>),
}

/// The cells of a lent column.
///
/// Whoever lends them may change them at any time: what is checked has to be what was read.
pub trait Cells<T>: fmt::Debug + Send + Sync {
    /// How many there are.
    fn len(&self) -> usize;

    /// Whether there is none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them.
    fn all(&self) -> Vec<T>;

    /// Those of the given rows, in their order.
    fn some(&self, rows: &[u32]) -> Vec<T>;
}

impl Lent {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.len(),
            Self::Text(codes, _) => codes.len(),
        }
    }
}

/// The cells of a column: its own, or read of one that is lent.
pub enum Here<'a> {
    /// Numbers; a missing one is NaN.
    Numbers(Cow<'a, [f64]>),
    /// Text, dictionary-coded.
    Text(Cow<'a, Categories>),
}

impl Column {
    /// All its cells; those of a column that is lent are read.
    pub fn here(&self) -> Here<'_> {
        match self {
            Self::Numbers(numbers) => Here::Numbers(Cow::Borrowed(numbers)),
            Self::Text(text) => Here::Text(Cow::Borrowed(text)),
            Self::Lent(Lent::Numbers(numbers)) => Here::Numbers(Cow::Owned(numbers.all())),
            Self::Lent(Lent::Text(codes, levels)) => {
                let (codes, levels) = (codes.all(), levels.to_vec());
                Here::Text(Cow::Owned(Categories { codes, levels }))
            }
        }
    }

    /// The same column with cells of its own.
    #[must_use]
    pub fn into_own(self) -> Self {
        match self {
            Self::Lent(_) => match self.here() {
                Here::Numbers(numbers) => Self::Numbers(numbers.into_owned()),
                Here::Text(text) => Self::Text(text.into_owned()),
            },
            own => own,
        }
    }

    /// Whether it is a column of text.
    pub fn is_text(&self) -> bool {
        matches!(self, Self::Text(_) | Self::Lent(Lent::Text(..)))
    }

    /// The numbers of rows, in their order; none of a column of text.
    pub(crate) fn numbers_of(&self, rows: &[u32]) -> Option<Vec<f64>> {
        match self {
            Self::Numbers(numbers) => Some(picked(numbers, rows)),
            Self::Lent(Lent::Numbers(numbers)) => Some(numbers.some(rows)),
            Self::Text(_) | Self::Lent(Lent::Text(..)) => None,
        }
    }

    /// The codes of rows, in their order; none of a column of numbers.
    pub(crate) fn codes_of(&self, rows: &[u32]) -> Option<Vec<u32>> {
        match self {
            Self::Text(text) => Some(picked(&text.codes, rows)),
            Self::Lent(Lent::Text(codes, _)) => Some(codes.some(rows)),
            Self::Numbers(_) | Self::Lent(Lent::Numbers(_)) => None,
        }
    }

    /// What codes of text stand for.
    pub(crate) fn levels(&self) -> Option<&[String]> {
        match self {
            Self::Text(text) => Some(&text.levels),
            Self::Lent(Lent::Text(_, levels)) => Some(levels),
            Self::Numbers(_) | Self::Lent(Lent::Numbers(_)) => None,
        }
    }
}

fn picked<T: Copy>(cells: &[T], rows: &[u32]) -> Vec<T> {
    rows.iter().map(|&row| cells[row as usize]).collect()
}

/// By their cells, wherever these are.
impl PartialEq for Column {
    fn eq(&self, other: &Self) -> bool {
        match (self.here(), other.here()) {
            (Here::Numbers(own), Here::Numbers(other)) => own == other,
            (Here::Text(own), Here::Text(other)) => own == other,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::MISSING_LEVEL;
    use crate::{Dataset, Missing, Recipe, Schema, Summary, Table, attributes, encode};

    impl<T: fmt::Debug + Copy + Send + Sync> Cells<T> for Vec<T> {
        fn len(&self) -> usize {
            Vec::len(self)
        }

        fn all(&self) -> Vec<T> {
            self.clone()
        }

        fn some(&self, rows: &[u32]) -> Vec<T> {
            picked(self, rows)
        }
    }

    fn lent(column: &Column) -> Column {
        Column::Lent(match column.here() {
            Here::Numbers(numbers) => Lent::Numbers(Arc::new(numbers.into_owned())),
            Here::Text(text) => {
                Lent::Text(Arc::new(text.codes.clone()), text.levels.clone().into())
            }
        })
    }

    /// Features, label, attribute, stratum and unit, some of them missing.
    fn columns() -> Vec<(String, Column)> {
        let text = |levels: &[&str], code: fn(u32) -> u32| {
            let levels = levels.iter().map(|&level| level.to_owned()).collect();
            Column::Text(Categories { codes: (0..60).map(code).collect(), levels })
        };
        let gap = |row: u32| if row.is_multiple_of(7) { f64::NAN } else { f64::from(row) * 0.3 };
        let counted = |row: u32| if row.is_multiple_of(5) { MISSING_LEVEL } else { row % 3 };
        vec![
            ("height".to_owned(), Column::Numbers((0..60).map(gap).collect())),
            ("town".to_owned(), text(&["Ulm", "Bonn", "Hof", "Trier"], counted)),
            ("row".to_owned(), Column::Numbers((0..60).map(f64::from).collect())),
            ("label".to_owned(), text(&["no", "yes"], |row| row / 2 % 2)),
            ("sex".to_owned(), text(&["f", "m"], |row| row % 2)),
            ("shop".to_owned(), text(&["north", "south"], |row| row / 30)),
            ("who".to_owned(), Column::Numbers((0..60).map(|row| f64::from(row / 2)).collect())),
        ]
    }

    #[test]
    fn a_column_is_what_it_was_when_it_is_lent() {
        for (name, column) in columns() {
            let lent = lent(&column);
            // A missing number is equal to none, itself included.
            assert_eq!(lent == column, column == column.clone());
            assert_eq!((lent.len(), lent.missing()), (60, column.missing()));
            assert_eq!((lent.is_text(), lent.levels()), (column.is_text(), column.levels()));
            assert_eq!(lent.codes_of(&[3, 1]), column.codes_of(&[3, 1]), "{name}");
            assert_eq!(lent.numbers_of(&[3, 1]), column.numbers_of(&[3, 1]), "{name}");
            let shown = [&column, &lent].map(|column| format!("{:?}", column.clone().into_own()));
            assert_eq!(shown[0], shown[1]);
            assert!(matches!(lent.into_own(), Column::Numbers(_) | Column::Text(_)));
        }
    }

    /// Whatever a column is used for, and whatever is missing.
    #[test]
    fn lent_columns_are_encoded_as_others() {
        for missing in [Missing::Impute, Missing::Category, Missing::Drop] {
            let recipe = Recipe {
                stratum: Some("shop".to_owned()),
                unit: Some("who".to_owned()),
                missing,
                ..Recipe::new("label", &["sex"])
            };
            let encoded = |columns: Vec<(String, Column)>| {
                let table = Table::new("test", columns).unwrap();
                let data = Dataset::of_table(table, recipe.clone()).unwrap();
                let summary = Summary::of(&data, data.rows());
                let schema = Schema::from_summary(data.recipe(), &summary).unwrap();
                let sealed = attributes(&data, data.rows(), &schema).unwrap();
                let records = encode(&data, data.rows(), &schema).unwrap();
                (schema, records, data.warnings(), data.rows().to_vec(), sealed.ids().to_vec())
            };
            let ours = columns();
            let theirs = ours.iter().map(|(name, column)| (name.clone(), lent(column))).collect();
            assert_eq!(encoded(theirs), encoded(ours), "{missing:?}");
        }
    }
}
