//! One release, then training: identities, the gap it tells, and where it stops working.

use rand::RngExt;
use rand_distr::{Distribution, StandardNormal};
use steffle_model::metrics::decide;
use steffle_privacy::NoiseShares;
use steffle_site::node::InProcess;
use steffle_wire::ClassRelease;

use super::*;
use crate::federation::{FederationError, Pooling};
use crate::server::Minimum;

const TOLERANCE: Tolerance = Tolerance { evaluations: 500, gradient: 1e-6 };

fn keep_on(_: u32, _: f64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

pub(super) fn public(federation: &mut Federation<InProcess>) -> Minimum {
    let model = federation.model().clone();
    let start = model.initial(&mut stream(5, 0, Purpose::Initial, 0));
    erm(federation, start, FitRule::Gradients, TOLERANCE, keep_on).unwrap()
}

fn terms(epsilon: f64) -> OneShotTerms {
    OneShotTerms::new(epsilon.try_into().unwrap(), 1e-9.try_into().unwrap()).unwrap()
}

/// Theta at lambda 2 after a release without noise.
fn noiseless(
    federation: &mut Federation<InProcess>,
    objective: OutputScores,
    pooling: Pooling,
) -> Vec<f64> {
    let release = federation.release_once(pooling, None).unwrap();
    assert_eq!(release.noise_kind(), None);
    let public = public(federation);
    let mut path = FairPath::new(federation, objective, &public, 0.0, TOLERANCE);
    path.solve(2.0, keep_on).unwrap().theta
}

#[test]
fn who_holds_the_attributes_does_not_matter_without_noise() {
    let pooled = Pooling::Pooled { secure_aggregation: true, shares: None };
    for (k, notion) in [(2, Notion::DemographicParity), (3, Notion::EqualizedOdds { labels: 2 })] {
        let mut people = Population::new(300, k, 2);
        people.classes[7] = MISSING_CLASS;
        let objective = people.objective(notion);
        let kind = ModelKind::Logistic;
        let cuts = [(0..100).collect::<Vec<usize>>(), (100..300).collect()];
        let holders =
            [(0..300).step_by(2).collect::<Vec<usize>>(), (0..150).map(|i| 2 * i + 1).collect()];
        for pooling in [Pooling::Local, pooled] {
            let under_one_roof =
                noiseless(&mut people.silos(&kind, notion, &cuts), objective, pooling);
            let all: Vec<usize> = (0..300).collect();
            for holders in [&[all][..], &holders] {
                let mut split = people.split(&kind, notion, &cuts, holders);
                close(&noiseless(&mut split, objective, pooling), &under_one_roof, 1e-8);
            }
        }
        // One linear decode for all records is the same however they are cut.
        let whole = [(0..300).collect::<Vec<usize>>()];
        let one = noiseless(&mut people.silos(&kind, notion, &whole), objective, pooled);
        let two = noiseless(&mut people.silos(&kind, notion, &cuts), objective, pooled);
        close(&one, &two, 5e-2);
    }
}

#[test]
fn much_privacy_budget_gives_almost_the_model_of_the_true_classes() {
    let people = Population::new(4000, 2, 2);
    let notion = Notion::DemographicParity;
    let objective = people.objective(notion);
    let cuts = [(0..2000).collect::<Vec<usize>>(), (2000..4000).collect()];
    let gap = |epsilon: Option<f64>| {
        let mut federation = people.silos(&ModelKind::Logistic, notion, &cuts);
        match epsilon {
            None => drop(federation.impute(ClassRelease::Revealed).unwrap()),
            Some(epsilon) => {
                federation.release_once(Pooling::Local, Some(&terms(epsilon))).unwrap();
            }
        }
        let public = public(&mut federation);
        let mut path = FairPath::new(&mut federation, objective, &public, 0.0, TOLERANCE);
        let theta = path.solve(8.0, keep_on).unwrap().theta;
        let model = federation_model();
        let records = people.records(&(0..4000).collect::<Vec<_>>());
        let truth = |theta: &[f64]| true_gap(model.as_ref(), &records, &people.classes, 2, theta);
        (truth(&public.theta), truth(&theta))
    };
    let (before, fair) = gap(None);
    assert!(before > 0.25 && fair < 0.1, "{before} {fair}");
    let (_, ten) = gap(Some(10.0));
    // Fixed seed; 4000 records at epsilon 10 put the noise far below this.
    assert!((ten - fair).abs() < 0.05, "{ten} {fair}");
}

/// Three silos' shares, added up, are the sums of all: at a large epsilon, those without noise.
#[test]
fn shares_of_one_noise_add_up_to_one_message() {
    let notion = Notion::DemographicParity;
    for k in [2, 3] {
        let people = Population::new(300, k, 2);
        let objective = people.objective(notion);
        let cuts = [(0..60).collect::<Vec<usize>>(), (60..200).collect(), (200..300).collect()];
        let silos = || people.silos(&ModelKind::Logistic, notion, &cuts);
        let plain = Pooling::Pooled { secure_aggregation: true, shares: None };
        let exact = noiseless(&mut silos(), objective, plain);
        let shares = Some(NoiseShares::usual(3).unwrap());
        let shared = Pooling::Pooled { secure_aggregation: true, shares };
        let theta = |epsilon: f64| {
            let mut federation = silos();
            federation.release_once(shared, Some(&terms(epsilon))).unwrap();
            let public = public(&mut federation);
            let mut path = FairPath::new(&mut federation, objective, &public, 0.0, TOLERANCE);
            path.solve(2.0, keep_on).unwrap().theta
        };
        close(&theta(1e9), &exact, 1e-2);
        let far: f64 = theta(0.5).iter().zip(&exact).map(|(a, b)| (a - b).abs()).sum();
        assert!(far > 1e-2, "{far}");
    }
}

fn federation_model() -> Box<dyn Classifier> {
    ModelKind::Logistic.build(LAYOUT, 2).unwrap()
}

#[test]
fn a_second_release_is_refused_and_so_is_a_rare_column() {
    let people = Population::new(200, 2, 2);
    let cuts = [(0..100).collect::<Vec<usize>>(), (100..200).collect()];
    let mut federation = people.silos(&ModelKind::Logistic, Notion::DemographicParity, &cuts);
    federation.release_once(Pooling::Local, Some(&terms(1.0))).unwrap();
    assert!((federation.spent().unwrap().value() / terms(1.0).mu().value() - 1.0).abs() < 1e-6);
    let again = federation.release_once(Pooling::Local, Some(&terms(0.5))).unwrap_err();
    assert!(again.to_string().contains("left"), "{again}");

    let few = [(0..6).collect::<Vec<usize>>(), (6..200).collect()];
    let mut federation = people.silos(&ModelKind::Logistic, Notion::DemographicParity, &few);
    let terms = terms(1.0);
    let open = Pooling::Pooled { secure_aggregation: false, shares: None };
    let rare = federation.release_once(open, Some(&terms)).unwrap_err();
    assert!(matches!(rare, FederationError::Refused { silo: 0, .. }));
    assert!(rare.to_string().contains("non-zero entries"), "{rare}");
    let secure = Pooling::Pooled { secure_aggregation: true, shares: None };
    federation.release_once(secure, Some(&terms)).unwrap();
}

#[test]
fn a_target_gap_is_met_by_the_smallest_lambda() {
    let people = Population::new(6000, 2, 2);
    let notion = Notion::DemographicParity;
    let cuts = [(0..3000).collect::<Vec<usize>>(), (3000..6000).collect()];
    let mut federation = people.silos(&ModelKind::Logistic, notion, &cuts);
    let release = federation.release_once(Pooling::Local, Some(&terms(3.0))).unwrap();
    let public = public(&mut federation);
    let objective = people.objective(notion);
    let mut path = FairPath::new(&mut federation, objective, &public, 0.0, TOLERANCE);
    let mut tried = Vec::new();
    let found =
        target_gap(&mut path, &release, 0.1, |lambda, at| tried.push((lambda, at))).unwrap();
    assert!(found.reached && found.estimate.gap <= 0.1 && found.lambda > 0.0);
    let below = tried.iter().filter(|(lambda, _)| *lambda < found.lambda);
    assert!(below.clone().count() > 0 && below.clone().all(|(_, at)| at.gap > 0.1));
    // No lambda reaches a gap below 0, and none is needed for a gap of 1.
    assert!(!target_gap(&mut path, &release, -1.0, |_, _| {}).unwrap().reached);
    assert_eq!(target_gap(&mut path, &release, 1.0, |_, _| {}).unwrap().lambda, 0.0);
}

/// Generated records. The class leans on the first number and the first column, the label on
/// these and on the second ones, so that there is something to predict it from fairly.
pub(super) struct Generated {
    pub(super) records: Records,
    pub(super) classes: Vec<u16>,
    layout: Layout,
    k: usize,
}

impl Generated {
    pub(super) fn new(
        n: usize,
        numeric: usize,
        columns: usize,
        levels: usize,
        k: usize,
        seed: u64,
    ) -> Self {
        let layout = Layout { numeric, categorical: columns, features: numeric + columns * levels };
        let mut random = stream(seed, 0, Purpose::Split, 0);
        let (mut numbers, mut codes, mut labels, mut classes) = (vec![], vec![], vec![], vec![]);
        for _ in 0..n {
            let (mut lean, mut other) = (0.0, 0.0);
            for column in 0..numeric {
                let x: f64 = StandardNormal.sample(&mut random);
                lean += if column == 0 { x } else { 0.0 };
                other += if column == 1 { x } else { 0.0 };
                numbers.push(x as f32);
            }
            for column in 0..columns {
                let level = random.random_range(0..levels);
                let side = 2.0 * (level % 2) as f64 - 1.0;
                lean += if column == 0 { side } else { 0.0 };
                other += if column == 1 { side } else { 0.0 };
                codes.push((numeric + column * levels + level) as u32);
            }
            let coin = |p: f64, draw: f64| u16::from(draw < p);
            let score = lean + 1.5 * other;
            labels.push(coin(1.0 / (1.0 + (-score).exp()), random.random()));
            // Half of the records are in class 0, few (2 %) in the last, by lean.
            let weights: Vec<f64> = (0..k)
                .map(|class| match class {
                    0 => (-0.5 * lean).exp(),
                    last if last == k - 1 => 0.05 * (0.5 * lean).exp(),
                    _ => (0.5 * lean).exp() / (k - 2) as f64,
                })
                .collect();
            let mut rest = random.random::<f64>() * weights.iter().sum::<f64>();
            let class = weights.iter().position(|weight| {
                rest -= weight;
                rest < 0.0
            });
            classes.push(class.unwrap_or(k - 1) as u16);
        }
        let rows = Rows::new(layout, n, numbers, codes).unwrap();
        let records = Records::new((0..n as u64).collect(), rows, labels, None, 2).unwrap();
        Self { records, classes, layout, k }
    }

    pub(super) fn federation(&self) -> (Federation<InProcess>, OutputScores) {
        self.federation_of(9)
    }

    /// With noise of this seed.
    fn federation_of(&self, seed: u64) -> (Federation<InProcess>, OutputScores) {
        let notion = Notion::DemographicParity;
        let objective = OutputScores { notion, classes: self.k, labels: 2, sharpness: 1.0 };
        let agreement = Agreement {
            run: RunId([1; 16]),
            schema: SchemaHash([2; 32]),
            columns: Vec::new(),
            layout: self.layout,
            model: ModelKind::Logistic,
            scores: objective.into(),
            seed,
            noise: steffle_privacy::ledger::NoiseKind::Simulation,
            kind: crate::federation::RunKind::default(),
        };
        let ids = self.records.ids().to_vec();
        let sealed = Sensitive::new(self.classes.clone());
        let attributes = Attributes::new(ids, sealed, self.k).unwrap();
        let silo = (self.records.clone(), attributes);
        (Federation::join(InProcess::silos(vec![silo]), agreement).unwrap(), objective)
    }
}

/// The largest difference between two classes in the rate of label 1.
pub(super) fn true_gap(
    model: &dyn Classifier,
    records: &Records,
    classes: &[u16],
    k: usize,
    theta: &[f64],
) -> f64 {
    let decisions = decide(&Point::new(model, theta).probabilities(records.rows()), 2);
    let (mut chosen, mut all) = (vec![0.0; k], vec![0.0; k]);
    for (&class, &decision) in classes.iter().zip(&decisions) {
        if usize::from(class) < k {
            all[usize::from(class)] += 1.0;
            chosen[usize::from(class)] += f64::from(decision);
        }
    }
    let rates: Vec<f64> = chosen.iter().zip(&all).map(|(chosen, all)| chosen / all).collect();
    let most = rates.iter().copied().fold(f64::MIN, f64::max);
    most - rates.iter().copied().fold(f64::MAX, f64::min)
}

/// Untouched settings on 1,000 to a million rows, 5 to 500 features, 2 to 10 classes of which the
/// last has 2 %: the estimated gap is right within its error, a release that does not say that its
/// noise exceeds the signal lets training shrink the gap, and a tiny epsilon is told.
///
/// All seeds are fixed. With others, the first comparison (six standard errors, and 3 points for
/// what decisions owe to x beyond the features) fails about once in 10^8. Noise alone looks like a
/// signal once in twenty releases, so three or more of six do once in 500 choices of seeds.
#[test]
fn defaults_work_or_say_that_they_do_not_on_generated_data() {
    let (mut useful, mut told) = (0, 0);
    for (n, numeric, columns, levels, k, epsilon) in [
        (1000, 5, 0, 0, 2, 1.0),
        (1000, 5, 0, 0, 10, 1.0),
        (20_000, 4, 2, 10, 3, 1.0),
        (20_000, 0, 10, 50, 2, 3.0),
        (100_000, 6, 3, 10, 10, 1.0),
        (1_000_000, 5, 0, 0, 2, 0.1),
    ] {
        let data = Generated::new(n, numeric, columns, levels, k, n as u64 + k as u64);
        let release = |epsilon: f64| {
            let (mut federation, objective) = data.federation();
            let release = federation.release_once(Pooling::Local, Some(&terms(epsilon))).unwrap();
            let public = public(&mut federation);
            let estimate = federation.look(&release, &public.theta).unwrap().gap;
            (federation, objective, public, estimate)
        };
        let (mut federation, objective, public, estimate) = release(epsilon);
        let model = federation.model().clone();
        let gap = |theta: &[f64]| true_gap(model.as_ref(), &data.records, &data.classes, k, theta);
        let before = gap(&public.theta);
        let off = (estimate.gap - before).abs();
        assert!(off < 6.0 * estimate.standard_error + 0.03, "{n} {k}: {estimate:?} {before}");
        if !estimate.within_noise() {
            useful += 1;
            let mut path = FairPath::new(&mut federation, objective, &public, 0.0, TOLERANCE);
            let gaps = [1.0, 4.0, 16.0, 64.0]
                .map(|lambda| gap(&path.solve(lambda, keep_on).unwrap().theta));
            let best = gaps.iter().copied().fold(f64::MAX, f64::min);
            assert!(best < 0.8 * before, "{n} {k}: {gaps:?} {before}");
        }
        told += usize::from(release(epsilon / 1000.0).3.within_noise());
    }
    assert!(useful >= 3 && told >= 4, "{useful} {told}");
}

/// 600 features and few records: training follows the noise of the release, and the release, asked
/// again, sees a gap that went away. The estimate for models that were trained on it takes about half
/// of that back, and its error covers the rest.
///
/// All seeds are fixed, so the test fails by chance never or always. How often other seeds would fail
/// is not known: the standard error is a rule that was fitted to this shape and one other.
#[test]
fn a_model_that_followed_the_noise_is_told() {
    const SEEDS: u64 = 6;
    let data = Generated::new(10_000, 0, 10, 60, 2, 0);
    let (mut off, mut naive, mut error) = (0.0, 0.0, 0.0);
    for seed in 0..SEEDS {
        let (mut federation, objective) = data.federation_of(seed);
        let release = federation.release_once(Pooling::Local, Some(&terms(4.0))).unwrap();
        let public = public(&mut federation);
        let mut path = FairPath::new(&mut federation, objective, &public, 0.0, TOLERANCE);
        let theta = path.solve(6.0, keep_on).unwrap().theta;
        let told = path.estimate_gap(&release, &theta).unwrap();
        let again = federation.look(&release, &theta).unwrap().gap;
        let model = federation.model().clone();
        let gap = true_gap(model.as_ref(), &data.records, &data.classes, 2, &theta);
        assert!((told.gap - gap).abs() < 4.0 * told.standard_error, "{seed}: {told:?} {gap}");
        off += (told.gap - gap) / SEEDS as f64;
        naive += (again.gap - gap) / SEEDS as f64;
        error = told.standard_error / (SEEDS as f64).sqrt();
    }
    assert!(off.abs() < 4.0 * error, "{off} {error}");
    assert!(off.abs() < 0.75 * naive.abs() && naive < 0.0, "{off} {naive}");
}
