//! Released counts of all stores, added up.

/// Counts of records by label, class and decision: exact where classes are not involved, noisy where
/// they are.
///
/// ```
/// use steffle_model::metrics::Tally;
/// // Two labels and two classes: 60 and 40 records of the labels, by decision.
/// let mut tally = Tally::new(2, 2);
/// assert!(tally.add_public(&[50, 10, 15, 25]));
/// // Of two classes the second is sent, less half of the public counts.
/// assert!(tally.add_noisy(&[-5.0, 1.0, 2.0, -0.5], 2.25, 1));
/// assert_eq!(tally.counts(0), [30.0, 4.0, 5.5, 13.0]);
/// assert_eq!(tally.counts(1), [20.0, 6.0, 9.5, 12.0]);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Tally {
    labels: usize,
    classes: usize,
    /// `[label][decision]`.
    public: Vec<u64>,
    /// `[label][class that is sent][decision]`, centred.
    centred: Vec<f64>,
    /// Of the noise of each, all stores together.
    variance: f64,
    stores: u64,
}

impl Tally {
    /// Of nobody yet.
    pub fn new(labels: usize, classes: usize) -> Self {
        let slots = labels * labels;
        let centred = vec![0.0; slots * sent(classes)];
        Self { labels, classes, public: vec![0; slots], centred, variance: 0.0, stores: 0 }
    }

    /// Adds a silo's exact counts, `[label][decision]`; not those of another shape.
    #[must_use]
    pub fn add_public(&mut self, counts: &[u64]) -> bool {
        let fits = counts.len() == self.public.len();
        let all = self.public.iter_mut().zip(counts).filter(|_| fits);
        all.for_each(|(sum, count)| *sum = sum.saturating_add(*count));
        fits
    }

    /// Adds centred noisy counts of so many stores, `[label][class that is sent][decision]`, whose noise
    /// has this variance; not those of another shape.
    #[must_use]
    pub fn add_noisy(&mut self, counts: &[f64], variance: f64, stores: u64) -> bool {
        let fits = counts.len() == self.centred.len();
        let all = self.centred.iter_mut().zip(counts).filter(|_| fits);
        all.for_each(|(sum, count)| *sum += count);
        if fits {
            self.variance += variance.max(0.0);
            self.stores = self.stores.saturating_add(stores);
        }
        fits
    }

    /// Labels.
    pub fn labels(&self) -> usize {
        self.labels
    }

    /// Classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Stores that released something.
    pub fn stores(&self) -> u64 {
        self.stores
    }

    /// Records in all.
    pub fn records(&self) -> u64 {
        self.public.iter().fold(0, |sum: u64, count| sum.saturating_add(*count))
    }

    /// Records with a wrong decision, of all classes together: exact.
    pub fn wrong(&self) -> u64 {
        let at = |(slot, count): (usize, &u64)| {
            if slot / self.labels == slot % self.labels { 0 } else { *count }
        };
        self.public.iter().enumerate().map(at).fold(0, u64::saturating_add)
    }

    /// The variance of the noise of one count, as it is in [`Tally::counts`].
    pub fn variance(&self) -> f64 {
        let k = self.classes as f64;
        if self.classes == 2 { self.variance } else { self.variance * (k - 1.0) / k }
    }

    /// Estimated counts of a class, `[label][decision]`: over classes they sum to the public ones.
    pub fn counts(&self, class: usize) -> Vec<f64> {
        let (l, k) = (self.labels, self.classes as f64);
        let rows = sent(self.classes);
        let slot = |slot: usize| {
            let (label, decision) = (slot / l, slot % l);
            let row = |row: usize| self.centred[(label * rows + row) * l + decision];
            let own = match (self.classes, class) {
                (2, 0) => -row(0),
                (2, _) => row(0),
                // The classes' sums are known to be 0 without noise.
                _ => row(class) - (0..rows).map(row).sum::<f64>() / k,
            };
            self.public[slot] as f64 / k + own
        };
        (0..l * l).map(slot).collect()
    }
}

/// Rows that are sent: of two classes one tells the other.
fn sent(classes: usize) -> usize {
    if classes == 2 { 1 } else { classes }
}
