//! The results of a sweep on disk: one line per run, only ever appended to.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::failure::Failure;

/// Where the lines are.
const RESULTS: &str = "results.jsonl";

/// The lines of all runs that have ended, by their settings.
pub(crate) struct Results {
    path: PathBuf,
    file: File,
    ended: HashMap<String, Value>,
}

impl Results {
    /// Opens or starts the results in a directory; refuses one that another sweep is writing.
    ///
    /// A line that was not written to its end, because the writer was killed, is cut off.
    pub(crate) fn open(directory: &Path) -> Result<Self, Failure> {
        fs::create_dir_all(directory).map_err(|error| Failure::at(directory, &error))?;
        let path = directory.join(RESULTS);
        let at = |error: &std::io::Error| Failure::at(&path, error);
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(&path)
            .map_err(|error| at(&error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let message = format!("{}: another sweep is writing it", path.display());
                return Err(Failure::data("data::busy", message).help("choose another --out"));
            }
            Err(TryLockError::Error(error)) => return Err(at(&error)),
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|error| at(&error))?;
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        if whole < bytes.len() {
            file.set_len(whole as u64).map_err(|error| at(&error))?;
            file.seek(SeekFrom::End(0)).map_err(|error| at(&error))?;
        }
        let mut ended = HashMap::new();
        let lines = bytes[..whole].split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        for (number, line) in lines.enumerate() {
            let refuse = || {
                let message = format!("{}: line {} is no result", path.display(), number + 1);
                Failure::data("sweep::results", message)
                    .help("repair or remove the line, or choose another --out")
            };
            let value: Value = serde_json::from_slice(line).map_err(|_| refuse())?;
            let config = value.get("config").ok_or_else(refuse)?;
            // A run that failed and was tried again has two lines: the later one counts.
            ended.insert(config.to_string(), value);
        }
        Ok(Self { path, file, ended })
    }

    /// The line of a run that has ended well.
    pub(crate) fn done(&self, config: &Value) -> Option<&Value> {
        self.ended.get(&config.to_string()).filter(|line| line.get("error").is_none())
    }

    /// Writes the lines of runs that have ended, all at once.
    pub(crate) fn append(&mut self, lines: &[Value]) -> Result<(), Failure> {
        let mut text = String::new();
        for line in lines {
            text += &format!("{line}\n");
        }
        self.file
            .write_all(text.as_bytes())
            .and_then(|()| self.file.sync_data())
            .map_err(|error| Failure::at(&self.path, &error))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_torn_line_is_cut_and_a_failed_run_is_tried_again() {
        let directory =
            std::env::temp_dir().join(format!("steffle-results-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        let [one, two] = [1, 2].map(|lambda| json!({"lambda": lambda}));
        let mut results = Results::open(&directory).unwrap();
        results.append(&[json!({"config": one, "test": 1})]).unwrap();
        results.append(&[json!({"config": two, "error": {}})]).unwrap();
        // Somebody else may not write meanwhile.
        assert_eq!(Results::open(&directory).err().unwrap().code, "steffle::data::busy");
        drop(results);

        let path = directory.join(RESULTS);
        let mut torn = fs::read(&path).unwrap();
        let whole = torn.len();
        torn.extend_from_slice(b"{\"config\": {\"lam");
        fs::write(&path, &torn).unwrap();
        let mut results = Results::open(&directory).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().len(), whole as u64);
        assert_eq!(results.done(&one).unwrap()["test"], 1);
        assert!(results.done(&two).is_none());
        results.append(&[json!({"config": two, "test": 2})]).unwrap();
        drop(results);
        assert_eq!(Results::open(&directory).unwrap().done(&two).unwrap()["test"], 2);
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 3);

        fs::write(&path, "{\"config\": {}}\nnonsense\n").unwrap();
        let refused = Results::open(&directory).err().unwrap();
        assert!(refused.message.contains("line 2"), "{}", refused.message);
        fs::remove_dir_all(&directory).unwrap();
    }
}
