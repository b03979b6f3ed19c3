//! Parties that keep their files to themselves: what they declare is put together, and agreed on
//! before anything else is asked.

use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use steffle::federation::{Absences, Gathered, Roster, shares};
use steffle::protocol::{Described, Met as Sums, Role, RunId, Transport as _};
use steffle_data::{Absent, Dataset, Declared, Job, Levels, Measures, Schema, Summary};
use steffle_masks::{Fingerprint, Hello, Roster as MaskRoster};
use steffle_privacy::ledger::hexadecimal;
use steffle_process::{Journal, Journalled};

use super::files::who_holds_what;
use super::{About, Centralisation, Encoded, HeldOut, Holders, Inner, Study, lock};
use crate::Error;
use crate::aggregation::terms;
use crate::ground::failed;
use crate::method::Method;
use crate::processes::{Nodes, Party, Reach};

/// A job whose parties are reached by messages alone.
#[derive(Debug, Clone)]
pub(crate) struct Afar {
    pub(crate) reach: Reach,
    /// What is run, in a few bytes: a run of another job or of other settings has others.
    pub(crate) what: [u8; 8],
    pub(crate) journal: Option<PathBuf>,
    /// Where the job was read.
    pub(crate) path: PathBuf,
    /// The method, where its sums are added up under masks.
    pub(crate) masked: Option<Arc<dyn Method>>,
}

/// Parties that have said who they are.
pub(super) struct Elsewhere {
    afar: Afar,
    job: Job,
    together: bool,
    pub(super) sizes: Vec<usize>,
    pub(super) absences: Absences,
    measures: Measures,
    /// The name of the roster of keys, under masks of sites' own.
    roster: Option<String>,
    /// For the first run; another begins by asking again.
    gathered: Mutex<Option<(RunId, Met)>>,
}

/// Nodes that have said who they are.
pub(crate) type Met = Gathered<Journalled<Nodes>>;

impl Elsewhere {
    /// Nodes for a run.
    pub(super) fn gathered(&self) -> Result<(RunId, Met), Error> {
        let first = lock(&self.gathered).take();
        if let Some(gathered) = first {
            return Ok(gathered);
        }
        let told = (&self.absences, &self.measures);
        let Come { run, gathered, .. } = self.afar.gather(&self.job, self.together, told)?;
        Ok((run, gathered))
    }

    pub(super) fn frame_bytes(&self) -> Option<u64> {
        let carried = !matches!(self.afar.reach, Reach::Here(_));
        carried.then(|| self.job.frame_bytes.unwrap_or(Party::FRAME_BYTES))
    }
}

impl Study {
    /// Whether masks are of keys that sites made themselves, out of this machine's reach.
    pub(crate) fn has_own_keys(&self) -> bool {
        self.0.elsewhere.as_ref().is_some_and(|Elsewhere { afar, job, .. }| {
            afar.masked.is_some() && !job.sites.is_empty() && matches!(afar.reach, Reach::Relay)
        })
    }

    /// The name of the roster of keys, where sites have their own.
    pub(crate) fn mask_roster(&self) -> Option<String> {
        self.0.elsewhere.as_ref()?.roster.clone()
    }

    /// Records per silo, where they are known: none under masks of parties elsewhere.
    pub fn known_sizes(&self) -> Vec<usize> {
        match &self.0.elsewhere {
            Some(elsewhere) if elsewhere.afar.masked.is_some() => Vec::new(),
            _ => self.sizes(),
        }
    }
}

/// Parties that have come, and under masks what they add up to.
struct Come {
    run: RunId,
    gathered: Met,
    journal: Option<Journal>,
    /// What is counted: what was to be, and the rows of values that parties name.
    measures: Measures,
    sums: Option<Sums>,
}

impl Afar {
    /// Asks all parties who they are; under masks they also meet.
    fn gather(
        &self,
        job: &Job,
        together: bool,
        (absences, measures): (&Absences, &Measures),
    ) -> Result<Come, Error> {
        if self.masked.is_some() && job.absent == Absent::Drop {
            let message = "a run under masks goes on with all sites or not at all: without one, the \
                           difference of two sums would show what it added";
            return Err(Error::conflict("secure-aggregation", message)
                .with_help("leave absent = \"drop\" out of the job, or <secure-aggregation>"));
        }
        let journal = match &self.journal {
            None => None,
            Some(path) => Some(self.opened(path, job)?),
        };
        let begun = journal.as_ref().and_then(Journal::run);
        let run = begun.unwrap_or_else(|| self.new_run());
        let nodes = self.reach.start(&self.path, job, together)?;
        let nodes = Journalled::new(nodes, journal.clone());
        let names = job.sites.iter().map(|site| site.name.clone()).collect();
        let drops = (job.absent == Absent::Drop).then(|| absences.clone());
        let masked = self.masked.as_ref().and_then(|method| terms(&**method, nodes.nodes()));
        let roster = Roster { names, drops, masked };
        let mut gathered = Gathered::new(nodes, run, roster).map_err(|error| failed(&error))?;
        let named: Vec<Summary> = gathered
            .nodes()
            .filter_map(|(_, node)| Declared::read(&node.summary).ok()?.summary)
            .collect();
        let measures = measures.clone().counting(&named);
        let mut sums = None;
        if masked.is_some() {
            let met = gathered.meet(measures.to_bytes()).map_err(|error| failed(&error))?;
            sums = Some(met.clone());
        }
        Ok(Come { run, gathered, journal, measures, sums })
    }

