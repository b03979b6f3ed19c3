//! Messages survive the trip; damaged ones are refused, never a panic.

use proptest::prelude::*;
use steffle_model::linear::Symmetric;
use steffle_model::model::{Block, Factor, Inputs};
use steffle_model::record::{Layout, Rows};
use steffle_model::scores::{Candidates, Who};

use super::*;

const ENVELOPE: Envelope = Envelope {
    run: RunId([7; 16]),
    schema: SchemaHash([9; 32]),
    from: NodeId(2),
    to: NodeId(5),
    sequence: 40,
    round: 3,
    kind: Kind::Round,
    part: Part::Letter,
};

fn read<T: Decode>(bytes: &[u8]) -> Result<T, CodecError> {
    let mut reader = open(&ENVELOPE, bytes)?;
    let value = T::decode(&mut reader)?;
    reader.end()?;
    Ok(value)
}

fn question() -> Question {
    Question {
        theta: vec![0.5, -1.0, f64::MIN_POSITIVE],
        cells: vec![CellQuestion { combinations: vec![1.0; 4], quadratic: vec![0.25; 2] }; 2],
        form: Form::Clipped { limit: 1.5 },
        batch: Batch::Mini(256),
        loss: true,
    }
}

fn handover() -> Handover {
    let layout = Layout { numeric: 1, categorical: 1, features: 3 };
    let blocks =
        [Block { offset: 0, inputs: 3, outputs: 2 }, Block { offset: 8, inputs: 2, outputs: 1 }];
    let rows = Rows::new(layout, 2, vec![0.5, -0.5], vec![1, 2]).unwrap();
    let (first, second, hidden) = ([0.1; 8], [0.2; 4], [0.3; 4]);
    let factors = [
        Factor { block: blocks[0], slopes: &first, inputs: Inputs::Rows(&rows) },
        Factor { block: blocks[1], slopes: &second, inputs: Inputs::Dense(&hidden) },
    ];
    let mut handover = Handover::empty(&blocks, layout);
    let scores = [0.25, 0.75, 0.5, 0.5];
    let who = Who::Positions(&[1, 0]);
    let (cells, caps) = (&[0, 1], &[0.5, 1.0]);
    handover.push(&Candidates { who, cells, scores: &scores, caps, factors: &factors }, &[40, 41]);
    handover
}

fn public_sums() -> PublicSums {
    let cell = CellSums { count: 4.0, scores: vec![1.0, 2.0], theta: vec![0.0; 3] };
    PublicSums { held: 9, batch: 4, loss: 1.25, gradient: vec![1.0; 3], cells: vec![cell; 2] }
}

fn feature_rows() -> FeatureRows {
    let layout = Layout { numeric: 1, categorical: 1, features: 3 };
    FeatureRows {
        ids: vec![40, 41],
        rows: Rows::new(layout, 2, vec![0.5, -0.5], vec![1, 2]).unwrap(),
        cells: 1,
        cell_of: vec![0, steffle_model::scores::NO_CELL],
        agreed: Some(Agreed { gram: Symmetric::from_lower(5, |i, j| (i + j) as f64), cap: 1.5 }),
    }
}

fn decisions() -> Decisions {
    let cell_of = vec![0, steffle_model::scores::NO_CELL, 1];
    Decisions { ids: vec![40, 41, 43], cells: 2, cell_of, columns: 3, decided: vec![0, 2, 1] }
}

#[test]
fn decisions_that_do_not_fit_are_refused() {
    let read_again = |change: &dyn Fn(&mut Decisions)| {
        let mut told = decisions();
        change(&mut told);
        read::<Decisions>(&seal(&ENVELOPE, &told))
    };
    assert_eq!(read_again(&|_| {}).unwrap(), decisions());
    let refused = |change: &dyn Fn(&mut Decisions)| read_again(change).unwrap_err().to_string();
    assert!(refused(&|told| told.cell_of[0] = 2).contains("a cell that there is not"));
    assert!(refused(&|told| told.decided[0] = 3).contains("a decision that there is not"));
    assert!(refused(&|told| told.decided.truncate(2)).contains("differ in number"));
    assert!(refused(&|told| told.ids.truncate(2)).contains("differ in number"));
}

