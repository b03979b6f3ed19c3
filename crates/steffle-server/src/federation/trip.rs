//! A trip: one request to some nodes, and their replies.

use steffle_wire::{
    Added, Ask, CodecError, Envelope, Lost, NodeId, Part, Reader, Refused, RunId, SchemaHash,
    Transport, decode, parse, seal, seal_in,
};

use super::{Absence, FederationError, Roster, SiteName};

/// What all messages of a run have on them, and how many trips it made.
pub(super) struct Trips<T> {
    pub(super) transport: T,
    pub(super) run: RunId,
    /// Zeros until one is agreed on.
    pub(super) schema: SchemaHash,
    /// Every request and its replies have one number, which never comes again.
    pub(super) made: u64,
    pub(super) roster: Roster,
    /// Whether sites that do not reply were to be left out, and cannot be.
    pub(super) needed: bool,
    /// Room of the requests of the last trip.
    pub(super) rooms: Vec<Vec<u8>>,
}

impl<T: Transport> Trips<T> {
    /// Asks nodes for the same; replies come in the order of the roster.
    pub(super) fn ask<A: Ask>(
        &mut self,
        places: std::ops::Range<usize>,
        round: u32,
        request: &A,
    ) -> Result<Vec<A::Reply>, FederationError> {
        let mut said = Vec::with_capacity(places.len());
        self.send(places, round, request, |reader| {
            said.push(decode(reader)?);
            Ok(())
        })?;
        Ok(said)
    }

    /// Asks nodes for their parts of a sum; nothing is read but the total.
    pub(super) fn ask_sum<A: Ask<Reply: Added>>(
        &mut self,
        places: std::ops::Range<usize>,
        round: u32,
        request: &A,
    ) -> Result<<A::Reply as Added>::Total, FederationError> {
        self.ask_sum_in(&mut None, places, round, request)
    }

    /// The same, in the room of an old sum, which the new one is left in.
    pub(super) fn ask_sum_in<A: Ask<Reply: Added>>(
        &mut self,
        room: &mut Option<A::Reply>,
        places: std::ops::Range<usize>,
        round: u32,
        request: &A,
    ) -> Result<<A::Reply as Added>::Total, FederationError> {
        let mut sum = Adding::over(room);
        self.send(places, round, request, |reader| sum.add(reader))?;
        sum.total()
    }

    /// The same, of every node something else.
    pub(super) fn ask_sum_each<A: Ask<Reply: Added>>(
        &mut self,
        places: std::ops::Range<usize>,
        round: u32,
        request: impl Fn(usize) -> A,
    ) -> Result<<A::Reply as Added>::Total, FederationError> {
        self.ask_sum_each_in(&mut None, places, round, request)
    }

    /// The same, in the room of an old sum.
    pub(super) fn ask_sum_each_in<A: Ask<Reply: Added>>(
        &mut self,
        room: &mut Option<A::Reply>,
        places: std::ops::Range<usize>,
        round: u32,
        request: impl Fn(usize) -> A,
    ) -> Result<<A::Reply as Added>::Total, FederationError> {
        let mut sum = Adding::over(room);
        self.send_each(places, round, request, |reader| sum.add(reader))?;
        sum.total()
    }

    /// Asks every node of a range for something else.
    pub(super) fn ask_each<A: Ask>(
        &mut self,
        places: std::ops::Range<usize>,
        round: u32,
        request: impl Fn(usize) -> A,
    ) -> Result<Vec<A::Reply>, FederationError> {
        let mut said = Vec::with_capacity(places.len());
        self.send_each(places, round, request, |reader| {
            said.push(decode(reader)?);
            Ok(())
        })?;
        Ok(said)
    }

