//! Rounds whose noise sites share: what every store moves, what is always added, what is refused.

use std::collections::BTreeSet;

use steffle_attributes::attack::{Loud, MOST_INTEGER, Silence, offer, request};
use steffle_attributes::noise::{NoiseSource, SimulatedNoise};
use steffle_attributes::{Share, Terms};
use steffle_model::decode::{RoundBounds, RoundScale, ShareScale};
use steffle_model::fairness::Notion;
use steffle_model::linear::Symmetric;
use steffle_privacy::NoiseShares;
use steffle_privacy::discrete::SMALLEST_SCALE;
use steffle_privacy::ledger::{Accounts, Claim};
use steffle_wire::{Question, SumsShare};

use super::fixture::Case;
use crate::division::records::{RecordsDivision, RowCap};
use crate::division::{Silo, SiloError};

const BITS: u8 = 20;

/// Far above what the cases below cost.
const EPSILON: f64 = 60.0;

fn shares() -> NoiseShares {
    NoiseShares::new(5, 2).unwrap()
}

fn cases() -> Vec<Case> {
    let base = Case::base();
    let odds = |labels| Notion::EqualizedOdds { labels };
    let three = Case { records: 4, classes: 3, labels: 3, model: "softmax", ..base.clone() };
    vec![
        base.clone(),
        Case { shaped: true, notion: odds(2), seed: 4, ..base.clone() },
        Case { classes: 3, records: 4, seed: 6, ..base },
        Case { shaped: true, notion: odds(3), seed: 8, ..three },
    ]
}

/// Records that took a shape and a cap, which cuts some rows.
fn agreed(case: &Case) -> RecordsDivision {
    let mut division = case.division();
    let theta = vec![0.0; division.model().parameters()];
    let (_, weight, mut gram) = division.curvature(&theta, &[]).unwrap();
    gram.scale(1.0 / weight);
    let half = RowCap::quantile(0.5).unwrap();
    let (count, length) = division.shape_shared(case.shaped.then_some(gram), half).unwrap();
    division.cap_shared(length / count, BITS).unwrap();
    division
}

/// Scales for coefficients of up to 4, whatever the question is.
fn scale(question: &Question, case: &Case) -> RoundScale {
    let silent = question.cells.iter().all(|cell| cell.combinations.iter().all(|c| *c == 0.0));
    let apart = if silent { 0.0 } else { 8.0 };
    let bounds = RoundBounds {
        coefficient: 4.0,
        apart,
        length: 1e7,
        pair: false,
        classes: case.classes,
        bits: BITS,
    };
    RoundScale::new(&bounds, (0.05, Share::TABLE), (3, SMALLEST_SCALE)).unwrap()
}

fn open(silo: &mut Silo, accounts: Accounts, epsilon: f64) {
    let terms = Terms::Exact(Share { round: 0.05, table: Share::TABLE });
    silo.attributes()
        .open(&offer(Claim::Shared(shares()), epsilon, 1e-6), terms, accounts)
        .unwrap();
}

fn share(
    silo: &mut Silo,
    question: &Question,
    round: u32,
    scale: &RoundScale,
    noise: &mut impl NoiseSource,
) -> Result<SumsShare, SiloError> {
    let asked = (scale, request(round.into()));
    Ok(silo.answer_share(question, round, asked, noise)?.1.read().unwrap())
}

/// The squared distance in units of the noise of the honest sites together.
fn moved(a: &SumsShare, b: &SumsShare, scale: &RoundScale) -> f64 {
    let of = |a: &[Vec<i128>], b: &[Vec<i128>], scale: ShareScale| -> f64 {
        let pairs = a.iter().flatten().zip(b.iter().flatten());
        pairs.map(|(a, b)| ((a - b) as f64 / scale.sigma as f64).powi(2)).sum()
    };
    let theta = scale.theta.map_or(0.0, |scale| of(&a.thetas, &b.thetas, scale));
    (theta + of(&a.tables, &b.tables, scale.table)) / f64::from(shares().honest())
}

