//! Metrics by group that cost privacy and say how much: held-out rows in silos, whose classes nobody
//! looks at, and what their stores release about decisions.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use steffle::fairness::Notion;
use steffle::federation::{Agreement, Federation, RunKind};
use steffle::metrics::{Names, NoisyReport, Tally};
use steffle::model::ModelKind;
use steffle::node::InProcess;
use steffle::protocol::{Batch, RunId, SchemaHash, Scores};
use steffle::train::OneShotTerms;
use steffle_data::{Dataset, Dialect, Schema, TestFiles, attributes, encode};
use steffle_privacy::Mu;
use steffle_privacy::ledger::{Ledger, METRICS, Statement};

use crate::Error;
use crate::ground::{failed, kept};
use crate::method::{NoiseOrigin, budget, usual_delta};
use crate::model::Model;
use crate::privacy::{Privacy, claimed, neighbour, where_noise_is_from};
use crate::study::{Holdings, Origin, Study};

/// Held-out rows in silos, or with holders of attributes elsewhere.
///
/// Private metrics are counted there, by the same nodes as in training.
pub struct Testing {
    schema: Schema,
    rows: Source,
    split: bool,
    /// Records per silo.
    sizes: Vec<usize>,
    ids: Vec<Vec<u64>>,
    stores: usize,
    dropped: usize,
    unseen: u64,
    largest_unit: usize,
}

/// Where the rows are, so that they can be sealed for every run.
enum Source {
    Rows { data: Arc<Dataset>, silos: Vec<Vec<u32>>, holders: Vec<Vec<u32>> },
    Files(TestFiles, Dialect),
}

/// What metrics may cost, and who pays.
///
/// Without a ledger it is a simulation, and says so.
pub struct Purchase {
    /// At most.
    pub epsilon: f64,
    /// At most; 1/n^2 for n held-out rows where nobody says it.
    pub delta: Option<f64>,
    /// Where the noise comes from.
    pub noise: NoiseOrigin,
    /// Of simulated noise.
    pub seed: u64,
    /// The run's name in the books.
    pub run: [u8; 16],
    /// The books of the stores, in their order; without any, nobody remembers.
    pub books: Vec<Box<dyn Ledger>>,
}

/// What was bought.
///
/// Rates and gaps with their intervals, and the statement of what they cost.
#[derive(Debug)]
pub struct Bought {
    /// What the counts of every model tell.
    pub reports: Vec<NoisyReport>,
    /// What was promised to the people of the rows.
    pub privacy: Privacy,
    /// mu that the dearest store has spent.
    pub spent_mu: Option<f64>,
}

impl Study {
    /// The record ids of everybody in its table: of training rows, and of test rows of the same table. The
    /// test rows of files that are cut already may be anybody's.
    pub fn people(&self) -> Vec<u64> {
        let mut people = self.ids().concat();
        if self.has_files() {
            return people;
        }
        for held in [Some(self.test()), self.validation()].into_iter().flatten() {
            if let Origin::Rows(data, rows) = &held.origin {
                people.extend(data.ids(rows));
            }
        }
        people
    }

    /// The test rows, dealt out to as many silos and holders of attributes as train: a person's rows
    /// go where the smallest of their record ids says, in every run. Refuses test rows of a file
    /// without record ids, which may be the numbers of other people's rows.
    pub fn testing(&self) -> Result<Testing, Error> {
        let (silos, stores) = (self.sizes().len(), self.attributes_holders());
        let (data, rows) = match &self.test().origin {
            Origin::Rows(data, rows) => (data.clone(), rows.clone()),
            Origin::File(path, dialect) => {
                let data = Dataset::for_testing(path, self.schema(), dialect, true)?;
                let rows = data.rows().into();
                (Arc::new(data), rows)
            }
        };
        if self.has_files() && data.recipe().record_id.is_none() {
            let message = "the test file has no column of record ids, so that a book would charge \
                           other people's rows for its own";
            return Err(Error::data("data::record_id", message)
                .with_help("add a column `record_id` to all files"));
        }
        let deal = |count: usize| deal(&data, &rows, count);
        let holders = if self.is_split() { deal(stores) } else { Vec::new() };
        let (silos, split) = (deal(silos), self.is_split());
        Ok(Testing {
            schema: self.schema().clone(),
            split,
            sizes: silos.iter().map(Vec::len).collect(),
            ids: silos.iter().map(|rows| data.ids(rows)).collect(),
            stores,
            dropped: data.dropped(),
            unseen: self.test().unmatched().unseen_total(),
            largest_unit: data.largest_unit(&rows),
            rows: Source::Rows { data, silos, holders },
        })
    }
}

