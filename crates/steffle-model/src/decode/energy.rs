//! How much of a decoded message is noise: what a model that is trained on it follows by mistake.

use super::{ClassSums, Moments, SHRINK};
use crate::linear::NotPositive;

/// Solves for the trace of a matrix. Each has an error of about `sqrt(2 / features)` of the trace.
const PROBES: u64 = 8;

/// The energy of a message under the linear decode, `m' R m` with `R` the decode's matrix and `m`
/// the message less what the class shares explain.
///
/// Memberships are about `R m`, and training moves decisions along them. With noise `z` of variance
/// `V` in the message, `z' R m` of the move is about noise, and its mean is `V trace(R)`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Energy {
    /// `m' R m`, over all classes.
    pub all: f64,
    /// The part that noise has by itself, `V trace(R)` per class.
    pub noise: f64,
}

impl Energy {
    /// Of a message. Refuses a matrix that cannot be factored.
    pub fn of(moments: &Moments, message: &ClassSums) -> Result<Self, NotPositive> {
        let message = moments.project(message);
        let shares = moments.shares(&message)?;
        let factor = moments.factor(SHRINK * message.variance)?;
        let mut all = 0.0;
        for (sum, share) in message.sums.iter().zip(&shares) {
            let rest: Vec<f64> =
                sum.iter().zip(&moments.total).map(|(sum, total)| sum - share * total).collect();
            let mut decoded = rest.clone();
            factor.solve(&mut decoded);
            all += dot(&rest, &decoded);
        }
        // In the coordinates of the features the noise has covariance V (G + gamma I).
        let mut trace = 0.0;
        for probe in 0..PROBES {
            let signs: Vec<f64> =
                (0..moments.total.len() as u64).map(|at| sign(probe << 32 | at)).collect();
            let mut image = moments.normal.times(&signs);
            factor.solve(&mut image);
            trace += dot(&signs, &image) / PROBES as f64;
        }
        Ok(Self { all, noise: message.sums.len() as f64 * message.variance * trace.max(0.0) })
    }

    /// The share of the decisions' move away from the classes, as the messages of `count` silos with
    /// these energies together tell it, that only follows the messages' noise. One of J alike silos
    /// moves the common model by a J-th of what its own message asks for, and so follows a J-th of
    /// its own noise.
    pub fn followed(self, count: f64) -> f64 {
        let signal = self.all - self.noise;
        let all = count * signal.max(0.0) + self.noise;
        if all > 0.0 { self.noise / all } else { 0.0 }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// 1 or -1 by the bits of a number, mixed (the finaliser of splitmix64): the same in every run.
fn sign(number: u64) -> f64 {
    let mut bits = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    if (bits ^ (bits >> 31)) & 1 == 0 { 1.0 } else { -1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::Symmetric;

    #[test]
    fn what_noise_explains_was_followed() {
        let features = 50;
        let identity =
            |scale: f64| Symmetric::from_lower(features, |i, j| if i == j { scale } else { 0.0 });
        let moments = Moments {
            records: 1000.0,
            normal: identity(1.0),
            total: vec![0.0; features],
            gram: identity(300.0),
        };
        // R = I / (0.2 * 300 + 0.1 * 40) = I / 64, so noise has 50 * 40 / 64.
        let energy = |entry: f64| {
            let message = ClassSums { sums: vec![vec![entry; features]], variance: 40.0 };
            Energy::of(&moments, &message).unwrap()
        };
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        let clear = energy(120.0_f64.sqrt());
        close(clear.noise, 50.0 * 40.0 / 64.0);
        close(clear.all, 3.0 * clear.noise);
        close(clear.followed(1.0), 1.0 / 3.0);
        // Three alike silos: a third of the noise each, against three times two parts of signal.
        close(Energy { all: 3.0 * clear.all, noise: 3.0 * clear.noise }.followed(3.0), 1.0 / 7.0);
        close(energy(6.0).followed(1.0), 1.0);
        close(Energy { all: 5.0, noise: 0.0 }.followed(1.0), 0.0);
        close(Energy::default().followed(0.0), 0.0);
    }
}
