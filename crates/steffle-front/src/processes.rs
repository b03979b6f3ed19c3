//! Nodes that are not built here: how they are reached, and what each of them does.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use steffle::node::{Allows, Correspondence, Embedded, InProcess, Masking, Node};
use steffle::protocol::{Lost, NodeId, Transport, parse};
use steffle_data::{Holds, Job, Silo, Site};
use steffle_privacy::ledger::{Ledger, Refusal};
use steffle_process::{
    Desk, Keeps, MaskFileError, Patience, Processes, Relay, frame, open_journal, read_key, refuse,
    serve,
};

use crate::Error;
use crate::owner::recipe_of_store;

/// Opens the book of a store, and waits so long for whoever has it; says why it cannot.
pub type OpenBook = fn(&Path, Duration) -> Result<Box<dyn Ledger>, String>;

/// How long the server waits for a reply, where a job says nothing.
const REPLY: Duration = Duration::from_mins(10);

/// What a party that cannot take part says to others.
const CANNOT: &str = "this site cannot take part; its owner finds the reason in its log";

/// One party of a run, as `steffle node` is it.
///
/// It opens its own files and answers frames until nobody asks any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Party {
    /// Whose files.
    pub own: Own,
    /// The most bytes of a frame.
    pub frame_bytes: u64,
}

/// Where a party says what it holds.
///
/// A job that was cut on one machine, or the site's own file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Own {
    /// A place of a job.
    Job {
        /// The job.
        job: PathBuf,
        /// Which party, counted from 0: silos or records files first, then attributes files.
        place: usize,
        /// Whether records and attributes files of the same place are one silo.
        together: bool,
        /// The folder that remembers what it answered, where it is to.
        record: Option<PathBuf>,
    },
    /// A `silo.toml`.
    Silo(PathBuf),
}

impl Party {
    /// The most bytes of a frame, unless somebody says otherwise.
    pub const FRAME_BYTES: u64 = frame::MOST;

    /// Reads the party's own files and answers messages until nobody asks any more. A party that
    /// cannot take part writes the reason to `log` at once, refuses every request in fixed words, and
    /// fails at the end: the reason may be about one row of its files, and the log is its owner's.
    pub fn serve(
        &self,
        open: OpenBook,
        from: &mut impl Read,
        to: &mut impl Write,
        log: &mut impl Write,
    ) -> Result<(), Error> {
        let most = self.frame_bytes;
        let broken = |error: frame::FrameError| Error::data("node::frame", error.to_string());
        match self.desk(open) {
            Ok(mut desk) => {
                let answer = |sender: NodeId, message: &[u8]| {
                    let answer = desk.handle(sender, message);
                    note(&desk.remarks(), log);
                    answer
                };
                serve(answer, from, to, most).map_err(broken)
            }
            Err(error) => {
                // A log that cannot be written keeps nobody from being refused.
                let _ =
                    writeln!(log, "error[{}]: {error}", error.code()).and_then(|()| log.flush());
                let no = |_: NodeId, message: &[u8]| match parse(message) {
                    Ok((envelope, _)) => refuse(&envelope, error.code(), CANNOT),
                    Err(_) => steffle::protocol::Answer::default(),
                };
                serve(no, from, to, most).map_err(broken)?;
                Err(error)
            }
        }
    }

    fn desk(&self, open: OpenBook) -> Result<Desk, Error> {
        match &self.own {
            Own::Silo(path) => {
                let silo = Silo::read(path)?;
                let (folder, wait) = (silo.sent.clone(), Duration::from_secs(silo.wait_seconds));
                let (node, holding) = of_silo(&silo, open)?;
                Ok(Desk::new(node).keeping(Keeps { folder, holding, wait }))
            }
            Own::Job { job, place, together, record } => {
                let site = of_job(job, *place, *together)?;
                let holding = site.fingerprint()?;
                let mut node = Node::new(site);
                let parties = Site::count(&Job::read(job)?, *together);
                if let Some(masking) = Masking::simulated(*place, parties) {
                    node = node.masking(masking);
                }
                let desk = Desk::new(node);
                Ok(match record.clone() {
                    Some(folder) => {
                        let folder = folder.join(place.to_string());
                        desk.keeping(Keeps { folder, holding, wait: Duration::from_mins(1) })
                    }
                    None => desk,
                })
            }
        }
    }
}

