use super::*;

/// Steps of a unit.
const STEPS: f64 = (1_u64 << 60) as f64;

/// A list of numbers.
struct List(Vec<f64>);

impl Sum for List {
    type Total = Vec<f64>;

    fn read(totals: &mut Totals<'_>) -> Result<Vec<f64>, CodecError> {
        totals.list()
    }
}

impl Summand for List {
    fn write(&self, numbers: &mut Numbers) {
        numbers.list(&self.0);
    }
}

fn part(values: &[f64], sites: usize) -> Result<Summed<List>, Beyond> {
    Summed::of(&List(values.to_vec()), sites)
}

fn total(parts: &[Summed<List>]) -> Vec<f64> {
    let mut sum = Summed::<List> {
        lengths: parts[0].lengths.clone(),
        numbers: vec![0; parts[0].numbers.len()],
        check: 0,
        of: PhantomData,
    };
    parts.iter().for_each(|part| sum.add(part).unwrap());
    sum.total().unwrap()
}

#[test]
fn numbers_that_fit_the_grid_come_back_as_they_are() {
    let values =
        [0.0, 1.0, -1.0, 0.1, -2_f64.powi(-8) * 1.7, 1e9 / 3.0, 12_345_678.9, 2_f64.powi(66)];
    assert_eq!(total(&[part(&values, 1).unwrap()]), values);
    // Below 2^-8 to half a step.
    let small = [1e-5 / 3.0, 2_f64.powi(-61), 2_f64.powi(-60)];
    let back = total(&[part(&small, 1).unwrap()]);
    assert!(small.iter().zip(&back).all(|(a, b)| (a - b).abs() <= 2_f64.powi(-61)), "{back:?}");
    assert_eq!(back[1..], [0.0, 2_f64.powi(-60)], "a half goes to the even neighbour");
}

/// Moving bits is what multiplying and rounding gives.
#[test]
fn steps_are_the_nearest_ones() {
    let mut values = vec![0.0, 5e-324, f64::MIN_POSITIVE, 1e-300, 2_f64.powi(66), 1.0, 0.1];
    for power in -70..=66 {
        let base = 2_f64.powi(power);
        values.extend([
            base,
            base.next_down(),
            base.next_up(),
            1.5 * base,
            1.25 * base,
            base / 3.0,
        ]);
    }
    for step in [0.5, 1.5, 2.5, 0.499, 0.501, 1e6 + 0.5] {
        values.push(step / STEPS);
    }
    let values: Vec<f64> = values.iter().flat_map(|&value| [value, -value]).collect();
    let nearest = |value: &f64| (value * STEPS).round_ties_even() as i128;
    // Alone, and among others, where several are made at a time.
    let (most, mut alone, mut steps) = (2_f64.powi(67), [0], vec![0; values.len()]);
    assert!(kernel::fixed_point(&values, 1.0, most, &mut steps));
    for (value, steps) in values.iter().zip(steps) {
        assert!(kernel::fixed_point(&[*value], 1.0, most, &mut alone));
        assert_eq!(alone, [steps]);
        assert_eq!(steps, nearest(value), "{value:e}");
    }
}

/// One that is not below the bound is told, and written as the bound; the others are what they were.
#[test]
fn steps_are_bounded() {
    let step = |value: f64| (value * STEPS) as i128;
    for wrong in [4.0, -4.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN] {
        for (at, count) in [(0, 1), (2, 3), (16, 17), (3, 40)] {
            let mut values = vec![0.75; count];
            values[at] = wrong;
            let mut steps = vec![0; count];
            assert!(!kernel::fixed_point(&values, 2.0, 8.0, &mut steps), "{wrong} at {at}");
            let mut expected = vec![step(1.5); count];
            expected[at] = step(8_f64.copysign(wrong));
            assert_eq!(steps, expected, "{wrong} at {at}");
        }
    }
}

/// What stood in a room before is not sent, whatever was shorter or longer then.
#[test]
fn a_room_leaves_nothing_behind() {
    let [long, short] = [vec![7.5; 40], vec![-2.25; 3]];
    let mut room = SumRoom::default();
    for values in [&long, &short, &long, &short] {
        let sum = List(values.clone());
        let (fresh, again) = (Summed::of(&sum, 2).unwrap(), Summed::of_in(room, &sum, 2).unwrap());
        let bytes = |part: &Summed<List>| {
            let mut writer = Writer::default();
            part.encode(&mut writer);
            writer.finish()
        };
        assert_eq!(bytes(&fresh), bytes(&again));
        room = again.into_room();
    }
}

