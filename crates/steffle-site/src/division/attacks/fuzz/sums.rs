//! Rounds: hostile questions in one house, and hostile handovers to holders elsewhere.

use std::sync::OnceLock;

use steffle_attributes::{Attributes, AttributesDivision, Sensitive, Share, Terms, UnitList};
use steffle_model::fairness::Notion;
use steffle_model::record::MISSING_CLASS;
use steffle_model::record::Rows;
use steffle_privacy::ledger::{Accounts, Charge, CheckedOffer, Cost};
use steffle_wire::{Batch, Question};

use super::Asked;
use super::hostile::Adversary;
use crate::division::attacks::fixture::{
    Case, Exact, LAYOUT, Silence, in_units_of_noise, request, squared_distance,
};
use crate::division::records::RecordsDivision;

/// A hostile question about a store, and a victim in it.
struct Attack {
    case: Case,
    question: Question,
    records: RecordsDivision,
    store: Vec<u16>,
    victim: u32,
}

/// Offers are checked once: a sampled one takes a while.
fn offers() -> &'static [CheckedOffer; 2] {
    static OFFERS: OnceLock<[CheckedOffer; 2]> = OnceLock::new();
    OFFERS.get_or_init(|| {
        let sampled = Case { terms: Case::poisson(), ..Case::base() };
        [Case::base().offer(), sampled.offer()]
    })
}

impl Attack {
    /// `None` where the set-up itself is refused (a start that cannot be whitened, ...).
    fn new(number: u64, elsewhere: bool) -> Option<Self> {
        let mut adversary = Adversary::new(number, u64::from(elsewhere));
        let mut case = case(&mut adversary, elsewhere);
        case.seed = number;
        let rows = rows(&mut adversary, &case);
        let mut records = case.of_rows(rows);
        let mut start = vec![0.0; records.model().parameters()];
        if adversary.chance(3) {
            start.iter_mut().for_each(|theta| *theta = adversary.within(1_048_576.0));
        }
        records.protect(&start, case.row_cap(), case.shaped).ok()?;
        let mut question = case.question();
        adversary.question(&mut question, case.classes);
        let units = case.unit_of();
        let victim = units[adversary.below(units.len())];
        let values = case.classes + 1;
        let mut class = |_| match adversary.below(values) {
            missing if missing == case.classes => MISSING_CLASS,
            class => class as u16,
        };
        let by_unit: Vec<u16> = (0..=*units.iter().max()?).map(&mut class).collect();
        let store = units.iter().map(|&unit| by_unit[unit as usize]).collect();
        Some(Self { case, question, records, store, victim })
    }

    /// The store with every value of the victim's class.
    fn stores(&self) -> Vec<Vec<u16>> {
        let units = self.case.unit_of();
        let values = (0..self.case.classes as u16).chain([MISSING_CLASS]);
        values
            .map(|class| {
                let own = self.store.iter().zip(&units);
                own.map(|(&old, &unit)| if unit == self.victim { class } else { old }).collect()
            })
            .collect()
    }

    fn offer(&self) -> &'static CheckedOffer {
        &offers()[usize::from(matches!(self.case.terms, Terms::Poisson { .. }))]
    }
}

fn case(adversary: &mut Adversary, elsewhere: bool) -> Case {
    let (model, labels) =
        adversary.one_of(&[("logistic", 2), ("logistic", 2), ("softmax", 3), ("mlp:3", 2)]);
    let records = match adversary.below(60) {
        0 => 1000,
        1..10 => 30,
        _ => 2 + adversary.below(7),
    };
    let units = adversary.chance(3).then(|| {
        let count = 1 + adversary.below(records.min(4));
        let mut units: Vec<u32> = (0..records).map(|_| adversary.below(count) as u32).collect();
        // Every number below the largest is some unit's.
        (0..count).for_each(|unit| units[unit] = unit as u32);
        units
    });
    let classes = adversary.one_of(&[2, 2, 3, 4]);
    let notion = match adversary.below(4) {
        0 | 1 => Notion::DemographicParity,
        2 => Notion::EqualizedOdds { labels },
        _ => Notion::EqualOpportunity { favourable: 1 },
    };
    let share =
        Share { round: 10.0_f64.powf(-3.0 * adversary.ordinary().abs()), table: Share::TABLE };
    let sampled = !elsewhere && adversary.chance(5);
    let terms = if sampled { Case::poisson() } else { Terms::Exact(share) };
    let whole = sampled || records < 10;
    let batch = if !whole && adversary.chance(3) { Batch::Block(2) } else { Batch::All };
    let shaped = !elsewhere && adversary.chance(3);
    let cap = adversary.chance(2).then(|| adversary.one_of(&[0.2, 0.5, 0.9]));
    Case { records, classes, labels, model, notion, cap, shaped, units, terms, batch, seed: 0 }
}