fn pooled_sums() -> PooledSums {
    let matrix = Symmetric::from_lower(3, |i, j| (i * 3 + j) as f64);
    PooledSums {
        numbers: vec![1.0, 2.0],
        vectors: vec![vec![0.5; 3]; 2],
        matrix,
        shares: vec![vec![3, -(1 << 100)]],
    }
}

#[test]
fn rows_and_pooled_sums_that_do_not_fit_are_refused() {
    let refused = |change: &dyn Fn(&mut FeatureRows)| {
        let mut rows = feature_rows();
        change(&mut rows);
        read::<FeatureRows>(&seal(&ENVELOPE, &rows)).unwrap_err().to_string()
    };
    assert!(refused(&|rows| rows.ids[1] = 40).contains("stands twice"));
    assert!(refused(&|rows| rows.cell_of[0] = 1).contains("in a cell"));
    assert!(refused(&|rows| rows.cell_of.truncate(1)).contains("differ in number"));
    let small = Agreed { gram: Symmetric::zeros(3), cap: 1.0 };
    assert!(refused(&|rows| rows.agreed = Some(small.clone())).contains("agreed matrix"));
    let mut sums = Summed::of(&pooled_sums(), 2).unwrap();
    assert!(sums.add(&Summed::of(&PooledSums::of(vec![1.0, 2.0]), 2).unwrap()).is_err());
    let nan = PooledSums { numbers: vec![f64::NAN], ..pooled_sums() };
    assert!(Summed::of(&nan, 2).is_err());
}

/// What is read of a part, sent and added to nothing.
fn total<T: Summand>(sum: &T) -> T::Total {
    let part = seal(&ENVELOPE, &Summed::of(sum, 3).unwrap());
    read::<Summed<T>>(&part).unwrap().total().unwrap()
}

#[test]
fn means_of_all_silos_come_from_sums_that_add_up() {
    // Two silos of 10 and 30 records, two labels, two classes.
    let cell = |records: f64, rate: f64, masses: [f64; 2], covariance: f64| GapCell {
        records,
        rates: vec![1.0 - rate, rate],
        masses: masses.to_vec(),
        covariances: vec![covariance, -covariance, -covariance, covariance],
        numbers: Vec::new(),
        variances: vec![0.5; 2],
        told: Told { signals: vec![rate; 4], variances: vec![0.25; 2] },
    };
    let part = |cell| {
        let energy = Some(steffle_model::decode::Energy { all: 3.0, noise: 1.0 });
        let sums = GapSums {
            models: vec![vec![cell]],
            expected: vec![],
            energy,
            messages: 1.0,
            unfinished: 1.0,
        };
        Summed::of(&sums, 2).unwrap()
    };
    let mut sum = part(cell(10.0, 0.5, [4.0, 6.0], 1.0));
    sum.add(&part(cell(30.0, 0.25, [20.0, 10.0], -2.0))).unwrap();
    let GapSums { models, energy, messages, .. } = sum.total().unwrap();
    let total = &models[0][0];
    assert_eq!((total.records, total.rates[1], messages), (40.0, 12.5 / 40.0, 2.0));
    assert_eq!((&total.masses[..], total.variances[0]), (&[24.0, 16.0][..], 1.0));
    assert_eq!(total.told, Told { signals: vec![0.75; 4], variances: vec![0.5; 2] });
    // About the common rate, by hand: -1 + 4 (.5 - .3125) + 2 + 20 (.25 - .3125) of class 0.
    assert!((total.covariances[1] - 0.5).abs() < 1e-12, "{:?}", total.covariances);
    assert_eq!(energy.map(|energy| (energy.all, energy.noise)), Some((6.0, 2.0)));
}

#[test]
fn messages_survive_the_trip() {
    assert_eq!(read::<FeatureRows>(&seal(&ENVELOPE, &feature_rows())).unwrap(), feature_rows());
    assert_eq!(total(&pooled_sums()), pooled_sums());
    assert_eq!(read::<Question>(&seal(&ENVELOPE, &question())).unwrap(), question());
    assert_eq!(total(&public_sums()), public_sums());
    let sent = read::<Handover>(&seal(&ENVELOPE, &handover())).unwrap();
    assert_eq!(sent, handover());
    assert_eq!(sent.ids(), [41, 40]);
}

