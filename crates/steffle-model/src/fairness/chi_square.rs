//! The chi-square divergence of a joint table.

/// `D = sum_ur P(u,r)^2 / (P(u) P(r)) - 1` of a table of non-negative masses, `[class][label]`.
///
/// Empty rows and columns contribute nothing. `D` is 0 at independence and at most
/// `min(k, l) - 1`.
///
/// ```
/// let independent = [1.0, 3.0, 2.0, 6.0];
/// assert!(steffle_model::fairness::divergence(&independent, 2).abs() < 1e-12);
/// let determined = [5.0, 0.0, 0.0, 7.0];
/// assert!((steffle_model::fairness::divergence(&determined, 2) - 1.0).abs() < 1e-12);
/// ```
pub fn divergence(table: &[f64], labels: usize) -> f64 {
    let total: f64 = table.iter().sum();
    let columns: Vec<f64> =
        (0..labels).map(|u| table.iter().skip(u).step_by(labels).sum()).collect();
    let mut sum = 0.0;
    for row in table.chunks_exact(labels) {
        let mass: f64 = row.iter().sum();
        for (&joint, &column) in row.iter().zip(&columns) {
            if joint > 0.0 {
                sum += (joint / mass) * (joint / column);
            }
        }
    }
    if total > 0.0 { sum - 1.0 } else { 0.0 }
}

/// The min-max value at W* for any weights p~: `sum_r (P(r)^2 / p~_r) (1 + chi2_r) - 1`.
///
/// It is `D` for `p~ = P` and something else for other weights, which is why `D` is always
/// reported from the table.
pub fn min_max_value(table: &[f64], labels: usize, weights: &[f64]) -> f64 {
    let total: f64 = table.iter().sum();
    let columns: Vec<f64> =
        (0..labels).map(|u| table.iter().skip(u).step_by(labels).sum()).collect();
    let rows = table.chunks_exact(labels).zip(weights).filter(|(_, weight)| **weight > 0.0);
    let sum: f64 = rows
        .map(|(row, weight)| {
            let cells = row.iter().zip(&columns).filter(|(_, column)| **column > 0.0);
            cells.map(|(joint, column)| joint * joint / column).sum::<f64>() / (weight * total)
        })
        .sum();
    sum - 1.0
}