/// Rows up to the largest that are allowed, and sometimes beyond.
fn rows(adversary: &mut Adversary, case: &Case) -> Rows {
    let wild = adversary.chance(3);
    let number = |own: &mut Adversary| match (wild, own.below(6)) {
        (true, 0) => own.one_of(&[4096.0, -4096.0]) as f32,
        (true, 1) => own.within(4096.0) as f32,
        (true, 2) if own.chance(400) => 4097.0,
        _ => (3.0 * own.ordinary()) as f32,
    };
    let numeric = (0..3 * case.records).map(|_| number(adversary)).collect();
    let codes = (0..case.records).map(|_| 3 + adversary.below(18) as u32).collect();
    Rows::new(LAYOUT, case.records, numeric, codes).unwrap()
}

/// The largest squared distance of two replies over the price; a free reply must not move at all.
fn worst<T>(replies: &[T], priced: f64, distance: impl Fn(&T, &T) -> f64) -> f64 {
    let mut far = 0.0_f64;
    for (at, first) in replies.iter().enumerate() {
        for second in &replies[..at] {
            let squared = distance(first, second);
            far = if squared.is_nan() { f64::INFINITY } else { far.max(squared) };
        }
    }
    if far == 0.0 { 0.0 } else { far / priced }
}

/// Refusals must not depend on the class: all or none.
fn alike<T>(answers: Vec<Option<T>>, number: u64) -> Option<Vec<T>> {
    let refused = answers.iter().filter(|answer| answer.is_none()).count();
    assert!(refused == 0 || refused == answers.len(), "{number}: a refusal tells the class");
    answers.into_iter().collect()
}

pub(super) fn ask_beside(number: u64) -> Asked {
    let attack = Attack::new(number, false)?;
    let (case, question) = (&attack.case, &attack.question);
    let stores = attack.stores();
    // One account per unit in some, so that each unit's own charge is looked at too.
    let exact = matches!(case.terms, Terms::Exact(_)) && case.batch == Batch::All;
    let unit_count = case.unit_of().iter().max()? + 1;
    let alone = exact && number.is_multiple_of(4);
    let accounts = if alone { Accounts::Units(unit_count) } else { case.accounts() };
    let offer = attack.offer();
    let mut records = Some(attack.records);
    let mut priced = 0.0;
    let answers: Vec<Option<Exact>> = stores
        .iter()
        .map(|store| {
            let mut silo = case.silo(records.take()?, store);
            silo.attributes().open(offer, case.terms.clone(), accounts).unwrap();
            let answer = silo.price(question, 1, request(number)).ok().and_then(|price| {
                // A unit with an account of its own pays for itself, be it less than the dearest.
                priced = match (price.charge(), price.cost()) {
                    (Charge::Units(costs), _) => costs[attack.victim as usize],
                    (_, Cost::Gaussian { squared, .. } | Cost::Planned { squared, .. }) => squared,
                    _ => 0.0,
                };
                let paid =
                    price.reserve(silo.attributes().store(), &mut Silence::default()).ok()?;
                let (_, sums) = silo.sum(question, 1, &paid);
                let exact = Exact::of_sums(&paid, &sums);
                // What was summed must also be what can be sent.
                silo.attributes().store().release(paid, sums).unwrap();
                Some(exact)
            });
            records = Some(silo.into_records());
            answer
        })
        .collect();
    Some(worst(&alike(answers, number)?, priced, Exact::squared_distance))
}

pub(super) fn ask_elsewhere(number: u64) -> Asked {
    let mut attack = Attack::new(number, true)?;
    let mut adversary = Adversary::new(number, 3);
    let stores = attack.stores();
    let offer = attack.offer();
    let (case, question) = (&attack.case, &attack.question);
    let (_, mut handover) = attack.records.answer_and_hand_over(question, 1).ok()?;
    // Whatever a hostile silo hands over: slopes, scores, caps, hidden units.
    let mut numbers = handover.numbers_mut();
    if adversary.chance(2) && !numbers.is_empty() {
        for _ in 0..=adversary.below(4) {
            let at = adversary.below(numbers.len());
            *numbers[at] = adversary.within(1e99);
        }
    } else if adversary.chance(20) && !numbers.is_empty() {
        let at = adversary.below(numbers.len());
        *numbers[at] = adversary.number();
    }
    let ids: Vec<u64> = (100..100 + case.records as u64).collect();
    let mut priced = 0.0;
    let handovers = [handover];
    let answers: Vec<Option<Vec<f64>>> = stores
        .iter()
        .map(|store| {
            let sealed = Sensitive::new(store.clone());
            let attributes = Attributes::new(ids.clone(), sealed, case.classes).unwrap();
            let units = UnitList::index(ids.iter().copied().zip(case.unit_of()));
            let mut holder = AttributesDivision::by_id(attributes, units);
            case.open(&mut holder, offer);
            let answer = holder
                .answer(question, &handovers, request(number), &mut Silence::default())
                .ok()?;
            priced = Case::priced(&holder);
            Some(in_units_of_noise(&answer.read().unwrap(), case.classes, None))
        })
        .collect();
    let distance = |a: &Vec<f64>, b: &Vec<f64>| squared_distance(a, b);
    Some(worst(&alike(answers, number)?, priced, distance))
}
