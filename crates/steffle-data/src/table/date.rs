//! Dates as people write them, as numbers of days.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The order in which the parts of a date are written.
///
/// `3/4/2020` can be two days, and nobody but the user knows which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DateOrder {
    /// `2020-12-31`, also `2020/12/31`.
    YearFirst,
    /// `31.12.2020`, also with `/` and `-`.
    DayFirst,
    /// `12/31/2020`, also with `.` and `-`.
    MonthFirst,
}

impl FromStr for DateOrder {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "day-first" => Ok(Self::DayFirst),
            "month-first" => Ok(Self::MonthFirst),
            _ => Err("day-first, month-first".to_owned()),
        }
    }
}

impl fmt::Display for DateOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::YearFirst => "year-first",
            Self::DayFirst => "day-first",
            Self::MonthFirst => "month-first",
        })
    }
}

impl DateOrder {
    /// Days from 1970-01-01 to the date in a cell, with the time of day as a fraction.
    pub(super) fn parse(self, cell: &str) -> Option<f64> {
        let (date, time) = match cell.find(['T', ' ']) {
            Some(at) => (&cell[..at], Some(cell[at + 1..].trim())),
            None => (cell, None),
        };
        let mark = date.chars().find(|c| !c.is_ascii_digit())?;
        if !matches!(mark, '-' | '/' | '.') {
            return None;
        }
        let mut parts = date.split(mark);
        let parts = [parts.next()?, parts.next()?, parts.next()?, parts.next().unwrap_or_default()];
        let [first, second, third, ""] = parts else { return None };
        let (year, month, day) = match self {
            Self::YearFirst => (first, second, third),
            Self::DayFirst => (third, second, first),
            Self::MonthFirst => (third, first, second),
        };
        let number = |text: &str, digits: std::ops::RangeInclusive<usize>| {
            let plain = digits.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
            plain.then(|| text.parse::<u32>().ok()).flatten()
        };
        let days = days(number(year, 4..=4)?, number(month, 1..=2)?, number(day, 1..=2)?)?;
        Some(days as f64 + time.map_or(Some(0.0), time_of_day)?)
    }
}

/// Days from 1970-01-01, in the calendar of today; none for a day that does not exist.
fn days(year: u32, month: u32, day: u32) -> Option<i64> {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let length = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    // Years begin in March, so that the leap day is the last one.
    let (year, month) =
        if month > 2 { (i64::from(year), month - 3) } else { (i64::from(year) - 1, month + 9) };
    let of_year = i64::from((153 * month + 2) / 5 + day - 1);
    let whole = 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    Some(whole + of_year - 719_468)
}

/// The date of a number of days from 1970-01-01, as `2020-12-31`.
pub(crate) fn date_of(days: f64) -> String {
    let days = days.floor() as i64 + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", year + 400 * era + later)
}

/// `06:03`, `06:03:42`, `06:03:42.5`, each also with `Z` or an offset, as a fraction of a day.
fn time_of_day(text: &str) -> Option<f64> {
    let (clock, offset) = match text.strip_suffix('Z') {
        Some(clock) => (clock, 0.0),
        None => match text.rfind(['+', '-']) {
            Some(at) => {
                let sign = if text[at..].starts_with('-') { -1.0 } else { 1.0 };
                (&text[..at], sign * hours_and_minutes(&text[at + 1..])?)
            }
            None => (text, 0.0),
        },
    };
    let clock = clock.trim_end();
    let (minutes, seconds) = match clock.match_indices(':').nth(1) {
        Some((at, _)) => (&clock[..at], clock[at + 1..].parse::<f64>().ok()?),
        None => (clock, 0.0),
    };
    // A leap second is a second of the day that follows.
    let seconds = Some(seconds).filter(|seconds| (0.0..61.0).contains(seconds))?;
    Some(hours_and_minutes(minutes)? + seconds / 86_400.0 - offset)
}

/// `06:03` as a fraction of a day.
fn hours_and_minutes(text: &str) -> Option<f64> {
    let (hours, minutes) = text.split_once(':')?;
    let two = |text: &str, end: u32| {
        let digits = (1..=2).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<u32>().ok().filter(|number| digits && *number < end)
    };
    Some((f64::from(two(hours, 24)?) * 60.0 + f64::from(two(minutes, 60)?)) / 1440.0)
}

/// Whether the cells of a column have been dates so far, and in which orders.
#[derive(Debug, Clone)]
pub(super) struct DateEvidence {
    possible: Vec<DateOrder>,
    /// A cell that is two different days.
    differs: Option<String>,
}

