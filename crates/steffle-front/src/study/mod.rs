//! A study: encoded records in silos, sealed attributes, and rows held out to judge by.

mod cut;
mod elsewhere;
mod files;
mod held_out;
mod library;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use steffle::attributes::Attributes;
use steffle::fairness::{Notion, NotionName};
use steffle::game::OutputScores;
use steffle::protocol::RunId;
use steffle::randomness::{Purpose, stream};
use steffle::record::Records;
use steffle_data::{Dataset, Job, Schema, Summary, attributes, encode, partition};
use steffle_privacy::ledger::Ledger;
use steffle_process::Journal;

use self::cut::in_order;
pub use self::cut::{Centralisation, Cut, Split};
use self::elsewhere::Elsewhere;
pub(crate) use self::elsewhere::Met;
pub use self::files::Files;
pub use self::held_out::HeldOut;
pub(crate) use self::held_out::Origin;
pub use self::library::Library;
use crate::Error;
use crate::ground::Public;
use crate::method::Aim;
use crate::table::Parted;

/// What models are trained on and judged by. Clones share everything.
#[derive(Clone)]
pub struct Study(Arc<Inner>);

struct Inner {
    encoded: Encoded,
    centralisation: Centralisation,
    seed: u64,
    holders: Holders,
    /// Attributes that no run has used yet: sealing them was the last check of the data.
    sealed: Mutex<Option<Vec<Attributes>>>,
    about: About,
    /// Where the parties keep their files to themselves.
    elsewhere: Option<Elsewhere>,
    /// The run that the stores' own books pay for, where one does, and the books until it begins.
    paid: Mutex<Option<Payment>>,
    /// Where the next run is written down, if it is.
    journal: Mutex<Option<Journal>>,
}

/// A run's name in the books that pay for it, and the books.
type Payment = (RunId, Vec<Box<dyn Ledger>>);

/// What the silos agreed on and hold, without the sensitive attribute.
struct Encoded {
    schema: Schema,
    records: Vec<Records>,
    test: HeldOut,
    validation: Option<HeldOut>,
    /// Unconstrained models, by their names; whoever comes first computes one.
    unconstrained: Mutex<HashMap<String, Arc<Slot>>>,
}

/// A model that somebody is computing or has computed.
type Slot = Mutex<Option<Arc<Public>>>;

/// Where attributes are, so that they can be sealed for another run.
enum Holders {
    /// The rows of every holder; `None` where one has all usable rows, which the table lists already.
    Table { data: Arc<Dataset>, rows: Option<Vec<Vec<u32>>> },
    /// Files that are cut already.
    Files(Box<Job>),
    /// So many holders, elsewhere.
    Elsewhere(usize),
}

/// What is known about the rows.
///
/// Nothing in it depends on the sensitive attribute.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// Rows left out for missing values.
    pub dropped: usize,
    /// Per column how many rows miss its value; never of a sensitive one.
    pub missing: BTreeMap<String, usize>,
    /// What was decided while files were read, one sentence each.
    pub reading: Vec<String>,
    /// What could not be decided.
    pub warnings: Vec<String>,
    /// The largest number of rows about one person.
    pub largest_unit: usize,
}

/// Who holds what in one run.
pub(crate) enum Holdings {
    /// Silos with two divisions each.
    Silos(Vec<(Records, Attributes)>),
    /// Records silos, and attributes holders with a cut of their own.
    Split { records: Vec<Records>, attributes: Vec<Attributes> },
}

impl Study {
    /// One table, cut here into silos.
    pub(crate) fn cut(parted: &Parted, cut: Cut) -> Result<Self, Error> {
        let (data, train) = (&parted.data.rows, &parted.rows.train);
        let random = &mut stream(parted.by.seed, 0, Purpose::Partition, 0);
        let silos = match (cut.silos, cut.heterogeneity) {
            (1, 0.0) if !train.is_empty() => vec![in_order(train)],
            (silos, heterogeneity) => partition(data, train, silos, heterogeneity, random)?,
        };
        let rows = match cut.centralisation {
            Centralisation::OneSilo | Centralisation::Silos => silos.clone(),
            Centralisation::CentralAttributes => vec![train.clone()],
            Centralisation::General(holders) => {
                let random = &mut stream(parted.by.seed, 0, Purpose::AttributesCut, 0);
                partition(data, train, holders, 0.0, random)?
            }
        };
        Self::of_silos(parted, &silos, rows, cut.centralisation)
    }

