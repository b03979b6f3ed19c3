//! Ways in which `s` was once read off real replies, or in which a promise could have been made too
//! cheaply, one test each.

use steffle_attributes::CappedError;
use steffle_attributes::{
    Attributes, AttributesDivision, AttributesDivisionError, PriceError, Sensitive, Share, Terms,
    UnitList,
};
use steffle_attributes::{Capped, mean_gram};
use steffle_model::decode::GAMMA;
use steffle_model::fairness::Notion;
use steffle_model::linear::{Features, Symmetric, Whitening, WhiteningError};
use steffle_model::record::MISSING_CLASS;
use steffle_model::record::{Layout, Rows, RowsError};
use steffle_privacy::ledger::{Accounts, Charge, Claim, MemoryLedger, NoiseKind, Offer, Refusal};
use steffle_privacy::{Event, Neighbours};
use steffle_wire::{Batch, Question};

use super::fixture::{
    Case, EXACT, Exact, Silence, in_units_of_noise, offer, request, squared_distance,
};
use crate::division::{SiloError, Who};

/// The largest squared move of the victim's class over the price, or why there is none.
fn ratio(case: &Case, question: &Question, victim: u32) -> Result<f64, SiloError> {
    let units = case.unit_of();
    let offer = case.offer();
    let mut records = Some(case.protected());
    let (mut replies, mut priced) = (Vec::new(), 0.0);
    for class in (0..case.classes as u16).chain([MISSING_CLASS]) {
        let store: Vec<u16> =
            units.iter().map(|&unit| if unit == victim { class } else { 0 }).collect();
        let mut silo = case.silo(records.take().unwrap(), &store);
        case.open(silo.attributes(), &offer);
        let price = silo.price(question, 1, request(1))?;
        let paid = price
            .reserve(silo.attributes().store(), &mut Silence::default())
            .map_err(AttributesDivisionError::from)?;
        let (_, sums) = silo.sum(question, 1, &paid);
        replies.push(Exact::of_sums(&paid, &sums));
        silo.attributes().store().release(paid, sums)?;
        priced = Case::priced(silo.attributes());
        records = Some(silo.into_records());
    }
    let pairs = replies.iter().flat_map(|a| replies.iter().map(move |b| a.squared_distance(b)));
    let most = pairs.fold(0.0, f64::max);
    Ok(if most == 0.0 { 0.0 } else { most / priced })
}

/// `C_1 - C_0` is infinite in both columns, what is pulled back is NaN, and the folds of the price
/// dropped it: priced at 0.
#[test]
fn differences_that_overflow_are_refused() {
    let odds = Case { notion: Notion::EqualizedOdds { labels: 2 }, ..Case::base() };
    for case in [odds, Case { classes: 3, records: 4, ..Case::base() }] {
        let mut question = case.question();
        for cell in &mut question.cells {
            let (first, others) = cell.combinations.split_at_mut(2);
            first.fill(-1.7e308);
            others.fill(1.7e308);
        }
        let refused = ratio(&case, &question, 0).unwrap_err();
        assert!(matches!(
            refused,
            SiloError::Attributes(AttributesDivisionError::Price(PriceError::Bound(_)))
        ));
    }
}

/// A part common to both columns leaves only rounding of the pullback, and the price rounded
/// elsewhere than the sum: a victim priced 0 moved by 1.8e9 deviations.
#[test]
fn cancellation_is_priced_as_it_is_summed() {
    let case = Case { records: 6, ..Case::base() };
    let mut question = case.question();
    for common in [0.0, 1e6, 1e9, 1e12] {
        let numbers = [0.440, 2.158, 1.870, 3.587].map(|number| number + common);
        question.cells[0].combinations = numbers.to_vec();
        for turn in 0..200_u32 {
            // Parameters of up to 324 saturate most records and leave some their slopes.
            let theta = |at: usize| f64::from((turn * 7919 + at as u32 * 104_729) % 649) - 324.0;
            question.theta = (0..question.theta.len()).map(theta).collect();
            let ratio = ratio(&case, &question, turn % 6).unwrap();
            assert!(ratio <= 1.0 + 1e-9, "{common} {turn}: {ratio}");
        }
    }
    // Beyond what a question may contain nothing is answered.
    question.cells[0].combinations.fill(1e14);
    assert!(ratio(&case, &question, 0).is_err());
}

