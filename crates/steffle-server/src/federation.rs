//! The server's side of a run: what it asks of nodes, by messages alone.

mod counts;
mod gap;
mod grants;
mod once;
mod roster;
mod rounds;
mod shared_rounds;
mod trip;

pub use gap::{FirstLook, GapEstimate};
pub use once::{OneShot, Pooling};
pub use roster::{Absence, Absences, Roster, SiteName};

use std::ops::Range;
use std::sync::Arc;

use steffle_model::linear::{NotPositive, WhiteningError};
use steffle_model::model::{Classifier, ModelError, ModelKind};
use steffle_model::record::Layout;
use steffle_privacy::PrivacyError;
use steffle_privacy::ledger::CheckedOffer;
use steffle_privacy::ledger::NoiseKind;
use steffle_wire::{
    CodecError, Describe, Described, Join, Meet, Met, PassQuestion, Refused, Role, RoundReply,
    RunId, SchemaHash, Scores, Transport,
};

use self::grants::Said;
use self::rounds::PaperNoise;
use self::shared_rounds::Sharing;
use self::trip::Trips;

/// What a run says it is, to stores that decide whether to take part.
///
/// It is written into their books.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunKind {
    /// The method.
    pub method: String,
    /// Its mode.
    pub mode: String,
    /// The fairness notion.
    pub notion: String,
}

/// What all nodes of a run agree on: names, from which each builds for itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreement {
    /// The run.
    pub run: RunId,
    /// The schema's hash.
    pub schema: SchemaHash,
    /// The schema, in bytes that the nodes' holdings understand; empty where they are encoded.
    pub columns: Vec<u8>,
    /// How rows look under the schema.
    pub layout: Layout,
    /// The model.
    pub model: ModelKind,
    /// The silo side of the problem.
    pub scores: Scores,
    /// The seed of everything random in a simulation, noise aside where that is secure.
    pub seed: u64,
    /// Where the noise comes from.
    pub noise: NoiseKind,
    /// What the run is.
    pub kind: RunKind,
}

/// Why a run failed.
///
/// It names the silo where there is one to name.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FederationError {
    /// A node refuses.
    #[error("silo {silo}{name}: {refused}")]
    Refused {
        /// The node.
        silo: usize,
        /// Its name.
        name: SiteName,
        /// Its refusal.
        refused: Refused,
    },
    /// A reply was not what it should be.
    #[error("a message of silo {silo}{name} was refused: {source}")]
    Message {
        /// The node that sent it.
        silo: usize,
        /// Its name.
        name: SiteName,
        /// What is wrong with it.
        source: CodecError,
    },
    /// The sites' sums do not add up to what was asked for.
    #[error("what the sites add up is not what was asked for: {0}")]
    Total(CodecError),
    /// A node did not reply.
    #[error("silo {silo}{name} cannot be reached: {why}")]
    Lost {
        /// Which one.
        silo: usize,
        /// Its name.
        name: SiteName,
        /// What happened to it, or on the way.
        why: String,
    },
    /// A node did not reply whose records or attributes others wait for, in a run that leaves out sites
    /// that nobody waits for.
    #[error(
        "silo {silo}{name} cannot be reached: {why}; it holds one of records and attributes, and who holds \
         the other has nothing to add up without it, so that the run cannot leave it out"
    )]
    Needed {
        /// Which one.
        silo: usize,
        /// Its name.
        name: SiteName,
        /// What happened to it, or on the way.
        why: String,
    },
    /// No noise gives what was asked for.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    /// The model does not fit the columns.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A reply without the sums that its node has.
    #[error("a reply has no {0} sums")]
    Incomplete(&'static str),
    /// The silos' messages cannot be decoded together.
    #[error("the released message cannot be decoded: {0}")]
    Decode(#[from] NotPositive),
    /// A run that counts on every silo's share of the noise may go on without some.
    #[error(
        "noise is shared by all silos, and the job lets the run go on without those that do not reply: \
         their shares would be missing; say absent = \"stop\", or use <noise-shares each>"
    )]
    MissingShares,
    /// Silos that share noise cannot agree on its scale.
    #[error(
        "no integer scale of noise fits the agreed cap: numeric columns of about unit variance, or a \
         larger epsilon, make one"
    )]
    NoShare,
    /// The agreed matrix cannot be used.
    #[error(transparent)]
    Whitening(#[from] WhiteningError),
    /// No silo.
    #[error("a federation needs at least one records silo and one attributes holder")]
    Empty,
    /// Nodes that cannot work together.
    #[error(
        "node {0} comes too late in the roster: silos with both divisions, or first all with \
         records and then all with attributes"
    )]
    Roster(usize),
}

