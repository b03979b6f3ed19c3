//! The door: the one way by which something computed from `s` becomes bytes.
//!
//! A message goes through four hands, and the types admit no other order:
//!
//! 1. [`Price`]: what will be sent, what noise it gets, what it costs. Made without the store.
//! 2. [`Price::reserve`]: the ledger takes the cost as spent, then noise and coins are drawn (the
//!    sampler's running time depends on what it draws, so it runs before any class is read).
//! 3. [`Store::add`]: only a [`Reserved`] price opens sums over the real classes, and nobody can
//!    read them.
//! 4. [`Store::release`]: adds the noise and writes the reply down: the one function whose bytes
//!    depend on `s`. It takes the noise, grids, coins and shapes from the reserved price alone.

use std::collections::HashMap;
use std::marker::PhantomData;

use sha2::{Digest as _, Sha256};
use steffle_model::record::Ids;
use steffle_model::scores::Who;
use steffle_privacy::ledger::{
    Accounts, Charge, CheckedOffer, Cost, Ended, Entry, GrantId, Kind, Ledger, MemoryLedger,
    NoiseKind, Receipt, Refusal, Stored, Ticket,
};
use steffle_wire::{CodecError, Decode, Encode, Reader, Writer};

use super::MISSING_CLASS;
use super::room::Room;
use super::store::Attributes;
use super::{AttributesDivisionError, UnitList};
use crate::noise::NoiseSource;

/// What can go through the door: sums, features, classes or counts.
///
/// Each is priced without `s`, paid for, and only then computed from it.
pub trait Message: Work {}

/// How a message is made. Nobody outside of the attributes division implements it.
pub trait Work: Sized {
    /// What the ledger calls it.
    const KIND: Kind;
    /// What the price fixed: all that a release may use beside the noise and `s`.
    type Asked;
    /// Noise and coins.
    type Drawn;
    /// What is computed from `s`, before the noise.
    type Sums;
    /// Some of the records.
    type Chunk<'a>;
    /// What the receiver reads.
    type Reply: Decode;

    /// Draws what the price says, without `s`.
    fn draw(
        asked: &Self::Asked,
        source: &mut impl NoiseSource,
        room: &mut Room,
    ) -> Result<Self::Drawn, Refusal>;

    /// Adds what these records contribute under their real classes.
    fn add(
        held: &Held<'_>,
        asked: &Self::Asked,
        drawn: &Self::Drawn,
        chunk: Self::Chunk<'_>,
        sums: &mut Self::Sums,
    );

    /// Adds the noise and writes the reply; says whether there was any noise. Refuses sums that
    /// are not over what was priced.
    fn finish(
        asked: Box<Self::Asked>,
        drawn: Self::Drawn,
        sums: Self::Sums,
        into: (&mut Writer, &mut Room),
    ) -> Result<bool, Unpriced>;
}

/// The sums are not over the integers that were priced.
///
/// Nothing is sent then, and what was paid stays paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unpriced;

/// A request's name: a repeated one gets the bytes of the first, and a `fresh` number asks for new
/// noise, which is paid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Request {
    hash: [u8; 32],
    fresh: u32,
    round: Option<u32>,
}

impl Request {
    /// The request made of these bytes.
    pub fn new(fresh: u32, parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        hash.update(fresh.to_le_bytes());
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self { hash: hash.finalize().into(), fresh, round: None }
    }

    /// The same, in a round of its run: a ledger lets rounds go on only.
    #[must_use]
    pub fn in_round(self, round: u32) -> Self {
        Self { round: Some(round), ..self }
    }
}

/// What a message will be released under, and what it costs. Made without reading `s`.
#[must_use = "a price is nothing until it is reserved"]
pub struct Price<M: Message> {
    /// Boxed: it goes through many hands, and is large.
    asked: Box<M::Asked>,
    cost: Cost,
    charge: Charge,
    request: Request,
}

/// A price that was paid, with the noise it bought. It opens one reply: there is no copy of it.
pub struct Reserved<M: Message> {
    asked: Box<M::Asked>,
    drawn: M::Drawn,
    ticket: Ticket,
    noise: NoiseKind,
    /// Whether the ledger keeps the reply.
    claimed: bool,
}

/// Sums over the real `s`. They have no accessor, no `Debug` and no encoding:
///
/// ```compile_fail
/// use steffle_attributes::{Sums, Unreleased};
/// use steffle_wire::{Encode, Writer};
/// fn send(sums: &Unreleased<Sums>) {
///     sums.encode(&mut Writer::default());
/// }
/// ```
pub struct Unreleased<M: Message>(pub(super) M::Sums);

