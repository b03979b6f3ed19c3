//! Are these the messages of one run that kept to its plan?

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use steffle_privacy::ledger::{Kind as Released, hexadecimal};
use steffle_wire::{Closed, Envelope, NodeId, Opening, Part, Role};

use super::masks::Masks;
use super::payments::{self, Private};
use super::shape::{Says, is_masked, read};
use super::{Frame, Kept, Sent};

/// What was found.
///
/// Without a mismatch the transcript fits its plan and its books.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// Whether anything is not as it should be.
    pub violation: bool,
    /// The run's name.
    pub run: String,
    /// Messages.
    pub messages: u64,
    /// Nodes that were asked.
    pub nodes: u64,
    /// Replies that say something about `s`.
    pub private_replies: u64,
    /// Events that stores told at the end.
    pub events: u64,
    /// What the run promises; none where it promises nothing.
    pub claimed_epsilon: Option<f64>,
    /// What the run promises.
    pub delta: Option<f64>,
    /// What the dearest store has spent on Gaussian messages.
    pub spent_mu: Option<f64>,
    /// Of a run under masks, the totals whose masks cancel: what single sites sent is compared with
    /// nothing there.
    pub totals: Option<u64>,
    /// Everything that is not as it should be, in the order of the messages.
    pub mismatches: Vec<Mismatch>,
}

