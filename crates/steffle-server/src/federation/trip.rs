//! A trip: one request to some nodes, and their replies.

use steffle_wire::{
    Added, Ask, CodecError, Envelope, NodeId, Part, Refused, RunId, SchemaHash, Transport, decode,
    parse, seal,
};

use super::FederationError;

/// What all messages of a run have on them, and how many trips it made.
pub(super) struct Trips<T> {
    pub(super) transport: T,
    pub(super) run: RunId,
    /// Zeros until one is agreed on.
    pub(super) schema: SchemaHash,
    /// Every request and its replies have one number, which never comes again.
    pub(super) made: u64,
}

impl<T: Transport> Trips<T> {
    /// Asks nodes for the same; replies come in the order of the roster.
    pub(super) fn ask<A: Ask>(
        &mut self,
        places: std::ops::Range<usize>,
        round: u32,
        request: &A,
    ) -> Result<Vec<A::Reply>, FederationError> {
        let envelope = self.next::<A>(round, NodeId::ALL);
        let bytes = seal(&envelope, request);
        let requests: Vec<(NodeId, &[u8])> =
            places.map(|place| (NodeId::at(place), &bytes[..])).collect();
        self.exchange::<A>(&envelope, &requests)
    }

    /// Asks nodes for their parts of a sum; nothing is read but the total.
    pub(super) fn ask_sum<A: Ask<Reply: Added>>(
        &mut self,
        places: std::ops::Range<usize>,
        round: u32,
        request: &A,
    ) -> Result<<A::Reply as Added>::Total, FederationError> {
        let first = places.start;
        total(first, self.ask(places, round, request)?)
    }

    /// The same, of every node something else.
    pub(super) fn ask_sum_each<A: Ask<Reply: Added>>(
        &mut self,
        places: std::ops::Range<usize>,
        round: u32,
        request: impl Fn(usize) -> A,
    ) -> Result<<A::Reply as Added>::Total, FederationError> {
        let first = places.start;
        total(first, self.ask_each(places, round, request)?)
    }

    /// Asks every node of a range for something else.
    pub(super) fn ask_each<A: Ask>(
        &mut self,
        places: std::ops::Range<usize>,
        round: u32,
        request: impl Fn(usize) -> A,
    ) -> Result<Vec<A::Reply>, FederationError> {
        let envelope = self.next::<A>(round, NodeId::ALL);
        let sealed: Vec<(NodeId, Vec<u8>)> = places
            .map(|place| {
                let to = NodeId::at(place);
                (to, seal(&Envelope { to, ..envelope }, &request(place)))
            })
            .collect();
        let requests: Vec<(NodeId, &[u8])> =
            sealed.iter().map(|(to, bytes)| (*to, &bytes[..])).collect();
        self.exchange::<A>(&envelope, &requests)
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

    fn exchange<A: Ask>(
        &mut self,
        envelope: &Envelope,
        requests: &[(NodeId, &[u8])],
    ) -> Result<Vec<A::Reply>, FederationError> {
        let replies = self.transport.exchange(requests);
        let read = |(reply, &(node, _)): (Result<Vec<u8>, _>, &(NodeId, &[u8]))| {
            let place = (node.0 as usize).saturating_sub(1);
            read::<A>(envelope, node, &reply?).map_err(|error| match error {
                Unread::Refused(refused) => FederationError::Refused { silo: place, refused },
                Unread::Message(error) => FederationError::Message { silo: place, source: error },
            })
        };
        replies.into_iter().zip(requests).map(read).collect()
    }
}

/// Adds up parts from the node at place `first` on, then reads.
fn total<R: Added>(first: usize, parts: Vec<R>) -> Result<R::Total, FederationError> {
    let mut parts = parts.into_iter();
    let mut sum = parts.next().ok_or(FederationError::Empty)?;
    for (at, part) in parts.enumerate() {
        let silo = first + at + 1;
        sum.add(&part).map_err(|source| FederationError::Message { silo, source })?;
    }
    sum.total().map_err(FederationError::Total)
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

/// The reply of a node to a request, or its refusal; a message that is neither is refused in turn.
fn read<A: Ask>(request: &Envelope, node: NodeId, bytes: &[u8]) -> Result<A::Reply, Unread> {
    let (found, reader) = parse(bytes)?;
    let expected = Envelope { from: node, to: NodeId::SERVER, part: Part::Reply, ..*request };
    if found.part == Part::Refusal {
        // One about bytes that it could not read has no more than that on it.
        return Err(Unread::Refused(decode(reader)?));
    }
    found.matches(&expected)?;
    Ok(decode(reader)?)
}
