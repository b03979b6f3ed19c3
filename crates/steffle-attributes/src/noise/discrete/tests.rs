use rand::Rng;
use steffle_model::randomness::{ChaCha8Rng, Purpose, stream};

use super::*;

impl Bits for ChaCha8Rng {
    fn bits(&mut self) -> u64 {
        self.next_u64()
    }
}

/// A source that follows one path of coins after the other: what was answered so far is given again,
/// the first new question is answered by its first answer.
#[derive(Default)]
struct Paths {
    /// Answers and how many there were to choose from; a coin has two, of unequal weight.
    script: Vec<(u128, u128)>,
    at: usize,
    probability: f64,
}

/// Paths less likely than this are cut off.
const UNLIKELY: f64 = 1e-10;

impl Paths {
    fn answer(&mut self, choices: u128) -> u128 {
        if self.at == self.script.len() {
            self.script.push((0, choices));
        }
        self.at += 1;
        self.script[self.at - 1].0
    }

    /// The next path: the last answer that has a successor is changed. False when there is none.
    fn turn(&mut self) -> bool {
        self.script.truncate(self.at);
        while let Some((answer, choices)) = self.script.pop() {
            if answer + 1 < choices {
                self.script.push((answer + 1, choices));
                return true;
            }
        }
        false
    }
}

impl Bits for Paths {
    fn bits(&mut self) -> u64 {
        unreachable!("all draws go through `below` and `chance`")
    }

    fn below(&mut self, end: u128) -> u128 {
        self.probability /= end as f64;
        self.answer(end)
    }

    fn chance(&mut self, numerator: u128, denominator: u128) -> bool {
        // On an unlikely path every coin fails from here on, so that it ends soon.
        if numerator == 0 || numerator == denominator || self.probability < UNLIKELY {
            return numerator == denominator;
        }
        let heads = numerator as f64 / denominator as f64;
        let success = self.answer(2) == 1;
        self.probability *= if success { heads } else { 1.0 - heads };
        success
    }
}

/// Follows every path through one attempt and adds up where they end. No chance, no tolerance: a
/// law that differs anywhere by more than the paths that were cut off fails.
#[test]
fn one_attempt_has_the_exact_law() {
    for sigma in [1_u128, 2, 3, 5] {
        let reach = 8 * sigma.cast_signed();
        let mut law = vec![0.0; 2 * reach as usize + 1];
        let (mut paths, mut all, mut cut) = (Paths::default(), 0.0, 0.0);
        loop {
            (paths.at, paths.probability) = (0, 1.0);
            let outcome = attempt(sigma, &mut paths);
            all += paths.probability;
            if paths.probability < UNLIKELY {
                cut += paths.probability;
            } else if let Some(y) = outcome {
                law[(y + reach) as usize] += paths.probability;
            }
            if !paths.turn() {
                break;
            }
        }
        assert!((all - 1.0_f64).abs() < 1e-9, "{sigma}: {all}");
        assert!(cut < 2e-4, "{sigma}: {cut}");
        let scale = sigma as f64;
        let factor = (1.0 - (-1.0_f64).exp()) * (-0.5_f64).exp() / (2.0 * scale);
        for (y, found) in (-reach..=reach).zip(&law) {
            let exact = factor * (-0.5 * (y as f64 / scale).powi(2)).exp();
            let missing = exact - found;
            assert!((-1e-12..=cut).contains(&missing), "{sigma} {y}: {found} {exact} {cut}");
        }
        // All of them together, too: no outcome is far from its probability while others hide it.
        let exact: f64 =
            (-reach..=reach).map(|y| factor * (-0.5 * (y as f64 / scale).powi(2)).exp()).sum();
        let missing = exact - law.iter().sum::<f64>();
        assert!((-1e-12..=cut).contains(&missing), "{sigma}: {missing} {cut}");
    }
}

