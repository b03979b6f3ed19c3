use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use super::*;
use crate::{Categories, Recipe, Table};

fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

fn data(n: usize, by: Column, recipe: Recipe) -> Dataset {
    let numbers =
        |f: fn(usize) -> usize| Column::Numbers((0..n).map(|row| f(row) as f64).collect());
    let columns = vec![
        ("age".to_owned(), by),
        ("y".to_owned(), numbers(|row| row % 2)),
        ("s".to_owned(), numbers(|_| 1)),
        ("who".to_owned(), numbers(|row| row / 3)),
    ];
    Dataset::new(Table::new("test", columns).unwrap(), recipe).unwrap()
}

fn recipe() -> Recipe {
    Recipe { partition_by: Some("age".to_owned()), ..Recipe::new("y", &["s"]) }
}

/// Ages run against the row order, so that sorting is seen to happen.
fn ages(n: usize) -> Dataset {
    data(n, Column::Numbers((0..n).rev().map(|age| age as f64).collect()), recipe())
}

proptest! {
    #[test]
    fn every_row_is_in_one_silo_of_the_stated_size(
        n in 1usize..300, cut in 0.0f64..1.0, h in 0.0f64..=1.0, seed: u64,
    ) {
        let silos = 1 + ((n - 1) as f64 * cut) as usize;
        let data = ages(n);
        let parts = partition(&data, data.rows(), silos, h, &mut rng(seed)).unwrap();
        let (size, left) = (n / silos, n % silos);
        for (at, part) in parts.iter().enumerate() {
            prop_assert_eq!(part.len(), size + usize::from(at >= silos - left));
        }
        let mut all = parts.concat();
        all.sort_unstable();
        prop_assert_eq!(all, data.rows());
        let own = (h * n as f64 / silos as f64).floor() as usize;
        for (at, part) in parts.iter().enumerate() {
            let bin = at * n / silos..(at + 1) * n / silos;
            let in_bin = part.iter().filter(|&&row| bin.contains(&(n - 1 - row as usize))).count();
            prop_assert!(in_bin >= own, "silo {at} has {in_bin} rows of its bin, not {own}");
        }
    }
}

/// The share of own-bin rows is h + (1 - h)/K on average. With n = 30,000 and K = 3 a silo takes
/// 10,000 (1 - h) rows from a pool of which a third is its own: the standard deviation of its
/// share is below sqrt(10000 / 4) / 10000 = 0.005, and 0.03 is six of them: nine silos fail with
/// probability below 9 * 2e-9.
#[test]
fn the_share_of_own_rows_follows_the_heterogeneity() {
    let (n, silos) = (30_000, 3);
    let data = ages(n);
    for h in [0.0, 0.5, 0.75] {
        let parts = partition(&data, data.rows(), silos, h, &mut rng(5)).unwrap();
        for (at, part) in parts.iter().enumerate() {
            let bin = at * n / silos..(at + 1) * n / silos;
            let own = part.iter().filter(|&&row| bin.contains(&(n - 1 - row as usize))).count();
            let share = own as f64 / part.len() as f64;
            let expected = h + (1.0 - h) / silos as f64;
            assert!((share - expected).abs() < 0.03, "h {h}, silo {at}: {share}");
        }
    }
}

#[test]
fn full_heterogeneity_sorts() {
    let data = ages(12);
    let parts = partition(&data, data.rows(), 3, 1.0, &mut rng(1)).unwrap();
    assert_eq!(parts, [[8, 9, 10, 11], [4, 5, 6, 7], [0, 1, 2, 3]]);
}

#[test]
fn own_rows_are_counted_as_the_decimal_says() {
    // 0.29 * 100 is 28.999999999999996 in binary.
    let dealt = deal(100, 1, 0.29, &mut rng(1));
    assert_eq!(dealt[0].len(), 100);
    let data = ages(200);
    for seed in 0..20 {
        let parts = partition(&data, data.rows(), 2, 0.29, &mut rng(seed)).unwrap();
        assert!(parts[0].iter().filter(|&&row| row >= 100).count() >= 29);
    }
}

#[test]
fn text_sorts_by_name_with_missing_values_last() {
    let levels = ["b", "10", "9", "a"].map(str::to_owned).to_vec();
    let codes = vec![0, u32::MAX, 1, 2, 3, 0, u32::MAX, 2];
    let recipe = Recipe { missing: crate::Missing::Category, ..recipe() };
    let data = data(8, Column::Text(Categories { codes, levels }), recipe);
    let parts = partition(&data, data.rows(), 8, 1.0, &mut rng(1)).unwrap();
    assert_eq!(parts.concat(), [3, 7, 2, 4, 0, 5, 1, 6]);
}

#[test]
fn units_are_not_cut() {
    let age = Column::Numbers((0..33).map(f64::from).collect());
    let data = data(33, age, Recipe { unit: Some("who".to_owned()), ..recipe() });
    let parts = partition(&data, data.rows(), 4, 0.5, &mut rng(1)).unwrap();
    let sizes: Vec<usize> = parts.iter().map(Vec::len).collect();
    assert_eq!(sizes, [6, 9, 9, 9]);
    for part in &parts {
        assert!(part.chunks(3).all(|rows| rows[0] % 3 == 0 && rows[2] == rows[0] + 2));
    }
}

#[test]
fn impossible_requests_are_refused() {
    let data = ages(10);
    let run = |silos, h| partition(&data, data.rows(), silos, h, &mut rng(1)).map(drop);
    assert!(matches!(run(0, 0.0), Err(Error::Silos { silos: 0, rows: 10, .. })));
    assert!(matches!(run(11, 0.0), Err(Error::Silos { silos: 11, rows: 10, .. })));
    for h in [f64::NAN, -0.1, 1.1, f64::INFINITY] {
        assert!(matches!(run(2, h), Err(Error::Heterogeneity { .. })));
    }
    assert!(run(1, 1.0).is_ok() && run(10, 1.0).is_ok());
    let unsorted = Recipe { partition_by: None, ..recipe() };
    let data = self::data(4, Column::Numbers(vec![1.0; 4]), unsorted);
    assert!(partition(&data, data.rows(), 2, 0.0, &mut rng(1)).is_ok());
    assert!(matches!(
        partition(&data, data.rows(), 2, 0.5, &mut rng(1)),
        Err(Error::NoPartitionColumn { .. })
    ));
}
