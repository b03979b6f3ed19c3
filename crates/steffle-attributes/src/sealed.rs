//! Sensitive columns of a table, sealed from the moment they are read.
//!
//! # Claim
//! Outside of this crate no function leads from the name of a column to a sensitive value, with one
//! exception: `Dataset::kept_columns` in steffle-data gives the keeper all sensitive columns with their
//! names, for the keeper's own files. The test named below lists its callers. One of them cuts a table
//! into silos by s (`partition`), and a run that claims privacy refuses such silos.
//!
//! # Proof
//! A table gives its sensitive columns up before any name is looked up in it ([`SealedColumns::add`]), so
//! that features, label, strata, levels and errors are made of a table without them. What can be made
//! of sealed columns takes no name: [`Attributes`], which the door alone reads, or the values of all
//! columns for a reader that the caller has to name ([`RevealTo`]). The callers are listed in
//! `crates/steffle/tests/absences.rs`, `sealed_columns_are_revealed_for_named_purposes_only`.

use std::collections::{BTreeMap, HashMap};

use steffle_model::record::MISSING_CLASS;

use super::store::{Attributes, AttributesError, Sensitive};

/// Stands between the parts of a class of several sensitive columns.
pub const PRODUCT: &str = " x ";

/// Who may see sensitive values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevealTo {
    /// The keeper of the table looks at its own column, or writes it into files of its own.
    Keeper,
    /// Group rates of held-out rows are reported.
    Report,
    /// The run claims no privacy.
    Unclaimed,
}

/// The values of a sensitive column, for whom [`RevealTo`] says.
pub struct Revealed {
    /// Per row the place in `levels`; a larger number is a missing value.
    pub codes: Vec<u32>,
    /// The different values.
    pub levels: Vec<String>,
}

/// The sensitive columns of a table.
///
/// Neither values nor levels can be printed, cloned or compared:
///
/// ```compile_fail
/// let sealed = steffle_attributes::SealedColumns::default();
/// println!("{sealed:?}");
/// ```
/// ```compile_fail
/// let sealed = steffle_attributes::SealedColumns::default();
/// let copy = sealed.clone();
/// ```
/// ```compile_fail
/// let sealed = steffle_attributes::SealedColumns::default();
/// let values = sealed.column("sex");
/// ```
#[derive(Default)]
pub struct SealedColumns(Vec<SealedColumn>);

struct SealedColumn {
    name: String,
    /// Where it stood in its table.
    place: usize,
    codes: Sensitive<Codes>,
    levels: Sensitive<Vec<String>>,
}

/// Codes in as few bytes as there are levels; the largest number is a missing value.
enum Codes {
    One(Vec<u8>),
    Two(Vec<u16>),
    Four(Vec<u32>),
}

/// The rows that attributes are made of.
pub struct SealedRows<'a> {
    /// Record ids.
    pub ids: Vec<u64>,
    /// Per record its row in the table; `None` where nothing is known about it.
    pub rows: &'a [Option<u32>],
    /// Per row of the table its unit, where a unit can have several rows.
    pub units: Option<&'a [u32]>,
}

impl Codes {
    fn new(codes: &[u32], levels: usize) -> Self {
        // One beyond the levels is missing, so that every width has room for it.
        let known = |code: u32| (code as usize) < levels;
        match levels {
            0..=0xff => {
                let small = |&code: &u32| if known(code) { code as u8 } else { u8::MAX };
                Self::One(codes.iter().map(small).collect())
            }
            0x100..=0xffff => {
                let small = |&code: &u32| if known(code) { code as u16 } else { u16::MAX };
                Self::Two(codes.iter().map(small).collect())
            }
            _ => Self::Four(codes.to_vec()),
        }
    }

    fn at(&self, row: usize) -> u32 {
        match self {
            Self::One(codes) => u32::from(codes[row]),
            Self::Two(codes) => u32::from(codes[row]),
            Self::Four(codes) => codes[row],
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::One(codes) => codes.len(),
            Self::Two(codes) => codes.len(),
            Self::Four(codes) => codes.len(),
        }
    }

    fn all(&self) -> Vec<u32> {
        (0..self.len()).map(|row| self.at(row)).collect()
    }
}

