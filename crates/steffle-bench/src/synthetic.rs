//! Synthetic silos in the schema of Adult: 6 numbers, 7 categorical columns, 102 features.

use rand::Rng;
use steffle::attributes::{Attributes, Sensitive};
use steffle::randomness::{Purpose, stream};
use steffle::record::{Layout, Records, Rows};

/// Levels of Adult's categorical columns among complete rows.
const LEVELS: [u32; 7] = [7, 16, 7, 14, 6, 5, 41];
const NUMERIC: usize = 6;

pub(crate) const LAYOUT: Layout =
    Layout { numeric: NUMERIC, categorical: LEVELS.len(), features: NUMERIC + 96 };

/// Silo `silo` with `records` records whose label and class both lean on the first number.
pub(crate) fn silo(
    silo: u64,
    first_id: u64,
    records: usize,
) -> Result<(Records, Attributes), Box<dyn std::error::Error>> {
    let mut random = stream(0, silo, Purpose::Split, 0);
    let mut numeric = Vec::with_capacity(records * NUMERIC);
    let mut codes = Vec::with_capacity(records * LEVELS.len());
    let mut labels = Vec::with_capacity(records);
    let mut classes = Vec::with_capacity(records);
    for _ in 0..records {
        let start = numeric.len();
        for _ in 0..NUMERIC {
            // A uniform number of unit variance.
            let unit = f64::from(random.next_u32()) / 2.0_f64.powi(32);
            numeric.push(((unit - 0.5) * 12.0_f64.sqrt()) as f32);
        }
        let mut first = NUMERIC as u32;
        for levels in LEVELS {
            codes.push(first + random.next_u32() % levels);
            first += levels;
        }
        let lean = (numeric[start] + 1.75) / 3.5;
        let below = |draw: u32, share: f32| (draw as f32 / u32::MAX as f32) < share;
        labels.push(u16::from(below(random.next_u32(), 0.8 * lean)));
        classes.push(u16::from(below(random.next_u32(), 0.2 + 0.6 * lean)));
    }
    let ids: Vec<u64> = (first_id..first_id + records as u64).collect();
    let rows = Rows::new(LAYOUT, records, numeric, codes)?;
    let records = Records::new(ids.clone(), rows, labels, None, 2)?;
    Ok((records, Attributes::new(ids, Sensitive::new(classes), 2)?))
}
