//! Ctrl-C, or a request to terminate: what is being written is removed, then the program ends
//! with status 130.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::failure::{Failure, Status};

/// Files and directories that are not complete yet.
///
/// Whoever moves one to its final place holds the lock meanwhile, so the handler never removes
/// half of something that was just completed.
static UNFINISHED: Mutex<Vec<Unfinished>> = Mutex::new(Vec::new());

/// What to say about results that stay.
static STAYS: Mutex<Option<String>> = Mutex::new(None);

/// Has Ctrl-C say what stays, from now on.
pub(crate) fn say(stays: String) {
    *STAYS.lock().unwrap_or_else(PoisonError::into_inner) = Some(stays);
}

/// A file or directory that is not complete, and the empty directories made to hold it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unfinished {
    pub(crate) path: PathBuf,
    /// From the innermost out.
    pub(crate) made: Vec<PathBuf>,
}

impl Unfinished {
    /// Removes it, and the directories made for it unless somebody else uses them by now.
    ///
    /// Nothing can be done about what cannot be removed; its name says what it is.
    pub(crate) fn remove(&self) {
        if self.path.is_dir() {
            let _ = fs::remove_dir_all(&self.path);
        } else {
            let _ = fs::remove_file(&self.path);
        }
        for directory in &self.made {
            let _ = fs::remove_dir(directory);
        }
    }
}

/// Installs the handler.
pub(crate) fn install() -> Result<(), Failure> {
    ctrlc::set_handler(|| {
        let unfinished = lock();
        unfinished.iter().for_each(Unfinished::remove);
        let stays = STAYS.lock().unwrap_or_else(PoisonError::into_inner);
        let said = stays.as_deref().unwrap_or("unfinished output was removed");
        eprintln!("\ninterrupted: {said}");
        process::exit(Status::Interrupted as i32);
    })
    .map_err(|error| Failure::bug(format!("cannot listen for Ctrl-C: {error}")))
}

/// Creates something and has it removed on Ctrl-C; Ctrl-C waits meanwhile.
pub(crate) fn guard<T>(
    thing: &Unfinished,
    create: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    let mut unfinished = lock();
    let created = create()?;
    unfinished.push(thing.clone());
    Ok(created)
}

/// Runs `finish`, undisturbed by Ctrl-C, and stops guarding `thing`.
pub(crate) fn release<T>(thing: &Unfinished, finish: impl FnOnce() -> T) -> T {
    let mut unfinished = lock();
    let done = finish();
    unfinished.retain(|guarded| guarded != thing);
    done
}

/// Removes all unfinished output, unless it is being completed this very moment.
pub(crate) fn abandon() {
    if let Ok(unfinished) = UNFINISHED.try_lock() {
        unfinished.iter().for_each(Unfinished::remove);
    }
}

fn lock() -> MutexGuard<'static, Vec<Unfinished>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}
