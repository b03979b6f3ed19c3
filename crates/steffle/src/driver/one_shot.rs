//! A one-shot release over all nodes: what each sends, and what each silo makes of it.

use super::courier::Courier;
use super::{DriverError, Federation, Nodes, in_order, source};
use steffle_privacy::ledger::{Accounts, Claim};

use crate::division::attributes::{
    Asking, AttributesDivision, AttributesDivisionError, FeatureMessage, Released, Request, Terms,
};
use crate::division::records::{Imputed, RecordsDivision};
use crate::division::{Silo, SiloError, Who};
use crate::linear::Features;
use crate::noise::{NodeNoise, NoiseKind};
use crate::one_shot::decode::{Message, Moments, Rule, decode, linear, straight_memberships};
use crate::one_shot::{Capped, OneShotError, fits, mean_gram, rare_column};
use crate::protocol::{
    Agreed, Encode, FeatureReply, FeatureRows, FeatureSums, Leg, PooledSums, Writer,
};
use crate::train::OneShotTerms;

/// What silos share for a one-shot release beside their noisy sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pooling {
    /// Nothing: every silo has its own Gram matrix, cap and decode.
    Local,
    /// Gram matrix, cap, moments and messages.
    Pooled {
        /// The job declares that sums are added up under secure aggregation, so that no silo's
        /// matrix is seen by itself.
        secure_aggregation: bool,
    },
}

/// What a release left behind. With [`Pooling::Local`] each part of it belongs to one silo and
/// stays there; only this simulation holds all of them together.
#[derive(Debug)]
pub struct OneShot {
    kind: Option<NoiseKind>,
    pooling: Pooling,
    agreed: Option<Agreed>,
    /// Per records silo, or one for all that pool.
    messages: Vec<Message>,
    rules: Vec<Rule>,
    /// The pooled moments, where there are any.
    moments: Option<Moments>,
}

/// What a decode gives: messages, rules and, pooled, the moments.
type Parts = (Vec<Message>, Vec<Rule>, Option<Moments>);

impl OneShot {
    /// Where the noise came from; `None` is none at all.
    pub fn noise_kind(&self) -> Option<NoiseKind> {
        self.kind
    }

    /// What was pooled.
    pub fn pooling(&self) -> Pooling {
        self.pooling
    }

    /// Variance of the noise per whitened coordinate, of each message.
    pub fn variances(&self) -> impl Iterator<Item = f64> {
        self.messages.iter().map(|message| message.variance)
    }

    /// The rules that memberships come from: one per records silo, or one for all that pool.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    pub(super) fn messages(&self) -> &[Message] {
        &self.messages
    }

    pub(super) fn moments(&self) -> Option<&Moments> {
        self.moments.as_ref()
    }

    pub(super) fn agreed(&self) -> Option<&Agreed> {
        self.agreed.as_ref()
    }
}

impl Federation {
    /// Has every attributes division release the sums of its records' features by class, once,
    /// under `terms` or, where there are none, as they are; every records division then takes in the
    /// memberships that its release gives. Opens a run of its own. Refuses features that cannot be
    /// whitened, pooling that would show a record, and what a store does not accept.
    pub fn release_once(
        &mut self,
        pooling: Pooling,
        terms: Option<&OneShotTerms>,
    ) -> Result<OneShot, DriverError> {
        match terms {
            None => self.open_plainly()?,
            Some(terms) => {
                let (epsilon, delta) = (terms.epsilon().value(), terms.delta().value());
                let offer = self.offer(Claim::Gaussian, epsilon, delta, 1)?;
                self.open(offer, |_| (Terms::Exact(terms.share()), Accounts::One))?;
            }
        }
        let agreed = match pooling {
            Pooling::Local => None,
            Pooling::Pooled { secure_aggregation } => Some(self.agree(secure_aggregation)?),
        };
        let (sums, kind) = self.release_sums(agreed.as_ref())?;
        let (messages, rules, moments) = match &agreed {
            None => self.decode_each(&sums)?,
            Some(agreed) => self.decode_pooled(&sums, agreed)?,
        };
        Ok(OneShot { kind, pooling, agreed, messages, rules, moments })
    }

