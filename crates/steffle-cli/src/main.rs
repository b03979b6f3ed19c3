//! The `steffle` command, as a program.

use std::process::ExitCode;

fn main() -> ExitCode {
    steffle_cli::command(std::env::args_os().collect()).into()
}
