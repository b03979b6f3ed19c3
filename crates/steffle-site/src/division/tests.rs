//! The attributes division against sums by hand, and what it refuses.

use std::sync::Arc;

use steffle_attributes::noise::{NoiseKind, SimulatedNoise};
use steffle_attributes::{Attributes, Sensitive};
use steffle_attributes::{
    AttributesDivision, NoiseScale, Released, Request, Sums, Terms, UnitList,
};
use steffle_model::fairness::Notion;
use steffle_model::model::ModelKind;
use steffle_model::record::{Layout, MISSING_CLASS, Records, Rows};
use steffle_model::scores::OutputScores;
use steffle_privacy::ledger::{Accounts, Claim, Offer};
use steffle_wire::{Batch, CellQuestion, Form, Handover, Question};

use super::Silo;
use super::records::RecordsDivision;

const LAYOUT: Layout = Layout { numeric: 2, categorical: 0, features: 2 };
const VALUES: [[f32; 2]; 5] = [[1.0, 2.0], [-1.0, 0.5], [0.0, 1.0], [2.0, -2.0], [0.5, 0.5]];
const LABELS: [u16; 5] = [0, 1, 1, 0, 1];

fn records(notion: Notion) -> RecordsDivision {
    let rows = Rows::new(LAYOUT, 5, VALUES.concat(), vec![]).unwrap();
    let records = Records::new((10..15).collect(), rows, LABELS.to_vec(), None, 2).unwrap();
    let objective = Arc::new(OutputScores { notion, classes: 2, labels: 2, sharpness: 1.0 });
    let model = Arc::from(ModelKind::Logistic.build(LAYOUT, 2).unwrap());
    RecordsDivision::new(records, objective, model, 1, 1).unwrap()
}

/// A holder of these ids under an offer that claims nothing.
fn holder(ids: &[u64], classes: &[u16]) -> AttributesDivision {
    let sealed = Sensitive::new(classes.to_vec());
    let attributes = Attributes::new(ids.to_vec(), sealed, 2).unwrap();
    let index = UnitList::index((10..15).chain([99]).zip(0..));
    let mut holder = AttributesDivision::by_id(attributes, index);
    open(&mut holder);
    holder
}

fn open(holder: &mut AttributesDivision) {
    let (method, mode, notion) = (String::new(), String::new(), String::new());
    let (rounds, epsilon, delta) = (1, 0.0, 0.0);
    let (claim, noise) = (Claim::Nothing, NoiseKind::Simulation);
    let offer =
        Offer { run: String::new(), method, mode, notion, rounds, epsilon, delta, claim, noise };
    holder.open(&offer.check().unwrap(), Terms::Open, Accounts::One).unwrap();
}

fn read(released: &Released<Sums>) -> steffle_wire::PrivateSums {
    released.read().unwrap()
}

fn question(cells: usize, form: Form) -> Question {
    let cell = CellQuestion { combinations: vec![0.2, 0.9, 1.4, 0.3], quadratic: vec![0.6, 0.7] };
    let theta = vec![0.3, -0.2, 0.1];
    Question { theta, cells: vec![cell; cells], form, batch: Batch::All, loss: false }
}

fn handed(notion: Notion, question: &Question) -> Handover {
    records(notion).answer_and_hand_over(question, 0).unwrap().1
}

fn noise() -> SimulatedNoise {
    SimulatedNoise::new(1, 2, 3)
}

/// p(1-p) and p of a record at the question's theta.
fn slope(record: usize) -> (f64, f64) {
    let [a, b] = VALUES[record].map(f64::from);
    let p = 1.0 / (1.0 + (-(0.3 * a - 0.2 * b + 0.1)).exp());
    (p * (1.0 - p), p)
}

fn input(record: usize) -> [f64; 3] {
    let [a, b] = VALUES[record].map(f64::from);
    [a, b, 1.0]
}

