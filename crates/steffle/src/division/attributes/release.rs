//! From sums that nobody may see to a reply: reserve, draw the noise, sum, add, release.

use super::price::{IntegerNoise, Lattice, Noise};
use crate::division::distances::INPUT_GRID;
use crate::linear::Whitening;
use crate::model::{Gradient, kernel};
use crate::noise::{NoiseKind, NoiseSource};
use crate::protocol::{Encode, PrivateSums, Writer};

/// A price that was paid, with the noise it bought. It opens one reply.
///
/// The noise is drawn here, before any class is read, because the sampler's running time depends
/// on what it draws.
pub struct Reserved {
    drawn: Drawn,
    kind: NoiseKind,
    /// Which units the secret coins chose; `None` for all.
    pub(super) chosen: Option<Vec<bool>>,
    /// What the sums are multiplied by at the end: 1 over the coin's rate.
    scale: f64,
}

enum Drawn {
    None,
    Gaussian { thetas: Vec<Vec<f64>>, tables: Vec<Vec<f64>> },
    Integer { lattice: Lattice, theta: Option<Message>, table: Option<Message> },
}

/// Noise integers of all numbers of a message, and what they are worth.
struct Message {
    noise: IntegerNoise,
    draws: Vec<i64>,
}

/// The shape of a reply.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// Theta messages and the numbers in each.
    pub(super) thetas: (usize, usize),
    /// Cells, classes and columns of the tables.
    pub(super) tables: (usize, usize, usize),
}

impl Shape {
    /// Rows of a table that are sent: with two classes one tells the other.
    fn rows(&self) -> usize {
        if self.tables.1 == 2 { 1 } else { self.tables.1 }
    }
}

impl Reserved {
    pub(super) fn new(
        noise: Noise,
        shape: Shape,
        chosen: Option<(Vec<bool>, f64)>,
        source: &mut impl NoiseSource,
    ) -> Self {
        let kind = source.kind();
        let (messages, numbers) = shape.thetas;
        let (cells, classes, columns) = shape.tables;
        let drawn = match noise {
            Noise::None => Drawn::None,
            Noise::Gaussian(scale) => {
                let mut thetas = vec![kernel::zeros(numbers); messages];
                thetas.iter_mut().for_each(|theta| source.add_gaussian(scale.theta, theta));
                let mut tables = vec![kernel::zeros(classes * columns); cells];
                for (cell, scales) in tables.iter_mut().zip(&scale.table) {
                    for (row, &scale) in cell.chunks_exact_mut(columns).zip(scales) {
                        source.add_gaussian(scale, row);
                    }
                }
                Drawn::Gaussian { thetas, tables }
            }
            Noise::Integer { lattice, theta, table } => {
                let mut draw = |noise: Option<IntegerNoise>, count: usize| {
                    noise.map(|noise| {
                        let draws = source.discrete_gaussians(u128::from(noise.sigma), count);
                        Message {
                            noise,
                            draws: draws.into_iter().map(|draw| draw as i64).collect(),
                        }
                    })
                };
                let theta = draw(theta, messages * numbers);
                let table = draw(table, cells * shape.rows() * columns);
                Drawn::Integer { lattice, theta, table }
            }
        };
        let (chosen, rate) = chosen.map_or((None, 1.0), |(chosen, rate)| (Some(chosen), rate));
        Self { drawn, kind, chosen, scale: 1.0 / rate }
    }

    /// The grids on which candidates become integers, where they do.
    pub(super) fn lattice(&self) -> Option<Lattice> {
        match self.drawn {
            Drawn::Integer { lattice, .. } => Some(lattice),
            _ => None,
        }
    }
}

/// Sums over the real `s`. They have no accessor, no `Debug` and no encoding:
///
/// ```compile_fail
/// fn send(sums: &steffle::division::attributes::Unreleased) {
///     use steffle::protocol::{Encode, Writer};
///     sums.encode(&mut Writer::default());
/// }
/// ```
pub struct Unreleased {
    /// `k` times the centred class sums: `sum_i (k [s_i = r] - 1) phi_i`, a missing class 0.
    pub(super) tables: Vec<Vec<f64>>,
    pub(super) thetas: Vec<Gradient>,
}

