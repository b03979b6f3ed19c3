//! The key that a site is known by, as a file.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::Path;

use rand::TryRng;
use rand::rngs::SysRng;
use steffle_masks::{Fingerprint, Identity};

use super::{MaskFileError, digits, new_file, private, sync_folder};

/// Makes a key of the system's random numbers, in a file that nobody else may read; refuses to replace
/// one.
pub fn create_key(path: &Path) -> Result<Identity, MaskFileError> {
    let secret = random::<32>().ok_or(MaskFileError::Entropy)?;
    let mut file = new_file(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => MaskFileError::Exists(path.to_path_buf()),
        _ => MaskFileError::io(path, error),
    })?;
    let written = file
        .write_all(format!("{}\n", digits(&secret)).as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| sync_folder(path));
    written.map_err(|error| MaskFileError::io(path, error))?;
    Ok(Identity::new(&secret))
}

/// Reads a key; refuses one that others may read, or that is none.
pub fn read_key(path: &Path) -> Result<Identity, MaskFileError> {
    let mut file = File::open(path).map_err(|error| MaskFileError::io(path, error))?;
    private(path, &file)?;
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(|error| MaskFileError::io(path, error))?;
    // Digits are read as those of a fingerprint are.
    let secret = text.trim().parse::<Fingerprint>();
    let secret = secret.map_err(|_| MaskFileError::NotAKey(path.to_path_buf()))?;
    Ok(Identity::new(&secret.0))
}

/// The system's random numbers.
pub(crate) fn random<const N: usize>() -> Option<[u8; N]> {
    let mut bytes = [0; N];
    SysRng.try_fill_bytes(&mut bytes).ok()?;
    Some(bytes)
}