impl FederationError {
    /// The same of a site that others wait for.
    fn needed(self) -> Self {
        match self {
            Self::Lost { silo, name, why } => Self::Needed { silo, name, why },
            other => other,
        }
    }
}

/// A run over nodes that a transport reaches.
///
/// Its methods are the questions a server may ask; each is one trip to the nodes and back.
pub struct Federation<T> {
    trips: Trips<T>,
    agreement: Agreement,
    model: Arc<dyn Classifier>,
    /// Records per records silo.
    sizes: Vec<usize>,
    /// Places of nodes with records.
    silos: Range<usize>,
    /// Places of nodes with attributes alone; empty where silos have both.
    holders: Range<usize>,
    /// What the stores were offered last.
    offer: Option<CheckedOffer>,
    /// The paper's noise, in a run that claims nothing.
    noise: Option<PaperNoise>,
    /// Room of the last round's sum.
    room: Option<RoundReply>,
    /// What silos agreed on that share the noise of rounds.
    sharing: Option<Sharing>,
    /// Whether rounds ask for the loss too.
    losses: bool,
    /// What networks are pulled towards 0 by in passes.
    decay: f64,
    /// What the stores said when they were closed last.
    said: Option<Said>,
}

/// Nodes that have said who they are, before they agree on a schema.
///
/// Whoever has their summaries makes the schema, and with it they become a federation.
pub struct Gathered<T> {
    trips: Trips<T>,
    /// None where a site is absent.
    nodes: Vec<Option<Described>>,
    silos: Range<usize>,
    holders: Range<usize>,
    /// What they added up when they met under masks.
    met: Option<Met>,
}

impl<T: Transport> Gathered<T> {
    /// Asks all nodes that a transport reaches who they are; refuses a roster that cannot train.
    pub fn new(transport: T, run: RunId, roster: Roster) -> Result<Self, FederationError> {
        let all = transport.nodes();
        let schema = SchemaHash([0; 32]);
        let masked = roster.masked;
        let mut trips =
            Trips { transport, run, schema, made: 0, roster, needed: false, rooms: Vec::new() };
        let said = trips.ask_each(0..all, 0, |_| Describe { masked })?;
        let mut said = said.into_iter();
        let here: Vec<bool> = (0..all).map(|place| !trips.is_absent(place)).collect();
        let nodes: Vec<Option<Described>> =
            here.iter().map(|here| if *here { said.next() } else { None }).collect();
        let role = |place: usize| nodes[place].as_ref().map(|node| node.role);
        let first = nodes.iter().flatten().next().ok_or(FederationError::Empty)?.role;
        if first != Role::Both
            && let Some(place) = here.iter().position(|here| !here)
        {
            // A site that others need cannot be left out.
            return Err(trips.lost(place).needed());
        }
        let silos = (0..all).take_while(|place| role(*place).is_none_or(Role::has_records)).count();
        if silos == 0 || (first == Role::Records && silos == all) {
            return Err(FederationError::Empty);
        }
        let due = |place: usize| if place < silos { first } else { Role::Attributes };
        let wrong = |place: &usize| role(*place).is_some_and(|role| role != due(*place));
        if let Some(place) =
            (0..all).find(|place| wrong(place) || (first == Role::Both && *place >= silos))
        {
            return Err(FederationError::Roster(place));
        }
        // Only silos that nobody else waits for can be left out later.
        if first != Role::Both {
            trips.needed = trips.roster.drops.take().is_some();
        }
        Ok(Self { trips, nodes, silos: 0..silos, holders: silos..all, met: None })
    }