#[test]
fn an_envelope_that_was_not_expected_is_refused_and_named() {
    let refused = |change: &dyn Fn(&mut Envelope)| {
        let mut envelope = ENVELOPE;
        change(&mut envelope);
        open(&ENVELOPE, &seal(&envelope, &question())).unwrap_err().to_string()
    };
    assert!(refused(&|e| e.round = 4).contains("round 4"));
    assert!(refused(&|e| e.sequence = 41).contains("trip 41"));
    assert!(refused(&|e| e.from = NodeId(3)).contains("node 3 to node 5"));
    assert!(refused(&|e| e.to = NodeId::SERVER).contains("to the server"));
    assert!(refused(&|e| e.kind = Kind::Loss).contains("Loss"));
    assert!(refused(&|e| e.part = Part::Reply).contains("Reply"));
    assert!(refused(&|e| e.run = RunId([8; 16])).contains("another run"));
    assert!(refused(&|e| e.schema = SchemaHash([8; 32])).contains("another schema"));
    let mut bytes = seal(&ENVELOPE, &question());
    let mut writer = Writer::default();
    question().encode(&mut writer);
    assert_eq!(payload(&bytes), writer.finish());
    bytes[4] = VERSION as u8 + 1;
    assert_eq!(open(&ENVELOPE, &bytes).unwrap_err(), CodecError::Version { found: VERSION + 1 });
    bytes[0] = b'X';
    assert_eq!(open(&ENVELOPE, &bytes).unwrap_err(), CodecError::Magic);
}

#[test]
fn a_repeated_id_is_refused() {
    let mut twice = handover();
    twice.append(&handover());
    let error = read::<Handover>(&seal(&ENVELOPE, &twice)).unwrap_err();
    assert!(error.to_string().contains("stands twice"), "{error}");
}

#[test]
fn questions_that_do_not_fit_are_refused() {
    let check = |question: &Question| question.check(3, 2, 2, 2).map_err(|e| e.to_string());
    assert_eq!(check(&question()), Ok(()));
    let refused = |change: &dyn Fn(&mut Question)| {
        let mut question = question();
        change(&mut question);
        check(&question).unwrap_err()
    };
    assert!(refused(&|q| q.theta.push(0.0)).contains("theta has 4 numbers"));
    assert!(refused(&|q| q.theta[1] = f64::NAN).contains("not finite"));
    assert!(refused(&|q| q.cells[1].combinations[0] = f64::INFINITY).contains("not finite"));
    assert!(refused(&|q| q.form = Form::Clipped { limit: f64::NAN }).contains("not finite"));
    assert!(refused(&|q| q.cells.truncate(1)).contains("cells are not 2"));
    assert!(refused(&|q| q.cells[0].quadratic.truncate(1)).contains("cells are not 2"));
    assert!(refused(&|q| q.batch = Batch::Mini(0)).contains("batch of 0"));
}

proptest! {
    /// Damage of any kind gives a value of the right shape or an error, never a panic.
    #[test]
    fn damaged_bytes_are_refused_or_read(
        flips in prop::collection::vec((0..600_usize, any::<u8>()), 1..6), cut in 0..700_usize,
    ) {
        let messages = [
            seal(&ENVELOPE, &question()),
            seal(&ENVELOPE, &Summed::of(&public_sums(), 3).unwrap()),
            seal(&ENVELOPE, &handover()),
            seal(&ENVELOPE, &feature_rows()),
            seal(&ENVELOPE, &decisions()),
            seal(&ENVELOPE, &Summed::of(&pooled_sums(), 3).unwrap()),
        ];
        for mut bytes in messages {
            for &(at, value) in &flips {
                let length = bytes.len();
                bytes[at % length] = value;
            }
            bytes.truncate(cut.max(1));
            let _ = read::<Question>(&bytes);
            let _ = read::<Summed<PublicSums>>(&bytes).map(|sums| sums.total());
            let _ = read::<Summed<PrivateSums>>(&bytes).map(|sums| sums.total());
            let _ = read::<Summed<FeatureReply>>(&bytes).map(|sums| sums.total());
            let _ = read::<Summed<FitSums>>(&bytes).map(|sums| sums.total());
            let _ = read::<Summed<GapSums>>(&bytes).map(|sums| sums.total());
            let _ = read::<Summed<PassSums>>(&bytes).map(|sums| sums.total());
            let _ = read::<PassQuestion>(&bytes);
            let _ = read::<PrivateSums>(&bytes);
            let _ = read::<FeatureRows>(&bytes);
            let _ = read::<Decisions>(&bytes);
            let _ = read::<FeatureSums>(&bytes);
            let _ = read::<Summed<PooledSums>>(&bytes).map(|sums| sums.total());
            if let Ok(handover) = read::<Handover>(&bytes) {
                let factors = handover.factors();
                let candidates = handover.candidates(&factors, 0);
                prop_assert_eq!(candidates.cells.len(), handover.len());
            }
        }
    }

    #[test]
    fn every_truncation_is_refused(cut in 0.0..1.0_f64) {
        let messages =
            [seal(&ENVELOPE, &question()), seal(&ENVELOPE, &handover()), seal(&ENVELOPE, &feature_rows())];
        for bytes in messages {
            let short = &bytes[..(bytes.len() as f64 * cut) as usize];
            prop_assert!(read::<Question>(short).is_err());
            prop_assert!(read::<Handover>(short).is_err());
            prop_assert!(read::<FeatureRows>(short).is_err());
        }
    }
}

