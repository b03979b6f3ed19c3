//! Delimited text: a header line, then one record per line.

use std::borrow::Cow;

use csv::{ByteRecord, ReaderBuilder};

use super::blocks::{self, Layout};
use super::builder::{Builder, Misfit};
use super::dialect::{Delimiter, Dialect, Encoding, Markers, find_delimiter};
use super::notation::{Evidence, Notation, Verdict};
use super::reader::{Columns, Kind};
use super::reading::Reading;
use super::text::{Text, TextFile, unreadable};
use super::{Spoiled, Table, check_sealed, unique_names};
use crate::{CellError, Error};

/// A column that begins with this many numbers is one of numbers, but for a cell.
const MANY_NUMBERS: u64 = 20;

/// Characters of a cell beyond this are no value.
pub(super) const LONGEST_CELL: usize = 1 << 20;

/// Reads a delimited file in chunks.
pub(super) struct CsvReader {
    lines: Lines,
    chosen: Vec<(usize, Kind)>,
    notations: Vec<Notation>,
    markers: Markers,
    reading: Reading,
    sparing: bool,
}

impl CsvReader {
    /// Looks at the first lines for the delimiter, reads the header, and reads the file once
    /// beforehand to see which columns hold only numbers and how these are written: a later row may
    /// turn `01` from a number into a code, or `1.234` into more than a thousand, and by then the
    /// rows before it would be wrong. The first pass keeps nothing of the rows. With `sparing` a row
    /// that cannot be read is spoiled and no error, and has no say in what its columns are.
    pub(super) fn new(
        file: &TextFile,
        usual: u8,
        columns: &Columns,
        dialect: &Dialect,
        sparing: bool,
    ) -> Result<Self, Error> {
        let (mut first, delimiter, mut reading) = begin(file, usual, dialect)?;
        let markers = dialect.markers();
        let names = first.names.clone();
        let looked_at: Vec<usize> = match columns {
            Columns::All { text } => {
                (0..names.len()).filter(|&at| !text.contains(&names[at])).collect()
            }
            Columns::Only(wanted) => wanted
                .iter()
                .filter(|(_, kind)| *kind == Kind::Number)
                .filter_map(|(name, _)| names.iter().position(|known| known == name))
                .collect(),
        };
        let mut notations = vec![Notation::Plain; names.len()];
        let mut kinds = vec![Kind::Text; names.len()];
        // Missing columns are said before the file is read.
        columns.choose(&first.origin, &names, |_| Kind::Text)?;
        for (at, evidence) in first.look(&looked_at, &markers, sparing)? {
            let name = &names[at];
            match evidence.verdict(dialect.preferred(name)) {
                Verdict::Numbers(notation)
                    if notation != Notation::Plain && dialect.verbatim.contains(name) => {}
                Verdict::Numbers(notation) => {
                    if matches!(columns, Columns::Only(_)) {
                        same_as_in_training(&first, name, notation, &evidence, dialect)?;
                    }
                    (kinds[at], notations[at]) = (Kind::Number, notation);
                    reading.note(name, notation);
                }
                Verdict::Text => {
                    let begins =
                        evidence.stranger().filter(|(numbers, _)| *numbers >= MANY_NUMBERS);
                    if let Some((numbers, cell)) = begins {
                        reading.strangers.push((name.clone(), numbers, cell.to_owned()));
                    }
                }
                Verdict::AmbiguousDate(value) if matches!(columns, Columns::Only(_)) => {
                    let (origin, column) = (first.origin, name.clone());
                    return Err(CellError::AmbiguousDate { origin, column, value }.into());
                }
                Verdict::AmbiguousDate(value) => {
                    reading.ambiguous_dates.push((name.clone(), value));
                }
                Verdict::Ambiguous(example) if matches!(columns, Columns::Only(_)) => {
                    let (origin, column) = (first.origin, name.clone());
                    return Err(
                        CellError::AmbiguousNumber { origin, column, value: example }.into()
                    );
                }
                Verdict::Ambiguous(example) => reading.ambiguous.push((name.clone(), example)),
            }
        }
        let lines = Lines::open(file, delimiter, dialect)?;
        let chosen = columns.choose(&lines.origin, &lines.names, |at| kinds[at])?;
        Ok(Self { lines, chosen, notations, markers, reading, sparing })
    }

