//! Nodes in processes of their own: how they are started, and what each of them does.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use steffle::node::{Embedded, InProcess, Node};
use steffle::protocol::{Lost, NodeId, Transport};
use steffle_data::{Job, Site};
use steffle_process::{Patience, Processes, frame, serve};

use crate::Error;

/// One party of a job, as `steffle node` is it.
///
/// It opens its own files and answers frames until nobody asks any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Party {
    /// The job.
    pub job: PathBuf,
    /// Which party, counted from 0: silos or records files first, then attributes files.
    pub place: usize,
    /// Whether records and attributes files of the same place are one silo.
    pub together: bool,
    /// The most bytes of a frame.
    pub frame_bytes: u64,
}

impl Party {
    /// The most bytes of a frame, unless somebody says otherwise.
    pub const FRAME_BYTES: u64 = frame::MOST;

    /// Reads the party's own files and answers messages until nobody asks any more.
    pub fn serve(&self, from: &mut impl Read, to: &mut impl Write) -> Result<(), Error> {
        let Self { job, place, together, frame_bytes } = self;
        let job = Job::read(job)?;
        if job.centralisation.is_some() && job.silos.is_empty() && job.together() != *together {
            let message = "the job says otherwise about who holds what, and it is law";
            return Err(Error::usage("node::together", message));
        }
        let Some(site) = Site::of_job(&job, *place, *together)? else {
            let last = Site::count(&job, *together).saturating_sub(1);
            let message = format!("there is no party {place}; allowed are 0 to {last}");
            return Err(Error::usage("node::place", message));
        };
        serve(&mut Node::new(site), from, to, *frame_bytes)
            .map_err(|error| Error::data("node::frame", error.to_string()))
    }
}

/// The program that plays the parties of a job, each in a process of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Apart {
    pub(crate) program: PathBuf,
    pub(crate) job: PathBuf,
}

impl Apart {
    /// Starts them.
    pub(crate) fn start(&self, parties: usize, together: bool) -> Result<Processes, Error> {
        let one = |place: usize| {
            let mut command = Command::new(&self.program);
            command.args(["node", "--stdio", "--data"]).arg(&self.job);
            command.arg("--place").arg(place.to_string());
            if together {
                command.arg("--together");
            }
            command
        };
        Processes::start((0..parties).map(one), Patience::default()).map_err(|error| {
            let program: &Path = &self.program;
            Error::data("node::start", format!("{}: {error}", program.display()))
        })
    }
}

/// Nodes of a run, in this process or in others.
pub(crate) enum Nodes {
    Here(InProcess),
    Apart(Processes),
}

impl Transport for Nodes {
    fn nodes(&self) -> usize {
        match self {
            Self::Here(nodes) => Transport::nodes(nodes),
            Self::Apart(nodes) => nodes.nodes(),
        }
    }

    fn exchange(&mut self, requests: &[(NodeId, &[u8])]) -> Vec<Result<Vec<u8>, Lost>> {
        match self {
            Self::Here(nodes) => nodes.exchange(requests),
            Self::Apart(nodes) => nodes.exchange(requests),
        }
    }
}

impl Embedded for Nodes {
    fn here(&self) -> &[Node] {
        match self {
            Self::Here(nodes) => nodes.here(),
            Self::Apart(_) => &[],
        }
    }
}
