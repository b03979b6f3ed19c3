//! How a text file is written, as far as its owner says, and what is found by looking at it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use csv::ReaderBuilder;
use serde::{Deserialize, Serialize};

use super::date::DateOrder;
use super::notation::Preferred;

/// How a table of text is written. What is not said is found by looking at the file.
///
/// ```
/// use steffle_data::{Decimal, Dialect};
/// let dialect = Dialect {
///     delimiter: Some("tab".parse()?),
///     decimal: Some(Decimal::Comma),
///     ..Dialect::default()
/// };
/// assert!(!dialect.is_usual());
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dialect {
    /// What stands between cells; none: found in the first lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<Delimiter>,
    /// How characters are written as bytes.
    pub encoding: Encoding,
    /// The column names of a file without a header line; empty: the first line is one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// Which reading of `1,234` and `1.234` is meant where both are possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decimal: Option<Decimal>,
    /// Columns that had a decimal comma in the training file: the meaning of `1.234` in them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decimal_comma: Vec<String>,
    /// Which reading of `3/4/2020` is meant where both are possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dates: Option<DateOrder>,
    /// Columns that were dates in the training file, and how these were written.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub date_columns: BTreeMap<String, DateOrder>,
    /// The spellings of a missing value, besides the empty cell; empty: the usual ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing_markers: Vec<String>,
    /// Columns of which no cell is ever refused or quoted, because a message would tell s.
    #[serde(skip)]
    pub sealed: Vec<String>,
    /// Columns of ids: neither dates nor numbers with separators, whatever else the dialect says.
    #[serde(skip)]
    pub verbatim: Vec<String>,
}

impl Dialect {
    /// Whether nothing is said.
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// What holds for every file of this meaning, whoever wrote it: the markers, which columns have a
    /// decimal comma and which are dates.
    #[must_use]
    pub fn lasting(&self) -> Self {
        Self {
            decimal: self.decimal,
            decimal_comma: self.decimal_comma.clone(),
            dates: self.dates,
            date_columns: self.date_columns.clone(),
            missing_markers: self.missing_markers.clone(),
            ..Self::default()
        }
    }

    /// The reading of a column that is preferred where several are possible.
    pub(super) fn preferred(&self, column: &str) -> Preferred {
        let known = self.decimal_comma.iter().any(|own| own == column);
        Preferred {
            decimal: self.decimal.or(known.then_some(Decimal::Comma)),
            date: self.dates.or(self.date_columns.get(column).copied()),
        }
    }

    /// The cells that count as missing; the empty one always does.
    pub fn missing_cells(&self) -> Vec<String> {
        let mut cells = vec![String::new()];
        cells.extend(self.markers().spellings.iter().filter(|marker| !marker.is_empty()).cloned());
        cells
    }

    pub(super) fn markers(&self) -> Markers {
        if self.missing_markers.is_empty() {
            return Markers::new(USUAL_MARKERS.iter().map(|&marker| marker.to_owned()).collect());
        }
        Markers::new(self.missing_markers.iter().map(|marker| marker.trim().to_owned()).collect())
    }
}

/// What stands between the cells of a line.
///
/// It is found from the first lines unless it is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Delimiter(pub(super) u8);

/// The delimiters that are looked for, and their names.
const DELIMITERS: [(u8, &str); 5] =
    [(b',', "comma"), (b';', "semicolon"), (b'\t', "tab"), (b'|', "pipe"), (b' ', "space")];

impl FromStr for Delimiter {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let named = DELIMITERS.iter().find(|(_, name)| *name == word);
        match (named, word.as_bytes()) {
            (Some((byte, _)), _) => Ok(Self(*byte)),
            (_, b"\\t") => Ok(Self(b'\t')),
            (_, &[byte]) if byte == b' ' || byte == b'\t' || byte.is_ascii_punctuation() => {
                match byte {
                    b'"' => Err(Self::allowed()),
                    byte => Ok(Self(byte)),
                }
            }
            _ => Err(Self::allowed()),
        }
    }
}

impl Delimiter {
    fn allowed() -> String {
        "comma, semicolon, tab, pipe, space, or one mark such as : (not a quote)".to_owned()
    }
}

impl fmt::Display for Delimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            b'\t' => f.write_str("tab"),
            b' ' => f.write_str("space"),
            byte => write!(f, "{}", char::from(byte)),
        }
    }
}

impl TryFrom<String> for Delimiter {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        word.parse()
            .map_err(|allowed| format!("delimiter `{word}` is refused: allowed are {allowed}"))
    }
}