    /// The Gram matrix and cap of all silos together.
    fn agree(&mut self, secure_aggregation: bool) -> Result<Agreed, DriverError> {
        let sequence = self.next_trip();
        // The cap is agreed on by a second one.
        self.next_trip();
        let courier = Courier { agreement: &self.agreement, round: 0, sequence, claims: false };
        let all = self.sizes.iter().sum();
        let gram = |(at, division): (usize, &mut RecordsDivision)| {
            let features = features(division).map_err(|error| one_shot(at, error))?;
            if !secure_aggregation && let Some(rare) = rare_column(&features) {
                return Err(one_shot(at, rare));
            }
            let count = features.count() as f64;
            let mut gram = mean_gram(&features);
            gram.scale(count);
            let sums = PooledSums { numbers: vec![count], vectors: vec![], matrix: gram };
            Ok(courier.reply(Leg::Records, at, &sums))
        };
        let divisions = self.nodes.records();
        let pooled = add_up(&courier, &in_order(divisions, all, gram)?)?;
        let courier = Courier { sequence: sequence + 1, ..courier };
        let mut gram = pooled.matrix;
        gram.scale(1.0 / pooled.numbers[0].max(1.0));

        let cap = |(at, division): (usize, &mut RecordsDivision)| {
            let features = features(division).map_err(|error| one_shot(at, error))?;
            let (count, units) = (features.count() as f64, division.records().units());
            let capped = Capped::with_gram(features, gram.clone(), units, |own| own)
                .map_err(|error| one_shot(at, error))?;
            let sums = PooledSums::of(vec![count, count * capped.cap()]);
            Ok(courier.reply(Leg::Records, at, &sums))
        };
        let divisions = self.nodes.records();
        let pooled = add_up(&courier, &in_order(divisions, all, cap)?)?;
        Ok(Agreed { cap: pooled.numbers[1] / pooled.numbers[0].max(1.0), gram })
    }

    /// The only exchange that involves `s`: per records silo, the noisy sums of its features.
    fn release_sums(
        &mut self,
        agreed: Option<&Agreed>,
    ) -> Result<(Vec<FeatureSums>, Option<NoiseKind>), DriverError> {
        let (claims, sequence) = (self.claims(), self.next_trip());
        // From holders elsewhere the sums go on to the silos.
        if matches!(self.nodes, Nodes::Split { .. }) {
            self.next_trip();
        }
        let courier = Courier { agreement: &self.agreement, round: 0, sequence, claims };
        let all = self.sizes.iter().sum();
        match &mut self.nodes {
            Nodes::Silos(silos) => {
                // A silo's features, matrix and cap are its own, or agreed on.
                let request = courier.request(&[&courier.question(Leg::Attributes, &Ask(agreed))]);
                let release = |(at, silo): (usize, &mut Silo)| {
                    let (records, attributes) = silo.divisions();
                    let capped = capped(records, agreed).map_err(|error| one_shot(at, error))?;
                    let positions: Vec<u32> = (0..records.records().len() as u32).collect();
                    let who = Who::Positions(&positions);
                    let mut noise = source(courier.agreement, at, 0)?;
                    let released = attributes
                        .release_features(&[(&capped, who)], request, &mut noise)
                        .map_err(|error| refused(at, error))?;
                    sent(&courier, at, &released)
                };
                let replies = in_order(silos.iter_mut().enumerate().collect(), all, release)?;
                let kind = replies.first().and_then(|(_, kind)| *kind);
                Ok((replies.into_iter().flat_map(|(sums, _)| sums).collect(), kind))
            }
            Nodes::Split { records, attributes } => {
                let rows: Vec<Vec<u8>> = records
                    .iter()
                    .enumerate()
                    .map(|(at, division)| courier.handover(at, &feature_rows(division, agreed)))
                    .collect();
                let silos = records.len();
                let parts: Vec<&[u8]> = rows.iter().map(Vec::as_slice).collect();
                let request = courier.request(&parts);
                let answer =
                    |(at, holder): (usize, &mut AttributesDivision)| {
                        let at = silos + at;
                        let mut noise = source(courier.agreement, at, 0)?;
                        let rows = rows
                            .iter()
                            .enumerate()
                            .map(|(from, bytes)| courier.read_handover(from, bytes))
                            .collect::<Result<Vec<FeatureRows>, _>>()?;
                        let released = answer_features(holder, &rows, request, &mut noise)
                            .map_err(|error| match error {
                                HolderError::OneShot(error) => one_shot(at, error),
                                HolderError::Refused(error) => refused(at, error),
                            })?;
                        sent(&courier, at, &released)
                    };
                let holders = attributes.iter_mut().enumerate().collect();
                let replies = in_order(holders, all, answer)?;
                let kind = replies.first().and_then(|(_, kind)| *kind);
                let mut totals: Vec<FeatureSums> = Vec::new();
                for (own, _) in replies {
                    if totals.is_empty() {
                        totals = own;
                    } else {
                        totals.iter_mut().zip(&own).for_each(|(total, own)| total.add(own));
                    }
                }
                Ok((totals, kind))
            }
        }
    }

