//! A node of a run: bytes in, bytes out.
//!
//! A site gives its [`Node`] what it holds ([`Holding`]) and, where that includes attributes, the
//! ledger that keeps their budget. From then on nothing crosses but messages: the node answers
//! requests in the order of their numbers, refuses by name what is late, repeated with other words
//! or meant for somebody else, and says the same again when it is asked the same again.

mod allows;
mod counts;
mod gap;
mod holding;
mod in_process;
mod join;
mod letters;
mod mask;
mod once;
mod party;
mod refusal;
mod sender;
mod shared_rounds;
mod told;

pub use allows::Allows;
pub use holding::{Encoded, Holding, Taken};
pub use in_process::{Embedded, InProcess, everybody};
pub use mask::{MaskPolicy, Masking};
pub use refusal::RARE_COLUMN;
pub use sender::Correspondence;

use std::sync::Arc;

use steffle_model::scores::OutputScores;
use steffle_privacy::ledger::{Ended, Ledger};
use steffle_wire::{
    Answer, Describe, Described, Envelope, Join, Kind, Masked, Meet, NodeId, Part, Reader, Refused,
    Role, RunId, Scores, Summed, decode, parse, payload, seal,
};

use self::mask::{Cover, Stage, fits, nobody};
use self::party::Party;
use self::sender::unreadable;
use crate::division::Objective;

/// Makes scores of their name; `None` for a name it does not know.
///
/// A host with a problem of its own gives its nodes one.
pub type BuildScores = fn(&Scores) -> Option<Arc<dyn Objective>>;

/// SteFFLe's own scores, the model's outputs.
pub fn outputs(scores: &Scores) -> Option<Arc<dyn Objective>> {
    let Scores { name, notion, classes, labels, sharpness } = scores;
    let own =
        OutputScores { notion: *notion, classes: *classes, labels: *labels, sharpness: *sharpness };
    (name == Scores::OUTPUTS).then(|| Arc::new(own) as Arc<dyn Objective>)
}

/// One party of a run: a records division, an attributes division, or a silo with both.
pub struct Node {
    holding: Box<dyn Holding>,
    scores: BuildScores,
    /// Keeps the budget; a store that was opened has it.
    ledger: Option<Box<dyn Ledger>>,
    allows: Allows,
    /// An audit plays all sites, and its attacker reads totals alone.
    audited: bool,
    /// Key, peers and journal, where it has any.
    masking: Option<Masking>,
    stage: Stage,
    /// Signs its letters, and says whose letters it takes.
    correspondence: Option<Correspondence>,
    /// Its number in the run; all, before it has one.
    me: NodeId,
    run: Option<RunId>,
    party: Option<Party>,
    /// What becomes of a run that its book has closed before.
    ended: Ended,
    /// The last request and its answer, to be said again.
    last: Option<Said>,
    /// Whether it tells others nothing that was found in its data.
    discreet: bool,
    /// What it refused, in full, for its owner.
    remarks: Vec<String>,
}

#[derive(Default)]
struct Said {
    sequence: u64,
    request: Vec<u8>,
    answer: Answer,
}

impl Node {
    /// A node that holds these data, and keeps the budget of its attributes in memory.
    pub fn new(holding: impl Holding + 'static) -> Self {
        Self {
            holding: Box::new(holding),
            scores: outputs,
            ledger: None,
            allows: Allows::default(),
            audited: false,
            masking: None,
            stage: Stage::Clear,
            correspondence: None,
            me: NodeId::ALL,
            run: None,
            party: None,
            ended: Ended::Refused,
            last: None,
            discreet: false,
            remarks: Vec::new(),
        }
    }

    /// The same with scores of the host's own.
    #[must_use]
    pub fn scoring(mut self, scores: BuildScores) -> Self {
        self.scores = scores;
        self
    }

    /// The same with this ledger.
    #[must_use]
    pub fn keeping(mut self, ledger: Box<dyn Ledger>) -> Self {
        self.ledger = Some(ledger);
        self
    }

