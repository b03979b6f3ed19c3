//! Small stores, questions about them and noise that is silent: what the tests of this folder share.

use std::sync::Arc;

use rand::Rng;
use steffle_model::fairness::Notion;
use steffle_model::linear::Whitening;
use steffle_model::model::ModelKind;
use steffle_model::randomness::{Purpose, stream};
use steffle_model::scores::OutputScores;
use steffle_privacy::ledger::{Accounts, CheckedOffer, Claim, Cost};
use steffle_privacy::{Event, Neighbours, NoiseMultiplier, Poisson, Sampling};
use steffle_wire::{Batch, CellQuestion, Form, PrivateSums, Question};

use crate::division::Silo;
use crate::division::records::{RecordsDivision, RowCap};
pub(super) use steffle_attributes::attack::{Exact, Silence, offer, request};
use steffle_attributes::{Attributes, AttributesDivision, Sensitive, Share, Terms};
use steffle_model::record::{Layout, MISSING_CLASS, Records, Rows};

/// One configuration of records, model, notion and terms.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) records: usize,
    pub(super) classes: usize,
    pub(super) labels: usize,
    pub(super) model: &'static str,
    pub(super) notion: Notion,
    pub(super) cap: Option<f64>,
    pub(super) shaped: bool,
    pub(super) units: Option<Vec<u32>>,
    pub(super) terms: Terms,
    pub(super) batch: Batch,
    pub(super) seed: u64,
}

pub(super) const LAYOUT: Layout = Layout { numeric: 3, categorical: 1, features: 21 };

pub(super) const EXACT: Terms = Terms::Exact(Share { round: 0.05, table: Share::TABLE });

impl Case {
    pub(super) fn base() -> Self {
        Self {
            records: 5,
            classes: 2,
            labels: 2,
            model: "logistic",
            notion: Notion::DemographicParity,
            cap: None,
            shaped: false,
            units: None,
            terms: EXACT,
            batch: Batch::All,
            seed: 1,
        }
    }

    pub(super) fn poisson() -> Terms {
        Terms::Poisson {
            sampler: Poisson(1.0.try_into().unwrap()),
            noise_multiplier: NoiseMultiplier::try_from(3.0).unwrap(),
            table: Share::TABLE,
        }
    }

    pub(super) fn rows(&self) -> Rows {
        let mut random = stream(self.seed, 0, Purpose::Split, 0);
        let mut unit = || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let n = self.records;
        let numeric = (0..3 * n).map(|_| (6.0 * unit() - 3.0) as f32).collect();
        let codes = (0..n).map(|_| 3 + (unit() * 18.0) as u32).collect();
        Rows::new(LAYOUT, n, numeric, codes).unwrap()
    }

    pub(super) fn of_rows(&self, rows: Rows) -> RecordsDivision {
        let Self { notion, classes, labels, records: n, .. } = *self;
        let objective = Arc::new(OutputScores { notion, classes, labels, sharpness: 1.0 });
        let kind: ModelKind = self.model.parse().unwrap();
        let model = Arc::from(kind.build(LAYOUT, labels).unwrap());
        let own: Vec<u16> = (0..n).map(|i| (i % labels) as u16).collect();
        let ids = (100..100 + n as u64).collect();
        let records = Records::new(ids, rows, own, None, labels).unwrap();
        let records = match &self.units {
            Some(units) => records.with_units(units).unwrap(),
            None => records,
        };
        RecordsDivision::new(records, objective, model, 1, 1).unwrap()
    }

    pub(super) fn division(&self) -> RecordsDivision {
        self.of_rows(self.rows())
    }

    pub(super) fn row_cap(&self) -> RowCap {
        self.cap.map_or(RowCap::NONE, |share| RowCap::quantile(share).unwrap())
    }

    /// With caps and shape, chosen at theta = 0.
    pub(super) fn protected(&self) -> RecordsDivision {
        let mut division = self.division();
        let start = vec![0.0; division.model().parameters()];
        division.protect(&start, self.row_cap(), self.shaped).unwrap();
        division
    }

    pub(super) fn attributes(&self, store: &[u16]) -> Attributes {
        let ids = (100..100 + self.records as u64).collect();
        Attributes::new(ids, Sensitive::new(store.to_vec()), self.classes).unwrap()
    }