    /// The whole file as a table: read once where nothing in it is unusual, else line by line.
    pub(super) fn whole(
        file: &TextFile,
        usual: u8,
        columns: &Columns,
        dialect: &Dialect,
    ) -> Result<Table, Error> {
        let (Lines { origin, names, sealed, .. }, delimiter, reading) =
            begin(file, usual, dialect)?;
        let chosen = columns.choose(&origin, &names, |_| Kind::Text)?;
        let (chosen, markers) = (chosen.into_iter().map(|(at, _)| at).collect(), dialect.markers());
        let (delimiter, sealed) = (delimiter.0, &sealed[..]);
        let layout = Layout { delimiter, names: &names, sealed, chosen, markers: &markers };
        let Some(read) = blocks::read(file, &layout, columns, dialect) else {
            return Self::new(file, usual, columns, dialect, false)?.next_chunk(usize::MAX);
        };
        let names = layout.chosen.iter().map(|&at| names[at].clone()).collect();
        Ok(Table::from_parts(origin, names, read, 0).with_reading(reading))
    }

    /// The names of all columns of the file.
    pub(super) fn names(&self) -> &[String] {
        &self.lines.names
    }

    /// The next rows, at most `limit` of them.
    pub(super) fn next_chunk(&mut self, limit: usize) -> Result<Table, Error> {
        let (lines, sparing) = (&mut self.lines, self.sparing);
        let first = lines.row;
        let builder = |&(at, kind): &(usize, Kind)| {
            Builder::new(kind, self.notations[at], &self.markers).sparing(sparing)
        };
        let mut builders: Vec<Builder> = self.chosen.iter().map(builder).collect();
        let mut spoiled = Spoiled::default();
        for place in 0..limit {
            match lines.next() {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) if sparing && matches!(error, Error::Ragged { .. }) => {
                    spoiled.note(place, &error);
                    builders.iter_mut().for_each(Builder::push_missing);
                    continue;
                }
                Err(error) => return Err(error),
            }
            for (&(at, _), builder) in self.chosen.iter().zip(&mut builders) {
                match lines.cell(at) {
                    Ok(cell) => builder
                        .push_text(&cell)
                        .map_err(|misfit| lines.misfit(&misfit, at, &cell, lines.row))?,
                    Err(error) if sparing => {
                        spoiled.note(place, &error);
                        builder.push_missing();
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        for (&(at, _), builder) in self.chosen.iter().zip(&mut builders) {
            for (place, misfit, cell) in builder.take_spoiled() {
                let row = first + place as u64 + 1;
                spoiled.note(place, &lines.misfit(&misfit, at, &cell, row));
            }
        }
        let names = self.chosen.iter().map(|&(at, _)| lines.names[at].clone()).collect();
        let columns = builders.into_iter().map(Builder::finish).collect();
        let table = Table::from_parts(lines.origin.clone(), names, columns, first);
        Ok(table.with_reading(self.reading.clone()).with_spoiled(spoiled))
    }
}

/// The file after its header, what stands between its cells, and what that decides.
fn begin(
    file: &TextFile,
    usual: u8,
    dialect: &Dialect,
) -> Result<(Lines, Delimiter, Reading), Error> {
    let (sample, whole) = file.sample()?;
    let found = || Delimiter(find_delimiter(&sample, whole, usual));
    let delimiter = dialect.delimiter.unwrap_or_else(found);
    let lines = Lines::open(file, delimiter, dialect)?;
    let reading = Reading {
        delimiter: Some(delimiter),
        delimiter_found: dialect.delimiter.is_none(),
        packing: file.packing,
        encoding: file.encoding,
        without_header: !dialect.columns.is_empty(),
        renamed: lines.renamed.clone(),
        nameless: lines.nameless.clone(),
        number_in_header: lines.number_in_header(dialect),
        ..Reading::default()
    };
    Ok((lines, delimiter, reading))
}

/// The lines of a file, one at a time.
struct Lines {
    file: TextFile,
    origin: String,
    reader: csv::Reader<Text>,
    names: Vec<String>,
    renamed: Vec<String>,
    nameless: Vec<String>,
    /// Per column whether nothing about its cells may be told.
    sealed: Vec<bool>,
    record: ByteRecord,
    row: u64,
}

impl Lines {
    /// Reads the header.
    fn open(file: &TextFile, delimiter: Delimiter, dialect: &Dialect) -> Result<Self, Error> {
        let origin = file.path.display().to_string();
        let mut reader = ReaderBuilder::new()
            .delimiter(delimiter.0)
            .has_headers(dialect.columns.is_empty())
            // Lengths are checked here, after what explains them better.
            .flexible(true)
            .buffer_capacity(1 << 18)
            .from_reader(file.open()?.closing_quotes(delimiter.0));
        let mut names = if dialect.columns.is_empty() {
            header(file, &origin, &mut reader)?
        } else {
            dialect.columns.iter().map(|name| name.trim().to_owned()).collect()
        };
        check_sealed(&origin, &names, &dialect.sealed)?;
        let nameless = name_all(&mut names);
        let renamed = unique_names(&mut names);
        let sealed = names.iter().map(|name| dialect.sealed.contains(name)).collect();
        let record = ByteRecord::new();
        let file = file.clone();
        Ok(Self { file, origin, reader, names, renamed, nameless, sealed, record, row: 0 })
    }

    /// A name that is a number, unless the names count on or are years: then the line is more likely
    /// a row.
    fn number_in_header(&self, dialect: &Dialect) -> Option<(String, usize)> {
        let number = |name: &&String| name.parse::<f64>().is_ok_and(f64::is_finite);
        let numbers: Vec<&String> = self.names.iter().filter(number).collect();
        let whole: Vec<i64> = numbers.iter().filter_map(|name| name.parse().ok()).collect();
        let counted = whole.len() == numbers.len()
            && (whole.windows(2).all(|pair| pair[1] == pair[0] + 1) && numbers.len() > 1
                || whole.iter().all(|name| (1900..2100).contains(name)));
        let first = numbers.first().filter(|_| !counted && dialect.columns.is_empty())?;
        Some(((*first).clone(), self.names.len()))
    }

    /// Goes to the next line; none is left at the end.
    fn next(&mut self) -> Result<bool, Error> {
        let position = self.reader.position();
        let (line, byte) = (position.line(), position.byte());
        self.reader.get_mut().line_starts(byte);
        let more = self.reader.read_byte_record(&mut self.record);
        if !more.map_err(|error| failure(&self.file, line, &error))? {
            return Ok(false);
        }
        self.row += 1;
        if self.record.len() == self.names.len() {
            return Ok(true);
        }
        let line = self.line();
        let (expected, found) = (self.names.len() as u64, self.record.len() as u64);
        let last = self.record.iter().next_back().unwrap_or_default();
        if found < expected && last.contains(&b'\n') {
            let breaks = last.split(|&byte| byte == b'\n').count() - 1;
            let message = format!(
                "a quoted cell goes on for {breaks} more lines and the line then has {found} cells \
                 where {expected} are expected; a quote is not closed"
            );
            return Err(Error::Csv { origin: self.origin.clone(), line, message });
        }
        Err(Error::Ragged { origin: self.origin.clone(), line, expected, found })
    }

    fn line(&self) -> u64 {
        self.record.position().map_or(0, csv::Position::line)
    }

    /// A cell without the spaces around it. Of a sealed column every cell of one line is some value: a
    /// refusal would tell something about it.
    fn cell(&self, at: usize) -> Result<Cow<'_, str>, Error> {
        let whole = self.record.get(at).unwrap_or_default();
        let bytes = whole.trim_ascii();
        let (origin, column) = (|| self.origin.clone(), || self.names[at].clone());
        let refuse = |problem: String| {
            let row = self.row;
            Err(CellError::Value { origin: origin(), row, column: column(), problem }.into())
        };
        if self.sealed[at] {
            // Which rows there are must not depend on what stands in it.
            if whole.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
                return refuse(
                    "the cell goes on in another line; is a quote not closed?".to_owned(),
                );
            }
            return Ok(String::from_utf8_lossy(bytes));
        }
        if bytes.len() > LONGEST_CELL {
            return refuse(format!(
                "the cell has {} bytes, at most {LONGEST_CELL} are allowed; is a quote not closed?",
                bytes.len()
            ));
        }
        let text = std::str::from_utf8(bytes).map_err(|_| CellError::Encoding {
            origin: origin(),
            line: self.line(),
            row: self.row,
            column: column(),
        })?;
        if text.contains('\0') {
            return refuse(
                "the cell holds a NUL byte; is the file UTF-16 or binary? save it as UTF-8 text"
                    .to_owned(),
            );
        }
        Ok(Cow::Borrowed(text))
    }

    /// What the cells of the given columns are, over the whole file. With `sparing` rows that cannot be
    /// read, and cells without which a column is one of numbers, have no say.
    fn look(
        &mut self,
        columns: &[usize],
        markers: &Markers,
        sparing: bool,
    ) -> Result<Vec<(usize, Evidence)>, Error> {
        let mut found: Vec<(usize, Evidence)> =
            columns.iter().map(|&at| (at, Evidence::default())).collect();
        if found.is_empty() {
            return Ok(found);
        }
        loop {
            match self.next() {
                Ok(true) => {}
                Ok(false) => return Ok(found),
                Err(Error::Ragged { .. }) if sparing => continue,
                Err(error) => return Err(error),
            }
            for (at, evidence) in found.iter_mut().filter(|(_, evidence)| !evidence.is_text()) {
                let cell = match self.cell(*at) {
                    Ok(cell) => cell,
                    Err(_) if sparing => continue,
                    Err(error) => return Err(error),
                };
                if markers.is_missing(&cell) {
                    continue;
                }
                let before = sparing.then(|| evidence.clone());
                evidence.see(&cell);
                if let (Some(before), true) = (before, evidence.is_text()) {
                    *evidence = before;
                }
            }
        }
    }

    fn misfit(&self, misfit: &Misfit, at: usize, cell: &str, row: u64) -> Error {
        let (origin, column) = (self.origin.clone(), self.names[at].clone());
        let value = cell.to_owned();
        match misfit {
            Misfit::NotFinite => CellError::NotFinite { origin, row, column, value }.into(),
            Misfit::NotANumber => CellError::NotANumber { origin, row, column, value }.into(),
        }
    }
}

/// Refuses dates where training had other numbers, and the other way round: both are numbers, and the
/// model would not notice.
fn same_as_in_training(
    lines: &Lines,
    name: &str,
    notation: Notation,
    evidence: &Evidence,
    dialect: &Dialect,
) -> Result<(), Error> {
    let dates = matches!(notation, Notation::Date(_));
    let problem = match dialect.date_columns.contains_key(name) {
        true if !dates && !evidence.is_empty() => "holds no dates, as it did in training",
        false if dates => "holds dates, and other numbers in training",
        _ => return Ok(()),
    };
    let (origin, column) = (lines.origin.clone(), name.to_owned());
    Err(CellError::Date { origin, column, problem }.into())
}

/// Gives columns without a name that of their place; returns the new ones.
fn name_all(names: &mut [String]) -> Vec<String> {
    let mut new = Vec::new();
    for (at, name) in names.iter_mut().enumerate().filter(|(_, name)| name.is_empty()) {
        *name = format!("column {}", at + 1);
        new.push(name.clone());
    }
    new
}

fn header(
    file: &TextFile,
    origin: &str,
    reader: &mut csv::Reader<Text>,
) -> Result<Vec<String>, Error> {
    let header = reader.byte_headers().map_err(|error| failure(file, 1, &error))?;
    if header.is_empty() {
        return Err(Error::EmptyCsv { origin: origin.to_owned() });
    }
    header
        .iter()
        .map(|name| std::str::from_utf8(name.trim_ascii()).map(str::to_owned))
        .collect::<Result<_, _>>()
        .map_err(|_| {
            let advice = match file.encoding {
                Encoding::Utf8 => {
                    "; if the file is Latin-1 or Windows-1252, say <encoding latin-1>"
                }
                Encoding::Latin1 => "",
            };
            let message = format!("a column name is not UTF-8 text{advice}");
            Error::Csv { origin: origin.to_owned(), line: 1, message }
        })
}

fn failure(file: &TextFile, line: u64, error: &csv::Error) -> Error {
    match error.kind() {
        csv::ErrorKind::Io(error) => unreadable(&file.path, line, error),
        _ => {
            Error::Csv { origin: file.path.display().to_string(), line, message: error.to_string() }
        }
    }
}
