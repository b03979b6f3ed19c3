//! From tables to encoded records: files, schema, embedded data sets, partitions.
