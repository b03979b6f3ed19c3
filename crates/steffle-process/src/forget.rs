//! What a site keeps of runs is not kept for ever.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::time::Duration;

/// What was removed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Forgotten {
    /// The runs, by their names.
    pub runs: Vec<String>,
    /// How many records are left.
    pub kept: usize,
}

/// Removes the records in a folder that nobody has written to for so long; not those that a process has in
/// its hands. A folder that is not there has none.
pub fn forget(folder: &Path, older: Duration) -> io::Result<Forgotten> {
    let mut forgotten = Forgotten::default();
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(forgotten),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        let Some(run) =
            path.file_stem().filter(|_| path.extension().is_some_and(|kind| kind == "record"))
        else {
            continue;
        };
        let file = File::open(&path)?;
        // A clock that was set back makes no record old.
        let age = file.metadata()?.modified()?.elapsed().unwrap_or_default();
        match file.try_lock() {
            Ok(()) if age >= older => {
                fs::remove_file(&path)?;
                forgotten.runs.push(run.to_string_lossy().into_owned());
            }
            Ok(()) | Err(TryLockError::WouldBlock) => forgotten.kept += 1,
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    forgotten.runs.sort_unstable();
    Ok(forgotten)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn old_records_that_nobody_uses_are_removed() {
        let folder = std::env::temp_dir().join(format!("steffle-forget-{}", std::process::id()));
        assert_eq!(forget(&folder, Duration::ZERO).unwrap(), Forgotten::default());
        fs::create_dir_all(&folder).unwrap();
        let day = Duration::from_hours(24);
        for (name, days) in
            [("old.record", 40), ("used.record", 40), ("new.record", 1), ("old.txt", 40)]
        {
            let file = File::create(folder.join(name)).unwrap();
            file.set_modified(SystemTime::now() - days * day).unwrap();
        }
        let used = File::open(folder.join("used.record")).unwrap();
        used.lock().unwrap();
        let forgotten = forget(&folder, 30 * day).unwrap();
        assert_eq!(forgotten, Forgotten { runs: vec!["old".to_owned()], kept: 2 });
        let mut left: Vec<_> =
            fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort_unstable();
        assert_eq!(left, ["new.record", "old.txt", "used.record"]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
