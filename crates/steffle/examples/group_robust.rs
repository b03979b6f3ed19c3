//! Another min-max problem on the same engine: a classifier that is good for its worst group.
//!
//! `min_theta max_w  sum_r w_r L_r(theta) - (mu/2) |w - 1/k|^2` over the simplex, `L_r` the mean
//! loss of class r. The scores of a record are `phi = (1, loss)`: their class sums are the class
//! counts and the class losses, which is all the server needs; a silo sends nothing else about `s`.
//!
//! Run it: `cargo run --release -p steffle --example group_robust`

use std::sync::Arc;

use rand::Rng;
use steffle::attributes::{Attributes, Sensitive};
use steffle::division::{Objective, ScoreBounds, ScoreTable};
use steffle::fairness::Notion;
use steffle::federation::{Agreement, Federation, RunKind};
use steffle::model::{Classifier, ModelKind, Pass, head};
use steffle::node::InProcess;
use steffle::noise::NoiseKind;
use steffle::protocol::{Batch, CellQuestion, Form, Question, RunId, SchemaHash, Scores};
use steffle::randomness::{Purpose, stream};
use steffle::record::{Layout, Records, Rows};
use steffle::server::{Aggregate, DescentAscent, Problem, Rates, Steps};

/// What the scores are called in an agreement.
const GROUP_LOSSES: &str = "group-losses";

/// What nodes make of the name.
fn scores(scores: &Scores) -> Option<Arc<dyn Objective>> {
    let own = GroupLosses { classes: scores.classes };
    (scores.name == GROUP_LOSSES).then(|| Arc::new(own) as Arc<dyn Objective>)
}

/// The silo's side: `phi = (1, loss)`.
struct GroupLosses {
    classes: usize,
}

impl Objective for GroupLosses {
    fn classes(&self) -> usize {
        self.classes
    }

    fn columns(&self) -> usize {
        2
    }

    fn cells(&self) -> usize {
        1
    }

    fn cell(&self, _label: u16, _stratum: u16) -> Option<usize> {
        Some(0)
    }

    /// A loss has no bound; parameters that make one larger than this are refused in private runs.
    fn bounds(&self) -> ScoreBounds {
        ScoreBounds { score: 1024.0, slope: 1.0 }
    }

    fn score(
        &self,
        model: &dyn Classifier,
        pass: &mut Pass,
        labels: &[u16],
        scores: &mut ScoreTable,
    ) {
        let logits = model.logits();
        scores.values.clear();
        scores.values.extend(head::losses(&pass.logits, labels, logits).flat_map(|l| [1.0, l]));
        let mut slopes = Vec::new();
        head::loss_slopes(&pass.probabilities, labels, logits, &mut slopes);
        scores.slopes.clear();
        scores.slopes.extend(slopes.iter().flat_map(|slope| [0.0, *slope]));
    }
}

/// The server's side.
struct GroupRobust {
    mu: f64,
    weights: Vec<f64>,
    counts: Vec<f64>,
}

impl GroupRobust {
    fn losses(&self, answers: &Aggregate) -> Vec<f64> {
        let table = answers.cells[0].table();
        let rows = table.chunks_exact(2).zip(&self.counts);
        rows.map(|(row, count)| row[1] / count.max(1.0)).collect()
    }
}

impl Problem for GroupRobust {
    fn begin(&mut self, census: &Aggregate) {
        self.counts = census.cells[0].table().chunks_exact(2).map(|row| row[0]).collect();
        self.weights = vec![1.0 / self.counts.len() as f64; self.counts.len()];
    }

    fn form(&self) -> Form {
        Form::Centred
    }

    /// The gradient is `J' (2 C_s - q)` with `2 C_s = (0, w_s / n_s)` and `q = 0`.
    fn ask(&self) -> Vec<CellQuestion> {
        let rows = self.weights.iter().zip(&self.counts);
        let combinations = rows.flat_map(|(w, n)| [0.0, w / n.max(1.0) / 2.0]).collect();
        vec![CellQuestion { combinations, quadratic: vec![0.0; 2] }]
    }

    /// The class losses are the whole objective; the plain loss gradient is not used.
    fn theta_gradient(&self, _theta: &[f64], answers: &Aggregate) -> Vec<f64> {
        let cell = &answers.cells[0];
        cell.public.iter().zip(&cell.private).map(|(public, h)| public + 2.0 * h).collect()
    }

