use steffle_privacy::ledger::{Accounts, Claim};

use super::*;
use crate::attack::{Exact, Silence, counts as counts_of, offer, request};
use crate::noise::SimulatedNoise;
use crate::{Attributes, AttributesDivision, MISSING_CLASS, Sensitive, Share};

const IDS: [u64; 6] = [100, 101, 102, 103, 104, 105];
const CELLS: [u16; 6] = [0, 1, 0, 1, NO_CELL, 0];
const DECIDED: [u16; 6] = [1, 0, 1, 1, 0, 0];

fn by_id(ids: &[u64]) -> Decided<'_> {
    let records = ids.len();
    Decided {
        who: Who::Ids(ids, 0),
        cells: 2,
        cell_of: &CELLS[..records],
        columns: 2,
        decided: &DECIDED[..records],
    }
}

/// A holder of the classes of the ids from 100 on, with a share of mu^2 = 0.25 for its replies.
fn holder(classes: Vec<u16>, count: usize, unit_of: &[u32]) -> AttributesDivision {
    let ids = (100..).take(classes.len()).collect();
    let attributes = Attributes::new(ids, Sensitive::new(classes), count).unwrap();
    let list = UnitList::index(IDS.into_iter().zip(unit_of.iter().copied()));
    let mut division = AttributesDivision::by_id(attributes, list);
    let terms = Terms::Exact(Share { round: 0.25, table: 0.0 });
    division.open(&offer(Claim::Gaussian, 60.0, 1e-6), terms, Accounts::One).unwrap();
    division
}

const EACH: [u32; 6] = [0, 1, 2, 3, 4, 5];

/// The integers that are sent, before the noise, and what they cost.
fn sent_integers(division: &mut AttributesDivision) -> (Exact, f64) {
    let units = division.store().units().clone();
    let (price, exact) = counts_of(division, &units, &[by_id(&IDS)], request(1)).unwrap();
    (exact, price)
}

/// All stores of up to three classes and missing ones, records and units: the largest move of the
/// sent integers is the priced one, and attained.
#[test]
fn no_store_moves_more_than_the_price() {
    for (units, largest) in [(EACH, 1), ([0, 1, 0, 2, 2, 0], 5), ([0, 1, 2, 1, 0, 2], 2)] {
        for count in [2_u16, 3] {
            let people = usize::from(units.iter().max().copied().unwrap() as u16) + 1;
            let stores = u64::from(count + 1).pow(people as u32);
            let class = |code: u64, unit: u32| {
                let value = (code / u64::from(count + 1).pow(unit)) as u16 % (count + 1);
                if value == count { MISSING_CLASS } else { value }
            };
            let answers: Vec<(Exact, f64)> = (0..stores)
                .map(|code| {
                    let classes = units.iter().map(|&unit| class(code, unit)).collect();
                    sent_integers(&mut holder(classes, usize::from(count), &units))
                })
                .collect();
            let mut worst = 0.0_f64;
            for (code, (own, price)) in (0..stores).zip(&answers) {
                assert_eq!(*price, answers[0].1, "the price of a store tells its classes");
                assert!(*price <= 0.25, "{price}");
                for unit in 0..people as u32 {
                    let step = u64::from(count + 1).pow(unit);
                    let value = code / step % u64::from(count + 1);
                    for other in 0..value {
                        let neighbour = (code - (value - other) * step) as usize;
                        worst = worst.max(own.squared_distance(&answers[neighbour].0) / price);
                    }
                }
            }
            assert!(worst <= 1.0 + 1e-9 && worst > 1.0 - 1e-6, "{units:?} {count}: {worst}");
            // In counts: 1 for two classes, sqrt(2) for more, times the length of the largest unit.
            let mut own = holder(vec![0; 6], usize::from(count), &units);
            let reply = own.count(&[by_id(&IDS)], request(2), &mut Silence::default()).unwrap();
            let far = f64::from(largest) * if count == 2 { 1.0 } else { 2.0 };
            let deviation = reply.read().unwrap().deviation;
            assert!((deviation / (far / 0.25).sqrt() - 1.0).abs() < 1e-6, "{deviation}");
        }
    }
}

