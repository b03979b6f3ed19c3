//! Theorem 3.3, measured. With constant step sizes and `T ~ epsilon n sqrt(N) / sqrt(d)` rounds on
//! full batches, the paper bounds `E |grad FERMI(theta_t)|^2` of a uniformly drawn iterate by a
//! constant times `sqrt(max(d, k l) ln(1/delta)) / (epsilon n sqrt(N))`, n records in each of N
//! silos. Here Algorithm 1 runs with the noise of Theorem 3.2 on generated data whose constants
//! (lengths of rows, smoothness, class shares) do not depend on n, N and d, so that slopes in
//! logarithms can be compared with the theorem's -1, -1, -1/2 and 1/2.

use std::ops::ControlFlow;

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use steffle_attributes::ClassRelease;
use steffle_attributes::noise::NoiseKind;
use steffle_attributes::{Attributes, AttributesError, Sensitive};
use steffle_model::fairness::Notion;
use steffle_model::model::{ModelError, ModelKind};
use steffle_model::randomness::{Purpose, stream};
use steffle_model::record::{Layout, Records, RecordsError, Rows, RowsError};
use steffle_model::scores::OutputScores;
use steffle_server::federation::{Agreement, Federation, RunKind};
use steffle_server::server::{Minimum, Output, Rates, Tolerance};
use steffle_server::train::{
    FairPath, Length, Mode, Paper, ScheduleError, Settings, TrainError, train,
};
use steffle_site::node::InProcess;
use steffle_wire::{RunId, SchemaHash};

/// The fairness weight.
pub const LAMBDA: f64 = 1.0;

/// delta; constant, so that `ln(1/delta)` is.
const DELTA: f64 = 1e-5;

/// Rounds per unit of `epsilon n sqrt(N) / sqrt(d)`. The theorem leaves the constant open.
const ROUNDS: f64 = 0.1;

/// Rows have length at most 1 (and 1 for the bias), so `|grad p| <= sqrt(2)/4` and the gradient of
/// both outputs together at most `sqrt(2)` times that.
const LIPSCHITZ: f64 = 0.5;

/// `|W*|` is `sqrt(2)` at parity: a ball of this diameter holds it.
const DIAMETER: f64 = 4.0;

/// One setting of the theorem.
///
/// Rounds, records and noise are what the theorem relates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Instance {
    /// Epsilon of the claim.
    pub epsilon: f64,
    /// n, the records of each silo.
    pub records: usize,
    /// Silos, N.
    pub silos: usize,
    /// d, the features.
    pub features: usize,
}

