//! The embedded driver: all nodes in one process, every message still encoded and decoded.

mod courier;
mod gap;
mod grants;
mod one_shot;
mod rounds;

pub use gap::GapEstimate;
pub use one_shot::{OneShot, Pooling};

use std::sync::Arc;

use rayon::prelude::*;

pub use steffle_privacy::ledger::MemoryLedger;

use steffle_privacy::PrivacyError;
use steffle_privacy::ledger::{Accounts, CheckedOffer, Claim};

use self::courier::Courier;
use self::rounds::{colocated_round, split_round};
use crate::division::attributes::{AttributesDivision, ClassRelease, Terms, UnitList};
use crate::division::records::{Imputed, RecordsDivision, RecordsDivisionError, RowCap};
use crate::division::{Objective, Silo, SiloError};
use crate::model::Classifier;
use crate::noise::{NodeNoise, NoiseKind};
use crate::protocol::{
    Batch, Classes, CodecError, ImputedQuestion, ImputedSums, Leg, Question, RunId, SchemaHash,
};
use crate::record::{Attributes, Records};
use crate::server::Aggregate;

/// Below this many records in a round, handing silos to other threads costs more than it saves.
const PARALLEL_FROM: usize = 8192;

/// What a run says it is, to stores that decide whether to take part.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunKind {
    /// The method.
    pub method: String,
    /// Its mode.
    pub mode: String,
    /// The fairness notion.
    pub notion: String,
}

/// What all nodes of a run agreed on.
#[derive(Clone)]
pub struct Agreement {
    /// The run.
    pub run: RunId,
    /// The schema's hash.
    pub schema: SchemaHash,
    /// The model.
    pub model: Arc<dyn Classifier>,
    /// The silo side of the problem.
    pub objective: Arc<dyn Objective>,
    /// The seed of everything random in this simulation, noise aside where that is secure.
    pub seed: u64,
    /// Where the noise comes from.
    pub noise: NoiseKind,
    /// What the run is.
    pub kind: RunKind,
}

