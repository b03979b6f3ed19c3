//! What both benchmarks train: logistic regression, demographic parity, two classes.

use std::sync::Arc;

use steffle::driver::{Agreement, Federation};
use steffle::fairness::Notion;
use steffle::model::ModelKind;
use steffle::noise::NoiseKind;
use steffle::protocol::{RunId, SchemaHash};
use steffle::record::{Attributes, Layout, Records};
use steffle::steffle::SteffleObjective;

pub(crate) const OBJECTIVE: SteffleObjective =
    SteffleObjective { notion: Notion::DemographicParity, classes: 2, labels: 2, sharpness: 1.0 };

/// A federation of silos with two divisions each.
pub(crate) fn federation(
    layout: Layout,
    silos: Vec<(Records, Attributes)>,
    noise: NoiseKind,
) -> Result<Federation, Box<dyn std::error::Error>> {
    let agreement = Agreement {
        run: RunId([0; 16]),
        schema: SchemaHash([0; 32]),
        model: Arc::from(ModelKind::Logistic.build(layout, 2)?),
        objective: Arc::new(OBJECTIVE),
        seed: 0,
        noise,
    };
    Ok(Federation::of_silos(agreement, silos)?)
}
