use super::*;
use crate::comparison::{Curve, Point, Privacy};

fn with(point: Point, kind: Kind) -> Panel {
    Panel {
        id: "a-1.5".into(),
        figure: "a".into(),
        title: String::new(),
        data: String::new(),
        notion: String::new(),
        epsilon: None,
        heterogeneity: None,
        silos: None,
        kind,
        x_label: String::new(),
        y_label: String::new(),
        x_limit: None,
        y_limit: None,
        curves: vec![Curve {
            mark: None,
            method: "erm".into(),
            label: "ERM".into(),
            epsilon: None,
            privacy: Privacy::default(),
            points: vec![point],
            fit: None,
        }],
        published: Vec::new(),
        equal_error: Vec::new(),
        caption: String::new(),
    }
}

const LOG: Kind = Kind::Line { x_log: true, y_log: false };

#[test]
fn what_no_axis_can_show_is_refused_and_named() {
    let fine = Point { x: 1.0, y: 1.0, ..Point::default() };
    assert_eq!(panel(&with(fine, LOG)), Ok(()));
    let wrong = [
        (Point { x: f64::NAN, ..fine }, Kind::TradeOff, "NaN"),
        (Point { y: f64::INFINITY, ..fine }, Kind::TradeOff, "inf"),
        (Point { x: 0.0, ..fine }, LOG, "0"),
        (Point { x: -1.0, ..fine }, LOG, "-1"),
        (Point { y_error: Some(-0.5), ..fine }, LOG, "-0.5"),
        (Point { x_error: Some(f64::NAN), ..fine }, LOG, "NaN"),
    ];
    for (point, kind, given) in wrong {
        let message = panel(&with(point, kind)).unwrap_err().to_string();
        assert!(message.contains(given) && message.contains("erm"), "{message}");
        assert_eq!(crate::svg(&with(point, kind)).unwrap_err().to_string(), message);
        assert_eq!(crate::png(&with(point, kind)).unwrap_err().to_string(), message);
    }
}

#[test]
fn names_of_panels_are_file_names_and_unique() {
    let fine = with(Point::default(), Kind::TradeOff);
    for id in ["", "..", ".a", "a/b", "A", "a b", "\u{fc}"] {
        let panel = Panel { id: id.into(), ..fine.clone() };
        assert!(matches!(super::panel(&panel), Err(Error::Value { .. })), "{id}");
    }
    let twice = Comparison { panels: vec![fine.clone(), fine], ..Comparison::default() };
    assert_eq!(comparison(&twice), Err(Error::Duplicate { id: "a-1.5".into() }));
}