impl Unreleased {
    /// Adds the sums of another part of the batch.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.tables.iter_mut().zip(&other.tables) {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        }
        for (mine, theirs) in self.thetas.iter_mut().zip(&other.thetas) {
            mine.merge(theirs);
        }
    }

    /// Adds the noise that was paid for and lets the sums go. `whitening` is the silo's own, made
    /// without `s`: the integer sums are noised in its coordinates and turned back, so that it
    /// never leaves.
    ///
    /// # Proof definition
    /// Given the question, the public columns and the price, which are the same for adjacent
    /// stores, the released value is a function of integer sums plus discrete Gaussians whose
    /// scales [`Price`](super::Price) derived; the division reads `s` nowhere else. Everything
    /// after the addition of the noise (scaling, projection, un-whitening) is post-processing.
    pub fn release(
        self,
        reserved: Reserved,
        classes: usize,
        whitening: Option<&Whitening>,
    ) -> Released<PrivateSums> {
        let Reserved { drawn, kind, scale, .. } = reserved;
        let noised = !matches!(drawn, Drawn::None);
        let k = classes as f64;
        let mut sums = match drawn {
            Drawn::None => self.centred(k),
            // The noise's own memory becomes the reply.
            Drawn::Gaussian { mut thetas, mut tables } => {
                for (noise, sum) in thetas.iter_mut().zip(&self.thetas) {
                    sum.add_to(noise);
                }
                for (noise, sum) in tables.iter_mut().zip(&self.tables) {
                    noise.iter_mut().zip(sum).for_each(|(noise, sum)| *noise += sum / k);
                }
                PrivateSums::of(tables, thetas)
            }
            Drawn::Integer { theta, table, .. } => {
                self.integers(classes, whitening, theta.as_ref(), table.as_ref())
            }
        };
        if scale != 1.0 {
            let all = sums.thetas.iter_mut().chain(&mut sums.tables).flatten();
            all.for_each(|value| *value *= scale);
            sums.table_deviation *= scale;
            sums.theta_deviation *= scale;
        }
        Released { value: sums, kind, noised }
    }

    fn centred(mut self, k: f64) -> PrivateSums {
        self.tables.iter_mut().flatten().for_each(|sum| *sum /= k);
        let thetas = self.thetas.into_iter().map(Gradient::into_flat).collect();
        PrivateSums::of(self.tables, thetas)
    }

    fn integers(
        &self,
        classes: usize,
        whitening: Option<&Whitening>,
        theta: Option<&Message>,
        table: Option<&Message>,
    ) -> PrivateSums {
        let numbers = self.thetas.first().map_or(0, |theta| theta.flatten().len());
        let mut squares = 0.0;
        let mut release = |(at, sum): (usize, &Gradient)| match theta {
            None => vec![0.0; numbers],
            Some(message) => {
                let draws = &message.draws[at * numbers..][..numbers];
                noised_theta(&sum.flatten(), message.noise, draws, whitening, &mut squares)
            }
        };
        let thetas: Vec<Vec<f64>> = self.thetas.iter().enumerate().map(&mut release).collect();
        let theta_signal = theta.map_or(0.0, |message| {
            squares / (message.draws.len() as f64 * message.noise.deviation().powi(2))
        });
        let cells = self.tables.len().max(1);
        let mut table_deviation = 0.0;
        let mut tables: Vec<Vec<f64>> =
            self.tables.iter().map(|table| vec![0.0; table.len()]).collect();
        if let Some(Message { noise, draws }) = table {
            let sent = draws.len() / cells;
            for ((sums, out), draws) in
                self.tables.iter().zip(&mut tables).zip(draws.chunks_exact(sent))
            {
                // The last rows: with two classes the second alone.
                let from = sums.len() - sent;
                let integers = sums[from..].iter().map(|&sum| sum as i128);
                let noisy = integers.zip(draws).map(|(sum, &draw)| noise.add(sum, draw));
                out[from..].iter_mut().zip(noisy).for_each(|(out, v)| *out = v / classes as f64);
                complete(out, classes);
            }
            let k = classes as f64;
            let projected = if classes == 2 { 1.0 } else { ((k - 1.0) / k).sqrt() };
            table_deviation = noise.deviation() / k * projected;
        }
        // Turned back, the noise is larger by what the matrix made smaller.
        let theta_deviation = theta.map_or(0.0, |message| {
            message.noise.deviation() * whitening.map_or(1.0, Whitening::grid)
        });
        PrivateSums {
            tables,
            thetas,
            table_deviation,
            theta_signal,
            theta_deviation,
            theta_shaped: whitening.is_some(),
        }
    }
}

