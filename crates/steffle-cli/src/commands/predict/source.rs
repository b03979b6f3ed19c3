//! Where records come from: files, or standard input.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::staged::Staged;

/// A file of records, and what people call it.
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) name: String,
    /// Removed when nobody reads it any more.
    _spooled: Option<Staged>,
}

impl Source {
    /// What was typed: a file, or `-` for standard input.
    pub(super) fn of(typed: &Path) -> Result<Self, Failure> {
        if typed == Path::new("-") {
            return Self::standard_input();
        }
        let name = typed.display().to_string();
        Ok(Self { path: typed.to_path_buf(), name, _spooled: None })
    }

    /// Standard input in a file of our own: text is read twice, once to see how its numbers are
    /// written.
    fn standard_input() -> Result<Self, Failure> {
        let place = std::env::temp_dir().join(format!("steffle-{}", std::process::id()));
        let staged = Staged::directory(&place, false)?;
        let mut input = io::stdin().lock();
        let mut first = Vec::new();
        let refuse =
            |error: io::Error| Failure::data("data::io", format!("standard input: {error}"));
        input.by_ref().take(4).read_to_end(&mut first).map_err(refuse)?;
        let ending = match first[..] {
            [b'P', b'A', b'R', b'1'] => "parquet",
            [0x1f, 0x8b, ..] => "csv.gz",
            [0x28, 0xb5, 0x2f, 0xfd] => "csv.zst",
            _ => "csv",
        };
        let path = staged.path().join(format!("input.{ending}"));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        // Records are nobody else's business.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path).map_err(|error| Failure::at(&path, &error))?;
        let written = file.write_all(&first).and_then(|()| io::copy(&mut input, &mut file));
        written.map_err(refuse)?;
        Ok(Self { path, name: "standard input".to_owned(), _spooled: Some(staged) })
    }

    /// A message about the file, by the name that people know.
    pub(super) fn named(&self, message: &str) -> String {
        message.replace(&self.path.display().to_string(), &self.name)
    }

    /// Whether it is this file.
    pub(super) fn is(&self, other: &Path) -> bool {
        let paths = fs::canonicalize(&self.path).ok().zip(fs::canonicalize(other).ok());
        paths.is_some_and(|(a, b)| a == b)
    }
}
