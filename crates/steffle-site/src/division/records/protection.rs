//! Row caps and the shape of the noise: how a silo lowers what one record can change.
//!
//! Both are functions of the silo's own rows and the starting theta, never of `s`, so neither
//! costs privacy, whatever it is; the price of every round is computed with them in place.

use std::sync::Arc;

use steffle_model::decode::RoundBounds;
use steffle_model::linear::{Features, SHAPE_RIDGE, SHAPED, Symmetric, Whitening, WhiteningError};
use steffle_model::model::{Classifier, Point, kernel};
use steffle_model::record::Rows;
use steffle_wire::RowCap;

/// The caps of a run and the metric they are taken in.
#[derive(Debug)]
pub(super) struct Protection {
    whitening: Option<Arc<Whitening>>,
    /// `|(x_i, 1)|` in the metric of the noise, for models of one layer.
    lengths: Arc<Vec<f64>>,
    /// The length that rows are capped to; where there is no cap, none.
    most: Option<f64>,
    /// Factors of at most 1, where they are chosen anew in every round; empty for 1.
    caps: Vec<f64>,
    cap: RowCap,
    /// Whether caps are chosen anew in every round.
    by_round: bool,
    /// Bits of coefficients, where caps were agreed on by sites that share noise.
    bits: Option<u8>,
}

/// By which factor every row is shortened.
#[derive(Clone, Copy)]
pub(in crate::division) enum Caps<'a> {
    /// By none.
    None,
    /// By its own.
    Each(&'a [f64]),
    /// To a length at most, if it has these lengths, and by a little more: one more number per record
    /// need not be kept.
    Lengths(&'a [f64], f64, f64),
}

impl<'a> Caps<'a> {
    /// Those of some rows, which may lie in `room`; empty for 1.
    pub(super) fn of(self, which: &[u32], room: &'a mut Vec<f64>) -> &'a [f64] {
        match self {
            Self::None => &[],
            Self::Each(caps) => kernel::picked(caps, which, room),
            Self::Lengths(lengths, most, less) => {
                kernel::pick(lengths, which, room);
                room.iter_mut().for_each(|length| *length = (most / *length).min(1.0));
                if less > 0.0 {
                    room.iter_mut().for_each(|factor| *factor = (*factor - less).max(0.0));
                }
                room
            }
        }
    }
}

impl Default for Protection {
    fn default() -> Self {
        let (lengths, caps) = (Arc::default(), Vec::new());
        let (whitening, most, cap) = (None, None, RowCap::NONE);
        Self { whitening, lengths, most, caps, cap, by_round: false, bits: None }
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
            let weights = curvatures(rows, model, theta);
            let mean = weights.iter().sum::<f64>() / weights.len().max(1) as f64;
            let mut gram = features.gram(&weights);
            gram.scale(1.0 / (weights.len().max(1) as f64 * mean));
            Some(Arc::new(Whitening::new(gram, SHAPE_RIDGE)?))
        } else {
            None
        };
        let lengths = lengths_under(whitening.as_deref(), &features)?;
        let most = (cap != RowCap::NONE).then(|| length_at(cap, &lengths));
        let (lengths, caps) = (Arc::new(lengths), Vec::new());
        Ok(Self { whitening, lengths, most, caps, cap, by_round: false, bits: None })
    }

    /// Under a shape that sites agreed on, before they agree on a cap.
    pub(super) fn shared(rows: &Rows, gram: Option<Symmetric>) -> Result<Self, WhiteningError> {
        let features = Features::whole(rows);
        let whitening = gram.map(|gram| Whitening::new(gram, SHAPE_RIDGE)).transpose()?;
        let lengths = Arc::new(lengths_under(whitening.as_ref(), &features)?);
        Ok(Self { whitening: whitening.map(Arc::new), lengths, ..Self::default() })
    }

    /// Records, and their number times the length at a quantile of them.
    pub(super) fn lengths_at(&self, quantile: RowCap) -> (f64, f64) {
        let count = self.lengths.len() as f64;
        (count, if count > 0.0 { count * length_at(quantile, &self.lengths) } else { 0.0 })
    }

    /// Caps rows at the length that sites agreed on, for coefficients of so many bits.
    pub(super) fn cap_at(&mut self, length: f64, bits: u8) {
        (self.most, self.bits) = (Some(length), Some(bits));
    }

    /// Bits of coefficients, once sites that share noise agreed on a cap.
    pub(super) fn bits(&self) -> Option<u8> {
        self.bits
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
            Some(most) => {
                Caps::Lengths(&self.lengths, most, self.bits.map_or(0.0, RoundBounds::shrink))
            }
            None if self.caps.is_empty() => Caps::None,
            None => Caps::Each(&self.caps),
        }
    }

    /// Lengths in the metric of the noise; none where they are Euclidean and not kept.
    pub(super) fn lengths(&self) -> Arc<Vec<f64>> {
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

/// What every row weighs in the curvature of the loss.
pub(super) fn curvatures(rows: &Rows, model: &dyn Classifier, theta: &[f64]) -> Vec<f64> {
    let curvature =
        |outputs: &[f64]| outputs.iter().map(|f| f * (1.0 - f)).fold(f64::MIN_POSITIVE, f64::max);
    let mut weights = Vec::with_capacity(rows.len());
    Point::new(model, theta).each_probabilities(rows, |outputs| {
        weights.extend(outputs.chunks_exact(model.labels()).map(curvature));
    });
    weights
}

fn lengths_under(
    whitening: Option<&Whitening>,
    features: &Features<'_>,
) -> Result<Vec<f64>, WhiteningError> {
    let rows = features.rows();
    match whitening {
        Some(whitening) => whitening.lengths(features),
        None => Ok((0..rows.len()).map(|row| rows.squared_norm(row).sqrt()).collect()),
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
