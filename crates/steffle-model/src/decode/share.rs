//! One noise for all sites: the scale of everybody's share of it, and how their total is read.

use super::ClassSums;
use crate::linear::Whitening;
use crate::record::GRID;

/// The coefficient of a record at the cap. Integers of several sites add up only if they all count in
/// the same steps.
pub const STEPS: f64 = 65_536.0;

/// The squared distance between the messages of two classes, over the squared length of what a record
/// adds to each.
pub fn table_factor(classes: usize) -> f64 {
    let k = classes as f64;
    if classes == 2 { 4.0 } else { 2.0 * k * k }
}

/// What sites that share noise draw alike: integers of the message are moved to the left by `shift`
/// bits, and every site adds discrete Gaussian noise of scale `sigma`. Whoever proposes it need not be
/// believed: each site prices its own records under it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShareScale {
    /// Bits.
    pub shift: u32,
    /// Scale of one share.
    pub sigma: u128,
}

impl ShareScale {
    /// The largest shift: sums over 127 sites then stay below 2^121.
    pub const MOST_SHIFT: u32 = 27;

    /// The scale under which a unit at the `cap` (in whitened units) costs `squared` where `honest`
    /// shares of at least `smallest` count; `None` where no integer is.
    pub fn new(
        (whitening, cap): (&Whitening, f64),
        classes: usize,
        squared: f64,
        (honest, smallest): (u32, u64),
    ) -> Option<Self> {
        let far = table_factor(classes).sqrt() * STEPS * (cap / whitening.grid()) / GRID;
        Self::of_distance(far, squared, (honest, smallest))
    }

    /// The scale under which a unit that moves integers so `far` costs `squared` where `honest` shares of
    /// at least `smallest` count; `None` where no integer is.
    pub(super) fn of_distance(
        far: f64,
        squared: f64,
        (honest, smallest): (u32, u64),
    ) -> Option<Self> {
        // A little more than rounding, here and at the sites, can take away.
        let scale = far / (squared * f64::from(honest)).sqrt() * (1.0 + 1e-7);
        let shift = (smallest as f64 / scale).log2().ceil().max(0.0);
        let sigma = (scale * shift.exp2()).ceil();
        let fits = scale > 0.0 && shift <= f64::from(Self::MOST_SHIFT) && sigma < 2_f64.powi(100);
        fits.then_some(Self { shift: shift as u32, sigma: sigma as u128 })
    }

    /// What one step of the integers is worth.
    fn unit(self) -> f64 {
        GRID * (-f64::from(self.shift)).exp2()
    }

    /// How far noise of this scale reaches, in steps before the shift.
    pub(super) fn deviation(self) -> f64 {
        self.sigma as f64 * (-f64::from(self.shift)).exp2()
    }

    /// Reads what all sites' integers add up to, with the noise of `sites` shares, under a cap in
    /// whitened units; `total` is the public sum that they were centred by.
    pub fn read(
        self,
        sums: &[Vec<i128>],
        sites: u32,
        (whitening, cap): (&Whitening, f64),
        total: &[f64],
        classes: usize,
    ) -> ClassSums {
        let (k, own) = (classes as f64, STEPS * (cap / whitening.grid()));
        let scale = 1.0 / (own * whitening.grid());
        let read = |sum: &Vec<i128>| {
            let mut sum: Vec<f64> = sum.iter().map(|&sum| sum as f64 * self.unit() / k).collect();
            whitening.unwhiten(&mut sum);
            sum.iter().zip(total).map(|(sum, total)| sum * scale + total / k).collect()
        };
        let deviation = self.sigma as f64 * self.unit() / k / own;
        let variance = f64::from(sites) * deviation * deviation;
        ClassSums { sums: sums.iter().map(read).collect(), variance }
    }
}
