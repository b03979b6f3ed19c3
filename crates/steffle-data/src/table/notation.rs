//! Numbers as people write them: decimal commas, separators of thousands, currency signs, dates.

use super::date::{DateEvidence, DateOrder};
use super::dialect::Decimal;

/// How the numbers of a column are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Notation {
    /// As programs write them.
    #[default]
    Plain,
    /// With a decimal point, and separators of thousands or a currency sign.
    Point,
    /// With a decimal comma, or separators of thousands that go with one.
    Comma,
    /// As dates, which count as days from 1970-01-01.
    Date(DateOrder),
}

impl Notation {
    /// The number that a cell holds, if it holds one.
    pub(super) fn parse(self, cell: &str) -> Option<f64> {
        match self {
            Self::Plain => whole(cell).or_else(|| cell.parse().ok()),
            Self::Point => cell.parse().ok().or_else(|| read(cell, '.')),
            Self::Comma if cell.contains('.') => read(cell, ','),
            Self::Comma => cell.parse().ok().or_else(|| read(cell, ',')),
            Self::Date(order) => order.parse(cell),
        }
    }
}

/// The number of a cell that is one as programs write them, and no code such as `01`.
pub(crate) fn plain_number(cell: &str) -> Option<f64> {
    let mut evidence = Evidence::default();
    evidence.see(cell);
    evidence.is_plain_number().then(|| Notation::Plain.parse(cell)).flatten()
}

/// What the cells of a column have been so far.
#[derive(Debug, Clone)]
pub(super) struct Evidence {
    plain: bool,
    point: bool,
    comma: bool,
    /// A cell that is two different numbers in the two readings.
    differs: Option<String>,
    dates: DateEvidence,
    /// Cells that were numbers before the first one that is not, and that one.
    numbers: u64,
    stranger: Option<String>,
}

/// What is preferred where a column has several readings.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Preferred {
    pub(super) decimal: Option<Decimal>,
    pub(super) date: Option<DateOrder>,
}

/// What a column is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Verdict {
    Numbers(Notation),
    Text,
    /// Numbers that have two readings, with an example.
    Ambiguous(String),
    /// Dates that have two readings, with an example.
    AmbiguousDate(String),
}

impl Default for Evidence {
    fn default() -> Self {
        Self {
            plain: true,
            point: true,
            comma: true,
            differs: None,
            dates: DateEvidence::default(),
            numbers: 0,
            stranger: None,
        }
    }
}

impl Evidence {
    /// Whether no further cell can change that this is text.
    pub(super) fn is_text(&self) -> bool {
        self.no_number() && self.dates.is_over()
    }

    /// Whether a cell was seen, and all of them were numbers as programs write them, and no dates.
    pub(super) fn is_plain_number(&self) -> bool {
        self.plain && self.numbers > 0 && self.dates.is_over()
    }

    /// Whether no cell has been seen.
    pub(super) fn is_empty(&self) -> bool {
        self.numbers == 0 && self.stranger.is_none()
    }

    fn no_number(&self) -> bool {
        !self.plain && !self.point && !self.comma
    }

    /// How many cells were numbers before the first one that is none, and that one.
    pub(super) fn stranger(&self) -> Option<(u64, &str)> {
        self.stranger.as_deref().map(|cell| (self.numbers, cell))
    }

    /// Takes in a cell that is not missing.
    pub(super) fn see(&mut self, cell: &str) {
        if self.is_text() {
            return;
        }
        if !self.dates.is_over() {
            self.dates.see(cell);
        }
        if self.no_number() {
            return;
        }
        self.numbers += 1;
        let plain: Option<f64> = cell.parse().ok();
        if let Some(number) = plain {
            // The usual case, and the fast one: without a point both readings are this number.
            if self.comma && cell.contains('.') {
                self.compare(Some(number), Notation::Comma.parse(cell), cell);
            }
            return;
        }
        self.plain = false;
        let point = Notation::Point.parse(cell).filter(|_| self.point);
        let comma = Notation::Comma.parse(cell).filter(|_| self.comma);
        self.compare(point, comma, cell);
        if self.no_number() {
            self.numbers -= 1;
            self.stranger = Some(cell.to_owned());
        }
    }

