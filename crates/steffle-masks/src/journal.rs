//! What a store remembers of masks: whom it answers with, and that no mask covers two replies.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::epochs::{self, Epochs};
use crate::{Hash, hash};

/// The X25519 secret and the nonce of one run.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    /// The secret.
    pub key: Hash,
    /// The nonce.
    pub nonce: [u8; 16],
}

/// One thing to remember. A journal is the sum of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// The store answers under this roster, or was told to from now on.
    Roster(Hash),
    /// A run began by this request; the secret of the one before is gone.
    Begin(Hash),
    /// The reply to a request has this mask and this hash.
    Answer {
        /// The request's number.
        sequence: u64,
        /// The name of the mask.
        context: Hash,
        /// The hash of the masked reply.
        reply: Hash,
    },
    /// The run is over: closed, or one of its requests was refused.
    End,
    /// An epoch of the site's data began.
    Epoch {
        /// Its number.
        number: u32,
        /// The digest of all records.
        digest: Hash,
    },
    /// Sites met whose data were in these epochs.
    Met {
        /// How many of them might have helped the server.
        colluders: u16,
        /// In the order of the roster.
        epochs: Vec<u32>,
    },
}

/// The rules of masks of one store, for its life.
///
/// Sums under two rosters differ by somebody's part, so a store that answered under one refuses all
/// others, and an answer without masks is a roster of its own. Two replies under one mask differ by
/// what the mask hides, so a request's number has one reply.
pub struct Journal {
    backing: Box<dyn Backing>,
    roster: Option<Hash>,
    run: Option<Run>,
    epochs: Epochs,
}

struct Run {
    begins: Hash,
    answers: BTreeMap<u64, (Hash, Hash)>,
    ended: bool,
}

/// Why a journal does not allow something. None of it depends on data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// It has answered with others.
    #[error(
        "this store has answered {}, and the difference of two sums shows what is in one of them alone; \
         `steffle silo roster accept` lets it answer with others from now on",
        if *.0 == Journal::CLEAR { "without masks" } else { "under another roster" }
    )]
    Roster(Hash),
    /// One number, two replies.
    #[error(
        "request {0} was answered with something else before: data that were edited, or another \
         question, do not get the same mask"
    )]
    Twice(u64),
    /// The run is over.
    #[error("the run is over at this site: it was closed, or one of its requests was refused")]
    Over,
    /// A change of data that two totals would show.
    #[error(
        "fewer than {0} records of this site were altered since it last answered under masks (masks.min_change), \
         and the difference of two totals would show them; `steffle silo check` says how many. Wait until \
         there are more, or restore the data as they were"
    )]
    Changed(u64),
    /// The data of too few sites have changed.
    #[error(
        "the data of {found} site(s) have changed since these sites met, and the difference of two totals \
         would show by what: at least {least} change together, or none"
    )]
    Few {
        /// Sites whose data are in another epoch.
        found: usize,
        /// So many at least.
        least: usize,
    },
    /// A site's data are in an earlier epoch than when sites met last.
    #[error(
        "the data of site {0} of the roster are in an earlier epoch than when these sites met last: its \
         journal began anew; `steffle silo roster accept` at all sites begins anew for all"
    )]
    Back(usize),
    /// It cannot be kept.
    #[error("the journal of masks {0}")]
    Stopped(String),
    /// No random numbers.
    #[error("the operating system gives no random numbers, so there is no secret")]
    Entropy,
}

/// Where lines are kept, and the secret of the run.
pub trait Backing: Send {
    /// Keeps a line; returns when it outlives a crash.
    fn write(&mut self, line: &Line) -> Result<(), String>;

    /// The secret that is kept.
    fn secret(&self) -> Option<Secret>;

    /// Keeps a secret in place of the one before, or none.
    fn keep(&mut self, secret: Option<&Secret>) -> Result<(), String>;

    /// A secret for the run that this request begins; `None` where the system gives no random numbers.
    fn fresh(&mut self, begins: &Hash) -> Option<Secret>;

    /// The digests of all records in an epoch.
    fn records(&self, epoch: u32) -> Option<Vec<u64>>;

    /// Keeps the digests of all records in an epoch; returns when they outlive a crash.
    fn keep_records(&mut self, epoch: u32, records: &[u64]) -> Result<(), String>;
}

