//! Class memberships that stand in for `s`: already released, so the records division may hold
//! and use them like features.

use std::collections::HashMap;

use steffle_attributes::ClassRelease;
use steffle_model::record::Ids;
use steffle_wire::Classes;

use super::RecordsDivisionError;

/// `shat_ir`, `[record][class]`: how much record i counts in class r.
///
/// The memberships of a record sum to 1; debiased ones may lie outside `[0, 1]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Imputed {
    classes: usize,
    memberships: Vec<f64>,
}

impl Imputed {
    /// From `[record][class]` memberships; refuses ragged and non-finite ones.
    pub fn new(classes: usize, memberships: Vec<f64>) -> Result<Self, RecordsDivisionError> {
        let whole = classes > 0 && memberships.len().is_multiple_of(classes);
        if whole && memberships.iter().all(|membership| membership.is_finite()) {
            Ok(Self { classes, memberships })
        } else {
            Err(RecordsDivisionError::Memberships)
        }
    }

    /// The memberships of the records `ids` from released classes, each of which is one of
    /// `classes`; refuses a record whose class nobody released.
    ///
    /// A revealed class is a 1 among zeros, a missing one counts `1/k` in every class, and a
    /// randomised one is debiased.
    pub fn from_classes(
        ids: &Ids,
        classes: usize,
        released: &[Classes],
        release: ClassRelease,
    ) -> Result<Self, RecordsDivisionError> {
        let (own, other) = match release {
            ClassRelease::Revealed => (1.0, 0.0),
            ClassRelease::Randomised(response) => response.memberships(),
        };
        let mut memberships = Vec::with_capacity(ids.len() * classes);
        let mut push = |class: u16| {
            let start = memberships.len();
            match usize::from(class) {
                class if class < classes => {
                    memberships.resize(start + classes, other);
                    memberships[start + class] = own;
                }
                _ => memberships.resize(start + classes, 1.0 / classes as f64),
            }
        };
        if let [all] = released
            && ids.iter().eq(all.ids.iter().copied())
        {
            // Both divisions of one silo: the same records in the same order.
            all.classes.iter().for_each(|&class| push(class));
            return Self::new(classes, memberships);
        }
        let pairs = released.iter().flat_map(|part| part.ids.iter().zip(&part.classes));
        let by_id: HashMap<u64, u16> = pairs.map(|(&id, &class)| (id, class)).collect();
        for id in ids.iter() {
            push(*by_id.get(&id).ok_or(RecordsDivisionError::NoClass(id))?);
        }
        Self::new(classes, memberships)
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.memberships.len() / self.classes
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.memberships.is_empty()
    }

    /// Sensitive classes, k.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The memberships of one record.
    pub fn of(&self, record: usize) -> &[f64] {
        &self.memberships[record * self.classes..][..self.classes]
    }

    /// The memberships of a run of records.
    pub fn range(&self, records: std::ops::Range<usize>) -> &[f64] {
        &self.memberships[records.start * self.classes..records.end * self.classes]
    }
}