    /// Every silo decodes its own message.
    fn decode_each(&mut self, sums: &[FeatureSums]) -> Result<Parts, DriverError> {
        let all = self.sizes.iter().sum();
        let classes = self.agreement.objective.classes();
        let work = |(at, division): (usize, &mut RecordsDivision)| {
            let (message, decoded) = capped(division, None)
                .and_then(|capped| {
                    let message = capped.completed(&sums[at], classes);
                    let decoded = decode(&capped, &message)?;
                    Ok((message, decoded))
                })
                .map_err(|error| one_shot(at, error))?;
            take_in(at, division, classes, decoded.memberships)?;
            Ok((message, decoded.rule))
        };
        let (messages, rules) = in_order(self.nodes.records(), all, work)?.into_iter().unzip();
        Ok((messages, rules, None))
    }

    /// Silos send moments and messages; one linear rule comes back.
    fn decode_pooled(
        &mut self,
        sums: &[FeatureSums],
        agreed: &Agreed,
    ) -> Result<Parts, DriverError> {
        let sequence = self.next_trip();
        // The rule goes back to the silos.
        self.next_trip();
        let courier = Courier { agreement: &self.agreement, round: 0, sequence, claims: false };
        let all = self.sizes.iter().sum();
        let classes = self.agreement.objective.classes();
        let send = |(at, division): (usize, &mut RecordsDivision)| {
            let capped = capped(division, Some(agreed)).map_err(|error| one_shot(at, error))?;
            let message = capped.completed(&sums[at], classes);
            let Moments { records, total, gram, .. } = Moments::new(&capped);
            let vectors = [vec![total], message.sums].concat();
            let numbers = vec![records, message.variance];
            Ok(courier.reply(Leg::Records, at, &PooledSums { numbers, vectors, matrix: gram }))
        };
        let replies = in_order(self.nodes.records(), all, send)?;
        let mut pooled = add_up(&courier, &replies)?;
        let mut normal = agreed.gram.clone();
        normal.add_diagonal(crate::one_shot::GAMMA);
        let message = Message { sums: pooled.vectors.split_off(1), variance: pooled.numbers[1] };
        let total = pooled.vectors.swap_remove(0);
        let moments = Moments { records: pooled.numbers[0], normal, total, gram: pooled.matrix };
        let rule = linear(&moments, &message).map_err(|error| one_shot(0, error.into()))?;
        let work = |(at, division): (usize, &mut RecordsDivision)| {
            let capped = capped(division, Some(agreed)).map_err(|error| one_shot(at, error))?;
            let memberships = straight_memberships(&capped, &rule);
            take_in(at, division, classes, memberships)
        };
        in_order(self.nodes.records(), all, work)?;
        Ok((vec![message], vec![rule], Some(moments)))
    }
}

/// The features of a silo's records; refuses a notion without cells.
pub(super) fn features(division: &RecordsDivision) -> Result<Features<'_>, OneShotError> {
    let cells = division.objective().cells();
    if cells == 0 {
        return Err(OneShotError::NoCell);
    }
    let features = Features::by_cell(division.records().rows(), division.cells(), cells);
    fits(&features).map(|()| features)
}

