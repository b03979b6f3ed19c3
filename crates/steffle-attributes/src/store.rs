//! What the attributes division holds: record ids and the sensitive class of each.

use steffle_model::record::{Ids, MISSING_CLASS};

use super::UnitList;

/// A sensitive value. It can be put in by anyone and read by the attributes division only.
///
/// There is deliberately no `Debug`, `Clone`, `Serialize`, `Deref` or public accessor, so that
/// neither a log line nor a reply can hold it. These do not compile:
///
/// ```compile_fail
/// let s = steffle_site::record::Sensitive::new(vec![0u16, 1]);
/// println!("{s:?}");
/// ```
/// ```compile_fail
/// let s = steffle_site::record::Sensitive::new(vec![0u16, 1]);
/// let copy = s.clone();
/// ```
/// ```compile_fail
/// let s = steffle_site::record::Sensitive::new(vec![0u16, 1]);
/// let read = s.expose();
/// ```
pub struct Sensitive<T>(T);

impl<T> Sensitive<T> {
    /// Seals a value.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// Reads the value: inside the attributes division only.
    pub(super) fn expose(&self) -> &T {
        &self.0
    }
}

/// Why attributes were refused. No message holds a class of a record.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttributesError {
    /// Ids and classes differ in number.
    #[error("{ids} record ids but {classes} sensitive classes")]
    Length {
        /// Ids given.
        ids: usize,
        /// Classes given.
        classes: usize,
    },
    /// The same record id twice.
    #[error("record id {id} stands twice among the attributes; an id names one record")]
    Repeated {
        /// The repeated id.
        id: u64,
    },
}

/// Sensitive classes by record id.
///
/// They are sealed: only the door of the division reads them.
pub struct Attributes {
    ids: Ids,
    classes: Sensitive<Vec<u16>>,
    class_count: usize,
}

impl Attributes {
    /// Checks lengths and that no id repeats. A class that the schema does not know counts as
    /// missing: a refusal would tell that there is one.
    pub fn new(
        ids: Vec<u64>,
        classes: Sensitive<Vec<u16>>,
        class_count: usize,
    ) -> Result<Self, AttributesError> {
        if ids.len() != classes.expose().len() {
            return Err(AttributesError::Length {
                ids: ids.len(),
                classes: classes.expose().len(),
            });
        }
        let known = |class: &u16| {
            if usize::from(*class) < class_count { *class } else { MISSING_CLASS }
        };
        let mut classes = classes;
        classes.0.iter_mut().for_each(|class| *class = known(class));
        let ids = Ids::from(ids);
        if let Some(id) = ids.repeated() {
            return Err(AttributesError::Repeated { id });
        }
        Ok(Self { ids, classes, class_count })
    }

    /// Record ids, in the order of the classes.
    pub fn ids(&self) -> &Ids {
        &self.ids
    }

    /// The same with a list of the same ids that somebody else keeps already.
    pub(super) fn with_ids(self, ids: &Ids) -> Self {
        debug_assert_eq!(self.ids, *ids);
        Self { ids: ids.clone(), ..self }
    }

    /// How many classes the schema knows (k).
    pub fn class_count(&self) -> usize {
        self.class_count
    }

    /// The same with one class for all records of a unit: that of its smallest id.
    pub(super) fn of_units(self, units: &UnitList) -> Self {
        let Some(speakers) = units.speakers(&self.ids) else { return self };
        let own = self.classes.expose();
        let classes = speakers.iter().map(|&place| own[place as usize]).collect();
        Self { classes: Sensitive::new(classes), ..self }
    }

    /// The same without the records of other ids.
    pub(super) fn only(self, keep: impl Fn(u64) -> bool) -> Self {
        if self.ids.iter().all(&keep) {
            return self;
        }
        let kept = self.ids.iter().zip(self.classes.expose()).filter(|(id, _)| keep(*id));
        let (ids, classes): (Vec<u64>, Vec<u16>) = kept.map(|(id, &class)| (id, class)).unzip();
        Self { ids: Ids::from(ids), classes: Sensitive::new(classes), ..self }
    }

    /// The classes, in the order of the ids: for the door.
    pub(super) fn classes(&self) -> &[u16] {
        self.classes.expose()
    }
}