    /// Sends nodes the same and has one reply after the other taken in, in the order of the roster.
    fn send<A: Ask>(
        &mut self,
        places: std::ops::Range<usize>,
        round: u32,
        request: &A,
        take: impl FnMut(Reader<'_>) -> Result<(), CodecError>,
    ) -> Result<(), FederationError> {
        let envelope = self.next::<A>(round, NodeId::ALL);
        let bytes = seal(&envelope, request);
        let requests: Vec<(NodeId, &[u8])> =
            self.present(places).map(|place| (NodeId::at(place), &bytes[..])).collect();
        self.exchange(&envelope, &requests, take)
    }

    /// The same with something else for every node of a range.
    fn send_each<A: Ask>(
        &mut self,
        places: std::ops::Range<usize>,
        round: u32,
        request: impl Fn(usize) -> A,
        take: impl FnMut(Reader<'_>) -> Result<(), CodecError>,
    ) -> Result<(), FederationError> {
        let envelope = self.next::<A>(round, NodeId::ALL);
        let mut rooms = std::mem::take(&mut self.rooms);
        rooms.resize_with(places.len().max(rooms.len()), Vec::new);
        let mut asked = Vec::with_capacity(places.len());
        for (place, room) in self.present(places).zip(&mut rooms) {
            let to = NodeId::at(place);
            *room = seal_in(std::mem::take(room), &Envelope { to, ..envelope }, &request(place));
            asked.push((to, &room[..]));
        }
        let taken = self.exchange(&envelope, &asked, take);
        self.rooms = rooms;
        taken
    }

    /// What stands on the requests of the next trip.
    fn next<A: Ask>(&mut self, round: u32, to: NodeId) -> Envelope {
        self.made += 1;
        Envelope {
            run: self.run,
            schema: self.schema,
            from: NodeId::SERVER,
            to,
            sequence: self.made,
            round,
            kind: A::KIND,
            part: Part::Request,
        }
    }

    fn exchange(
        &mut self,
        envelope: &Envelope,
        requests: &[(NodeId, &[u8])],
        mut take: impl FnMut(Reader<'_>) -> Result<(), CodecError>,
    ) -> Result<(), FederationError> {
        let replies = self.transport.exchange(requests);
        let mut taken = 0;
        for (reply, &(node, _)) in replies.into_iter().zip(requests) {
            let silo = place(node);
            let name = self.name(silo);
            let reply = match (reply, &self.roster.drops) {
                (Ok(reply), _) => reply,
                (Err(Lost { node: lost, why }), Some(drops)) if lost == node => {
                    drops.add(Absence { silo, name, trip: self.made, why });
                    continue;
                }
                // Where a letter is lost on its way, that is not who was asked.
                (Err(Lost { node: lost, why }), _) => {
                    let silo = place(lost);
                    let lost = FederationError::Lost { silo, name: self.name(silo), why };
                    return Err(if self.needed { lost.needed() } else { lost });
                }
            };
            let read = read(envelope, node, &reply).and_then(|reader| Ok(take(reader)?));
            read.map_err(|error| match error {
                Unread::Refused(refused) => {
                    FederationError::Refused { silo, name, refused: self.named(refused) }
                }
                Unread::Message(source) => FederationError::Message { silo, name, source },
            })?;
            self.transport.give_back(node, reply);
            taken += 1;
        }
        // With everybody gone there is no run.
        match requests.first().filter(|_| taken == 0) {
            Some(&(node, _)) => Err(self.lost(place(node))),
            None => Ok(()),
        }
    }

    /// Those of these places whose sites are there.
    fn present(&self, places: std::ops::Range<usize>) -> impl Iterator<Item = usize> + use<T> {
        let drops = self.roster.drops.clone();
        places.filter(move |place| drops.as_ref().is_none_or(|drops| !drops.has(*place)))
    }

    /// Whether the run may go on without sites.
    pub(super) fn may_drop(&self) -> bool {
        self.roster.drops.is_some()
    }

    pub(super) fn is_absent(&self, place: usize) -> bool {
        self.roster.drops.as_ref().is_some_and(|drops| drops.has(place))
    }

    /// Why the run does not go on without the site at this place.
    pub(super) fn lost(&self, silo: usize) -> FederationError {
        let all = self.roster.drops.as_ref().map(super::Absences::all).unwrap_or_default();
        let why = all.into_iter().find(|absence| absence.silo == silo).map(|absence| absence.why);
        let why = why.unwrap_or_else(|| "it did not reply".to_owned());
        FederationError::Lost { silo, name: self.name(silo), why }
    }

    /// A refusal that is about nodes, with the names of their sites: nodes know numbers alone.
    fn named(&self, mut refused: Refused) -> Refused {
        if refused.code == Refused::IDS {
            for &node in refused.numbers.iter().take(2) {
                let name = self.roster.names.get(place(NodeId(node as u32)));
                refused.text.extend(name.map(|name| format!("; node {node} is {name}")));
            }
        }
        refused
    }

    fn name(&self, place: usize) -> SiteName {
        SiteName(self.roster.names.get(place).cloned())
    }
}

/// Replies, being added up in the room of an old sum.
struct Adding<'a, R> {
    sum: &'a mut Option<R>,
    replies: usize,
}

impl<'a, R: Added> Adding<'a, R> {
    fn over(sum: &'a mut Option<R>) -> Self {
        Self { sum, replies: 0 }
    }

    /// Adds a reply to those before it.
    fn add(&mut self, mut reader: Reader<'_>) -> Result<(), CodecError> {
        match (&mut self.sum, self.replies) {
            (Some(old), 0) => old.decode_over(&mut reader)?,
            (Some(sum), _) => sum.add_next(&mut reader)?,
            (sum @ None, _) => **sum = Some(R::decode(&mut reader)?),
        }
        self.replies += 1;
        reader.end()
    }

    fn total(self) -> Result<R::Total, FederationError> {
        let sum = self.sum.as_ref().filter(|_| self.replies > 0);
        sum.ok_or(FederationError::Empty)?.total().map_err(FederationError::Total)
    }
}

/// Node 0 is the server, which is nobody's place.
fn place(node: NodeId) -> usize {
    (node.0 as usize).saturating_sub(1)
}

enum Unread {
    Refused(Refused),
    Message(CodecError),
}

impl From<CodecError> for Unread {
    fn from(error: CodecError) -> Self {
        Self::Message(error)
    }
}

/// The reply of a node to a request, to be read, or its refusal; a message that is neither is refused in
/// turn.
fn read<'a>(request: &Envelope, node: NodeId, bytes: &'a [u8]) -> Result<Reader<'a>, Unread> {
    let (found, reader) = parse(bytes)?;
    let expected = Envelope { from: node, to: NodeId::SERVER, part: Part::Reply, ..*request };
    if found.part == Part::Refusal {
        // One about bytes that it could not read has no more than that on it.
        return Err(Unread::Refused(decode(reader)?));
    }
    found.matches(&expected)?;
    Ok(reader)
}