/// Something that is not as it should be.
///
/// It names the message and what was expected of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mismatch {
    /// The frame, from 1; none where it is about the run as a whole.
    pub frame: Option<u64>,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.frame {
            Some(frame) => write!(f, "frame {frame}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

/// Mismatches, while they are found.
#[derive(Default)]
pub(super) struct Findings(Vec<Mismatch>);

impl Findings {
    pub(super) fn add(&mut self, frame: Option<u64>, what: String) {
        self.0.push(Mismatch { frame, what });
    }
}

/// A request, and whether it was answered.
struct Asked {
    frame: u64,
    envelope: Envelope,
    bytes: Vec<u8>,
    release: Option<Released>,
    waiting: bool,
}

/// What is known of a node so far.
#[derive(Default)]
struct Known {
    role: Option<Role>,
    /// Nodes of its role, over which sums are added up.
    sites: usize,
    asked: BTreeMap<u64, Asked>,
    /// What was offered last, and what was released since.
    opening: Option<(u64, Opening)>,
    private: Vec<Private>,
    /// The end of what was offered last.
    closed: Option<(u64, Closed)>,
    /// Whether the run went on without it.
    lost: bool,
    /// Whether what it sends is noise.
    masked: bool,
}

/// Checks the frames of a run, and compares them with the books of its stores, in their order,
/// where there are any.
pub fn check(frames: &[Frame], books: Option<&[Kept<'_>]>) -> Verdict {
    let mut findings = Findings::default();
    let mut run: Option<Envelope> = None;
    let mut nodes: BTreeMap<u32, Known> = BTreeMap::new();
    let mut masks =
        frames.first().filter(|first| is_masked(&first.bytes)).map(|_| Masks::default());
    for (frame, number) in frames.iter().zip(1..) {
        let node = nodes.entry(frame.node.0).or_default();
        node.masked = masks.is_some();
        if let Err(what) = node.take(frame, number, &mut run) {
            findings.add(Some(number), what);
        }
        match (&mut masks, frame.sent) {
            (Some(masks), Sent::Request) => masks.request(frame, number, &mut findings),
            (Some(masks), Sent::Reply) => masks.reply(frame),
            _ => {}
        }
    }
    let totals = masks.map(|mut masks| {
        masks.end(&mut findings);
        masks.totals
    });
    let name = run.map_or_else(String::new, |envelope| hexadecimal(&envelope.run.0));
    for node in nodes.values() {
        for asked in node.asked.values().filter(|asked| asked.waiting) {
            findings.add(Some(asked.frame), format!("no reply to {}", asked.envelope));
        }
    }
    let stores: Vec<&Known> = nodes.values().filter(|node| node.is_store()).collect();
    if let Some(books) = books.filter(|books| books.len() != stores.len()) {
        let what = format!("{} book(s) for {} store(s)", books.len(), stores.len());
        findings.add(None, what);
    }
    for (at, store) in stores.iter().enumerate() {
        store.judge(&name, books.and_then(|books| books.get(at)), &mut findings);
    }
    findings.0.sort_by_key(|mismatch| mismatch.frame);
    let claims =
        |store: &&&Known| store.offer().is_some_and(|offer| payments::claims(&offer.offer));
    let claimed = stores.iter().find(claims).and_then(|store| store.offer());
    let closed =
        || stores.iter().filter_map(|store| store.closed.as_ref().map(|(_, closed)| closed));
    Verdict {
        violation: !findings.0.is_empty(),
        run: name,
        messages: frames.len() as u64,
        nodes: nodes.len() as u64,
        private_replies: stores.iter().map(|store| store.private.len() as u64).sum(),
        events: closed().map(|closed| closed.receipts.len() as u64).sum(),
        claimed_epsilon: claimed.map(|opening| opening.offer.epsilon),
        delta: claimed.map(|opening| opening.offer.delta),
        spent_mu: closed().filter_map(|closed| closed.spent).reduce(f64::max),
        totals,
        mismatches: findings.0,
    }
}

impl Known {
    fn is_store(&self) -> bool {
        matches!(self.role, Some(Role::Attributes | Role::Both))
    }

    fn offer(&self) -> Option<&Opening> {
        self.opening.as_ref().map(|(_, opening)| opening)
    }

    /// Takes a message in; says what is wrong with it.
    fn take(
        &mut self,
        frame: &Frame,
        number: u64,
        run: &mut Option<Envelope>,
    ) -> Result<(), String> {
        if frame.sent == Sent::Lost {
            return self.lost(frame);
        }
        let release = match frame.sent {
            Sent::Request => None,
            _ => self.asked.values().rev().find(|asked| asked.waiting),
        };
        let release = release.and_then(|asked| asked.release);
        let (envelope, says) = read(&frame.bytes, release, self.masked)
            .map_err(|error| format!("cannot be read: {error}"))?;
        let first = run.get_or_insert(envelope);
        if envelope.run != first.run {
            return Err("a message of another run".to_owned());
        }
        match frame.sent {
            Sent::Request => self.request(frame, number, envelope, says),
            Sent::Reply => self.reply(frame, number, envelope, says),
            _ => Err("a frame of a site's own record".to_owned()),
        }
    }

    /// A node that did not reply, and without which the run went on: what it paid for is in its book.
    fn lost(&mut self, frame: &Frame) -> Result<(), String> {
        let asked = self.asked.values_mut().rev().find(|asked| asked.waiting);
        let asked = asked.ok_or_else(|| format!("{} is lost, and was not asked", frame.node))?;
        (asked.waiting, self.lost) = (false, true);
        Ok(())
    }

    fn request(
        &mut self,
        frame: &Frame,
        number: u64,
        envelope: Envelope,
        says: Says,
    ) -> Result<(), String> {
        let to = envelope.to == frame.node || envelope.to == NodeId::ALL;
        if envelope.part != Part::Request || envelope.from != NodeId::SERVER || !to {
            return Err(format!("{envelope}, where a request to {} is due", frame.node));
        }
        let sequence = envelope.sequence;
        if let Some(before) = self.asked.get_mut(&sequence) {
            if before.bytes != frame.bytes {
                let was = before.frame;
                return Err(format!("trip {sequence} was another request, in frame {was}"));
            }
            // The same words again: they are answered again.
            if before.waiting {
                return Err(format!("the same request as frame {}, which waits", before.frame));
            }
            before.waiting = true;
            return Ok(());
        }
        if let Some((&last, _)) = self.asked.last_key_value().filter(|(last, _)| **last > sequence)
        {
            return Err(format!("trip {sequence} after trip {last}"));
        }
        let mut release = None;
        match says {
            Says::Offer(opening) => {
                self.opening = Some((number, *opening));
                self.private.clear();
                self.closed = None;
            }
            Says::Private(kind, _) => release = Some(kind),
            Says::Roster(silos, holders) => {
                self.sites = if self.role == Some(Role::Attributes) { holders } else { silos };
            }
            _ => {}
        }
        let bytes = frame.bytes.clone();
        self.asked
            .insert(sequence, Asked { frame: number, envelope, bytes, release, waiting: true });
        Ok(())
    }

    fn reply(
        &mut self,
        frame: &Frame,
        number: u64,
        envelope: Envelope,
        says: Says,
    ) -> Result<(), String> {
        let asked = self.asked.get_mut(&envelope.sequence).filter(|asked| asked.waiting);
        let asked = asked.ok_or_else(|| format!("{envelope}, to which no request waits"))?;
        asked.waiting = false;
        let part = if envelope.part == Part::Refusal { Part::Refusal } else { Part::Reply };
        let (from, to) = (frame.node, NodeId::SERVER);
        let expected = Envelope { from, to, part, ..asked.envelope };
        envelope.matches(&expected).map_err(|error| error.to_string())?;
        match says {
            Says::Role(role) => self.role = Some(role),
            Says::Private(kind, part) if self.is_store() => {
                let round = envelope.round;
                // A release of a silo with both divisions stays in its house.
                let left = kind == Released::Sums || self.role == Some(Role::Attributes);
                let part = part.filter(|_| left);
                self.private.push(Private { frame: number, kind, round, part });
            }
            Says::Closed(closed) => self.closed = Some((number, closed)),
            Says::Refused(refused) => return Err(format!("{} refuses: {refused}", frame.node)),
            _ => {}
        }
        Ok(())
    }

    /// What a store sent, against what was paid for.
    fn judge(&self, run: &str, kept: Option<&Kept<'_>>, findings: &mut Findings) {
        let Some((opened, opening)) = &self.opening else {
            for private in &self.private {
                findings
                    .add(Some(private.frame), "a private reply, and no run was offered".to_owned());
            }
            return;
        };
        if !payments::claims(&opening.offer) {
            return;
        }
        let Some((ended, closed)) = &self.closed else {
            if self.lost {
                return;
            }
            return findings
                .add(Some(*opened), "the run that was offered here never ended".to_owned());
        };
        // Under masks a store tells how often it answered, and neither what nor at what cost.
        let told = kept.filter(|_| !self.masked);
        payments::compare(*ended, (&self.private, self.sites), closed, told, findings);
        payments::within(*ended, opening, closed, findings);
        if let Some(Kept { book, .. }) = kept.filter(|_| self.masked) {
            payments::counts((*opened, *ended), run, &opening.offer, closed, book, findings);
        }
        if let Some(Kept { book, .. }) = told {
            payments::agrees((*opened, *ended), run, &opening.offer, closed, book, findings);
        }
    }
}