/// The mean row overflowed, or one record's output was NaN: missing was told from present.
#[test]
fn numbers_that_overflow_on_the_way_are_refused() {
    let case = Case::base();
    let mut question = case.question();
    question.cells[0].combinations.fill(1.7e308);
    assert!(ratio(&case, &question, 0).is_err());
    let mut question = case.question();
    question.theta[0] = 1.7e308;
    question.theta[1] = -1.7e308;
    assert!(ratio(&case, &question, 0).is_err());
}

/// A positive matrix whose inverse factor grows by 2^26 a row: entries of infinity minus infinity,
/// and a length of `max(NaN, 0) = 0` hid its record.
#[test]
fn a_gram_matrix_whose_inverse_is_not_finite_is_refused() {
    let size = 45;
    let lower = |i: usize, j: usize| match i - j {
        0 => 1.0,
        1 => 26_f64.exp2(),
        _ => 0.0,
    };
    let chain = Symmetric::from_lower(size, |i, j| {
        (0..=j).filter(|&k| k + 1 >= i).map(|k| lower(i, k) * lower(j, k)).sum()
    });
    assert_eq!(Whitening::new(chain.clone(), 0.0).unwrap_err(), WhiteningError::Range);
    // The same once the ridge of the features is on its diagonal: numbers below 2^53, exactly.
    let ridge = |i: usize, j: usize| if i == j { GAMMA } else { 0.0 };
    let chain = Symmetric::from_lower(size, |i, j| chain.at(i, j) - ridge(i, j));
    let layout = Layout { numeric: size - 1, categorical: 0, features: size - 1 };
    let rows = Rows::new(layout, 2, vec![1.0; 2 * (size - 1)], vec![]).unwrap();
    let refused = Capped::with_gram(Features::whole(&rows), chain, None, |cap| cap);
    assert_eq!(refused.unwrap_err(), CappedError::Whitening(WhiteningError::Range));
}

/// A matrix of fewer features than records have was read past its end.
#[test]
fn a_gram_matrix_of_another_size_is_refused() {
    let layout = Layout { numeric: 2, categorical: 0, features: 2 };
    let rows = Rows::new(layout, 2, vec![1.0; 4], vec![]).unwrap();
    for size in [1, 2, 4] {
        let gram = Symmetric::from_lower(size, |i, j| f64::from(u8::from(i == j)));
        let refused = Capped::with_gram(Features::whole(&rows), gram, None, |cap| cap);
        assert_eq!(refused.unwrap_err(), CappedError::Size { found: size, expected: 3 });
    }
}

/// Holders elsewhere priced the rounding of a unit's 1,000 rows as one row's.
#[test]
fn all_rows_of_a_unit_are_priced_where_they_are_handed_over() {
    let case = Case { records: 1000, units: Some(vec![0; 1000]), ..Case::base() };
    let question = case.question();
    let mut division = case.protected();
    let (_, handover) = division.answer_and_hand_over(&question, 1).unwrap();
    let ids: Vec<u64> = (100..1100).collect();
    let mut priced = 0.0;
    let replies = [0, 1, MISSING_CLASS].map(|class| {
        let sealed = Sensitive::new(vec![class; 1000]);
        let attributes = Attributes::new(ids.clone(), sealed, 2).unwrap();
        let units = UnitList::index(ids.iter().map(|&id| (id, 0)));
        let mut holder = AttributesDivision::by_id(attributes, units);
        case.open(&mut holder, &case.offer());
        let handovers = [handover.clone()];
        let answer = holder.answer(&question, &handovers, request(1), &mut Silence::default());
        priced = Case::priced(&holder);
        in_units_of_noise(&answer.unwrap().read().unwrap(), 2, None)
    });
    let ratio = squared_distance(&replies[0], &replies[1]) / priced;
    assert!(ratio <= 1.0 + 1e-9 && ratio > 0.01, "{ratio}");
}

