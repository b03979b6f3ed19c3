//! What a reply costs and which integer noise it gets, before `s` is read.
//!
//! # Claim
//! Under [`Terms::Exact`] a reply is `sqrt(cost)`-GDP (up to the slack of
//! [`steffle_privacy::discrete`]), where `cost` is at most the round's share; under
//! [`Terms::Poisson`] it is, for the units whose coin says so, a message of the plan's noise
//! multiplier.
//!
//! # Proof
//! 1. Given the transcript so far and the public columns, the question, the distances of
//!    [`Distances`], the grids and the scales below are constants:
//!    nothing here reads `s`. Whatever theta and C a server sends, large distances earn large noise.
//! 2. What is summed are integers: coefficients rounded to a grid times inputs on a grid, and scores
//!    rounded to a grid ([`Lattice`]). Rounding moves a coefficient of either candidate by at most
//!    half a grid step, so the distance grows by at most one step times [`reach`]; another step
//!    covers the float arithmetic before the rounding.
//! 3. The integer sum, whitened by an integer matrix where there is one, is divided by a power of
//!    two and rounded. That moves every coordinate by at most 1/2 in either world, hence the
//!    distance grows by at most the square root of the number of coordinates.
//! 4. Noise is a discrete Gaussian of integer scale at least 2^24 on the result. One record moves
//!    both messages at once; the cost is the largest, over records, of the sum of both squared
//!    distances over the squared scales: one Gaussian of that mu^2 (section "Accounting" of
//!    `docs/PRIVACY.md`).
//!
//! The test that fails when a constant is halved: `tests::no_store_moves_more_than_the_price`.
//!
//! [`reach`]: crate::division::Distances::reach

use steffle_privacy::discrete::{SMALLEST_SCALE, slack};

use super::account::Cost;
use super::{NoiseScale, Terms};
use crate::division::distances::{Distances, INPUT_GRID, table_factor};
use crate::protocol::{Form, Question};

/// Why a question cannot be priced. No reason depends on `s`.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PriceError {
    /// Numbers too far apart for exact integer sums.
    #[error(
        "the question's numbers are too large or too far apart for exact integer sums over \
         {records} records"
    )]
    Range {
        /// Records announced.
        records: usize,
    },
    /// A form that has no exact price.
    #[error("the division's terms price centred messages only, not the paper's clipped ones")]
    Clipped,
    /// Sensitivities are needed and were not computed.
    #[error("the division's terms need the distances of the announced records")]
    NoDistances,
}

/// Grids on which coefficients and scores become integers. All sums of such integers are below
/// 2^53, so a double holds them exactly and in any order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lattice {
    /// Of coefficients; 0 when there is no theta message.
    pub coefficient: f64,
    /// Of scores.
    pub score: f64,
}

/// Integer noise of one message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IntegerNoise {
    /// What one unit of the integers that are sent is worth.
    pub unit: f64,
    /// The integer sum is divided by 2 to this power before it is rounded and noised.
    pub shift: i32,
    /// The scale of the discrete Gaussian.
    pub sigma: u64,
}

impl IntegerNoise {
    /// Standard deviation in the message's own units.
    pub fn deviation(&self) -> f64 {
        self.sigma as f64 * self.unit
    }
}

/// How the noise of a reply is made.
#[derive(Debug, Clone, PartialEq)]
pub enum Noise {
    /// None at all.
    None,
    /// Float Gaussians.
    Gaussian(NoiseScale),
    /// Integers.
    Integer {
        /// The grids.
        lattice: Lattice,
        /// Of the theta messages; `None` when they are 0 for every store.
        theta: Option<IntegerNoise>,
        /// Of the tables; `None` when they are 0 for every store.
        table: Option<IntegerNoise>,
    },
}

/// The announced records, as far as a price depends on them.
#[derive(Debug, Clone, Copy)]
pub struct Announced<'a> {
    /// How many.
    pub records: usize,
    /// What one unit could change.
    pub distances: Option<&'a Distances>,
    /// Classes, k.
    pub classes: usize,
    /// Theta messages.
    pub messages: usize,
    /// Numbers in all of them.
    pub theta_numbers: usize,
    /// Columns of a table.
    pub columns: usize,
    /// Cells.
    pub cells: usize,
    /// Whether the paper's clipped form is asked for.
    pub clipped: bool,
}

/// What a reply will be released under. Computed without reading `s`.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a price is nothing until it is reserved"]
pub struct Price {
    pub(super) noise: Noise,
    pub(super) cost: Cost,
}

