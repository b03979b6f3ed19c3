use super::*;

const FRAME: Area = Area { left: 0.0, top: 0.0, right: 500.0, bottom: 300.0 };

fn wish(anchors: &[Place]) -> Wish {
    Wish { width: 80.0, height: 12.0, anchors: anchors.to_vec(), others: Vec::new() }
}

#[test]
fn a_lonely_name_stands_beside_its_point() {
    let spot = Taken::default().place(&wish(&[(250.0, 150.0)]), &FRAME).unwrap();
    assert_eq!(spot.leader, None);
    assert!(spot.area.grown(10.0).contains((250.0, 150.0)) && !spot.area.contains((250.0, 150.0)));
}

#[test]
fn names_of_one_point_do_not_meet() {
    let mut taken = Taken { markers: vec![(250.0, 150.0)], ..Taken::default() };
    let spots: Vec<Spot> =
        (0..20).filter_map(|_| taken.place(&wish(&[(250.0, 150.0)]), &FRAME)).collect();
    assert!(spots.len() >= 4, "{} of 20 found a place", spots.len());
    for (index, spot) in spots.iter().enumerate() {
        assert!(spot.area.within(&FRAME));
        let others = spots[index + 1..].iter();
        assert!(others.clone().all(|other| !other.area.meets(&spot.area)));
        let through =
            |line: (Place, Place)| spots[..index].iter().any(|s| s.area.clip(line).is_some());
        assert!(!spot.leader.is_some_and(through), "no leader runs through a name");
    }
}

#[test]
fn a_name_keeps_off_lines_markers_and_points_of_others() {
    let line = ((0.0, 140.0), (500.0, 140.0));
    let mut taken = Taken { markers: vec![(250.0, 150.0)], lines: vec![line], ..Taken::default() };
    let spot = taken.place(&wish(&[(250.0, 150.0)]), &FRAME).unwrap();
    assert_eq!(spot.area.clip(line), None);

    let shared = Wish { others: vec![(100.0, 101.0)], ..wish(&[(100.0, 100.0), (400.0, 200.0)]) };
    let spot = Taken::default().place(&shared, &FRAME).unwrap();
    assert!(spot.area.left > 250.0, "at the point that is only its own: {spot:?}");
}

#[test]
fn where_there_is_no_room_there_is_no_name() {
    let small = Area { left: 0.0, top: 0.0, right: 70.0, bottom: 300.0 };
    assert_eq!(Taken::default().place(&wish(&[(35.0, 150.0)]), &small), None);
}

#[test]
fn lines_are_cut_at_the_frame() {
    let clip = |line| FRAME.clip(line);
    assert_eq!(clip(((-100.0, 50.0), (100.0, 50.0))), Some(((0.0, 50.0), (100.0, 50.0))));
    assert_eq!(clip(((250.0, 400.0), (250.0, 200.0))), Some(((250.0, 300.0), (250.0, 200.0))));
    assert_eq!(clip(((-10.0, 50.0), (-10.0, 60.0))), None);
    assert_eq!(clip(((-100.0, 10.0), (10.0, -100.0))), None, "past a corner");
}
