use rand::RngExt;

use super::*;
use crate::randomness::{Purpose, stream};
use crate::record::{Layout, Rows};

/// Rows with numbers that are multiples of 2^-12, levels of two columns and absent ones.
fn sample(n: usize, numeric: usize, seed: u64) -> Rows {
    let layout = Layout { numeric, categorical: 2, features: numeric + 7 };
    let mut random = stream(seed, 0, Purpose::Initial, 0);
    let first = numeric as u32;
    let (mut numbers, mut codes) = (Vec::new(), Vec::new());
    for _ in 0..n {
        for _ in 0..numeric {
            numbers.push(f32::from(random.random_range(-8000_i16..8000)) / 4096.0);
        }
        codes.push(first + random.random_range(0..3));
        let second = random.random_range(0..5);
        codes.push(if second == 4 { layout.absent() } else { first + 3 + second });
    }
    Rows::new(layout, n, numbers, codes).unwrap()
}

fn cells(n: usize, count: u16) -> Vec<u16> {
    (0..n as u16).map(|i| (i * 7 + i / 5) % (count + 1)).collect()
}

/// Features written out.
fn dense(features: &Features<'_>) -> Vec<Vec<f64>> {
    let (rows, size) = (features.rows(), features.size());
    let mut all = vec![vec![0.0; size]; features.len()];
    for &record in features.members() {
        let record = record as usize;
        let mut row = vec![0.0; size + 1];
        for (slot, &x) in row.iter_mut().zip(rows.numeric(record)) {
            *slot = f64::from(x);
        }
        rows.codes(record).for_each(|code| row[code as usize] += 1.0);
        row[size - 1] = 1.0;
        all[record].copy_from_slice(&row[..size]);
    }
    all
}

fn released(rows: &Rows, count: u16) -> Features<'static> {
    Features::released(rows, &cells(rows.len(), count), usize::from(count)).unwrap()
}

