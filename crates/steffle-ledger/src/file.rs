//! Books as files: who may have one open, and where.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

use steffle_privacy::ledger::{Book, Bookkeeper, Line, StoreColumns};

use crate::charter::Charter;
use crate::error::LedgerError;
use crate::page::Says;
use crate::read::read;
use crate::shelf::{Clock, Shelf, reopen};
use crate::storage::Disk;

/// The ledger of a store whose book is a file.
///
/// What it has promised and spent survives a crash.
pub type FileLedger = Bookkeeper<FileShelf>;

/// The shelf of a file.
///
/// It syncs before anybody is told that something was written.
pub type FileShelf = Shelf<Disk>;

/// Makes a book of a store with these columns, and its second head if the charter names one. Refuses
/// to replace anything, and a policy that promises nothing.
pub fn create(
    path: &Path,
    charter: Charter,
    columns: &StoreColumns,
    clock: Clock,
) -> Result<(), LedgerError> {
    Book::new(charter.policy.clone())?;
    let folder = parent(path);
    local(folder)?;
    let new = |path: &Path| {
        new_file(path).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => LedgerError::Exists(path.display().to_string()),
            _ => LedgerError::io(path, source),
        })
    };
    // The head first: a book without the head that it names could not be opened, nor made again.
    let head = charter.head.clone();
    let second = head.as_deref().map(new).transpose()?;
    let book = new(path).inspect_err(|_| {
        // It is empty, and was made here.
        let _ = head.as_deref().map(fs::remove_file);
    })?;
    let (book, second) = (Disk::new(book), second.map(Disk::new));
    Shelf::begin(book, second, charter, columns, clock)
        .map_err(|why| LedgerError::io(path, io::Error::other(why)))?;
    for folder in [Some(folder), head.as_deref().map(parent)].into_iter().flatten() {
        sync_folder(folder).map_err(|source| LedgerError::io(folder, source))?;
    }
    Ok(())
}

/// Opens a book for as long as the ledger lives; nobody else can meanwhile. Refuses what is damaged,
/// older than its second head, open to others, on a network or in use.
pub fn open(path: &Path, clock: Clock) -> Result<FileLedger, LedgerError> {
    let place = path.display().to_string();
    local(parent(path))?;
    let file = own_file(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(LedgerError::Busy { place, run: last_run(path) });
        }
        Err(TryLockError::Error(source)) => return Err(LedgerError::io(path, source)),
    }
    let head = |charter: &Charter| {
        charter.head.as_deref().map(|head| own_file(head).map(Disk::new)).transpose()
    };
    reopen(Disk::new(file), &place, head, clock)
}

/// Which run was opened last, for somebody who is told to wait.
fn last_run(path: &Path) -> String {
    let reading = fs::read(path).ok().and_then(|bytes| read(&bytes).ok());
    let run = reading.and_then(|reading| {
        reading.pages.iter().rev().find_map(|whole| match &whole.page.says {
            Says::Line(Line::Open { offer, .. }) => Some(offer.offer().run.clone()),
            _ => None,
        })
    });
    run.filter(|run| !run.is_empty()).map_or_else(String::new, |run| format!(" (run {run})"))
}

fn new_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A file that nobody else may read or write.
fn own_file(path: &Path) -> Result<File, LedgerError> {
    let file = OpenOptions::new().read(true).write(true).open(path);
    let file = file.map_err(|source| LedgerError::io(path, source))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let metadata = file.metadata().map_err(|source| LedgerError::io(path, source))?;
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(LedgerError::Permissions { place: path.display().to_string(), mode });
        }
    }
    Ok(file)
}

/// Refuses file systems that are known to be on a network.
#[cfg(target_os = "linux")]
fn local(folder: &Path) -> Result<(), LedgerError> {
    // NFS, SMB, CIFS, SMB2, AFS, Coda, NCP, Ceph: the numbers of statfs(2).
    const NETWORKS: [u32; 8] =
        [0x6969, 0x517B, 0xFF53_4D42, 0xFE53_4D42, 0x5346_414F, 0x7375_7245, 0x564C, 0x00C3_6400];
    let kind = rustix::fs::statfs(folder).map(|stat| stat.f_type as u32);
    match kind {
        Ok(kind) if NETWORKS.contains(&kind) => {
            Err(LedgerError::Network(folder.display().to_string()))
        }
        Ok(_) => Ok(()),
        Err(error) => Err(LedgerError::io(folder, error.into())),
    }
}

#[cfg(not(target_os = "linux"))]
fn local(_: &Path) -> Result<(), LedgerError> {
    Ok(())
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Makes names durable, where the system lets one.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}