impl Model {
    /// Labelled files, one per silo, to measure the model on without looking at anybody's class.
    /// With `attributes` files the sensitive columns are in these, by record id.
    pub fn testing(
        &self,
        records: Vec<PathBuf>,
        attributes: Vec<PathBuf>,
        dialect: &Dialect,
    ) -> Result<Testing, Error> {
        let files = TestFiles { records, attributes };
        let loaded = files.load(self.schema(), dialect)?;
        let sizes: Vec<usize> = loaded.records.iter().map(steffle::record::Records::len).collect();
        let largest = |records: &steffle::record::Records| {
            let mut rows = HashMap::new();
            records
                .units()
                .into_iter()
                .flatten()
                .for_each(|unit| *rows.entry(unit).or_default() += 1);
            rows.into_values().max().unwrap_or(1)
        };
        Ok(Testing {
            schema: self.schema().clone(),
            split: !files.together(),
            ids: loaded.records.iter().map(|own| own.ids().to_vec()).collect(),
            stores: loaded.attributes.len(),
            dropped: loaded.dropped,
            unseen: loaded.unseen,
            largest_unit: loaded.records.iter().map(largest).max().unwrap_or(1),
            sizes,
            rows: Source::Files(files, dialect.clone()),
        })
    }
}

impl Testing {
    /// Rows per silo.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Rows in all.
    pub fn rows(&self) -> usize {
        self.sizes.iter().sum()
    }

    /// Stores of attributes.
    pub fn stores(&self) -> usize {
        self.stores
    }

    /// Whether attributes are held elsewhere than records.
    pub fn is_split(&self) -> bool {
        self.split
    }

    /// The record ids of every silo.
    pub fn ids(&self) -> Vec<&[u64]> {
        self.ids.iter().map(Vec::as_slice).collect()
    }

    /// Rows left out for missing values.
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// Cells with a category that training never saw.
    pub fn unseen(&self) -> u64 {
        self.unseen
    }

    /// delta, where nobody says it.
    pub fn usual_delta(&self) -> f64 {
        usual_delta(self.rows())
    }

    /// Takes from every store what the purchase may cost for models of this kind, before there are
    /// any: the purchase of the same name finds it open. Refuses what a store refuses.
    pub fn reserve(&self, kind: &ModelKind, purchase: Purchase) -> Result<(), Error> {
        let terms = self.terms(&purchase)?;
        let mut federation = self.federation(kind, purchase)?;
        federation.open_counts(1, &terms).map_err(|error| failed(&error))
    }

    /// Has the stores count the decisions of each of these models, all of one kind, and says what the
    /// counts tell; rates are of at least `min_group` effective records. All models together cost
    /// what the purchase says.
    pub fn buy(
        &self,
        models: &[&Model],
        min_group: u32,
        purchase: Purchase,
    ) -> Result<Bought, Error> {
        let Some(first) = models.first() else {
            return Err(Error::bug("metrics of no model"));
        };
        let (terms, paid) = (self.terms(&purchase)?, !purchase.books.is_empty());
        let mut federation = self.federation(first.kind(), purchase)?;
        let thetas: Vec<Vec<f64>> = models.iter().map(|model| model.theta().to_vec()).collect();
        let tallies = federation.count(&thetas, Some(&terms)).map_err(|error| failed(&error))?;
        let said = federation.statement();
        let said = said.ok_or_else(|| Error::bug("a run that was closed says nothing"))?;
        let names = Names {
            labels: self.schema.labels().to_vec(),
            groups: self.schema.classes().to_vec(),
            favourable: self.schema.favourable(),
        };
        let report = |tally: &Tally| NoisyReport::new(tally, &names, min_group);
        Ok(Bought {
            reports: tallies.iter().map(report).collect(),
            privacy: self.privacy(&said, models.len(), paid),
            spent_mu: federation.spent().map(Mu::value),
        })
    }

    fn terms(&self, purchase: &Purchase) -> Result<OneShotTerms, Error> {
        let delta = purchase.delta.unwrap_or_else(|| self.usual_delta());
        let (epsilon, delta) = budget(purchase.epsilon, Some(delta))?;
        OneShotTerms::new(epsilon, delta)
            .map_err(|error| Error::usage("config::privacy", error.to_string()))
    }

