//! Decimal rounding to the safe side: privacy up, budgets down.

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

#[cfg(test)]
mod tests {
    use super::{down, up};

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
