//! The journal of masks, as a file that only grows, and the secret of the run beside it.
//!
//! Every line has a hash of itself and of the line before, and is synced before what it allows is
//! done. A second head, on another disk, has the number of the last line: an older copy of the journal
//! is noticed by it. A last line that is not whole was never acted on, and is cut off.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use steffle_masks::{Backing, Hash, Journal, Line, Secret};

use super::key::random;
use super::{MaskFileError, digits, new_file, private, sync_folder};

/// The journal of a site, made where there is none; nobody else has it meanwhile. Refuses one that is
/// damaged, in use, open to others, or older than its second head.
pub fn open_journal(path: &Path, head: Option<&Path>) -> Result<Journal, MaskFileError> {
    let (disk, lines) = Disk::open(path, head)?;
    if let Some(seen) = disk.seen()?
        && seen > disk.lines
    {
        return Err(disk.rolled_back(seen));
    }
    disk.write_head().map_err(|error| MaskFileError::io(path, error))?;
    Ok(Journal::new(lines, Box::new(disk)))
}

/// The roster that a journal says its store has answered under, without taking it from whoever has it;
/// `None` where it has not, or there is no journal.
pub fn read_journal(path: &Path) -> Result<Option<Hash>, MaskFileError> {
    if !path.exists() {
        return Ok(None);
    }
    let bytes = fs::read(path).map_err(|error| MaskFileError::io(path, error))?;
    let (lines, ..) = read(path, &bytes)?;
    let roster = |line: &Line| if let Line::Roster(roster) = line { Some(*roster) } else { None };
    Ok(lines.iter().rev().find_map(roster))
}

/// Lets a store answer under another roster, because its owner says so: what was begun is over, its
/// secret is gone, and a journal that was damaged or rolled back begins anew beside the old one.
pub fn accept_roster(path: &Path, head: Option<&Path>, roster: Hash) -> Result<(), MaskFileError> {
    let failed = |why: String| MaskFileError::io(path, std::io::Error::other(why));
    match open_journal(path, head) {
        Ok(mut journal) => journal.accept(roster).map_err(|error| failed(error.to_string())),
        Err(MaskFileError::Damaged { .. } | MaskFileError::RolledBack { .. }) => {
            let aside = beside(path, "replaced");
            fs::rename(path, &aside).map_err(|error| MaskFileError::io(path, error))?;
            let secret = beside(path, "secret");
            if secret.exists() {
                fs::remove_file(&secret).map_err(|error| MaskFileError::io(&secret, error))?;
            }
            if let Some(head) = head {
                fs::remove_file(head).map_err(|error| MaskFileError::io(head, error))?;
            }
            let mut journal = open_journal(path, head)?;
            journal.accept(roster).map_err(|error| failed(error.to_string()))
        }
        Err(other) => Err(other),
    }
}

struct Disk {
    path: PathBuf,
    file: File,
    head: Option<PathBuf>,
    lines: u64,
    last: Hash,
}

impl Disk {
    fn open(path: &Path, head: Option<&Path>) -> Result<(Self, Vec<Line>), MaskFileError> {
        let failed = |error| MaskFileError::io(path, error);
        let mut file = if path.exists() {
            OpenOptions::new().read(true).write(true).open(path).map_err(failed)?
        } else {
            let file = new_file(path).map_err(failed)?;
            sync_folder(path).map_err(failed)?;
            file
        };
        private(path, &file)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(MaskFileError::Busy(path.to_path_buf())),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        let (lines, whole, last) = read(path, &bytes)?;
        // What was torn was never acted on; what is read is synced before anybody acts on it.
        file.set_len(whole).and_then(|()| file.sync_all()).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        let (path, head) = (path.to_path_buf(), head.map(Path::to_path_buf));
        Ok((Self { path, file, head, lines: lines.len() as u64, last }, lines))
    }

    /// Lines that the second head has seen.
    fn seen(&self) -> Result<Option<u64>, MaskFileError> {
        let Some(head) = self.head.as_ref().filter(|head| head.exists()) else { return Ok(None) };
        let text = fs::read_to_string(head).map_err(|error| MaskFileError::io(head, error))?;
        text.trim()
            .parse()
            .map(Some)
            .map_err(|_| MaskFileError::Damaged { path: head.clone(), line: 1 })
    }

    fn rolled_back(&self, seen: u64) -> MaskFileError {
        let head = self.head.clone().unwrap_or_default();
        MaskFileError::RolledBack { path: self.path.clone(), found: self.lines, head, seen }
    }

    fn write_head(&self) -> std::io::Result<()> {
        match &self.head {
            None => Ok(()),
            Some(head) => replace(head, self.lines.to_string().as_bytes()),
        }
    }

    fn secret_path(&self) -> PathBuf {
        beside(&self.path, "secret")
    }
}

impl Backing for Disk {
    fn write(&mut self, line: &Line) -> Result<(), String> {
        let text = line.to_text();
        let last = chained(&self.last, &text);
        let written = self
            .file
            .write_all(format!("{} {text}\n", digits(&last)).as_bytes())
            .and_then(|()| self.file.sync_data());
        written.map_err(|error| format!("cannot be written: {error}"))?;
        (self.lines, self.last) = (self.lines + 1, last);
        self.write_head()
            .map_err(|error| format!("has a second head that cannot be written: {error}"))
    }

    fn secret(&self) -> Option<Secret> {
        let bytes = fs::read(self.secret_path()).ok()?;
        let (key, rest) = bytes.split_first_chunk()?;
        let nonce = rest.try_into().ok()?;
        Some(Secret { key: *key, nonce })
    }

    fn keep(&mut self, secret: Option<&Secret>) -> Result<(), String> {
        let path = self.secret_path();
        let kept = match secret {
            Some(Secret { key, nonce }) => replace(&path, &[&key[..], nonce].concat()),
            None if path.exists() => fs::remove_file(&path).and_then(|()| sync_folder(&path)),
            None => Ok(()),
        };
        kept.map_err(|error| format!("cannot keep the secret of a run: {error}"))
    }

    fn fresh(&mut self, _: &Hash) -> Option<Secret> {
        Some(Secret { key: random()?, nonce: random()? })
    }
}

/// Whole lines, how many bytes they are, and the hash of the last.
fn read(path: &Path, bytes: &[u8]) -> Result<(Vec<Line>, u64, Hash), MaskFileError> {
    let (mut lines, mut whole, mut last) = (Vec::new(), 0, Hash::default());
    for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
        let line = std::str::from_utf8(piece).ok().and_then(|line| line.strip_suffix('\n'));
        let read = line.and_then(|line| {
            let (hash, text) = line.split_once(' ')?;
            let own = chained(&last, text);
            (hash == digits(&own)).then_some(own).zip(Line::from_text(text))
        });
        match read {
            Some((own, line)) => {
                lines.push(line);
                whole += piece.len() as u64;
                last = own;
            }
            // The last one may be torn.
            None if whole + piece.len() as u64 == bytes.len() as u64 && line.is_none() => break,
            None => {
                let (path, line) = (path.to_path_buf(), lines.len() + 1);
                return Err(MaskFileError::Damaged { path, line });
            }
        }
    }
    Ok((lines, whole, last))
}

fn chained(last: &Hash, text: &str) -> Hash {
    Sha256::new().chain_update(last).chain_update(text).finalize().into()
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

/// Writes a file as a whole, in place of the one before.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let next = beside(path, "next");
    if next.exists() {
        fs::remove_file(&next)?;
    }
    let mut file = new_file(&next)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&next, path)?;
    sync_folder(path)
}