impl IntegerNoise {
    /// The integer sum on the coarser grid, noise added, as a number.
    pub(super) fn add(&self, sum: i128, draw: i64) -> f64 {
        let coarse = if self.shift > 0 {
            (sum + (1_i128 << (self.shift - 1))) >> self.shift
        } else {
            sum << -self.shift
        };
        (coarse + i128::from(draw)) as f64 * self.unit
    }
}

/// Noise is added in whitened coordinates, if there are any, and the result turned back; `squares`
/// grows by what was sent, squared.
fn noised_theta(
    sum: &[f64],
    noise: IntegerNoise,
    draws: &[i64],
    whitening: Option<&Whitening>,
    squares: &mut f64,
) -> Vec<f64> {
    let mut seen = |value: f64| {
        *squares += value * value;
        value
    };
    let integers: Vec<i128> = sum.iter().map(|&sum| (sum / INPUT_GRID) as i128).collect();
    let Some(whitening) = whitening else {
        let pairs = integers.iter().zip(draws);
        return pairs.map(|(&sum, &draw)| seen(noise.add(sum, draw))).collect();
    };
    // Theta is `[input][output]`, and the inputs are what is whitened.
    let size = whitening.size();
    let outputs = sum.len() / size;
    let mut released = vec![0.0; sum.len()];
    for output in 0..outputs {
        let column: Vec<i128> = integers.iter().skip(output).step_by(outputs).copied().collect();
        // Sums are below 2^53 and entries of the matrix below 2^21, so this always fits; if it did
        // not, noise alone would be sent.
        let whitened = whitening.whiten_exactly(&column).unwrap_or(vec![0; size]);
        let draws = draws.iter().skip(output).step_by(outputs);
        let mut noisy: Vec<f64> =
            whitened.iter().zip(draws).map(|(&sum, &draw)| seen(noise.add(sum, draw))).collect();
        whitening.unwhiten(&mut noisy);
        released.iter_mut().skip(output).step_by(outputs).zip(noisy).for_each(|(r, v)| *r = v);
    }
    released
}

/// The rows of centred tables sum to 0: with two classes the first row is minus the second, with
/// more the noisy rows are projected. Post-processing, and free.
fn complete(table: &mut [f64], classes: usize) {
    let columns = table.len() / classes;
    if classes == 2 {
        let (first, second) = table.split_at_mut(columns);
        first.iter_mut().zip(second).for_each(|(first, second)| *first = -*second);
        return;
    }
    for column in 0..columns {
        let mean = table.iter().skip(column).step_by(columns).sum::<f64>() / classes as f64;
        table.iter_mut().skip(column).step_by(columns).for_each(|value| *value -= mean);
    }
}

/// A value that has met its noise. Only this can be put into a reply.
#[derive(Debug)]
pub struct Released<T> {
    value: T,
    kind: NoiseKind,
    noised: bool,
}

impl<T> Released<T> {
    /// A value whose noise came from a source of this kind, or had none.
    pub(super) fn new(value: T, kind: Option<NoiseKind>) -> Self {
        let noised = kind.is_some();
        Self { value, kind: kind.unwrap_or(NoiseKind::Simulation), noised }
    }

    /// The released value.
    pub fn value(&self) -> &T {
        &self.value
    }

    /// Where its noise came from; `None` when it had none.
    pub fn noise_kind(&self) -> Option<NoiseKind> {
        self.noised.then_some(self.kind)
    }
}

impl Encode for Released<PrivateSums> {
    fn encode(&self, writer: &mut Writer) {
        self.value.write(writer);
    }
}
