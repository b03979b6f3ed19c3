//! The columns that a store is about: named once by its owner, and by nobody else afterwards.

use serde::{Deserialize, Serialize};

use super::refusal::Refusal;

/// The sensitive columns of a store, their classes, and the columns that say who a row is about.
///
/// A ledger holds one for its life. A recipe, job, schema or run directory that says otherwise is
/// refused: whoever names the id column decides who pays.
///
/// ```
/// use steffle_privacy::ledger::StoreColumns;
/// let columns = StoreColumns::new(["sex"], ["f", "m"], "record_id", None)?;
/// assert_eq!(columns.record_id(), "record_id");
/// assert!(StoreColumns::new(["sex"], ["f", "m"], " Sex ", None).is_err());
/// # Ok::<(), steffle_privacy::ledger::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Named", into = "Named")]
pub struct StoreColumns(Named);

/// The same before it is checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    sensitive: Vec<String>,
    classes: Vec<String>,
    record_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unit: Option<String>,
}

impl StoreColumns {
    /// Checks the names: at least one sensitive column, two classes or more, none of them empty or
    /// twice, and no column in two roles (trimmed, case-folded).
    pub fn new<S: Into<String>>(
        sensitive: impl IntoIterator<Item = S>,
        classes: impl IntoIterator<Item = S>,
        record_id: impl Into<String>,
        unit: Option<String>,
    ) -> Result<Self, Refusal> {
        let all = |names: &mut dyn Iterator<Item = S>| names.map(Into::into).collect();
        Named {
            sensitive: all(&mut sensitive.into_iter()),
            classes: all(&mut classes.into_iter()),
            record_id: record_id.into(),
            unit,
        }
        .try_into()
    }

    /// The sensitive columns, in the order in which their values are joined to classes.
    pub fn sensitive(&self) -> &[String] {
        &self.0.sensitive
    }

    /// The classes, in the order in which they are numbered.
    pub fn classes(&self) -> &[String] {
        &self.0.classes
    }

    /// The column of record ids.
    pub fn record_id(&self) -> &str {
        &self.0.record_id
    }

    /// The column that says which rows are about one person; without it, each row is one.
    pub fn unit(&self) -> Option<&str> {
        self.0.unit.as_deref()
    }

    /// Whether a column of this name is sensitive, trimmed and case-folded.
    pub fn is_sensitive(&self, name: &str) -> bool {
        self.0.sensitive.iter().any(|own| same_name(own, name))
    }
}

/// Whether two column names are the same when trimmed and case-folded.
pub fn same_name(one: &str, other: &str) -> bool {
    folded(one) == folded(other)
}

fn folded(name: &str) -> String {
    name.trim().to_lowercase()
}

impl TryFrom<Named> for StoreColumns {
    type Error = Refusal;

    fn try_from(named: Named) -> Result<Self, Refusal> {
        let refused = |why: String| Err(Refusal::Columns(why));
        let Named { sensitive, classes, record_id, unit } = &named;
        if sensitive.is_empty() {
            return refused("no sensitive column is given; a store has at least one".into());
        }
        if classes.len() < 2 {
            let given = classes.len();
            return refused(format!("{given} class(es) are given; a store has two or more"));
        }
        let columns: Vec<&String> = sensitive.iter().chain([record_id]).chain(unit).collect();
        if columns
            .iter()
            .chain(&classes.iter().collect::<Vec<_>>())
            .any(|name| name.trim().is_empty())
        {
            return refused("a name is empty; every column and class has a name".into());
        }
        for (at, name) in columns.iter().enumerate() {
            if columns[..at].iter().any(|before| same_name(before, name)) {
                return refused(format!(
                    "column `{name}` is given two roles; sensitive, record id and unit columns are \
                     different ones"
                ));
            }
        }
        for (at, class) in classes.iter().enumerate() {
            if classes[..at].contains(class) {
                return refused(format!("class `{class}` is given twice"));
            }
        }
        Ok(Self(named))
    }
}

impl From<StoreColumns> for Named {
    fn from(columns: StoreColumns) -> Self {
        columns.0
    }
}