impl Journal {
    /// The roster of a store that answers without masks.
    pub const CLEAR: Hash = *b"without masks: a roster of one. ";

    /// Goes on after these lines.
    pub fn new(lines: impl IntoIterator<Item = Line>, backing: Box<dyn Backing>) -> Self {
        let mut journal = Self { backing, roster: None, run: None, epochs: Epochs::default() };
        lines.into_iter().for_each(|line| journal.apply(&line));
        journal
    }

    /// The roster that the store has answered under.
    pub fn roster(&self) -> Option<Hash> {
        self.roster
    }

    /// Begins a run under a roster, or goes on with it: its secret. Refuses a second roster.
    pub fn begin(&mut self, roster: Hash, begins: Hash) -> Result<Secret, JournalError> {
        self.only(roster)?;
        if let Some(run) = self.run.as_ref().filter(|run| run.begins == begins) {
            if run.ended {
                return Err(JournalError::Over);
            }
            if let Some(secret) = self.backing.secret() {
                return Ok(secret);
            }
        }
        let secret = self.backing.fresh(&begins).ok_or(JournalError::Entropy)?;
        // The former secret goes first: a crash in between leaves a run without one.
        self.backing.keep(None).map_err(JournalError::Stopped)?;
        self.write(&Line::Begin(begins))?;
        self.backing.keep(Some(&secret)).map_err(JournalError::Stopped)?;
        Ok(secret)
    }

    /// The epoch of data that are these records now, given by their digests in ascending order; refuses
    /// data that differ from those of an epoch before by fewer than `least` records.
    pub fn epoch(&self, records: &[u64], least: u64) -> Result<u32, JournalError> {
        self.epochs.of(records, least, self.backing.as_ref())
    }

    /// Notes that sites meet whose data are in these epochs, this one's own in the epoch `own`; refuses
    /// a change at too few of them. After it, data of `own` are these records.
    pub fn meet(
        &mut self,
        colluders: u16,
        epochs: &[u32],
        (own, records): (u32, &[u64]),
    ) -> Result<(), JournalError> {
        let news = self.epochs.meet(colluders, epochs)?;
        if !self.epochs.has(own, records) {
            self.backing.keep_records(own, records).map_err(JournalError::Stopped)?;
            self.write(&Line::Epoch { number: own, digest: epochs::digest(records) })?;
        }
        if news {
            self.write(&Line::Met { colluders, epochs: epochs.to_vec() })?;
        }
        Ok(())
    }

    /// Notes that the store answers without masks; refuses one that has answered under them.
    pub fn clear(&mut self) -> Result<(), JournalError> {
        self.only(Self::CLEAR)
    }

    /// Notes the reply to a request, before it is sent; refuses another one for the same request.
    pub fn answer(
        &mut self,
        sequence: u64,
        context: Hash,
        reply: Hash,
    ) -> Result<(), JournalError> {
        let run = self.run.as_ref().filter(|run| !run.ended).ok_or(JournalError::Over)?;
        match run.answers.get(&sequence) {
            Some(said) if *said == (context, reply) => return Ok(()),
            Some(_) => return Err(JournalError::Twice(sequence)),
            None => {}
        }
        if run.answers.last_key_value().is_some_and(|(last, _)| *last > sequence) {
            return Err(JournalError::Twice(sequence));
        }
        self.write(&Line::Answer { sequence, context, reply })
    }

    /// Ends the run, by its close or by a refusal; its secret is gone.
    pub fn end(&mut self) -> Result<(), JournalError> {
        if self.run.as_ref().is_some_and(|run| !run.ended) {
            self.write(&Line::End)?;
        }
        self.backing.keep(None).map_err(JournalError::Stopped)
    }