    /// The name of a run that begins: what is run, and a number that never comes again. Sites remember
    /// what they answered in a run; one that begins anew must not be taken for one that goes on, which
    /// has its name from its journal.
    fn new_run(&self) -> RunId {
        let mut run = [0; 16];
        run[..8].copy_from_slice(&self.what);
        // Keyed by the operating system, and another one each time.
        let new = RandomState::new().hash_one(std::process::id());
        run[8..].copy_from_slice(&new.to_le_bytes());
        RunId(run)
    }

    fn opened(&self, path: &std::path::Path, job: &Job) -> Result<Journal, Error> {
        let journal = Journal::open(path, self.reach.is_remembered());
        let journal = journal.map_err(|error| Error::data("train::journal", error.to_string()))?;
        if journal.run().is_some_and(|run| run.0[..8] != self.what) {
            let message = format!("{}: is the journal of another run", path.display());
            let help = "a run goes on by the same command with the same job; another needs another \
                        journal";
            return Err(Error::data("train::journal", message).with_help(help));
        }
        Ok(journal.dropping(job.absent == Absent::Drop))
    }

    /// The rows to test on. What is wrong with them is not told to whoever submitted a job: they are the
    /// server's owner's.
    fn test_rows(&self, job: &Job) -> Result<Dataset, Error> {
        job.load_test().map_err(|error| match self.reach {
            Reach::Relay => {
                let message = "the test rows cannot be used with the recipe of this job";
                let help = "the server's owner compares the recipe with the file by `steffle data describe`";
                Error::data("server::test", message).with_help(help)
            }
            _ => error.into(),
        })
    }

    /// A study of what all parties declare; refuses those that do not agree, by site and field.
    pub(super) fn study(
        self,
        job: &Job,
        asked: Option<Centralisation>,
        silos: Option<usize>,
        seed: u64,
    ) -> Result<Study, Error> {
        let mut job = job.clone();
        if job.sites.is_empty() {
            job.centralisation = Some(who_holds_what(&job, asked, silos)?.to_string());
        }
        let together = job.together() && job.silos.is_empty();
        let absences = Absences::default();
        let test = Arc::new(self.test_rows(&job)?);
        let measures = Measures::of(&Summary::of(&test, test.rows()));
        let Come { run, gathered, journal, measures: counted, sums } =
            self.gather(&job, together, (&absences, &measures))?;
        let nodes: Vec<(usize, &Described)> = gathered.nodes().collect();
        let centralisation = centralisation(&nodes, &job, asked, silos)?;
        let declared = declared(&nodes, &job)?;
        let schema = agree(&declared, &job, &test, &counted, sums.as_ref())?;
        let about = About {
            dropped: declared.iter().map(|(_, site)| site.dropped).sum::<usize>() + test.dropped(),
            warnings: schema.remarks(),
            largest_unit: declared.iter().map(|(_, site)| site.largest_unit).max().unwrap_or(0),
            ..About::default()
        };
        let sizes = nodes.iter().filter(|(_, node)| node.role.has_records());
        let sizes: Vec<usize> = sizes.map(|(_, node)| node.records as usize).collect();
        let sizes = match &sums {
            None => sizes,
            Some(sums) => shares(sums.records as usize, sizes.len()),
        };
        let roster = sums.as_ref().and_then(|_| roster(&nodes));
        let holders = nodes.iter().filter(|(_, node)| node.role != Role::Records).count();
        let held = HeldOut::of(&test, test.rows(), &schema)?;
        let held = if job.blind { held.without_groups() } else { held };
        let gathered = Mutex::new(Some((run, gathered)));
        let elsewhere =
            Elsewhere { afar: self, job, together, sizes, absences, measures, roster, gathered };
        Ok(Study(Arc::new(Inner {
            encoded: Encoded {
                records: Vec::new(),
                test: held,
                validation: None,
                unconstrained: Mutex::default(),
                schema,
            },
            centralisation,
            seed,
            holders: Holders::Elsewhere(holders),
            sealed: Mutex::default(),
            about,
            elsewhere: Some(elsewhere),
            paid: Mutex::default(),
            journal: Mutex::new(journal),
        })))
    }
}

