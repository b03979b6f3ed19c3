//! Area under the ROC curve, with its standard error.

/// An area under the ROC curve.
///
/// The chance that a record with the favourable label is ranked above one without.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Auc {
    /// P(score of a positive > score of a negative) + P(equal)/2.
    pub value: f64,
    /// DeLong's standard error; absent with fewer than two positives or two negatives.
    pub standard_error: Option<f64>,
}

/// The area under the ROC curve of `(score, positive)` pairs, in O(n log n); ties count one half.
///
/// Absent without a positive or without a negative. The standard error is that of E. R. DeLong,
/// D. M. DeLong and D. L. Clarke-Pearson (Biometrics 44, 1988): the sample variances of each
/// positive's share of negatives below it and of each negative's share of positives above it.
pub fn auc(scored: impl IntoIterator<Item = (f64, bool)>) -> Option<Auc> {
    let mut scored: Vec<(f64, bool)> = scored.into_iter().collect();
    scored.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let positives = scored.iter().filter(|(_, positive)| *positive).count() as f64;
    let negatives = scored.len() as f64 - positives;
    if positives == 0.0 || negatives == 0.0 {
        return None;
    }
    let (mut positives_below, mut negatives_below) = (0.0, 0.0);
    let (mut of_positives, mut of_negatives) = (Moments::default(), Moments::default());
    for tied in scored.chunk_by(|a, b| a.0 == b.0) {
        let p = tied.iter().filter(|(_, positive)| *positive).count() as f64;
        let n = tied.len() as f64 - p;
        of_positives.add((negatives_below + n / 2.0) / negatives, p);
        of_negatives.add(1.0 - (positives_below + p / 2.0) / positives, n);
        positives_below += p;
        negatives_below += n;
    }
    let standard_error = of_positives
        .variance_of_mean()
        .zip(of_negatives.variance_of_mean())
        .map(|(positive, negative)| (positive + negative).sqrt());
    Some(Auc { value: of_positives.mean, standard_error })
}

/// Weighted running mean and sum of squares (West's update: no cancellation).
#[derive(Default)]
struct Moments {
    weight: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, value: f64, weight: f64) {
        if weight > 0.0 {
            self.weight += weight;
            let off = value - self.mean;
            self.mean += off * weight / self.weight;
            self.squares += weight * off * (value - self.mean);
        }
    }

    fn variance_of_mean(&self) -> Option<f64> {
        (self.weight > 1.0).then(|| self.squares / (self.weight - 1.0) / self.weight)
    }
}