    /// The same for a site that allows no more than this.
    #[must_use]
    pub fn allowing(mut self, allows: Allows) -> Self {
        self.allows = allows;
        self
    }

    /// The same for an audit that plays all sites, and whose attacker reads what they send in totals alone:
    /// it shares secret noise without a mask. No site is one, and no file says so.
    #[must_use]
    pub fn read_in_totals_by_an_audit(mut self) -> Self {
        self.audited = true;
        self
    }

    /// The same with a key: it can be asked under masks.
    #[must_use]
    pub fn masking(mut self, masking: Masking) -> Self {
        self.masking = Some(masking);
        self
    }

    /// The same with a key for letters.
    #[must_use]
    pub fn corresponding(mut self, correspondence: Correspondence) -> Self {
        self.correspondence = Some(correspondence);
        self
    }

    /// Answers a request, or takes a letter in. There is always a reply to a request: where it is no
    /// answer, it is a [`Refused`]. `from` is the sender as the transport knows it; a message that it may
    /// not send changes nothing.
    pub fn handle(&mut self, from: NodeId, message: &[u8]) -> Answer {
        let (envelope, reader) = match parse(message) {
            Ok(parsed) => parsed,
            Err(error) => return self.refuse(&unreadable(), &error.into()),
        };
        if let Err(error) = envelope.check_sender(from) {
            return self.refuse(&Envelope { from, ..envelope }, &error.into());
        }
        if envelope.part.is_letter() {
            // Under masks there is nobody whose letter could be for this site alone.
            if let (Stage::Clear, Some(party)) = (&self.stage, &mut self.party) {
                party.receive(&envelope, message, self.correspondence.as_ref());
            }
            return Answer::default();
        }
        if let Some(said) = self.said(&envelope, message) {
            return said;
        }
        match self.answer(&envelope, message, reader) {
            Err(refused) => {
                let refused = if self.discreet { self.told(refused) } else { refused };
                self.refuse(&envelope, &refused)
            }
            Ok(mut answer) => {
                if let Some(correspondence) = &self.correspondence {
                    correspondence.sign(&mut answer);
                }
                // In the room of the last: there is one for every round.
                let said = self.last.get_or_insert_default();
                said.sequence = envelope.sequence;
                message.clone_into(&mut said.request);
                said.answer.reply.clone_from(&answer.reply);
                said.answer.letters.clone_from(&answer.letters);
                answer
            }
        }
    }

    /// Takes in what this site was asked and answered before its process began, to be where it was: where the
    /// book of the run was closed since, nothing new can be paid for, and what was said is said again.
    pub fn take_in_again(&mut self, from: NodeId, message: &[u8]) -> Answer {
        let before = std::mem::replace(&mut self.ended, Ended::AskedAgain);
        let answer = self.handle(from, message);
        self.ended = before;
        answer
    }

    /// Whether this was the last request that changed something: answered, or, under masks, refused for its
    /// words alone. Whoever takes its messages in again takes in this one too.
    pub fn remembers(&self, message: &[u8]) -> bool {
        self.last.as_ref().is_some_and(|said| said.request == message)
    }

    /// How many records a request is about, so that whoever carries it knows what is worth a
    /// thread.
    pub fn weight(&self, message: &[u8]) -> usize {
        self.party.as_ref().map_or(0, |party| party.weight(message))
    }

    /// Takes back a reply that was read, as room for the next one, where that is not much.
    fn give_back(&mut self, reply: Vec<u8>) {
        const MOST: usize = 1 << 16;
        if let Some(party) = self.party.as_mut().filter(|_| reply.capacity() <= MOST) {
            party.rooms.reply = reply;
        }
    }

    /// What it holds of records, once it has joined; for methods that have them in one place.
    pub fn records(&self) -> Option<&crate::division::records::RecordsDivision> {
        self.party.as_ref()?.held_records()
    }

