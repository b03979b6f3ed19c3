//! What a one-shot release tells about the gap of a model, and how well: post-processing, free.

use super::one_shot::{capped, one_shot};
use super::{DriverError, Federation, OneShot, in_order};
use crate::division::records::RecordsDivision;
use crate::metrics::decide;
use crate::model::{Classifier, Point};
use crate::one_shot::decode::{Energy, Moments};
use crate::one_shot::{Capped, Corrected, Correction};
use crate::record::Rows;

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

/// Decisions from rows alone.
type Decide<'a> = dyn Fn(&Rows) -> Vec<u16> + Sync + 'a;

/// The decisions of one cell by class, `[class][label]`, and what the message needs to correct
/// them.
struct Cell {
    records: f64,
    /// Decisions, `[label]`.
    rates: Vec<f64>,
    /// Memberships, `[class]`.
    masses: Vec<f64>,
    /// `sum_i shat_ir (d_iu - mean d_u)`, `[class][label]`.
    covariances: Vec<f64>,
    /// `sum_i (d_iu - mean d_u) scale_i f_i`, one per label.
    numbers: Vec<Vec<f64>>,
    /// Variance of the noise of a class's sum, `[label]`.
    variances: Vec<f64>,
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

impl Federation {
    /// Estimates the gap of the decisions at `theta`, which is not to depend on the release, on the
    /// training records.
    pub fn estimate_gap(
        &mut self,
        release: &OneShot,
        theta: &[f64],
    ) -> Result<GapEstimate, DriverError> {
        let model = self.agreement.model.clone();
        let [cells] = self.told(release, [&decisions(model.as_ref(), theta)])?.0;
        Ok(widest(&cells, self.agreement.objective.classes()))
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
    ) -> Result<GapEstimate, DriverError> {
        let model = self.agreement.model.clone();
        let before = decisions(model.as_ref(), public);
        let after = decisions(model.as_ref(), theta);
        let ([before, mut after], energies) = self.told(release, [&before, &after])?;
        let followed = Energy::followed(&energies);
        for (after, before) in after.iter_mut().zip(&before) {
            after.take_back(followed, before);
        }
        Ok(widest(&after, self.agreement.objective.classes()))
    }

    /// What a release tells about each of several decisions; and, where there is more than one, the
    /// energy of its messages.
    fn told<const N: usize>(
        &mut self,
        release: &OneShot,
        decide: [&Decide<'_>; N],
    ) -> Result<([Vec<Cell>; N], Vec<Energy>), DriverError> {
        self.next_trip();
        let all = self.sizes.iter().sum();
        let classes = self.agreement.objective.classes();
        let pooled = release.moments();
        let energy = |moments: &Moments, at: usize| {
            let found = (N > 1).then(|| Energy::of(moments, &release.messages()[at]));
            found.transpose().map_err(|error| one_shot(at, error.into()))
        };
        let mut energies = Vec::new();
        let work = |(at, division): (usize, &mut RecordsDivision)| {
            let capped = capped(division, release.agreed()).map_err(|error| one_shot(at, error))?;
            let expected = expected(division, &capped, classes);
            let rows = division.records().rows();
            let mut each = decide.map(|decide| cells(division, &capped, &decide(rows)));
            let mut own = None;
            if pooled.is_none() {
                // The silo's own message: nothing of the size of the features leaves it.
                let moments = Moments::new(&capped);
                let correction = Correction::new(&moments, &release.messages()[at])
                    .map_err(|error| one_shot(at, error))?;
                each.iter_mut().flatten().for_each(|cell| cell.correct(&correction, &expected));
                own = energy(&moments, at)?;
            }
            Ok((each, expected, own))
        };
        let mut silos = in_order(self.nodes.records(), all, work)?.into_iter();
        let Some((mut total, mut expected, own)) = silos.next() else {
            return Err(DriverError::Empty);
        };
        energies.extend(own);
        for (each, own, energy) in silos {
            for (total, own) in total.iter_mut().flatten().zip(each.iter().flatten()) {
                total.add(own, pooled.is_some());
            }
            for (expected, own) in expected.iter_mut().zip(&own) {
                expected.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
            }
            energies.extend(energy);
        }
        if let Some(moments) = pooled {
            let correction = Correction::new(moments, &release.messages()[0])
                .map_err(|error| one_shot(0, error))?;
            total.iter_mut().flatten().for_each(|cell| cell.correct(&correction, &expected));
            energies.extend(energy(moments, 0)?);
        }
        Ok((total, energies))
    }
}

impl Cell {
    /// Adds what the message says beyond the memberships.
    fn correct(&mut self, correction: &Correction<'_>, expected: &[Vec<f64>]) {
        let labels = self.rates.len();
        for (label, numbers) in self.numbers.iter().enumerate() {
            let Corrected { additions, variance } = correction.of(numbers, expected);
            if let [addition] = additions[..] {
                self.covariances[label] -= addition;
                self.covariances[labels + label] += addition;
            } else {
                for (class, addition) in additions.iter().enumerate() {
                    self.covariances[class * labels + label] += addition;
                }
            }
            self.variances[label] = variance;
        }
    }

