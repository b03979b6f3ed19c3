//! FLARE's own program, as far as a job needs it.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::failure::Failure;

/// The longest that a question to FLARE's server may take. Its program hangs where the server is about
/// to come up.
const PATIENCE: Duration = Duration::from_secs(30);

/// The longest that a job may take on its way there, and what it left behind on its way back.
const TRANSFER: Duration = Duration::from_mins(10);

/// How many lines of a job's log hold a word of ours, however many sites there are.
const LINES: &str = "400";

/// What stands before a line of the server's process in a job's log.
const OURS: &str = "steffle: ";

/// `nvflare` with a kit.
pub(super) struct Flare<'a> {
    pub(super) program: &'a Path,
    pub(super) kit: &'a Path,
}

/// Why FLARE did not do what it was asked.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It does not start at all: nothing will help.
    Program(Failure),
    /// It says no, or cannot reach its server: that may pass.
    Said(String),
}

/// FLARE lists sites that have gone for ten minutes; one that is there says so every ten seconds.
const BREATH: f64 = 25.0;

/// What runs at the server, and who is there.
pub(super) struct Present {
    pub(super) jobs: Vec<String>,
    pub(super) sites: Vec<String>,
}

impl Flare<'_> {
    /// Submits a folder; returns the job's id.
    pub(super) fn submit(&self, folder: &Path) -> Result<String, Trouble> {
        let words = ["job", "submit", "-j"].map(OsStr::new);
        let data = self.call(&[&words[..], &[folder.as_os_str()]].concat(), TRANSFER)?;
        let id = data["job_id"].as_str().map(str::to_owned);
        id.ok_or_else(|| Trouble::Said("it told no id of the job".to_owned()))
    }

    /// Waits for the end of a job, in a process of its own.
    pub(super) fn wait(&self, id: &str) -> Result<Child, Trouble> {
        self.start(&["job", "wait", "--interval", "1", "--timeout", "0", id].map(OsStr::new))
    }

    /// The last word of the server's process.
    pub(super) fn last_word(&self, id: &str) -> Result<Option<String>, Trouble> {
        let data = self.ask(["logs", "--tail", LINES, id])?;
        let log = data["logs"]["server"].as_str().unwrap_or_default();
        let message = |line: &str| -> Option<String> {
            let line: Value = serde_json::from_str(line).ok()?;
            line["message"].as_str()?.strip_prefix(OURS).map(str::to_owned)
        };
        Ok(log.lines().rev().find_map(message))
    }

    /// The status of a job, in FLARE's words.
    pub(super) fn status(&self, id: &str) -> Result<String, Trouble> {
        let data = self.ask(["meta", id])?;
        Ok(data["status"].as_str().unwrap_or_default().to_owned())
    }

    /// Ends a job; it may have ended, or be beyond FLARE's reach.
    pub(super) fn abort(&self, id: &str) {
        let _ = self.ask(["abort", "--force", id]);
    }

    /// Fetches what a job left behind.
    pub(super) fn download(&self, id: &str, to: &Path) -> Result<(), Trouble> {
        let words = ["job", "download", "--force", id, "-o"].map(OsStr::new);
        self.call(&[&words[..], &[to.as_os_str()]].concat(), TRANSFER).map(drop)
    }

    /// Who is there.
    pub(super) fn present(&self) -> Result<Present, Trouble> {
        let data = self.call(&["system", "status"].map(OsStr::new), PATIENCE)?;
        Ok(present(&data))
    }

    /// About a job.
    fn ask<const N: usize>(&self, words: [&str; N]) -> Result<Value, Trouble> {
        let words = words.map(OsStr::new);
        self.call(&[&[OsStr::new("job")], &words[..]].concat(), PATIENCE)
    }

    fn start(&self, words: &[&OsStr]) -> Result<Child, Trouble> {
        let mut command = Command::new(self.program);
        command.args(["--format", "json"]).args(words).arg("--startup-kit").arg(self.kit);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().map_err(|error| {
            let message = format!("{} does not start: {error}", self.program.display());
            let help =
                "FLARE 2.9.0 is the Python package nvflare; its program is named by --nvflare";
            Trouble::Program(Failure::data("submit::flare", message).help(help))
        })
    }

    /// What it answers, within a time.
    fn call(&self, words: &[&OsStr], patience: Duration) -> Result<Value, Trouble> {
        let mut child = self.start(words)?;
        let (answered, answer) = channel();
        if let Some(mut output) = child.stdout.take() {
            thread::spawn(move || {
                let mut text = String::new();
                let read = output.read_to_string(&mut text);
                let _ = answered.send(read.map(|_| text));
            });
        }
        let text = answer.recv_timeout(patience);
        // A process that answered is about to end by itself.
        if text.is_err() {
            let _ = child.kill();
        }
        let _ = child.wait();
        let text = match text {
            Ok(Ok(text)) => text,
            Ok(Err(error)) => return Err(Trouble::Said(error.to_string())),
            Err(_) => return Err(Trouble::Said("no answer".to_owned())),
        };
        understood(&text)
    }
}

/// Who was heard of no longer before the last of them than one breath takes. The clock is the server's.
fn present(data: &Value) -> Present {
    let list = |name: &str| data[name].as_array().cloned().unwrap_or_default();
    let name = |entry: &Value, key: &str| entry[key].as_str().map(str::to_owned);
    let clients = list("clients");
    let heard = |client: &Value| client["client_last_conn_time"].as_f64().unwrap_or_default();
    let last = clients.iter().map(heard).fold(0.0, f64::max);
    let here = clients.iter().filter(|client| last - heard(client) < BREATH);
    Present {
        jobs: list("jobs").iter().filter_map(|job| name(job, "job_id")).collect(),
        sites: here.filter_map(|client| name(client, "client_name")).collect(),
    }
}

/// The data of an answer, or what it says instead.
fn understood(text: &str) -> Result<Value, Trouble> {
    let objects = text.lines().rev().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let Some(mut answer) = objects.into_iter().find(Value::is_object) else {
        return Err(Trouble::Said("it said nothing that could be understood".to_owned()));
    };
    if answer["status"] == "ok" {
        return Ok(answer["data"].take());
    }
    Err(Trouble::Said(answer["message"].as_str().unwrap_or("it gives no reason").to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sites_that_have_gone_are_not_there() {
        let client =
            |name: &str, time: f64| json!({"client_name": name, "client_last_conn_time": time});
        let clients = [client("north", 1000.0), client("south", 1009.5), client("east", 900.0)];
        let found = present(&json!({"jobs": [{"job_id": "a"}], "clients": clients}));
        assert_eq!(
            (found.jobs, found.sites),
            (vec!["a".into()], vec!["north".into(), "south".into()])
        );
    }

    #[test]
    fn answers_are_told_from_refusals() {
        let data =
            understood("noise\n{\"status\": \"ok\", \"data\": {\"job_id\": \"a\"}}\n").unwrap();
        assert_eq!(data["job_id"], "a");
        let refused = understood("{\"status\": \"error\", \"message\": \"not today\"}\n");
        assert!(matches!(refused, Err(Trouble::Said(why)) if why == "not today"));
        assert!(matches!(understood("Traceback"), Err(Trouble::Said(_))));
        assert!(matches!(understood(""), Err(Trouble::Said(_))));
    }
}