/// Totals are what the standard library rounds to.
#[test]
fn totals_are_the_nearest_doubles() {
    // Alone, and among others, where several are made at a time.
    let check = |numbers: &[i128]| {
        let mut values = Vec::new();
        kernel::from_fixed_point(numbers, &mut values);
        assert_eq!(values.len(), numbers.len());
        for (value, &own) in values.iter().zip(numbers) {
            let expected = (own as f64 / STEPS).to_bits();
            assert_eq!((value.to_bits(), kernel::from_steps(own).to_bits()), (expected, expected));
        }
    };
    let mut number = 1_i128;
    for at in 0..20_000_i128 {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(at);
        for shift in [0, 1, 10, 40, 62, 63, 64, 65, 75, 100, 126, 127] {
            let own = number >> shift;
            check(&[own, own.wrapping_neg(), own & !0x3ff, own | 0x3ff, own & (-1 << 64)]);
        }
        let halves =
            (0..70).map(|bit| (number >> 45) & (-1 << 32) | 1 << 31 | i128::from(bit == 9));
        check(&halves.collect::<Vec<_>>());
    }
    check(&[0, 1, -1, i128::MAX, i128::MIN, i128::MIN + 1, 1 << 64, (1 << 64) - 1, 1 << 63]);
    check(&[0, 1, -1, 1 << 84, (1 << 85) - 1, 1 - (1 << 85), 1 << 64, (1 << 64) - 1, 1 << 63]);
}

#[test]
fn a_total_has_no_order_and_is_rounded_once() {
    let parts = [1e15, 0.1, -1e15, 0.2, 0.3, 1e-3];
    let sums = |order: &[usize]| {
        let parts: Vec<_> = order.iter().map(|&at| part(&[parts[at]], 6).unwrap()).collect();
        total(&parts)
    };
    let first = sums(&[0, 1, 2, 3, 4, 5]);
    for order in [[5, 4, 3, 2, 1, 0], [2, 0, 1, 5, 3, 4], [3, 1, 4, 0, 5, 2]] {
        assert_eq!(sums(&order), first);
    }
    // Of the exact sum of the six doubles, whose sum in this order is 0.576 in doubles.
    assert!((first[0] - 0.601).abs() <= 6.0 * 2_f64.powi(-61) + f64::EPSILON, "{first:?}");
}

#[test]
fn what_could_leave_the_ring_is_refused_and_127_sites_fill_it_without_wrapping() {
    for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, 2_f64.powi(67)] {
        let refused = part(&[1.0, wrong], 1).err().unwrap();
        assert!(refused.to_string().contains("1 sites"), "{refused}");
    }
    assert!(part(&[2_f64.powi(60)], 127).is_err());
    let most = 2_f64.powi(60).next_down();
    for sign in [1.0, -1.0] {
        let parts: Vec<_> = (0..127).map(|_| part(&[sign * most], 127).unwrap()).collect();
        assert_eq!(total(&parts), [sign * 127.0 * most]);
    }
}

#[test]
fn released_numbers_are_bounded_and_never_refused() {
    let wild = [f64::NAN, f64::INFINITY, -f64::MAX, 3.0];
    let part =
        Summed::<List>::of_released(4, SumRoom::default(), |numbers| numbers.released(&wild, 1.0));
    let [nan, high, low, own] = part.total().unwrap()[..] else { panic!() };
    let most = 2_f64.powi(64);
    assert_eq!((nan.abs(), high, low, own), (most, most, -most, 3.0));
}

#[test]
fn other_shapes_are_refused() {
    let mut sum = part(&[1.0, 2.0], 2).unwrap();
    assert!(sum.add(&part(&[1.0], 2).unwrap()).is_err());
    assert!(sum.add(&Summed::nothing()).is_err());
    sum.lengths[0] = 3;
    assert!(sum.total().is_err(), "fewer numbers than said");
    sum.lengths[0] = 1;
    assert!(sum.total().is_err(), "more numbers than said");
    sum.lengths.clear();
    assert!(sum.total().is_err(), "no list");
}

/// What masks will rely on: noise that sites add and take away in the ring leaves no trace.
#[test]
fn masks_that_cancel_change_no_bit() {
    let values = [[0.1, -7.0e9], [1e-9, 3.25], [123.456, 0.0]];
    let plain: Vec<_> = values.iter().map(|own| part(own, 3).unwrap()).collect();
    let mut masked: Vec<_> = values.iter().map(|own| part(own, 3).unwrap()).collect();
    let mut mask = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834_u128;
    for (a, b) in [(0, 1), (0, 2), (1, 2)] {
        for at in 0..2 {
            mask = mask.wrapping_mul(0x2545_f491_4f6c_dd1d_2545_f491_4f6c_dd1d).wrapping_add(1);
            let mask = mask.cast_signed();
            masked[a].numbers[at] = masked[a].numbers[at].wrapping_add(mask);
            masked[b].numbers[at] = masked[b].numbers[at].wrapping_sub(mask);
        }
    }
    assert_ne!(masked[0].total().unwrap(), plain[0].total().unwrap());
    assert_eq!(total(&masked), total(&plain));
}
