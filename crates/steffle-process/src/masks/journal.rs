//! The journal of masks, as a file that only grows, and the secret of the run beside it.
//!
//! Every line has a hash of itself and of the line before, and is synced before what it allows is
//! done. A last line that is not whole was never acted on, and is cut off. Beside it lie digests of all
//! records, a file per epoch of the data since a roster was last accepted; older ones are removed when the
//! journal is opened.
//!
//! A second head, on another disk, has the number and hash of the last line, and of the last that *stands*:
//! one about rosters or epochs, which hold for the store's life. An older copy of the journal, or another
//! in its place, is noticed by it, and the secret is destroyed: whatever it masked cannot be masked again.
//! Where only lines of a run are missing, nothing else is lost, and the next run says a new hello. Where a
//! line that stands is missing the store waits for its owner: it does not know any more with whom, or about
//! which data, it answered, and whoever went on could tell the difference of two totals.
//!
//! After the last line there are zeros, written and synced some hundred lines ahead: a file that grows
//! with every line has its new length synced, too, for which some disks take milliseconds. No line has
//! one, so that a line with zeros in it is one that was torn.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use steffle_masks::{Backing, Fingerprint, Hash, Journal, Line, Secret, altered};

use super::key::random;
use super::{MaskFileError, digits, new_file, private, sync_folder};

/// The journal of a site, made where there is none; nobody else has it meanwhile. Refuses one that is
/// damaged, in use, open to others, or older than its second head.
pub fn open_journal(path: &Path, head: Option<&Path>) -> Result<Journal, MaskFileError> {
    let (mut disk, lines) = Disk::open(path, head)?;
    if let Some(seen) = disk.seen()?
        && !disk.has(&seen.last)
    {
        // What its masks covered is not known any more.
        let error = std::io::Error::other;
        disk.keep(None).map_err(|why| MaskFileError::io(path, error(why)))?;
        if !disk.has(&seen.stands) {
            return Err(disk.rolled_back(seen.last.0));
        }
    }
    disk.write_head().map_err(|error| MaskFileError::io(path, error))?;
    forget_epochs(path, &lines).map_err(|error| MaskFileError::io(path, error))?;
    Ok(Journal::new(lines, Box::new(disk)))
}

/// Removes digests of epochs before a roster was last accepted: nothing is compared with them any more.
fn forget_epochs(path: &Path, lines: &[Line]) -> std::io::Result<()> {
    let since = lines.iter().rposition(|line| matches!(line, Line::Roster(_))).unwrap_or(0);
    let needed: Vec<PathBuf> = lines[since..]
        .iter()
        .filter_map(|line| match line {
            Line::Epoch { number, .. } => Some(records_path(path, *number)),
            _ => None,
        })
        .collect();
    let begins = beside(path, "epoch-");
    let (Some(folder), Some(begins)) = (begins.parent(), begins.file_name()) else { return Ok(()) };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let Some(number) =
            name.to_str().zip(begins.to_str()).and_then(|(name, begins)| name.strip_prefix(begins))
        else {
            continue;
        };
        let own = path.with_file_name(&name);
        if number.bytes().all(|digit| digit.is_ascii_digit()) && !needed.contains(&own) {
            fs::remove_file(&own)?;
        }
    }
    Ok(())
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