/// All stores of small cases: nobody moves a sum by more than is charged, and somebody by as much.
#[test]
fn no_store_moves_a_shared_sum_more_than_its_price() {
    for case in cases() {
        let question = case.question();
        let scale = scale(&question, &case);
        let units = case.unit_of();
        let mut records = Some(agreed(&case));
        let mut priced = 0.0;
        let mut answers = Vec::new();
        for store in case.stores() {
            let mut silo = case.silo(records.take().unwrap(), &store);
            open(&mut silo, Accounts::One, EPSILON);
            let share = share(&mut silo, &question, 1, &scale, &mut Silence::default()).unwrap();
            priced = Case::priced(silo.attributes());
            records = Some(silo.into_records());
            answers.push((store, share));
        }
        let mut worst = 0.0_f64;
        for (a, first) in &answers {
            for (b, second) in &answers {
                let differ: BTreeSet<u32> =
                    (0..a.len()).filter(|&i| a[i] != b[i]).map(|i| units[i]).collect();
                if differ.len() == 1 {
                    worst = worst.max(moved(first, second, &scale));
                }
            }
        }
        let ratio = worst / priced;
        assert!(ratio <= 1.0 + 1e-9, "{ratio}: {case:?}");
        // Half of any constant would show here.
        assert!(ratio >= 0.9999, "{ratio}: {case:?}");
    }
}

/// A share is added to every number that the question has, in a round without a theta message to its
/// tables. A number whose noise is 0 by chance has a probability below 1e-7.
#[test]
fn a_share_is_added_to_every_number_of_the_question() {
    let case = Case { shaped: true, ..Case::base() };
    let question = case.question();
    let numbers = |share: &SumsShare| share.thetas.concat().len() + share.tables.concat().len();
    let mut census = question.clone();
    census.cells.iter_mut().for_each(|cell| cell.combinations.fill(0.0));
    for (case, question, expected) in [(&case, &question, 22 + 2), (&case, &census, 2)] {
        let scale = scale(question, case);
        let mut noise = SimulatedNoise::new(1, 1, 1);
        let mut silo = case.silo(agreed(case), &vec![0; case.records]);
        open(&mut silo, Accounts::One, EPSILON);
        let noisy = share(&mut silo, question, 1, &scale, &mut noise).unwrap();
        let quiet = share(&mut silo, question, 2, &scale, &mut Silence::default()).unwrap();
        assert_eq!(numbers(&noisy), expected);
        let both = [(&noisy.thetas, &quiet.thetas), (&noisy.tables, &quiet.tables)];
        let mut pairs =
            both.into_iter().flat_map(|(a, b)| a.iter().flatten().zip(b.iter().flatten()));
        assert!(pairs.all(|(a, b)| a != b), "{case:?}");
    }
}

/// Units that cannot pay are left out: their classes change nothing more, and their site goes on to add
/// its share.
#[test]
fn a_site_whose_units_have_all_retired_adds_its_share() {
    let case = Case { records: 1, ..Case::base() };
    let question = case.question();
    let usual = scale(&question, &case);
    // Tables with so much less noise that the only unit is spent after some rounds.
    let shift = usual.table.shift + 1;
    let scale = RoundScale { table: ShareScale { shift, ..usual.table }, ..usual };
    // 0.1291 at epsilon 2 and delta 1e-9.
    let offer = offer(Claim::Shared(shares()), 2.0, 1e-9);
    let run = |store: &[u16], rounds: u32| {
        let mut silo = case.silo(agreed(&case), store);
        let terms = Terms::Exact(Share { round: 0.05, table: Share::TABLE });
        silo.attributes().open(&offer, terms, Accounts::Units(1)).unwrap();
        let mut last = None;
        for round in 1..=rounds {
            let mut noise = SimulatedNoise::new(1, 1, round.into());
            last = Some(share(&mut silo, &question, round, &scale, &mut noise).unwrap());
        }
        (last.unwrap(), silo.attributes().spent().unwrap().value().powi(2))
    };
    let ((zero, cost), (one, _)) = (run(&[0], 1), run(&[1], 1));
    assert!(zero != one && cost > 0.005 && cost < 0.05, "{cost}");
    let rounds = (0.1292 / cost).ceil() as u32 + 2;
    let ((zero, spent), (one, _)) = (run(&[0], rounds), run(&[1], rounds));
    assert_eq!(zero, one, "nobody is in it any more");
    assert!(spent <= 0.1292 && spent + 0.05 > 0.1291, "{spent}");
    let mut all = zero.thetas.iter().chain(&zero.tables).flatten();
    assert!(all.all(|number| *number != 0), "{zero:?}");
}