/// Rows, squares on the grid of rows that no far number stretches, and a level per part.
#[test]
fn a_release_is_about_rows_squares_and_parts() {
    let layout = Layout { numeric: 2, categorical: 1, features: 5 };
    let numbers = vec![0.5, -4096.0, 3.5, 0.0, -1.0, 1.5];
    let rows = Rows::new(layout, 3, numbers, vec![2, 4, layout.absent()]).unwrap();
    let features = Features::released(&rows, &[2, crate::scores::NO_CELL, 0], 3).unwrap();
    assert_eq!((features.members(), features.size()), (&[0, 2][..], 10));
    assert_eq!(Features::released_size(layout, 3), 10);
    let grid = |x: f64| ((x / 2.0_f64.sqrt() * 4096.0).round()) / 4096.0;
    let all = dense(&features);
    assert_eq!(all[0], [0.5, -4096.0, grid(-0.75), grid(8.0), 1.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
    assert_eq!(all[1], [0.0; 10], "in no part");
    assert_eq!(all[2], [-1.0, 1.5, 0.0, grid(1.25), 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    let one = Features::released(&rows, &[0, 0, 0], 1).unwrap();
    assert_eq!((one.size(), one.rows().layout().categorical), (8, 1));
    let wide = Layout { numeric: 513, categorical: 0, features: 513 };
    assert_eq!(Features::released_size(wide, 1), 514, "too many to be squared");
}

fn close(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs())), "{a} {b}");
}

#[test]
fn sums_scores_and_gram_are_those_of_the_written_out_features() {
    for (numeric, count) in [(0, 1), (1, 1), (6, 2), (19, 3)] {
        let rows = sample(300, numeric, 1);
        let features = released(&rows, count);
        let dense = dense(&features);
        let p = features.size();
        let v: Vec<f64> = (0..p).map(|i| (i as f64 * 0.7).sin()).collect();
        let weights: Vec<f64> = (0..300).map(|i| 0.1 + (f64::from(i) * 0.3).cos().abs()).collect();
        for (row, score) in dense.iter().zip(features.scores(&v)) {
            close(row.iter().zip(&v).map(|(a, b)| a * b).sum(), score, 1e-13);
        }
        let (sum, gram) = (features.sum(&weights), features.gram(&weights));
        for (i, &sum) in sum.iter().enumerate() {
            let of = |i: usize| dense.iter().map(move |row| row[i]);
            close(of(i).zip(&weights).map(|(x, w)| x * w).sum(), sum, 1e-13);
            for j in 0..p {
                let products = of(i).zip(of(j)).zip(&weights).map(|((x, y), w)| x * y * w);
                close(products.sum(), gram.at(i, j), 1e-12);
            }
        }
    }
}

#[test]
fn a_level_named_by_two_columns_counts_twice() {
    let layout = Layout { numeric: 0, categorical: 2, features: 2 };
    let rows = Rows::new(layout, 1, vec![], vec![1, 1]).unwrap();
    let gram = Features::whole(&rows).gram(&[1.0]);
    assert_eq!(gram.values(), [0.0, 0.0, 0.0, 0.0, 4.0, 2.0, 0.0, 2.0, 1.0]);
}

#[test]
fn threads_do_not_change_a_bit() {
    let rows = sample(60_000, 3, 2);
    let weights: Vec<f64> = (0..60_000).map(|i| (f64::from(i) * 0.01).sin()).collect();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let features = Features::whole(&rows);
            let mut gram = features.gram(&vec![1.0 / 60_000.0; 60_000]);
            gram.add_diagonal(0.1);
            let factor = Cholesky::new(gram.clone()).unwrap();
            let lengths = Whitening::new(gram, 0.1).unwrap().lengths(&features).unwrap();
            (features.sum(&weights), factor.row(9).to_vec(), lengths)
        })
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn cholesky_factors_and_solves() {
    for size in [1, 3, 4, 47, 48, 49, 150] {
        let entry = |i: usize, j: usize| ((i * 31 + j * 17) as f64).sin() * 0.4;
        let product = |i: usize, j: usize| (0..size).map(|k| entry(i, k) * entry(j, k)).sum();
        let mut matrix = Symmetric::from_lower(size, product);
        matrix.add_diagonal(0.5);
        let factor = Cholesky::new(matrix.clone()).unwrap();
        let x: Vec<f64> = (0..size).map(|i| i as f64 - 3.0).collect();
        let mut solved = matrix.times(&x);
        factor.solve(&mut solved);
        x.iter().zip(&solved).for_each(|(x, y)| close(*x, *y, 1e-9));
        let inverse = factor.inverse_transposed();
        for i in 0..size {
            for j in 0..size {
                let sum: f64 = (j..=i).map(|k| factor.row(i)[k] * inverse[j * size + k]).sum();
                close(sum, f64::from(u8::from(i == j)), 1e-12);
            }
        }
    }
}

/// Tiles, threads and lanes change no bit of what three loops give.
#[test]
fn a_factor_is_the_textbooks() {
    for size in [1, 5, 6, 8, 47, 48, 49, 55, 97, 200] {
        let entry = |i: usize, j: usize| ((i * 29 + j * 13) as f64).cos() * 0.3;
        let product = |i: usize, j: usize| (0..size).map(|k| entry(i, k) * entry(j, k)).sum();
        let mut matrix = Symmetric::from_lower(size, product);
        matrix.add_diagonal(0.25);
        let factor = Cholesky::new(matrix.clone()).unwrap();
        let mut plain = vec![vec![0.0_f64; size]; size];
        for i in 0..size {
            for j in 0..=i {
                let rest = (0..j).fold(matrix.at(i, j), |rest, k| rest - plain[i][k] * plain[j][k]);
                plain[i][j] = if i == j { rest.sqrt() } else { rest / plain[j][j] };
            }
            assert_eq!(factor.row(i), &plain[i][..=i], "{size} {i}");
        }
        let inverse = factor.inverse_transposed();
        let mut row = vec![0.0_f64; size];
        for j in 0..size {
            for i in 0..size {
                let unit = f64::from(u8::from(i == j));
                let rest = (0..i).fold(unit, |rest, k| rest - row[k] * plain[i][k]);
                row[i] = rest / plain[i][i];
            }
            assert_eq!(inverse[j * size..][..size], row, "{size} {j}");
        }
        let square = Symmetric::product_of_upper(size, &inverse);
        let column = |j: usize| &inverse[j * size..][..size];
        for i in 0..size {
            for j in 0..=i {
                let terms = column(i).iter().zip(column(j));
                let sum = terms.fold(0.0, |sum, (a, b)| sum + a * b);
                assert_eq!([square.at(i, j), square.at(j, i)], [sum; 2], "{size} {i} {j}");
            }
        }
    }
}

