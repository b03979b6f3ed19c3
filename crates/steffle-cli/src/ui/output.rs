//! Where text goes: results to standard output, everything else to standard error.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use clap::ColorChoice;
use serde::Serialize;
use serde_json::{Value, json};

use super::{flags, printable};
use crate::failure::{Failure, Status};

/// How the user wants to be answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output<'a> {
    json: bool,
    color: ColorChoice,
    /// Standard output is for messages to sites: results go to standard error too.
    aside: bool,
    /// Where the result goes instead of standard output.
    kept: Option<&'a Mutex<Option<Value>>>,
}

impl<'a> Output<'a> {
    /// An answer to a program, in its hands.
    pub(crate) fn keeping(kept: &'a Mutex<Option<Value>>) -> Self {
        Self { json: true, color: ColorChoice::Never, aside: false, kept: Some(kept) }
    }
}

impl Output<'_> {
    /// Looks for `--json` and `--color` in what was typed, before anything else is understood:
    /// also a wrong command line is answered the way the user asked for.
    pub(crate) fn peek(typed: &[OsString]) -> Self {
        let words: Vec<_> = typed.iter().map(|word| word.to_string_lossy()).collect();
        let words = words.split(|word| word == "--").next().unwrap_or_default();
        let after = words.iter().skip_while(|word| *word != "--color").nth(1);
        let color = words.iter().find_map(|word| word.strip_prefix("--color="));
        let color = match color.or(after.map(AsRef::as_ref)) {
            Some("always") => ColorChoice::Always,
            Some("never") => ColorChoice::Never,
            _ => ColorChoice::Auto,
        };
        let command = words.iter().skip(1).find(|word| !word.starts_with('-'));
        let aside = command.is_some_and(|command| command == "server");
        Self { json: words.iter().any(|word| word == "--json"), color, aside, kept: None }
    }

    pub(crate) fn json(self) -> bool {
        self.json
    }

    pub(crate) fn color(self) -> ColorChoice {
        self.color
    }

    /// Prints the result: `value` as one JSON object, or `text`.
    pub(crate) fn result(self, value: &impl Serialize, text: &str) -> Result<(), Failure> {
        if let Some(kept) = self.kept {
            let value = serde_json::to_value(value).map_err(|e| Failure::bug(e.to_string()))?;
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
            return Ok(());
        }
        let mut stdout = self.results();
        let written = if self.json {
            serde_json::to_writer(&mut stdout, value)
                .map_err(io::Error::from)
                .and_then(|()| writeln!(stdout))
        } else {
            stdout.write_all(printable(text).as_bytes())
        };
        written.and_then(|()| stdout.flush()).map_err(|error| Failure::stdout(&error))
    }

    /// Where results go.
    fn results(self) -> Box<dyn Write> {
        if self.aside { Box::new(io::stderr()) } else { Box::new(io::stdout().lock()) }
    }

    /// Says something that is not the result.
    pub(crate) fn note(self, text: &str) {
        eprintln!("{} {}", self.bold(&io::stderr(), "note:"), printable(&flags(text)));
    }

    /// Explains a failure on standard error and, with `--json`, on standard output.
    pub(crate) fn failure(self, failure: &Failure) {
        if failure.status == Status::Ok {
            return;
        }
        let stderr = io::stderr();
        let title = self.bold(&stderr, &format!("error[{}]:", failure.code));
        let message = flags(&failure.message);
        let help = failure.help.as_deref().filter(|help| !help.is_empty()).map(flags);
        let mut text = format!("{title} {message}\n");
        if let Some(help) = &help {
            text += &format!("{} {help}\n", self.bold(&stderr, "help:"));
        }
        // There is nobody left to tell when standard error is closed too.
        let _ = stderr.lock().write_all(printable(&text).as_bytes());
        if self.json {
            let code = &failure.code;
            let object = json!({"error": {"code": code, "message": message, "help": help}});
            let _ = writeln!(self.results(), "{object}");
        }
    }

    /// Bold for the standard output, where that is wanted.
    pub(crate) fn strong(self, text: &str) -> String {
        self.bold(&io::stdout(), text)
    }

    fn bold(self, stream: &impl IsTerminal, text: &str) -> String {
        let wanted = match self.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => stream.is_terminal() && !forbidden(),
        };
        if wanted { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// Whether the environment says that colour is not wanted (no-color.org) or not possible.
fn forbidden() -> bool {
    let set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    set("NO_COLOR") || env::var_os("TERM").is_some_and(|term| term == "dumb")
}
