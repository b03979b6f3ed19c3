//! Programs of others that do the same work, in Python, one thread, in turns with ours.

use std::path::Path;
use std::process::Command;

/// What a script of `peer/` says that it took: seconds, its first word.
pub(crate) fn seconds(
    python: &Path,
    script: &str,
    arguments: &[&str],
) -> Result<f64, Box<dyn std::error::Error>> {
    let output = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("peer").join(script))
        .args(arguments)
        .envs(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"].map(|it| (it, "1")))
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
    let seconds = text.split_whitespace().next().and_then(|word| word.parse().ok());
    seconds.ok_or_else(|| format!("{script} printed {text:?}").into())
}