impl From<Delimiter> for String {
    fn from(delimiter: Delimiter) -> Self {
        delimiter.to_string()
    }
}

/// How characters are written as bytes.
///
/// Files that are no UTF-8 are refused unless this is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Encoding {
    /// UTF-8, with or without a byte order mark.
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    /// Latin-1 with the additions of Windows-1252, which is what files called Latin-1 are.
    #[serde(rename = "latin-1")]
    Latin1,
}

impl FromStr for Encoding {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "utf-8" => Ok(Self::Utf8),
            "latin-1" => Ok(Self::Latin1),
            _ => Err("utf-8, latin-1".to_owned()),
        }
    }
}

/// What stands before the fraction of a number.
///
/// `1.234` can be two numbers, and nobody but the user knows which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decimal {
    /// `1.5`, and `1,234` is more than a thousand.
    Point,
    /// `1,5`, and `1.234` is more than a thousand.
    Comma,
}

impl FromStr for Decimal {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "point" => Ok(Self::Point),
            "comma" => Ok(Self::Comma),
            _ => Err("point, comma".to_owned()),
        }
    }
}

/// Spellings of a missing value where none are given; the empty cell always is one.
const USUAL_MARKERS: [&str; 8] = ["?", "NA", "N/A", "n/a", "#N/A", "NULL", "null", "-"];

/// The spellings of a missing value of one file.
#[derive(Debug, Clone)]
pub(super) struct Markers {
    spellings: Arc<[String]>,
    /// The length of the longest: most cells are longer, or begin in another way than any.
    longest: usize,
    /// A bit per byte that some spelling begins with.
    begin: [u64; 4],
}

impl Markers {
    fn new(spellings: Arc<[String]>) -> Self {
        let longest = spellings.iter().map(String::len).max().unwrap_or(0);
        let mut begin = [0; 4];
        for &first in spellings.iter().filter_map(|own| own.as_bytes().first()) {
            begin[usize::from(first / 64)] |= 1 << (first % 64);
        }
        Self { spellings, longest, begin }
    }

    pub(super) fn is_missing(&self, cell: &str) -> bool {
        let Some(&first) = cell.as_bytes().first() else { return true };
        cell.len() <= self.longest
            && self.begin[usize::from(first / 64)] >> (first % 64) & 1 == 1
            && self.spellings.iter().any(|marker| marker == cell)
    }
}

/// The delimiter of a file that begins with `sample`: of those that cut every line into the same
/// number of cells, two or more, the one that gives the most. Where none does, `usual` if it cuts
/// the first line at all, else the one that cuts the first line most often. Quoted cells count as
/// one. A space separates only where nothing else does: it stands inside of cells as well. `whole`
/// says that the sample ends where the file ends.
pub(super) fn find_delimiter(sample: &[u8], whole: bool, usual: u8) -> u8 {
    let others =
        DELIMITERS.iter().map(|(byte, _)| *byte).filter(|&byte| byte != usual && byte != b' ');
    let candidates: Vec<(u8, Vec<usize>)> =
        [usual].into_iter().chain(others).map(|byte| (byte, widths(sample, whole, byte))).collect();
    let first = |widths: &[usize]| widths.first().copied().unwrap_or(0);
    let most = |fits: &dyn Fn(&[usize]) -> bool| {
        let mut best: Option<(u8, usize)> = None;
        for (byte, widths) in candidates.iter().filter(|(_, widths)| fits(widths)) {
            // The earlier one wins a draw, and the usual one is the first.
            if best.is_none_or(|(_, width)| first(widths) > width) {
                best = Some((*byte, first(widths)));
            }
        }
        best.map(|(byte, _)| byte)
    };
    let regular =
        |widths: &[usize]| first(widths) > 1 && widths.iter().all(|&width| width == first(widths));
    let splits = |widths: &[usize]| first(widths) > 1;
    let space = widths(sample, whole, b' ');
    most(&regular)
        .or_else(|| splits(&candidates[0].1).then_some(usual))
        .or_else(|| most(&splits))
        .or_else(|| regular(&space).then_some(b' '))
        .unwrap_or(usual)
}

/// Cells per line of the sample; its last line counts only if the file ends there.
fn widths(sample: &[u8], whole: bool, delimiter: u8) -> Vec<usize> {
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter)
        .flexible(true)
        .has_headers(false)
        .from_reader(sample);
    let records = reader.byte_records().map_while(Result::ok);
    let mut widths: Vec<usize> = records.map(|record| record.len()).collect();
    if !whole && widths.len() > 1 {
        widths.pop();
    }
    widths
}