/// Why a round failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// A silo refuses.
    #[error("silo {silo}: {source}")]
    Silo {
        /// Which silo.
        silo: usize,
        /// Why.
        source: SiloError,
    },
    /// A message was not what it should be.
    #[error("a message was refused: {0}")]
    Message(#[from] CodecError),
    /// No secret noise.
    #[error("the operating system gives no random numbers, so there is no secret noise")]
    NoEntropy,
    /// No noise gives what was asked for.
    #[error(transparent)]
    Privacy(#[from] PrivacyError),
    /// No silo.
    #[error("a federation needs at least one records silo and one attributes holder")]
    Empty,
}

/// Who holds what.
enum Nodes {
    /// Both divisions under one roof (centralisations 1 and 2).
    Silos(Vec<Silo>),
    /// Records and attributes at different organisations (centralisations 3 and 4).
    Split { records: Vec<RecordsDivision>, attributes: Vec<AttributesDivision> },
}

impl Nodes {
    /// The records divisions, numbered.
    fn records(&mut self) -> Vec<(usize, &mut RecordsDivision)> {
        match self {
            Self::Silos(silos) => silos.iter_mut().map(Silo::records).enumerate().collect(),
            Self::Split { records, .. } => records.iter_mut().enumerate().collect(),
        }
    }
}

/// All nodes of a simulated run.
pub struct Federation {
    agreement: Agreement,
    nodes: Nodes,
    sizes: Vec<usize>,
    /// What the stores were offered last.
    offer: Option<CheckedOffer>,
    /// Trips that were made: every request and its replies have one number.
    trips: u64,
}

impl Federation {
    /// Silos with two divisions each; refuses silos whose divisions hold different records.
    pub fn of_silos(
        agreement: Agreement,
        silos: Vec<(Records, Attributes)>,
    ) -> Result<Self, DriverError> {
        if silos.is_empty() {
            return Err(DriverError::Empty);
        }
        let sizes = silos.iter().map(|(records, _)| records.len()).collect();
        let silo = |(at, (records, attributes))| {
            division(&agreement, at, records)
                .map_err(SiloError::from)
                .and_then(|records| Silo::new(records, attributes))
                .map_err(|source| DriverError::Silo { silo: at, source })
        };
        let nodes = silos.into_iter().enumerate().map(silo).collect::<Result<_, _>>()?;
        Ok(Self { nodes: Nodes::Silos(nodes), agreement, sizes, offer: None, trips: 0 })
    }

    /// Records silos and attributes holders with cuts of their own, matched by record id.
    pub fn split(
        agreement: Agreement,
        records: Vec<Records>,
        attributes: Vec<Attributes>,
    ) -> Result<Self, DriverError> {
        if records.is_empty() || attributes.is_empty() {
            return Err(DriverError::Empty);
        }
        let sizes = records.iter().map(Records::len).collect();
        let index = index(&records);
        let node = |(at, records)| {
            division(&agreement, at, records)
                .map_err(|error| DriverError::Silo { silo: at, source: error.into() })
        };
        let records = records.into_iter().enumerate().map(node).collect::<Result<_, _>>()?;
        let holder = |attributes| AttributesDivision::by_id(attributes, index.clone());
        let attributes = attributes.into_iter().map(holder).collect();
        Ok(Self {
            nodes: Nodes::Split { records, attributes },
            agreement,
            sizes,
            offer: None,
            trips: 0,
        })
    }

    /// Records per records silo.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// What every records silo holds, for methods in which a silo trains by itself.
    pub fn records(&mut self) -> Vec<&Records> {
        self.records_divisions().into_iter().map(RecordsDivision::records).collect()
    }

    /// Trips over the wire that were made: a request to some or all nodes, and their replies. A round
    /// whose attributes are held elsewhere takes two.
    pub fn trips(&self) -> u64 {
        self.trips
    }

    /// The number of the next trip.
    fn next_trip(&mut self) -> u64 {
        self.trips += 1;
        self.trips
    }

    /// What the nodes agreed on.
    pub fn agreement(&self) -> &Agreement {
        &self.agreement
    }

    /// Lets every records division choose row caps and, where both divisions are under one roof,
    /// the noise's shape, for a run that starts at `theta`. Refuses rows that cannot be whitened.
    pub fn protect(&mut self, theta: &[f64], cap: RowCap, shaped: bool) -> Result<(), DriverError> {
        // A shape is made of the rows of a silo; where attributes are held elsewhere it would tell
        // whose rows a holder has.
        let shaped = shaped && matches!(self.nodes, Nodes::Silos(_));
        let all = self.sizes.iter().sum();
        let protect = |(at, division): (usize, &mut RecordsDivision)| {
            division
                .protect(theta, cap, shaped)
                .map_err(|error| DriverError::Silo { silo: at, source: error.into() })
        };
        in_order(self.divisions(), all, protect).map(|_| ())
    }

    /// The records divisions, for central methods, which have what they hold in one place.
    pub fn records_divisions(&mut self) -> Vec<&RecordsDivision> {
        self.divisions().into_iter().map(|(_, division)| &*division).collect()
    }

    fn divisions(&mut self) -> Vec<(usize, &mut RecordsDivision)> {
        match &mut self.nodes {
            Nodes::Silos(silos) => silos.iter_mut().map(Silo::records).enumerate().collect(),
            Nodes::Split { records, .. } => records.iter_mut().enumerate().collect(),
        }
    }

    /// Both legs of a round.
    pub fn round(&mut self, round: u32, question: &Question) -> Result<Aggregate, DriverError> {
        let (claims, sequence) = (self.claims(), self.next_trip());
        // The attributes leg of a split round is a trip of its own.
        let then = matches!(self.nodes, Nodes::Split { .. }).then(|| self.next_trip());
        let courier = Courier { agreement: &self.agreement, round, sequence, claims };
        match &mut self.nodes {
            Nodes::Silos(silos) => colocated_round(&courier, &self.sizes, silos, question),
            Nodes::Split { records, attributes } => {
                let second = Courier { sequence: then.unwrap_or(sequence), ..courier };
                split_round([&courier, &second], &self.sizes, records, attributes, question)
            }
        }
    }

    /// Has every attributes division release the class of each record, once, and every records
    /// division take in the memberships of its own. Says where the noise came from; `None` is
    /// none at all. Opens a run of its own.
    pub fn impute(&mut self, release: ClassRelease) -> Result<Option<NoiseKind>, DriverError> {
        match release {
            ClassRelease::Revealed => self.open_plainly()?,
            ClassRelease::Randomised(response) => {
                let offer = self.offer(Claim::Pure, response.epsilon(), 0.0, 1)?;
                self.open(offer, |_| (Terms::Open, Accounts::One))?;
            }
        }
        let (claims, sequence) = (self.claims(), self.next_trip());
        // Where attributes are held elsewhere, the silos take the answers in on a trip of their own.
        if matches!(self.nodes, Nodes::Split { .. }) {
            self.next_trip();
        }
        let courier = Courier { agreement: &self.agreement, round: 0, sequence, claims };
        let classes = self.agreement.objective.classes();
        let request = courier.request(&[&courier.question(Leg::Attributes, &release)]);
        let release_one = |at: usize, division: &mut AttributesDivision| {
            let mut noise = source(courier.agreement, at, 0)?;
            let released = division
                .release_classes(release, request, &mut noise)
                .map_err(|error| DriverError::Silo { silo: at, source: error.into() })?;
            let bytes = courier.reply(Leg::Attributes, at, &released);
            let read: Classes = courier.read_reply(Leg::Attributes, at, &bytes)?;
            Ok::<_, DriverError>((released.noise_kind(), read))
        };
        let take_in = |at: usize, division: &mut RecordsDivision, released: &[Classes]| {
            Imputed::from_classes(division.records().ids(), classes, released, release)
                .and_then(|imputed| division.set_imputed(imputed))
                .map_err(|error| DriverError::Silo { silo: at, source: error.into() })
        };
        let mut kind = None;
        match &mut self.nodes {
            Nodes::Silos(silos) => {
                for (at, silo) in silos.iter_mut().enumerate() {
                    let (noise, released) = release_one(at, silo.attributes())?;
                    take_in(at, silo.records(), std::slice::from_ref(&released))?;
                    kind = noise;
                }
            }
            Nodes::Split { records, attributes } => {
                let mut released = Vec::new();
                for (at, division) in attributes.iter_mut().enumerate() {
                    let (noise, classes) = release_one(records.len() + at, division)?;
                    released.push(classes);
                    kind = noise;
                }
                for (at, division) in records.iter_mut().enumerate() {
                    take_in(at, division, &released)?;
                }
            }
        }
        Ok(kind)
    }

    /// One exchange of an evaluation on imputed classes: the sums of all records divisions.
    pub fn ask_imputed(&mut self, question: &ImputedQuestion) -> Result<ImputedSums, DriverError> {
        let sequence = self.next_trip();
        let courier = Courier { agreement: &self.agreement, round: 0, sequence, claims: false };
        let bytes = courier.question(Leg::Records, question);
        let answer = |(at, division): (usize, &mut RecordsDivision)| {
            let question: ImputedQuestion = courier.read_question(Leg::Records, &bytes)?;
            let sums = division
                .answer_imputed(&question)
                .map_err(|error| DriverError::Silo { silo: at, source: error.into() })?;
            Ok(courier.reply(Leg::Records, at, &sums))
        };
        let replies = in_order(self.nodes.records(), self.sizes.iter().sum(), answer)?;
        let mut total: Option<ImputedSums> = None;
        for (at, reply) in replies.iter().enumerate() {
            let sums: ImputedSums = courier.read_reply(Leg::Records, at, reply)?;
            match &mut total {
                None => total = Some(sums),
                Some(total) => total.add(&sums),
            }
        }
        total.ok_or(DriverError::Empty)
    }

    /// The records leg alone: mean loss (with the ridge left to the caller) and mean gradient.
    pub fn loss(&mut self, theta: &[f64]) -> Result<(f64, Vec<f64>), DriverError> {
        let question = Question {
            theta: theta.to_vec(),
            cells: Vec::new(),
            form: crate::protocol::Form::Centred,
            batch: Batch::All,
            loss: true,
        };
        let sequence = self.next_trip();
        let courier = Courier { agreement: &self.agreement, round: 0, sequence, claims: false };
        let bytes = courier.question(Leg::Records, &question);
        let answer = |(at, division): (usize, &mut RecordsDivision)| {
            let question: Question = courier.read_question(Leg::Records, &bytes)?;
            let sums = division
                .answer(&question, 0)
                .map_err(|error| DriverError::Silo { silo: at, source: error.into() })?;
            Ok(courier.reply(Leg::Records, at, &sums))
        };
        let replies = in_order(self.nodes.records(), self.sizes.iter().sum(), answer)?;
        let mut total = Aggregate::default();
        for (at, reply) in replies.iter().enumerate() {
            total.add_public(&courier.read_reply(Leg::Records, at, reply)?);
        }
        let n = total.records.max(1.0);
        Ok((total.loss / n, total.gradient.iter().map(|sum| sum / n).collect()))
    }
}

fn division(
    agreement: &Agreement,
    at: usize,
    records: Records,
) -> Result<RecordsDivision, RecordsDivisionError> {
    let Agreement { objective, model, seed, .. } = agreement;
    RecordsDivision::new(records, objective.clone(), model.clone(), *seed, node(at))
}

/// The noise of a node in a round.
fn source(agreement: &Agreement, at: usize, round: u32) -> Result<NodeNoise, DriverError> {
    NodeNoise::new(agreement.noise, agreement.seed, node(at), u64::from(round))
        .ok_or(DriverError::NoEntropy)
}

/// Stream numbers: 0 is the server's, silos follow.
fn node(at: usize) -> u64 {
    at as u64 + 1
}

/// The unit of every record of the universal index: the list that all holders agree on.
fn index(silos: &[Records]) -> UnitList {
    let mut first = 0;
    let mut all = Vec::new();
    for records in silos {
        let unit = |(at, &id): (usize, &u64)| {
            (id, first + records.units().map_or(at as u32, |units| units[at]))
        };
        all.extend(records.ids().iter().enumerate().map(unit));
        first += records.unit_count() as u32;
    }
    UnitList::index(all)
}

/// Runs nodes, in parallel when the round is large, and keeps their order.
fn in_order<N: Send, R: Send>(
    nodes: Vec<N>,
    records: usize,
    work: impl Fn(N) -> Result<R, DriverError> + Sync + Send,
) -> Result<Vec<R>, DriverError> {
    if records < PARALLEL_FROM {
        nodes.into_iter().map(work).collect()
    } else {
        nodes.into_par_iter().map(work).collect()
    }
}
