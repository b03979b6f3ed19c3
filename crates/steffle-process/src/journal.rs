//! A journal: every reply is on disk before it is used, so that a run that was interrupted goes on by
//! asking itself the same questions again.
//!
//! No method saves its state. Started again, it makes the same first request as before, which the
//! journal answers, and so on to the first that was never answered, which goes out. The file is the
//! transcript of the run.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use steffle_site::node::{Embedded, Node};
use steffle_wire::{Lost, NodeId, RunId, Transport, parse};

use crate::transcript::{Frame, Heard, Sent, Tape, TranscriptError, read_so_far};

/// A transport whose exchanges are kept in a file, or not: what it carries is the same.
pub struct Journalled<T> {
    transport: T,
    journal: Option<Journal>,
}

/// The file of a run, for whoever writes it and for whoever ends it.
///
/// It is locked while the run lasts.
#[derive(Debug, Clone)]
pub struct Journal(Arc<Mutex<Kept>>);

#[derive(Debug)]
struct Kept {
    path: PathBuf,
    /// None once the run has ended.
    tape: Option<Tape<File>>,
    /// What was asked and answered before this process began, and is not asked yet.
    before: VecDeque<Exchange>,
    /// Whether nodes know what was asked of them before this process began. Those that do not are
    /// asked again, and have to say the same.
    remembered: bool,
    /// Whether a run goes on without a node that is lost.
    drops: bool,
    run: Option<RunId>,
}

/// What was asked in one trip, and what came.
#[derive(Debug, Default)]
struct Exchange(Vec<Asked>);

/// A request, and its reply or why there is none.
type Asked = (NodeId, Vec<u8>, Result<Vec<u8>, String>);

/// Why there is no journal.
///
/// Nothing was asked of anybody then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The operating system.
    #[error("{0}: {1}")]
    Io(PathBuf, io::Error),
    /// It is no journal, or a damaged one.
    #[error("{0}: {1}")]
    Damaged(PathBuf, TranscriptError),
    /// Another process has it.
    #[error("{0}: another process writes it")]
    Busy(PathBuf),
}