impl Price {
    /// The price of a reply about these records under `terms`; refuses what integers cannot hold.
    pub fn new(terms: &Terms, about: &Announced<'_>) -> Result<Self, PriceError> {
        match terms {
            Terms::Open => Ok(Self { noise: Noise::None, cost: Cost::Unclaimed }),
            Terms::OfMean(scale) => Ok(Self {
                noise: Noise::Gaussian(scale.scaled(about.records as f64)),
                cost: Cost::Unclaimed,
            }),
            Terms::Exact(share) => {
                let (noise, squared) = integer(about, share.round, share.table)?;
                let cost = Cost::Gaussian { squared, slack: noise.slack(about) };
                Ok(Self { noise, cost })
            }
            Terms::Poisson { noise_multiplier, table, .. } => {
                let squared = noise_multiplier.value().powi(-2);
                let (noise, _) = integer(about, squared, *table)?;
                Ok(Self { cost: Cost::Planned { slack: noise.slack(about) }, noise })
            }
        }
    }

    /// The noise that the reply will get.
    pub fn noise(&self) -> &Noise {
        &self.noise
    }

    /// What it costs.
    pub fn cost(&self) -> Cost {
        self.cost
    }
}

impl Noise {
    fn slack(&self, about: &Announced<'_>) -> f64 {
        let Self::Integer { theta, table, .. } = self else { return 0.0 };
        let of = |noise: &Option<IntegerNoise>, numbers: usize| {
            noise.map_or(0.0, |noise| slack(numbers as u64, noise.sigma as f64))
        };
        of(theta, about.theta_numbers) + of(table, about.table_numbers())
    }
}

impl<'a> Announced<'a> {
    /// `records` records, asked about by `question`, of a model with `parameters` parameters.
    pub fn new(
        records: usize,
        distances: Option<&'a Distances>,
        question: &Question,
        classes: usize,
        parameters: usize,
    ) -> Self {
        let columns = question.cells.first().map_or(0, |cell| cell.quadratic.len());
        let (messages, cells) = (question.messages(), question.cells.len());
        let theta_numbers = messages * parameters;
        let clipped = question.form != Form::Centred;
        Self { records, distances, classes, messages, theta_numbers, columns, cells, clipped }
    }

    /// Numbers in all table messages: with two classes one row tells the other.
    fn table_numbers(&self) -> usize {
        let rows = if self.classes == 2 { 1 } else { self.classes };
        rows * self.columns * self.cells
    }
}

/// One message: distances, what rounding adds to each, numbers, and what one integer is worth.
struct Message<'a> {
    distances: &'a [f64],
    factor: f64,
    rounding: f64,
    numbers: usize,
    unit: f64,
}

impl Message<'_> {
    /// The largest distance; 0 where all candidates are 0 on the grid.
    fn largest(&self) -> f64 {
        if self.unit == 0.0 {
            return 0.0;
        }
        self.distances.iter().fold(0.0, |top: f64, d| d.max(top)) * self.factor
    }

    /// The squared distance of a unit over the squared scale, all roundings included.
    fn cost(&self, unit: usize, noise: &IntegerNoise) -> f64 {
        let distance = self.distances[unit] * self.factor;
        if distance == 0.0 {
            return 0.0;
        }
        let grid = noise.unit * (self.numbers as f64).sqrt();
        ((distance + self.rounding + grid) / noise.deviation()).powi(2)
    }
}

/// What every unit's move costs under this noise.
pub(super) fn unit_costs(noise: &Noise, about: &Announced<'_>) -> Vec<f64> {
    let (Noise::Integer { lattice, theta, table }, Some(distances)) = (noise, about.distances)
    else {
        return Vec::new();
    };
    let noise = [*theta, *table];
    let messages = messages(about, distances, *lattice);
    (0..distances.len()).map(|unit| joint_cost(&messages, &noise, unit)).collect()
}

fn joint_cost(messages: &[Message<'_>; 2], noise: &[Option<IntegerNoise>; 2], unit: usize) -> f64 {
    let pairs = messages.iter().zip(noise);
    pairs
        .map(|(message, noise)| noise.as_ref().map_or(0.0, |noise| message.cost(unit, noise)))
        .sum()
}

fn messages<'a>(
    about: &Announced<'_>,
    distances: &'a Distances,
    lattice: Lattice,
) -> [Message<'a>; 2] {
    // A unit of several rows rounds each of them.
    let rows = distances.rows_per_unit.max(1.0);
    let factor = table_factor(about.classes);
    let theta = Message {
        distances: &distances.theta,
        factor: 1.0,
        rounding: rows * 2.0 * lattice.coefficient * distances.reach,
        numbers: about.theta_numbers,
        unit: lattice.coefficient * INPUT_GRID,
    };
    let table = Message {
        distances: &distances.table,
        factor,
        rounding: rows * factor * lattice.score * (about.columns as f64).sqrt(),
        numbers: about.table_numbers(),
        unit: lattice.score,
    };
    [theta, table]
}