impl SealedColumns {
    /// Seals a column, which stood at `place` in its table. Codes are places in `levels`; a code beyond
    /// them is a missing value.
    pub fn add(&mut self, name: &str, place: usize, codes: &[u32], levels: Vec<String>) {
        let codes = Sensitive::new(Codes::new(codes, levels.len()));
        let (name, levels) = (name.to_owned(), Sensitive::new(levels));
        self.0.push(SealedColumn { name, place, codes, levels });
    }

    /// Names, each with the place where the column stood in its table.
    pub fn names(&self) -> impl Iterator<Item = (&str, usize)> {
        self.0.iter().map(|column| (column.name.as_str(), column.place))
    }

    /// Whether there is a column of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|column| column.name == name)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps the columns of these names, in their order. What is missing is left out.
    #[must_use]
    pub fn select(mut self, names: &[String]) -> Self {
        let mut take = |name: &String| {
            let at = self.0.iter().position(|column| column.name == *name)?;
            Some(self.0.swap_remove(at))
        };
        Self(names.iter().filter_map(&mut take).collect())
    }

    /// Gives values new names, by column; values with the same new name become one.
    pub fn rename(&mut self, names: &BTreeMap<String, BTreeMap<String, String>>) {
        for column in &mut self.0 {
            let Some(names) = names.get(&column.name) else { continue };
            let mut known: HashMap<&String, u32> = HashMap::new();
            let mut levels = Vec::new();
            let renamed: Vec<u32> = column
                .levels
                .expose()
                .iter()
                .map(|level| {
                    let name = names.get(level).unwrap_or(level);
                    *known.entry(name).or_insert_with(|| {
                        levels.push(name.clone());
                        levels.len() as u32 - 1
                    })
                })
                .collect();
            let code = |code: u32| renamed.get(code as usize).copied().unwrap_or(u32::MAX);
            let codes: Vec<u32> = column.codes.expose().all().into_iter().map(code).collect();
            column.codes = Sensitive::new(Codes::new(&codes, levels.len()));
            column.levels = Sensitive::new(levels);
        }
    }

    /// The sealed classes of records, for the attributes division.
    ///
    /// A value outside of `classes` counts as missing, and all rows of a unit get the class of its
    /// smallest record id, because the privacy of a unit is the privacy of one value. Neither is an
    /// error: an error would tell something about sensitive values.
    pub fn attributes(
        &self,
        of: SealedRows<'_>,
        classes: &[String],
    ) -> Result<Attributes, AttributesError> {
        let SealedRows { ids, rows, units } = of;
        let mut found = self.lookup(rows.iter().copied(), classes);
        if let Some(units) = units {
            one_per_unit(&ids, rows, units, &mut found);
        }
        Attributes::new(ids, Sensitive::new(found), classes.len())
    }

    /// The classes of rows, open.
    pub fn classes(&self, rows: &[u32], classes: &[String], _: RevealTo) -> Vec<u16> {
        self.lookup(rows.iter().map(|&row| Some(row)), classes)
    }

    /// The values of all columns, in their order.
    pub fn reveal(&self, _: RevealTo) -> Vec<Revealed> {
        let one = |column: &SealedColumn| Revealed {
            codes: column.codes.expose().all(),
            levels: column.levels.expose().clone(),
        };
        self.0.iter().map(one).collect()
    }

    /// The class of each row: the product of its levels, looked up among the agreed names.
    fn lookup(&self, rows: impl Iterator<Item = Option<u32>>, classes: &[String]) -> Vec<u16> {
        let mut found: HashMap<Vec<u32>, u16> = HashMap::new();
        let mut key = vec![0; self.0.len()];
        let class_of = |row: Option<u32>| {
            let Some(row) = row else { return MISSING_CLASS };
            for (slot, column) in key.iter_mut().zip(&self.0) {
                *slot = column.codes.expose().at(row as usize);
            }
            if let Some(&class) = found.get(&key) {
                return class;
            }
            let levels = self.0.iter().zip(&key);
            let levels = levels.map(|(column, code)| column.levels.expose().get(*code as usize));
            let levels: Option<Vec<&str>> = levels.map(|level| level.map(String::as_str)).collect();
            let name = levels.filter(|own| !own.is_empty()).map(|own| own.join(PRODUCT));
            let at = name.and_then(|name| classes.iter().position(|own| *own == name));
            let class = at.map_or(MISSING_CLASS, |at| at as u16);
            found.insert(key.clone(), class);
            class
        };
        rows.map(class_of).collect()
    }
}

