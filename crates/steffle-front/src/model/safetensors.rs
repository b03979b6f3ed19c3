//! Theta as a safetensors file.

use std::collections::BTreeMap;

use ::safetensors::{Dtype, SafeTensors};
use serde_json::json;

const TENSOR: &str = "theta";

/// A file with one tensor and metadata: length of the header, header, numbers.
///
/// Written here and not by the library because that writes metadata in random order, and equal
/// runs should give equal bytes.
pub(crate) fn encode(theta: &[f64], metadata: &BTreeMap<String, String>) -> Vec<u8> {
    let bytes = size_of_val(theta);
    let mut header = json!({
        "__metadata__": metadata,
        (TENSOR): {"dtype": "F64", "shape": [theta.len()], "data_offsets": [0, bytes]},
    })
    .to_string();
    // The numbers start at a multiple of eight, so that a reader can map them.
    header.push_str(&" ".repeat(header.len().next_multiple_of(8) - header.len()));
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    file.extend(theta.iter().flat_map(|value| value.to_le_bytes()));
    file
}

/// Theta and metadata; says what is wrong with a file that does not hold them.
pub(crate) fn decode(file: &[u8]) -> Result<(Vec<f64>, BTreeMap<String, String>), String> {
    let (_, header) = SafeTensors::read_metadata(file).map_err(|error| error.to_string())?;
    let metadata = header.metadata().clone().unwrap_or_default().into_iter().collect();
    let tensors = SafeTensors::deserialize(file).map_err(|error| error.to_string())?;
    let theta = tensors.tensor(TENSOR).map_err(|error| error.to_string())?;
    if theta.dtype() != Dtype::F64 {
        return Err(format!("tensor `{TENSOR}` holds {:?}, not F64", theta.dtype()));
    }
    let value = |bytes: &[u8; 8]| f64::from_le_bytes(*bytes);
    let values: Vec<f64> = theta.data().as_chunks().0.iter().map(value).collect();
    match values.iter().position(|value| !value.is_finite()) {
        Some(at) => Err(format!("parameter {at} is not a finite number")),
        None => Ok((values, metadata)),
    }
}
