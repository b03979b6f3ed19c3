//! A node that has joined a run: what it holds, what it was offered, what it answers.

mod grant;
mod name;
mod round;

pub(super) use round::Rooms;

use steffle_attributes::noise::NodeNoise;
use steffle_attributes::{Attributes, AttributesDivision, UnitList};
use steffle_masks::Pads;
use steffle_privacy::ledger::{Ended, Ledger};
use steffle_wire::{
    Answer, Batch, CellQuestion, Close, Decode, Done, Encode, Envelope, FitQuestion, Form,
    ImputedQuestion, Join, Kind, Letter, Loss, Masked, NodeId, Opening, Part, PassQuestion,
    Question, Reader, Refused, RunId, SchemaHash, SumRoom, Summand, Summed, decode, payload, seal,
};

use super::letters::Letters;
use super::once::Once;
use super::sender::{Correspondence, verified};
use crate::division::Silo;
use crate::division::records::{RecordsDivision, RowCap};

/// The divisions of a node.
pub(super) enum Divisions {
    /// Both, under one roof.
    Both(Box<Silo>),
    /// Features and labels.
    Records(Box<RecordsDivision>),
    /// Classes and the holder's list of people, before silos have said whom they have.
    Sealed(Attributes, UnitList),
    /// Classes of a list of units.
    Attributes(Box<AttributesDivision>),
    /// In between.
    Moving,
}

/// A node in a run.
pub(super) struct Party {
    pub(super) me: NodeId,
    pub(super) run: RunId,
    pub(super) schema: SchemaHash,
    pub(super) join: Join,
    pub(super) divisions: Divisions,
    /// For a store that waits for its list of units.
    pub(super) ledger: Option<Box<dyn Ledger>>,
    pub(super) letters: Letters,
    pub(super) opening: Option<Opening>,
    /// Messages about s that were asked for in no round since then.
    pub(super) acts: usize,
    /// Rounds up to this one are over.
    pub(super) round: Option<u32>,
    /// What becomes of a run that its book has closed before.
    pub(super) ended: Ended,
    /// What was released once, and what follows from it.
    pub(super) once: Once,
    /// Columns that so few records of all silos have that nobody has them where silos pool; `None` before
    /// they were counted.
    pub(super) without: Option<Vec<u32>>,
    /// What sites agreed on that share the noise of rounds, as a hash; it is part of what a reply is.
    pub(super) agreed: Option<[u8; 32]>,
    /// The mask of the reply that is being made; none without masks.
    pub(super) pads: Option<Pads>,
    /// The name of that mask.
    pub(super) under: Option<steffle_masks::Hash>,
    /// Room of the last round, for the next one.
    pub(super) rooms: Rooms,
}

impl Party {
    /// Refuses a request that is not for this node and run.
    pub(super) fn expects(&self, envelope: &Envelope) -> Result<(), Refused> {
        let to = if envelope.to == NodeId::ALL { NodeId::ALL } else { self.me };
        let Self { run, schema, .. } = *self;
        Ok(envelope.matches(&Envelope { to, run, schema, ..*envelope })?)
    }

    /// Takes in a letter of another site of this run.
    pub(super) fn receive(
        &mut self,
        envelope: &Envelope,
        letter: &[u8],
        keys: Option<&Correspondence>,
    ) {
        let sender = (1..=self.join.silos + self.join.holders).contains(&envelope.from.0);
        let mine = envelope.to == NodeId::ALL && envelope.from != self.me;
        let ours = envelope.run == self.run && envelope.schema == self.schema;
        if sender && mine && ours {
            self.letters.keep(envelope, verified(keys, envelope, letter));
        }
    }

    /// How many records a request is about.
    pub(super) fn weight(&self, message: &[u8]) -> usize {
        let all = match &self.divisions {
            Divisions::Both(silo) => silo.records_held().records().len(),
            Divisions::Records(records) => records.records().len(),
            Divisions::Attributes(division) => return division.len(),
            _ => return 0,
        };
        // Rounds say first what they are about.
        match Batch::decode(&mut Reader::new(payload(message))) {
            Ok(Batch::Mini(size)) if kind(message) == Some(Kind::Round) => all.min(size as usize),
            Ok(Batch::Block(count)) if kind(message) == Some(Kind::Round) => {
                all / (count as usize).max(1)
            }
            _ => all,
        }
    }