#[test]
fn sums_are_those_of_the_held_records() {
    let notion = Notion::EqualizedOdds { labels: 2 };
    let question = question(2, Form::Centred);
    // Holds records 0, 1 (class missing) and 4, and one that nobody announced.
    let mut holder = holder(&[14, 99, 10, 11], &[1, 0, 0, MISSING_CLASS]);
    let handovers = [handed(notion, &question)];
    let released = holder.answer(&question, &handovers, Request::default(), &mut noise()).unwrap();
    let sums = read(&released);
    let (mut tables, mut thetas) = ([[0.0; 4]; 2], [[0.0; 3]; 2]);
    // C_r - mean C = +-(0.6, -0.3)... of class 0 and 1, pulled back through (-g, g).
    let half = [(0.2 - 0.8) - (0.9 - 0.6), (1.4 - 0.8) - (0.3 - 0.6)];
    for (record, share) in [(0, [1.0, 0.0]), (1, [0.5, 0.5]), (4, [0.0, 1.0])] {
        let cell = usize::from(LABELS[record]);
        let (g, p) = slope(record);
        for class in 0..2 {
            tables[cell][class * 2] += (share[class] - 0.5) * (1.0 - p);
            tables[cell][class * 2 + 1] += (share[class] - 0.5) * p;
            for (sum, x) in thetas[cell].iter_mut().zip(input(record)) {
                *sum += share[class] * g * -half[class] * x;
            }
        }
    }
    for cell in 0..2 {
        let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near(&sums.tables[cell], &tables[cell]), "{sums:?} {tables:?}");
        assert!(near(&sums.thetas[cell], &thetas[cell]), "{sums:?} {thetas:?}");
    }
    assert_eq!(released.noise_kind(), None, "nothing was added, so nothing is claimed");
}

#[test]
fn the_clipped_form_clips_every_record() {
    let notion = Notion::DemographicParity;
    let limit = 0.05;
    let question = question(1, Form::Clipped { limit });
    let mut holder = holder(&[10, 11, 12, 13, 14], &[0, 1, 0, 1, 1]);
    let handovers = [handed(notion, &question)];
    let released = holder.answer(&question, &handovers, Request::default(), &mut noise()).unwrap();
    let reply = read(&released);
    let mut expected = [0.0; 3];
    for (record, class) in [0, 1, 0, 1, 1].into_iter().enumerate() {
        let c = [[0.4 - 0.6, 1.8 - 0.7], [2.8 - 0.6, 0.6 - 0.7]][class];
        let v = slope(record).0 * (c[1] - c[0]);
        let x = input(record);
        let norm = v.abs() * x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let scale = (limit / norm).min(1.0);
        expected.iter_mut().zip(x).for_each(|(sum, x)| *sum += scale * v * x);
    }
    assert_eq!(reply.thetas.len(), 1);
    let far = reply.thetas[0].iter().zip(expected).map(|(a, b)| (a - b).abs());
    assert!(far.fold(0.0, f64::max) < 1e-12);
}

