//! The embedded driver: all nodes in one process, every message still encoded and decoded.

mod gap;
mod one_shot;

pub use gap::GapEstimate;
pub use one_shot::{OneShot, Pooling};

use std::sync::Arc;

use rayon::prelude::*;

use steffle_privacy::Mu;

use crate::division::attributes::{Account, AttributesDivision, ClassRelease, Terms};
use crate::division::records::{Imputed, RecordsDivision, RecordsDivisionError, RowCap};
use crate::division::{Objective, Silo, SiloError};
use crate::model::Classifier;
use crate::noise::{NodeNoise, NoiseKind};
use crate::protocol::{
    Batch, Classes, CodecError, Decode, Envelope, Handover, ImputedQuestion, ImputedSums, Leg,
    Part, PrivateSums, PublicSums, Question, RunId, SchemaHash, Units, open, seal,
};
use crate::record::{Attributes, Records};
use crate::server::Aggregate;

/// Below this many records in a round, handing silos to other threads costs more than it saves.
const PARALLEL_FROM: usize = 8192;

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
        Ok(Self { nodes: Nodes::Silos(nodes), agreement, sizes })
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
        let node = |(at, records)| {
            division(&agreement, at, records)
                .map_err(|error| DriverError::Silo { silo: at, source: error.into() })
        };
        let records = records.into_iter().enumerate().map(node).collect::<Result<_, _>>()?;
        let attributes = attributes.into_iter().map(AttributesDivision::by_id).collect();
        Ok(Self { nodes: Nodes::Split { records, attributes }, agreement, sizes })
    }

    /// Records per records silo.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// What every records silo holds, for methods in which a silo trains by itself.
    pub fn records(&mut self) -> Vec<&Records> {
        self.records_divisions().into_iter().map(RecordsDivision::records).collect()
    }

    /// What the nodes agreed on.
    pub fn agreement(&self) -> &Agreement {
        &self.agreement
    }

    /// Sets the terms and the budget of every attributes division, given the number of units it
    /// holds beside their records, if it does. (In a deployment each division sets its own.)
    pub fn set_terms(&mut self, terms: impl Fn(Option<usize>) -> (Terms, Account)) {
        let set = |node: &mut AttributesDivision, units| {
            let (terms, account) = terms(units);
            node.set_terms(terms, account);
        };
        match &mut self.nodes {
            Nodes::Silos(silos) => silos.iter_mut().for_each(|silo| {
                let units = silo.records().records().unit_count();
                set(silo.attributes(), Some(units));
            }),
            Nodes::Split { attributes, .. } => {
                attributes.iter_mut().for_each(|node| set(node, None));
            }
        }
    }

    /// Changes the terms and keeps the budgets.
    pub fn change_terms(&mut self, terms: impl Fn(usize) -> Terms) {
        let all = self.sizes.iter().sum();
        self.each_attributes(all, |node, records| node.change_terms(terms(records)));
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

    /// What the dearest division has spent on Gaussian messages.
    pub fn spent(&mut self) -> Option<Mu> {
        let mut spent: Option<Mu> = None;
        self.each_attributes(0, |node, _| {
            if let Some(own) = node.account().spent()
                && spent.is_none_or(|most| own.value() > most.value())
            {
                spent = Some(own);
            }
        });
        spent
    }

    fn each_attributes(
        &mut self,
        all: usize,
        mut with: impl FnMut(&mut AttributesDivision, usize),
    ) {
        match &mut self.nodes {
            Nodes::Silos(silos) => {
                let sized = silos.iter_mut().zip(&self.sizes);
                sized.for_each(|(silo, &size)| with(silo.attributes(), size));
            }
            Nodes::Split { attributes, .. } => {
                attributes.iter_mut().for_each(|node| with(node, all));
            }
        }
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
        match &mut self.nodes {
            Nodes::Silos(silos) => {
                colocated_round(&self.agreement, &self.sizes, silos, round, question)
            }
            Nodes::Split { records, attributes } => {
                split_round(&self.agreement, &self.sizes, records, attributes, round, question)
            }
        }
    }

    /// Has every attributes division release the class of each record, once, and every records
    /// division take in the memberships of its own. Says where the noise came from; `None` is
    /// none at all.
    pub fn impute(&mut self, release: ClassRelease) -> Result<Option<NoiseKind>, DriverError> {
        let courier = Courier { agreement: &self.agreement, round: 0 };
        let classes = self.agreement.objective.classes();
        let announce = |records: &Records| -> Result<Option<Units>, CodecError> {
            let Some(units) = records.units() else { return Ok(None) };
            let units = Units { ids: records.ids().to_vec(), units: units.to_vec() };
            let bytes = seal(&courier.envelope(Leg::Attributes, Part::Handover), &units);
            courier.read(Leg::Attributes, Part::Handover, &bytes).map(Some)
        };
        let release_one = |at: usize, division: &AttributesDivision, units: &[Units]| {
            let mut noise = source(courier.agreement, at, 0)?;
            let reserved = division.price_classes(release).reserve();
            let released = division.release_classes(reserved, units, &mut noise);
            let bytes = courier.reply(Leg::Attributes, &released);
            let read: Classes = courier.read(Leg::Attributes, Part::Reply, &bytes)?;
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
                    let units: Vec<Units> =
                        announce(silo.records().records())?.into_iter().collect();
                    let (noise, released) = release_one(at, silo.attributes(), &units)?;
                    take_in(at, silo.records(), std::slice::from_ref(&released))?;
                    kind = noise;
                }
            }
            Nodes::Split { records, attributes } => {
                let mut units = Vec::new();
                for division in records.iter() {
                    units.extend(announce(division.records())?);
                }
                let mut released = Vec::new();
                for (at, division) in attributes.iter().enumerate() {
                    let (noise, classes) = release_one(records.len() + at, division, &units)?;
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
        let courier = Courier { agreement: &self.agreement, round: 0 };
        let envelope = courier.envelope(Leg::Records, Part::Question);
        let bytes = seal(&envelope, question);
        let answer = |(at, division): (usize, &mut RecordsDivision)| {
            let question: ImputedQuestion = courier.read(Leg::Records, Part::Question, &bytes)?;
            let sums = division
                .answer_imputed(&question)
                .map_err(|error| DriverError::Silo { silo: at, source: error.into() })?;
            Ok(courier.reply(Leg::Records, &sums))
        };
        let replies = in_order(self.nodes.records(), self.sizes.iter().sum(), answer)?;
        let mut total: Option<ImputedSums> = None;
        for reply in &replies {
            let sums: ImputedSums = courier.read(Leg::Records, Part::Reply, reply)?;
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
        let courier = Courier { agreement: &self.agreement, round: 0 };
        let bytes = courier.question(Leg::Records, &question);
        let answer = |(at, division): (usize, &mut RecordsDivision)| {
            let question: Question = courier.read(Leg::Records, Part::Question, &bytes)?;
            let sums = division
                .answer(&question, 0)
                .map_err(|error| DriverError::Silo { silo: at, source: error.into() })?;
            Ok(courier.reply(Leg::Records, &sums))
        };
        let replies = in_order(self.nodes.records(), self.sizes.iter().sum(), answer)?;
        let mut total = Aggregate::default();
        for reply in &replies {
            total.add_public(&courier.read(Leg::Records, Part::Reply, reply)?);
        }
        let n = total.records.max(1.0);
        Ok((total.loss / n, total.gradient.iter().map(|sum| sum / n).collect()))
    }
}

/// Encodes and decodes the messages of one round.
struct Courier<'a> {
    agreement: &'a Agreement,
    round: u32,
}

impl Courier<'_> {
    fn envelope(&self, leg: Leg, part: Part) -> Envelope {
        let Agreement { run, schema, .. } = *self.agreement;
        Envelope { run, schema, round: self.round, leg, part }
    }

    fn question(&self, leg: Leg, question: &Question) -> Vec<u8> {
        seal(&self.envelope(leg, Part::Question), question)
    }

    fn reply(&self, leg: Leg, reply: &impl crate::protocol::Encode) -> Vec<u8> {
        seal(&self.envelope(leg, Part::Reply), reply)
    }

    fn read<T: Decode>(&self, leg: Leg, part: Part, bytes: &[u8]) -> Result<T, CodecError> {
        let mut reader = open(&self.envelope(leg, part), bytes)?;
        let value = T::decode(&mut reader)?;
        reader.end()?;
        Ok(value)
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

fn colocated_round(
    agreement: &Agreement,
    sizes: &[usize],
    silos: &mut [Silo],
    round: u32,
    question: &Question,
) -> Result<Aggregate, DriverError> {
    let courier = Courier { agreement, round };
    // All silos get the same bytes, so that they are decoded once for all.
    let bytes = courier.question(Leg::Records, question);
    let question: Question = courier.read(Leg::Records, Part::Question, &bytes)?;
    let answer = |(at, silo): (usize, &mut Silo)| {
        let mut noise = source(agreement, at, round)?;
        let (public, private) = silo
            .answer(&question, round, &mut noise)
            .map_err(|source| DriverError::Silo { silo: at, source })?;
        Ok((courier.reply(Leg::Records, &public), courier.reply(Leg::Attributes, &private)))
    };
    let work = match question.batch {
        Batch::All => sizes.iter().sum(),
        Batch::Mini(size) => size as usize * sizes.len(),
        Batch::Block(count) => sizes.iter().sum::<usize>() / (count as usize).max(1),
    };
    let replies = in_order(silos.iter_mut().enumerate().collect(), work, answer)?;
    let mut total = Aggregate::default();
    for (public, private) in &replies {
        let public: PublicSums = courier.read(Leg::Records, Part::Reply, public)?;
        let private: PrivateSums = courier.read(Leg::Attributes, Part::Reply, private)?;
        total.add_public(&public);
        total.add_private(&private, public.held as f64, public.batch as f64);
    }
    Ok(total)
}

fn split_round(
    agreement: &Agreement,
    sizes: &[usize],
    records: &mut [RecordsDivision],
    attributes: &mut [AttributesDivision],
    round: u32,
    question: &Question,
) -> Result<Aggregate, DriverError> {
    let courier = Courier { agreement, round };
    let largest = sizes.iter().copied().max().unwrap_or(1);
    let answer = |(at, division): (usize, &mut RecordsDivision)| {
        // An attributes reply mixes the records of all silos, so every silo must announce the
        // same share of its records for the sum to be an estimate of the whole.
        let batch = match question.batch {
            Batch::All | Batch::Block(_) => question.batch,
            Batch::Mini(size) => {
                let own = size as usize * division.records().len() / largest;
                Batch::Mini(own.clamp(1, size as usize) as u32)
            }
        };
        let bytes = courier.question(Leg::Records, &Question { batch, ..question.clone() });
        let question: Question = courier.read(Leg::Records, Part::Question, &bytes)?;
        let (public, handover) = division
            .answer_and_hand_over(&question, round)
            .map_err(|error| DriverError::Silo { silo: at, source: error.into() })?;
        let handed = seal(&courier.envelope(Leg::Attributes, Part::Handover), &handover);
        Ok((courier.reply(Leg::Records, &public), handed))
    };
    let all = sizes.iter().sum();
    let replies = in_order(records.iter_mut().enumerate().collect(), all, answer)?;
    let bytes = courier.question(Leg::Attributes, question);
    let handovers: Vec<&[u8]> = replies.iter().map(|(_, handover)| &handover[..]).collect();
    let hold = |(at, division): (usize, &mut AttributesDivision)| {
        let at = sizes.len() + at;
        attributes_leg(&courier, division, &bytes, &handovers, at)
    };
    let sums = in_order(attributes.iter_mut().enumerate().collect(), all, hold)?;

    let mut total = Aggregate::default();
    let mut announced = 0.0;
    for (reply, _) in &replies {
        let public: PublicSums = courier.read(Leg::Records, Part::Reply, reply)?;
        announced += public.batch as f64;
        total.add_public(&public);
    }
    for reply in &sums {
        let private: PrivateSums = courier.read(Leg::Attributes, Part::Reply, reply)?;
        total.add_private(&private, all as f64, announced);
    }
    Ok(total)
}

/// What an attributes holder does in a round: it sums over the announced records it holds.
fn attributes_leg(
    courier: &Courier<'_>,
    division: &mut AttributesDivision,
    question: &[u8],
    handovers: &[&[u8]],
    at: usize,
) -> Result<Vec<u8>, DriverError> {
    let question: Question = courier.read(Leg::Attributes, Part::Question, question)?;
    let handovers = handovers
        .iter()
        .map(|bytes| courier.read(Leg::Attributes, Part::Handover, bytes))
        .collect::<Result<Vec<Handover>, CodecError>>()?;
    let mut noise = source(courier.agreement, at, courier.round)?;
    let released = division
        .answer(&question, &handovers, &mut noise)
        .map_err(|error| DriverError::Silo { silo: at, source: error.into() })?;
    Ok(courier.reply(Leg::Attributes, &released))
}
