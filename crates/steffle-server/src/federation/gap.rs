//! What a one-shot release tells about the gap of a model, and how well: post-processing, free.

use steffle_model::decode::{Correction, Energy, Evidence};
use steffle_wire::{Gap, GapCell, GapSums, Told, Transport};

use super::{Federation, FederationError, OneShot};

/// The gap of a model's decisions on the training records, estimated from a release.
///
/// It is no certificate: what the decisions owe to x beyond the released features is estimated by
/// the decode, which shrinks where the noise is large (below epsilon 0.5 on data like Adult), and
/// the standard error knows the noise of the release alone, and of a model that was trained on it
/// how much of that noise it followed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct GapEstimate {
    /// The largest difference of a decision's rate between two classes, over all cells.
    pub gap: f64,
    /// The standard deviation that the release's noise gives it.
    pub standard_error: f64,
    /// Differences of which it is the largest: pairs of classes, decisions and cells.
    pub comparisons: usize,
}

impl GapEstimate {
    /// Whether noise alone could have made the gap: then the noise of the release exceeds its
    /// signal, and training on it is not to be expected to make decisions fairer.
    pub fn within_noise(&self) -> bool {
        self.gap < self.threshold() * self.standard_error
    }

    /// Standard errors that the largest of so many differences seldom exceeds by noise: 2 for one
    /// difference, and what extreme values of normals add for more.
    pub fn threshold(&self) -> f64 {
        (4.0 + 2.0 * (self.comparisons.max(1) as f64).ln()).sqrt()
    }
}

/// What a release tells about a model that does not depend on it.
#[derive(Debug, Clone, PartialEq)]
pub struct FirstLook {
    /// Its gap.
    pub gap: GapEstimate,
    /// Per class that messages are about, how far they tell its decisions from those of all, in standard
    /// deviations of their noise. Of several decisions and cells it is the farthest, less what the
    /// farthest of so many is by noise alone: about 2 is seldom noise.
    pub evidence: Vec<f64>,
    /// Silos whose decode did not come to its end.
    pub unfinished: usize,
}

impl<T: Transport> Federation<T> {
    /// Estimates the gap of the decisions at `theta`, which is not to depend on the release, on the
    /// training records, and whether the release tells classes apart by them.
    pub fn look(&mut self, release: &OneShot, theta: &[f64]) -> Result<FirstLook, FederationError> {
        let Looked { mut models, unfinished, .. } = self.told(release, vec![theta.to_vec()])?;
        let cells = models.pop().ok_or(FederationError::Incomplete("gap"))?;
        let gap = widest(&cells, self.agreement.scores.classes);
        Ok(FirstLook { gap, evidence: evidence(&cells), unfinished })
    }

    /// Estimates the gap of the decisions at `theta`, which was trained on the release from `public`,
    /// on the training records.
    ///
    /// Training has moved decisions away from what the release says about classes, its noise
    /// included, and the release cannot tell: it sees all of the move. The share of it that only
    /// followed the noise ([`Energy::followed`]) is taken back.
    pub fn estimate_gap_after(
        &mut self,
        release: &OneShot,
        public: &[f64],
        theta: &[f64],
    ) -> Result<GapEstimate, FederationError> {
        let Looked { models, followed, .. } =
            self.told(release, vec![public.to_vec(), theta.to_vec()])?;
        let [before, mut after]: [Vec<GapCell>; 2] =
            models.try_into().map_err(|_| FederationError::Incomplete("gap"))?;
        for (after, before) in after.iter_mut().zip(&before) {
            take_back(after, followed, before);
        }
        Ok(widest(&after, self.agreement.scores.classes))
    }

    /// What a release tells about the decisions of each of several models; and, where there is more
    /// than one, which share of the move between them follows its noise.
    fn told(
        &mut self,
        release: &OneShot,
        thetas: Vec<Vec<f64>>,
    ) -> Result<Looked, FederationError> {
        let several = thetas.len() > 1;
        let told = self.trips.ask_sum(self.silos.clone(), 0, &Gap { thetas })?;
        let features = release.pooled().map(|(_, moments)| moments.total.len());
        if !fits(&told, self.agreement.scores.classes, features) {
            return Err(FederationError::Incomplete("fitting gap"));
        }
        let GapSums { mut models, expected, energy, messages, unfinished } = told;
        let mut followed = energy.unwrap_or_default().followed(messages);
        if let Some((message, moments)) = release.pooled() {
            let correction = Correction::new(moments, message)?;
            models.iter_mut().flatten().for_each(|cell| cell.correct(&correction, &expected));
            if several {
                followed = Energy::of(moments, message)?.followed(1.0);
            } else {
                let evidence = Evidence::of(moments, message)?;
                models.iter_mut().flatten().for_each(|cell| cell.tell(&evidence));
            }
        }
        Ok(Looked { models, followed, unfinished: unfinished as usize })
    }
}