    fn compare(&mut self, point: Option<f64>, comma: Option<f64>, cell: &str) {
        self.point &= point.is_some();
        self.comma &= comma.is_some();
        if let (Some(point), Some(comma), None) = (point, comma, &self.differs)
            && point != comma
        {
            self.differs = Some(cell.to_owned());
        }
    }

    /// What the column is. A column that programs could have written is read as they write; one
    /// that has two readings is decided by `preferred` or not at all.
    pub(super) fn verdict(&self, preferred: Preferred) -> Verdict {
        match self.dates.verdict(preferred.date) {
            // A column without any cell is one of numbers.
            _ if self.is_empty() => {}
            Some(Ok(order)) => return Verdict::Numbers(Notation::Date(order)),
            Some(Err(example)) => return Verdict::AmbiguousDate(example),
            None => {}
        }
        let plainest = if self.plain { Notation::Plain } else { Notation::Point };
        match preferred.decimal {
            Some(Decimal::Comma) if self.comma && self.differs.is_some() => {
                return Verdict::Numbers(Notation::Comma);
            }
            Some(Decimal::Point) if self.point => return Verdict::Numbers(plainest),
            _ => {}
        }
        match &self.differs {
            _ if self.plain => Verdict::Numbers(Notation::Plain),
            Some(cell) if self.point && self.comma => Verdict::Ambiguous(cell.clone()),
            _ if self.point => Verdict::Numbers(Notation::Point),
            _ if self.comma => Verdict::Numbers(Notation::Comma),
            _ => Verdict::Text,
        }
    }
}

/// A number of a few digits, the usual one: it is exact, so that there is nothing to round.
fn whole(cell: &str) -> Option<f64> {
    let digit = |number: u64, byte: &u8| {
        byte.is_ascii_digit().then(|| 10 * number + u64::from(byte - b'0'))
    };
    let few = (1..16).contains(&cell.len());
    let number = few.then(|| cell.as_bytes().iter().try_fold(0, digit)).flatten()?;
    Some(number as f64)
}

/// Signs of money that may stand before or after a number.
const CURRENCIES: [char; 6] = ['$', '€', '£', '¥', '₹', '¢'];

/// What may stand between thousands besides the mark that is not the decimal one.
const THOUSANDS: [char; 5] = [' ', '\u{a0}', '\u{202f}', '\'', '’'];

/// The number in a cell whose decimal mark is `decimal`.
fn read(cell: &str, decimal: char) -> Option<f64> {
    let (negative, body) = strip(cell)?;
    let (whole, fraction) = match body.split_once(decimal) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (body, None),
    };
    let mut digits = ungrouped(whole, if decimal == '.' { ',' } else { '.' })?;
    if let Some(fraction) = fraction {
        // A fraction may carry an exponent; a second mark is no number.
        let simple = |c: char| c.is_ascii_digit() || matches!(c, 'e' | 'E' | '+' | '-');
        if !fraction.starts_with(|c: char| c.is_ascii_digit()) || !fraction.chars().all(simple) {
            return None;
        }
        digits = format!("{digits}.{fraction}");
    }
    let number: f64 = digits.parse().ok()?;
    Some(if negative { -number } else { number })
}

/// A cell without its sign and at most one sign of money.
fn strip(cell: &str) -> Option<(bool, &str)> {
    let blank = |c: char| c == '\u{a0}' || c == '\u{202f}' || c.is_whitespace();
    let (mut body, mut sign, mut money) = (cell.trim_matches(blank), None, false);
    loop {
        let first = body.chars().next()?;
        match first {
            '+' | '-' if sign.is_none() => sign = Some(first),
            first if CURRENCIES.contains(&first) && !money => money = true,
            _ => break,
        }
        body = body[first.len_utf8()..].trim_start_matches(blank);
    }
    if let Some(without) = body.strip_suffix(CURRENCIES) {
        if money {
            return None;
        }
        body = without.trim_end_matches(blank);
    }
    Some((sign == Some('-'), body))
}