/// Slopes near the largest number: their sum over two columns was NaN.
#[test]
fn a_hostile_handover_is_refused() {
    let case = Case::base();
    let question = case.question();
    let (_, honest) = case.protected().answer_and_hand_over(&question, 1).unwrap();
    for wrong in [1.7e308, f64::NAN, f64::INFINITY] {
        let mut handover = honest.clone();
        // The first numbers are slopes of the first record.
        handover.numbers_mut().into_iter().take(2).for_each(|number| *number = wrong);
        let units = UnitList::index((100..105).zip(0..));
        let mut holder = AttributesDivision::by_id(case.attributes(&[0, 1, 0, 1, 0]), units);
        case.open(&mut holder, &case.offer());
        let refused = holder.answer(&question, &[handover], request(1), &mut Silence::default());
        let refused = refused.unwrap_err();
        assert!(matches!(refused, AttributesDivisionError::Price(_)), "{refused}");
    }
}

/// A row that names a level 64 times moved 7.3 times its price.
#[test]
fn a_row_that_names_a_level_twice_is_refused() {
    let layout = Layout { numeric: 0, categorical: 64, features: 64 };
    let rows = Rows::new(layout, 1, vec![], vec![7; 64]).unwrap();
    assert_eq!(
        steffle_attributes::reach(&rows),
        Err(PriceError::Bound("a row that names a level twice"))
    );
    let absent = Rows::new(layout, 1, vec![], vec![layout.absent(); 64]).unwrap();
    assert_eq!(steffle_attributes::reach(&absent), Ok(4096));
    let far = Layout { numeric: 1, categorical: 0, features: 1 };
    let far = |x: f32| steffle_attributes::reach(&Rows::new(far, 1, vec![x], vec![]).unwrap());
    assert_eq!(far(-4096.0), Ok(1 << 24));
    assert!(far(4096.5).is_err());
}

/// A received cap of -1 made the bound 0: moved 3.5e13 deviations.
#[test]
fn a_cap_that_is_not_positive_is_refused() {
    let rows = Case { records: 8, ..Case::base() }.rows();
    for wrong in [-1.0, 0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let features = Features::whole(&rows);
        let gram = mean_gram(&features);
        let refused = Capped::with_gram(features, gram, None, |_| wrong).unwrap_err();
        assert_eq!(refused, CappedError::Range, "{wrong}");
    }
}

/// The same ids from 100 silos moved 10 times what one was charged.
#[test]
fn ids_that_two_silos_announce_are_refused() {
    let rows = Case { records: 8, ..Case::base() }.rows();
    let capped = Capped::new(Features::whole(&rows), None).unwrap();
    let ids: Vec<u64> = (0..8).collect();
    let attributes = Attributes::new(ids.clone(), Sensitive::new(vec![1; 8]), 2).unwrap();
    let mut holder = AttributesDivision::by_id(attributes, UnitList::index((0..8).zip(0..)));
    let share = Share { round: 0.1, table: 0.0 };
    holder.open(&offer(Claim::Gaussian, 8.0, 1e-6), Terms::Exact(share), Accounts::One).unwrap();
    let silos = vec![(&capped, Who::Ids(&ids, 0)); 100];
    let refused = holder.release_features(&silos, request(1), &mut Silence::default()).unwrap_err();
    assert!(refused.to_string().contains("announced twice"), "{refused}");
    let unknown = [(&capped, Who::Ids(&[1, 2, 3, 4, 5, 6, 7, 99], 0))];
    let refused =
        holder.release_features(&unknown, request(1), &mut Silence::default()).unwrap_err();
    assert!(refused.to_string().contains("holder's own list"), "{refused}");
}

/// A unit announced in two halves was charged to the two blocks of their first ids
/// (`units::tests::a_unit_announced_in_halves_is_in_one_block`).
#[test]
fn a_unit_is_charged_to_its_block() {
    let case = Case { records: 2, units: Some(vec![0, 0]), batch: Batch::Block(2), ..Case::base() };
    let mut silo = case.silo(case.division(), &[0, 0]);
    silo.attributes().open(&case.offer(), EXACT, Accounts::Blocks(2)).unwrap();
    let price = silo.price(&case.question(), 1, request(1)).unwrap();
    assert!(matches!(price.charge(), Charge::Block { of: 2, .. }), "{:?}", price.charge());
}

/// A number beyond the features lay on the bias: one coordinate moved by x + 1, priced as two of x
/// and 1. Moved 1.41 times its price.
#[test]
fn a_layout_with_a_number_on_the_bias_is_refused() {
    let layout = Layout { numeric: 3, categorical: 0, features: 2 };
    let refused = Rows::new(layout, 1, vec![0.0, 0.0, 1.0], vec![]).unwrap_err();
    assert_eq!(refused, RowsError::Layout { layout });
    let wrapping = Layout { numeric: 0, categorical: 1, features: u32::MAX as usize };
    assert!(Rows::new(wrapping, 1, vec![], vec![0]).is_err());
}

