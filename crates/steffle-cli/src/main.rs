//! The `steffle` command.

fn main() {}
