//! Writes rows of a table to CSV or Parquet, whole or not at all.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use super::parquet::write_parquet;
use super::reader::{FileFormat, Packing};
use super::{Column, Here};
use crate::Error;

/// Writes the given rows of named columns; the extension chooses the format.
///
/// A missing value becomes an empty cell or a null. The file appears under its name only when
/// it is complete.
pub fn write(path: &Path, columns: &[(&str, &Column)], rows: &[u32]) -> Result<(), Error> {
    let format = FileFormat::of(path)?;
    if matches!(format, FileFormat::Delimited(_, Packing::Gzip | Packing::Zstd)) {
        return Err(Error::Extension { path: path.to_path_buf() });
    }
    let columns: Vec<(&str, Here<'_>)> =
        columns.iter().map(|(name, column)| (*name, column.here())).collect();
    write_atomically(path, |file| match format {
        FileFormat::Delimited(delimiter, _) => write_delimited(file, delimiter, &columns, rows)
            .map_err(|source| Error::io(path, source)),
        FileFormat::Parquet => write_parquet(file, &columns, rows)
            .map_err(|message| Error::Parquet { origin: path.display().to_string(), message }),
    })
}

/// Lets `fill` write a temporary file beside `path`, makes it durable and gives it its name.
///
/// On any error the temporary file is removed and whatever was at `path` stays.
pub(crate) fn write_atomically(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> Result<(), Error>,
) -> Result<(), Error> {
    let temporary = temporary_beside(path);
    let outcome = (|| {
        let fail = |source| Error::io(path, source);
        let file = File::create_new(&temporary).map_err(fail)?;
        let mut buffered = BufWriter::new(file);
        fill(&mut buffered)?;
        let file = buffered.into_inner().map_err(|error| fail(error.into_error()))?;
        file.sync_all().map_err(fail)?;
        fs::rename(&temporary, path).map_err(fail)?;
        sync_directory(path);
        Ok(())
    })();
    if outcome.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    outcome
}

/// Makes a new name durable, where the system lets directories be synced.
fn sync_directory(path: &Path) {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Ok(directory) = File::open(directory.unwrap_or(Path::new("."))) {
        let _ = directory.sync_all();
    }
}

/// A name in the same directory that no other process uses.
pub(crate) fn temporary_beside(path: &Path) -> PathBuf {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

fn write_delimited(
    file: &mut BufWriter<File>,
    delimiter: u8,
    columns: &[(&str, Here<'_>)],
    rows: &[u32],
) -> std::io::Result<()> {
    let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(file);
    writer.write_record(columns.iter().map(|(name, _)| *name))?;
    let mut cell = String::new();
    for &row in rows {
        for (_, column) in columns {
            cell.clear();
            match column {
                Here::Numbers(numbers) => {
                    let number = numbers[row as usize];
                    if !number.is_nan() {
                        use std::fmt::Write as _;
                        let _ = write!(cell, "{number}");
                    }
                }
                Here::Text(text) => cell.push_str(text.level(row as usize).unwrap_or_default()),
            }
            writer.write_field(&cell)?;
        }
        writer.write_record(None::<&[u8]>)?;
    }
    writer.flush()
}