/// Both messages' noise such that the joint cost of the dearest unit is at most `share`, and that
/// cost. A message that no store can move is sent as it is and its part is not spent.
fn integer(about: &Announced<'_>, share: f64, table_part: f64) -> Result<(Noise, f64), PriceError> {
    let Some(distances) = about.distances else { return Err(PriceError::NoDistances) };
    if about.clipped {
        return Err(PriceError::Clipped);
    }
    let records = about.records.max(1) as f64;
    let room = 2.0_f64.powi(51) / records;
    let lattice = Lattice {
        coefficient: grid(distances.coefficient, room * INPUT_GRID / distances.input.max(1.0)),
        // Tables are summed as k M_r - sum M.
        score: grid(distances.score * about.classes as f64, room),
    };
    let [theta, table] = messages(about, distances, lattice);
    let finite = [theta.largest(), theta.rounding, theta.unit, table.largest(), table.unit];
    if !finite.iter().all(|number| number.is_finite()) {
        return Err(PriceError::Range { records: about.records });
    }

    // Float sums of a few positive terms: far more accurate than this margin.
    let share = share * (1.0 - 1e-9);
    let scale = |message: &Message<'_>, part: f64| {
        (message.largest() > 0.0).then(|| message.largest() / (share * part).sqrt())
    };
    let mut scales = [scale(&theta, 1.0 - table_part), scale(&table, table_part)];
    let messages = [theta, table];
    let cost = |noise: &[Option<IntegerNoise>; 2]| {
        let each = (0..distances.len()).map(|unit| joint_cost(&messages, noise, unit));
        each.fold(0.0, f64::max)
    };
    let allowed = match scales {
        [Some(_), Some(_)] => share,
        [Some(_), None] => share * (1.0 - table_part),
        [None, Some(_)] => share * table_part,
        [None, None] => {
            return Ok((Noise::Integer { lattice, theta: None, table: None }, 0.0));
        }
    };
    // Each turn scales both by what is missing or left over; rounding is a part in a million, so
    // the second turn is already within it.
    for turn in 0..20 {
        let noise = [
            realise(scales[0], &messages[0], about.records)?,
            realise(scales[1], &messages[1], about.records)?,
        ];
        let cost = cost(&noise);
        if cost <= allowed && (turn > 1 || cost >= allowed * (1.0 - 1e-6)) {
            let [theta, table] = noise;
            return Ok((Noise::Integer { lattice, theta, table }, cost));
        }
        let by = (cost / allowed).sqrt() * if turn > 1 { 1.0 + 1e-6 } else { 1.0 + 1e-8 };
        scales = scales.map(|scale| scale.map(|scale| scale * by));
    }
    Err(PriceError::Range { records: about.records })
}

/// Numbers below this are 0 on any grid: squares of smaller ones would not be numbers any more.
const NOTHING: f64 = 1e-100;

/// A power of two of which `largest` has at most `room` steps; 0 for nothing to round.
fn grid(largest: f64, room: f64) -> f64 {
    if largest < NOTHING { 0.0 } else { (largest / room).log2().ceil().exp2() }
}

/// Draws of this scale fit 64 bits.
pub(super) const LARGEST_SCALE: f64 = (1_u64 << 26) as f64;

/// The integer noise of a real scale: a power-of-two unit with the scale in [2^24, 2^25).
fn realise(
    scale: Option<f64>,
    message: &Message<'_>,
    records: usize,
) -> Result<Option<IntegerNoise>, PriceError> {
    let Some(scale) = scale else { return Ok(None) };
    let smallest = SMALLEST_SCALE as f64;
    let shift = (scale / message.unit / smallest).log2().floor();
    let unit = message.unit * shift.exp2();
    let sigma = (scale / unit).ceil().max(smallest);
    let fits = shift.abs() <= 70.0 && unit > 0.0 && unit.is_finite();
    if !fits || sigma > LARGEST_SCALE {
        return Err(PriceError::Range { records });
    }
    Ok(Some(IntegerNoise { unit, shift: shift as i32, sigma: sigma as u64 }))
}