#[test]
fn what_is_not_positive_is_refused() {
    let mut matrix = Symmetric::from_lower(60, |_, _| 1.0);
    assert_eq!(Cholesky::new(matrix.clone()).unwrap_err(), NotPositive { pivot: 1, size: 60 });
    matrix.add_diagonal(1.0);
    matrix.set(55, 55, f64::NAN);
    assert_eq!(Cholesky::new(matrix.clone()).unwrap_err(), NotPositive { pivot: 55, size: 60 });
    assert!(matches!(Whitening::new(matrix, 0.1), Err(WhiteningError::NotPositive(_))));
    let large = Symmetric::zeros(Whitening::MOST + 1);
    assert!(matches!(Whitening::new(large, 0.1), Err(WhiteningError::Size { .. })));
}

fn whitening(features: &Features<'_>) -> Whitening {
    let n = features.count().max(1) as f64;
    Whitening::new(features.gram(&vec![1.0 / n; features.len()]), 0.1).unwrap()
}

#[test]
fn whitened_features_are_about_spherical() {
    let rows = sample(2000, 4, 3);
    let features = released(&rows, 2);
    let whitening = whitening(&features);
    let mut gram = features.gram(&vec![1.0 / features.count() as f64; 2000]);
    gram.add_diagonal(0.1);
    let p = features.size();
    // The columns of B M B' for M = G + gamma I, by B (M (B' e)).
    for i in 0..p {
        let mut column: Vec<f64> = (0..p).map(|j| f64::from(u8::from(i == j))).collect();
        whitening.transpose(&mut column);
        column = gram.times(&column);
        whitening.whiten(&mut column);
        for (j, value) in column.iter().enumerate() {
            let scaled = value * whitening.grid() * whitening.grid();
            assert!((scaled - f64::from(u8::from(i == j))).abs() < 1e-4, "{i} {j} {scaled}");
        }
    }
}

#[test]
fn unwhitening_undoes_whitening() {
    let rows = sample(500, 4, 4);
    let features = Features::whole(&rows);
    let whitening = whitening(&features);
    let integers: Vec<i128> = (0..features.size() as i128).map(|i| i * i * 977 - 3000).collect();
    let floats: Vec<f64> = integers.iter().map(|&v| v as f64).collect();
    let exact = whitening.whiten_exactly(&integers);
    let mut whitened = floats.clone();
    whitening.whiten(&mut whitened);
    exact.iter().zip(&whitened).for_each(|(&a, b)| close(a as f64, *b, 1e-13));
    whitening.unwhiten(&mut whitened);
    floats.iter().zip(&whitened).for_each(|(a, b)| close(*a, *b, 1e-9));
}

#[test]
fn lengths_are_upper_bounds_of_exact_lengths() {
    for (numeric, count, seed) in [(0, 1, 5), (5, 1, 6), (5, 3, 7), (40, 2, 8)] {
        let rows = sample(400, numeric, seed);
        let features = released(&rows, count);
        let whitening = whitening(&features);
        for (row, length) in dense(&features).iter().zip(whitening.lengths(&features).unwrap()) {
            // All entries are multiples of 2^-12, so this is the exact squared length times 2^24.
            let row: Vec<i128> = row.iter().map(|x| (x * 4096.0) as i128).collect();
            let exact: i128 =
                whitening.whiten_exactly(&row).iter().map(|value| value * value).sum();
            // The bound in units of 2^-24, truncated: the unit is 2^-40 of a typical length.
            let bound = (length * 16_777_216.0) as i128;
            assert!((bound + 1) * (bound + 1) > exact << 24, "{length} {exact}");
            assert!(length * 4096.0 <= (exact as f64).sqrt() * (1.0 + 1e-9), "{length} {exact}");
        }
    }
}
