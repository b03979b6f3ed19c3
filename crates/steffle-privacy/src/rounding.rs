//! Rounding to the safe side: privacy up, budgets down; of decimals, and of single operations.

/// The nearest number of `digits` significant decimals that is not below `value`.
///
/// ```
/// assert_eq!(steffle_privacy::rounding::up(1.2341, 4), 1.235);
/// assert_eq!(steffle_privacy::rounding::down(1.2349, 4), 1.234);
/// ```
pub fn up(value: f64, digits: u32) -> f64 {
    rounded(value, digits, f64::ceil, |rounded| rounded < value)
}

/// The nearest number of `digits` significant decimals that is not above `value`.
pub fn down(value: f64, digits: u32) -> f64 {
    rounded(value, digits, f64::floor, |rounded| rounded > value)
}

/// Rounds in units of the last digit. A value that has no more digits than asked for stays, although
/// its product with the unit may not be whole in binary; so does one whose decimal, parsed, would
/// lie on the wrong side.
fn rounded(value: f64, digits: u32, to: fn(f64) -> f64, wrong: impl Fn(f64) -> bool) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let exponent = value.abs().log10().floor() as i32 + 1 - digits.cast_signed();
    let unit = 10.0_f64.powi(exponent.abs());
    let at_unit = |to: fn(f64) -> f64| match exponent {
        0.. => to(value / unit) * unit,
        _ => to(value * unit) / unit,
    };
    let rounded = if at_unit(f64::round) == value { value } else { at_unit(to) };
    if !rounded.is_finite() || wrong(rounded) { value } else { rounded }
}

/// `a + b` of non-negative numbers, rounded up; exact where a double holds it.
pub(crate) fn sum_up(a: f64, b: f64) -> f64 {
    let sum = a + b;
    // Knuth's two-sum: what rounding took away, exactly.
    let second = sum - a;
    let lost = (a - (sum - second)) + (b - second);
    if lost > 0.0 { sum.next_up() } else { sum }
}

/// `a - b` of non-negative numbers, rounded down; exact where a double holds it.
pub(crate) fn difference_down(a: f64, b: f64) -> f64 {
    let difference = a - b;
    let second = difference - a;
    let lost = (a - (difference - second)) - (b + second);
    if lost < 0.0 { difference.next_down() } else { difference }
}

/// `a * b` of non-negative numbers, rounded down; exact where a double holds it.
pub(crate) fn product_down(a: f64, b: f64) -> f64 {
    let product = a * b;
    // A fused operation rounds once: the sign of what is left is exact.
    if a.mul_add(b, -product) < 0.0 { product.next_down() } else { product }
}

/// `a * b` of non-negative numbers, rounded up; exact where a double holds it.
pub(crate) fn product_up(a: f64, b: f64) -> f64 {
    let product = a * b;
    if a.mul_add(b, -product) > 0.0 { product.next_up() } else { product }
}

#[cfg(test)]
mod tests {
    use super::{difference_down, down, product_down, product_up, sum_up, up};

    /// Rounded to the wrong side, each of these would be off by one unit in the last place.
    #[test]
    fn operations_are_rounded_to_their_side() {
        let tiny = f64::EPSILON / 4.0;
        assert_eq!(sum_up(1.0, tiny), 1.0_f64.next_up());
        assert_eq!(sum_up(tiny, 1.0), 1.0_f64.next_up());
        assert_eq!(difference_down(1.0, tiny / 2.0), 1.0_f64.next_down());
        assert_eq!((sum_up(0.5, 0.25), difference_down(1.0, 0.25)), (0.75, 0.75));
        assert_eq!((sum_up(1.0, 0.0), difference_down(1.0, 0.0)), (1.0, 1.0));
        assert_eq!((product_down(0.3, 1.0), product_down(0.3, 0.0)), (0.3, 0.0));
        // 0.1 is a little more than a tenth: ten of them are more than 1.
        assert_eq!(product_down(0.1, 10.0), 1.0);
        assert!((0..10).fold(0.0, |sum, _| sum_up(sum, 0.1)) > 1.0);
        // 0.6 * 0.6 rounds up to the nearest.
        let square = 0.6 * 0.6;
        assert!(0.6_f64.mul_add(0.6, -square) < 0.0 && product_down(0.6, 0.6) < square);
        assert_eq!((product_up(0.6, 0.6), product_up(0.5, 7.0)), (square, 3.5));
        assert_eq!(product_up(0.1, 10.0), 1.0_f64.next_up());
    }

    #[test]
    fn decimals_of_few_digits_stay() {
        for value in [1e-9, 1.975e-9, 0.001, 0.3, 4.0, 1234.0, 5e12] {
            assert_eq!((up(value, 4), down(value, 4)), (value, value));
        }
    }

    #[test]
    fn the_safe_side_is_never_left() {
        let mut value = 1e-12;
        while value < 1e12 {
            assert!(up(value, 4) >= value && up(value, 4) <= value * 1.001_01);
            assert!(down(value, 4) <= value && down(value, 4) >= value * 0.998_99);
            value *= 1.003_17;
        }
        assert!(up(f64::INFINITY, 4).is_infinite() && down(0.0, 4) == 0.0);
    }
}
