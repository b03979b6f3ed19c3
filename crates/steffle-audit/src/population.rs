//! The people of an audit: generated, the same in both worlds but for one class.

use steffle_attributes::{Attributes, Sensitive};
use steffle_model::fairness::NotionName;
use steffle_model::model::ModelKind;
use steffle_model::record::{Layout, Records, Rows};
use steffle_model::scores::OutputScores;
use steffle_privacy::ledger::NoiseKind;
use steffle_server::federation::{Agreement, Federation, RunKind};
use steffle_site::node::{Encoded, Node, everybody};
use steffle_wire::{RunId, SchemaHash};

use crate::tap::Tapped;
use crate::{AuditError, Noise, World};

/// Records whose last one is the canary: the worlds differ in its class, and no other row is as
/// long.
#[derive(Debug, Clone)]
pub(crate) struct Population {
    records: Records,
    classes: Vec<u16>,
    pub(crate) objective: OutputScores,
    /// What runs call themselves.
    kind: RunKind,
}

/// Numeric columns.
const NUMERIC: usize = 3;

/// Labels, l.
const LABELS: usize = 2;

/// Of the canary; no other number is above 1.
const FAR: f32 = 2.0;

const LAYOUT: Layout = Layout { numeric: NUMERIC, categorical: 0, features: NUMERIC };

impl Population {
    /// `count` people of `k` classes. Features, labels and classes depend on each other, so that an
    /// honest server has something to learn.
    pub(crate) fn new(
        count: usize,
        k: usize,
        notion: &NotionName,
        method: &str,
    ) -> Result<Self, AuditError> {
        if !(2..=64).contains(&k) {
            return Err(AuditError::Classes(k));
        }
        if matches!(notion, NotionName::None | NotionName::Conditional(_)) {
            return Err(AuditError::Notion(notion.to_string()));
        }
        // Fractions of multiples of irrational numbers fill the cube evenly, without a seed.
        let fraction = |at: usize, step: f64| (((at + 1) as f64 * step).fract() * 2.0 - 1.0) as f32;
        let steps = [2.0_f64.sqrt(), 3.0_f64.sqrt(), 5.0_f64.sqrt()];
        let row = |at: usize| match at + 1 {
            last if last == count => [FAR; NUMERIC],
            _ => steps.map(|step| fraction(at, step)),
        };
        let rows: Vec<[f32; NUMERIC]> = (0..count).map(row).collect();
        let labels = rows.iter().map(|[x, y, _]| u16::from(x + y > 0.0)).collect();
        let class = |(at, [x, ..]): (usize, &[f32; NUMERIC])| {
            (((fraction(at, 7.0_f64.sqrt()) + x) / 4.0 + 0.5) * k as f32) as u16 % k as u16
        };
        let classes = rows.iter().enumerate().map(class).collect();
        let numeric = rows.iter().flatten().copied().collect();
        let wrong = |error: &dyn std::fmt::Display| AuditError::Population(error.to_string());
        let rows = Rows::new(LAYOUT, count, numeric, Vec::new()).map_err(|error| wrong(&error))?;
        let ids = (0..count as u64).collect();
        let records = Records::new(ids, rows, labels, None, LABELS).map_err(|e| wrong(&e))?;
        let (method, mode) = (method.to_owned(), "exact".to_owned());
        let kind = RunKind { method, mode, notion: notion.to_string() };
        let notion = notion.resolve(LABELS, 1, 1);
        let objective = OutputScores { notion, classes: k, labels: LABELS, sharpness: 1.0 };
        Ok(Self { records, classes, objective, kind })
    }

    /// The canary's id.
    pub(crate) fn canary(&self) -> u64 {
        self.records.len() as u64 - 1
    }

    /// The parameters at which all outputs are alike.
    pub(crate) fn start() -> Vec<f64> {
        vec![0.0; LAYOUT.weights()]
    }

    /// People.
    pub(crate) fn count(&self) -> usize {
        self.records.len()
    }

    /// A run of one silo with both divisions.
    pub(crate) fn silo(
        &self,
        world: World,
        noise: Noise,
    ) -> Result<Federation<Tapped>, AuditError> {
        let held = Encoded::new(Some(self.records.clone()), Some(self.attributes(world)?));
        self.federation(vec![Node::new(held)], noise)
    }

    /// A run of several silos with both divisions, the canary in the first: the others hold people
    /// with the same rows, none of whom is the canary. Somebody adds up what they send, as under masks.
    pub(crate) fn silos(
        &self,
        world: World,
        noise: Noise,
        count: u32,
    ) -> Result<Federation<Tapped>, AuditError> {
        let wrong = |error: &dyn std::fmt::Display| AuditError::Population(error.to_string());
        let node = |place: u64| {
            let ids: Vec<u64> = self
                .records
                .ids()
                .iter()
                .map(|id| id + place * self.records.len() as u64)
                .collect();
            let (rows, labels) = (self.records.rows().clone(), self.records.labels().to_vec());
            let records = Records::new(ids.clone(), rows, labels, None, LABELS);
            let world = if place == 0 { world } else { World::Zero };
            let classes = Sensitive::new(self.classes_in(world));
            let attributes = Attributes::new(ids, classes, self.objective.classes);
            let records = records.map_err(|error| wrong(&error))?;
            let attributes = attributes.map_err(|error| wrong(&error))?;
            let held = Encoded::new(Some(records), Some(attributes));
            Ok(Node::new(held).read_in_totals_by_an_audit())
        };
        let nodes = (0..u64::from(count)).map(node).collect::<Result<_, AuditError>>()?;
        self.federation(nodes, noise)
    }

    /// A run whose attributes are held elsewhere: what is released about them leaves their node.
    pub(crate) fn split(
        &self,
        world: World,
        noise: Noise,
    ) -> Result<Federation<Tapped>, AuditError> {
        let records = Node::new(Encoded::new(Some(self.records.clone()), None));
        let people = everybody([&self.records]);
        let holder = Node::new(Encoded::holder(self.attributes(world)?, people));
        self.federation(vec![records, holder], noise)
    }

    fn attributes(&self, world: World) -> Result<Attributes, AuditError> {
        let classes = Sensitive::new(self.classes_in(world));
        Attributes::new(self.records.ids().to_vec(), classes, self.objective.classes)
            .map_err(|error| AuditError::Population(error.to_string()))
    }

    fn classes_in(&self, world: World) -> Vec<u16> {
        let mut classes = self.classes.clone();
        if let Some(canary) = classes.last_mut() {
            *canary = world.index() as u16;
        }
        classes
    }

    fn federation(&self, nodes: Vec<Node>, noise: Noise) -> Result<Federation<Tapped>, AuditError> {
        let (seed, kind) = match noise {
            Noise::Secure => (0, NoiseKind::Secure),
            Noise::Seeded(seed) => (seed, NoiseKind::Simulation),
        };
        let agreement = Agreement {
            run: RunId([1; 16]),
            schema: SchemaHash([0; 32]),
            columns: Vec::new(),
            layout: LAYOUT,
            model: ModelKind::Logistic,
            scores: self.objective.into(),
            seed,
            noise: kind,
            kind: self.kind.clone(),
        };
        Ok(Federation::join(Tapped::new(nodes), agreement)?)
    }
}