/// A reply that has met its noise, as bytes. Only this can be put into an envelope.
#[derive(Debug)]
pub struct Released<M> {
    bytes: Vec<u8>,
    noise: Option<NoiseKind>,
    message: PhantomData<M>,
}

impl<M: Message> Price<M> {
    pub(super) fn new(asked: M::Asked, cost: Cost, charge: Charge, request: Request) -> Self {
        Self::of_boxed(Box::new(asked), cost, charge, request)
    }

    pub(super) fn of_boxed(
        asked: Box<M::Asked>,
        cost: Cost,
        charge: Charge,
        request: Request,
    ) -> Self {
        Self { asked, cost, charge, request }
    }

    /// What it costs.
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// What the price fixed.
    #[cfg(test)]
    pub(super) fn asked(&self) -> &M::Asked {
        &self.asked
    }

    /// Whom it costs.
    #[cfg(feature = "attack")]
    pub fn charge(&self) -> &Charge {
        &self.charge
    }

    /// Has the ledger take the cost as spent, then draws noise and coins.
    pub fn reserve(
        self,
        store: &mut Store,
        source: &mut impl NoiseSource,
    ) -> Result<Reserved<M>, Refusal> {
        let Self { asked, cost, charge, request } = self;
        let Request { hash, fresh, round } = request;
        let grant = store.grant.ok_or(Refusal::Closed)?;
        let claimed = cost != Cost::Revealed;
        let request = if claimed { hash } else { [0; 32] };
        let noise = source.kind();
        let entry = Entry { request, fresh, round, kind: M::KIND, cost, charge };
        let ticket = store.ledger.reserve(grant, entry, noise)?;
        let drawn = M::draw(&asked, source, &mut store.room)?;
        Ok(Reserved { asked, drawn, ticket, noise, claimed })
    }
}

impl<M: Message> Reserved<M> {
    pub(super) fn asked(&self) -> &M::Asked {
        &self.asked
    }
}

impl<M> Released<M> {
    /// Where its noise came from; `None` when it had none.
    pub fn noise_kind(&self) -> Option<NoiseKind> {
        self.noise
    }
}

impl<M: Message> Released<M> {
    /// What a receiver reads.
    pub fn read(&self) -> Result<M::Reply, CodecError> {
        M::Reply::decode(&mut Reader::new(&self.bytes))
    }

    /// The same, in place of an old one.
    pub(super) fn read_over<'a>(&self, old: &'a mut M::Reply) -> Result<&'a M::Reply, CodecError> {
        old.decode_over(&mut Reader::new(&self.bytes))?;
        Ok(old)
    }
}

impl<M> Encode for Released<M> {
    fn encode(&self, writer: &mut Writer) {
        writer.raw(&self.bytes);
    }

    fn size_hint(&self) -> usize {
        self.bytes.len() + 64
    }
}

/// The classes, for the eyes of a message that was paid for.
pub struct Held<'a> {
    classes: &'a [u16],
    positions: &'a HashMap<u64, u32>,
    count: usize,
}

impl Held<'_> {
    /// Sensitive classes, k.
    pub(super) fn class_count(&self) -> usize {
        self.count
    }

    /// The class of every record, k or more where it is missing or not held.
    pub(super) fn classes_of(&self, who: Who<'_>, into: &mut Vec<u16>) {
        match who {
            Who::Positions(positions) => {
                steffle_model::model::kernel::pick(self.classes, positions, into);
            }
            Who::Ids(ids, _) => {
                into.clear();
                into.extend(ids.iter().map(|id| {
                    self.positions.get(id).map_or(MISSING_CLASS, |&at| self.classes[at as usize])
                }));
            }
        }
    }

    /// All of them, in the order of the ids.
    pub(super) fn all(&self) -> &[u16] {
        self.classes
    }
}

/// The sensitive classes of one organisation, and the budget that they have for life.
///
/// Classes go in and do not come out: what is computed from them leaves through a paid release.
pub struct Store {
    attributes: Attributes,
    /// Position by id, for questions that name ids. Empty where they name positions.
    positions: HashMap<u64, u32>,
    units: UnitList,
    ledger: Box<dyn Ledger>,
    grant: Option<GrantId>,
    /// Whether a run with secret noise was promised something.
    promised: bool,
    pub(super) room: Room,
}

impl Store {
    /// A store with a ledger in memory and no policy: its budget is the first offer it accepts.
    pub(super) fn new(attributes: Attributes, units: UnitList, by_id: bool) -> Self {
        let attributes = attributes.of_units(&units);
        let positions = || attributes.ids().iter().zip(0..).collect();
        let positions = if by_id { positions() } else { HashMap::new() };
        let ledger = Box::new(MemoryLedger::default());
        let (grant, promised, room) = (None, false, Room::default());
        Self { attributes, positions, units, ledger, grant, promised, room }
    }