    /// What was said to the same request before; a refusal where its trip is over.
    fn said(&self, envelope: &Envelope, message: &[u8]) -> Option<Answer> {
        let said = self.last.as_ref().filter(|_| self.run == Some(envelope.run))?;
        if envelope.sequence > said.sequence {
            return None;
        }
        if said.request == message {
            return Some(said.answer.clone());
        }
        let Envelope { sequence, .. } = envelope;
        let last = said.sequence;
        let text = if *sequence == last {
            format!("trip {sequence} was another request: one number is one request")
        } else {
            format!("trip {sequence} is over: the last one was {last}")
        };
        Some(self.refuse(envelope, &Refused::state(text)))
    }

    fn answer(
        &mut self,
        envelope: &Envelope,
        message: &[u8],
        reader: Reader<'_>,
    ) -> Result<Answer, Refused> {
        if envelope.kind == Kind::Describe {
            return self.describe(envelope, message, decode(reader)?);
        }
        if self.run != Some(envelope.run) {
            return Err(Refused::state("a message of another run: a run begins by describing"));
        }
        let payload = payload(message);
        let met = match std::mem::take(&mut self.stage) {
            Stage::Clear if envelope.kind == Kind::Meet => {
                return Err(mask::refused("this run began without masks"));
            }
            Stage::Clear => return self.answer_as(envelope, payload, reader, &mut None),
            Stage::Over => {
                self.stage = Stage::Over;
                return Err(mask::refused(steffle_masks::JournalError::Over));
            }
            Stage::Greeted(greeting) if envelope.kind == Kind::Meet => {
                // Words that do not fit change nothing.
                let met = match (&mut self.masking, decode::<Meet>(reader.clone())) {
                    (Some(masking), Ok(meet)) => masking.meet(&greeting, self.me, &meet),
                    (_, meet) => Err(meet.map_or_else(Refused::from, |_| nobody())),
                };
                self.stage = Stage::Greeted(greeting);
                met?
            }
            Stage::Greeted(greeting) => {
                self.stage = Stage::Greeted(greeting);
                return Err(mask::before_the_meeting(envelope.kind));
            }
            met @ Stage::Met(_) => met,
        };
        self.answer_covered(envelope, payload, reader, met)
    }

    /// Answers under a mask. What is refused for its words alone is noted as an answer is, and part of all
    /// masks from then on; whatever is refused for more ends the run here.
    fn answer_covered(
        &mut self,
        envelope: &Envelope,
        payload: &[u8],
        reader: Reader<'_>,
        stage: Stage,
    ) -> Result<Answer, Refused> {
        let Stage::Met(mut veiled) = stage else { return Err(nobody()) };
        let (Some(masking), Ok(cover)) = (&self.masking, veiled.cover(envelope, payload)) else {
            self.stage = Stage::Over;
            return Err(nobody());
        };
        let words = masking.allows(&veiled, envelope.kind, payload).err();
        let (mut cover, sites) = (Some(cover), veiled.sites());
        let answered = match (words, envelope.kind) {
            (Some(refused), _) => Ok(self.refuse(envelope, &refused)),
            (None, Kind::Meet) => self.first_sum(envelope, payload, sites, &mut cover),
            (None, Kind::Join) => fits(payload, sites)
                .and_then(|()| self.answer_as(envelope, payload, reader, &mut cover)),
            (None, _) => self.answer_as(envelope, payload, reader, &mut cover),
        };
        let noted = answered.and_then(|answer| match (cover, &mut self.masking) {
            (Some(cover), Some(masking)) if answer.letters.is_empty() => {
                masking.note(&mut veiled, cover, envelope.sequence, &answer.reply)?;
                Ok(answer)
            }
            _ => Err(mask::refused("an answer without a mask, or with letters, is not sent")),
        });
        match noted {
            Ok(answer) => {
                self.stage = Stage::Met(veiled);
                Ok(answer)
            }
            Err(refused) => {
                self.stage = Stage::Over;
                if let Some(masking) = &mut self.masking {
                    masking.end()?;
                }
                Err(self.told_under_masks(refused, envelope.kind))
            }
        }
    }

