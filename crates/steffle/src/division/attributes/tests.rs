//! Brute force over all stores: no change of one unit's class moves the messages by more than was
//! priced. The released values are the real ones, with the noise left out.

use std::sync::Arc;

use super::{
    Account, Announced, Attributes, AttributesDivision, MISSING_CLASS, Noise, Sensitive, Share,
    Terms,
};
use crate::division::Silo;
use crate::division::records::{RecordsDivision, RowCap};
use crate::fairness::Notion;
use crate::linear::Whitening;
use crate::model::ModelKind;
use crate::noise::{NoiseKind, NoiseSource, SimulatedNoise};
use crate::protocol::{Batch, CellQuestion, Form, PrivateSums, Question};
use crate::randomness::{Purpose, stream};
use crate::record::{Layout, Records, Rows};
use crate::steffle::SteffleObjective;
use rand::Rng;
use steffle_privacy::{Mu, NoiseMultiplier, Poisson};

/// A noise source that draws nothing: what is released is what the noise would be added to.
struct Silence(SimulatedNoise);

impl NoiseSource for Silence {
    fn kind(&self) -> NoiseKind {
        NoiseKind::Simulation
    }

    fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    fn add_gaussian(&mut self, _: f64, _: &mut [f64]) {}

    fn discrete_gaussians(&mut self, _: u128, count: usize) -> Vec<i128> {
        vec![0; count]
    }
}

fn silence() -> Silence {
    Silence(SimulatedNoise::new(1, 1, 1))
}

/// One configuration to try all stores of.
#[derive(Debug, Clone)]
struct Case {
    records: usize,
    classes: usize,
    labels: usize,
    model: &'static str,
    notion: Notion,
    cap: Option<f64>,
    shaped: bool,
    units: Option<Vec<u32>>,
    terms: Terms,
    batch: Batch,
    seed: u64,
}

const LAYOUT: Layout = Layout { numeric: 3, categorical: 1, features: 21 };

impl Case {
    fn records(&self) -> Records {
        let mut random = stream(self.seed, 0, Purpose::Split, 0);
        let mut unit = || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let n = self.records;
        let numeric = (0..3 * n).map(|_| (6.0 * unit() - 3.0) as f32).collect();
        let codes = (0..n).map(|_| 3 + (unit() * 18.0) as u32).collect();
        let labels: Vec<u16> = (0..n).map(|i| (i % self.labels) as u16).collect();
        let rows = Rows::new(LAYOUT, n, numeric, codes).unwrap();
        let ids = (100..100 + n as u64).collect();
        let records = Records::new(ids, rows, labels, None, self.labels).unwrap();
        match &self.units {
            Some(units) => records.with_units(units).unwrap(),
            None => records,
        }
    }

    fn division(&self) -> RecordsDivision {
        let Self { notion, classes, labels, .. } = *self;
        let objective = Arc::new(SteffleObjective { notion, classes, labels, sharpness: 1.0 });
        let kind: ModelKind = self.model.parse().unwrap();
        let model = Arc::from(kind.build(LAYOUT, labels).unwrap());
        RecordsDivision::new(self.records(), objective, model, 1, 1).unwrap()
    }

    fn attributes(&self, store: &[u16]) -> Attributes {
        let ids = (100..100 + self.records as u64).collect();
        Attributes::new(ids, Sensitive::new(store.to_vec()), self.classes).unwrap()
    }

    fn account(&self) -> Account {
        if let Terms::Poisson { sampler, noise_multiplier, .. } = &self.terms {
            let replace = steffle_privacy::Neighbours::Replace;
            let rounds = 10.try_into().unwrap();
            let plan = steffle_privacy::Plan::new(*sampler, replace, *noise_multiplier, rounds);
            return Account::planned(plan.unwrap());
        }
        let blocks = if let Batch::Block(count) = self.batch { count as usize } else { 1 };
        Account::gaussian(Mu::try_from(1e12).unwrap(), blocks)
    }

