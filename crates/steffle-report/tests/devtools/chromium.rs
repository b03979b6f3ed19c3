//! Where the browser is. `cargo xtask check` asks the same file before it compiles anything.

use std::path::PathBuf;

const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// The browser: `$CHROMIUM`, or the first of the usual names in `$PATH`; refuses with what to do.
pub(crate) fn chromium() -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os("CHROMIUM") {
        let path = PathBuf::from(path);
        if path.is_file() {
            return Ok(path);
        }
        return Err(format!("CHROMIUM is {}, which is no file; name a Chromium", path.display()));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = NAMES.iter().find_map(|name| {
        std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
    });
    found.ok_or_else(|| {
        format!("none of {} is in PATH, and CHROMIUM names none either", NAMES.join(", "))
    })
}
