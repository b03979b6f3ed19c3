//! Files that are cut already: who holds what is not ours to choose.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use steffle_data::{Job, Lead, Recipe};

use super::elsewhere::Afar;
use super::{About, Centralisation, Encoded, HeldOut, Holders, Inner, Study};
use crate::Error;
use crate::method::Method;
use crate::processes::{Folder, OpenBook, Reach};

/// The files of a study, one or two per silo.
///
/// They are cut already, as organisations have them.
#[derive(Debug, Clone)]
pub struct Files {
    job: Job,
    /// Where it was read, and what it said about columns.
    read: Option<(PathBuf, Recipe)>,
    afar: Option<Afar>,
    masked: Option<Arc<dyn Method>>,
}

impl Files {
    /// Those that a `job.toml` names, with what it says about their columns.
    pub fn read(job: &Path) -> Result<Self, Error> {
        let read = Job::read(job)?;
        let said = (job.to_path_buf(), read.recipe.clone());
        Ok(Self { job: read, read: Some(said), afar: None, masked: None })
    }

    /// Those of a job that somebody submitted, which names sites and test rows of this server, and no file.
    pub fn submitted(job: &Path, lead: &Path) -> Result<Self, Error> {
        let read = Job::read_submitted(job, &Lead::read(lead)?)?;
        let said = (job.to_path_buf(), read.recipe.clone());
        Ok(Self { job: read, read: Some(said), afar: None, masked: None })
    }

    /// Records files, attributes files and a file to test on.
    pub fn new(records: Vec<PathBuf>, attributes: Vec<PathBuf>, test: PathBuf) -> Self {
        let mut job = Job::new(Recipe::default());
        (job.records, job.attributes, job.test) = (records, attributes, test);
        Self { job, read: None, afar: None, masked: None }
    }

    /// What the columns mean.
    pub fn recipe(&self) -> &Recipe {
        &self.job.recipe
    }

    /// The same files with columns of another meaning.
    #[must_use]
    pub fn with(mut self, recipe: Recipe) -> Self {
        self.job.recipe = recipe;
        self
    }

    /// The same for a run of this method. Where its sums are added up under masks, and parties are reached
    /// by messages, they say no more of themselves than what they add up to.
    #[must_use]
    pub fn masked(mut self, method: &Arc<dyn Method>) -> Self {
        self.masked = method.secure_aggregation().then(|| method.clone());
        self
    }

    /// Whether they are of sites that keep them to themselves.
    pub fn has_sites(&self) -> bool {
        !self.job.sites.is_empty()
    }

    /// What the job says about training, by the names of settings.
    pub fn settings(&self) -> Option<&toml::Table> {
        self.job.train.as_ref()
    }

    /// The same with every party in a process of its own, which runs `program node`. `what` is run, in a
    /// few bytes that other settings do not share; its journal is kept in a file, where one is named.
    /// Refuses files that no job names, and
    /// columns of another meaning than the job says: a party reads its own.
    pub fn in_processes(
        self,
        program: PathBuf,
        what: [u8; 8],
        journal: Option<&Path>,
    ) -> Result<Self, Error> {
        let records = Arc::new(Folder::of(journal));
        self.reached(Reach::Processes { program, records }, what, journal)
    }

    /// The same with parties whom somebody else reaches: frames on standard input and output.
    pub fn over_relay(self, what: [u8; 8], journal: Option<&Path>) -> Result<Self, Error> {
        self.reached(Reach::Relay, what, journal)
    }

    /// The same with all sites in this process.
    pub fn in_one_process(
        self,
        open: OpenBook,
        what: [u8; 8],
        journal: Option<&Path>,
    ) -> Result<Self, Error> {
        self.reached(Reach::Here(open), what, journal)
    }

    fn reached(
        mut self,
        reach: Reach,
        what: [u8; 8],
        journal: Option<&Path>,
    ) -> Result<Self, Error> {
        let refuse = |why: &str| Error::usage("config::processes", why);
        let Some((path, recipe)) = &self.read else {
            return Err(refuse("processes are started for the parties of a job.toml"));
        };
        if *recipe != self.job.recipe {
            return Err(refuse(
                "with processes the job alone says what columns mean: write it into job.toml",
            ));
        }
        let journal = journal.map(Path::to_path_buf);
        let (path, masked) = (path.clone(), self.masked.clone());
        self.afar = Some(Afar { reach, what, journal, path, masked });
        Ok(self)
    }

    /// Reads and encodes them; refuses files that are not what was asked for, where something was.
    pub fn study(
        &self,
        asked: Option<Centralisation>,
        silos: Option<usize>,
        seed: u64,
    ) -> Result<Study, Error> {
        if let Some(afar) = &self.afar {
            return afar.clone().study(&self.job, asked, silos, seed);
        }
        let centralisation = who_holds_what(&self.job, asked, silos)?;
        // From here on the job says it itself, to whoever reads its files again.
        let mut job = self.job.clone();
        job.centralisation = Some(centralisation.to_string());
        let loaded = job.load()?;
        let (schema, test) = (loaded.schema, Arc::new(loaded.test));
        let about = About {
            dropped: loaded.dropped,
            missing: loaded.missing,
            reading: loaded.reading,
            warnings: loaded.warnings,
            largest_unit: loaded.largest_unit,
        };
        let encoded = Encoded {
            records: loaded.records,
            test: HeldOut::of(&test, test.rows(), &schema)?,
            validation: None,
            unconstrained: Mutex::default(),
            schema,
        };
        Ok(Study(Arc::new(Inner {
            encoded,
            centralisation,
            seed,
            holders: Holders::Files(Box::new(job)),
            sealed: Mutex::new(Some(loaded.attributes)),
            about,
            elsewhere: None,
            paid: Mutex::default(),
            journal: Mutex::default(),
        })))
    }

    /// What tells them from other files of one program.
    pub(crate) fn key(&self) -> String {
        format!("{:?} {:?}", self.job, self.afar)
    }
}

/// Which centralisation a job is: what it says is law, and only where it says nothing may the caller
/// say it, or else the number of files. What stands in the files never decides who sees what.
pub(super) fn who_holds_what(
    job: &Job,
    asked: Option<Centralisation>,
    asked_silos: Option<usize>,
) -> Result<Centralisation, Error> {
    let whole = !job.silos.is_empty();
    let silos = job.silos.len() + job.records.len();
    let holders = if whole { silos } else { job.attributes.len() };
    let natural = match (silos, holders) {
        _ if job.together() && silos == 1 => Centralisation::OneSilo,
        _ if job.together() => Centralisation::Silos,
        (_, 1) => Centralisation::CentralAttributes,
        _ => Centralisation::General(holders),
    };
    let centralisation = asked.unwrap_or(natural);
    let possible = match centralisation {
        Centralisation::OneSilo => silos == 1 && holders == 1,
        Centralisation::Silos => silos == holders,
        Centralisation::CentralAttributes => holders == 1 && !whole,
        Centralisation::General(asked) => holders == asked && !whole,
    };
    if asked_silos.is_some_and(|asked| asked != silos) {
        let message = format!("<silos> differs from the number of records files, {silos}");
        return Err(Error::conflict("silos", message));
    }
    if !possible || (job.centralisation.is_some() && centralisation != natural) {
        let message = format!(
            "centralisation {centralisation} does not fit {silos} records and {holders} \
             attributes files, which are {natural}"
        );
        return Err(Error::conflict("centralisation", message));
    }
    Ok(centralisation)
}
