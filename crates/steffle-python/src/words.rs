//! Text told by codes: of words that lie one after the other, as Arrow keeps them, read there; and of cells
//! that are references to text of Python's.

use numpy::{Element, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyString};

/// Where words begin, and the last one ends.
#[derive(FromPyObject)]
pub(crate) enum Offsets<'py> {
    /// In half the bytes.
    Short(PyReadonlyArray1<'py, i32>),
    /// In eight.
    Long(PyReadonlyArray1<'py, i64>),
}

/// Codes of as few bytes as there are levels.
#[derive(IntoPyObject)]
pub(crate) enum Codes<'py> {
    /// Of one byte.
    One(Bound<'py, PyArray1<u8>>),
    /// Of two.
    Two(Bound<'py, PyArray1<u16>>),
    /// Of four.
    Four(Bound<'py, PyArray1<u32>>),
}

/// The codes of words, and the levels that they stand for, sorted. Empty words are missing values: one
/// code more than there are levels. Refuses offsets beyond the bytes, and what is no UTF-8.
#[pyfunction]
pub(crate) fn coded<'py>(
    py: Python<'py>,
    offsets: Offsets<'py>,
    bytes: PyReadonlyArray1<'py, u8>,
) -> PyResult<(Codes<'py>, Vec<String>)> {
    let bytes = bytes.as_slice()?;
    let (found, words) = match &offsets {
        Offsets::Short(offsets) => found(offsets.as_slice()?, bytes),
        Offsets::Long(offsets) => found(offsets.as_slice()?, bytes),
    }
    .ok_or_else(|| PyValueError::new_err("offsets of text that lie beyond it"))?;
    told(py, &found, words)
}

/// The same of cells that are references; none where a cell is neither text nor missing (`None` and NaN
/// are, and empty text), or text that is no UTF-8.
#[pyfunction]
pub(crate) fn coded_cells<'py>(
    py: Python<'py>,
    cells: PyReadonlyArray1<'py, Py<PyAny>>,
) -> PyResult<Option<(Codes<'py>, Vec<String>)>> {
    let cells = cells.as_array();
    let mut known = Known::default();
    let mut seen = vec![(0_usize, 0_u32); SEEN];
    let mut found = Vec::with_capacity(cells.len());
    for cell in cells {
        // Nothing of Python's runs meanwhile, and the array holds on to its cells: what lies at the same
        // address is the same text.
        let address = cell.as_ptr() as usize;
        let last = &mut seen[(hash(&address.to_le_bytes()) as usize) % SEEN];
        if last.0 != address {
            let Some(word) = text_of(cell.bind(py)) else { return Ok(None) };
            *last = (address, known.number(word));
        }
        found.push(last.1);
    }
    told(py, &found, known.words).map(Some)
}

/// Addresses whose text is remembered. Cells that repeat a text are mostly references to one: they need
/// not be read. Where each is a text of its own, this much room and no more is wasted.
const SEEN: usize = 1 << 12;

/// The letters of a cell, none of a missing one.
fn text_of<'a>(cell: &'a Bound<'_, PyAny>) -> Option<&'a [u8]> {
    if let Ok(text) = cell.cast_exact::<PyString>() {
        return text.to_str().ok().map(str::as_bytes);
    }
    let missing =
        cell.is_none() || cell.cast_exact::<PyFloat>().is_ok_and(|number| number.value().is_nan());
    missing.then_some(&[])
}

/// Codes in the order of the levels, which are the words that are not empty.
fn told<'py>(
    py: Python<'py>,
    found: &[u32],
    words: Vec<&[u8]>,
) -> PyResult<(Codes<'py>, Vec<String>)> {
    let words: Result<Vec<&str>, _> = words.into_iter().map(str::from_utf8).collect();
    let words = words.map_err(|error| PyValueError::new_err(error.to_string()))?;
    let mut levels: Vec<&str> = words.iter().copied().filter(|word| !word.is_empty()).collect();
    levels.sort_unstable();
    let place = |word: &&str| levels.binary_search(word).unwrap_or(levels.len()) as u32;
    let places: Vec<u32> = words.iter().map(place).collect();
    let codes = match levels.len() {
        0..=0xff => Codes::One(narrow(py, found, &places, |code| code as u8)),
        0x100..=0xffff => Codes::Two(narrow(py, found, &places, |code| code as u16)),
        _ => Codes::Four(narrow(py, found, &places, |code| code)),
    };
    Ok((codes, levels.into_iter().map(str::to_owned).collect()))
}

fn narrow<'py, T: Element>(
    py: Python<'py>,
    found: &[u32],
    places: &[u32],
    code: impl Fn(u32) -> T,
) -> Bound<'py, PyArray1<T>> {
    PyArray1::from_iter(py, found.iter().map(|&word| code(places[word as usize])))
}

/// The number of every word among the different ones, and these; none where there is no such word.
fn found<'a, O: Copy + TryInto<usize>>(
    offsets: &[O],
    bytes: &'a [u8],
) -> Option<(Vec<u32>, Vec<&'a [u8]>)> {
    let mut known = Known::default();
    let mut found = Vec::with_capacity(offsets.len().saturating_sub(1));
    for pair in offsets.windows(2) {
        let word = bytes.get(pair[0].try_into().ok()?..pair[1].try_into().ok()?)?;
        found.push(known.number(word));
    }
    Some((found, known.words))
}

/// Different words, by a hash. There are few of them and many that are compared: half of the time of
/// a table like Adult went into looking words up elsewhere.
#[derive(Default)]
struct Known<'a> {
    words: Vec<&'a [u8]>,
    /// Hash and number of a word, or room; a power of two of them, at most half of them full.
    slots: Vec<Option<(u64, u32)>>,
}

impl<'a> Known<'a> {
    fn number(&mut self, word: &'a [u8]) -> u32 {
        if 2 * self.words.len() >= self.slots.len() {
            self.grow();
        }
        let hash = hash(word);
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while let Some((own, number)) = self.slots[at] {
            if own == hash && self.words[number as usize] == word {
                return number;
            }
            at = (at + 1) & mask;
        }
        let number = self.words.len() as u32;
        self.words.push(word);
        self.slots[at] = Some((hash, number));
        number
    }

    fn grow(&mut self) {
        let old = std::mem::take(&mut self.slots);
        self.slots = vec![None; (2 * old.len()).max(256)];
        let mask = self.slots.len() - 1;
        for (hash, number) in old.into_iter().flatten() {
            let mut at = hash as usize & mask;
            while self.slots[at].is_some() {
                at = (at + 1) & mask;
            }
            self.slots[at] = Some((hash, number));
        }
    }
}

/// Eight letters at a time; the last eight may be among those before.
fn hash(word: &[u8]) -> u64 {
    // The golden ratio: an odd number whose bits are spread evenly. The upper half of the product,
    // which all bits reach, is folded into the lower one.
    let mix = |hash: u64, eight: u64| {
        let product = u128::from(hash ^ eight) * u128::from(0x9e37_79b9_7f4a_7c15_u64);
        product as u64 ^ (product >> 64) as u64
    };
    let mut hash = word.len() as u64;
    for eight in word.as_chunks::<8>().0 {
        hash = mix(hash, u64::from_le_bytes(*eight));
    }
    match word.last_chunk::<8>() {
        Some(last) => mix(hash, u64::from_le_bytes(*last)),
        None => mix(hash, word.iter().fold(1, |eight, &letter| eight << 8 | u64::from(letter))),
    }
}
