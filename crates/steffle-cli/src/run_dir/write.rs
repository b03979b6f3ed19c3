//! Writes a run directory, whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use steffle_front::MODEL;

use crate::failure::Failure;
use crate::staged::{BUSY, Staged};

/// Where default names are looked for.
const RUNS: &str = "runs";

/// The place of a run directory, reserved before the work starts.
#[derive(Debug)]
pub(crate) struct Destination {
    path: PathBuf,
    staged: Staged,
}

impl Destination {
    /// The directory the user named, or the first free `runs/NAME-N`.
    ///
    /// Refuses an existing one; with `force` an existing run directory is replaced, and nothing
    /// else ever is.
    pub(crate) fn reserve(named: Option<&Path>, name: &str, force: bool) -> Result<Self, Failure> {
        let Some(path) = named else {
            return Self::first_free(name);
        };
        if path.exists() && !force {
            let message = format!("{}: exists already", path.display());
            let help = "choose another --out, or add --force to replace that run";
            return Err(Failure::data("run::exists", message).help(help));
        }
        if path.exists() && !path.join(MODEL).is_file() {
            let message = format!("{}: exists and is not a run directory", path.display());
            let help = "--force replaces run directories only; choose another --out";
            return Err(Failure::data("run::exists", message).help(help));
        }
        let staged = Staged::directory(path, force)?;
        Ok(Self { path: path.to_path_buf(), staged })
    }

    fn first_free(name: &str) -> Result<Self, Failure> {
        for number in 1.. {
            let path = Path::new(RUNS).join(format!("{name}-{number}"));
            if path.exists() {
                continue;
            }
            match Staged::directory(&path, false) {
                Ok(staged) => return Ok(Self { path, staged }),
                Err(failure) if failure.code == BUSY => {}
                Err(failure) => return Err(failure),
            }
        }
        Err(Failure::bug("no number is free for a run directory"))
    }

    /// Where the run directory will be.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes all files; the directory appears when it is complete.
    pub(crate) fn write<N: AsRef<Path>>(self, files: &[(N, Vec<u8>)]) -> Result<(), Failure> {
        for (name, bytes) in files {
            let path = self.staged.path().join(name);
            fs::write(&path, bytes).map_err(|error| Failure::at(&path, &error))?;
        }
        self.staged.commit()
    }
}