#[test]
fn noise_shape_and_scale_do_not_tell_what_is_held() {
    let notion = Notion::DemographicParity;
    let question = question(1, Form::Centred);
    let handovers = [handed(notion, &question)];
    let scale = NoiseScale { theta: 0.5, table: vec![vec![0.1, 0.2]] };
    let mut replies = Vec::new();
    for (ids, classes) in [(vec![], vec![]), (vec![12], vec![1]), ((10..15).collect(), vec![0; 5])]
    {
        let mut holder = holder(&ids, &classes);
        let request = Request::default();
        let plain = holder.answer(&question, &handovers, request, &mut noise()).unwrap();
        holder.change_terms(Terms::OfMean(scale.clone().into())).unwrap();
        let noisy = holder.answer(&question, &handovers, request, &mut noise()).unwrap();
        assert_eq!(noisy.noise_kind(), Some(NoiseKind::Simulation));
        let flat = |sums: &steffle_wire::PrivateSums| -> Vec<f64> {
            sums.tables.iter().chain(&sums.thetas).flatten().copied().collect()
        };
        let added: Vec<f64> =
            flat(&read(&noisy)).iter().zip(flat(&read(&plain))).map(|(a, b)| a - b).collect();
        replies.push(added);
    }
    for other in &replies[1..] {
        let far = other.iter().zip(&replies[0]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(far < 1e-12, "the same noise for none, one and all");
    }
}

#[test]
fn handovers_that_do_not_fit_are_refused_before_s_is_read() {
    let notion = Notion::EqualizedOdds { labels: 2 };
    let two = question(2, Form::Centred);
    let handover = handed(notion, &two);
    let mut holder = holder(&[10], &[0]);
    let mut refuse = |question: &Question, handovers: &[Handover]| {
        let request = Request::default();
        holder.answer(question, handovers, request, &mut noise()).unwrap_err().to_string()
    };
    assert!(refuse(&two, &[]).contains("there is none"));
    // Nobody announced, and nothing asked: an answer about nothing, no panic.
    let layout = Layout { numeric: 2, categorical: 0, features: 2 };
    let nobody = Handover::empty(handover.blocks(), layout);
    let nothing = Question { cells: Vec::new(), ..two.clone() };
    for question in [&two, &nothing] {
        let mut silent = self::holder(&[10], &[0]);
        let handovers = [nobody.clone()];
        let answer = silent.answer(question, &handovers, Request::default(), &mut noise());
        assert!(read(&answer.unwrap()).tables.iter().flatten().all(|&value| value == 0.0));
    }
    let again = [handover.clone(), handover.clone()];
    assert!(refuse(&two, &again).contains("announced twice"));
    let one = [handover];
    assert!(refuse(&question(1, Form::Centred), &one).contains("a cell that the question"));
    let mut longer = two.clone();
    longer.theta.push(0.0);
    assert!(refuse(&longer, &one).contains("do not make up theta"));
    let mut infinite = two.clone();
    infinite.cells[0].combinations[0] = f64::INFINITY;
    assert!(refuse(&infinite, &one).contains("not finite"));
    let mut narrow = two;
    narrow.cells.iter_mut().for_each(|cell| {
        cell.combinations.truncate(2);
        cell.quadratic.truncate(1);
    });
    assert!(refuse(&narrow, &one).contains("columns"));
}

#[test]
fn divisions_of_one_silo_must_hold_the_same_records() {
    let attributes = |ids: Vec<u64>| {
        let sealed = Sensitive::new(vec![0; ids.len()]);
        Attributes::new(ids, sealed, 2).unwrap()
    };
    assert!(
        AttributesDivision::beside(attributes(vec![1, 2, 3]), &vec![1, 2, 3].into(), None).is_ok()
    );
    let refuse = |ids: Vec<u64>| match AttributesDivision::beside(
        attributes(ids),
        &vec![1, 2, 3].into(),
        None,
    ) {
        Err(error) => error.to_string(),
        Ok(_) => "accepted".to_owned(),
    };
    assert!(refuse(vec![1, 3, 2]).contains("position 1"));
    assert!(refuse(vec![1, 2]).contains("position 2"));
    let sealed = || Sensitive::new(vec![0, 1]);
    assert!(Attributes::new(vec![4, 4], sealed(), 2).is_err());
    assert!(Attributes::new(vec![4, 5, 6], sealed(), 2).is_err());
    // A class that the schema does not know is missing: a refusal would tell of it.
    assert!(Attributes::new(vec![4, 5], sealed(), 1).is_ok());
}

/// A silo that has answered questions of other forms, batches and noise says what one that is asked for the
/// first time says: nothing of a round is left in the memory that the next one gets.
#[test]
fn the_room_of_other_rounds_changes_no_bit() {
    let silo = || {
        let sealed = Sensitive::new(vec![0, 1, 0, 1, MISSING_CLASS]);
        let attributes = Attributes::new((10..15).collect(), sealed, 2).unwrap();
        let mut silo = Silo::new(records(Notion::DemographicParity), attributes).unwrap();
        open(silo.attributes());
        silo
    };
    let scale = NoiseScale { theta: 0.5, table: vec![vec![0.1, 0.2]] };
    let clipped = question(1, Form::Clipped { limit: 0.05 });
    let centred = question(1, Form::Centred);
    let no_cell = Question { cells: Vec::new(), ..centred.clone() };
    let some = Question { batch: Batch::Mini(2), ..clipped.clone() };
    let few = Question { batch: Batch::Mini(3), loss: true, ..centred.clone() };
    let asked = [&clipped, &some, &centred, &no_cell, &few, &centred, &clipped, &no_cell, &some];
    let mut kept = silo();
    for (round, question) in (1_u32..).zip(asked.repeat(2)) {
        let terms = match round % 3 {
            0 => Terms::Open,
            _ => Terms::OfMean(scale.clone().into()),
        };
        let answer = |silo: &mut Silo| {
            silo.attributes().change_terms(terms.clone()).unwrap();
            let noise = &mut SimulatedNoise::new(1, 2, u64::from(round));
            silo.answer(question, round, Request::default(), noise).unwrap()
        };
        let ((public, released), (first, fresh)) = (answer(&mut kept), answer(&mut silo()));
        assert_eq!((&public, read(&released)), (&first, read(&fresh)), "round {round}");
        kept.give_back(public, released);
    }
}
