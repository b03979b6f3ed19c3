//! From tables to encoded records: files, schema, embedded data sets, partitions.
//!
//! | step | type or function |
//! |---|---|
//! | where rows come from | [`Source::parse`]: `adult`, `credit-card`, `retired-adult`, `bank-marketing`, a file |
//! | what columns mean | [`Recipe`]: of a named data set, or the user's |
//! | a file as columns | [`read`], or [`Reader`] for chunks; [`Table`], [`write()`] |
//! | both together | [`Dataset`]: renamed, complete rows listed by [`Dataset::rows`] |
//! | training and test rows | [`split`], [`hold_out`] |
//! | silos (Algorithm 3) | [`partition`] |
//! | what silos say | [`Summary::of`] their training rows, [`Summary::merge`] |
//! | what is agreed | [`Schema::from_summary`]: scaling, levels, labels, classes, hash |
//! | encoded records | [`encode`], for the records division |
//! | sensitive classes | [`attributes`] (sealed), [`evaluation_groups`] (held-out rows only) |
//! | prediction | [`Reader::open`] with [`Schema::feature_columns`], then [`encode_features`] |
//! | evaluation | [`Dataset::for_evaluation`], then [`encode`] and [`evaluation_groups`] |
//! | a look at the data | [`describe`] |
//! | silos as files | [`Parts::write`]; [`Job::read`] and [`Job::load`] |
//!
//! Rows are lists of `u32` places in a table: splitting and partitioning copy no data.
//!
//! ```
//! use rand::SeedableRng;
//! use steffle_data::{Dataset, Schema, Source, Summary, attributes, encode, partition, split};
//!
//! let source = Source::parse("adult", None)?;
//! let recipe = source.recipe().expect("a named data set has one");
//! let data = Dataset::new(source.read(&recipe)?, recipe)?;
//!
//! let mut rng = rand::rngs::ChaCha20Rng::seed_from_u64(7);
//! let rows = split(&data, 0.0, &mut rng)?;
//! let silos = partition(&data, &rows.train, 3, 0.75, &mut rng)?;
//!
//! let mut summary = Summary::of(&data, &silos[0]);
//! summary.merge(&Summary::of(&data, &silos[1]))?;
//! summary.merge(&Summary::of(&data, &silos[2]))?;
//! let schema = Schema::from_summary(data.recipe(), &summary)?;
//! assert_eq!(schema.layout().features, 102);
//!
//! let records = encode(&data, &silos[0], &schema)?.records;
//! let sealed = attributes(&data, &silos[0], &schema)?;
//! assert_eq!((records.len(), sealed.class_count()), (11_305, 2));
//! # Ok::<(), steffle_data::Error>(())
//! ```

mod dataset;
mod describe;
mod error;
mod nearest;
mod partition;
mod parts;
mod pseudonyms;
mod recipe;
mod schema;
#[cfg(test)]
mod scratch;
mod split;
mod table;

pub use dataset::Dataset;
pub use describe::{ColumnDescription, Description, Group, Meaning, Share, describe};
pub use error::{CellError, Error, NameError, SiteError};
pub use nearest::nearest;
pub use partition::partition;
pub use parts::{
    Absent, Cut, Declared, FilesError, Format, Holds, Job, Lead, Levels, Loaded, Looked, Member,
    NamedColumn, Parts, Silo, Site, SiteMasks, SitePolicy, TestFiles, Tested, UnmatchedIds, Used,
    is_name,
};
pub use pseudonyms::{PseudonymKey, pseudonymise};
pub use recipe::{BUILTIN, Builtin, Missing, Recipe, Source};
pub use schema::{
    Categorical, Coding, Encoded, FARTHEST, Groups, Measures, Moments, Numeric, Schema,
    SmallStrata, Summary, Unmatched, attributes, encode, encode_features, encode_features_sparing,
    evaluation_groups,
};
pub use split::{Split, hold_out, split};
pub use table::{
    Categories, Cells, Column, Columns, DateOrder, Decimal, Delimiter, Dialect, Encoding, Here,
    Kind, Lent, MISSING_LEVEL, Reader, Reading, Spoiled, Table, read, read_as, write,
};