/// With three classes the curve for +a and -a promises too much, and a coin that is not the plan's
/// amplifies nothing.
#[test]
fn a_sampled_grant_is_for_its_own_coin_and_curve() {
    let case = Case { classes: 3, terms: Case::poisson(), ..Case::base() };
    let Claim::Sampled(event) = case.offer().offer().claim else { panic!() };
    let centred = Event { neighbours: Neighbours::ReplaceCentred, ..event };
    let mut silo = case.silo(case.division(), &[0, 1, 2, 0, 1]);
    let attributes = silo.attributes();
    let other = offer(Claim::Sampled(centred), 60.0, 1e-6);
    let refused = |result: Result<(), Refusal>| assert_eq!(result, Err(Refusal::Kind));
    refused(attributes.open(&other, Case::poisson(), Accounts::One));
    refused(attributes.open(&case.offer(), Terms::Open, Accounts::One));
    attributes.open(&case.offer(), Case::poisson(), Accounts::One).unwrap();
    refused(attributes.change_terms(Case::poisson()));
    refused(attributes.change_terms(Terms::Open));
    // Neither does a grant that claims nothing become one that does.
    attributes.open(&offer(Claim::Nothing, 0.0, 0.0), Terms::Open, Accounts::One).unwrap();
    refused(attributes.change_terms(EXACT));
    attributes.change_terms(Terms::Open).unwrap();
}

/// No account, or accounts of fewer units than there are, pay for nobody.
#[test]
fn accounts_are_of_all_units_of_the_store() {
    let case = Case::base();
    let mut silo = case.silo(case.division(), &[0, 1, 1, 0, 1]);
    for wrong in [0, 4, 6] {
        let refused = silo.attributes().open(&case.offer(), EXACT, Accounts::Units(wrong));
        assert_eq!(refused, Err(Refusal::Kind), "{wrong}");
    }
    silo.attributes().open(&case.offer(), EXACT, Accounts::Units(5)).unwrap();
}

/// A store that is asked by id was asked by position, and its units were forgotten.
#[test]
fn a_store_that_is_asked_by_id_is_not_asked_by_position() {
    let rows = Case { records: 8, ..Case::base() }.rows();
    let capped = Capped::new(Features::whole(&rows), None).unwrap();
    let ids: Vec<u64> = (0..8).collect();
    let attributes = Attributes::new(ids.clone(), Sensitive::new(vec![1; 8]), 2).unwrap();
    let units = UnitList::index(ids.iter().map(|&id| (id, 0)));
    let mut holder = AttributesDivision::by_id(attributes, units);
    let share = Share { round: 0.1, table: 0.0 };
    holder.open(&offer(Claim::Gaussian, 8.0, 1e-6), Terms::Exact(share), Accounts::One).unwrap();
    let positions: Vec<u32> = (0..8).collect();
    let asked = [(&capped, Who::Positions(&positions))];
    let refused = holder.release_features(&asked, request(1), &mut Silence::default()).unwrap_err();
    assert!(refused.to_string().contains("by id"), "{refused}");
}

/// Another ledger would forget what a private run has spent.
#[test]
fn a_store_with_a_private_run_keeps_its_ledger() {
    let case = Case::base();
    let mut silo = case.silo(case.division(), &[0, 1, 1, 0, 1]);
    case.open(silo.attributes(), &case.offer());
    silo.attributes().set_ledger(Box::new(MemoryLedger::default())).unwrap();
    let name = || "test".to_owned();
    let (method, mode, notion, noise) = (name(), name(), name(), NoiseKind::Secure);
    let (rounds, epsilon, delta, claim) = (10, 60.0, 1e-6, Claim::Gaussian);
    let offer =
        Offer { run: String::new(), method, mode, notion, rounds, epsilon, delta, claim, noise };
    case.open(silo.attributes(), &offer.check().unwrap());
    let refused = silo.attributes().set_ledger(Box::new(MemoryLedger::default()));
    assert_eq!(refused, Err(Refusal::Revealed { already: false }));
}