    /// Under masks: gives every site the hellos of all, and adds up their records and what `columns`
    /// asks about. Refuses when one of them does not know all others.
    pub fn meet(&mut self, columns: Vec<u8>) -> Result<&Met, FederationError> {
        let hellos = self.nodes.iter().flatten().map(|node| node.hello.clone()).collect();
        let met = self.trips.ask_sum(self.silos.clone(), 0, &Meet { hellos, columns })?;
        Ok(self.met.insert(met))
    }

    /// What every node said, by its place.
    pub fn nodes(&self) -> impl Iterator<Item = (usize, &Described)> {
        let said = self.nodes.iter().enumerate();
        said.filter_map(|(place, node)| node.as_ref().map(|node| (place, node)))
    }

    /// Has all nodes join under an agreement; refuses when one does not.
    pub fn join(mut self, agreement: Agreement) -> Result<Federation<T>, FederationError> {
        if self.trips.roster.masked.is_some() && self.met.is_none() {
            self.meet(Vec::new())?;
        }
        let Self { mut trips, nodes, silos, holders, met } = self;
        let model = Arc::from(agreement.model.build(agreement.layout, agreement.scores.labels)?);
        let join = Join {
            schema: agreement.columns.clone(),
            model: agreement.model.to_string(),
            scores: agreement.scores.clone(),
            seed: agreement.seed,
            noise: agreement.noise,
            silos: silos.len() as u32,
            holders: holders.len() as u32,
        };
        trips.schema = agreement.schema;
        trips.ask_each(0..nodes.len(), 0, |_| join.clone())?;
        let records = |node: &Option<Described>| node.as_ref().map_or(0, |node| node.records);
        let sizes = match met {
            None => nodes[silos.clone()].iter().map(|node| records(node) as usize).collect(),
            Some(met) => shares(met.records as usize, silos.len()),
        };
        let (offer, noise, said) = (None, None, None);
        let (losses, sharing) = (false, None);
        Ok(Federation {
            trips,
            agreement,
            model,
            sizes,
            silos,
            holders,
            offer,
            noise,
            room: None,
            sharing,
            losses,
            decay: PassQuestion::DECAY,
            said,
        })
    }
}

impl<T: Transport> Federation<T> {
    /// Brings all nodes together under an agreement; refuses when one does not agree.
    pub fn join(transport: T, agreement: Agreement) -> Result<Self, FederationError> {
        Gathered::new(transport, agreement.run, Roster::default())?.join(agreement)
    }

    /// Records per records silo; under masks equal shares of all records.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Trips over the wire that were made: a request to some or all nodes, and their replies. A round
    /// whose attributes are held elsewhere takes two.
    pub fn trips(&self) -> u64 {
        self.trips.made
    }

    /// What the nodes agreed on.
    pub fn agreement(&self) -> &Agreement {
        &self.agreement
    }

    /// The model.
    pub fn model(&self) -> &Arc<dyn Classifier> {
        &self.model
    }

    /// What carries its messages.
    pub fn transport(&self) -> &T {
        &self.trips.transport
    }

    /// Ends here, and leaves the nodes to another run.
    pub fn into_transport(self) -> T {
        self.trips.transport
    }

    /// Places of all nodes.
    fn all(&self) -> Range<usize> {
        0..self.silos.len() + self.holders.len()
    }
}

/// Equal shares of what nobody knows the parts of.
pub fn shares(all: usize, silos: usize) -> Vec<usize> {
    let (each, more) = (all / silos.max(1), all % silos.max(1));
    (0..silos).map(|silo| each + usize::from(silo < more)).collect()
}
