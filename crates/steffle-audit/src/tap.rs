//! Nodes in this process, and everything that they say.

use steffle_server::federation::{FederationError, SiteName};
use steffle_site::node::Node;
use steffle_wire::{
    Answer, Ask, Envelope, Letter, Lost, NodeId, Part, Transport, decode, open, parse, seal,
};

use crate::AuditError;

/// One request, and what a node said to it.
#[derive(Debug, Clone)]
pub(crate) struct Heard {
    pub(crate) request: Vec<u8>,
    pub(crate) reply: Vec<u8>,
    /// Letters to other sites: the server does not read them, but somebody may.
    pub(crate) letters: Vec<Vec<u8>>,
}

/// Carries messages as [`InProcess`](steffle_site::node::InProcess) does, and keeps all bytes that
/// leave a node.
pub(crate) struct Tapped {
    nodes: Vec<Node>,
    pub(crate) heard: Vec<Heard>,
}

impl Tapped {
    pub(crate) fn new(nodes: Vec<Node>) -> Self {
        Self { nodes, heard: Vec::new() }
    }

    /// Asks one node, as a server that goes its own ways: with what stood on the last request, but
    /// for the number of the trip.
    pub(crate) fn ask<A: Ask>(&mut self, to: NodeId, request: &A) -> Result<A::Reply, AuditError> {
        let last = self.heard.last().ok_or(AuditError::Shape("there are none"))?;
        let (last, _) = parse(&last.request)?;
        let sequence = last.sequence + 1;
        let envelope = Envelope { to, sequence, round: 0, kind: A::KIND, ..last };
        let reply = self.exchange(&[(to, &seal(&envelope, request))]).pop();
        let reply = reply.ok_or(AuditError::Shape("there are none"))?;
        let expected = Envelope { from: to, to: NodeId::SERVER, part: Part::Reply, ..envelope };
        Ok(decode(open(&expected, &reply.map_err(lost)?)?)?)
    }

    fn node(&mut self, id: NodeId) -> Option<&mut Node> {
        // Node 0 is the server.
        self.nodes.get_mut((id.0 as usize).wrapping_sub(1))
    }
}

impl Transport for Tapped {
    fn nodes(&self) -> usize {
        self.nodes.len()
    }

    fn exchange(&mut self, requests: &[(NodeId, &[u8])]) -> Vec<Result<Vec<u8>, Lost>> {
        let (mut replies, mut sent) = (Vec::with_capacity(requests.len()), Vec::new());
        for &(to, request) in requests {
            let Some(node) = self.node(to) else {
                replies.push(Err(Lost { node: to, why: "no such node".to_owned() }));
                continue;
            };
            let Answer { reply, letters } = node.handle(NodeId::SERVER, request);
            let bytes = letters.iter().map(|letter| letter.bytes.clone()).collect();
            let request = request.to_vec();
            self.heard.push(Heard { request, reply: reply.clone(), letters: bytes });
            replies.push(Ok(reply));
            sent.extend(letters.into_iter().map(|letter| (to, letter)));
        }
        // After all have answered: a node that joins later would not know the letter's run.
        for (from, Letter { to, bytes }) in sent {
            for to in to {
                self.node(to).into_iter().for_each(|node| _ = node.handle(from, &bytes));
            }
        }
        replies
    }
}

/// All nodes are here: none is ever lost.
fn lost(lost: Lost) -> FederationError {
    let silo = (lost.node.0 as usize).saturating_sub(1);
    FederationError::Lost { silo, name: SiteName::default(), why: lost.why }
}