    /// The same with another ledger; refused once a private run was accepted.
    pub(super) fn set_ledger(&mut self, ledger: Box<dyn Ledger>) -> Result<(), Refusal> {
        if self.promised {
            return Err(Refusal::Revealed { already: false });
        }
        (self.ledger, self.grant) = (ledger, None);
        Ok(())
    }

    pub(super) fn into_ledger(self) -> Box<dyn Ledger> {
        self.ledger
    }

    pub(super) fn ledger(&mut self) -> &mut dyn Ledger {
        self.ledger.as_mut()
    }

    pub(super) fn grant(&self) -> Option<GrantId> {
        self.grant
    }

    /// Has its ledger grant an offer, about everybody that it can be asked about.
    pub(super) fn take_up(
        &mut self,
        offer: &CheckedOffer,
        accounts: Accounts,
        ended: Ended,
    ) -> Result<(), Refusal> {
        let roll = || self.units.roll(self.attributes.ids());
        self.grant = Some(self.ledger.take_up(offer, accounts, &roll, ended)?);
        self.promised |= offer.claims() && offer.offer().noise == NoiseKind::Secure;
        Ok(())
    }

    pub(super) fn end_grant(&mut self) {
        self.grant = None;
    }

    /// Sensitive classes the schema knows.
    pub fn classes(&self) -> usize {
        self.attributes.class_count()
    }

    /// Record ids.
    pub fn ids(&self) -> &Ids {
        self.attributes.ids()
    }

    /// Who is one unit.
    /// Names the unit of every record.
    pub(super) fn name_people(&mut self, people: Option<&[u64]>) {
        self.units = self.units.clone().named(people);
    }

    pub(super) fn units(&self) -> &UnitList {
        &self.units
    }

    /// Takes back a reply that was read, as room for the next one, where that is not much.
    pub fn give_back<M>(&mut self, released: Released<M>) {
        if released.bytes.capacity() <= Room::MOST {
            self.room.bytes = released.bytes;
        }
    }

    /// The reply that was sent to this request, if it was answered before.
    pub fn stored<M: Message>(&self, request: &Request) -> Result<Option<Released<M>>, Refusal> {
        let Some(grant) = self.grant else { return Ok(None) };
        let stored = self.ledger.stored(grant, &request.hash)?;
        let released = |Stored { reply: bytes, noise }| Released {
            bytes,
            noise: Some(noise),
            message: PhantomData,
        };
        Ok(stored.map(released))
    }

    /// What the open grant has released.
    pub(super) fn receipts(&self) -> Vec<Receipt> {
        self.grant.map(|grant| self.ledger.receipts(grant)).unwrap_or_default()
    }

    /// Adds what the records of a chunk contribute under their real classes to sums that a paid
    /// price opened.
    pub fn add<M: Message>(
        &self,
        paid: &Reserved<M>,
        chunk: M::Chunk<'_>,
        into: &mut Unreleased<M>,
    ) {
        let held = Held {
            classes: self.attributes.classes(),
            positions: &self.positions,
            count: self.attributes.class_count(),
        };
        M::add(&held, &paid.asked, &paid.drawn, chunk, &mut into.0);
    }

    /// Adds the noise that was paid for, writes the reply down and has the ledger keep it.
    ///
    /// # Proof definition
    /// Given the question, the public columns and the price, which are the same for adjacent
    /// stores, the bytes are a function of integer sums plus discrete Gaussians whose scales the
    /// price derived (or of randomised classes); everything after the addition of the noise
    /// (scaling, projection, un-whitening, encoding) is post-processing. Sums that are not over
    /// the integers that were priced are not sent, which depends on no class; the price stays
    /// spent.
    pub fn release<M: Message>(
        &mut self,
        paid: Reserved<M>,
        sums: Unreleased<M>,
    ) -> Result<Released<M>, AttributesDivisionError> {
        let Reserved { asked, drawn, ticket, noise, claimed } = paid;
        let mut writer = Writer::over(std::mem::take(&mut self.room.bytes));
        let noised = M::finish(asked, drawn, sums.0, (&mut writer, &mut self.room))
            .map_err(|Unpriced| AttributesDivisionError::Unpriced)?;
        let bytes = writer.finish();
        let hash = if claimed { Sha256::digest(&bytes).into() } else { [0; 32] };
        self.ledger.commit(ticket, &bytes, hash)?;
        Ok(Released { bytes, noise: noised.then_some(noise), message: PhantomData })
    }
}
