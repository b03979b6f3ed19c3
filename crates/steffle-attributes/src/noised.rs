//! The noise of a round's messages: drawn before the sums, added after them.

use std::sync::Arc;

use steffle_model::decode::{complete, unwhiten};
use steffle_model::linear::Whitening;
use steffle_model::model::Gradient;
use steffle_model::record::GRID;
use steffle_wire::PrivateSums;

use super::NoiseScale;
use super::price::{IntegerNoise, Noises};
use super::room::zeros_in;
use super::sums::{AskedSums, DrawnSums, Shape, SummedSums};
use crate::noise::NoiseSource;

/// How the noise of a reply is made.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Noise {
    /// None at all.
    None,
    /// Float Gaussians, of scales times a factor: from means to sums.
    Gaussian(Arc<NoiseScale>, f64),
    /// Integers.
    Integer(Noises),
}

/// Noise, drawn.
pub(super) enum Drawn {
    None,
    Gaussian { thetas: Vec<Vec<f64>>, tables: Vec<Vec<f64>> },
    Integer { theta: Option<Integer>, table: Option<Integer> },
}

/// Noise integers of all numbers of a message, and what they are worth.
pub(super) struct Integer {
    pub(super) noise: IntegerNoise,
    pub(super) draws: Vec<i128>,
}

impl Drawn {
    /// Of Gaussians, in the room of old ones.
    pub(super) fn new(
        noise: &Noise,
        shape: &Shape,
        source: &mut impl NoiseSource,
        room: &mut [Vec<Vec<f64>>; 2],
    ) -> Self {
        let (cells, classes, columns) = shape.tables;
        match noise {
            Noise::None => Self::None,
            Noise::Gaussian(scale, factor) => {
                let [thetas, tables] = std::mem::take(room);
                let mut thetas = zeros_in(thetas, shape.messages, shape.parameters());
                thetas
                    .iter_mut()
                    .for_each(|theta| source.add_gaussian(scale.theta * factor, theta));
                let mut tables = zeros_in(tables, cells, classes * columns);
                for (cell, scales) in tables.iter_mut().zip(&scale.table) {
                    for (row, &scale) in cell.chunks_exact_mut(columns).zip(scales) {
                        source.add_gaussian(scale * factor, row);
                    }
                }
                Self::Gaussian { thetas, tables }
            }
            Noise::Integer(Noises { theta, table, .. }) => {
                let mut draw = |noise: &Option<IntegerNoise>, count: u64| {
                    noise.map(|noise| {
                        let draws = source.discrete_gaussians(noise.sigma, count as usize);
                        Integer { noise, draws }
                    })
                };
                let (thetas, tables) = shape.numbers();
                Self::Integer { theta: draw(theta, thetas), table: draw(table, tables) }
            }
        }
    }
}

/// The sums with their noise. Everything after its addition is post-processing. Sums whose memory is not
/// the reply's are left in `room`.
pub(super) fn noised(
    asked: &AskedSums,
    drawn: DrawnSums,
    room: &mut Option<SummedSums>,
    mut sums: SummedSums,
) -> PrivateSums {
    let DrawnSums { noise, scale, .. } = drawn;
    let classes = asked.shape.tables.1;
    let k = classes as f64;
    let mut reply = match noise {
        Drawn::None => centred(sums, classes),
        // The noise's own memory becomes the reply.
        Drawn::Gaussian { mut thetas, mut tables } => {
            for (noise, sum) in thetas.iter_mut().zip(&sums.thetas) {
                sum.add_to(noise);
            }
            complete_pairs(&mut sums.tables, classes);
            for (noise, sum) in tables.iter_mut().zip(&sums.tables) {
                noise.iter_mut().zip(sum).for_each(|(noise, sum)| *noise += sum / k);
            }
            *room = Some(sums);
            PrivateSums::of(tables, thetas)
        }
        Drawn::Integer { theta, table } => {
            let reply = integers(asked, &sums, theta.as_ref(), table.as_ref());
            *room = Some(sums);
            reply
        }
    };
    if scale != 1.0 {
        let all = reply.thetas.iter_mut().chain(&mut reply.tables).flatten();
        all.for_each(|value| *value *= scale);
        reply.table_deviation *= scale;
        reply.theta_deviation *= scale;
    }
    reply
}