/// Its features, capped by its own matrix or the agreed one.
pub(super) fn capped<'a>(
    division: &'a RecordsDivision,
    agreed: Option<&Agreed>,
) -> Result<Capped<'a>, OneShotError> {
    let features = features(division)?;
    let units = division.records().units();
    cap(features, units, agreed)
}

fn cap<'a>(
    features: Features<'a>,
    units: Option<&[u32]>,
    agreed: Option<&Agreed>,
) -> Result<Capped<'a>, OneShotError> {
    match agreed {
        None => Capped::new(features, units),
        Some(Agreed { gram, cap }) => Capped::with_gram(features, gram.clone(), units, |_| *cap),
    }
}

fn feature_rows(division: &RecordsDivision, agreed: Option<&Agreed>) -> FeatureRows {
    let records = division.records();
    FeatureRows {
        ids: records.ids().to_vec(),
        rows: records.rows().clone(),
        cells: division.objective().cells() as u16,
        cell_of: division.cells().to_vec(),
        agreed: agreed.cloned(),
    }
}

enum HolderError {
    OneShot(OneShotError),
    Refused(AttributesDivisionError),
}

/// What an attributes holder does with the rows of all records silos: it caps them as their silo
/// does and answers each, whether it holds all, one or none of the records.
fn answer_features(
    holder: &mut AttributesDivision,
    rows: &[FeatureRows],
    request: Request,
    noise: &mut NodeNoise,
) -> Result<Released<FeatureMessage>, HolderError> {
    let capped = rows
        .iter()
        .map(|silo| {
            let features = Features::by_cell(&silo.rows, &silo.cell_of, usize::from(silo.cells));
            let units = holder.units_of(&silo.ids).map_err(HolderError::Refused)?;
            cap(features, units.as_deref(), silo.agreed.as_ref()).map_err(HolderError::OneShot)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let silos: Vec<Asking<'_>> =
        capped.iter().zip(rows).map(|(capped, rows)| (capped, Who::Ids(&rows.ids, 0))).collect();
    holder.release_features(&silos, request, noise).map_err(HolderError::Refused)
}

/// What arrives of released sums.
fn sent(
    courier: &Courier<'_>,
    at: usize,
    released: &Released<FeatureMessage>,
) -> Result<(Vec<FeatureSums>, Option<NoiseKind>), DriverError> {
    let bytes = courier.reply(Leg::Attributes, at, released);
    let reply: FeatureReply = courier.read_reply(Leg::Attributes, at, &bytes)?;
    Ok((reply.silos, released.noise_kind()))
}

/// What a silo is asked for: the sums of its own features, by its own matrix and cap or by agreed ones.
struct Ask<'a>(Option<&'a Agreed>);

impl Encode for Ask<'_> {
    fn encode(&self, writer: &mut Writer) {
        writer.u8(u8::from(self.0.is_some()));
        self.0.iter().for_each(|agreed| agreed.encode(writer));
    }
}

fn add_up(courier: &Courier<'_>, replies: &[Vec<u8>]) -> Result<PooledSums, DriverError> {
    let mut total: Option<PooledSums> = None;
    for (at, reply) in replies.iter().enumerate() {
        let own: PooledSums = courier.read_reply(Leg::Records, at, reply)?;
        match &mut total {
            None => total = Some(own),
            Some(total) => total.add(&own)?,
        }
    }
    total.ok_or(DriverError::Empty)
}

fn take_in(
    at: usize,
    division: &mut RecordsDivision,
    classes: usize,
    memberships: Vec<f64>,
) -> Result<(), DriverError> {
    Imputed::new(classes, memberships)
        .and_then(|imputed| division.set_imputed(imputed))
        .map_err(|error| DriverError::Silo { silo: at, source: error.into() })
}

pub(super) fn one_shot(silo: usize, source: OneShotError) -> DriverError {
    DriverError::Silo { silo, source: SiloError::OneShot(source) }
}

fn refused(silo: usize, source: AttributesDivisionError) -> DriverError {
    DriverError::Silo { silo, source: source.into() }
}
