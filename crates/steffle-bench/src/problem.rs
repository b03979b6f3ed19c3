//! What both benchmarks train: logistic regression, demographic parity, two classes.

use steffle::attributes::Attributes;
use steffle::fairness::Notion;
use steffle::federation::{Agreement, Federation, RunKind};
use steffle::game::OutputScores;
use steffle::model::ModelKind;
use steffle::node::InProcess;
use steffle::noise::NoiseKind;
use steffle::protocol::{RunId, SchemaHash};
use steffle::randomness::{Purpose, stream};
use steffle::record::{Layout, Records};
use steffle_data::{Dataset, Schema, Source, Summary, attributes, encode, partition, split};

pub(crate) const OBJECTIVE: OutputScores =
    OutputScores { notion: Notion::DemographicParity, classes: 2, labels: 2, sharpness: 1.0 };

/// A federation of silos with two divisions each.
pub(crate) fn federation(
    layout: Layout,
    silos: Vec<(Records, Attributes)>,
    noise: NoiseKind,
) -> Result<Federation<InProcess>, Box<dyn std::error::Error>> {
    let agreement = Agreement { noise, ..agreement(layout) };
    Ok(Federation::join(InProcess::silos(silos), agreement)?)
}

/// What nodes agree on.
pub(crate) fn agreement(layout: Layout) -> Agreement {
    Agreement {
        run: RunId([0; 16]),
        schema: SchemaHash([0; 32]),
        columns: Vec::new(),
        layout,
        model: ModelKind::Logistic,
        scores: OBJECTIVE.into(),
        seed: 0,
        noise: NoiseKind::Simulation,
        kind: RunKind::default(),
    }
}

/// The embedded Adult data, cut into three silos.
pub(crate) struct Adult {
    data: Dataset,
    schema: Schema,
    silos: Vec<Vec<u32>>,
}

impl Adult {
    pub(crate) fn load() -> Result<Self, Box<dyn std::error::Error>> {
        let source = Source::parse("adult", None)?;
        let recipe = source.recipe().ok_or("the embedded data set has a recipe")?;
        let data = Dataset::new(source.read(&recipe)?, recipe)?;
        let rows = split(&data, 0.0, &mut stream(0, 0, Purpose::Split, 0))?;
        let mut deal = stream(0, 0, Purpose::Partition, 0);
        let silos = partition(&data, &rows.train, 3, 0.0, &mut deal)?;
        let schema = Schema::from_summary(data.recipe(), &Summary::of(&data, &rows.train))?;
        Ok(Self { data, schema, silos })
    }

    /// Training rows.
    pub(crate) fn records(&self) -> usize {
        self.silos.iter().map(Vec::len).sum()
    }

    /// A fresh federation of the silos.
    pub(crate) fn federation(
        &self,
        noise: NoiseKind,
    ) -> Result<Federation<InProcess>, Box<dyn std::error::Error>> {
        let Self { data, schema, silos } = self;
        let silo = |own: &Vec<u32>| {
            Ok((encode(data, own, schema)?.records, attributes(data, own, schema)?))
        };
        let parts = silos.iter().map(silo).collect::<Result<Vec<_>, steffle_data::Error>>()?;
        federation(schema.layout(), parts, noise)
    }
}
