//! Row caps and the shape of the noise: how a silo lowers what one record can change.
//!
//! Both are functions of the silo's own rows and the starting theta, never of `s`, so neither
//! costs privacy, whatever it is; the price of every round is computed with them in place.

use std::sync::Arc;

use steffle_model::linear::{Features, SHAPE_RIDGE, Whitening, WhiteningError};
use steffle_model::model::{Classifier, Point, kernel};
use steffle_model::record::Rows;
use steffle_wire::RowCap;

/// Up to how many inputs of a linear model noise is shaped: below, one scale is as good, and above,
/// the matrix costs more than it gains.
const SHAPED: std::ops::RangeInclusive<usize> = 20..=2000;

/// The caps of a run and the metric they are taken in.
#[derive(Debug)]
pub(super) struct Protection {
    whitening: Option<Arc<Whitening>>,
    /// `|(x_i, 1)|` in the metric of the noise, for models of one layer.
    lengths: Arc<[f64]>,
    /// The length that rows are capped to; where there is no cap, none.
    most: Option<f64>,
    /// Factors of at most 1, where they are chosen anew in every round; empty for 1.
    caps: Vec<f64>,
    cap: RowCap,
    /// Whether caps are chosen anew in every round.
    by_round: bool,
}

/// By which factor every row is shortened.
#[derive(Clone, Copy)]
pub(in crate::division) enum Caps<'a> {
    /// By none.
    None,
    /// By its own.
    Each(&'a [f64]),
    /// To a length at most, if it has these lengths: one more number per record need not be kept.
    Lengths(&'a [f64], f64),
}

impl<'a> Caps<'a> {
    /// Those of some rows, which may lie in `room`; empty for 1.
    pub(super) fn of(self, which: &[u32], room: &'a mut Vec<f64>) -> &'a [f64] {
        match self {
            Self::None => &[],
            Self::Each(caps) => kernel::picked(caps, which, room),
            Self::Lengths(lengths, most) => {
                kernel::pick(lengths, which, room);
                room.iter_mut().for_each(|length| *length = (most / *length).min(1.0));
                room
            }
        }
    }
}

impl Default for Protection {
    fn default() -> Self {
        let (lengths, caps) = (Arc::default(), Vec::new());
        Self { whitening: None, lengths, most: None, caps, cap: RowCap::NONE, by_round: false }
    }
}

impl Protection {
    pub(super) fn new(
        rows: &Rows,
        model: &dyn Classifier,
        theta: &[f64],
        cap: RowCap,
        shaped: bool,
    ) -> Result<Self, WhiteningError> {
        if model.blocks().len() > 1 {
            // Candidates of several layers have no fixed length: capped in every round.
            return Ok(Self { cap, by_round: cap != RowCap::NONE, ..Self::default() });
        }
        let features = Features::whole(rows);
        let whitening = if shaped && SHAPED.contains(&rows.layout().features) {
            // The loss Hessian on features: noise is then spherical where the loss is.
            let curvature = |outputs: &[f64]| {
                outputs.iter().map(|f| f * (1.0 - f)).fold(f64::MIN_POSITIVE, f64::max)
            };
            let mut weights = Vec::with_capacity(rows.len());
            Point::new(model, theta).each_probabilities(rows, |outputs| {
                weights.extend(outputs.chunks_exact(model.labels()).map(curvature));
            });
            let mean = weights.iter().sum::<f64>() / weights.len().max(1) as f64;
            let mut gram = features.gram(&weights);
            gram.scale(1.0 / (weights.len().max(1) as f64 * mean));
            Some(Arc::new(Whitening::new(gram, SHAPE_RIDGE)?))
        } else {
            None
        };
        let lengths: Vec<f64> = match &whitening {
            Some(whitening) => whitening.lengths(&features)?,
            None => (0..rows.len()).map(|row| rows.squared_norm(row).sqrt()).collect(),
        };
        let most = (cap != RowCap::NONE).then(|| length_at(cap, &lengths));
        let (lengths, caps) = (lengths.into(), Vec::new());
        Ok(Self { whitening, lengths, most, caps, cap, by_round: false })
    }

    pub(super) fn whitening(&self) -> Option<&Arc<Whitening>> {
        self.whitening.as_ref()
    }

    /// Whether caps are chosen anew in every round.
    pub(super) fn by_round(&self) -> bool {
        self.by_round
    }

    pub(super) fn caps(&self) -> Caps<'_> {
        match self.most {
            Some(most) => Caps::Lengths(&self.lengths, most),
            None if self.caps.is_empty() => Caps::None,
            None => Caps::Each(&self.caps),
        }
    }

    /// Lengths in the metric of the noise; none where they are Euclidean and not kept.
    pub(super) fn lengths(&self) -> Arc<[f64]> {
        self.lengths.clone()
    }

    pub(super) fn forget_round(&mut self) {
        if self.by_round {
            self.caps.clear();
        }
    }

    /// Caps of this round's batch: candidates of these records are so far apart, squared.
    pub(super) fn cap_round(&mut self, which: &[u32], squared: &[f64], records: usize) {
        let far: Vec<f64> = squared.iter().map(|squared| squared.sqrt()).collect();
        let most = length_at(self.cap, &far);
        self.caps.resize(records, 1.0);
        for (&row, far) in which.iter().zip(far) {
            self.caps[row as usize] = if far > most { most / far } else { 1.0 };
        }
    }
}

/// The length at the quantile.
fn length_at(cap: RowCap, lengths: &[f64]) -> f64 {
    let mut sorted: Vec<f64> = lengths.to_vec();
    if sorted.is_empty() {
        return f64::INFINITY;
    }
    let at = ((cap.share() * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len()) - 1;
    *sorted.select_nth_unstable_by(at, f64::total_cmp).1
}