impl Journal {
    /// Begins a journal, or goes on with one that is there. `remembered`: nodes outlive this process,
    /// or keep a record of their own.
    pub fn open(path: &Path, remembered: bool) -> Result<Self, JournalError> {
        let failed = |error| JournalError::Io(path.to_path_buf(), error);
        let mut file = own(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(JournalError::Busy(path.to_path_buf())),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let begun = !bytes.is_empty();
        let damaged = |error| JournalError::Damaged(path.to_path_buf(), error);
        let heard = begun.then(|| read_so_far(&bytes)).transpose().map_err(damaged)?;
        let path = path.to_path_buf();
        let (drops, mut before) = (false, VecDeque::new());
        let failed = |error| JournalError::Io(path.clone(), error);
        let tape = match heard {
            None => Some(Tape::new(file).map_err(failed)?),
            Some(heard) => {
                let ended = heard.ended;
                let heard = whole_exchanges(heard, &mut before);
                if ended {
                    None
                } else {
                    // What was torn, or not answered by all, was not used: it is asked again.
                    let cut = file.set_len(heard.whole).and_then(|()| file.seek(SeekFrom::End(0)));
                    cut.map_err(failed)?;
                    Some(Tape::after(file, &heard))
                }
            }
        };
        let first = before.front().and_then(|exchange| exchange.0.first());
        let run = first.and_then(|(_, request, _)| parse(request).ok()).map(|(on, _)| on.run);
        let kept = Kept { path, tape, before, remembered, drops, run };
        Ok(Self(Arc::new(Mutex::new(kept))))
    }

    /// The same for a run that goes on without nodes that are lost: they stay lost in its journal.
    #[must_use]
    pub fn dropping(self, drops: bool) -> Self {
        self.lock().drops = drops;
        self
    }

    /// The run that was begun, where one was.
    pub fn run(&self) -> Option<RunId> {
        self.lock().run
    }

    /// Exchanges that were answered before this process began, and are not asked yet.
    pub fn answered(&self) -> usize {
        self.lock().before.len()
    }

    /// Ends the file with its checksum: the run has ended well, and nothing is asked after it.
    pub fn end(&self) -> io::Result<()> {
        match self.lock().tape.take() {
            Some(tape) => tape.finish()?.sync_all(),
            None => Ok(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// The next exchange that was answered before; refuses other requests than were made then.
    fn recorded(&mut self, requests: &[(NodeId, &[u8])]) -> Result<Option<Exchange>, String> {
        let Some(next) = self.before.pop_front() else { return Ok(None) };
        let asked = next.0.iter().map(|(node, request, _)| (*node, &request[..]));
        if asked.eq(requests.iter().copied()) {
            return Ok(Some(next));
        }
        Err(format!(
            "the journal {} is of another run: it has other requests than this one makes",
            self.path.display()
        ))
    }

    fn keep(
        &mut self,
        requests: &[(NodeId, &[u8])],
        replies: &[Result<Vec<u8>, Lost>],
    ) -> Result<(), String> {
        let Self { path, tape, drops, .. } = self;
        let Some(tape) = tape else {
            return Err(format!("the run of the journal {} has ended", path.display()));
        };
        if !*drops && replies.iter().any(Result::is_err) {
            return Ok(());
        }
        let failed = |error| format!("the journal {} cannot be written: {error}", path.display());
        for &(node, bytes) in requests {
            tape.frame(Sent::Request, node, bytes).map_err(failed)?;
        }
        for (&(node, _), reply) in requests.iter().zip(replies) {
            let written = match reply {
                Ok(bytes) => tape.frame(Sent::Reply, node, bytes),
                Err(lost) => tape.frame(Sent::Lost, node, lost.why.as_bytes()),
            };
            written.map_err(failed)?;
        }
        tape.get().sync_data().map_err(failed)
    }
}

/// Sorts frames into exchanges; leaves out a last one that not all nodes have answered.
fn whole_exchanges(heard: Heard, to: &mut VecDeque<Exchange>) -> Heard {
    let (mut whole, mut open) = (0, Exchange::default());
    let mut waiting: VecDeque<(NodeId, Vec<u8>)> = VecDeque::new();
    for (at, Frame { sent, node, bytes }) in heard.frames.iter().enumerate() {
        let reply = match sent {
            Sent::Request => {
                waiting.push_back((*node, bytes.clone()));
                continue;
            }
            Sent::Lost => Err(String::from_utf8_lossy(bytes).into_owned()),
            _ => Ok(bytes.clone()),
        };
        if let Some((asked, request)) = waiting.pop_front() {
            open.0.push((asked, request, reply));
        }
        if waiting.is_empty() {
            to.push_back(std::mem::take(&mut open));
            whole = at + 1;
        }
    }
    heard.cut(whole)
}

impl<T: Transport> Journalled<T> {
    /// This transport, with a journal where there is one.
    pub fn new(transport: T, journal: Option<Journal>) -> Self {
        Self { transport, journal }
    }

    /// What carries.
    pub fn transport(&self) -> &T {
        &self.transport
    }
}

impl<T: Transport> Transport for Journalled<T> {
    fn nodes(&self) -> usize {
        self.transport.nodes()
    }

    fn exchange(&mut self, requests: &[(NodeId, &[u8])]) -> Vec<Result<Vec<u8>, Lost>> {
        let lost = |why: &String| {
            let each = requests.iter().map(|&(node, _)| Err(Lost { node, why: why.clone() }));
            each.collect::<Vec<_>>()
        };
        let Some(journal) = &self.journal else { return self.transport.exchange(requests) };
        let mut journal = journal.lock();
        let recorded = match journal.recorded(requests) {
            Ok(recorded) => recorded,
            Err(why) => return lost(&why),
        };
        if let Some(Exchange(answered)) = recorded {
            let before = answered
                .into_iter()
                .map(|(node, _, reply)| reply.map_err(|why| Lost { node, why }));
            let before: Vec<_> = before.collect();
            if journal.remembered {
                return before;
            }
            let again = self.transport.exchange(requests);
            let same = again.iter().zip(&before).all(|(now, then)| match (now, then) {
                (Ok(now), Ok(then)) => now == then,
                (_, then) => then.is_err(),
            });
            return if same {
                before
            } else {
                lost(&"asked again, it does not say what the journal has: its data have changed, or \
                      its noise is not from a book"
                    .to_owned())
            };
        }
        let replies = self.transport.exchange(requests);
        match journal.keep(requests, &replies) {
            Ok(()) => replies,
            Err(why) => lost(&why),
        }
    }
}

impl<T: Embedded> Embedded for Journalled<T> {
    fn here(&self) -> &[Node] {
        self.transport.here()
    }
}

/// A file that nobody else may read, made where it is not there; its folder too.
pub(crate) fn own(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests;
