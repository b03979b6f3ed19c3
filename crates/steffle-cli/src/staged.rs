//! Output that appears complete or not at all.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::failure::Failure;
use crate::interrupt::{self, Unfinished};

/// The code of the failure that says that somebody else is writing the same target.
pub(crate) const BUSY: &str = "steffle::data::busy";

/// A file or directory under construction beside its final place.
///
/// Dropped without [`Staged::commit`], it is removed.
#[derive(Debug)]
pub(crate) struct Staged {
    /// What is removed unless all goes well.
    unfinished: Unfinished,
    /// What is moved to the target: the unfinished file, or a directory inside the unfinished one,
    /// so that whatever else is made beside it meanwhile is removed too.
    contents: PathBuf,
    target: PathBuf,
    replace: bool,
    done: bool,
    /// Of a directory: held while its process lives, so that what a killed one left is told from what
    /// somebody writes.
    lock: Option<File>,
}

/// The file in an unfinished directory that its process has locked.
const LOCK: &str = "lock";

/// How often it is looked at before its process is taken to live, and how long between two looks.
const LOOKS: u8 = 10;
const PAUSE: Duration = Duration::from_millis(50);

impl Staged {
    /// Starts a directory; creates the directories above it.
    pub(crate) fn directory(target: &Path, replace: bool) -> Result<Self, Failure> {
        let begin = |path: &Path| {
            if abandoned(path) {
                fs::remove_dir_all(path)?;
            }
            fs::create_dir(path)?;
            let lock = File::create(path.join(LOCK))?;
            lock.try_lock().map_err(io::Error::from)?;
            Ok(lock)
        };
        let (mut staged, lock) = Self::start(target, replace, begin)?;
        staged.lock = Some(lock);
        staged.contents.push("contents");
        fs::create_dir(&staged.contents).map_err(|e| Failure::at(&staged.contents, &e))?;
        Ok(staged)
    }

    /// Starts a file; an existing file is replaced when it is committed, anything else is not.
    pub(crate) fn file(target: &Path) -> Result<(Self, File), Failure> {
        if target.exists() && !target.is_file() {
            let message = format!("{}: exists and is not a file", target.display());
            return Err(Failure::data("data::occupied", message).help("choose another name"));
        }
        Self::start(target, true, |path| File::create_new(path))
    }

    /// The temporary name is the same for every process: who creates it has the target.
    fn start<T>(
        target: &Path,
        replace: bool,
        create: impl FnOnce(&Path) -> io::Result<T>,
    ) -> Result<(Self, T), Failure> {
        let name = target.file_name().ok_or_else(|| {
            Failure::usage("usage::output", format!("{}: not a name to write to", target.display()))
        })?;
        let parent = parent(target);
        let missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        let made = parent.ancestors().take_while(missing).map(Path::to_path_buf).collect();
        let path = parent.join(format!(".{}.unfinished", name.to_string_lossy()));
        let unfinished = Unfinished { path, made };
        let created = interrupt::guard(&unfinished, || {
            fs::create_dir_all(parent)?;
            create(&unfinished.path)
        });
        let created = created.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => busy(target, &unfinished.path),
            _ => Failure::at(&unfinished.path, &error),
        })?;
        let (contents, target) = (unfinished.path.clone(), target.to_path_buf());
        Ok((Self { unfinished, contents, target, replace, done: false, lock: None }, created))
    }

    /// Where to write meanwhile.
    pub(crate) fn path(&self) -> &Path {
        &self.contents
    }

    /// Puts everything on disk and then in its place, in one step.
    pub(crate) fn commit(mut self) -> Result<(), Failure> {
        sync_tree(self.path()).map_err(|e| Failure::at(self.path(), &e))?;
        let moved = interrupt::release(&self.unfinished, || self.put_in_place());
        moved.map_err(|e| Failure::at(&self.target, &e))?;
        self.done = true;
        // The emptied directory around the contents; a file has none.
        let _ = fs::remove_file(self.unfinished.path.join(LOCK));
        let _ = fs::remove_dir(&self.unfinished.path);
        sync_directory(parent(&self.target)).map_err(|e| Failure::at(&self.target, &e))
    }

    fn put_in_place(&self) -> io::Result<()> {
        let temporary = self.path();
        if !temporary.is_dir() || !self.target.exists() {
            return fs::rename(temporary, &self.target);
        }
        if !self.replace {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "exists already"));
        }
        // A directory cannot be replaced in one step: the old one stays until the new one is there.
        let old = self.unfinished.path.with_extension("replaced");
        fs::rename(&self.target, &old)?;
        if let Err(error) = fs::rename(temporary, &self.target) {
            fs::rename(&old, &self.target)?;
            return Err(error);
        }
        fs::remove_dir_all(old)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if !self.done {
            interrupt::release(&self.unfinished, || self.unfinished.remove());
        }
    }
}

/// Whether a process that was killed left it.
fn abandoned(path: &Path) -> bool {
    match File::open(path.join(LOCK)) {
        // The lock of a process that was just killed may outlive it by a moment.
        Ok(lock) => (0..LOOKS).any(|look| {
            thread::sleep(PAUSE * u32::from(look > 0));
            lock.try_lock().is_ok()
        }),
        // It was killed before it had made its lock.
        Err(_) => fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none()),
    }
}

fn busy(target: &Path, temporary: &Path) -> Failure {
    let message = format!("{}: another process is writing it", target.display());
    let help = format!("if none is (one was killed), remove {}", temporary.display());
    Failure::data("data::busy", message).help(help)
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn sync_tree(path: &Path) -> io::Result<()> {
    if !path.is_dir() {
        return File::open(path)?.sync_all();
    }
    for entry in fs::read_dir(path)? {
        sync_tree(&entry?.path())?;
    }
    sync_directory(path)
}

/// Makes the names in a directory durable, where the system lets one.
fn sync_directory(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests;