/// What was asked about several models at once.
struct Looked {
    models: Vec<Vec<GapCell>>,
    followed: f64,
    unfinished: usize,
}

/// See [`FirstLook::evidence`].
fn evidence(cells: &[GapCell]) -> Vec<f64> {
    let classes = cells.iter().map(|cell| cell.told.signals.len() / cell.rates.len().max(1)).max();
    let mut farthest = vec![0.0_f64; classes.unwrap_or(0)];
    let mut comparisons = 0;
    for GapCell { rates, told: Told { signals, variances }, .. } in cells {
        let labels = rates.len();
        // The rates of all decisions sum to 1, so one of them says nothing new.
        comparisons += labels.saturating_sub(1);
        for (at, signal) in signals.iter().enumerate().filter(|(at, _)| at % labels > 0) {
            let variance = variances.get(at % labels).copied().unwrap_or(0.0);
            let far = if variance > 0.0 { signal.abs() / variance.sqrt() } else { f64::MAX };
            let own = &mut farthest[at / labels];
            *own = own.max(if *signal == 0.0 { 0.0 } else { far });
        }
    }
    let scale = GapEstimate { comparisons: 1, ..GapEstimate::default() }.threshold()
        / GapEstimate { comparisons, ..GapEstimate::default() }.threshold();
    farthest.iter().map(|far| far * scale).collect()
}

/// Refuses totals that do not fit the classes and the pooled features.
fn fits(sums: &GapSums, classes: usize, features: Option<usize>) -> bool {
    let pooled = |vectors: &[Vec<f64>]| match features {
        Some(size) => vectors.iter().all(|vector| vector.len() == size),
        None => vectors.is_empty(),
    };
    let cell = |cell: &GapCell| cell.masses.len() == classes && pooled(&cell.numbers);
    pooled(&sums.expected) && sums.models.iter().flatten().all(cell)
}

/// Takes back a share of what has changed since `before`. The share is that of a linear decode
/// and a linear model. It is too little (on the two generated data sets that this was looked at,
/// by up to nine tenths of it), so three quarters of it are counted as its standard error: a rule
/// fitted to these two, not a bound.
fn take_back(cell: &mut GapCell, share: f64, before: &GapCell) {
    let labels = cell.rates.len();
    let mut most = vec![0.0_f64; labels];
    let pairs = cell.covariances.iter_mut().zip(&before.covariances).enumerate();
    for (at, (now, before)) in pairs {
        let back = share * (before - *now);
        *now += back;
        most[at % labels] = most[at % labels].max(back.abs());
    }
    for (variance, back) in cell.variances.iter_mut().zip(most) {
        *variance += (0.75 * back).powi(2);
    }
}

/// The widest difference between two classes.
fn widest_of(cell: &GapCell, classes: usize) -> GapEstimate {
    let labels = cell.rates.len();
    let rate =
        |class: usize, label: usize| cell.covariances[class * labels + label] / cell.masses[class];
    let mut widest = GapEstimate::default();
    let pairs = (0..classes).flat_map(|r| (0..r).map(move |other| (r, other)));
    for (r, other) in pairs.filter(|&(r, o)| cell.masses[r] > 0.0 && cell.masses[o] > 0.0) {
        for label in 0..labels {
            let gap = (rate(r, label) - rate(other, label)).abs();
            // The rates of all decisions sum to 1, so one of them says nothing new.
            widest.comparisons += usize::from(label > 0);
            if gap >= widest.gap {
                // The classes' noise sums to 0: it is correlated by -1 / (k - 1).
                let (a, b) = (1.0 / cell.masses[r], 1.0 / cell.masses[other]);
                let spread = a * a + b * b + 2.0 * a * b / (classes as f64 - 1.0).max(1.0);
                let standard_error = (cell.variances[label] * spread).sqrt();
                widest = GapEstimate { gap, standard_error, ..widest };
            }
        }
    }
    widest
}

/// The widest difference of all cells.
fn widest(cells: &[GapCell], classes: usize) -> GapEstimate {
    let widest = cells.iter().map(|cell| widest_of(cell, classes));
    widest.fold(GapEstimate::default(), |widest, own| {
        let comparisons = widest.comparisons + own.comparisons;
        let wider = if own.gap >= widest.gap { own } else { widest };
        GapEstimate { comparisons, ..wider }
    })
}