/// Gives all rows of a unit the class of its row with the smallest record id.
fn one_per_unit(ids: &[u64], rows: &[Option<u32>], units: &[u32], classes: &mut [u16]) {
    let unit = |row: &Option<u32>| row.map(|row| units[row as usize]);
    let mut first: HashMap<u32, (u64, u16)> = HashMap::new();
    for ((row, &id), &class) in rows.iter().zip(ids).zip(&*classes) {
        if let Some(unit) = unit(row) {
            let kept = first.entry(unit).or_insert((id, class));
            *kept = (*kept).min((id, class));
        }
    }
    for (row, class) in rows.iter().zip(classes) {
        if let Some((_, own)) = unit(row).and_then(|unit| first.get(&unit)) {
            *class = *own;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn two() -> SealedColumns {
        let mut sealed = SealedColumns::default();
        sealed.add("sex", 3, &[0, 1, 0, u32::MAX, 1], names(&["f", "m"]));
        sealed.add("race", 1, &[0, 0, 1, 1, 2], names(&["a", "b", "c"]));
        sealed
    }

    #[test]
    fn classes_are_products_of_levels_and_everything_else_is_missing() {
        let classes = names(&["f x a", "f x b", "m x a"]);
        let found = two().classes(&[0, 1, 2, 3, 4], &classes, RevealTo::Report);
        assert_eq!(found, [0, 2, 1, MISSING_CLASS, MISSING_CLASS]);
    }

    /// The smallest id decides, wherever it stands, also where its value is missing.
    #[test]
    fn a_unit_has_the_class_of_its_smallest_record_id() {
        let mut sealed = SealedColumns::default();
        sealed.add("s", 0, &[0, 1, 1, 0, 9, 0], names(&["f", "m"]));
        let units = [0, 1, 0, 1, 2, 2];
        let of = |rows: &[u32], ids: &[u64]| {
            let placed: Vec<Option<u32>> = rows.iter().map(|&row| Some(row)).collect();
            let of = SealedRows { ids: ids.to_vec(), rows: &placed, units: Some(&units) };
            let made = sealed.attributes(of, &names(&["f", "m"])).unwrap();
            made.classes().to_vec()
        };
        let all = of(&[0, 1, 2, 3, 4, 5], &[5, 3, 4, 2, 1, 9]);
        assert_eq!(all, [1, 0, 1, 0, MISSING_CLASS, MISSING_CLASS]);
        assert_eq!(of(&[5, 1, 0], &[9, 3, 5]), [0, 1, 0], "of the rows that are sealed together");
    }

    #[test]
    fn values_are_renamed_and_merged_and_columns_selected() {
        let mut sealed = two();
        let merged = BTreeMap::from([("b".to_owned(), "a".to_owned())]);
        sealed.rename(&BTreeMap::from([("race".to_owned(), merged)]));
        let sealed = sealed.select(&names(&["race", "absent"]));
        assert_eq!(sealed.names().collect::<Vec<_>>(), [("race", 1)]);
        let found = sealed.classes(&[0, 1, 2, 3, 4], &names(&["c", "a"]), RevealTo::Keeper);
        assert_eq!(found, [1, 1, 1, 1, 0]);
    }

    /// Codes keep their meaning at every width, missing ones included.
    #[test]
    fn codes_take_as_few_bytes_as_there_are_levels() {
        for count in [1_u32, 254, 255, 256, 65_535, 65_536] {
            let levels: Vec<String> = (0..count).map(|level| level.to_string()).collect();
            let mut sealed = SealedColumns::default();
            sealed.add("s", 0, &[0, count - 1, count, u32::MAX], levels.clone());
            let found = sealed.reveal(RevealTo::Keeper).pop().unwrap();
            let level = |at: usize| found.levels.get(found.codes[at] as usize);
            assert_eq!((level(0), level(1)), (levels.first(), levels.last()), "{count}");
            assert_eq!((level(2), level(3)), (None, None), "{count}");
        }
    }
}
