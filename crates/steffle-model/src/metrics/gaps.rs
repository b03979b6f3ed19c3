//! Fairness gaps of hard decisions.
//!
//! Each is a largest distance between groups, so 0 is perfectly fair and 1 the worst. Groups
//! without the records a rate needs, or with too few ([`Evidence::with_least`](super::Evidence)), take no
//! part; with fewer than two groups left a gap is absent.

use super::confusion::Confusion;

/// max over labels u and groups r, r' of |P(decision u | r) - P(decision u | r')|: the gap that
/// the paper plots.
pub(super) fn demographic_parity(confusion: &Confusion) -> Option<f64> {
    widest(confusion, Confusion::compared_selection)
}

/// max over labels u and groups r of |P(decision u | r) - P(decision u)|: the violation that the
/// paper defines. It is at most the pairwise gap.
pub(super) fn demographic_parity_marginal(confusion: &Confusion) -> Option<f64> {
    let per_label = |label| {
        let marginal = confusion.marginal(label)?;
        let rates = present(confusion, label, Confusion::compared_selection);
        (rates.len() > 1)
            .then(|| rates.iter().map(|rate| (rate - marginal).abs()).fold(0.0, f64::max))
    };
    largest((0..confusion.labels).map(per_label))
}

/// max over labels u and groups r, r' of the gaps in P(decision u | r, label u) and in
/// P(decision u | r, label not u). For two labels: the larger of the gaps in true and in false
/// positive rate.
pub(super) fn equalized_odds(confusion: &Confusion) -> Option<f64> {
    largest([
        widest(confusion, Confusion::compared_true_positive),
        widest(confusion, Confusion::compared_false_positive),
    ])
}

/// [`demographic_parity`] with `group` as one of the two groups.
pub(super) fn demographic_parity_of(confusion: &Confusion, group: usize) -> Option<f64> {
    farthest(confusion, group, Confusion::compared_selection)
}

/// [`equalized_odds`] with `group` as one of the two groups.
pub(super) fn equalized_odds_of(confusion: &Confusion, group: usize) -> Option<f64> {
    largest([
        farthest(confusion, group, Confusion::compared_true_positive),
        farthest(confusion, group, Confusion::compared_false_positive),
    ])
}

/// max over groups r, r' of |P(favourable | r, favourable) - P(favourable | r', favourable)|.
pub(super) fn equal_opportunity(confusion: &Confusion, favourable: usize) -> Option<f64> {
    spread(&present(confusion, favourable, Confusion::compared_true_positive))
}

/// max over groups r, r' of |P(right decision | r) - P(right decision | r')|.
pub(super) fn accuracy_parity(confusion: &Confusion) -> Option<f64> {
    let errors = (0..confusion.groups).filter_map(|group| confusion.compared_error(group));
    spread(&errors.collect::<Vec<_>>())
}

type Rate = fn(&Confusion, usize, usize) -> Option<f64>;

fn widest(confusion: &Confusion, rate: Rate) -> Option<f64> {
    largest((0..confusion.labels).map(|label| spread(&present(confusion, label, rate))))
}

fn farthest(confusion: &Confusion, group: usize, rate: Rate) -> Option<f64> {
    let others = (0..confusion.groups).filter(|&other| other != group);
    let distances = others.flat_map(|other| {
        (0..confusion.labels).map(move |label| {
            let (own, theirs) = (rate(confusion, group, label)?, rate(confusion, other, label)?);
            Some((own - theirs).abs())
        })
    });
    largest(distances)
}

fn present(confusion: &Confusion, label: usize, rate: Rate) -> Vec<f64> {
    (0..confusion.groups).filter_map(|group| rate(confusion, group, label)).collect()
}

/// The largest pairwise distance.
fn spread(rates: &[f64]) -> Option<f64> {
    let highest = rates.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let lowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
    (rates.len() > 1).then_some(highest - lowest)
}

fn largest(gaps: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    gaps.into_iter().flatten().reduce(f64::max)
}
