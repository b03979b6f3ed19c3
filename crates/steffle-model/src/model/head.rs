//! From logits to probabilities, and the slopes that every model shares.
//!
//! One logit means two labels with logits `(0, z)`; otherwise there is a logit per label.

use super::kernel::vector;

/// Half the curvature of the ridge: `L` is the mean cross-entropy plus `RIDGE |theta|^2`.
pub const RIDGE: f64 = 5e-7;

/// Turns logits into probabilities, `[record][label]`.
pub fn probabilities(logits: &[f64], per_record: usize, into: &mut Vec<f64>) {
    if per_record == 1 {
        // The old contents are overwritten, so nothing is cleared.
        into.resize(logits.len() * 2, 0.0);
        vector::sigmoid_pairs(logits, into.as_chunks_mut().0);
        return;
    }
    into.clear();
    into.extend_from_slice(logits);
    for record in into.chunks_exact_mut(per_record) {
        let top = record.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        record.iter_mut().for_each(|logit| *logit -= top);
    }
    vector::exp_in_place(into);
    for record in into.chunks_exact_mut(per_record) {
        let sum: f64 = record.iter().sum();
        record.iter_mut().for_each(|p| *p /= sum);
    }
}

/// Slopes of the probabilities in the logits, `[record][logit][label]`: `diag F - F F'`.
pub fn output_slopes(probabilities: &[f64], labels: usize, logits: usize, into: &mut Vec<f64>) {
    if logits == 1 {
        into.resize(probabilities.len(), 0.0);
        vector::pair_slopes(probabilities.as_chunks().0, into.as_chunks_mut().0);
        return;
    }
    into.clear();
    for record in probabilities.chunks_exact(labels) {
        for (row, &p) in record.iter().enumerate() {
            into.extend(record.iter().map(|&other| -p * other));
            let diagonal = into.len() - labels + row;
            into[diagonal] += p;
        }
    }
}

/// Slopes of the cross-entropy in the logits, `[record][logit]`: `F - e_y`.
pub fn loss_slopes(probabilities: &[f64], labels: &[u16], logits: usize, into: &mut Vec<f64>) {
    if logits == 1 {
        into.resize(labels.len(), 0.0);
        vector::pair_loss_slopes(probabilities.as_chunks().0, labels, into);
        return;
    }
    into.clear();
    into.extend_from_slice(probabilities);
    for (record, &label) in into.chunks_exact_mut(logits).zip(labels) {
        record[usize::from(label)] -= 1.0;
    }
}

/// Cross-entropy of each record, `ln sum_u e^{z_u} - z_y`, without overflow.
#[inline]
pub fn losses<'a>(
    logits: &'a [f64],
    labels: &'a [u16],
    per_record: usize,
) -> impl Iterator<Item = f64> + 'a {
    logits.chunks_exact(per_record).zip(labels).map(move |(record, &label)| {
        if let [z] = *record {
            let against = if label == 1 { -z } else { z };
            return against.max(0.0) + (-against.abs()).exp().ln_1p();
        }
        let top = record.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = record.iter().map(|logit| (logit - top).exp()).sum();
        top + sum.ln() - record[usize::from(label)]
    })
}

/// Sum of the cross-entropies, `ln sum_u e^{z_u} - z_y`, without overflow.
///
/// With `z_top` the largest logit the logarithm is `z_top - ln p_top`, and `p_top >= 1/l`: the
/// product of a few of these is far from underflow, so that one logarithm serves many records.
pub fn loss_sum(logits: &[f64], probabilities: &[f64], labels: &[u16], per_record: usize) -> f64 {
    /// Records per logarithm: `l^-16` is a normal number for every `l` that a label can count.
    const TOGETHER: usize = 16;
    let width = probabilities.len() / labels.len().max(1);
    let mut sum = 0.0;
    let groups = logits
        .chunks(TOGETHER * per_record)
        .zip(probabilities.chunks(TOGETHER * width))
        .zip(labels.chunks(TOGETHER));
    for ((logits, probabilities), labels) in groups {
        let mut product = 1.0;
        if per_record == 1 {
            let pairs = probabilities.as_chunks::<2>().0;
            for ((z, [q, p]), &label) in logits.iter().zip(pairs).zip(labels) {
                let against = if label == 1 { -z } else { *z };
                sum += against.max(0.0);
                product *= q.max(*p);
            }
        } else {
            let records = logits.chunks_exact(per_record).zip(probabilities.chunks_exact(width));
            for ((z, f), &label) in records.zip(labels) {
                let top = |values: &[f64]| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                sum += top(z) - z[usize::from(label)];
                product *= top(f);
            }
        }
        sum -= product.ln();
    }
    sum
}
