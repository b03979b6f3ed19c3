//! A site's desk: its node, and a record of all that was asked and answered.
//!
//! A process can be killed at any moment and started again. The one that follows finds the record,
//! answers what was answered before with the same bytes, and, before it answers anything new, has its
//! node take in all messages of the run again, in their order, which must give the same answers: what
//! depends on s is in the ledger and comes from there, at no cost; everything else is computed again.
//! The record is also what a site keeps of what it sent.

use std::collections::HashMap;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use steffle_site::node::Node;
use steffle_wire::{
    Answer, Encode, Envelope, Kind, NodeId, Part, Reader, Refused, RunId, Writer, decode, parse,
    seal,
};

use crate::journal::own;
use crate::owner::owner;
use crate::transcript::{Frame, Sent, Tape, read_so_far};

/// A node and its record.
pub struct Desk {
    node: Node,
    keeps: Option<Keeps>,
    record: Option<Record>,
}

/// Where a desk keeps its records, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keeps {
    /// The folder; one file per run.
    pub folder: PathBuf,
    /// A hash of what the node holds: a record about other data is not gone on with. It is written under a
    /// key of the folder's own only, because it includes s.
    pub holding: [u8; 32],
    /// How long to wait for a process before this one to end.
    pub wait: Duration,
}

/// The record of one run.
struct Record {
    run: RunId,
    tape: Tape<File>,
    /// Where the answer to every message stands, by the message's hash, and how long it is.
    answers: HashMap<[u8; 32], (u64, usize)>,
    /// Messages of processes before this one that the node has not taken in.
    behind: Vec<(Frame, Vec<u8>)>,
}

impl Desk {
    /// A node that forgets everything with its process.
    pub fn new(node: Node) -> Self {
        Self { node, keeps: None, record: None }
    }

    /// The same with a record.
    #[must_use]
    pub fn keeping(self, keeps: Keeps) -> Self {
        Self { keeps: Some(keeps), ..self }
    }

    /// Answers a request, or takes a letter in. `from` is the sender as the transport knows it; what it may
    /// not send touches no record.
    pub fn handle(&mut self, from: NodeId, message: &[u8]) -> Answer {
        let envelope = match parse(message) {
            Ok((envelope, _)) if envelope.check_sender(from).is_ok() => envelope,
            _ => return self.node.handle(from, message),
        };
        match self.answered(from, &envelope, message) {
            Ok(answer) => answer,
            Err(error) => refuse(&envelope, "steffle::node::record", &error),
        }
    }

    /// What its node refused since this was asked last, in full: for the site's own log.
    pub fn remarks(&mut self) -> Vec<String> {
        self.node.remarks()
    }

    fn answered(
        &mut self,
        from: NodeId,
        envelope: &Envelope,
        message: &[u8],
    ) -> Result<Answer, String> {
        let Some(keeps) = &self.keeps else { return Ok(self.node.handle(from, message)) };
        if self.record.as_ref().is_none_or(|record| record.run != envelope.run) {
            let begins = envelope.kind == Kind::Describe && envelope.part == Part::Request;
            // A message of a run that nobody began changes nothing here.
            let Some(other) = Record::open(keeps, envelope.run, begins)? else {
                return Ok(self.node.handle(from, message));
            };
            self.record = Some(other);
        }
        let Some(record) = &mut self.record else { return Ok(self.node.handle(from, message)) };
        let hash = hash(from, message);
        if let Some(answer) = record.answer(&hash)? {
            return Ok(answer);
        }
        if envelope.kind == Kind::Describe {
            // A run begins: nothing before it matters.
            record.behind.clear();
        }
        for (before, answer) in std::mem::take(&mut record.behind) {
            if encoded(&self.node.take_in_again(before.node, &before.bytes)) != answer {
                return Err(
                    "this site does not answer as it did before it was started again: its \
                            data have changed, or its noise is in no ledger"
                        .to_owned(),
                );
            }
        }
        let answer = self.node.handle(from, message);
        // A refusal changes nothing, and another time there may be none; unless it is part of what masks
        // are named after.
        let refused = parse(&answer.reply).is_ok_and(|(reply, _)| reply.part == Part::Refusal);
        if refused && !self.node.remembers(message) {
            return Ok(answer);
        }
        record.keep(hash, (from, message), &answer)?;
        Ok(answer)
    }
}