    pub(super) fn held_records(&self) -> Option<&RecordsDivision> {
        match &self.divisions {
            Divisions::Both(silo) => Some(silo.records_held()),
            Divisions::Records(records) => Some(records),
            _ => None,
        }
    }

    /// Answers a request of this run.
    pub(super) fn answer(
        &mut self,
        envelope: &Envelope,
        payload: &[u8],
        reader: Reader<'_>,
        pads: Option<Pads>,
    ) -> Result<Answer, Refused> {
        self.pads = pads;
        let answer = self.say(envelope, payload, reader);
        // The mask was used, or nothing is sent.
        match self.pads.take() {
            Some(_) if answer.is_ok() => Err(Refused::state("an answer that no mask covers")),
            _ => answer,
        }
    }

    fn say(
        &mut self,
        envelope: &Envelope,
        payload: &[u8],
        reader: Reader<'_>,
    ) -> Result<Answer, Refused> {
        match envelope.kind {
            Kind::Open => {
                let mut done = self.open(decode(reader)?)?;
                Ok(self.answer_with(envelope, &mut done, None::<&Done>))
            }
            Kind::Close => {
                let Close = decode(reader)?;
                let mut closed = self.close()?;
                Ok(self.answer_with(envelope, &mut closed, None::<&Done>))
            }
            Kind::Loss => {
                let Loss { theta } = decode(reader)?;
                let sums = self.records()?.answer(&loss_question(theta), 0)?;
                self.add_up(envelope, &sums)
            }
            Kind::Fit => {
                let question: FitQuestion = decode(reader)?;
                let sums = self.records()?.answer_fit(&question)?;
                self.add_up(envelope, &sums)
            }
            Kind::Imputed => {
                let question: ImputedQuestion = decode(reader)?;
                let sums = self.records()?.answer_imputed(&question)?;
                self.add_up(envelope, &sums)
            }
            Kind::Pass => {
                let question: PassQuestion = decode(reader)?;
                let sums = self.records()?.answer_pass(&question)?;
                self.add_up(envelope, &sums)
            }
            Kind::Round => self.round(envelope, payload, reader),
            Kind::Release => self.release(envelope, payload, decode(reader)?),
            Kind::Pool => {
                let sums = self.pool(decode(reader)?)?;
                self.add_up(envelope, &sums)
            }
            Kind::TakeIn => {
                let mut done = self.take_in(decode(reader)?)?;
                Ok(self.answer_with(envelope, &mut done, None::<&Done>))
            }
            Kind::Gap => {
                let sums = self.gap(&decode(reader)?)?;
                self.add_up(envelope, &sums)
            }
            Kind::Count => self.count(envelope, payload, &decode(reader)?),
            Kind::Unknown | Kind::Describe | Kind::Join | Kind::Meet => {
                Err(Refused::state(format!("{:?} in the middle of a run", envelope.kind)))
            }
        }
    }

    /// Its part of a sum over all silos.
    fn add_up(&mut self, envelope: &Envelope, sums: &impl Summand) -> Result<Answer, Refused> {
        let mut part = self.part(sums)?;
        Ok(self.answer_with(envelope, &mut part, None::<&Done>))
    }

    /// Numbers of a sum over all silos; refuses those that could leave the ring or, under masks, where a
    /// refusal would be about one site, has the largest in their place.
    pub(super) fn part<T: Summand>(&self, sums: &T) -> Result<Summed<T>, Refused> {
        self.part_in(SumRoom::default(), sums)
    }

    /// The same, in the room of an old one.
    fn part_in<T: Summand>(&self, room: SumRoom, sums: &T) -> Result<Summed<T>, Refused> {
        let sites = self.join.silos as usize;
        if self.pads.is_some() {
            Ok(Summed::cut(sums, sites))
        } else {
            Ok(Summed::of_in(room, sums, sites)?)
        }
    }