/// The node of a site's own file, and the fingerprint of what it holds.
fn of_silo(silo: &Silo, open: OpenBook) -> Result<(Node, [u8; 32]), Error> {
    let open = |path: &PathBuf| {
        let book = open(path, Duration::from_secs(silo.wait_seconds));
        book.map_err(|why| Error::data("node::ledger", why))
    };
    let book = silo.ledger.as_ref().map(open).transpose()?;
    let mut own = silo.clone();
    if let Some(book) = &book {
        own.recipe = recipe_of_store(own.recipe, book.columns().ok_or_else(no_columns)?)?;
    }
    let site = Site::of_silo(&own)?;
    let holding = site.fingerprint()?;
    if let Some(book) = &book {
        listed(&site, &**book)?;
    }
    let delta = book.as_ref().and_then(|book| book.delta());
    let mut node = Node::new(site).allowing(Allows { delta, ..silo.allows() }).discreet();
    if let Some(book) = book {
        node = node.keeping(book);
    }
    if let Some(masks) = &silo.masks {
        let failed = |error: MaskFileError| Error::data("node::masks", error.to_string());
        let identity = read_key(&masks.key).map_err(failed)?;
        let roster = silo.mask_roster(identity.fingerprint())?;
        let own = identity.fingerprint();
        let peers = roster.sites().iter().map(|(key, _)| *key).filter(|key| *key != own);
        node = node.corresponding(Correspondence::new(identity, peers));
    }
    if let Some(masking) = masking(silo)? {
        node = node.masking(masking);
    }
    Ok((node, holding))
}

/// Refuses a holder's list of people that its ledger has not accepted: the list says who is charged.
fn listed(site: &Site, book: &dyn Ledger) -> Result<(), Error> {
    let Some(people) = site.people() else { return Ok(()) };
    let message = match book.list() {
        Some((hash, _)) if hash == people.digest() => return Ok(()),
        Some(_) => "its list of people is another than its ledger accepted",
        None => "its ledger has accepted no list of people",
    };
    let help = "`steffle ledger people BOOK` with <silo> compares and accepts the list; people can be \
                added to it and never taken away";
    Err(Error::data("node::people", message).with_help(help))
}

/// Writes what a site refused into its own log. One that cannot be written stops nobody.
fn note(remarks: &[String], log: &mut impl Write) {
    for remark in remarks {
        let _ = writeln!(log, "refused: {remark}").and_then(|()| log.flush());
    }
}

/// A ledger that was made before owners named their columns.
fn no_columns() -> Error {
    Error::data("ledger::no_columns", Refusal::NoColumns.to_string())
}

/// What a site brings to runs under masks, where it has a key and both divisions: its journal is its own as
/// long as it lives.
fn masking(silo: &Silo) -> Result<Option<Masking>, Error> {
    let Some(masks) = silo.masks.as_ref().filter(|_| silo.role == Holds::Both) else {
        return Ok(None);
    };
    let failed = |error: &MaskFileError| Error::data("node::masks", error.to_string());
    let identity = read_key(&masks.key).map_err(|error| failed(&error))?;
    let roster = silo.mask_roster(identity.fingerprint())?;
    let until = Instant::now() + Duration::from_secs(silo.wait_seconds);
    let journal = loop {
        match open_journal(&masks.journal, masks.head.as_deref()) {
            // A process before this one may be about to end.
            Err(MaskFileError::Busy(_)) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(50));
            }
            opened => break opened.map_err(|error| failed(&error))?,
        }
    };
    Ok(Some(Masking::new(identity, roster, masks.policy(), journal)))
}

fn of_job(job: &Path, place: usize, together: bool) -> Result<Site, Error> {
    let job = Job::read(job)?;
    if job.centralisation.is_some() && job.silos.is_empty() && job.together() != together {
        let message = "the job says otherwise about who holds what, and it is law";
        return Err(Error::usage("node::together", message));
    }
    Site::of_job(&job, place, together)?.ok_or_else(|| {
        let last = Site::count(&job, together).saturating_sub(1);
        let message = format!("there is no party {place}; allowed are 0 to {last}");
        Error::usage("node::place", message)
    })
}

