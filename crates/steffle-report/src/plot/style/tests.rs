use super::*;

/// Contrast by WCAG 2.2, <https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio>.
fn contrast(one: &str, other: &str) -> f64 {
    let luminance = |colour: &str| {
        let value = u32::from_str_radix(&colour[1..], 16).unwrap();
        let linear = |byte: u8| {
            let share = f64::from(byte) / 255.0;
            if share <= 0.040_45 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        };
        let [_, red, green, blue] = value.to_be_bytes().map(linear);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    };
    let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
    one.max(other) / one.min(other)
}

#[test]
fn words_and_lines_can_be_seen_on_both_papers() {
    assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 1e-9);
    for ink in Ink::all() {
        let least = match ink {
            Ink::Paper | Ink::Grid => continue,
            Ink::Line(_) => 3.0,
            Ink::Text | Ink::Muted | Ink::Word(_) => 4.5,
        };
        let (light, dark) =
            (contrast(ink.light(), Ink::Paper.light()), contrast(ink.dark(), Ink::Paper.dark()));
        assert!(light >= least && dark >= least, "{}: {light:.2}, {dark:.2}", ink.name());
    }
}

#[test]
fn no_two_spare_looks_are_alike_and_a_mark_is_kept() {
    for (index, look) in SPARE.iter().enumerate() {
        assert!(!SPARE[index + 1..].contains(look), "{look:?}");
    }
    let curve = |mark: Option<(&str, &str)>| Curve {
        method: "made-up".to_owned(),
        mark: mark.map(|(colour, marker)| crate::Mark {
            colour: colour.to_owned(),
            marker: marker.to_owned(),
        }),
        label: String::new(),
        epsilon: None,
        privacy: crate::Privacy::default(),
        points: Vec::new(),
        fit: None,
    };
    assert_eq!(marked(&curve(Some(("sky", "star")))), Some((6, Shape::Star)));
    assert_eq!(marked(&curve(Some(("pink", "star")))), None);
    assert_eq!(marked(&curve(None)), None);
}