    /// A reply, under its mask where there is one, and, where there is one, a letter to everybody on
    /// the other side: from silos to holders, from holders to silos.
    pub(super) fn answer_with(
        &mut self,
        envelope: &Envelope,
        reply: &mut (impl Encode + Masked),
        letter: Option<&impl Encode>,
    ) -> Answer {
        if let Some(mut pads) = self.pads.take() {
            reply.mask(&mut |count| pads.next(count));
        }
        let mut room = std::mem::take(&mut self.rooms.reply);
        room.reserve(reply.size_hint().saturating_sub(room.len()));
        let mut answer = envelope.answered_in(room, self.me, reply);
        if let Some(letter) = letter {
            let sealed =
                Envelope { from: self.me, to: NodeId::ALL, part: Part::Letter, ..*envelope };
            let holds = matches!(self.divisions, Divisions::Attributes(_) | Divisions::Sealed(..));
            let to = if holds { self.silos().collect() } else { self.holders().collect() };
            answer.letters.push(Letter { to, bytes: seal(&sealed, letter) });
        }
        answer
    }

    /// Row caps and the noise's shape, for a run that starts at `theta`.
    fn protect(&mut self, theta: &[f64]) -> Result<(), Refused> {
        let Some(&Opening { cap: Some(cap), shaped, .. }) = self.opening.as_ref() else {
            return Ok(());
        };
        // A shape is made of the rows of a silo; where attributes are held elsewhere it would tell
        // whose rows a holder has.
        let shaped = shaped && matches!(self.divisions, Divisions::Both(_));
        if matches!(self.divisions, Divisions::Attributes(_)) {
            return Ok(());
        }
        let cap = RowCap::quantile(cap)
            .ok_or_else(|| Refused::new("steffle::node::cap", format!("a row cap of {cap}")))?;
        let division = self.records()?;
        if theta.len() != division.model().parameters() {
            // The question itself is refused, with its own words.
            return Ok(());
        }
        Ok(division.protect(theta, cap, shaped)?)
    }

    /// The records division; refuses where there is none.
    pub(super) fn records(&mut self) -> Result<&mut RecordsDivision, Refused> {
        match &mut self.divisions {
            Divisions::Both(silo) => Ok(silo.records()),
            Divisions::Records(records) => Ok(records),
            _ => Err(Refused::state("this node has no records")),
        }
    }

    /// The attributes division; refuses where there is none.
    pub(super) fn attributes(&mut self) -> Result<&mut AttributesDivision, Refused> {
        match &mut self.divisions {
            Divisions::Both(silo) => Ok(silo.attributes()),
            Divisions::Attributes(division) => Ok(division),
            Divisions::Sealed(..) => Err(Refused::state("no run is open here")),
            _ => Err(Refused::state("this node has no attributes")),
        }
    }

    /// Both divisions; `None` where they are not under one roof.
    pub(super) fn both(&mut self) -> Option<(&mut RecordsDivision, &mut AttributesDivision)> {
        match &mut self.divisions {
            Divisions::Both(silo) => Some(silo.divisions()),
            _ => None,
        }
    }

    /// Whether it has attributes and no records.
    pub(super) fn holds_attributes_alone(&self) -> bool {
        matches!(self.divisions, Divisions::Sealed(..) | Divisions::Attributes(_))
    }

    /// What came from other sites.
    pub(super) fn letters(&mut self) -> &mut Letters {
        &mut self.letters
    }

    /// Sensitive classes, k.
    pub(super) fn classes(&self) -> usize {
        self.join.scores.classes
    }

    /// Nodes with records.
    pub(super) fn silos(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.join.silos as usize).map(NodeId::at)
    }

    /// Nodes with attributes alone.
    pub(super) fn holders(&self) -> impl Iterator<Item = NodeId> + use<> {
        let silos = self.join.silos as usize;
        (silos..silos.saturating_add(self.join.holders as usize)).map(NodeId::at)
    }

    /// The noise of a round.
    pub(super) fn source(&self, round: u32) -> Result<NodeNoise, Refused> {
        let Join { noise, seed, .. } = self.join;
        let source = NodeNoise::new(noise, seed, u64::from(self.me.0), u64::from(round));
        source.ok_or_else(|| {
            let text = "the operating system gives no random numbers, so there is no secret noise";
            Refused::new("steffle::node::entropy", text)
        })
    }
}

fn kind(message: &[u8]) -> Option<Kind> {
    steffle_wire::parse(message).ok().map(|(envelope, _)| envelope.kind)
}

pub(super) fn nothing() -> Refused {
    Refused::state("this node holds nothing")
}

/// Loss and gradient are the public half of a question without cells.
fn loss_question(theta: Vec<f64>) -> Question {
    let cells: Vec<CellQuestion> = Vec::new();
    Question { theta, cells, form: Form::Centred, batch: Batch::All, loss: true }
}