    fn federation(
        &self,
        kind: &ModelKind,
        purchase: Purchase,
    ) -> Result<Federation<InProcess>, Error> {
        let hash = self.schema.hash();
        let agreement = Agreement {
            run: RunId(purchase.run),
            schema: SchemaHash(hash),
            columns: Vec::new(),
            layout: self.schema.layout(),
            model: kind.clone(),
            // The same whatever the model was trained for: a question that was answered stays so.
            scores: Scores {
                name: Scores::OUTPUTS.to_owned(),
                notion: Notion::DemographicParity,
                classes: self.schema.classes().len(),
                labels: self.schema.labels().len(),
                sharpness: 1.0,
            },
            seed: purchase.seed,
            noise: purchase.noise.into(),
            kind: RunKind {
                method: METRICS.to_owned(),
                mode: "exact".to_owned(),
                // Counts are by label: they tell what equalized odds are about, and all else.
                notion: "equalized-odds".to_owned(),
            },
        };
        let nodes = match self.holdings()? {
            Holdings::Silos(silos) => InProcess::silos(silos),
            Holdings::Split { records, attributes } => InProcess::split(records, attributes),
        };
        Federation::join(kept(nodes, purchase.books), agreement)
            .map_err(|error| Error::data("train::federation", error.to_string()))
    }

    /// The rows, encoded, and their classes, sealed.
    fn holdings(&self) -> Result<Holdings, Error> {
        let (records, attributes) = match &self.rows {
            Source::Files(files, dialect) => {
                let loaded = files.load(&self.schema, dialect)?;
                (loaded.records, loaded.attributes)
            }
            Source::Rows { data, silos, holders } => {
                let held = if self.split { holders } else { silos };
                let seal = |rows: &Vec<u32>| attributes(data, rows, &self.schema);
                let sealed = held.iter().map(seal).collect::<Result<Vec<_>, _>>()?;
                let encode = |rows: &Vec<u32>| Ok(encode(data, rows, &self.schema)?.records);
                (silos.iter().map(encode).collect::<Result<_, Error>>()?, sealed)
            }
        };
        Ok(if self.split {
            Holdings::Split { records, attributes }
        } else {
            Holdings::Silos(records.into_iter().zip(attributes).collect())
        })
    }

    fn privacy(&self, said: &Statement, models: usize, paid: bool) -> Privacy {
        if let Some(contradicted) = Privacy::contradicted(said) {
            return contradicted;
        }
        let (epsilon, delta) = claimed(said);
        let unit = neighbour(self.largest_unit);
        let who = if self.split {
            "the server and all silos; attributes holders learn what was decided about every record, \
             and its label"
        } else {
            "the server and all other silos"
        };
        let messages = match models {
            1 => "one message of noisy counts per store".to_owned(),
            several => format!("{several} messages of noisy counts per store, one per model"),
        };
        let source = where_noise_is_from(said, "measurement on", paid);
        let statement = format!(
            "The metrics are ({epsilon}, {delta:.1e})-differentially private for the sensitive attribute \
             of every {unit} that they were measured on, in each silo, against {who}: {messages}, by \
             label, group and decision, with integer noise. {source} Features and labels are not \
             protected: how many records of each label got each decision is sent exactly."
        );
        Privacy::holding(said, statement)
    }
}

/// Deals rows out: all rows of a person go to the part that the smallest of their ids says.
fn deal(data: &Dataset, rows: &[u32], parts: usize) -> Vec<Vec<u32>> {
    let ids = data.ids(rows);
    let mut keys: HashMap<u32, u64> = HashMap::new();
    let unit = |row: u32| data.units().map(|units| units[row as usize]);
    for (&row, &id) in rows.iter().zip(&ids) {
        if let Some(unit) = unit(row) {
            let key = keys.entry(unit).or_insert(id);
            *key = id.min(*key);
        }
    }
    let mut dealt = vec![Vec::new(); parts];
    for (&row, &id) in rows.iter().zip(&ids) {
        let key = unit(row).and_then(|unit| keys.get(&unit).copied()).unwrap_or(id);
        let count = u32::try_from(parts).unwrap_or(u32::MAX);
        dealt[Batch::block_with(key, count)].push(row);
    }
    dealt
}
