use std::collections::BTreeMap;

use super::metadata::{Metadata, Unusable};
use super::safetensors::{decode, encode};

fn metadata() -> Metadata {
    Metadata {
        model: "mlp:8,4".parse().unwrap(),
        notion: "conditional:region".parse().unwrap(),
        schema: "00ff".to_owned(),
        facts: BTreeMap::from([("lambda".to_owned(), "2".to_owned())]),
    }
}

#[test]
fn theta_and_metadata_come_back_to_the_bit() {
    let theta = [0.1, -0.0, f64::MIN_POSITIVE, 1e300, 1.0 / 3.0];
    let file = encode(&theta, &metadata().to_map());
    let (read, map) = decode(&file).unwrap();
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&read), bits(&theta));
    assert_eq!(Metadata::from_map(map).unwrap(), metadata());
    // Numbers start at a multiple of eight, as the format asks for.
    assert!((file.len() - size_of_val(&theta)).is_multiple_of(8));
}

#[test]
fn equal_runs_give_equal_bytes() {
    assert_eq!(encode(&[1.0], &metadata().to_map()), encode(&[1.0], &metadata().to_map()));
}

#[test]
fn damaged_files_are_refused() {
    let file = encode(&[1.0, 2.0], &metadata().to_map());
    for length in 0..file.len() {
        assert!(decode(&file[..length]).is_err(), "{length} of {} bytes", file.len());
    }
    let not_finite = encode(&[1.0, f64::NAN], &metadata().to_map());
    assert!(decode(&not_finite).unwrap_err().contains("parameter 1 is not a finite number"));
}

#[test]
fn other_versions_and_formats_are_told_apart() {
    let mut map = metadata().to_map();
    map.insert("version".to_owned(), "2".to_owned());
    assert_eq!(
        Metadata::from_map(map.clone()),
        Err(Unusable::Version {
            version: "2".to_owned(),
            writer: format!("steffle {}", env!("CARGO_PKG_VERSION"))
        })
    );
    map.remove("format");
    assert!(matches!(Metadata::from_map(map), Err(Unusable::Damaged(_))));
}