    /// Adds another silo's records of the cell; `numbers` only where they pool.
    fn add(&mut self, other: &Self, pooled: bool) {
        let labels = self.rates.len();
        let add = |mine: &mut [f64], theirs: &[f64]| {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        };
        // Covariances are about each silo's own mean: move both to the common one.
        let records = self.records + other.records;
        for label in 0..labels {
            let mean = (self.records * self.rates[label] + other.records * other.rates[label])
                / records.max(1.0);
            for class in 0..self.masses.len() {
                self.covariances[class * labels + label] += other.covariances
                    [class * labels + label]
                    + self.masses[class] * (self.rates[label] - mean)
                    + other.masses[class] * (other.rates[label] - mean);
            }
            self.rates[label] = mean;
        }
        self.records = records;
        add(&mut self.masses, &other.masses);
        add(&mut self.variances, &other.variances);
        if pooled {
            self.numbers.iter_mut().zip(&other.numbers).for_each(|(mine, own)| add(mine, own));
        }
    }

    /// Takes back a share of what has changed since `before`. The share is that of a linear decode
    /// and a linear model. It is too little (on the two generated data sets that this was looked at,
    /// by up to nine tenths of it), so three quarters of it are counted as its standard error: a rule
    /// fitted to these two, not a bound.
    fn take_back(&mut self, share: f64, before: &Self) {
        let labels = self.rates.len();
        let mut most = vec![0.0_f64; labels];
        let pairs = self.covariances.iter_mut().zip(&before.covariances).enumerate();
        for (at, (now, before)) in pairs {
            let back = share * (before - *now);
            *now += back;
            most[at % labels] = most[at % labels].max(back.abs());
        }
        for (variance, back) in self.variances.iter_mut().zip(most) {
            *variance += (0.75 * back).powi(2);
        }
    }

    /// The widest difference between two classes.
    fn widest(&self, classes: usize) -> GapEstimate {
        let labels = self.rates.len();
        let rate = |class: usize, label: usize| {
            self.covariances[class * labels + label] / self.masses[class]
        };
        let mut widest = GapEstimate::default();
        let pairs = (0..classes).flat_map(|r| (0..r).map(move |other| (r, other)));
        for (r, other) in pairs.filter(|&(r, o)| self.masses[r] > 0.0 && self.masses[o] > 0.0) {
            for label in 0..labels {
                let gap = (rate(r, label) - rate(other, label)).abs();
                // The rates of all decisions sum to 1, so one of them says nothing new.
                widest.comparisons += usize::from(label > 0);
                if gap >= widest.gap {
                    // The classes' noise sums to 0: it is correlated by -1 / (k - 1).
                    let (a, b) = (1.0 / self.masses[r], 1.0 / self.masses[other]);
                    let spread = a * a + b * b + 2.0 * a * b / (classes as f64 - 1.0).max(1.0);
                    let standard_error = (self.variances[label] * spread).sqrt();
                    widest = GapEstimate { gap, standard_error, ..widest };
                }
            }
        }
        widest
    }
}

/// The widest difference of all cells.
fn widest(cells: &[Cell], classes: usize) -> GapEstimate {
    let widest = cells.iter().map(|cell| cell.widest(classes));
    widest.fold(GapEstimate::default(), |widest, own| {
        let comparisons = widest.comparisons + own.comparisons;
        let wider = if own.gap >= widest.gap { own } else { widest };
        GapEstimate { comparisons, ..wider }
    })
}

/// The decisions of a model.
fn decisions(model: &dyn Classifier, theta: &[f64]) -> impl Fn(&Rows) -> Vec<u16> + Sync + Send {
    move |rows| decide(&Point::new(model, theta).probabilities(rows), model.labels())
}

/// `sum_i shat_ir scale_i f_i` of the classes that a message has.
fn expected(division: &RecordsDivision, capped: &Capped<'_>, classes: usize) -> Vec<Vec<f64>> {
    let scales = capped.scales();
    let sent = if classes == 2 { 1..2 } else { 0..classes };
    sent.map(|class| {
        let own: Vec<f64> = match division.imputed() {
            Some(imputed) => {
                let own = (0..scales.len()).map(|record| imputed.of(record)[class]);
                own.zip(&scales).map(|(membership, scale)| membership * scale).collect()
            }
            None => vec![0.0; scales.len()],
        };
        capped.features().sum(&own)
    })
    .collect()
}

fn cells(division: &RecordsDivision, capped: &Capped<'_>, decisions: &[u16]) -> Vec<Cell> {
    let labels = division.model().labels();
    let scales = capped.scales();
    let classes = division.objective().classes();
    let equal = vec![1.0 / classes as f64; classes];
    let of = |record: usize| division.imputed().map_or(&equal[..], |imputed| imputed.of(record));
    (0..capped.features().cells())
        .map(|cell| {
            let members = capped.features().members(cell);
            let n = members.len() as f64;
            let mut counts = vec![0.0; labels];
            let mut masses = vec![0.0; classes];
            for &record in members {
                counts[usize::from(decisions[record as usize])] += 1.0;
                let own = masses.iter_mut().zip(of(record as usize));
                own.for_each(|(mass, membership)| *mass += membership);
            }
            let rates: Vec<f64> = counts.iter().map(|count| count / n.max(1.0)).collect();
            let mut covariances = vec![0.0; classes * labels];
            let mut numbers = Vec::with_capacity(labels);
            for (label, rate) in rates.iter().enumerate() {
                let mut centred = vec![0.0; scales.len()];
                for &record in members {
                    let record = record as usize;
                    let decided = f64::from(u8::from(usize::from(decisions[record]) == label));
                    centred[record] = (decided - rate) * scales[record];
                    for (class, membership) in of(record).iter().enumerate() {
                        covariances[class * labels + label] += membership * (decided - rate);
                    }
                }
                numbers.push(capped.features().sum(&centred));
            }
            let variances = vec![0.0; labels];
            Cell { records: n, rates, masses, covariances, numbers, variances }
        })
        .collect()
}
