//! The library's own time for a fit of columns that are in memory: what `python/scripts/benchmark.py`
//! compares a fit through Python with.

use std::path::PathBuf;

use steffle_data::{Column, Columns, Recipe, read};
use steffle_front::{Fit, Steffle, Table};

use crate::Outcome;
use crate::clock::Clock;

/// Arguments of `library`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The table: features, and columns `label` and `group`.
    file: PathBuf,
    /// How many times; the best counts.
    #[arg(long, default_value_t = 3)]
    repeat: u64,
}

/// Prints the least CPU seconds from columns to a model, and the sum of the last model's parameters, by
/// which it can be told from another.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let text = vec!["label".to_owned(), "group".to_owned()];
    let table = read(&arguments.file, &Columns::All { text })?;
    let levels = |name: &str| match table.column(name) {
        Some(Column::Text(text)) => {
            let mut levels = text.levels.clone();
            levels.sort();
            Ok(levels)
        }
        _ => Err(format!("there is no column `{name}` of text")),
    };
    let (labels, classes) = (levels("label")?, levels("group")?);
    let recipe = Recipe {
        favourable: labels.last().cloned(),
        labels,
        classes,
        rare: Some(0),
        ..Recipe::new("label", &["group"])
    };
    let columns = || -> Vec<(String, Column)> {
        table.names().iter().cloned().zip(table.columns().iter().cloned()).collect()
    };
    let (mut least, mut sum) = (f64::INFINITY, 0.0);
    for seed in 0..arguments.repeat {
        let columns = columns();
        let clock = Clock::start();
        let study = Table::from_columns("the table", columns)?
            .with(recipe.clone())?
            .whole(seed)
            .silos(1)?;
        let model = Steffle::new().epsilon(1.0).lambda(1.0).fit(&study)?;
        least = least.min(clock.cpu());
        sum = model.theta().iter().sum();
    }
    println!("{least} {sum}");
    Ok(())
}