#[test]
fn small_scales_have_the_exact_law() {
    for sigma in [1_u32, 2, 3, 5, 16] {
        let mut random = stream(5, u64::from(sigma), Purpose::Noise, 0);
        let (reach, far) = (4 * i64::from(sigma), 60 * i64::from(sigma));
        let mut counts = vec![0.0; 2 * reach as usize + 1];
        let draws = 200_000;
        for _ in 0..draws {
            let draw = gaussian(u128::from(sigma), &mut random) as i64;
            counts[(draw.clamp(-reach, reach) + reach) as usize] += 1.0;
        }
        let density = |x: i64| (-(x as f64).powi(2) / (2.0 * f64::from(sigma * sigma))).exp();
        let all: f64 = (-far..=far).map(density).sum();
        let tail: f64 = (reach..=far).map(density).sum();
        let statistic: f64 = (-reach..=reach)
            .zip(&counts)
            .map(|(x, count)| {
                let mass = if x.abs() == reach { tail } else { density(x) };
                let expected = mass / all * f64::from(draws);
                (count - expected).powi(2) / expected
            })
            .sum();
        // Chi-square with f degrees of freedom exceeds f + 6 sqrt(2 f) + 12 with probability
        // below 1e-7; the seeds are fixed.
        let freedom = 2.0 * reach as f64;
        assert!(statistic < freedom + 6.0 * (2.0 * freedom).sqrt() + 12.0, "{sigma}: {statistic}");
    }
}

#[test]
fn large_scales_have_the_right_moments() {
    for sigma in [1 << 24, 1 << 60, (1 << 63) + 12_345, LARGEST_SCALE - 1, LARGEST_SCALE] {
        let mut random = stream(6, sigma as u64, Purpose::Noise, 0);
        let draws = 20_000;
        let values: Vec<f64> =
            (0..draws).map(|_| gaussian(sigma, &mut random) as f64 / sigma as f64).collect();
        let n = f64::from(draws);
        let mean = values.iter().sum::<f64>() / n;
        let second = values.iter().map(|v| v * v).sum::<f64>() / n;
        let fourth = values.iter().map(|v| v.powi(4)).sum::<f64>() / n;
        let below = values.iter().filter(|v| v.abs() < 0.5).count() as f64 / n;
        // Six standard errors (1, sqrt 2, sqrt 96 and 0.49 over sqrt n): one seed in 10^8 fails
        // for a correct sampler, and the seeds are fixed.
        assert!(mean.abs() < 6.0 / n.sqrt(), "{sigma}: {mean}");
        assert!((second - 1.0).abs() < 6.0 * (2.0 / n).sqrt(), "{sigma}: {second}");
        assert!((fourth - 3.0).abs() < 6.0 * (96.0 / n).sqrt(), "{sigma}: {fourth}");
        assert!((below - 0.382_925).abs() < 6.0 * 0.49 / n.sqrt(), "{sigma}: {below}");
    }
}

/// The low bits of large draws are as random as the high ones.
#[test]
fn large_draws_use_all_their_bits() {
    let mut random = stream(8, 0, Purpose::Noise, 0);
    let draws: Vec<i128> = (0..4_000).map(|_| gaussian(LARGEST_SCALE, &mut random)).collect();
    for bit in 0..99 {
        let set = draws.iter().filter(|&draw| draw >> bit & 1 == 1).count();
        // Seven standard deviations of 32; below 3e-10 over all bits, and the seed is fixed. Two
        // below the scale the law is flat enough: bit 99 of a negative number is not a fair coin.
        assert!(set.abs_diff(2_000) < 222, "bit {bit}: {set}");
    }
}

#[test]
fn uniform_numbers_reach_every_end() {
    let mut random = stream(7, 0, Purpose::Noise, 0);
    assert_eq!(random.below(1), 0);
    for end in [2_u128, 3, 5, (1 << 64) - 1, 1 << 64, (1 << 64) + 1, 3 << 98, 1 << 100] {
        let draws = 40_000_u32;
        let mut quarters = [0_u32; 4];
        let mut ends = (false, false);
        for _ in 0..draws {
            let draw = random.below(end);
            assert!(draw < end, "{draw} of {end}");
            ends = (ends.0 || draw == 0, ends.1 || draw == end - 1);
            quarters[(draw as f64 / end as f64 * 4.0).min(3.0) as usize] += 1;
        }
        if end <= 5 {
            assert_eq!(ends, (true, true), "{end}");
        } else {
            // Each 10,000 times, standard deviation 87; seven of them: 1e-11 for all, seed fixed.
            assert!(quarters.iter().all(|q| q.abs_diff(10_000) < 606), "{end}: {quarters:?}");
        }
    }
}