/// The epoch of a store's data, and how many of these records were altered since, by their digests in
/// ascending order: 0 where none was, else since that epoch of them all from which the fewest were. `None`
/// where it has met nobody.
pub fn read_epoch(path: &Path, records: &[u64]) -> Result<Option<(u32, u64)>, MaskFileError> {
    if !path.exists() {
        return Ok(None);
    }
    let bytes = fs::read(path).map_err(|error| MaskFileError::io(path, error))?;
    let (lines, ..) = read(path, &bytes)?;
    let since = lines.iter().rposition(|line| matches!(line, Line::Roster(_))).unwrap_or(0);
    let mut found = None;
    for line in &lines[since..] {
        let Line::Epoch { number, .. } = line else { continue };
        let before = records_of(path, *number).ok_or_else(|| {
            let missing = std::io::Error::other("the digests of its records are missing");
            MaskFileError::io(&records_path(path, *number), missing)
        })?;
        let own = altered(&before, records);
        let fewest = found.map_or(own, |(_, fewest)| u64::min(own, fewest));
        found = Some((*number, if own == 0 { 0 } else { fewest }));
    }
    Ok(found)
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

/// The number of a line, from 1, and its hash; 0 before there is one. Of a head that older programs wrote
/// the hash is not known.
type Place = (u64, Option<Hash>);

/// What a second head has seen.
struct Seen {
    last: Place,
    stands: Place,
}

struct Disk {
    path: PathBuf,
    file: File,
    head: Option<PathBuf>,
    /// The hashes of all lines.
    hashes: Vec<Hash>,
    /// Lines up to the last that stands.
    stands: usize,
    /// Where the last line ends, and the zeros after it.
    end: u64,
    room: u64,
}

/// Zeros that are written ahead.
const AHEAD: usize = 1 << 16;

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
        let (lines, whole, hashes) = read(path, &bytes)?;
        // What was torn was never acted on; what is read is synced before anybody acts on it.
        file.set_len(whole).and_then(|()| file.sync_all()).map_err(failed)?;
        let (path, head) = (path.to_path_buf(), head.map(Path::to_path_buf));
        let stands = lines.iter().rposition(stands).map_or(0, |at| at + 1);
        Ok((Self { path, file, head, hashes, stands, end: whole, room: whole }, lines))
    }

    /// Writes a line down for good.
    fn append(&mut self, line: &[u8]) -> std::io::Result<()> {
        let end = self.end + line.len() as u64;
        if end > self.room {
            self.file.seek(SeekFrom::Start(self.room))?;
            self.file.write_all(&vec![0; AHEAD.max(line.len())])?;
            self.file.sync_all()?;
            self.room = self.file.stream_position()?;
        }
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(line)?;
        self.file.sync_data()?;
        self.end = end;
        Ok(())
    }

    /// What the second head has seen.
    fn seen(&self) -> Result<Option<Seen>, MaskFileError> {
        let Some(head) = self.head.as_ref().filter(|head| head.exists()) else { return Ok(None) };
        let text = fs::read_to_string(head).map_err(|error| MaskFileError::io(head, error))?;
        let words: Vec<&str> = text.split_whitespace().collect();
        let number = |word: &str| word.parse::<u64>().ok();
        let place = |count: &str, hash: &str| {
            Some((number(count)?, Some(hash.parse::<Fingerprint>().ok()?.0)))
        };
        let seen = match words[..] {
            [count] => {
                number(count).map(|count| Seen { last: (count, None), stands: (count, None) })
            }
            [count, hash, stands, its_hash] => place(count, hash)
                .zip(place(stands, its_hash))
                .map(|(last, stands)| Seen { last, stands }),
            _ => None,
        };
        seen.map(Some).ok_or_else(|| MaskFileError::Damaged { path: head.clone(), line: 1 })
    }

    /// Whether this line is the journal's own.
    fn has(&self, (number, hash): &Place) -> bool {
        let own = usize::try_from(*number).ok().and_then(|number| self.hash(number));
        own.is_some_and(|own| hash.is_none_or(|hash| hash == own))
    }

    /// The hash of a line, by its number from 1.
    fn hash(&self, number: usize) -> Option<Hash> {
        match number {
            0 => Some(Hash::default()),
            _ => self.hashes.get(number - 1).copied(),
        }
    }

    fn rolled_back(&self, seen: u64) -> MaskFileError {
        let (head, found) = (self.head.clone().unwrap_or_default(), self.hashes.len() as u64);
        MaskFileError::RolledBack { path: self.path.clone(), found, head, seen }
    }

    fn write_head(&self) -> std::io::Result<()> {
        let Some(head) = &self.head else { return Ok(()) };
        let place = |number: usize| {
            let hash = self.hash(number).unwrap_or_default();
            format!("{number} {}", digits(&hash))
        };
        let text = format!("{} {}", place(self.hashes.len()), place(self.stands));
        replace(head, text.as_bytes())
    }

    fn secret_path(&self) -> PathBuf {
        beside(&self.path, "secret")
    }
}

impl Backing for Disk {
    fn write(&mut self, line: &Line) -> Result<(), String> {
        let text = line.to_text();
        let last = chained(self.hashes.last().unwrap_or(&Hash::default()), &text);
        self.append(format!("{} {text}\n", digits(&last)).as_bytes())
            .map_err(|error| format!("cannot be written: {error}"))?;
        self.hashes.push(last);
        if stands(line) {
            self.stands = self.hashes.len();
        }
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

    fn records(&self, epoch: u32) -> Option<Vec<u64>> {
        records_of(&self.path, epoch)
    }

    fn keep_records(&mut self, epoch: u32, records: &[u64]) -> Result<(), String> {
        let bytes: Vec<u8> = records.iter().flat_map(|record| record.to_le_bytes()).collect();
        replace(&records_path(&self.path, epoch), &bytes)
            .map_err(|error| format!("cannot keep digests of records: {error}"))
    }
}

/// Whether a line holds for the store's life, not for a run.
fn stands(line: &Line) -> bool {
    matches!(line, Line::Roster(_) | Line::Epoch { .. } | Line::Met { .. })
}

/// Whole lines, how many bytes they are, and the hashes of all.
fn read(path: &Path, bytes: &[u8]) -> Result<(Vec<Line>, u64, Vec<Hash>), MaskFileError> {
    let (mut lines, mut whole, mut hashes) = (Vec::new(), 0, Vec::new());
    for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
        let line = std::str::from_utf8(piece).ok().and_then(|line| line.strip_suffix('\n'));
        let read = line.and_then(|line| {
            let (hash, text) = line.split_once(' ')?;
            let own = chained(hashes.last().unwrap_or(&Hash::default()), text);
            (hash == digits(&own)).then_some(own).zip(Line::from_text(text))
        });
        match read {
            Some((own, line)) => {
                lines.push(line);
                whole += piece.len() as u64;
                hashes.push(own);
            }
            // The last one may be torn, in any of its blocks.
            None if is_torn(piece, &bytes[whole as usize + piece.len()..]) => break,
            None => {
                let (path, line) = (path.to_path_buf(), lines.len() + 1);
                return Err(MaskFileError::Damaged { path, line });
            }
        }
    }
    Ok((lines, whole, hashes))
}

/// Whether these bytes, before the rest of a journal, are a line that was begun, or none.
fn is_torn(piece: &[u8], rest: &[u8]) -> bool {
    let begun = !piece.ends_with(b"\n") || piece.contains(&0);
    begun && rest.iter().all(|byte| *byte == 0)
}

/// Digests of all records in an epoch lie where whoever has the data can see them.
fn records_path(journal: &Path, epoch: u32) -> PathBuf {
    beside(journal, &format!("epoch-{epoch}"))
}

fn records_of(journal: &Path, epoch: u32) -> Option<Vec<u64>> {
    let bytes = fs::read(records_path(journal, epoch)).ok()?;
    Some(bytes.as_chunks().0.iter().map(|record| u64::from_le_bytes(*record)).collect())
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
