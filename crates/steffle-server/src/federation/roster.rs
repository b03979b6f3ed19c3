//! Who takes part in a run: names, and what becomes of a site that does not reply.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use steffle_wire::MaskTerms;

/// Who is asked to take part.
///
/// Without names sites are numbers, and a run ends with the first that does not reply.
#[derive(Debug, Clone, Default)]
pub struct Roster {
    /// Of the sites, for whoever reads errors; there may be none.
    pub names: Vec<String>,
    /// Where the run goes on without sites that do not reply: those that it lost.
    pub drops: Option<Absences>,
    /// Where sums are added up under masks: what sites sign. Nobody is left out then.
    pub masked: Option<MaskTerms>,
}

/// Sites that a run went on without, for whoever tells about it.
#[derive(Debug, Clone, Default)]
pub struct Absences(Arc<Mutex<Vec<Absence>>>);

/// A site that a run went on without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absence {
    /// Its place.
    pub silo: usize,
    /// Its name.
    pub name: SiteName,
    /// The trip in which it did not reply.
    pub trip: u64,
    /// Why not.
    pub why: String,
}

impl Absences {
    /// All of them, in the order in which they were lost.
    pub fn all(&self) -> Vec<Absence> {
        self.lock().clone()
    }

    pub(super) fn has(&self, silo: usize) -> bool {
        self.lock().iter().any(|absence| absence.silo == silo)
    }

    pub(super) fn add(&self, absence: Absence) {
        self.lock().push(absence);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Absence>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for Absence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { silo, name, trip, why } = self;
        write!(f, "from trip {trip} on the run went on without silo {silo}{name}: {why}")
    }
}

/// The name of a site, where sites have names: in brackets, behind its number.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SiteName(pub Option<String>);

impl fmt::Display for SiteName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|name| write!(f, " ({name})"))
    }
}