/// The name of the roster of keys that sites say hello with.
fn roster(nodes: &[(usize, &Described)]) -> Option<String> {
    let site = |(_, node): &(usize, &Described)| {
        let hello = Hello::from_bytes(&node.hello)?;
        Some((Fingerprint::of(&hello.identity), String::new()))
    };
    let sites = nodes.iter().map(site).collect::<Option<Vec<_>>>()?;
    Some(hexadecimal(&MaskRoster::new(sites).ok()?.digest()))
}

/// What every node declares, with what to call it.
fn declared(nodes: &[(usize, &Described)], job: &Job) -> Result<Vec<(String, Declared)>, Error> {
    let mut all = Vec::with_capacity(nodes.len());
    for &(place, node) in nodes {
        let member = job.sites.get(place);
        let called = member.map_or_else(|| format!("party {place}"), |site| site.name.clone());
        let refuse = |code: &str, why: String| Error::data(code, format!("site {called}: {why}"));
        let own = Declared::read(&node.summary).map_err(|why| {
            refuse("data::disagreement", format!("its summary is damaged: {why}"))
        })?;
        if let (Some(member), Some(name)) = (member, &own.site)
            && *name != member.name
        {
            let why = format!("field `name` of its silo.toml is `{name}`");
            return Err(refuse("data::disagreement", why));
        }
        if node.role.has_records() != own.summary.is_some() {
            let why = "field `role` and its summary do not fit together".to_owned();
            return Err(refuse("data::disagreement", why));
        }
        own.agrees(&job.recipe).map_err(|error| refuse(error.code(), error.to_string()))?;
        all.push((called, own));
    }
    Ok(all)
}

/// The schema of all that have records, from the names of the test rows on.
fn agree(
    sites: &[(String, Declared)],
    job: &Job,
    test: &Dataset,
    measures: &Measures,
    sums: Option<&Sums>,
) -> Result<Schema, Error> {
    let mut summary = Summary::of(test, &[]);
    let mut first: Option<(&String, &Summary)> = None;
    for (called, site) in sites {
        let Some(own) = &site.summary else { continue };
        let named = |error: steffle_data::Error| {
            Error::data(error.code(), format!("site {called}: {error}"))
        };
        summary.merge(own).map_err(named)?;
        if let (Levels::Same, Some((other, known))) = (job.levels, first)
            && let Some(column) = known.other_levels(own)
        {
            let message = format!(
                "site {called}: column `{column}` has other categories than at {other}, and the \
                 job says levels = \"same\""
            );
            return Err(Error::data("data::disagreement", message));
        }
        first.get_or_insert((called, own));
    }
    if let Some(sums) = sums {
        measures.total(sums, &mut summary)?;
    } else {
        let own: Vec<&Summary> =
            sites.iter().filter_map(|(_, site)| site.summary.as_ref()).collect();
        measures.add_up(&own, &mut summary)?;
    }
    Ok(Schema::from_summary(test.recipe(), &summary)?)
}

/// Who holds what, by what the nodes say of themselves; refuses another than was asked for.
fn centralisation(
    nodes: &[(usize, &Described)],
    job: &Job,
    asked: Option<Centralisation>,
    silos: Option<usize>,
) -> Result<Centralisation, Error> {
    let records = nodes.iter().filter(|(_, node)| node.role.has_records()).count();
    let found = match (records, nodes.len() - records) {
        (1, 0) => Centralisation::OneSilo,
        (_, 0) => Centralisation::Silos,
        (_, 1) => Centralisation::CentralAttributes,
        (_, holders) => Centralisation::General(holders),
    };
    let said = job.centralisation.as_deref().map(str::parse::<Centralisation>);
    let said = said.transpose().map_err(|allowed| {
        Error::data("data::job", format!("centralisation must be one of {allowed}"))
    })?;
    for wanted in [said, asked].into_iter().flatten() {
        // Holders that are one may be called so or not.
        let same = wanted == found
            || (wanted, found) == (Centralisation::General(1), Centralisation::CentralAttributes)
            || (wanted, found) == (Centralisation::Silos, Centralisation::OneSilo);
        if !same {
            let message =
                format!("centralisation {wanted} is asked for, and the sites' roles are {found}");
            return Err(Error::conflict("centralisation", message));
        }
    }
    if silos.is_some_and(|asked| asked != records) {
        let message = format!("<silos> differs from the number of sites with records, {records}");
        return Err(Error::conflict("silos", message));
    }
    Ok(said.or(asked).unwrap_or(found))
}
