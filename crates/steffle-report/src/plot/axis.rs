//! Axes: from values to pixels, and the values that are written beside them.

/// One axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Axis {
    low: f64,
    high: f64,
    log: bool,
    /// Pixels of `low` and of `high`.
    pixels: (f64, f64),
}

impl Axis {
    /// An axis with room for all values, which are positive if it is logarithmic. An error that is
    /// not negative by nature starts at zero if zero is near.
    pub(crate) fn around(
        values: &[f64],
        limit: Option<f64>,
        log: bool,
        pixels: (f64, f64),
    ) -> Self {
        let inside = |value: &&f64| limit.is_none_or(|limit| **value <= limit);
        let scaled = |value: &f64| if log { value.log10() } else { *value };
        let shown: Vec<f64> = values.iter().filter(inside).map(scaled).collect();
        let mut low = shown.iter().copied().fold(f64::INFINITY, f64::min);
        let mut high = shown.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !(low.is_finite() && high.is_finite()) {
            (low, high) = (0.0, limit.map_or(1.0, |limit| scaled(&limit)).max(1e-3));
        }
        if high - low < 1e-9 * high.abs().max(1.0) {
            let half = if log { 0.5 } else { (high.abs() * 0.05).max(0.5) };
            (low, high) = (low - half, high + half);
        }
        let room = 0.06 * (high - low);
        let from_zero = !log && low >= 0.0 && low < 0.35 * high;
        low = if from_zero { 0.0 } else { low - room };
        Self { low, high: high + room, log, pixels }
    }

    /// Where a value stands; outside of the frame if the axis does not reach it.
    pub(crate) fn pixel(&self, value: f64) -> f64 {
        let value = if self.log { value.log10() } else { value };
        let share = (value - self.low) / (self.high - self.low);
        self.pixels.0 + share * (self.pixels.1 - self.pixels.0)
    }

    /// Values to write beside the axis, about `wanted`, each as it is written.
    pub(crate) fn ticks(&self, wanted: usize) -> Vec<(f64, String)> {
        if self.log {
            self.powers(wanted)
        } else {
            let step = round_step((self.high - self.low) / wanted.max(1) as f64);
            let decimals = (-step.log10().floor()).max(0.0) as usize;
            let first = (self.low / step - 1e-9).ceil();
            let last = (self.high / step + 1e-9).floor();
            let count = (last - first).max(0.0) as usize;
            (0..=count)
                .map(|index| (first + index as f64) * step)
                .map(|value| (value, signed(&format!("{value:.decimals$}"))))
                .collect()
        }
    }

    /// Powers of ten, with 2 and 5 between them where few are in sight.
    fn powers(&self, wanted: usize) -> Vec<(f64, String)> {
        let decades = self.high - self.low;
        let stride = (decades / wanted.max(1) as f64).ceil().max(1.0) as i32;
        let mantissas: &[f64] = if decades <= 0.7 {
            &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0]
        } else if decades <= 3.0 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        let (first, last) = (self.low.floor() as i32, self.high.ceil() as i32);
        (first..=last)
            .filter(|power| power.rem_euclid(stride) == 0)
            .flat_map(|power| mantissas.iter().map(move |mantissa| mantissa * 10f64.powi(power)))
            .filter(|value| (self.low..=self.high).contains(&value.log10()))
            .map(|value| (value, short(value)))
            .collect()
    }
}

/// A number for readers: three or four digits, no needless zeros.
pub(crate) fn short(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".into();
    }
    if !(1e-4..1e6).contains(&size) {
        return signed(&format!("{value:.1e}").replace(".0e", "e"));
    }
    let decimals = (3 - size.log10().floor() as i32).clamp(0, 7) as usize;
    let text = format!("{value:.decimals$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    signed(text)
}

/// With a minus sign in the place of a hyphen, and no minus before a zero.
fn signed(text: &str) -> String {
    match text.strip_prefix('-') {
        Some(zero) if zero.chars().all(|digit| digit == '0' || digit == '.') => zero.into(),
        Some(rest) => format!("\u{2212}{rest}"),
        None => text.into(),
    }
}

/// 1, 2 or 5 times a power of ten, no less than `step`.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let mantissas = [1.0, 2.0, 5.0, 10.0];
    let enough = |mantissa: &&f64| **mantissa * power >= step * (1.0 - 1e-9);
    mantissas.iter().find(enough).unwrap_or(&10.0) * power
}

#[cfg(test)]
mod tests;
