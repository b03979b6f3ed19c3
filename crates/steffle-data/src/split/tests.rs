use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use super::*;
use crate::{Column, Recipe, Table};

fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// `n` rows whose unit is the row number divided by `per_unit`.
fn data(n: usize, per_unit: usize) -> Dataset {
    let numbers =
        |f: &dyn Fn(usize) -> usize| Column::Numbers((0..n).map(|row| f(row) as f64).collect());
    let columns = vec![
        ("x".to_owned(), numbers(&|row| row)),
        ("y".to_owned(), numbers(&|row| row % 2)),
        ("s".to_owned(), numbers(&|row| row / per_unit % 2)),
        ("who".to_owned(), numbers(&|row| row / per_unit)),
    ];
    let recipe = Recipe { unit: Some("who".to_owned()), ..Recipe::new("y", &["s"]) };
    Dataset::new(Table::new("test", columns).unwrap(), recipe).unwrap()
}

#[test]
fn parts_are_three_to_one_disjoint_and_seeded() {
    let data = data(1000, 1);
    let one = split(&data, 0.2, &mut rng(1)).unwrap();
    assert_eq!((one.train.len(), one.validation.len(), one.test.len()), (600, 150, 250));
    let mut all = [one.train.clone(), one.validation.clone(), one.test.clone()].concat();
    all.sort_unstable();
    assert_eq!(all, data.rows());
    assert_eq!(one, split(&data, 0.2, &mut rng(1)).unwrap());
    // Two of C(1000, 250) equally likely splits are equal with probability below 1e-200.
    assert_ne!(one, split(&data, 0.2, &mut rng(2)).unwrap());
}

#[test]
fn rows_of_a_unit_stay_together() {
    let data = data(999, 9);
    let parts = split(&data, 0.0, &mut rng(3)).unwrap();
    let units = data.units().unwrap();
    let unit = |row: &u32| units[*row as usize];
    let test: std::collections::HashSet<u32> = parts.test.iter().map(unit).collect();
    assert!(parts.train.iter().all(|row| !test.contains(&unit(row))));
    // 250 rows are wanted; the last unit taken may add up to 8 more.
    assert_eq!(parts.test.len(), 252);
    assert_eq!(data.largest_unit(data.rows()), 9);
}

#[test]
fn impossible_fractions_and_sizes_are_refused() {
    let many = data(10, 1);
    for given in [f64::NAN, -0.1, 1.0, 2.0] {
        assert!(matches!(
            hold_out(&many, many.rows(), given, &mut rng(1)),
            Err(Error::Fraction { .. })
        ));
    }
    assert!(matches!(split(&data(1, 1), 0.0, &mut rng(1)), Err(Error::TooFewRows { rows: 1, .. })));
    assert!(matches!(split(&data(9, 9), 0.0, &mut rng(1)), Err(Error::TooFewRows { rows: 9, .. })));
    assert_eq!(hold_out(&many, many.rows(), 0.1, &mut rng(1)).unwrap().1.len(), 1);
}

/// One row in ten has label 1: every part has its share, to the row.
#[test]
fn labels_have_their_share_in_every_part() {
    let n = 1000;
    let numbers = |f: &dyn Fn(usize) -> usize| {
        Column::Numbers((0..n).map(|row| f(row) as f64).collect::<Vec<_>>())
    };
    let columns = || {
        vec![
            ("x".to_owned(), numbers(&|row| row)),
            ("y".to_owned(), numbers(&|row| usize::from(row % 10 == 0))),
            ("s".to_owned(), numbers(&|row| row % 2)),
        ]
    };
    let count = |published: bool, seed: u64| {
        let recipe = Recipe { published, ..Recipe::new("y", &["s"]) };
        let data = Dataset::new(Table::new("test", columns()).unwrap(), recipe).unwrap();
        let parts = split(&data, 0.2, &mut rng(seed)).unwrap();
        let ones = |rows: &[u32]| rows.iter().filter(|&&row| row % 10 == 0).count();
        assert_eq!((parts.test.len(), parts.validation.len()), (250, 150));
        [ones(&parts.test), ones(&parts.validation), ones(&parts.train)]
    };
    for seed in 0..5 {
        assert_eq!(count(false, seed), [25, 15, 60], "seed {seed}");
    }
    // A published data set is split without looking at labels: 20 seeds all agree by chance with
    // probability below 1e-15.
    assert!((0..20).any(|seed| count(true, seed) != [25, 15, 60]));
}