/// The digits of a whole number, whose thousands may be separated, by one and the same mark: the
/// first group has one to three digits and no leading zero, every other has three.
fn ungrouped(whole: &str, other: char) -> Option<String> {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let Some(mark) = whole.chars().find(|c| !c.is_ascii_digit()) else {
        return Some(whole.to_owned());
    };
    if mark != other && !THOUSANDS.contains(&mark) {
        return None;
    }
    let mut groups = whole.split(mark);
    let first = groups.next().unwrap_or_default();
    let grouped = (1..=3).contains(&first.len()) && !first.starts_with('0') && digits(first);
    (grouped && groups.all(|group| group.len() == 3 && digits(group)))
        .then(|| whole.chars().filter(char::is_ascii_digit).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(cells: &[&str], preferred: Option<Decimal>) -> Verdict {
        let mut evidence = Evidence::default();
        cells.iter().for_each(|cell| evidence.see(cell));
        evidence.verdict(Preferred { decimal: preferred, date: None })
    }

    #[test]
    fn cells_by_hand() {
        let cases = [
            ("1,234", Some(1234.0), Some(1.234)),
            ("1.234", Some(1.234), Some(1234.0)),
            ("1.234.567,8", None, Some(1_234_567.8)),
            ("1,234,567.8", Some(1_234_567.8), None),
            ("0,125", None, Some(0.125)),
            ("-1'234,5", None, Some(-1234.5)),
            ("1 234 567", Some(1_234_567.0), Some(1_234_567.0)),
            ("12 34", None, None),
            ("$ 1,500.00", Some(1500.0), None),
            ("-€5", Some(-5.0), Some(-5.0)),
            ("99,90 €", None, Some(99.9)),
            ("$5$", None, None),
            ("$", None, None),
            ("1,5e3", None, Some(1500.0)),
            ("1e3", Some(1000.0), Some(1000.0)),
            (",5", None, Some(0.5)),
            ("5,", None, None),
            ("1,2,3", None, None),
            ("abc", None, None),
            ("12/05/2020", None, None),
        ];
        for (cell, point, comma) in cases {
            assert_eq!(Notation::Point.parse(cell), point, "{cell} with a decimal point");
            assert_eq!(Notation::Comma.parse(cell), comma, "{cell} with a decimal comma");
        }
    }

    #[test]
    fn columns_with_two_readings_are_not_guessed() {
        use Decimal::{Comma, Point};
        let numbers = Verdict::Numbers;
        let twofold = ["1,234", "20,500", "7"];
        assert_eq!(verdict(&twofold, None), Verdict::Ambiguous("1,234".to_owned()));
        assert_eq!(verdict(&twofold, Some(Point)), numbers(Notation::Point));
        assert_eq!(verdict(&twofold, Some(Comma)), numbers(Notation::Comma));
        // One cell with a single reading decides for all.
        assert_eq!(verdict(&["1,234", "1,5"], None), numbers(Notation::Comma));
        assert_eq!(verdict(&["1,234", "1.5"], None), numbers(Notation::Point));
        assert_eq!(verdict(&["1,234", "0,500"], None), numbers(Notation::Comma));
        assert_eq!(verdict(&["1,5", "2.5"], None), Verdict::Text);
        // What programs write stays what it was, unless somebody says otherwise.
        assert_eq!(verdict(&["1.234", "5.678"], None), numbers(Notation::Plain));
        assert_eq!(verdict(&["1.234", "5.678"], Some(Comma)), numbers(Notation::Comma));
        assert_eq!(verdict(&["1.5", "5.678"], Some(Comma)), numbers(Notation::Plain));
        assert_eq!(verdict(&["1", "2"], Some(Comma)), numbers(Notation::Plain));
        assert_eq!(verdict(&["$5", "$10"], None), numbers(Notation::Point));
        assert_eq!(verdict(&["$5", "free"], None), Verdict::Text);
        assert_eq!(verdict(&[], None), numbers(Notation::Plain));
        let dates = numbers(Notation::Date(DateOrder::YearFirst));
        assert_eq!(verdict(&["2020-01-31", "2020-02-01 10:00"], None), dates);
        assert_eq!(verdict(&["2020-01-31", "7"], None), Verdict::Text);
    }
}
