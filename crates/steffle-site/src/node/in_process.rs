//! All nodes in one process: the embedded transport. Every message is still bytes.

use rayon::prelude::*;
use steffle_attributes::{Attributes, UnitList};
use steffle_model::record::Records;
use steffle_privacy::ledger::Ended;
use steffle_wire::{Answer, Letter, Lost, NodeId, Transport};

use super::{Encoded, Masking, Node};
use crate::division::records::RecordsDivision;

/// Below this many records in a trip, handing nodes to other threads costs more than it saves.
const PARALLEL_FROM: usize = 8192;

/// Nodes side by side, on as many threads as there are. The number of threads changes no bit.
pub struct InProcess {
    nodes: Vec<Node>,
}

impl InProcess {
    /// These nodes, in the order of the roster: those with records first.
    pub fn new(nodes: Vec<Node>) -> Self {
        Self { nodes }
    }

    /// Silos with two divisions each.
    pub fn silos(silos: impl IntoIterator<Item = (Records, Attributes)>) -> Self {
        let node = |(records, attributes)| Node::new(Encoded::new(Some(records), Some(attributes)));
        Self::new(silos.into_iter().map(node).collect())
    }

    /// Records silos and attributes holders with cuts of their own, matched by record id. One machine
    /// plays all of them, and holders have its list of people: the records of all silos.
    pub fn split(
        records: impl IntoIterator<Item = Records>,
        attributes: impl IntoIterator<Item = Attributes>,
    ) -> Self {
        let records: Vec<Records> = records.into_iter().collect();
        let people = everybody(&records);
        let holder = |own| Encoded::holder(own, people.clone());
        let holders: Vec<Encoded> = attributes.into_iter().map(holder).collect();
        let records = records.into_iter().map(|records| Encoded::new(Some(records), None));
        Self::new(records.chain(holders).map(Node::new).collect())
    }

    /// Changes every node before a run: its ledger or scores.
    #[must_use]
    pub fn each(mut self, change: impl FnMut(Node) -> Node) -> Self {
        self.nodes = self.nodes.into_iter().map(change).collect();
        self
    }

    /// The same with keys that this process makes: its replies are masked as those of sites, and hidden
    /// from nobody who reads its memory. More than 127 nodes stay as they are, and refuse masks.
    #[must_use]
    pub fn masked(self) -> Self {
        let (sites, mut places) = (self.nodes.len(), 0..);
        self.each(|node| {
            let own = places.next().and_then(|place| Masking::simulated(place, sites));
            match own {
                Some(masking) => node.masking(masking),
                None => node,
            }
        })
    }

    /// The same where books may have closed the run before this process began: asked from the first question
    /// on, nodes say again what the books have kept. Of a run that has ended nothing new is paid for.
    #[must_use]
    pub fn taken_up_again(self) -> Self {
        self.each(|node| Node { ended: Ended::AskedAgain, ..node })
    }

    /// What nodes refused since this was asked last, in full: for their owner's own log.
    pub fn remarks(&mut self) -> Vec<String> {
        self.nodes.iter_mut().flat_map(Node::remarks).collect()
    }

    fn deliver(&mut self, from: NodeId, letters: Vec<Letter>) {
        for Letter { to, bytes } in letters {
            for node in to {
                // Node 0 is the server, which reads no letter.
                let at = (node.0 as usize).wrapping_sub(1);
                if let Some(node) = self.nodes.get_mut(at) {
                    node.handle(from, &bytes);
                }
            }
        }
    }
}

/// The unit of every record of silos: the list of people of whoever has all of them. A person whom a column
/// names is one, in whichever silos.
pub fn everybody<'r>(silos: impl IntoIterator<Item = &'r Records>) -> UnitList {
    let silos: Vec<&Records> = silos.into_iter().collect();
    let named: Option<Vec<&[u64]>> = silos.iter().map(|records| records.people()).collect();
    if let Some(people) = named.filter(|people| !people.is_empty()) {
        let ids = silos.iter().flat_map(|records| records.ids().iter());
        return UnitList::of_people(ids.zip(people.concat()));
    }
    let mut first = 0_u32;
    let mut all = Vec::new();
    for records in silos {
        let units = records.units();
        let unit = |(at, id): (usize, u64)| {
            (id, first.saturating_add(units.map_or(at as u32, |units| units[at])))
        };
        all.extend(records.ids().iter().enumerate().map(unit));
        first = first.saturating_add(records.unit_count() as u32);
    }
    UnitList::index(all)
}

/// A transport some or all of whose nodes are in this process: for methods that have all data in one
/// place, or whose silos train by themselves.
pub trait Embedded: Transport {
    /// The nodes that are here.
    fn here(&self) -> &[Node];

    /// What every one of them holds of records, once it has joined.
    fn records(&self) -> Vec<&Records> {
        self.here().iter().filter_map(Node::records).map(RecordsDivision::records).collect()
    }
}

impl Embedded for InProcess {
    fn here(&self) -> &[Node] {
        &self.nodes
    }
}

impl Transport for InProcess {
    fn nodes(&self) -> usize {
        self.nodes.len()
    }

    fn exchange(&mut self, requests: &[(NodeId, &[u8])]) -> Vec<Result<Vec<u8>, Lost>> {
        let mut asked = Vec::with_capacity(requests.len());
        let mut waiting = requests.iter();
        let mut next = waiting.next();
        for (at, node) in self.nodes.iter_mut().enumerate() {
            if let Some((to, request)) = next
                && *to == NodeId::at(at)
            {
                asked.push((node, *request));
                next = waiting.next();
            }
        }
        let weight: usize = asked.iter().map(|(node, request)| node.weight(request)).sum();
        let handle = |(node, request): (&mut Node, &[u8])| node.handle(NodeId::SERVER, request);
        let answers: Vec<Answer> = if weight < PARALLEL_FROM {
            asked.into_iter().map(handle).collect()
        } else {
            asked.into_par_iter().map(handle).collect()
        };
        let mut replies = Vec::with_capacity(requests.len());
        for (&(from, _), Answer { reply, letters }) in requests.iter().zip(answers) {
            replies.push(Ok(reply));
            self.deliver(from, letters);
        }
        // What is left was asked of somebody who is not here.
        let lost =
            |&(node, _): &(NodeId, &[u8])| Err(Lost { node, why: "no such node".to_owned() });
        replies.extend(next.into_iter().chain(waiting).map(lost));
        replies
    }

    fn give_back(&mut self, from: NodeId, reply: Vec<u8>) {
        if let Some(node) = self.nodes.get_mut((from.0 as usize).wrapping_sub(1)) {
            node.give_back(reply);
        }
    }
}
