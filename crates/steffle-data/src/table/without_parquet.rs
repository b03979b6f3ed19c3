//! Stands for `parquet.rs` in a build without the feature `parquet`: says so wherever a file is one.

use std::convert::Infallible;
use std::fs::File;
use std::io::BufWriter;

use super::dialect::Markers;
use super::reader::Columns;
use super::{Here, Table};
use crate::Error;

const LEFT_OUT: &str = "this program was built without the feature `parquet`; convert it to CSV, or \
                        build with the feature";

/// Nobody has one.
pub(super) struct ParquetReader(Infallible);

impl ParquetReader {
    pub(super) fn new(origin: String, _: File, _: &Columns, _: Markers) -> Result<Self, Error> {
        Err(Error::Parquet { origin, message: LEFT_OUT.to_owned() })
    }

    pub(super) fn of_bytes(
        origin: &str,
        _: &'static [u8],
        _: &Columns,
        _: Markers,
    ) -> Result<Self, Error> {
        Err(Error::Parquet { origin: origin.to_owned(), message: LEFT_OUT.to_owned() })
    }

    pub(super) fn sparing(self) -> Self {
        self
    }

    pub(super) fn names(&self) -> &[String] {
        match self.0 {}
    }

    pub(super) fn next_chunk(&mut self, _: usize) -> Result<Table, Error> {
        match self.0 {}
    }
}

pub(super) fn write_parquet(
    _: &mut BufWriter<File>,
    _: &[(&str, Here<'_>)],
    _: &[u32],
) -> Result<(), String> {
    Err(LEFT_OUT.to_owned())
}
