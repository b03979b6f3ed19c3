//! Messages of honest runs, of every kind that a node can be asked, to be changed by others.

use std::ops::ControlFlow;

use steffle::fairness::Notion;
use steffle::federation::{
    Agreement, Federation, FederationError, Gathered, Pooling, Roster, RunKind,
};
use steffle::node::{InProcess, Node};
use steffle::protocol::{
    Batch, CellQuestion, ClassRelease, Form, ImputedQuestion, Lost, MaskTerms, NodeId, Opening,
    PassQuestion, Pull, PullCell, Question, RandomisedResponse, RowCap, RunId, SchemaHash, Scores,
    Share, Terms, Transport,
};
use steffle::server::Tolerance;
use steffle::train::{FitRule, OneShotTerms, erm};
use steffle_data::Schema;
use steffle_privacy::ledger::{Claim, NoiseKind, Offer};
use steffle_privacy::{
    Accountant, Event, Neighbours, NoiseShares, Poisson, Rounds, SampleRate, Sampling, calibrate,
    discrete,
};

use crate::world::{SITES, Setting};

/// What was sent to nodes together.
pub(crate) type Exchange = Vec<(NodeId, Vec<u8>)>;
/// All messages of a run.
pub(crate) type Conversation = Vec<Exchange>;

/// A transport that keeps every request.
struct Tapped {
    inner: InProcess,
    seen: Conversation,
}

impl Transport for Tapped {
    fn nodes(&self) -> usize {
        self.inner.nodes()
    }

    fn exchange(&mut self, requests: &[(NodeId, &[u8])]) -> Vec<Result<Vec<u8>, Lost>> {
        self.seen.push(requests.iter().map(|(node, bytes)| (*node, bytes.to_vec())).collect());
        self.inner.exchange(requests)
    }
}

/// The runs that are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Script {
    Losses,
    Rounds,
    Blocks,
    /// Rounds that every person pays for by what they cost them.
    Accounts,
    /// Rounds about secret batches.
    Poisson,
    OneShot,
    Pooled,
    Classes,
    Counts,
    SharedRounds,
}

impl Script {
    pub(crate) const ALL: [Self; 10] = [
        Self::Losses,
        Self::Rounds,
        Self::Blocks,
        Self::Accounts,
        Self::Poisson,
        Self::OneShot,
        Self::Pooled,
        Self::Classes,
        Self::Counts,
        Self::SharedRounds,
    ];

    /// Those that sites of a setting answer to the end.
    pub(crate) fn of(setting: Setting) -> Vec<Self> {
        let fits = |script: &Self| match script {
            Self::Pooled => setting.masked,
            // Rounds whose noise sites share are about records that are each their own person's.
            Self::SharedRounds => setting.masked && !setting.units,
            _ => true,
        };
        Self::ALL.into_iter().filter(fits).collect()
    }

    fn method(self) -> &'static str {
        match self {
            Self::Losses => "erm",
            Self::Rounds | Self::Blocks | Self::Accounts | Self::Poisson | Self::SharedRounds => {
                "steffle"
            }
            Self::OneShot | Self::Pooled => "one-shot",
            Self::Classes => "randomised-response",
            Self::Counts => "metrics",
        }
    }
}

/// What all nodes agree on in a run.
pub(crate) fn agreement(script: Script, schema: &Schema, run: u8, noise: NoiseKind) -> Agreement {
    let counts = script == Script::Counts;
    Agreement {
        run: RunId([run; 16]),
        schema: SchemaHash(schema.hash()),
        columns: serde_json::to_vec(schema).unwrap(),
        layout: schema.layout(),
        model: "logistic".parse().unwrap(),
        scores: Scores {
            name: Scores::OUTPUTS.to_owned(),
            notion: Notion::DemographicParity,
            classes: schema.classes().len(),
            labels: schema.labels().len(),
            sharpness: 1.0,
        },
        seed: 5,
        noise,
        kind: RunKind {
            method: script.method().to_owned(),
            mode: if script == Script::Poisson { "poisson" } else { "exact" }.to_owned(),
            notion: if counts { "equalized-odds" } else { "demographic-parity" }.to_owned(),
        },
    }
}

/// Records a run of these nodes from its first message to its last.
pub(crate) fn record(
    nodes: Vec<Node>,
    (setting, measures): (Setting, Vec<u8>),
    script: Script,
    agreement: Agreement,
) -> Conversation {
    let tapped = Tapped { inner: InProcess::new(nodes), seen: Vec::new() };
    let terms = MaskTerms { colluders: 1, noise: NoiseKind::Secure, shared: Some(1) };
    let roster = Roster { masked: setting.masked.then_some(terms), ..Roster::default() };
    let mut gathered = Gathered::new(tapped, agreement.run, roster).unwrap();
    if setting.masked {
        gathered.meet(measures).unwrap();
    }
    let mut federation = gathered.join(agreement).unwrap();
    play(&mut federation, script).unwrap_or_else(|error| panic!("{setting:?} {script:?}: {error}"));
    federation.into_transport().seen
}

