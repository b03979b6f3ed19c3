//! Brute force over all stores: no change of one unit's class moves the messages by more than was
//! priced. The released values are the real ones, with the noise left out.

use steffle_attributes::noise::{NoiseSource, SimulatedNoise};
use steffle_attributes::{Attributes, AttributesDivision, Sensitive, Share, Terms, UnitList};
use steffle_model::fairness::Notion;
use steffle_privacy::ledger::{Accounts, Charge, Claim, Cost, Receipt};
use steffle_wire::{Batch, Form, PrivateSums, Question};

use super::fixture::{Case, EXACT, Silence, in_units_of_noise, offer, request, squared_distance};
use crate::division::Silo;

fn cases() -> Vec<Case> {
    let base = Case::base();
    let odds = |labels| Notion::EqualizedOdds { labels };
    // So little noise that sums have to be made finer.
    let loud = Terms::Exact(Share { round: 30.0, table: Share::TABLE });
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
        Case { terms: Case::poisson(), seed: 12, ..base.clone() },
        Case { terms: Case::poisson(), shaped: true, cap: Some(0.5), seed: 13, ..three },
        Case { terms: loud, shaped: true, seed: 16, ..base.clone() },
        Case { units: Some(vec![0, 0, 1, 1, 2]), seed: 14, ..base.clone() },
        Case { units: Some(vec![0, 1, 0, 2, 1]), shaped: true, notion: odds(2), seed: 15, ..base },
    ]
}

/// The largest squared move between stores that differ in one unit, over the priced one.
fn worst_over_price(case: &Case) -> f64 {
    let question = case.question();
    let offer = case.offer();
    let division = case.protected();
    assert_eq!(division.whitening().is_some(), case.shaped && case.model != "mlp:2");
    let mut silo = Some(division);
    let mut priced = 0.0;
    let answers: Vec<(Vec<u16>, Vec<f64>)> = case
        .stores()
        .into_iter()
        .map(|store| {
            let mut both = case.silo(silo.take().unwrap(), &store);
            case.open(both.attributes(), &offer);
            let answer = both.answer(&question, 1, request(1), &mut Silence::default());
            let sums = answer.unwrap().1.read().unwrap();
            priced = Case::priced(both.attributes());
            let records = both.into_records();
            let whitening = records.whitening().map(AsRef::as_ref);
            let values = in_units_of_noise(&sums, case.classes, whitening);
            silo = Some(records);
            (store, values)
        })
        .collect();
    worst_pair(case, &answers) / priced
}

fn worst_pair(case: &Case, answers: &[(Vec<u16>, Vec<f64>)]) -> f64 {
    let units = case.unit_of();
    let mut worst: f64 = 0.0;
    for (a, first) in answers {
        for (b, second) in answers {
            let differ: std::collections::BTreeSet<u32> =
                (0..a.len()).filter(|&i| a[i] != b[i]).map(|i| units[i]).collect();
            if differ.len() == 1 {
                worst = worst.max(squared_distance(first, second));
            }
        }
    }
    worst
}

#[test]
fn no_store_moves_more_than_the_price() {
    for case in cases() {
        let ratio = worst_over_price(&case);
        // Un-whitening and whitening again in floats costs up to 1e-9 of accuracy.
        let tolerance = if case.shaped { 1e-8 } else { 1e-9 };
        assert!(ratio <= 1.0 + tolerance, "{ratio}: {case:?}");
        // Rows of one unit are priced by the sum of their distances: an upper bound. Everything
        // else is exact, so half of any constant would show here.
        let least = if case.units.is_none() { 0.99999 } else { 0.4 };
        assert!(ratio >= least, "{ratio}: {case:?}");
    }
}

