//! Five people that the traces of the baselines are worked on.

use steffle_attributes::noise::NoiseKind;
use steffle_attributes::{Attributes, Sensitive};
use steffle_model::fairness::Notion;
use steffle_model::model::ModelKind;
use steffle_model::record::{Layout, Records, Rows};
use steffle_model::scores::OutputScores;
use steffle_server::federation::{Agreement, Federation};
use steffle_site::node::InProcess;
use steffle_wire::{RunId, SchemaHash};

pub(super) const OBJECTIVE: OutputScores =
    OutputScores { notion: Notion::DemographicParity, classes: 2, labels: 2, sharpness: 1.0 };

/// (x, y, s): two people of group 0, three of group 1.
pub(super) const FIVE: [(f32, u16, u16); 5] =
    [(1.0, 1, 0), (-0.5, 0, 0), (-1.0, 0, 1), (0.25, 1, 1), (-2.0, 0, 1)];

/// One silo with these people, who have one feature.
pub(super) fn house(people: &[(f32, u16, u16)]) -> Federation<InProcess> {
    let people: Vec<_> = people.iter().map(|&(x, y, s)| ([x], y, s)).collect();
    house_of(&people)
}

/// One silo with these people.
pub(super) fn house_of<const D: usize>(people: &[([f32; D], u16, u16)]) -> Federation<InProcess> {
    let layout = Layout { numeric: D, categorical: 0, features: D };
    let numeric = people.iter().flat_map(|(x, ..)| *x).collect();
    let rows = Rows::new(layout, people.len(), numeric, Vec::new()).unwrap();
    let ids: Vec<u64> = (0..people.len() as u64).collect();
    let labels = people.iter().map(|(_, y, _)| *y).collect();
    let records = Records::new(ids.clone(), rows, labels, None, 2).unwrap();
    let classes = Sensitive::new(people.iter().map(|(.., s)| *s).collect());
    let agreement = Agreement {
        run: RunId([1; 16]),
        schema: SchemaHash([2; 32]),
        columns: Vec::new(),
        layout,
        model: ModelKind::Logistic,
        scores: OBJECTIVE.into(),
        seed: 5,
        noise: NoiseKind::Simulation,
        kind: steffle_server::federation::RunKind::default(),
    };
    let silo = (records, Attributes::new(ids, classes, 2).unwrap());
    Federation::join(InProcess::silos(vec![silo]), agreement).unwrap()
}

pub(super) fn close(found: &[f64], expected: &[f64], within: f64) {
    assert_eq!(found.len(), expected.len());
    let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= within);
    assert!(near, "{found:?} is not {expected:?}");
}