    /// One table whose rows say which silo they are in.
    pub(crate) fn cut_as(parted: &Parted, silo_of: &[u32]) -> Result<Self, Error> {
        let (data, train) = (&parted.data.rows, &parted.rows.train);
        let (rows, given) = (data.table().rows(), silo_of.len());
        if rows != given {
            let message = format!("{given} silo numbers for {rows} rows; every row needs one");
            return Err(Error::data("data::silos", message));
        }
        let count = silo_of.iter().max().map_or(0, |&last| last as usize + 1);
        let mut silos = vec![Vec::new(); count.min(given)];
        for &row in train {
            if let Some(silo) = silos.get_mut(silo_of[row as usize] as usize) {
                silo.push(row);
            }
        }
        if let Some(empty) =
            silos.iter().position(Vec::is_empty).or((count > given).then_some(given))
        {
            let message =
                format!("silo {empty} has no usable row; silos are numbered from 0 without gaps");
            return Err(Error::data("data::silos", message));
        }
        let centralisation =
            if count == 1 { Centralisation::OneSilo } else { Centralisation::Silos };
        Self::of_silos(parted, &silos, silos.clone(), centralisation)
    }

    /// Silos of these rows, and holders of the attributes of those.
    fn of_silos(
        parted: &Parted,
        silos: &[Vec<u32>],
        held: Vec<Vec<u32>>,
        centralisation: Centralisation,
    ) -> Result<Self, Error> {
        let encoded = Encoded::new(parted, silos)?;
        let (data, train) = (&parted.data.rows, &parted.rows.train);
        let all = held.len() == 1 && held[0] == data.rows();
        let holders = Holders::Table { data: data.clone(), rows: (!all).then_some(held) };
        let sealed = holders.seal(&encoded.schema)?;
        let about = About {
            dropped: data.dropped(),
            missing: data.missing().clone(),
            reading: data.table().reading().sentences(),
            warnings: {
                let mut warnings = data.warnings();
                warnings.extend(encoded.schema.remarks());
                warnings
            },
            largest_unit: data.largest_unit(train),
        };
        Ok(Self(Arc::new(Inner {
            encoded,
            centralisation,
            seed: parted.by.seed,
            holders,
            sealed: Mutex::new(Some(sealed)),
            about,
            elsewhere: None,
            paid: Mutex::default(),
            journal: Mutex::default(),
        })))
    }

    /// The rows that models are judged by.
    pub fn test(&self) -> &HeldOut {
        &self.0.encoded.test
    }

    /// The rows that settings are chosen by, if the split has them.
    pub fn validation(&self) -> Option<&HeldOut> {
        self.0.encoded.validation.as_ref()
    }

    /// What the silos agreed on: columns, levels, scaling, labels, classes.
    pub fn schema(&self) -> &Schema {
        &self.0.encoded.schema
    }

    /// Who holds what.
    pub fn centralisation(&self) -> Centralisation {
        self.0.centralisation
    }

    /// The seed of everything random.
    pub fn seed(&self) -> u64 {
        self.0.seed
    }

    /// What is known about the rows.
    pub fn about(&self) -> &About {
        &self.0.about
    }

    /// Columns that tell the sensitive attribute almost alone, one sentence each: for runs that claim
    /// nothing, because it is computed from s. Files that are cut already are not looked at together.
    pub(crate) fn reveals_sensitive(&self) -> &[String] {
        match &self.0.holders {
            Holders::Table { data, .. } => data.reveals_sensitive(),
            _ => &[],
        }
    }

