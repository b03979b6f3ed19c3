//! What many runs share: tables that were read, and studies.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use steffle_data::Recipe;

use super::{Centralisation, Cut, Files, Split, Study, lock};
use crate::Error;
use crate::table::{Data, Table};

/// Tables and studies, by what they were made of. Whoever comes first makes one, others wait.
#[derive(Default)]
pub struct Library {
    tables: Mutex<HashMap<String, Data>>,
    /// The latest ones only: runs that share a study follow each other.
    studies: Mutex<VecDeque<(String, Arc<Slot>)>>,
    kept: usize,
}

/// A study that somebody is making or has made.
type Slot = Mutex<Option<Study>>;

impl Library {
    /// Keeps so many studies.
    pub fn keeping(studies: usize) -> Self {
        Self { kept: studies, ..Self::default() }
    }

    /// The rows of a table, read if nobody has read them yet.
    pub fn data(&self, table: Table, recipe: Recipe) -> Result<Data, Error> {
        let Some(key) = table.key(&recipe) else { return table.with(recipe) };
        let mut tables = lock(&self.tables);
        if let Some(data) = tables.get(&key) {
            return Ok(data.clone());
        }
        let data = table.with(recipe)?;
        tables.insert(key, data.clone());
        Ok(data)
    }

    /// Rows that are split and cut into silos.
    pub fn study(&self, data: &Data, split: Split, cut: Cut) -> Result<Study, Error> {
        let key = data.key.as_ref().map(|key| format!("{key} {split:?} {cut:?}"));
        self.made(key, || data.split(split)?.silos(cut))
    }

    /// Files that are cut already ([`Files::study`]).
    pub fn files(
        &self,
        files: &Files,
        asked: Option<Centralisation>,
        silos: Option<usize>,
        seed: u64,
    ) -> Result<Study, Error> {
        let key = format!("{} {asked:?} {silos:?} {seed}", files.key());
        self.made(Some(key), || files.study(asked, silos, seed))
    }

    fn made(
        &self,
        key: Option<String>,
        make: impl FnOnce() -> Result<Study, Error>,
    ) -> Result<Study, Error> {
        let Some(key) = key.filter(|_| self.kept > 0) else { return make() };
        let slot = self.slot(key);
        let mut made = lock(&slot);
        match &*made {
            Some(study) => Ok(study.clone()),
            None => Ok(made.insert(make()?).clone()),
        }
    }

    fn slot(&self, key: String) -> Arc<Slot> {
        let mut studies = lock(&self.studies);
        if let Some((_, slot)) = studies.iter().find(|(own, _)| *own == key) {
            return slot.clone();
        }
        if studies.len() == self.kept {
            studies.pop_front();
        }
        let slot = Arc::<Slot>::default();
        studies.push_back((key, slot.clone()));
        slot
    }
}