/// Nobody believes a scale: smaller ones cost more, down to a refusal; others than the question's, and
/// rounds before anything was agreed on, are refused.
#[test]
fn a_scale_is_priced_and_not_believed() {
    let case = Case::base();
    let question = case.question();
    let usual = scale(&question, &case);
    let ask = |scale: &RoundScale, epsilon: f64| {
        let mut silo = case.silo(agreed(&case), &[0, 1, 1, 0, 1]);
        open(&mut silo, Accounts::One, epsilon);
        share(&mut silo, &question, 1, scale, &mut Silence::default())?;
        Ok::<f64, SiloError>(silo.attributes().spent().unwrap().value())
    };
    let of = |by: u128| {
        let finer = |scale: ShareScale| ShareScale {
            sigma: (scale.sigma / by).max(u128::from(SMALLEST_SCALE)),
            ..scale
        };
        RoundScale { theta: usual.theta.map(finer), table: finer(usual.table), ..usual }
    };
    let (whole, half) = (ask(&usual, EPSILON).unwrap(), ask(&of(2), EPSILON).unwrap());
    assert!(half > whole && half <= 2.0 * whole * (1.0 + 1e-6), "{half} {whole}");
    let refused = ask(&of(1 << 60), 1.0).unwrap_err().to_string();
    assert!(refused.contains("left"), "{refused}");
    let fine = |scale: ShareScale| ShareScale { sigma: u128::from(SMALLEST_SCALE) - 1, ..scale };
    for wrong in [
        RoundScale { table: fine(usual.table), ..usual },
        RoundScale { theta: usual.theta.map(fine), ..usual },
        RoundScale { theta: None, ..usual },
        RoundScale { table: ShareScale { shift: 28, ..usual.table }, ..usual },
        RoundScale { exponent: 101, ..usual },
        // Coefficients leave so fine a grid.
        RoundScale { exponent: usual.exponent - 20, ..usual },
    ] {
        assert!(ask(&wrong, EPSILON).is_err(), "{wrong:?}");
    }
    let mut silo = case.silo(case.division(), &[0, 1, 1, 0, 1]);
    open(&mut silo, Accounts::One, EPSILON);
    let refused = share(&mut silo, &question, 1, &usual, &mut Silence::default());
    assert!(refused.unwrap_err().to_string().contains("agreed"));
    // A run whose noise is shared has no replies with noise of one site, and the other way round.
    let own = silo.answer(&question, 1, request(9), &mut Silence::default());
    assert!(own.err().unwrap().to_string().contains("not for this kind"));
}

/// What sites cannot agree on, and a matrix of another size.
#[test]
fn only_rows_of_one_person_under_one_layer_are_shared() {
    let half = RowCap::quantile(0.5).unwrap();
    let units = Case { units: Some(vec![0, 0, 1, 1, 2]), ..Case::base() };
    let network = Case { model: "mlp:2", ..Case::base() };
    for case in [units, network] {
        let mut division = case.division();
        let theta = vec![0.0; division.model().parameters()];
        assert!(division.curvature(&theta, &[]).is_err(), "{case:?}");
        assert!(division.shape_shared(None, half).is_err(), "{case:?}");
        assert!(division.cap_shared(1.0, BITS).is_err(), "{case:?}");
    }
    let mut division = Case::base().division();
    assert!(division.curvature(&[0.0], &[]).is_err());
    assert!(division.cap_shared(1.0, BITS).is_err(), "no lengths yet");
    assert!(division.shape_shared(Some(Symmetric::zeros(2)), half).is_err());
    division.shape_shared(None, half).unwrap();
    for (length, bits) in [(0.0, BITS), (-1.0, BITS), (f64::NAN, BITS), (1.0, 11), (1.0, 21)] {
        assert!(division.cap_shared(length, bits).is_err(), "{length} {bits}");
    }
    division.cap_shared(1.0, BITS).unwrap();
}

/// Every store of small cases under the largest shift, scale and draws: none is refused, and 127 such sites
/// add up without wrapping.
#[test]
fn the_largest_shares_of_a_round_add_up_in_the_ring() {
    for case in cases() {
        let question = case.question();
        let most = ShareScale { shift: ShareScale::MOST_SHIFT, sigma: 1 << 100 };
        let asked = scale(&question, &case);
        let loudest = RoundScale { theta: asked.theta.map(|_| most), table: most, ..asked };
        let mut records = Some(agreed(&case));
        for (store, above) in case.stores().into_iter().zip([true, false].into_iter().cycle()) {
            let mut silo = case.silo(records.take().unwrap(), &store);
            open(&mut silo, Accounts::One, EPSILON);
            let share = share(&mut silo, &question, 1, &loudest, &mut Loud::new(above)).unwrap();
            records = Some(silo.into_records());
            for own in share.thetas.iter().chain(&share.tables).flatten() {
                assert!(own.unsigned_abs() <= MOST_INTEGER && own.checked_mul(127).is_some());
                assert!(own.unsigned_abs() > MOST_INTEGER / 2, "the noise is not the largest");
            }
        }
    }
}