impl Record {
    /// The record of a run, where there is one or it begins. Waits for a process that has it.
    fn open(keeps: &Keeps, run: RunId, begins: bool) -> Result<Option<Self>, String> {
        let name = u128::from_be_bytes(run.0);
        let path = keeps.folder.join(format!("{name:032x}.record"));
        if !begins && !path.exists() {
            return Ok(None);
        }
        let failed = |error: io::Error| unkept(&path, &error);
        let mut file = own(&path).map_err(failed)?;
        locked(&file, keeps.wait).map_err(failed)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let heard = read_so_far(&bytes).ok();
        let owner = owner(&keeps.folder, &keeps.holding).map_err(failed)?;
        let first = heard.as_ref().and_then(|heard| heard.frames.first());
        let (same, plain) = (
            first.is_some_and(|first| first.bytes == owner),
            first.is_some_and(|first| first.bytes == keeps.holding),
        );
        let Some(heard) = heard.filter(|_| same) else {
            if !begins {
                return Err(if plain {
                    "an older version of the program wrote this site's record of the run, which names \
                     its data by a hash without a key; begin another run"
                } else {
                    "what this site holds has changed since the run began"
                }
                .to_owned());
            }
            file.set_len(0).and_then(|()| file.rewind()).map_err(failed)?;
            let mut tape = Tape::new(file).map_err(failed)?;
            tape.frame(Sent::Owner, NodeId::SERVER, &owner).map_err(failed)?;
            return Ok(Some(Self { run, tape, answers: HashMap::new(), behind: Vec::new() }));
        };
        // After its owner, a record is messages and their answers in turn; one without is not used.
        let pairs = (heard.frames.len() - 1) / 2;
        let heard = heard.cut(1 + 2 * pairs);
        let (mut answers, mut behind) = (HashMap::new(), Vec::with_capacity(pairs));
        for at in (1..heard.frames.len()).step_by(2) {
            let (asked, said) = (&heard.frames[at], &heard.frames[at + 1].bytes);
            let hash = hash(asked.node, &asked.bytes);
            answers.insert(hash, (heard.begins[at + 1], said.len()));
            behind.push((asked.clone(), said.clone()));
        }
        file.set_len(heard.whole).and_then(|()| file.seek(SeekFrom::End(0))).map_err(failed)?;
        Ok(Some(Self { run, tape: Tape::after(file, &heard), answers, behind }))
    }

    /// What was answered to a message before.
    fn answer(&self, hash: &[u8; 32]) -> Result<Option<Answer>, String> {
        let Some(&(begin, length)) = self.answers.get(hash) else { return Ok(None) };
        let mut bytes = vec![0; length];
        let mut file = self.tape.get();
        let read = file
            .seek(SeekFrom::Start(begin))
            .and_then(|_| file.read_exact(&mut bytes))
            .and_then(|()| file.seek(SeekFrom::End(0)));
        read.map_err(|error| format!("its record cannot be read: {error}"))?;
        let answer = decode(Reader::new(&bytes));
        answer.map(Some).map_err(|error| format!("its record is damaged: {error}"))
    }

    fn keep(
        &mut self,
        hash: [u8; 32],
        (from, message): (NodeId, &[u8]),
        answer: &Answer,
    ) -> Result<(), String> {
        let said = encoded(answer);
        let failed = |error: io::Error| format!("its record cannot be written: {error}");
        self.tape.frame(Sent::Request, from, message).map_err(failed)?;
        let begin = self.tape.frame(Sent::Answer, NodeId::SERVER, &said).map_err(failed)?;
        self.answers.insert(hash, (begin, said.len()));
        Ok(())
    }
}

/// What an answer is found by: a message, and who sent it.
fn hash(from: NodeId, message: &[u8]) -> [u8; 32] {
    Sha256::new().chain_update(from.0.to_le_bytes()).chain_update(message).finalize().into()
}

/// Waits until a file is this process's own.
fn locked(file: &File, wait: Duration) -> io::Result<()> {
    let until = Instant::now() + wait;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() < until => {
                thread::sleep(Duration::from_millis(50));
            }
            Err(TryLockError::WouldBlock) => {
                let why = format!("another process used it for {} seconds", wait.as_secs());
                return Err(io::Error::other(why));
            }
        }
    }
}

fn unkept(path: &Path, error: &io::Error) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    format!("its record {name} cannot be kept: {error}")
}

fn encoded(answer: &Answer) -> Vec<u8> {
    let mut writer = Writer::with_capacity(answer.size_hint());
    answer.encode(&mut writer);
    writer.finish()
}

/// A refusal by somebody who has no node to refuse, or cannot let it answer.
pub fn refuse(envelope: &Envelope, code: &str, why: &str) -> Answer {
    if envelope.part.is_letter() {
        return Answer::default();
    }
    let on = Envelope { from: envelope.to, to: envelope.from, part: Part::Refusal, ..*envelope };
    Answer { reply: seal(&on, &Refused::new(code, why)), letters: Vec::new() }
}
