//! The trade-off between error and fairness: curves over lambda, and what they reach at equal error.

use serde::Serialize;

/// Mean excess error and mean violation over seeds, in percentage points.
///
/// A sweep draws one per lambda.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
    /// Error above that of the unconstrained model.
    pub excess: f64,
    /// The gap.
    pub violation: f64,
}

/// One configuration: everything but lambda and seed.
///
/// Its points say what fairness costs in error, and are averaged over seeds.
#[derive(Debug, Clone, Default)]
pub struct Curve {
    /// Per seed, the unconstrained model (first) and the points of all lambdas, in one order.
    seeds: Vec<Vec<Point>>,
}

/// What a curve reaches at one excess error.
///
/// Methods are compared at equal error by it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Reached {
    /// At which excess error.
    pub excess: f64,
    /// Absent where no point of the curve has so little error.
    pub violation: Option<f64>,
    /// Over seeds, by leaving one out at a time; absent for a single seed.
    pub standard_error: Option<f64>,
    /// Whether no point of the curve has so much error: the violation is that of the last.
    pub beyond_end: bool,
}

impl Curve {
    /// Takes in a seed: the unconstrained model's violation and a point per lambda.
    pub fn push(&mut self, unconstrained: f64, lambdas: impl IntoIterator<Item = Point>) {
        let start = Point { excess: 0.0, violation: unconstrained };
        self.seeds.push([start].into_iter().chain(lambdas).collect());
    }

    /// How many seeds there are.
    pub fn seeds(&self) -> usize {
        self.seeds.len()
    }

    /// Means over seeds: the unconstrained model, then every lambda.
    pub fn means(&self) -> Vec<Point> {
        mean(self.seeds.iter())
    }

    /// The lower envelope of the means, read off at `excess`. The standard error is the jackknife's:
    /// the whole reading is repeated without each seed in turn.
    pub fn at(&self, excess: f64) -> Reached {
        let curve = envelope(&self.means());
        let violation = read_off(&curve, excess);
        let beyond_end = curve.last().is_some_and(|last| last.excess < excess);
        let n = self.seeds.len();
        let without = |left_out: usize| {
            let rest = self.seeds.iter().enumerate().filter(|(seed, _)| *seed != left_out);
            read_off(&envelope(&mean(rest.map(|(_, seed)| seed))), excess)
        };
        let readings: Option<Vec<f64>> = if n < 2 { None } else { (0..n).map(without).collect() };
        let standard_error = readings.map(|readings| {
            let mean = readings.iter().sum::<f64>() / n as f64;
            let squares: f64 = readings.iter().map(|reading| (reading - mean).powi(2)).sum();
            (squares * (n as f64 - 1.0) / n as f64).sqrt()
        });
        Reached { excess, violation, standard_error, beyond_end }
    }
}

fn mean<'a>(seeds: impl Iterator<Item = &'a Vec<Point>>) -> Vec<Point> {
    let mut sums: Vec<Point> = Vec::new();
    let mut count = 0.0;
    for seed in seeds {
        count += 1.0;
        sums.resize(seed.len().max(sums.len()), Point { excess: 0.0, violation: 0.0 });
        for (sum, point) in sums.iter_mut().zip(seed) {
            sum.excess += point.excess;
            sum.violation += point.violation;
        }
    }
    for sum in &mut sums {
        (sum.excess, sum.violation) = (sum.excess / count, sum.violation / count);
    }
    sums
}

/// The points that no other point beats in both, by rising excess and falling violation.
pub fn envelope(points: &[Point]) -> Vec<Point> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.excess.total_cmp(&b.excess).then(a.violation.total_cmp(&b.violation)));
    let mut kept: Vec<Point> = Vec::new();
    for point in sorted {
        if kept.last().is_none_or(|last| point.violation < last.violation) {
            kept.push(point);
        }
    }
    kept
}

/// The violation at an excess error: linear between the points of an envelope, constant after the
/// last, absent before the first.
fn read_off(envelope: &[Point], excess: f64) -> Option<f64> {
    let after = envelope.iter().position(|point| point.excess > excess);
    match after {
        Some(0) => None,
        Some(at) => {
            let (left, right) = (envelope[at - 1], envelope[at]);
            let share = (excess - left.excess) / (right.excess - left.excess);
            Some(left.violation + share * (right.violation - left.violation))
        }
        None => envelope.last().map(|last| last.violation),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(excess: f64, violation: f64) -> Point {
        Point { excess, violation }
    }

    #[test]
    fn a_curve_worked_by_hand() {
        // Two seeds, two lambdas. Means: (0, 18), (1, 8), (2, 3).
        let mut curve = Curve::default();
        curve.push(17.0, [point(0.8, 7.0), point(2.2, 2.0)]);
        curve.push(19.0, [point(1.2, 9.0), point(1.8, 4.0)]);
        assert_eq!(curve.means(), [point(0.0, 18.0), point(1.0, 8.0), point(2.0, 3.0)]);
        let at = |excess: f64| curve.at(excess).violation.unwrap();
        assert!((at(0.0) - 18.0).abs() < 1e-12);
        assert!((at(0.5) - 13.0).abs() < 1e-12);
        assert!((at(1.0) - 8.0).abs() < 1e-12);
        assert!((at(1.5) - 5.5).abs() < 1e-12);
        assert!((at(9.0) - 3.0).abs() < 1e-12, "constant after the last point");
        assert_eq!([1.5, 2.0, 9.0].map(|excess| curve.at(excess).beyond_end), [false, false, true]);
        assert_eq!(curve.at(-0.1).violation, None);
        // At 0.5 one seed alone reads 17 - 10 * 0.5/0.8 = 10.75, the other 19 - 10 * 0.5/1.2 =
        // 14.8333; the jackknife of two is half their distance.
        let error = curve.at(0.5).standard_error.unwrap();
        assert!((error - (14.833_333_333_333_334 - 10.75) / 2.0).abs() < 1e-12, "{error}");
    }

    #[test]
    fn points_that_are_beaten_do_not_count() {
        let points = [
            point(0.0, 18.0),
            point(0.5, 12.0),
            point(0.7, 13.0),  // more error and more violation than the one before
            point(-0.1, 17.0), // better than the unconstrained model in both
            point(1.0, 4.0),
            point(1.0, 5.0),
        ];
        let kept = envelope(&points);
        assert_eq!(kept, [point(-0.1, 17.0), point(0.5, 12.0), point(1.0, 4.0)]);
        assert!((read_off(&kept, 0.75).unwrap() - 8.0).abs() < 1e-12);
        assert!((read_off(&kept, 0.0).unwrap() - (17.0 - 5.0 / 6.0)).abs() < 1e-12);
    }

    #[test]
    fn one_seed_has_no_standard_error() {
        let mut curve = Curve::default();
        curve.push(10.0, []);
        assert_eq!((curve.seeds(), curve.at(1.0).violation), (1, Some(10.0)));
        assert_eq!(curve.at(1.0).standard_error, None);
    }
}