/// Why an instance could not be run.
///
/// The theorem asks for more than any table has.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TheoryError {
    /// Fewer than two features, no record or no silo.
    #[error("{0:?}: allowed are 2 features or more, 1 record and 1 silo or more")]
    Instance(Instance),
    /// An epsilon or delta that no budget can be.
    #[error(transparent)]
    Privacy(#[from] steffle_privacy::PrivacyError),
    /// Rows of the wrong shape.
    #[error(transparent)]
    Rows(#[from] RowsError),
    /// Records of the wrong shape.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// Attributes of the wrong shape.
    #[error(transparent)]
    Attributes(#[from] AttributesError),
    /// No such model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Settings that no run could do.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// Training failed.
    #[error(transparent)]
    Train(#[from] TrainError),
}

/// A slope in logarithms with its interval.
///
/// Theory says what it should be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slope {
    /// Least squares on the logarithms of the means.
    pub slope: f64,
    /// Its standard error: the jackknife's over seeds. Infinite for a single seed.
    pub standard_error: f64,
}

impl Instance {
    /// The middle of all axes.
    pub const MIDDLE: Self = Self { epsilon: 1.0, records: 2000, silos: 4, features: 20 };

    /// T by the theorem's rule.
    pub fn rounds(&self) -> u32 {
        let scale = self.epsilon * self.records as f64 * (self.silos as f64).sqrt();
        (ROUNDS * scale / (self.features as f64).sqrt()).round().max(1.0) as u32
    }

    /// `sqrt(max(d, k l) ln(1/delta)) / (epsilon n sqrt(N))`, the theorem's rate without its
    /// constant.
    pub fn rate(&self) -> f64 {
        let width = (self.features as f64).max(4.0) * (1.0 / DELTA).ln();
        width.sqrt() / (self.epsilon * self.records as f64 * (self.silos as f64).sqrt())
    }

    /// Runs Algorithm 1 and returns `|grad FERMI|^2` at the iterate that it returns.
    pub fn stationarity(&self, seed: u64) -> Result<f64, TheoryError> {
        let Self { epsilon, records, silos, features } = *self;
        if records == 0 || silos == 0 || features < 2 {
            return Err(TheoryError::Instance(*self));
        }
        let layout = Layout { numeric: features, categorical: 0, features };
        let notion = Notion::DemographicParity;
        let objective = OutputScores { notion, classes: 2, labels: 2, sharpness: 1.0 };
        let agreement = Agreement {
            run: RunId([0; 16]),
            schema: SchemaHash([0; 32]),
            columns: Vec::new(),
            layout,
            model: ModelKind::Logistic,
            scores: objective.into(),
            seed,
            noise: NoiseKind::Simulation,
            kind: RunKind::default(),
        };
        let nodes = (0..silos).map(|silo| generate(layout, records, seed, silo as u64));
        let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
        let mut federation =
            Federation::join(InProcess::silos(nodes), agreement).map_err(TrainError::from)?;
        let settings = Settings {
            lambda: LAMBDA,
            mode: Mode::Paper(Paper {
                epsilon: epsilon.try_into()?,
                delta: DELTA.try_into()?,
                clip: LIPSCHITZ,
                diameter: DIAMETER,
            }),
            length: Length::Rounds(self.rounds()),
            batch: None,
            // Constant step sizes, as the theorem has them: 1 / (2 P(u)) for W, and for theta one
            // that is stable for rows of length 1.
            rates: Rates { theta: 0.5, dual: 0.5, decay: 1.0 },
            output: Output::Random,
            ..Settings::of(Mode::None)
        };
        let plan = settings.check(federation.sizes())?;
        let start = vec![0.0; layout.weights()];
        let outcome =
            train(&plan, objective, &mut federation, start.into(), |_| ControlFlow::Continue(()))?;
        stationarity(&mut federation, objective, &outcome.theta)
    }
}

/// `|grad FERMI(theta)|^2` on the true classes with W maximised exactly: how far theta is from a
/// stationary point. It has every class revealed, so it is for generated data alone.
fn stationarity(
    federation: &mut Federation<InProcess>,
    objective: OutputScores,
    theta: &[f64],
) -> Result<f64, TheoryError> {
    federation.impute(ClassRelease::Revealed).map_err(TrainError::from)?;
    let here = Minimum::at(theta.to_vec());
    let tolerance = Tolerance { evaluations: 1, gradient: 0.0 };
    let mut path = FairPath::new(federation, objective, &here, 0.0, tolerance);
    Ok(path.gradient(LAMBDA, theta)?.iter().map(|slope| slope.powi(2)).sum())
}

/// The slope of `ln y` against `ln x`, `values` by point and seed. Standard error by leaving out
/// one seed at a time.
pub fn slope(axis: &[f64], values: &[Vec<f64>]) -> Slope {
    let seeds = values.iter().map(Vec::len).min().unwrap_or(0);
    let without = |left_out: Option<usize>| {
        let kept = |own: &Vec<f64>| {
            let rest = own.iter().enumerate().filter(|(seed, _)| Some(*seed) != left_out);
            let (sum, count) = rest.fold((0.0, 0.0), |(s, n), (_, value)| (s + value, n + 1.0));
            (sum / count).ln()
        };
        least_squares(axis, &values.iter().map(kept).collect::<Vec<_>>())
    };
    let slope = without(None);
    if seeds < 2 {
        return Slope { slope, standard_error: f64::INFINITY };
    }
    let others: Vec<f64> = (0..seeds).map(|seed| without(Some(seed))).collect();
    let count = seeds as f64;
    let mean = others.iter().sum::<f64>() / count;
    let squares: f64 = others.iter().map(|own| (own - mean).powi(2)).sum();
    Slope { slope, standard_error: (squares * (count - 1.0) / count).sqrt() }
}

/// Slope of `y` against `ln x`.
fn least_squares(axis: &[f64], y: &[f64]) -> f64 {
    let x: Vec<f64> = axis.iter().map(|value| value.ln()).collect();
    let count = x.len() as f64;
    let (mean_x, mean_y) = (x.iter().sum::<f64>() / count, y.iter().sum::<f64>() / count);
    let both: f64 = x.iter().zip(y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    both / x.iter().map(|x| (x - mean_x).powi(2)).sum::<f64>()
}

/// Two features of length 0.5 tell label and class; the others share a length of 0.5 at most,
/// however many they are.
fn generate(
    layout: Layout,
    records: usize,
    seed: u64,
    silo: u64,
) -> Result<(Records, Attributes), TheoryError> {
    let mut random = stream(seed, silo, Purpose::Split, layout.numeric as u64);
    let share = 0.5 / ((layout.numeric - 2).max(1) as f64).sqrt();
    let (mut numbers, mut labels, mut classes) = (vec![], vec![], vec![]);
    for _ in 0..records {
        let class = u16::from(random.next_u32() & 1 == 1);
        let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
        let side = f64::from(class) - 0.5;
        let told = [side + 0.5 * normal(), 0.7 * normal()].map(|x| 0.5 * x.clamp(-1.0, 1.0));
        let score = 4.0 * told[0] + 4.0 * told[1];
        numbers.extend(told.map(|x| x as f32));
        numbers.extend((2..layout.numeric).map(|_| (share * normal().clamp(-1.0, 1.0)) as f32));
        let likely = 1.0 / (1.0 + (-score).exp());
        labels.push(u16::from(f64::from(random.next_u32()) < likely * 2.0_f64.powi(32)));
        classes.push(class);
    }
    let ids: Vec<u64> = (0..records as u64).map(|id| silo << 32 | id).collect();
    let rows = Rows::new(layout, records, numbers, vec![])?;
    let attributes = Attributes::new(ids.clone(), Sensitive::new(classes), 2)?;
    Ok((Records::new(ids, rows, labels, None, 2)?, attributes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slope_worked_by_hand() {
        // y = 3 / x in both seeds: slope -1, and leaving a seed out changes nothing.
        let axis = [1.0, 2.0, 4.0];
        let values: Vec<Vec<f64>> = axis.iter().map(|x| vec![3.0 / x, 3.0 / x]).collect();
        let found = slope(&axis, &values);
        assert!((found.slope + 1.0).abs() < 1e-12 && found.standard_error < 1e-12);
        // One point off by a factor e: least squares on (0, ln 2, 2 ln 2) tilts by 1 / (2 ln 2).
        let off = [vec![3.0], vec![1.5], vec![0.75 * std::f64::consts::E]];
        let found = slope(&axis, &off);
        assert!((found.slope + 1.0 - 0.5 / 2.0_f64.ln()).abs() < 1e-12, "{}", found.slope);
        assert_eq!(found.standard_error, f64::INFINITY);
    }

    #[test]
    fn the_rule_and_the_rate_worked_by_hand() {
        let middle = Instance::MIDDLE;
        // 0.1 * 1 * 2000 * 2 / sqrt(20) = 89.4.
        assert_eq!(middle.rounds(), 89);
        // sqrt(20 * 11.5129) / (2000 * 2).
        assert!((middle.rate() - 15.174_26 / 4000.0).abs() < 1e-8, "{}", middle.rate());
        let dearer = Instance { epsilon: 2.0, ..middle };
        assert!((dearer.rate() * 2.0 - middle.rate()).abs() < 1e-15);
    }

    #[test]
    fn more_budget_comes_nearer_to_a_stationary_point() {
        // Means over 5 seeds differ by a factor of about 16 with a standard error below a third of
        // each: the order is wrong with a probability below 1e-6 per seed set, and it is fixed.
        let mean = |epsilon: f64| {
            let small = Instance { epsilon, records: 500, silos: 2, features: 5 };
            (0..5).map(|seed| small.stationarity(seed).unwrap()).sum::<f64>() / 5.0
        };
        let (little, much) = (mean(0.5), mean(8.0));
        assert!(much < little / 4.0, "{little} {much}");
    }
}