    /// Whether the run was ended.
    pub fn ended(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.ended)
    }

    /// Answers under another roster from now on, because the store's owner says so; what was begun is
    /// over.
    pub fn accept(&mut self, roster: Hash) -> Result<(), JournalError> {
        self.end()?;
        self.write(&Line::Roster(roster))
    }

    fn only(&mut self, roster: Hash) -> Result<(), JournalError> {
        match self.roster {
            Some(own) if own == roster => Ok(()),
            Some(own) => Err(JournalError::Roster(own)),
            None => self.write(&Line::Roster(roster)),
        }
    }

    fn write(&mut self, line: &Line) -> Result<(), JournalError> {
        self.backing.write(line).map_err(JournalError::Stopped)?;
        self.apply(line);
        Ok(())
    }

    fn apply(&mut self, line: &Line) {
        match line {
            Line::Roster(roster) => {
                self.roster = Some(*roster);
                self.epochs.begin_anew();
            }
            Line::Epoch { number, digest } => self.epochs.note(*number, *digest),
            Line::Met { colluders, epochs } => self.epochs.note_met(*colluders, epochs),
            Line::Begin(begins) => {
                let begins = *begins;
                self.run = Some(Run { begins, answers: BTreeMap::new(), ended: false });
            }
            Line::Answer { sequence, context, reply } => {
                if let Some(run) = &mut self.run {
                    run.answers.insert(*sequence, (*context, *reply));
                }
            }
            Line::End => {
                if let Some(run) = &mut self.run {
                    run.ended = true;
                }
            }
        }
    }
}

impl Line {
    /// As a word and its numbers, without a line break.
    pub fn to_text(&self) -> String {
        match self {
            Self::Roster(roster) => format!("roster {}", digits(roster)),
            Self::Begin(begins) => format!("begin {}", digits(begins)),
            Self::Answer { sequence, context, reply } => {
                format!("answer {sequence} {} {}", digits(context), digits(reply))
            }
            Self::End => "end".to_owned(),
            Self::Epoch { number, digest } => format!("epoch {number} {}", digits(digest)),
            Self::Met { colluders, epochs } => {
                let epochs: Vec<String> = epochs.iter().map(u32::to_string).collect();
                format!("met {colluders} {}", epochs.join(","))
            }
        }
    }

    /// Reads one; `None` where it is none.
    pub fn from_text(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split(' ').collect();
        match words[..] {
            ["roster", roster] => Some(Self::Roster(bytes(roster)?)),
            ["begin", begins] => Some(Self::Begin(bytes(begins)?)),
            ["answer", sequence, context, reply] => Some(Self::Answer {
                sequence: sequence.parse().ok()?,
                context: bytes(context)?,
                reply: bytes(reply)?,
            }),
            ["end"] => Some(Self::End),
            ["epoch", number, digest] => {
                Some(Self::Epoch { number: number.parse().ok()?, digest: bytes(digest)? })
            }
            ["met", colluders, epochs] => {
                let epochs = epochs.split(',').map(|epoch| epoch.parse().ok());
                let epochs = epochs.collect::<Option<_>>()?;
                Some(Self::Met { colluders: colluders.parse().ok()?, epochs })
            }
            _ => None,
        }
    }
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn bytes(digits: &str) -> Option<Hash> {
    digits.parse::<crate::Fingerprint>().ok().map(|read| read.0)
}

/// A journal that forgets everything with its process, with secrets that follow from a name: for
/// simulations, in which one machine knows everybody's secrets anyway.
#[derive(Debug)]
pub struct Memory {
    name: Vec<u8>,
    secret: Option<Secret>,
    epochs: BTreeMap<u32, Vec<u64>>,
}

impl Memory {
    /// Of the party of this name.
    pub fn new(name: &[u8]) -> Self {
        Self { name: name.to_vec(), secret: None, epochs: BTreeMap::new() }
    }
}

impl Backing for Memory {
    fn write(&mut self, _: &Line) -> Result<(), String> {
        Ok(())
    }

    fn secret(&self) -> Option<Secret> {
        self.secret.clone()
    }

    fn keep(&mut self, secret: Option<&Secret>) -> Result<(), String> {
        self.secret = secret.cloned();
        Ok(())
    }

    fn fresh(&mut self, begins: &Hash) -> Option<Secret> {
        let key = hash(&[b"steffle simulated secret", &self.name, begins]);
        let mut nonce = [0; 16];
        nonce.copy_from_slice(&hash(&[b"steffle simulated nonce", &self.name, begins])[..16]);
        Some(Secret { key, nonce })
    }

    fn records(&self, epoch: u32) -> Option<Vec<u64>> {
        self.epochs.get(&epoch).cloned()
    }

    fn keep_records(&mut self, epoch: u32, records: &[u64]) -> Result<(), String> {
        self.epochs.insert(epoch, records.to_vec());
        Ok(())
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}
