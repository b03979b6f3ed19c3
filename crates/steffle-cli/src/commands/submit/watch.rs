//! One job of FLARE's, from its submission to what it left behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::flare::{Flare, Trouble};
use crate::failure::Failure;
use crate::ui::Progress;

/// How long a job may be listed as running that the server does not run. FLARE itself never tells.
const MISSED: Duration = Duration::from_secs(15);

/// Beside the time that one reply may take: the longest without a word of the server's process.
const SILENCE: Duration = Duration::from_mins(2);

/// Between two looks at a job: a tenth of the time that it has taken, within these bounds.
const LOOKS: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(30));

/// What a job left behind.
#[derive(Debug, Deserialize)]
pub(super) struct Outcome {
    /// What the server's process ended with.
    #[serde(default)]
    pub(super) status: Option<u8>,
    /// Its last words.
    #[serde(default)]
    pub(super) said: Vec<String>,
    /// Where the run directory was put.
    #[serde(skip)]
    pub(super) out: PathBuf,
}

/// How a job ended.
pub(super) enum End {
    /// It says how.
    Told(Outcome),
    /// It does not: it died, or FLARE forgot it.
    Lost(String),
}

/// A process that is ended with whoever waits for it.
struct Waiting(Child);

impl Waiting {
    fn over(&mut self) -> bool {
        !matches!(self.0.try_wait(), Ok(None))
    }

    /// Waits so long at most.
    fn a_while(&mut self, most: Duration) {
        let until = Instant::now() + most;
        while !self.over() && Instant::now() < until {
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Follows a job to its end, and shows how far it is.
pub(super) fn watch(
    flare: &Flare<'_>,
    id: &str,
    reply: Duration,
    scratch: &Path,
    progress: &Progress,
) -> Result<End, Failure> {
    let mut waiting = Waiting(passing(flare.wait(id))?.map_err(never)?);
    let (begun, mut word, mut heard) = (Instant::now(), None, Instant::now());
    let mut missed: Option<Instant> = None;
    loop {
        waiting.a_while((begun.elapsed() / 10).clamp(LOOKS.0, LOOKS.1));
        if waiting.over() {
            let status = passing(flare.status(id))?.unwrap_or_default();
            // Otherwise the connection ended, not the job.
            if status.starts_with("FINISHED") || status.starts_with("ABANDONED") {
                return fetch(flare, id, scratch, &status);
            }
            waiting = Waiting(passing(flare.wait(id))?.map_err(never)?);
        }
        if let Ok(Some(said)) = passing(flare.last_word(id))?
            && Some(&said) != word.as_ref()
        {
            progress.task(said.strip_prefix("progress: ").unwrap_or(&said));
            (word, heard, missed) = (Some(said), Instant::now(), None);
            continue;
        }
        if waiting.over() {
            continue;
        }
        match lists_what_it_does_not_run(flare, id)? {
            Some(true) if missed.get_or_insert_with(Instant::now).elapsed() > MISSED => {
                let why = "FLARE lists it as running, and does not run it";
                return Ok(End::Lost(why.to_owned()));
            }
            Some(false) => missed = None,
            // A server that does not answer says nothing for it or against it.
            Some(true) | None => {}
        }
        if heard.elapsed() > reply + SILENCE {
            let seconds = heard.elapsed().as_secs();
            return Ok(End::Lost(format!("not a word of it for {seconds} seconds")));
        }
    }
}

/// Asks twice for what FLARE could not know at once; `None` where it does not answer.
fn lists_what_it_does_not_run(flare: &Flare<'_>, id: &str) -> Result<Option<bool>, Failure> {
    let Ok(present) = passing(flare.present())? else { return Ok(None) };
    if present.jobs.iter().any(|job| job == id) {
        return Ok(Some(false));
    }
    Ok(passing(flare.status(id))?.ok().map(|status| status == "RUNNING"))
}

/// What a job that has ended left behind.
fn fetch(flare: &Flare<'_>, id: &str, scratch: &Path, status: &str) -> Result<End, Failure> {
    let place = scratch.join("fetched");
    if let Err(why) = passing(flare.download(id, &place))? {
        return Ok(End::Lost(format!("what it left behind cannot be fetched: {why}")));
    }
    let left = place.join(id).join("workspace").join("steffle");
    let told = fs::read(left.join("result.json")).ok();
    let told = told.and_then(|told| serde_json::from_slice::<Outcome>(&told).ok());
    Ok(match told {
        Some(told) => End::Told(Outcome { out: left.join("out"), ..told }),
        None => End::Lost(format!("FLARE says {status}")),
    })
}

/// Trouble that may pass, apart from trouble that cannot.
pub(super) fn passing<T>(result: Result<T, Trouble>) -> Result<Result<T, String>, Failure> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(Trouble::Said(why)) => Ok(Err(why)),
        Err(Trouble::Program(failure)) => Err(failure),
    }
}

/// A process that starts has nothing to say yet.
fn never(why: String) -> Failure {
    Failure::bug(why)
}