/// Rows without numbers and levels take no bytes: as many as one likes could be claimed, and a layer
/// without outputs divides by nothing.
#[test]
fn a_short_message_does_not_claim_much() {
    let layout = Layout { numeric: 0, categorical: 0, features: 0 };
    let blocks = [Block { offset: 0, inputs: 0, outputs: 1 }];
    let honest = seal(&ENVELOPE, &Handover::empty(&blocks, layout));
    assert!(read::<Handover>(&honest).is_ok());
    // The number of rows stands before the two empty lists of numbers and codes.
    let at = honest.len() - 24;
    let mut many = honest;
    many[at..at + 8].copy_from_slice(&(1_u64 << 39).to_le_bytes());
    let refused = read::<Handover>(&many).unwrap_err().to_string();
    assert!(refused.contains("549755813888 rows for 0 ids"), "{refused}");
    let none = [Block { offset: 0, inputs: 0, outputs: 0 }];
    let refused = read::<Handover>(&seal(&ENVELOPE, &Handover::empty(&none, layout))).unwrap_err();
    assert!(refused.to_string().contains("no outputs"), "{refused}");
}

#[test]
fn terms_that_mean_nothing_are_refused() {
    let read_terms = |round: f64, table: f64| {
        read::<Terms>(&seal(&ENVELOPE, &Terms::Exact(Share { round, table })))
    };
    assert!(read_terms(0.1, 0.15).is_ok());
    for round in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
        assert!(read_terms(round, 0.15).unwrap_err().to_string().contains("above 0"));
    }
    for table in [f64::NAN, -0.1, 1.5] {
        assert!(read_terms(0.1, table).unwrap_err().to_string().contains("from 0 to 1"));
    }
}

/// A round that is read in the room of another is the one that was written, whichever was there before.
#[test]
fn rounds_are_read_the_same_in_any_room() {
    use std::borrow::Cow;

    let noise = |table: Vec<Vec<f64>>| Some(Cow::Owned(NoiseScale { theta: 0.5, table }));
    let one = CellQuestion { combinations: vec![2.0; 6], quadratic: vec![0.5; 3] };
    let centred = Question {
        theta: vec![3.0; 5],
        cells: vec![one],
        form: Form::Centred,
        batch: Batch::All,
        loss: false,
    };
    let nothing = Question { theta: Vec::new(), cells: Vec::new(), ..centred.clone() };
    let rounds = [
        (question(), noise(vec![vec![1.0, 2.0], vec![3.0]])),
        (centred, noise(vec![vec![4.0]])),
        (nothing, None),
        (question(), noise(Vec::new())),
    ];
    let rounds = rounds.map(|(question, noise)| Round {
        question: Cow::Owned(question),
        noise,
        share: None,
    });
    for old in &rounds {
        for new in &rounds {
            let mut writer = Writer::default();
            new.encode(&mut writer);
            let bytes = writer.finish();
            let read = decode_in(Some(old.clone()), Reader::new(&bytes)).unwrap();
            assert_eq!(&read, new);
            assert_eq!(&decode_in::<Round<'_>>(None, Reader::new(&bytes)).unwrap(), new);
            let cut = Reader::new(&bytes[..bytes.len() - 1]);
            assert!(decode_in(Some(old.clone()), cut).is_err());
        }
    }
}