    pub(super) fn unit_of(&self) -> Vec<u32> {
        self.units.clone().unwrap_or_else(|| (0..self.records as u32).collect())
    }

    /// An offer that covers a few replies.
    pub(super) fn offer(&self) -> CheckedOffer {
        let Terms::Poisson { sampler, noise_multiplier, .. } = &self.terms else {
            return offer(Claim::Gaussian, 60.0, 1e-6);
        };
        let event = Event {
            sampling: Sampling::Poisson(sampler.0),
            neighbours: Neighbours::Replace,
            noise_multiplier: *noise_multiplier,
            rounds: 10.try_into().unwrap(),
        };
        offer(Claim::Sampled(event), 60.0, 1e-6)
    }

    pub(super) fn accounts(&self) -> Accounts {
        match self.batch {
            Batch::Block(count) => Accounts::Blocks(count),
            _ => Accounts::One,
        }
    }

    pub(super) fn open(&self, division: &mut AttributesDivision, offer: &CheckedOffer) {
        division.open(offer, self.terms.clone(), self.accounts()).unwrap();
    }

    pub(super) fn question(&self) -> Question {
        let parameters = self.division().model().parameters();
        let mut random = stream(self.seed, 1, Purpose::Split, 0);
        let mut number = |reach: f64| {
            reach * (2.0 * (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 - 1.0)
        };
        let theta = (0..parameters).map(|_| number(0.5)).collect();
        let cell = |number: &mut dyn FnMut(f64) -> f64| CellQuestion {
            combinations: (0..self.classes * self.labels).map(|_| number(2.0)).collect(),
            quadratic: (0..self.labels).map(|_| number(2.0)).collect(),
        };
        let cells = (0..self.notion.cells()).map(|_| cell(&mut number)).collect();
        Question { theta, cells, form: Form::Centred, batch: self.batch, loss: false }
    }

    /// Every store: each unit has one of the classes or none.
    pub(super) fn stores(&self) -> Vec<Vec<u16>> {
        let units = self.unit_of();
        let count = units.iter().max().unwrap() + 1;
        let values = self.classes as u32 + 1;
        let class = |code: u32, unit: u32| match (code / values.pow(unit)) % values {
            missing if missing == values - 1 => MISSING_CLASS,
            class => class as u16,
        };
        (0..values.pow(count))
            .map(|code| units.iter().map(|&unit| class(code, unit)).collect())
            .collect()
    }

    /// What the last reply was priced at, mu^2.
    pub(super) fn priced(division: &AttributesDivision) -> f64 {
        match division.receipts().last().unwrap().cost {
            Cost::Gaussian { squared, .. } | Cost::Planned { squared, .. } => squared,
            Cost::Free => 0.0,
            other => panic!("{other:?}"),
        }
    }

    /// A silo of these records and this store.
    pub(super) fn silo(&self, records: RecordsDivision, store: &[u16]) -> Silo {
        Silo::new(records, self.attributes(store)).unwrap()
    }
}

/// The two messages in the coordinates in which noise is added, each divided by its deviation. The
/// reply states the deviations.
pub(super) fn in_units_of_noise(
    sums: &PrivateSums,
    classes: usize,
    whitening: Option<&Whitening>,
) -> Vec<f64> {
    let mut all = Vec::new();
    let theta_deviation = sums.theta_deviation / whitening.map_or(1.0, Whitening::grid);
    for theta in sums.thetas.iter().filter(|_| theta_deviation > 0.0) {
        let outputs = whitening.map_or(1, |whitening| theta.len() / whitening.size());
        for output in 0..outputs {
            let mut column: Vec<f64> =
                theta.iter().skip(output).step_by(outputs).copied().collect();
            if let Some(whitening) = whitening {
                whitening.whiten(&mut column);
            }
            all.extend(column.iter().map(|value| value / theta_deviation));
        }
    }
    // The stated deviation is that of a projected entry, in units of 1/k.
    let k = classes as f64;
    let projected = if classes == 2 { 1.0 } else { ((k - 1.0) / k).sqrt() };
    let table_deviation = sums.table_deviation / projected;
    for table in sums.tables.iter().filter(|_| table_deviation > 0.0) {
        let sent = if classes == 2 { &table[table.len() / 2..] } else { &table[..] };
        all.extend(sent.iter().map(|value| value / table_deviation));
    }
    all
}

/// The squared distance of two replies.
pub(super) fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}