/// Asks what the run is about.
pub(crate) fn play<T: Transport>(
    federation: &mut Federation<T>,
    script: Script,
) -> Result<(), FederationError> {
    let theta = vec![0.1; federation.model().parameters()];
    let once = OneShotTerms::new(1.0.try_into().unwrap(), 1e-6.try_into().unwrap()).unwrap();
    match script {
        Script::Losses => {
            federation.loss(&theta)?;
            let tolerance = Tolerance { evaluations: 4, gradient: 1e-3 };
            let go_on = |_, _| ControlFlow::Continue(());
            erm(federation, vec![0.0; theta.len()], FitRule::FewTrips, tolerance, go_on).unwrap();
        }
        Script::Accounts => {
            let offer = federation.offer(Claim::Gaussian, 1.0, 1e-6, 4)?;
            federation.open(offer, |offer| Opening { by_record: Some(1.5), ..exact(offer) })?;
            for round in 0..3 {
                federation.round(round, &question(&theta, f64::from(round), Batch::All))?;
            }
            federation.close()?;
        }
        Script::Rounds => {
            let offer = federation.offer(Claim::Gaussian, 1.0, 1e-6, 4)?;
            let open = |offer| Opening { cap: Some(0.5), shaped: true, ..exact(offer) };
            federation.open(offer, open)?;
            for round in 0..3 {
                federation.round(round, &question(&theta, f64::from(round), Batch::All))?;
            }
            federation.close()?;
        }
        Script::Blocks => {
            let offer = federation.offer(Claim::Gaussian, 1.0, 1e-6, 4)?;
            federation.open(offer, |offer| Opening { blocks: Some(2), ..exact(offer) })?;
            for round in 1..3 {
                federation.round(round, &question(&theta, f64::from(round), Batch::Block(2)))?;
            }
            federation.close()?;
        }
        Script::Poisson => sampled(federation, &theta)?,
        Script::OneShot | Script::Pooled => {
            let pooling = match script {
                Script::OneShot => Pooling::Local,
                _ => Pooling::Pooled { secure_aggregation: true, shares: None },
            };
            let release = federation.release_once(pooling, Some(&once))?;
            federation.estimate_gap_after(&release, &vec![0.0; theta.len()], &theta)?;
            federation.ask_imputed(&ImputedQuestion { theta: theta.clone() })?;
            passes(federation, &theta)?;
        }
        Script::Classes => {
            let response = RandomisedResponse::new(0.5.try_into().unwrap(), 2).unwrap();
            federation.impute(ClassRelease::Randomised(response))?;
            federation.ask_imputed(&ImputedQuestion { theta: theta.clone() })?;
            passes(federation, &theta)?;
        }
        Script::Counts => {
            federation.count(&[theta.clone(), vec![-0.3; theta.len()]], Some(&once))?;
        }
        Script::SharedRounds => {
            let shares = NoiseShares::new(SITES as u32, 1).unwrap();
            let offer = federation.offer(Claim::Shared(shares), 1.0, 1e-6, 4)?;
            federation.open(offer, exact)?;
            let half = RowCap::quantile(0.5).unwrap();
            let start = vec![0.0; theta.len()];
            federation.share_rounds(shares, (SHARE.round, SHARE.table), (&start, half, true))?;
            for round in 0..2 {
                let mut asked = question(&theta, f64::from(round), Batch::All);
                if round == 0 {
                    asked.cells.iter_mut().for_each(|cell| cell.combinations.fill(0.0));
                }
                federation.round(round, &asked)?;
            }
            federation.close()?;
        }
    }
    Ok(())
}

/// The census and two rounds about secret batches of half of the records.
fn sampled<T: Transport>(
    federation: &mut Federation<T>,
    theta: &[f64],
) -> Result<(), FederationError> {
    const ROUNDS: u32 = 2;
    let rate = SampleRate::try_from(0.5).unwrap();
    let event = Event {
        sampling: Sampling::Poisson(rate),
        neighbours: Neighbours::ReplaceCentred,
        noise_multiplier: 1.0.try_into().unwrap(),
        rounds: Rounds::try_from(u64::from(ROUNDS) + 1).unwrap(),
    };
    let (epsilon, delta) =
        discrete::reduced(1.0.try_into().unwrap(), 1e-6.try_into().unwrap()).unwrap();
    let found = calibrate::noise_multiplier(Accountant::Pld, event, epsilon, delta).unwrap();
    let noise_multiplier = found.noise_multiplier;
    let claim = Claim::Sampled(event.with_noise(noise_multiplier));
    let offer = federation.offer(claim, 1.0, 1e-6, ROUNDS + 1)?;
    let terms = Terms::Poisson { sampler: Poisson(rate), noise_multiplier, table: SHARE.table };
    federation.open(offer, |offer| Opening { terms, ..Opening::plain(offer) })?;
    for round in 0..=ROUNDS {
        let mut asked = question(theta, f64::from(round), Batch::All);
        if round == 0 {
            asked.cells.iter_mut().for_each(|cell| cell.combinations.fill(0.0));
        }
        federation.round(round, &asked)?;
    }
    federation.close()?;
    Ok(())
}

const SHARE: Share = Share { round: 0.002, table: 0.15 };

/// An offer whose rounds are priced exactly.
fn exact(offer: Offer) -> Opening {
    Opening { terms: Terms::Exact(SHARE), ..Opening::plain(offer) }
}

fn passes<T: Transport>(
    federation: &mut Federation<T>,
    theta: &[f64],
) -> Result<(), FederationError> {
    let look = PassQuestion::Look { theta: theta.to_vec(), imputed: true };
    let seen = federation.ask_pass(&look)?;
    let cell = |(count, table): &(f64, Vec<f64>)| PullCell {
        count: *count,
        floor: 0.01,
        table: table.clone(),
    };
    let pull = Some(Pull { strength: 2.0, cells: seen.cells.iter().map(cell).collect() });
    let theta = theta.to_vec();
    federation.ask_pass(&PassQuestion::Walk { theta, trip: 3, step: 0.01, decay: 1e-4, pull })?;
    Ok(())
}

/// A question about two classes and the scores of two labels.
fn question(theta: &[f64], more: f64, batch: Batch) -> Question {
    let cell =
        CellQuestion { combinations: vec![0.5, 0.25, -0.5, 1.0 + more], quadratic: vec![0.0; 2] };
    Question { theta: theta.to_vec(), cells: vec![cell], form: Form::Centred, batch, loss: true }
}