    fn question(&self, parameters: usize) -> Question {
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
    fn stores(&self) -> Vec<Vec<u16>> {
        let units = self.units.clone().unwrap_or_else(|| (0..self.records as u32).collect());
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
}

/// The two messages in the coordinates in which noise is added, each divided by its deviation.
fn in_units_of_noise(
    sums: &PrivateSums,
    classes: usize,
    deviations: (f64, f64),
    whitening: Option<&Whitening>,
) -> Vec<f64> {
    let mut all = Vec::new();
    for theta in &sums.thetas {
        let outputs = whitening.map_or(1, |whitening| theta.len() / whitening.size());
        for output in 0..outputs {
            let mut column: Vec<f64> =
                theta.iter().skip(output).step_by(outputs).copied().collect();
            if let Some(whitening) = whitening {
                whitening.whiten(&mut column);
            }
            all.extend(column.iter().map(|value| value / deviations.0));
        }
    }
    for table in &sums.tables {
        let sent = if classes == 2 { &table[table.len() / 2..] } else { &table[..] };
        all.extend(sent.iter().map(|value| value * classes as f64 / deviations.1));
    }
    all
}

fn deviations(noise: &Noise) -> (f64, f64) {
    let Noise::Integer { theta, table, .. } = noise else { panic!("{noise:?}") };
    let of = |noise: &Option<super::IntegerNoise>| noise.map_or(1.0, |noise| noise.deviation());
    (of(theta), of(table))
}

/// What a chosen unit may move, squared and in units of the noise.
fn priced(case: &Case, price: &super::Price) -> f64 {
    match (price.cost(), &case.terms) {
        (super::Cost::Gaussian { squared, .. }, _) => squared,
        (_, Terms::Poisson { noise_multiplier, .. }) => noise_multiplier.value().powi(-2),
        other => panic!("{other:?}"),
    }
}

/// The largest squared move between stores that differ in one unit, over the priced one.
fn worst_over_price(case: &Case) -> f64 {
    let mut division = case.division();
    division
        .protect(
            &vec![0.0; division.model().parameters()],
            case.cap.map_or(RowCap::NONE, |share| RowCap::quantile(share).unwrap()),
            case.shaped,
        )
        .unwrap();
    let question = case.question(division.model().parameters());
    let announced = division.batch_len(case.batch, 1);
    let distances = division.measure(&question, 1).unwrap();
    let parameters = question.theta.len();
    let about = Announced::new(announced, Some(&distances), &question, case.classes, parameters);
    let price = super::Price::new(&case.terms, &about).unwrap();
    let deviations = deviations(price.noise());
    let priced = priced(case, &price);
    assert_eq!(division.whitening().is_some(), case.shaped && case.model != "mlp:2");
    let mut silo = Some(division);
    let answers: Vec<(Vec<u16>, Vec<f64>)> = case
        .stores()
        .into_iter()
        .map(|store| {
            let mut both = Silo::new(silo.take().unwrap(), case.attributes(&store)).unwrap();
            both.attributes().set_terms(case.terms.clone(), case.account());
            let (_, released) = both.answer(&question, 1, &mut silence()).unwrap();
            let records = both.into_records();
            let whitening = records.whitening();
            let values = in_units_of_noise(released.value(), case.classes, deviations, whitening);
            silo = Some(records);
            (store, values)
        })
        .collect();
    worst_pair(case, &answers) / priced
}

fn worst_pair(case: &Case, answers: &[(Vec<u16>, Vec<f64>)]) -> f64 {
    let units = case.units.clone().unwrap_or_else(|| (0..case.records as u32).collect());
    let mut worst: f64 = 0.0;
    for (a, first) in answers {
        for (b, second) in answers {
            let differ: std::collections::BTreeSet<u32> =
                (0..a.len()).filter(|&i| a[i] != b[i]).map(|i| units[i]).collect();
            if differ.len() == 1 {
                let squared: f64 = first.iter().zip(second).map(|(x, y)| (x - y).powi(2)).sum();
                worst = worst.max(squared);
            }
        }
    }
    worst
}

const EXACT: Terms = Terms::Exact(Share { round: 0.05, table: Share::TABLE });

fn cases() -> Vec<Case> {
    let parity = Notion::DemographicParity;
    let base = Case {
        records: 5,
        classes: 2,
        labels: 2,
        model: "logistic",
        notion: parity,
        cap: None,
        shaped: false,
        units: None,
        terms: EXACT,
        batch: Batch::All,
        seed: 1,
    };
    let odds = |labels| Notion::EqualizedOdds { labels };
    let poisson = Terms::Poisson {
        sampler: Poisson(1.0.try_into().unwrap()),
        noise_multiplier: NoiseMultiplier::try_from(3.0).unwrap(),
        table: Share::TABLE,
    };
    let loud = Terms::Exact(Share { round: 1e22, table: Share::TABLE });
    let three = Case { records: 4, classes: 3, labels: 3, model: "softmax", ..base.clone() };
    vec![
        base.clone(),
        Case { records: 6, shaped: true, seed: 2, ..base.clone() },
        Case { cap: Some(0.5), seed: 3, ..base.clone() },
        Case { cap: Some(0.5), shaped: true, notion: odds(2), seed: 4, ..base.clone() },
        Case { notion: Notion::EqualOpportunity { favourable: 1 }, seed: 5, ..base.clone() },
        Case { classes: 3, records: 4, seed: 6, ..base.clone() },
        Case { seed: 7, ..three.clone() },
        Case { shaped: true, cap: Some(0.5), notion: odds(3), seed: 8, ..three.clone() },
        Case { model: "mlp:2", seed: 9, ..base.clone() },
        Case { model: "mlp:2", cap: Some(0.5), notion: odds(3), seed: 10, ..three.clone() },
        Case { batch: Batch::Block(2), seed: 11, ..base.clone() },
        Case { terms: poisson.clone(), seed: 12, ..base.clone() },
        Case { terms: poisson, shaped: true, cap: Some(0.5), seed: 13, ..three },
        // So little noise that the grid has to be made finer, not coarser.
        Case { terms: loud, shaped: true, seed: 16, ..base.clone() },
        Case { units: Some(vec![0, 0, 1, 1, 2]), seed: 14, ..base.clone() },
        Case { units: Some(vec![0, 1, 0, 2, 1]), shaped: true, notion: odds(2), seed: 15, ..base },
    ]
}

#[test]
fn no_store_moves_more_than_the_price() {
    for case in cases() {
        let ratio = worst_over_price(&case);
        // Un-whitening and whitening again in floats costs up to 1e-9 of accuracy.
        assert!(ratio <= 1.0 + 1e-8, "{ratio}: {case:?}");
        // Rows of one unit are priced by the sum of their distances, and hidden units by half a
        // grid step each: upper bounds. Everything else is exact, so half of any constant would
        // show here.
        let exact = case.units.is_none() && case.model != "mlp:2";
        let least = if exact { 0.99999 } else { 0.4 };
        assert!(ratio >= least, "{ratio}: {case:?}");
    }
}

#[test]
fn a_round_costs_its_share_and_silence_is_free() {
    for case in cases() {
        let Terms::Exact(share) = case.terms else { continue };
        let mut division = case.division();
        let mut question = case.question(division.model().parameters());
        let mut price = |question: &Question| {
            let announced = division.batch_len(case.batch, 1);
            let distances = division.measure(question, 1).unwrap();
            let parameters = question.theta.len();
            let about =
                Announced::new(announced, Some(&distances), question, case.classes, parameters);
            match super::Price::new(&case.terms, &about).unwrap().cost() {
                super::Cost::Gaussian { squared, .. } => squared,
                other => panic!("{other:?}"),
            }
        };
        let full = price(&question);
        assert!(full <= share.round && full > share.round * (1.0 - 1e-5), "{full} {case:?}");
        for cell in &mut question.cells {
            cell.combinations.fill(0.7);
        }
        let table_only = price(&question);
        let part = share.round * share.table;
        assert!(table_only <= part && table_only > part * (1.0 - 1e-5), "{table_only} {case:?}");
    }
}

/// Splits a case's records over one records silo and a holder that has `held` of them.
fn holder_reply(case: &Case, store: &[u16], held: usize, noise: &mut impl NoiseSource) -> Reply {
    let mut division = case.division();
    let cap = case.cap.map_or(RowCap::NONE, |share| RowCap::quantile(share).unwrap());
    let parameters = division.model().parameters();
    division.protect(&vec![0.0; parameters], cap, false).unwrap();
    let question = case.question(parameters);
    let (_, handover) = division.answer_and_hand_over(&question, 1).unwrap();
    let ids = (100..100 + held as u64).collect();
    let sealed = Sensitive::new(store[..held].to_vec());
    let attributes = Attributes::new(ids, sealed, case.classes).unwrap();
    let mut holder = AttributesDivision::by_id(attributes);
    holder.set_terms(case.terms.clone(), case.account());
    let released = holder.answer(&question, &[handover], noise).unwrap();
    let distances = division.measure(&question, 1).unwrap();
    let about = Announced::new(case.records, Some(&distances), &question, case.classes, parameters);
    let price = super::Price::new(&case.terms, &about).unwrap();
    let spent = holder.account().spent().map(Mu::value);
    let cost = spent.map_or_else(|| priced(case, &price), |spent| spent * spent);
    Reply { sums: released.value().clone(), deviations: deviations(price.noise()), cost }
}

struct Reply {
    sums: PrivateSums,
    deviations: (f64, f64),
    cost: f64,
}

#[test]
fn a_holder_elsewhere_keeps_the_same_promise() {
    let hybrid = |case: &Case| case.batch == Batch::All && !case.shaped;
    let tried: Vec<Case> = cases().into_iter().filter(hybrid).collect();
    assert!(tried.len() >= 8);
    for case in tried {
        let mut priced = 0.0;
        let answers: Vec<(Vec<u16>, Vec<f64>)> = case
            .stores()
            .into_iter()
            .map(|store| {
                let reply = holder_reply(&case, &store, case.records, &mut silence());
                priced = reply.cost;
                let values = in_units_of_noise(&reply.sums, case.classes, reply.deviations, None);
                (store, values)
            })
            .collect();
        let ratio = worst_pair(&case, &answers) / priced;
        assert!(ratio <= 1.0 + 1e-8, "{ratio}: {case:?}");
        assert!(ratio >= 0.4, "{ratio}: {case:?}");
    }
}

#[test]
fn a_holder_of_none_one_or_all_adds_the_same_noise_and_pays_the_same() {
    let case = &cases()[2];
    let store = vec![0, 1, 1, 0, 1];
    let mut noises: Vec<Vec<f64>> = Vec::new();
    let mut costs = Vec::new();
    for held in [0, 1, 5] {
        let plain = holder_reply(case, &store, held, &mut silence());
        let noisy = holder_reply(case, &store, held, &mut SimulatedNoise::new(1, 1, 1));
        let flat = |sums: &PrivateSums| -> Vec<f64> {
            sums.tables.iter().chain(&sums.thetas).flatten().copied().collect()
        };
        let added = flat(&noisy.sums).iter().zip(flat(&plain.sums)).map(|(a, b)| a - b).collect();
        noises.push(added);
        costs.push((noisy.cost, noisy.deviations, noisy.sums.table_deviation));
    }
    for other in 1..3 {
        assert_eq!(costs[0], costs[other]);
        let size = noises[0].iter().fold(0.0, |top: f64, v| v.abs().max(top));
        let far = noises[0].iter().zip(&noises[other]).map(|(a, b)| (a - b).abs());
        assert!(far.fold(0.0, f64::max) <= 1e-12 * size, "the same noise, whatever is held");
    }
}

#[test]
fn a_hostile_server_earns_noise_or_a_refusal() {
    let case = Case { records: 5, seed: 20, ..cases()[0].clone() };
    let parameters = case.division().model().parameters();
    let mut silo = Silo::new(case.division(), case.attributes(&[0, 1, 1, 0, 1])).unwrap();
    silo.attributes().set_terms(case.terms.clone(), case.account());
    let asked = case.question(parameters);
    let mut ask = |change: &dyn Fn(&mut Question)| {
        let mut question = asked.clone();
        change(&mut question);
        silo.answer(&question, 1, &mut SimulatedNoise::new(1, 1, 1)).map(|(_, released)| {
            let sums = released.value();
            let all = sums.tables.iter().chain(&sums.thetas).flatten();
            assert!(all.clone().all(|value| value.is_finite()));
            (sums.table_deviation, all.fold(0.0, |top: f64, v| v.abs().max(top)))
        })
    };
    let usual = ask(&|_| {}).unwrap();
    // A huge part common to all classes changes nothing: candidates are centred.
    let common = ask(&|q| q.cells[0].combinations.iter_mut().for_each(|c| *c += 1e6)).unwrap();
    assert!((common.0 / usual.0 - 1.0).abs() < 1e-3, "{common:?} {usual:?}");
    // Huge differences earn huge noise, at the same price.
    let huge = ask(&|q| q.cells[0].combinations[0] = 1e30).unwrap();
    assert!(huge.1 > 1e28, "{huge:?}");
    let far = ask(&|q| q.theta.fill(1e300));
    assert!(far.is_ok() || far.unwrap_err().to_string().contains("exact integer sums"));
    for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(ask(&|q| q.theta[0] = wrong).is_err());
        assert!(ask(&|q| q.cells[0].combinations[1] = wrong).is_err());
    }
    assert!(ask(&|q| q.theta.truncate(3)).is_err());
    // The clipped form moves by twice as much and has no exact price.
    let clipped = ask(&|q| q.form = Form::Clipped { limit: 1e9 }).unwrap_err();
    assert!(clipped.to_string().contains("centred messages only"), "{clipped}");
    assert!(ask(&|q| q.cells.truncate(0)).is_ok(), "no cell, nothing private to answer");
    assert!(ask(&|q| q.cells[0].combinations.truncate(1)).is_err());
    assert!(ask(&|q| q.cells[0].combinations[0] = 1e-320).is_ok());
    assert!(
        ask(&|q| q.cells[0].combinations.iter_mut().for_each(|c| *c *= f64::MAX / 4.0)).is_err()
    );
}

#[test]
fn coins_and_single_accounts_answer_about_all_records_only() {
    let poisson = cases().into_iter().find(|case| matches!(case.terms, Terms::Poisson { .. }));
    let individual = Account::individual(Mu::try_from(1.0).unwrap(), 5);
    for (case, account) in [(poisson.unwrap(), None), (cases()[0].clone(), Some(individual))] {
        let mut silo = Silo::new(case.division(), case.attributes(&[0, 1, 1, 0, 1])).unwrap();
        let account = account.unwrap_or_else(|| case.account());
        silo.attributes().set_terms(case.terms.clone(), account);
        let mut question = case.question(case.division().model().parameters());
        for batch in [Batch::Mini(2), Batch::Block(2)] {
            question.batch = batch;
            let refused = silo.answer(&question, 1, &mut silence()).err().unwrap();
            assert!(refused.to_string().contains("not for this kind"), "{refused}");
        }
        question.batch = Batch::All;
        assert!(silo.answer(&question, 1, &mut silence()).is_ok());
    }
}

#[test]
fn an_account_refuses_what_it_cannot_pay() {
    let case = cases()[0].clone();
    let parameters = case.division().model().parameters();
    let question = case.question(parameters);
    let mut silo = Silo::new(case.division(), case.attributes(&[0, 1, 1, 0, 1])).unwrap();
    let budget = Mu::try_from((2.5_f64 * 0.05).sqrt()).unwrap();
    silo.attributes().set_terms(case.terms, Account::gaussian(budget, 1));
    let mut answer = |round| silo.answer(&question, round, &mut silence()).map(|_| ());
    assert_eq!((answer(1), answer(2)), (Ok(()), Ok(())));
    assert!(answer(3).unwrap_err().to_string().contains("refuses"));
    let spent = silo.attributes().account().spent().unwrap().value();
    assert!((spent * spent - 0.1).abs() < 1e-6, "{spent}");
    assert_eq!(silo.attributes().account().replies(), 2);
}

#[test]
fn a_unit_that_has_spent_its_share_is_left_out() {
    let case = cases()[0].clone();
    let parameters = case.division().model().parameters();
    let question = case.question(parameters);
    let store = [0, 1, 1, 0, 1];
    // What every unit pays per round, and a budget that lasts the dearest one for two rounds.
    let distances = case.division().measure(&question, 1).unwrap();
    let about = Announced::new(5, Some(&distances), &question, case.classes, parameters);
    let price = super::Price::new(&case.terms, &about).unwrap();
    let costs = super::price::unit_costs(price.noise(), &about);
    let dearest = (0..5).max_by(|&a, &b| costs[a].total_cmp(&costs[b])).unwrap();
    assert!(costs.iter().filter(|&&cost| cost > 0.99 * costs[dearest]).count() == 1, "{costs:?}");
    let budget: f64 = 2.9 * 0.05;
    let answer = |silo: &mut Silo, round: u32| {
        silo.answer(&question, round, &mut silence()).unwrap().1.value().clone()
    };
    let silo = |store: &[u16]| {
        let mut silo = Silo::new(case.division(), case.attributes(store)).unwrap();
        let account = Account::individual(Mu::try_from(budget.sqrt()).unwrap(), 5);
        silo.attributes().set_terms(case.terms.clone(), account);
        silo
    };
    let mut other = store;
    other[dearest] = 1 - other[dearest];
    let (mut first, mut second) = (silo(&store), silo(&other));
    let mut squared = 0.0;
    for round in 1..=4 {
        let (a, b) = (answer(&mut first, round), answer(&mut second, round));
        let same = a.thetas == b.thetas && a.tables == b.tables;
        // Two rounds in, the dearest unit cannot pay for a third: its class changes nothing more.
        assert_eq!(same, round > 2, "round {round}");
        if round <= 2 {
            squared += costs[dearest];
        }
    }
    let spent = first.attributes().account().spent().unwrap().value().powi(2);
    assert!(spent <= budget && spent >= squared, "{spent} of {budget}");
    // The others went on, so the rounds' largest costs sum to more than the budget.
    assert!(4.0 * 0.05 * (1.0 - 1e-6) > budget);
}