    /// Records per silo; equal shares of all where only their total is known.
    pub fn sizes(&self) -> Vec<usize> {
        match &self.0.elsewhere {
            Some(elsewhere) => elsewhere.sizes.clone(),
            None => self.0.encoded.records.iter().map(Records::len).collect(),
        }
    }

    /// Training rows.
    pub fn rows(&self) -> usize {
        self.sizes().iter().sum()
    }

    /// Mean records of a silo.
    pub(crate) fn mean_size(&self) -> f64 {
        self.rows() as f64 / self.sizes().len().max(1) as f64
    }

    /// How many nodes hold attributes.
    pub fn attributes_holders(&self) -> usize {
        self.0.holders.len()
    }

    /// Whether attributes are held elsewhere than records.
    pub(crate) fn is_split(&self) -> bool {
        !matches!(self.0.centralisation, Centralisation::OneSilo | Centralisation::Silos)
    }

    /// Whether it is of files that were cut already.
    pub(crate) fn has_files(&self) -> bool {
        !matches!(self.0.holders, Holders::Table { .. })
    }

    /// Number of labels.
    pub(crate) fn labels(&self) -> usize {
        self.schema().labels().len()
    }

    /// Number of classes, k.
    pub(crate) fn classes(&self) -> usize {
        self.schema().classes().len()
    }

    /// A notion for these labels and strata.
    pub(crate) fn notion(&self, name: &NotionName) -> Notion {
        let schema = self.schema();
        name.resolve(self.labels(), schema.favourable(), schema.strata().len())
    }

    /// The scores that an aim is about.
    pub(crate) fn objective(&self, aim: &Aim) -> OutputScores {
        OutputScores {
            notion: self.notion(&aim.notion),
            classes: self.classes(),
            labels: self.labels(),
            sharpness: aim.sharpness,
        }
    }

    /// What the nodes of one run hold.
    pub(crate) fn holdings(&self) -> Result<Holdings, Error> {
        let kept = lock(&self.0.sealed).take();
        let attributes = match kept {
            Some(sealed) => sealed,
            None => self.0.holders.seal(self.schema())?,
        };
        let records = self.0.encoded.records.clone();
        Ok(if self.is_split() {
            Holdings::Split { records, attributes }
        } else {
            Holdings::Silos(records.into_iter().zip(attributes).collect())
        })
    }

    /// Has the books of the stores of attributes, in their order, pay for the next run, which goes by
    /// this name in them. Refuses books for parties in other processes: each would keep its own.
    pub fn pay_from(&self, run: [u8; 16], books: Vec<Box<dyn Ledger>>) -> Result<(), Error> {
        if self.0.elsewhere.is_some() {
            let message =
                "every party of this job keeps its own ledger, and names it in its silo.toml";
            return Err(Error::usage("config::processes", message).with_help(
                "leave out <ledger>; <noise secure> asks for a private run, and sites decide",
            ));
        }
        *lock(&self.0.paid) = Some((RunId(run), books));
        Ok(())
    }

    /// Whether the stores' books pay.
    pub fn is_paid(&self) -> bool {
        lock(&self.0.paid).is_some()
    }

    /// The name of the run that is paid for, and its books for the first who asks.
    pub(crate) fn payment(&self) -> Option<Payment> {
        let mut paid = lock(&self.0.paid);
        let (run, books) = paid.as_mut()?;
        Some((*run, std::mem::take(books)))
    }

    /// Has the next run written down in a file, or gone on with from there.
    pub fn keep_journal(&self, path: &Path) -> Result<(), Error> {
        let journal = Journal::open(path, false);
        let journal = journal.map_err(|error| Error::data("train::journal", error.to_string()))?;
        *lock(&self.0.journal) = Some(journal);
        Ok(())
    }

    /// Ends the journal of a run that has ended well, where there is one: it is its transcript now.
    pub fn end_journal(&self) -> Result<(), Error> {
        let ended = lock(&self.0.journal).as_ref().map_or(Ok(()), Journal::end);
        ended.map_err(|error| Error::data("train::journal", error.to_string()))
    }

    pub(crate) fn journal(&self) -> Option<Journal> {
        lock(&self.0.journal).clone()
    }

