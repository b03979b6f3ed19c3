//! The trade-off curve in plain characters.

use super::TradeOff;

const COLUMNS: usize = 48;
const ROWS: usize = 14;

/// Dots: no information. `#`: the least errors under the promise. `o`: for Gaussian messages.
pub(super) fn draw(curve: &TradeOff) -> String {
    let row_of = |height: f64| ROWS - (height.clamp(0.0, 1.0) * ROWS as f64).round() as usize;
    let mut cells = vec![[' '; COLUMNS + 1]; ROWS + 1];
    for (column, a) in (0..=COLUMNS).map(|column| (column, column as f64 / COLUMNS as f64)) {
        // What is drawn last is seen where curves meet.
        cells[row_of(1.0 - a)][column] = '.';
        if let Some(missed) = curve.missed_gaussian(a) {
            cells[row_of(missed)][column] = 'o';
        }
        cells[row_of(curve.missed(a))][column] = '#';
    }

    let mut lines = vec!["  missed cases".to_owned()];
    for (row, line) in cells.iter().enumerate() {
        let label = match row {
            0 => "100 %",
            ROWS => "  0 %",
            _ => "",
        };
        let text: String = line.iter().collect();
        lines.push(format!("{label:>7} |{}", text.trim_end()));
    }
    lines.push(format!("{:>7} +{}", "", "-".repeat(COLUMNS + 1)));
    lines.push(format!("{:>9}{:<42}{}", "", "0 %  false alarms", "100 %"));
    lines.push(String::new());
    let gaussian = curve.missed_gaussian(0.5).map_or("", |_| "o Gaussian messages   ");
    lines.push(format!("  . nothing to learn   {gaussian}# the promise's worst case"));
    lines.join("\n")
}