#[test]
fn without_noise_it_is_the_centred_table() {
    for count in [2_u16, 3] {
        let classes = vec![0, 1, 1, MISSING_CLASS, 1, count - 1];
        let mut division = holder(classes.clone(), usize::from(count), &EACH);
        let plain = offer(Claim::Nothing, 0.0, 0.0);
        // A store that has promised something never sends this.
        assert!(division.open(&plain, Terms::Open, Accounts::One).is_ok());
        let reply = division.count(&[by_id(&IDS)], request(1), &mut Silence::default()).unwrap();
        assert_eq!(reply.noise_kind(), None);
        let NoisyCounts { counts, deviation } = reply.read().unwrap();
        assert_eq!(deviation, 0.0);
        let rows = sent(usize::from(count));
        let mut expected = vec![0.0; 2 * rows.len() * 2];
        for (record, &class) in classes.iter().enumerate() {
            for (at, row) in rows.clone().enumerate() {
                let (cell, decision) = (CELLS[record], usize::from(DECIDED[record]));
                if cell == NO_CELL || class == MISSING_CLASS {
                    continue;
                }
                let own = f64::from(u8::from(usize::from(class) == row)) - 1.0 / f64::from(count);
                expected[(usize::from(cell) * rows.len() + at) * 2 + decision] += own;
            }
        }
        let close = counts.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(close, "{counts:?} {expected:?}");
    }
}

/// Whoever holds all, one or none of the announced records has the same noise and shape to send.
#[test]
fn a_reply_does_not_tell_what_is_held() {
    let replies: Vec<NoisyCounts> = [vec![0, 1, 1, 0, 1, 1], vec![1], vec![]]
        .into_iter()
        .map(|classes| {
            let mut division = holder(classes, 2, &EACH);
            let mut noise = SimulatedNoise::new(1, 2, 3);
            division.count(&[by_id(&IDS)], request(1), &mut noise).unwrap().read().unwrap()
        })
        .collect();
    for reply in &replies[1..] {
        assert_eq!(reply.deviation, replies[0].deviation);
        assert_eq!(reply.counts.len(), replies[0].counts.len());
        // The same seed: what differs is the classes held, halves of whole numbers.
        for (own, first) in reply.counts.iter().zip(&replies[0].counts) {
            let halves = 2.0 * (own - first);
            assert!((halves - halves.round()).abs() < 1e-6, "{halves}");
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_before_s_is_read() {
    let mut division = holder(vec![0; 6], 2, &EACH);
    let mut refused = |asked: &[Decided<'_>]| {
        let spent = division.receipts().len();
        let error = division.count(asked, request(9), &mut Silence::default()).unwrap_err();
        assert_eq!(division.receipts().len(), spent);
        error.to_string()
    };
    let all = by_id(&IDS);
    assert!(refused(&[]).contains("nobody"));
    assert!(refused(&[Decided { cells: 1, ..all }]).contains("a cell or a decision"));
    assert!(refused(&[Decided { columns: 1, ..all }]).contains("a cell or a decision"));
    assert!(refused(&[Decided { decided: &DECIDED[..5], ..all }]).contains("differ in number"));
    assert!(refused(&[all, all]).contains("announced twice"));
    assert!(refused(&[by_id(&[100, 999])]).contains("not in the holder's own list"));
    assert!(refused(&[Decided { who: Who::Positions(&[0; 6]), ..all }]).contains("order"));
    let other = Decided { cells: 3, ..by_id(&IDS[3..]) };
    assert!(refused(&[by_id(&IDS[..3]), other]).contains("a cell or a decision"));
}

#[test]
fn a_repeated_request_gets_the_same_bytes_and_costs_nothing() {
    let mut division = holder(vec![0, 1, 1, 0, 1, 1], 2, &EACH);
    let mut noise = SimulatedNoise::new(1, 2, 3);
    let mut ask = |number: u64| {
        let reply = division.count(&[by_id(&IDS)], request(number), &mut noise).unwrap();
        (reply.read().unwrap().counts, division.receipts().len())
    };
    let (first, again, other) = (ask(1), ask(1), ask(2));
    assert_eq!(first, again);
    assert_eq!(other.1, 2);
    assert_ne!(first.0, other.0);
}
