//! From tables to encoded records: files, schema, embedded data sets, partitions.
//!
//! | step | type or function |
//! |---|---|
//! | where rows come from | [`Source::parse`]: `adult`, `credit-card`, `retired-adult`, a file |
//! | what columns mean | [`Recipe`]: of a named data set, or the user's |
//! | a file as columns | [`read`], or [`Reader`] for chunks; [`Table`], [`write`] |
//! | both together | [`Dataset`]: renamed, complete rows listed by [`Dataset::rows`] |
//! | what silos say | [`Summary::of`] their training rows, [`Summary::merge`] |
//! | what is agreed | [`Schema::from_summary`]: scaling, levels, labels, classes, hash |
//! | encoded records | [`encode`], for the records division |
//! | sensitive classes | [`attributes`] (sealed), [`evaluation_groups`] (held-out rows only) |
//! | prediction | [`Reader::open`] with [`Schema::feature_columns`], then [`encode_features`] |
//! | evaluation | [`Dataset::for_evaluation`], then [`encode`] and [`evaluation_groups`] |
//!
//! Rows are lists of `u32` places in a table: splitting and partitioning copy no data.
//!
//! ```
//! use steffle_data::{Dataset, Schema, Source, Summary, attributes, encode};
//!
//! let source = Source::parse("adult", None)?;
//! let recipe = source.recipe().expect("a named data set has one");
//! let data = Dataset::new(source.read(&recipe)?, recipe)?;
//!
//! let (train, _test) = data.rows().split_at(30_000); // in earnest: a random split
//! let schema = Schema::from_summary(data.recipe(), &Summary::of(&data, train))?;
//! let records = encode(&data, train, &schema)?.records;
//! let sealed = attributes(&data, train, &schema)?;
//! assert_eq!((records.len(), schema.layout().features, sealed.class_count()), (30_000, 102, 2));
//! # Ok::<(), steffle_data::Error>(())
//! ```

mod dataset;
mod error;
mod recipe;
mod schema;
mod table;

pub use dataset::Dataset;
pub use error::Error;
pub use recipe::{BUILTIN, Builtin, Missing, Recipe, Source};
pub use schema::{
    Categorical, Encoded, Groups, Moments, Numeric, Schema, Summary, Unmatched, attributes, encode,
    encode_features, evaluation_groups, load_attributes,
};
pub use table::{
    Categories, Column, Columns, Kind, MISSING_LEVEL, Reader, Table, read, read_parquet_bytes,
    write, write_atomically,
};
