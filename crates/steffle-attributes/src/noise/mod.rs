//! Noise sources. Their type says whether a run is a simulation.

mod discrete;

pub(crate) use discrete::{LARGEST_SCALE, LARGEST_WHOLE};
pub use steffle_privacy::ledger::NoiseKind;

use discrete::Bits;
use rand::rngs::ChaCha20Rng;
use rand::{Rng, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use steffle_model::randomness::{ChaCha8Rng, Purpose, stream};

/// Whoever could write a source of their own could call zeros secret noise.
pub(crate) mod sealed {
    pub trait Sealed {}
}

/// A source of Gaussian noise. Both sources run the same code on other bits, and there are no others.
pub trait NoiseSource: sealed::Sealed + Send {
    /// What the source is.
    fn kind(&self) -> NoiseKind;

    /// 64 fair bits.
    fn bits(&mut self) -> u64;

    /// Adds independent `N(0, scale^2)` to every value: floats, which leave traces in their lowest
    /// bits, hence only for noise that makes no claim.
    fn add_gaussian(&mut self, scale: f64, values: &mut [f64]);

    /// `count` independent discrete Gaussians of this scale, from 1 to 2^100.
    fn discrete_gaussians(&mut self, sigma: u128, count: usize) -> Vec<i128> {
        (0..count).map(|_| discrete::gaussian(sigma, &mut Of(self))).collect()
    }
}

/// Bits of a source: the sampler's own trait, so that it can be tested on bare generators.
struct Of<'a, S: ?Sized>(&'a mut S);

impl<S: NoiseSource + ?Sized> Bits for Of<'_, S> {
    fn bits(&mut self) -> u64 {
        self.0.bits()
    }
}

/// Seeded noise: repeatable, hence for simulation only.
///
/// Whoever knows the seed can take it away again.
#[derive(Debug)]
pub struct SimulatedNoise(ChaCha8Rng);

impl SimulatedNoise {
    /// The noise of `node` in `round` of the run with this seed.
    #[inline]
    pub fn new(seed: u64, node: u64, round: u64) -> Self {
        Self(stream(seed, node, Purpose::Noise, round))
    }
}

impl sealed::Sealed for SimulatedNoise {}
impl sealed::Sealed for SecureNoise {}
impl sealed::Sealed for NodeNoise {}

impl NoiseSource for SimulatedNoise {
    fn kind(&self) -> NoiseKind {
        NoiseKind::Simulation
    }

    fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn add_gaussian(&mut self, scale: f64, values: &mut [f64]) {
        add(&mut self.0, scale, values);
    }
}

/// Noise from ChaCha20 keyed by the operating system.
///
/// Secrecy of the noise is one half of a guarantee; the other is the integer mechanism, because
/// floating-point Gaussians leave traces in their lowest bits.
#[derive(Debug)]
pub struct SecureNoise(ChaCha20Rng);

impl SecureNoise {
    /// A fresh key from the operating system; `None` when it gives none.
    pub fn new() -> Option<Self> {
        ChaCha20Rng::try_from_rng(&mut rand::rngs::SysRng).ok().map(Self)
    }
}

impl NoiseSource for SecureNoise {
    fn kind(&self) -> NoiseKind {
        NoiseKind::Secure
    }

    fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn add_gaussian(&mut self, scale: f64, values: &mut [f64]) {
        add(&mut self.0, scale, values);
    }
}

/// The noise of one node in one round, of either kind.
///
/// A seed makes it repeatable and hence a simulation; the operating system makes it secret.
#[derive(Debug)]
pub enum NodeNoise {
    /// Seeded.
    Simulated(SimulatedNoise),
    /// Secret, with a key of its own.
    Secure(SecureNoise),
}

impl NodeNoise {
    /// The noise of `node` in `round`; `None` when the operating system gives no key.
    #[inline]
    pub fn new(kind: NoiseKind, seed: u64, node: u64, round: u64) -> Option<Self> {
        Some(match kind {
            NoiseKind::Simulation => Self::Simulated(SimulatedNoise::new(seed, node, round)),
            NoiseKind::Secure => Self::Secure(SecureNoise::new()?),
        })
    }
}

impl NoiseSource for NodeNoise {
    fn kind(&self) -> NoiseKind {
        match self {
            Self::Simulated(noise) => noise.kind(),
            Self::Secure(noise) => noise.kind(),
        }
    }

    fn bits(&mut self) -> u64 {
        match self {
            Self::Simulated(noise) => noise.bits(),
            Self::Secure(noise) => noise.bits(),
        }
    }

    fn add_gaussian(&mut self, scale: f64, values: &mut [f64]) {
        match self {
            Self::Simulated(noise) => noise.add_gaussian(scale, values),
            Self::Secure(noise) => noise.add_gaussian(scale, values),
        }
    }
}

fn add(random: &mut impl Rng, scale: f64, values: &mut [f64]) {
    for value in values {
        let draw: f64 = StandardNormal.sample(random);
        *value += scale * draw;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(source: &mut impl NoiseSource, scale: f64) -> (f64, f64) {
        let mut values = vec![0.0; 100_000];
        source.add_gaussian(scale, &mut values);
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        (mean, (values.iter().map(|v| v * v).sum::<f64>() / n).sqrt())
    }

    #[test]
    fn noise_has_the_scale_it_is_asked_for() {
        let secure = moments(&mut SecureNoise::new().unwrap(), 3.0);
        let simulated = moments(&mut SimulatedNoise::new(1, 2, 3), 3.0);
        for (mean, deviation) in [secure, simulated] {
            // Six standard errors each: the secure half fails by chance once in 10^8 runs.
            assert!(mean.abs() < 6.0 * 3.0 / 100_000_f64.sqrt(), "{mean}");
            assert!((deviation / 3.0 - 1.0).abs() < 6.0 / 200_000_f64.sqrt(), "{deviation}");
        }
    }

    #[test]
    fn simulated_noise_repeats_and_secure_noise_does_not() {
        let draw = |source: &mut dyn FnMut(&mut [f64])| {
            let mut values = [0.0; 4];
            source(&mut values);
            values
        };
        let simulated = || draw(&mut |v| SimulatedNoise::new(1, 2, 3).add_gaussian(1.0, v));
        assert_eq!(simulated(), simulated());
        let secure = || draw(&mut |v| SecureNoise::new().unwrap().add_gaussian(1.0, v));
        // Equal by chance with probability below 2^-200.
        assert_ne!(secure(), secure());
    }
}