    /// The first sum of a run under masks: records, and what columns add up to.
    fn first_sum(
        &mut self,
        envelope: &Envelope,
        payload: &[u8],
        sites: usize,
        cover: &mut Option<Cover>,
    ) -> Result<Answer, Refused> {
        let Meet { columns, .. } = decode(Reader::new(payload))?;
        let mut part = Summed::cut(&self.holding.meet(&columns)?, sites);
        let pads = cover.as_mut().and_then(|cover| cover.pads.take());
        let mut pads = pads.ok_or_else(nobody)?;
        part.mask(&mut |count| pads.next(count));
        Ok(envelope.answered(self.me, &part))
    }

    fn describe(
        &mut self,
        envelope: &Envelope,
        message: &[u8],
        asked: Describe,
    ) -> Result<Answer, Refused> {
        if envelope.to == NodeId::ALL {
            return Err(Refused::state("a node is described by its own number"));
        }
        let described = self.holding.describe(asked.masked.is_some());
        let stage = match (&mut self.masking, asked.masked) {
            (Some(masking), _) => {
                let terms = (described.role, asked.masked);
                masking.describe(envelope, message, terms, || self.holding.digests())?
            }
            (None, None) => Stage::Clear,
            (None, Some(_)) if described.role != Role::Both => return Err(mask::divided()),
            (None, Some(_)) => {
                return Err(mask::refused(
                    "this site has no key: `steffle silo key` makes one, and [peers] of its silo.toml \
                     names those of the others",
                ));
            }
        };
        self.leave();
        let hello = match &stage {
            Stage::Greeted(greeting) => greeting.hello().to_bytes(),
            _ => Vec::new(),
        };
        (self.run, self.me, self.stage) = (Some(envelope.run), envelope.to, stage);
        Ok(envelope.answered(self.me, &Described { hello, ..described }))
    }

    /// Answers a request of a run that was begun, under a mask where there is one.
    fn answer_as(
        &mut self,
        envelope: &Envelope,
        payload: &[u8],
        reader: Reader<'_>,
        cover: &mut Option<Cover>,
    ) -> Result<Answer, Refused> {
        let masked = cover.is_some();
        if envelope.kind == Kind::Join {
            if self.party.is_some() {
                return Err(Refused::state("this node has joined the run already"));
            }
            let join: Join = decode(reader)?;
            let mut held = self.holding.take(&join.schema, &envelope.schema)?;
            if masked {
                held.bound()?;
            }
            let (party, answer) = Party::join(envelope, join, held, self.scores, &mut self.ledger)?;
            self.party = Some(party);
            return Ok(answer);
        }
        let Some(party) = &mut self.party else {
            return Err(Refused::state(format!("{:?} before this node has joined", envelope.kind)));
        };
        party.expects(envelope)?;
        match envelope.kind {
            Kind::Open => {
                // Keys that one machine made hide nothing that a claim could rest on.
                let masking = self.masking.as_ref().filter(|_| masked);
                let opening = decode(Reader::new(payload))?;
                let hidden = self.audited || masking.is_some_and(Masking::is_real);
                self.allows.offered(&opening, party.join.scores.notion, hidden)?;
                masking.map_or(Ok(()), |masking| masking.offered(&opening))?;
            }
            Kind::Pool => self.allows.pooled(&decode(Reader::new(payload))?, masked)?,
            _ => party.asked(&self.allows, envelope, payload)?,
        }
        party.ended = self.ended;
        party.under = cover.as_ref().map(Cover::name);
        let pads = cover.as_mut().and_then(|cover| cover.pads.take());
        party.answer(envelope, payload, reader, pads)
    }

    /// Ends what is left of a run before. The budget goes on.
    fn leave(&mut self) {
        if let Some(ledger) = self.party.take().and_then(Party::leave) {
            self.ledger = Some(ledger);
        }
        self.last = None;
    }

    fn refuse(&self, envelope: &Envelope, refused: &Refused) -> Answer {
        let envelope =
            Envelope { from: self.me, to: envelope.from, part: Part::Refusal, ..*envelope };
        Answer { reply: seal(&envelope, refused), letters: Vec::new() }
    }
}

#[cfg(test)]
mod tests;
