//! Programs of others that do the same work, in Python, in turns with ours.

use std::path::Path;
use std::process::Command;

/// What a script of `peer/` says that it took on one thread: seconds, its first word.
pub(crate) fn seconds(
    python: &Path,
    script: &str,
    arguments: &[&str],
) -> Result<f64, Box<dyn std::error::Error>> {
    let [seconds] = numbers(python, script, arguments, 1)?;
    Ok(seconds)
}

/// The first numbers that a script prints, on so many threads.
pub(crate) fn numbers<const N: usize>(
    python: &Path,
    script: &str,
    arguments: &[&str],
    threads: usize,
) -> Result<[f64; N], Box<dyn std::error::Error>> {
    let threads = threads.to_string();
    let limits = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"];
    let output = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("peer").join(script))
        .args(arguments)
        .envs(limits.map(|limit| (limit, &threads)))
        .output()
        .map_err(|error| format!("{} did not start: {error}", python.display()))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        let last = reason.lines().last().unwrap_or("no message").to_owned();
        return Err(format!(
            "{script} failed ({last}); give --python one that has what its first lines import"
        )
        .into());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> =
        text.split_whitespace().map_while(|word| word.parse().ok()).take(N).collect();
    numbers.try_into().map_err(|_| format!("{script} printed {text:?}").into())
}
