//! What a site keeps about masks on disk: its key, and the journal of what it masked.

mod journal;
mod key;

pub use journal::{accept_roster, open_journal, read_epoch, read_journal};
pub(crate) use key::random;
pub use key::{create_key, read_key};

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Why a site's key or journal cannot be used.
///
/// It names the file and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MaskFileError {
    /// The system says no.
    #[error("{path}: {source}")]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Somebody else may read it.
    #[error("{path}: others may read or write it (mode {mode:o}); chmod 600 {path}")]
    Permissions {
        /// Which file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// No key.
    #[error("{0}: is no key of `steffle silo key`: a line of 64 hexadecimal digits")]
    NotAKey(PathBuf),
    /// There is a key already.
    #[error("{0}: exists; a site with another key is another site to all others")]
    Exists(PathBuf),
    /// The system has no random numbers.
    #[error("the operating system gives no random numbers, so there is no key")]
    Entropy,
    /// Somebody has it.
    #[error("{0}: is in use by another process")]
    Busy(PathBuf),
    /// A line is not what was written.
    #[error(
        "{path}: line {line} is not as it was written; restore the file, or `steffle silo roster accept`"
    )]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Which line.
        line: usize,
    },
    /// An older copy.
    #[error(
        "{path}: has {found} lines, and {head} has seen {seen}: it is an older copy, or another journal, \
         and does not know with whom, or about which data, this store answered. `steffle silo roster accept` \
         begins anew, with other keys"
    )]
    RolledBack {
        /// Which file.
        path: PathBuf,
        /// Lines in it.
        found: u64,
        /// The second head.
        head: PathBuf,
        /// Lines that it has seen.
        seen: u64,
    },
}

impl MaskFileError {
    fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.to_path_buf(), source }
    }
}

/// A new file that nobody else may read.
pub(crate) fn new_file(path: &Path) -> std::io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Refuses a file that others may read.
pub(crate) fn private(path: &Path, file: &std::fs::File) -> Result<(), MaskFileError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let metadata = file.metadata().map_err(|error| MaskFileError::io(path, error))?;
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(MaskFileError::Permissions { path: path.to_path_buf(), mode });
        }
    }
    Ok(())
}

/// Makes names durable, where the system lets one.
pub(crate) fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    if cfg!(unix) { std::fs::File::open(folder)?.sync_all() } else { Ok(()) }
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests;