    fn dual_gradient(&self, answers: &Aggregate) -> Vec<f64> {
        let even = 1.0 / self.weights.len() as f64;
        let losses = self.losses(answers);
        losses.iter().zip(&self.weights).map(|(l, w)| l - self.mu * (w - even)).collect()
    }

    fn dual(&self) -> Vec<f64> {
        self.weights.clone()
    }

    /// Projects on the simplex (Held, Wolfe & Crowder 1974).
    fn set_dual(&mut self, dual: &[f64]) {
        let mut sorted = dual.to_vec();
        sorted.sort_unstable_by(|a, b| b.total_cmp(a));
        let mut sum = 0.0;
        let mut shift = 0.0;
        for (rank, value) in sorted.iter().enumerate() {
            sum += value;
            let candidate = (sum - 1.0) / (rank as f64 + 1.0);
            if value > &candidate {
                shift = candidate;
            }
        }
        self.weights = dual.iter().map(|value| (value - shift).max(0.0)).collect();
    }

    fn violation(&self, answers: &Aggregate) -> f64 {
        let losses = self.losses(answers);
        let worst = losses.iter().copied().fold(f64::MIN, f64::max);
        worst - losses.iter().copied().fold(f64::MAX, f64::min)
    }
}

/// A large group whose label follows the first feature and a small one that goes the other way.
fn silo(seed: u64, first: u64) -> Result<(Records, Attributes), Box<dyn std::error::Error>> {
    let n = 2000;
    let layout = Layout { numeric: 2, categorical: 0, features: 2 };
    let mut random = stream(seed, first, Purpose::Split, 0);
    let mut unit = || f64::from(random.next_u32()) / 2.0_f64.powi(32);
    let (mut numeric, mut labels, mut classes) = (vec![], vec![], vec![]);
    for _ in 0..n {
        let class = u16::from(unit() < 0.1);
        let (x, z) = (2.0 * unit() - 1.0, 2.0 * unit() - 1.0);
        let signal = if class == 0 { 4.0 * x + z } else { z - x };
        labels.push(u16::from(unit() < 1.0 / (1.0 + (-2.0 * signal).exp())));
        classes.push(class);
        numeric.extend([x as f32, z as f32]);
    }
    let ids: Vec<u64> = (first..first + n).collect();
    let rows = Rows::new(layout, n as usize, numeric, vec![])?;
    let records = Records::new(ids.clone(), rows, labels, None, 2)?;
    Ok((records, Attributes::new(ids, Sensitive::new(classes), 2)?))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let layout = Layout { numeric: 2, categorical: 0, features: 2 };
    let agreement = Agreement {
        run: RunId([0; 16]),
        schema: SchemaHash([0; 32]),
        columns: Vec::new(),
        layout,
        model: ModelKind::Logistic,
        scores: Scores {
            name: GROUP_LOSSES.to_owned(),
            notion: Notion::DemographicParity,
            classes: 2,
            labels: 2,
            sharpness: 1.0,
        },
        seed: 1,
        noise: NoiseKind::Simulation,
        kind: RunKind::default(),
    };
    let nodes = InProcess::silos([silo(1, 0)?, silo(1, 10_000)?]).each(|node| node.scoring(scores));
    let mut federation = Federation::join(nodes, agreement)?;
    federation.open_plainly()?;
    let zero = CellQuestion { combinations: vec![0.0; 4], quadratic: vec![0.0; 2] };
    let census = federation.round(
        0,
        &Question {
            theta: vec![0.0; 3],
            cells: vec![zero],
            form: Form::Centred,
            batch: Batch::All,
            loss: false,
        },
    )?;
    let problem = GroupRobust { mu: 0.5, weights: vec![], counts: vec![] };
    let rates = Rates { theta: 0.5, dual: 0.1, decay: 1.0 };
    let mut server = DescentAscent::new(problem, vec![0.0; 3], rates, 500, &census);
    println!("a simulation without noise: no privacy is claimed");
    for round in 1..=500 {
        let answers = federation.round(round, &server.ask(Batch::All))?;
        if round == 1 || round % 100 == 0 {
            let losses = server.problem().losses(&answers);
            let weights = server.problem().dual();
            println!("round {round:3}  class losses {losses:.3?}  class weights {weights:.3?}");
        }
        server.learn(round, &answers);
    }
    Ok(())
}