/// How the parties of a job are reached.
#[derive(Debug, Clone)]
pub(crate) enum Reach {
    /// Each is a process of this program, which plays `node`.
    Processes { program: PathBuf, records: Arc<Folder> },
    /// Somebody else carries messages: frames on standard input and output.
    Relay,
    /// Sites whose files are on this machine, in this process.
    Here(OpenBook),
}

impl Reach {
    /// Brings up the parties of a job, which was read at `path`.
    pub(crate) fn start(&self, path: &Path, job: &Job, together: bool) -> Result<Nodes, Error> {
        let parties =
            if job.sites.is_empty() { Site::count(job, together) } else { job.sites.len() };
        let silo = |place: usize| {
            let site = &job.sites[place];
            site.silo.as_deref().ok_or_else(|| {
                let message = format!("site {}: the job does not name its silo.toml", site.name);
                let help = "to play all sites on one machine every one of them needs `silo`";
                Error::data("data::job", message).with_help(help)
            })
        };
        let bytes = job.frame_bytes.unwrap_or(Party::FRAME_BYTES);
        match self {
            Self::Relay => {
                let (from, to) = (io::stdin(), io::stdout());
                Ok(Nodes::Far(Box::new(Relay::new(parties, from, to, bytes))))
            }
            Self::Here(open) => {
                let node = |place: usize| {
                    let read = Silo::read(silo(place)?).map_err(Error::from);
                    let made = read.and_then(|silo| of_silo(&silo, *open));
                    made.map(|(node, _)| node)
                        .map_err(|error| error.at_site(&job.sites[place].name))
                };
                let nodes = (0..parties).map(node).collect::<Result<Vec<_>, Error>>()?;
                Ok(Nodes::Here(InProcess::new(nodes)))
            }
            Self::Processes { program, records } => {
                let command = |place: usize| {
                    let mut command = Command::new(program);
                    command.args(["node", "--stdio"]);
                    if job.sites.is_empty() {
                        command.arg("--data").arg(path).arg("--place").arg(place.to_string());
                        command.arg("--record").arg(&records.0);
                        command.args(together.then_some("--together"));
                    } else {
                        command.arg("--silo").arg(silo(place)?);
                    }
                    Ok(command)
                };
                let commands = (0..parties).map(command).collect::<Result<Vec<_>, Error>>()?;
                let reply = job.reply_seconds.map_or(REPLY, Duration::from_secs);
                let patience = Patience { reply, bytes };
                let started = Processes::start(commands, patience).map_err(|error| {
                    Error::data("node::start", format!("{}: {error}", program.display()))
                })?;
                Ok(Nodes::Far(Box::new(started)))
            }
        }
    }

    /// Whether nodes know what was asked of them before this process began.
    pub(crate) fn is_remembered(&self) -> bool {
        !matches!(self, Self::Here(_))
    }
}

/// A folder for what parties answered; one that nobody named is removed with its run.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf, bool);

impl Folder {
    /// Beside the journal of a run, where it has one.
    pub(crate) fn of(journal: Option<&Path>) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        if let Some(journal) = journal {
            let mut name = journal.as_os_str().to_owned();
            name.push(".records");
            return Self(PathBuf::from(name), false);
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("steffle-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name), true)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.1 {
            // Nobody was asked anything, where there is nothing to remove.
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

/// Nodes of a run, in this process or elsewhere.
pub(crate) enum Nodes {
    Here(InProcess),
    Far(Box<dyn Transport>),
}

impl Transport for Nodes {
    fn nodes(&self) -> usize {
        match self {
            Self::Here(nodes) => Transport::nodes(nodes),
            Self::Far(nodes) => nodes.nodes(),
        }
    }

    fn exchange(&mut self, requests: &[(NodeId, &[u8])]) -> Vec<Result<Vec<u8>, Lost>> {
        match self {
            Self::Here(nodes) => {
                let replies = nodes.exchange(requests);
                note(&nodes.remarks(), &mut io::stderr());
                replies
            }
            Self::Far(nodes) => nodes.exchange(requests),
        }
    }
}

impl Embedded for Nodes {
    fn here(&self) -> &[Node] {
        match self {
            Self::Here(nodes) => nodes.here(),
            Self::Far(_) => &[],
        }
    }
}
