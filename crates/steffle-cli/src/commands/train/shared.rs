//! What runs share: tables that were read, and tables that were cut into silos and encoded.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use steffle::randomness::{Purpose, stream};
use steffle::record::Records;
use steffle_data::{Dataset, Recipe, Schema, Source, Summary, encode, partition, split};

use super::load::HeldOut;
use crate::config::TrainConfig;
use crate::failure::Failure;

/// Tables and their cuts, by what they were made for.
#[derive(Default)]
pub(crate) struct Shared {
    tables: Mutex<HashMap<String, Arc<Dataset>>>,
    /// The latest ones only: runs that share a cut follow each other.
    cuts: Mutex<VecDeque<(String, Arc<Slot>)>>,
    kept: usize,
}

/// A cut that somebody is making or has made.
type Slot = Mutex<Option<Arc<Cut>>>;

/// A table cut into silos, without the sensitive attribute.
#[derive(Clone)]
pub(super) struct Cut {
    pub(super) schema: Schema,
    /// All training rows.
    pub(super) train: Vec<u32>,
    /// The rows of every silo.
    pub(super) silos: Vec<Vec<u32>>,
    /// The same, encoded.
    pub(super) records: Vec<Records>,
    pub(super) test: Arc<HeldOut>,
    pub(super) validation: Option<Arc<HeldOut>>,
}

impl Shared {
    /// For runs on this many threads at a time.
    pub(crate) fn by(threads: usize) -> Self {
        Self { kept: 2 * threads, ..Self::default() }
    }

    /// The table of a source, read if nobody has read it yet.
    pub(super) fn table(&self, source: &Source, recipe: Recipe) -> Result<Arc<Dataset>, Failure> {
        let key = format!("{source:?} {recipe:?}");
        let mut tables = lock(&self.tables);
        if let Some(data) = tables.get(&key) {
            return Ok(data.clone());
        }
        let data = Arc::new(Dataset::of_table(source.read(&recipe)?, recipe)?);
        tables.insert(key, data.clone());
        Ok(data)
    }

    /// The cut that a configuration asks for; whoever comes first makes it, others wait for it.
    pub(super) fn cut(
        &self,
        source: &Source,
        data: &Dataset,
        config: &TrainConfig,
    ) -> Result<Arc<Cut>, Failure> {
        if self.kept == 0 {
            return Ok(Arc::new(Cut::new(data, config)?));
        }
        let TrainConfig { seed, silos, heterogeneity, validation, .. } = config;
        let recipe = data.recipe();
        let key = format!("{source:?} {recipe:?} {seed} {silos:?} {heterogeneity} {validation}");
        let slot = self.slot(key);
        let mut made = lock(&slot);
        match &*made {
            Some(cut) => Ok(cut.clone()),
            None => Ok(made.insert(Arc::new(Cut::new(data, config)?)).clone()),
        }
    }

    fn slot(&self, key: String) -> Arc<Slot> {
        let mut cuts = lock(&self.cuts);
        if let Some((_, slot)) = cuts.iter().find(|(own, _)| *own == key) {
            return slot.clone();
        }
        if cuts.len() == self.kept {
            cuts.pop_front();
        }
        let slot = Arc::<Slot>::default();
        cuts.push_back((key, slot.clone()));
        slot
    }
}

impl Cut {
    fn new(data: &Dataset, config: &TrainConfig) -> Result<Self, Failure> {
        let seed = config.seed;
        let rows = split(data, config.validation, &mut stream(seed, 0, Purpose::Split, 0))?;
        let random = &mut stream(seed, 0, Purpose::Partition, 0);
        let silos = config.silos.unwrap_or(1);
        let silos = partition(data, &rows.train, silos, config.heterogeneity, random)?;
        let mut summary = Summary::of(data, &[]);
        for silo in &silos {
            summary.merge(&Summary::of(data, silo))?;
        }
        let schema = Schema::from_summary(data.recipe(), &summary)?;
        let records = |rows: &Vec<u32>| Ok(encode(data, rows, &schema)?.records);
        let held_out = |rows: &[u32]| HeldOut::of(data, rows, &schema).map(Arc::new);
        let validation = Some(&rows.validation).filter(|rows| !rows.is_empty());
        Ok(Self {
            records: silos.iter().map(records).collect::<Result<_, Failure>>()?,
            test: held_out(&rows.test)?,
            validation: validation.map(|rows| held_out(rows)).transpose()?,
            train: rows.train,
            silos,
            schema,
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