fn centred(mut sums: SummedSums, classes: usize) -> PrivateSums {
    complete_pairs(&mut sums.tables, classes);
    sums.tables.iter_mut().flatten().for_each(|sum| *sum /= classes as f64);
    let thetas = sums.thetas.into_iter().map(Gradient::into_flat).collect();
    PrivateSums::of(sums.tables, thetas)
}

fn integers(
    asked: &AskedSums,
    sums: &SummedSums,
    theta: Option<&Integer>,
    table: Option<&Integer>,
) -> PrivateSums {
    let whitening = asked.whitening.as_deref();
    let (numbers, classes) = (asked.shape.parameters(), asked.shape.tables.1);
    let mut squares = 0.0;
    let mut release = |(at, sum): (usize, &Gradient)| match theta {
        None => vec![0.0; numbers],
        Some(Integer { noise, draws }) => {
            let draws = &draws[at * numbers..][..numbers];
            noised_theta(&theta_integers(sum, whitening), *noise, draws, whitening, &mut squares)
        }
    };
    let thetas: Vec<Vec<f64>> = sums.thetas.iter().enumerate().map(&mut release).collect();
    let theta_signal = theta.map_or(0.0, |message| {
        squares / (message.draws.len() as f64 * message.noise.deviation().powi(2))
    });
    let mut table_deviation = 0.0;
    let mut tables: Vec<Vec<f64>> = sums.tables.iter().map(|own| vec![0.0; own.len()]).collect();
    if let Some(Integer { noise, draws }) = table {
        let k = classes as f64;
        let sent = draws.len() / sums.tables.len().max(1);
        let own = sums.tables.iter().zip(&mut tables).zip(draws.chunks_exact(sent.max(1)));
        for ((sums, out), draws) in own {
            // The last rows: with two classes the second alone.
            let from = sums.len() - sent;
            let noisy = sums[from..].iter().zip(draws);
            let noisy = noisy.map(|(&sum, &draw)| noise.add(sum as i128, draw) / k);
            out[from..].iter_mut().zip(noisy).for_each(|(out, value)| *out = value);
            complete(out, classes);
        }
        let projected = if classes == 2 { 1.0 } else { ((k - 1.0) / k).sqrt() };
        table_deviation = noise.deviation() / k * projected;
    }
    // Turned back, the noise is larger by what the matrix made smaller.
    let theta_deviation = theta
        .map_or(0.0, |message| message.noise.deviation() * whitening.map_or(1.0, Whitening::grid));
    PrivateSums {
        tables,
        thetas,
        table_deviation,
        theta_signal,
        theta_deviation,
        theta_shaped: whitening.is_some(),
    }
}

/// The integers of a theta message in the coordinates in which noise is added, `[input][output]`.
pub(super) fn theta_integers(sum: &Gradient, whitening: Option<&Whitening>) -> Vec<i128> {
    let mut integers: Vec<i128> = sum.flatten().iter().map(|&sum| (sum / GRID) as i128).collect();
    let Some(whitening) = whitening else { return integers };
    // Theta is `[input][output]`, and the inputs are what is whitened.
    let outputs = integers.len() / whitening.size();
    for output in 0..outputs {
        let column: Vec<i128> = integers.iter().skip(output).step_by(outputs).copied().collect();
        let whitened = whitening.whiten_exactly(&column);
        let slots = integers.iter_mut().skip(output).step_by(outputs);
        slots.zip(whitened).for_each(|(slot, value)| *slot = value);
    }
    integers
}

/// Adds the noise and turns whitened coordinates back; `squares` grows by what was sent, squared.
fn noised_theta(
    sum: &[i128],
    noise: IntegerNoise,
    draws: &[i128],
    whitening: Option<&Whitening>,
    squares: &mut f64,
) -> Vec<f64> {
    let noisy = sum.iter().zip(draws).map(|(&sum, &draw)| noise.add(sum, draw));
    let mut noisy: Vec<f64> = noisy.inspect(|value| *squares += value * value).collect();
    if let Some(whitening) = whitening {
        unwhiten(whitening, &mut noisy);
    }
    noisy
}

/// Of two classes only the second row is summed.
fn complete_pairs(tables: &mut [Vec<f64>], classes: usize) {
    if classes == 2 {
        tables.iter_mut().for_each(|table| complete(table, classes));
    }
}
