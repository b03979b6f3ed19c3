//! The runs as one table, for programs that read Parquet.

use std::path::Path;

use serde_json::Value;
use steffle_data::{Categories, Column, write};

use crate::failure::Failure;

/// Columns of the file, and where their values stand in a line.
const COLUMNS: [(&str, &str); 27] = [
    ("method", "/method"),
    ("mode", "/mode"),
    ("data", "/data"),
    ("notion", "/notion"),
    ("epsilon", "/config/epsilon"),
    ("lambda", "/lambda"),
    ("silos", "/silos"),
    ("heterogeneity", "/config/heterogeneity"),
    ("seed", "/seed"),
    ("rounds", "/rounds"),
    ("test_error", "/test/error"),
    ("test_auc", "/test/auc"),
    ("test_demographic_parity", "/test/demographic_parity"),
    ("test_demographic_parity_marginal", "/test/demographic_parity_marginal"),
    ("test_equalized_odds", "/test/equalized_odds"),
    ("test_equal_opportunity", "/test/equal_opportunity"),
    ("test_accuracy_parity", "/test/accuracy_parity"),
    ("test_chi_square", "/test/chi_square"),
    ("baseline_error", "/baseline/error"),
    ("baseline_demographic_parity", "/baseline/demographic_parity"),
    ("baseline_equalized_odds", "/baseline/equalized_odds"),
    ("privacy_kind", "/privacy/kind"),
    ("privacy_honest_epsilon", "/privacy/honest_epsilon"),
    ("privacy_claimed_epsilon", "/privacy/claimed_epsilon"),
    ("privacy_delta", "/privacy/delta"),
    ("cpu_seconds", "/cpu_seconds"),
    ("error", "/error/message"),
];

/// Writes a row per run.
pub(super) fn write_parquet(path: &Path, lines: &[Value]) -> Result<(), Failure> {
    let columns: Vec<(&str, Column)> =
        COLUMNS.iter().map(|(name, place)| (*name, column(lines, place))).collect();
    let columns: Vec<(&str, &Column)> =
        columns.iter().map(|(name, column)| (*name, column)).collect();
    let rows: Vec<u32> = (0..lines.len() as u32).collect();
    Ok(write(path, &columns, &rows)?)
}

/// Text where some run has text there, else numbers; what a run does not have is missing.
fn column(lines: &[Value], place: &str) -> Column {
    let values = || lines.iter().map(|line| line.pointer(place));
    if values().flatten().any(Value::is_string) {
        return Column::Text(Categories::from_text(values().map(|value| value?.as_str())));
    }
    Column::Numbers(
        values().map(|value| value.and_then(Value::as_f64).unwrap_or(f64::NAN)).collect(),
    )
}