impl Default for DateEvidence {
    fn default() -> Self {
        use DateOrder::{DayFirst, MonthFirst, YearFirst};
        Self { possible: vec![YearFirst, DayFirst, MonthFirst], differs: None }
    }
}

impl DateEvidence {
    /// Whether no further cell can make dates of this.
    pub(super) fn is_over(&self) -> bool {
        self.possible.is_empty()
    }

    pub(super) fn see(&mut self, cell: &str) {
        self.possible.retain(|order| order.parse(cell).is_some());
        if let ([first, .., last], None) = (&self.possible[..], &self.differs)
            && first.parse(cell) != last.parse(cell)
        {
            self.differs = Some(cell.to_owned());
        }
    }

    /// The order, if there is one, or else an example of a date with two readings.
    pub(super) fn verdict(
        &self,
        preferred: Option<DateOrder>,
    ) -> Option<Result<DateOrder, String>> {
        match (&self.possible[..], preferred, &self.differs) {
            ([], ..) => None,
            ([only], ..) => Some(Ok(*only)),
            (several, Some(order), _) if several.contains(&order) => Some(Ok(order)),
            (_, _, Some(example)) => Some(Err(example.clone())),
            // Every cell is the same day in all of them: 7.7.2020.
            ([first, ..], ..) => Some(Ok(*first)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::DateOrder::{DayFirst, MonthFirst, YearFirst};
    use super::*;

    #[test]
    fn cells_by_hand() {
        let cases = [
            (YearFirst, "1970-01-01", Some(0.0)),
            (YearFirst, "1969-12-31", Some(-1.0)),
            (YearFirst, "2000-03-01", Some(11_017.0)),
            (YearFirst, "2024/2/29", Some(19_782.0)),
            (YearFirst, "2023-02-29", None),
            (YearFirst, "2020-13-01", None),
            (YearFirst, "1970-01-02 06:00", Some(1.25)),
            (YearFirst, "1970-01-02T06:00:00Z", Some(1.25)),
            (YearFirst, "1970-01-02T06:00:00+06:00", Some(1.0)),
            (YearFirst, "1970-01-02 25:00", None),
            (DayFirst, "31.12.1970", Some(364.0)),
            (MonthFirst, "12/31/1970", Some(364.0)),
            (MonthFirst, "31/12/1970", None),
            (DayFirst, "31.12.70", None),
            (YearFirst, "1970-01-01-01", None),
            (YearFirst, "19700101", None),
            (YearFirst, "", None),
            (YearFirst, "-", None),
            (DayFirst, "1.234.567", None),
        ];
        for (order, cell, days) in cases {
            assert_eq!(order.parse(cell), days, "{cell} {order}");
        }
    }

    #[test]
    fn days_and_dates_are_inverse() {
        for number in (-800_000..800_000).step_by(97) {
            let date = date_of(f64::from(number));
            let back = YearFirst.parse(&date);
            // Years before 0 and after 9999 have no four digits.
            if date.len() == 10 && !date.starts_with('-') {
                assert_eq!(back, Some(f64::from(number)), "{date}");
            }
        }
    }

    #[test]
    fn dates_with_two_readings_are_not_guessed() {
        let verdict = |cells: &[&str], preferred| {
            let mut evidence = DateEvidence::default();
            cells.iter().for_each(|cell| evidence.see(cell));
            evidence.verdict(preferred)
        };
        assert_eq!(verdict(&["2020-01-02"], None), Some(Ok(YearFirst)));
        assert_eq!(verdict(&["1/2/2020", "13/2/2020"], None), Some(Ok(DayFirst)));
        assert_eq!(verdict(&["1/2/2020", "1/31/2020"], None), Some(Ok(MonthFirst)));
        assert_eq!(verdict(&["3/3/2020", "1/2/2020"], None), Some(Err("1/2/2020".to_owned())));
        assert_eq!(verdict(&["1/2/2020"], Some(MonthFirst)), Some(Ok(MonthFirst)));
        assert_eq!(verdict(&["1/31/2020"], Some(DayFirst)), Some(Ok(MonthFirst)));
        assert_eq!(verdict(&["1/31/2020", "31/1/2020"], None), None);
        assert_eq!(verdict(&["7.7.2020"], None), Some(Ok(DayFirst)));
        assert_eq!(verdict(&["2020-01-02", "soon"], None), None);
    }
}
