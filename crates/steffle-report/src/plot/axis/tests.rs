use super::*;

fn words(axis: &Axis, wanted: usize) -> Vec<String> {
    axis.ticks(wanted).into_iter().map(|(_, words)| words).collect()
}

#[test]
fn ticks_are_round_numbers_inside() {
    let axis = Axis::around(&[15.2, 19.9], None, false, (0.0, 100.0));
    assert_eq!(words(&axis, 6), ["15", "16", "17", "18", "19", "20"]);
    let axis = Axis::around(&[0.5, 2.0], None, false, (0.0, 100.0));
    assert_eq!(words(&axis, 4), ["0", "1", "2"], "zero is near, so it is there");
    let axis = Axis::around(&[-0.1, 0.1], None, false, (0.0, 100.0));
    assert_eq!(words(&axis, 4), ["\u{2212}0.1", "0.0", "0.1"]);
}

#[test]
fn logarithmic_ticks_thin_out() {
    let few = Axis::around(&[0.1, 9.0], None, true, (0.0, 100.0));
    assert_eq!(words(&few, 8), ["0.1", "0.2", "0.5", "1", "2", "5", "10"]);
    let many = Axis::around(&[1e-9, 1e9], None, true, (0.0, 100.0));
    assert!((3..=9).contains(&words(&many, 8).len()), "{:?}", words(&many, 8));
}

#[test]
fn all_values_are_inside_even_if_there_is_one_or_none() {
    for values in [&[][..], &[0.0], &[5.0], &[5.0, 5.0], &[-3.0, 1e15], &[1e-12, 2e-12]] {
        let axis = Axis::around(values, None, false, (10.0, 90.0));
        for value in values {
            assert!((10.0..=90.0).contains(&axis.pixel(*value)), "{values:?}");
        }
        assert!(axis.ticks(6).len() <= 14, "{values:?}: {:?}", axis.ticks(6));
    }
    let one = Axis::around(&[7.0], None, true, (10.0, 90.0));
    assert_eq!(one.pixel(7.0), 50.0);
}

#[test]
fn a_limit_leaves_outliers_outside() {
    let axis = Axis::around(&[15.0, 16.0, 50.0], Some(20.0), false, (0.0, 100.0));
    assert!(axis.pixel(16.0) < 100.0 && axis.pixel(50.0) > 100.0);
    let all = Axis::around(&[30.0, 50.0], Some(20.0), false, (0.0, 100.0));
    assert!(all.pixel(30.0) > 100.0, "also when nothing is inside");
}

#[test]
fn short_numbers_keep_what_matters() {
    let cases = [
        (0.0, "0"),
        (1.0, "1"),
        (0.25, "0.25"),
        (41.0, "41"),
        (7.31234, "7.312"),
        (1234.56, "1235"),
        (100.0, "100"),
        (1e-9, "1e-9"),
        (4.9e-10, "4.9e-10"),
        (-1.5, "\u{2212}1.5"),
        (2e6, "2e6"),
    ];
    for (value, expected) in cases {
        assert_eq!(short(value), expected);
    }
}