#[test]
fn a_round_costs_its_share_and_silence_is_free() {
    for case in cases() {
        let Terms::Exact(share) = case.terms else { continue };
        let mut question = case.question();
        let mut silo = case.silo(case.division(), &vec![0; case.records]);
        case.open(silo.attributes(), &case.offer());
        let mut price = |question: &Question| match silo.price(question, 1, request(1)) {
            Ok(price) => match price.cost() {
                Cost::Gaussian { squared, .. } => squared,
                other => panic!("{other:?}"),
            },
            Err(error) => panic!("{error}"),
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
    let mut division = case.protected();
    let question = case.question();
    let (_, handover) = division.answer_and_hand_over(&question, 1).unwrap();
    let ids = (100..100 + held as u64).collect();
    let sealed = Sensitive::new(store[..held].to_vec());
    let attributes = Attributes::new(ids, sealed, case.classes).unwrap();
    let units = UnitList::index((100..).zip(case.unit_of()));
    let mut holder = AttributesDivision::by_id(attributes, units);
    case.open(&mut holder, &case.offer());
    let released = holder.answer(&question, &[handover], request(1), noise).unwrap();
    Reply { sums: released.read().unwrap(), cost: Case::priced(&holder) }
}

struct Reply {
    sums: PrivateSums,
    cost: f64,
}

#[test]
fn a_holder_elsewhere_keeps_the_same_promise() {
    let hybrid = |case: &Case| {
        case.batch == Batch::All && !case.shaped && !matches!(case.terms, Terms::Poisson { .. })
    };
    let tried: Vec<Case> = cases().into_iter().filter(hybrid).collect();
    assert!(tried.len() >= 7);
    for case in tried {
        let mut priced = 0.0;
        let answers: Vec<(Vec<u16>, Vec<f64>)> = case
            .stores()
            .into_iter()
            .map(|store| {
                let reply = holder_reply(&case, &store, case.records, &mut Silence::default());
                priced = reply.cost;
                let values = in_units_of_noise(&reply.sums, case.classes, None);
                (store, values)
            })
            .collect();
        let ratio = worst_pair(&case, &answers) / priced;
        assert!(ratio <= 1.0 + 1e-9, "{ratio}: {case:?}");
        let least = if case.units.is_none() { 0.99999 } else { 0.4 };
        assert!(ratio >= least, "{ratio}: {case:?}");
    }
}

#[test]
fn noise_and_price_do_not_tell_what_is_held() {
    let case = Case { seed: 21, ..Case::base() };
    let store = [0, 1, 1, 0, 1];
    let (mut noises, mut costs) = (Vec::new(), Vec::new());
    for held in [0, 1, 5] {
        let flat = |sums: &PrivateSums| -> Vec<f64> {
            sums.tables.iter().chain(&sums.thetas).flatten().copied().collect()
        };
        let quiet = holder_reply(&case, &store, held, &mut Silence::default());
        let noisy = holder_reply(&case, &store, held, &mut SimulatedNoise::new(1, 1, 1));
        let noise: Vec<f64> =
            flat(&noisy.sums).iter().zip(flat(&quiet.sums)).map(|(a, b)| a - b).collect();
        noises.push(noise);
        let PrivateSums { table_deviation, theta_deviation, .. } = noisy.sums;
        costs.push((noisy.cost, table_deviation, theta_deviation));
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
    let case = Case { records: 5, seed: 20, ..Case::base() };
    let mut silo = case.silo(case.division(), &[0, 1, 1, 0, 1]);
    case.open(silo.attributes(), &case.offer());
    let asked = case.question();
    let mut number = 0;
    let mut ask = |change: &dyn Fn(&mut Question)| {
        let mut question = asked.clone();
        change(&mut question);
        number += 1;
        let noise = &mut SimulatedNoise::new(1, 1, 1);
        silo.answer(&question, 1, request(number), noise).map(|(_, released)| {
            let sums = released.read().unwrap();
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
    let huge = ask(&|q| q.cells[0].combinations[0] = 1e12).unwrap();
    assert!(huge.1 > 1e10, "{huge:?}");
    let refused = |answer: Result<(f64, f64), crate::division::SiloError>, words: &str| {
        let text = answer.unwrap_err().to_string();
        assert!(text.contains(words), "{text}");
    };
    refused(ask(&|q| q.theta.fill(1e300)), "larger than 2^20");
    refused(ask(&|q| q.cells[0].combinations[0] = 1e30), "larger than 2^40");
    for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        refused(ask(&|q| q.theta[0] = wrong), "not finite");
        refused(ask(&|q| q.cells[0].combinations[1] = wrong), "not finite");
    }
    assert!(ask(&|q| q.theta.truncate(3)).is_err());
    // The clipped form moves by twice as much and has no exact price.
    refused(ask(&|q| q.form = Form::Clipped { limit: 1e9 }), "centred messages only");
    assert!(ask(&|q| q.cells.truncate(0)).is_ok(), "no cell, nothing private to answer");
    assert!(ask(&|q| q.cells[0].combinations.truncate(1)).is_err());
    assert!(ask(&|q| q.cells[0].combinations[0] = 1e-320).is_ok());
}

#[test]
fn coins_and_single_accounts_answer_about_all_records_only() {
    let individual = Accounts::Units(5);
    let poisson = Case { terms: Case::poisson(), ..Case::base() };
    for (case, accounts) in [(poisson, Accounts::One), (Case::base(), individual)] {
        let mut silo = case.silo(case.division(), &[0, 1, 1, 0, 1]);
        silo.attributes().open(&case.offer(), case.terms.clone(), accounts).unwrap();
        let mut question = case.question();
        for batch in [Batch::Mini(2), Batch::Block(2)] {
            question.batch = batch;
            let refused = silo.answer(&question, 1, request(1), &mut Silence::default());
            let refused = refused.err().unwrap().to_string();
            assert!(refused.contains("not for this kind"), "{refused}");
        }
        question.batch = Batch::All;
        assert!(silo.answer(&question, 1, request(1), &mut Silence::default()).is_ok());
    }
}

#[test]
fn a_grant_refuses_what_it_cannot_pay_and_a_repeated_request_costs_nothing() {
    let case = Case::base();
    let question = case.question();
    let mut silo = case.silo(case.division(), &[0, 1, 1, 0, 1]);
    // Rounds of 0.05 where 0.0329 are there at epsilon 1 and delta 1e-9: not even one.
    silo.attributes().open(&offer(Claim::Gaussian, 1.0, 1e-9), EXACT, Accounts::One).unwrap();
    let refused = silo.answer(&question, 1, request(1), &mut Silence::default()).err().unwrap();
    assert!(refused.to_string().contains("left"), "{refused}");
    // 0.1291 at epsilon 2: two of them.
    let mut silo = case.silo(case.division(), &[0, 1, 1, 0, 1]);
    silo.attributes().open(&offer(Claim::Gaussian, 2.0, 1e-9), EXACT, Accounts::One).unwrap();
    let mut noise = SimulatedNoise::new(1, 1, 1);
    let mut answer = |number| {
        let answer = silo.answer(&question, 1, request(number), &mut noise);
        answer.map(|(_, released)| released.read().unwrap()).map_err(|error| error.to_string())
    };
    let (first, second) = (answer(1).unwrap(), answer(2).unwrap());
    assert_ne!(first, second, "fresh noise");
    assert_eq!(answer(1).unwrap(), first, "the same bytes");
    assert!(answer(3).unwrap_err().contains("left"));
    assert_eq!(answer(2).unwrap(), second);
    let spent = silo.attributes().spent().unwrap().value();
    assert!((spent * spent - 0.1).abs() < 1e-6, "{spent}");
    let receipts: Vec<Receipt> = silo.attributes().receipts();
    assert_eq!(receipts.len(), 2);
}

/// Of silos with several chunks of records, and several blocks of chunks: whatever the model, a reply that is
/// sent again comes with the same public sums.
#[test]
fn a_repeated_request_has_the_same_public_sums() {
    for (model, records, poisson) in [
        ("logistic", 700, false),
        ("logistic", 9000, false),
        ("logistic", 700, true),
        ("softmax", 700, false),
        ("mlp:3", 700, false),
    ] {
        for notion in [Notion::DemographicParity, Notion::EqualizedOdds { labels: 2 }] {
            let terms = if poisson { Case::poisson() } else { EXACT };
            let case = Case { records, model, notion, terms, ..Case::base() };
            let store: Vec<u16> = (0..records).map(|at| (at % 2) as u16).collect();
            let mut silo = case.silo(case.protected(), &store);
            case.open(silo.attributes(), &case.offer());
            let mut noise = SimulatedNoise::new(1, 1, 1);
            let mut census = case.question();
            census.cells.iter_mut().for_each(|cell| cell.combinations.fill(0.0));
            for (round, question) in [(1, census), (2, case.question())] {
                let mut answer = || {
                    let answer = silo.answer(&question, round, request(round.into()), &mut noise);
                    let (public, released) = answer.unwrap();
                    (public, released.read().unwrap())
                };
                assert_eq!(answer(), answer(), "{case:?}, round {round}");
            }
        }
    }
}

#[test]
fn a_unit_that_has_spent_its_share_is_left_out() {
    let case = Case::base();
    let question = case.question();
    let store = [0, 1, 1, 0, 1];
    // 0.1291 at epsilon 2 and delta 1e-9 lasts the dearest unit for two rounds of 0.05.
    let offer = offer(Claim::Gaussian, 2.0, 1e-9);
    let silo = |store: &[u16]| {
        let mut silo = case.silo(case.division(), store);
        silo.attributes().open(&offer, EXACT, Accounts::Units(5)).unwrap();
        silo
    };
    let price = silo(&store).price(&question, 1, request(1)).unwrap();
    let Charge::Units(costs) = price.charge() else { panic!("{:?}", price.charge()) };
    let dearest = (0..5).max_by(|&a, &b| costs[a].total_cmp(&costs[b])).unwrap();
    assert!(costs.iter().filter(|&&cost| cost > 0.99 * costs[dearest]).count() == 1, "{costs:?}");
    let answer = |silo: &mut Silo, round: u32| {
        let answer = silo.answer(&question, round, request(round.into()), &mut Silence::default());
        answer.unwrap().1.read().unwrap()
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
    let budget = 0.1292;
    let spent = first.attributes().spent().unwrap().value().powi(2);
    assert!(spent <= budget && spent >= squared, "{spent} of {budget}");
    // The others went on, so the rounds' largest costs sum to more than the budget.
    assert!(4.0 * 0.05 * (1.0 - 1e-6) > budget);
}

#[test]
fn without_a_grant_nothing_is_answered() {
    let case = Case::base();
    let mut silo = case.silo(case.division(), &[0, 1, 1, 0, 1]);
    let refused =
        silo.answer(&case.question(), 1, request(1), &mut Silence::default()).err().unwrap();
    assert!(refused.to_string().contains("open"), "{refused}");
}

#[test]
fn two_passes_must_agree() {
    // A price whose digest is another's: as if a record had changed between the passes.
    let case = Case::base();
    let mut silo = case.silo(case.division(), &[0, 1, 1, 0, 1]);
    case.open(silo.attributes(), &case.offer());
    let question = case.question();
    let mut other = question.clone();
    other.theta[0] += 1e-3;
    let price = silo.price(&other, 1, request(1)).unwrap();
    let refused = silo.answer_paid(&question, 1, price, &mut Silence::default());
    let refused = refused.err().unwrap().to_string();
    assert!(refused.contains("changed between"), "{refused}");
    assert!(silo.attributes().spent().unwrap().value() > 0.0, "spent all the same");
}