    /// Nodes that have said who they are, where parties keep their files to themselves; and the name
    /// of their run.
    pub(crate) fn elsewhere(&self) -> Result<Option<(RunId, Met)>, Error> {
        let Some(elsewhere) = &self.0.elsewhere else { return Ok(None) };
        elsewhere.gathered().map(Some)
    }

    /// Sites that a run went on without, one sentence each.
    pub fn absences(&self) -> Vec<String> {
        let all = self.0.elsewhere.as_ref().map(|elsewhere| elsewhere.absences.all());
        all.unwrap_or_default().iter().map(ToString::to_string).collect()
    }

    /// The most bytes of a frame, where messages are carried in frames.
    pub(crate) fn frame_bytes(&self) -> Option<u64> {
        self.0.elsewhere.as_ref().and_then(Elsewhere::frame_bytes)
    }

    /// Whether parties keep their files to themselves.
    pub fn is_elsewhere(&self) -> bool {
        self.0.elsewhere.is_some()
    }

    /// The record ids of every silo.
    pub fn ids(&self) -> Vec<Vec<u64>> {
        self.0.encoded.records.iter().map(|own| own.ids().to_vec()).collect()
    }

    /// The schema as nodes elsewhere read it; empty where they have encoded rows.
    pub(crate) fn columns(&self) -> Result<Vec<u8>, Error> {
        if self.0.elsewhere.is_none() {
            return Ok(Vec::new());
        }
        let text = serde_json::to_vec(self.schema());
        text.map_err(|error| Error::data("train::schema", error.to_string()))
    }

    /// The unconstrained model called `name`; whoever comes first has it computed, others wait.
    pub(crate) fn unconstrained(
        &self,
        name: &str,
        compute: impl FnOnce() -> Result<Public, Error>,
    ) -> Result<Arc<Public>, Error> {
        let slots = &self.0.encoded.unconstrained;
        let slot = lock(slots).entry(name.to_owned()).or_default().clone();
        let mut found = lock(&slot);
        match &*found {
            Some(public) => Ok(public.clone()),
            None => Ok(found.insert(Arc::new(compute()?)).clone()),
        }
    }
}

impl Encoded {
    /// Agrees on a schema and encodes.
    fn new(parted: &Parted, silos: &[Vec<u32>]) -> Result<Self, Error> {
        let (data, rows) = (&parted.data.rows, &parted.rows);
        let mut summary = Summary::of(data, &[]);
        for silo in silos {
            summary.merge(&Summary::of(data, silo))?;
        }
        let schema = Schema::from_summary(data.recipe(), &summary)?;
        let records = |rows: &Vec<u32>| Ok(encode(data, rows, &schema)?.records);
        let validation = Some(&rows.validation).filter(|rows| !rows.is_empty());
        Ok(Self {
            records: silos.iter().map(records).collect::<Result<_, Error>>()?,
            test: match &parted.by.test {
                None => HeldOut::of(data, &rows.test, &schema)?,
                Some(file) => HeldOut::read(file, &schema, &data.recipe().dialect)?,
            },
            validation: validation.map(|rows| HeldOut::of(data, rows, &schema)).transpose()?,
            unconstrained: Mutex::default(),
            schema,
        })
    }
}

impl Holders {
    fn seal(&self, schema: &Schema) -> Result<Vec<Attributes>, Error> {
        match self {
            Self::Table { data, rows: None } => Ok(vec![attributes(data, data.rows(), schema)?]),
            Self::Table { data, rows: Some(rows) } => {
                rows.iter().map(|rows| Ok(attributes(data, rows, schema)?)).collect()
            }
            Self::Files(job) => Ok(job.seal(schema)?),
            Self::Elsewhere(_) => Err(Error::bug("classes of parties elsewhere were asked for")),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Table { rows, .. } => rows.as_ref().map_or(1, Vec::len),
            Self::Files(job) => job.silos.len() + job.attributes.len(),
            Self::Elsewhere(holders) => *holders,
        }
    }
}

/// The value, also after a panic elsewhere: nothing here is ever left half-made.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
