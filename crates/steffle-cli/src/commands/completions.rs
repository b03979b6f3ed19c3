//! `steffle completions SHELL`.

use clap::CommandFactory;
use clap_complete::{Shell, generate};
use serde_json::json;

use crate::args::Cli;
use crate::failure::Failure;
use crate::ui::Output;

pub(crate) fn completions(shell: Shell, output: Output) -> Result<(), Failure> {
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), "steffle", &mut script);
    let script = String::from_utf8_lossy(&script);
    output.result(&json!({"shell": shell.to_string(), "script": script}), &script)
}
