//! `steffle submit JOB --kit DIR`: a run across organisations, on NVIDIA FLARE.
//!
//! FLARE repeats nothing and tells little: a run is one journal at the server and as many jobs as it
//! takes to come to its end. A job that dies is followed by another that goes on where it was.

mod flare;
mod folder;
mod watch;

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::Value;
use steffle_data::{Absent, Job, is_name};

use crate::args::SubmitArgs;
use crate::failure::{Failure, Status};
use crate::interrupt;
use crate::run_dir::Destination;
use crate::ui::{Output, Progress};
use flare::Flare;
use folder::{Scratch, Told};
use watch::{End, Outcome, passing, watch};

/// Between two looks at who is there.
const PAUSE: Duration = Duration::from_secs(2);

/// How long sites are waited for at least: they find a server that was started again after some 20
/// seconds, and later where machines are busy.
const RETURN: Duration = Duration::from_secs(90);

/// What `submit --json` prints.
#[derive(Serialize)]
struct Report<'a> {
    run: &'a str,
    sites: &'a [String],
    /// FLARE's jobs, in their order: the last one ended with the model.
    jobs: &'a [String],
    seconds: f64,
    /// What the run warns of: a site that it went on without, for example.
    warnings: Vec<String>,
    run_dir: &'a Path,
}

/// A run as `submit` knows it.
struct Run<'a> {
    flare: Flare<'a>,
    name: String,
    sites: Vec<String>,
    reply: Duration,
    /// Whether the run goes on without sites that are away.
    drops: bool,
    attempts: u32,
    output: Output<'a>,
}

pub(crate) fn submit(args: &SubmitArgs, output: Output) -> Result<(), Failure> {
    let begun = Instant::now();
    let job = Job::read_as_written(&args.job)?;
    let sites: Vec<String> = job.sites.iter().map(|site| site.name.clone()).collect();
    if sites.is_empty() {
        let message = format!("{}: names files, not `sites`", args.job.display());
        let help = "a job for sites on this machine is trained by `steffle train --data`";
        return Err(Failure::data("submit::sites", message).help(help));
    }
    if !job.test.to_str().is_some_and(is_name) {
        let message =
            format!("{}: `test` is a path, and a job that travels has none", args.job.display());
        let help = "test = NAME, a name under [tests] of the server's lead.toml: letters, digits, `-`, `_` \
                    and `.`, no dot at the beginning, at most 100 characters";
        return Err(Failure::data("submit::test", message).help(help));
    }
    if !args.kit.join("startup").is_dir() {
        let message = format!("{}: no folder `startup` in it", args.kit.display());
        let help = "--kit names the lead's own kit, as `nvflare provision` wrote it";
        return Err(Failure::usage("submit::kit", message).help(help));
    }
    let stem = stem(&args.job);
    let destination = Destination::reserve(args.out.as_deref(), &stem, args.force)?;
    let name = args.resume.clone().unwrap_or_else(|| fresh(&stem));
    interrupt::say(format!("the job goes on; go on with it by `--resume {name}`"));
    let reply = Duration::from_secs(job.reply_seconds.unwrap_or(600));
    let drops = job.absent == Absent::Drop;
    let text = travelling(job)?;
    let scratch = Scratch::new(&name)?;
    let told = Told { run: &name, roster: &sites, seconds: reply.as_secs(), job: &text };
    let folder = folder::write(scratch.path(), &told)?;
    let flare = Flare { program: &args.nvflare, kit: &args.kit };
    let run = Run { flare, name, sites, reply, drops, attempts: args.attempts, output };
    let mut jobs = Vec::new();
    let out = run.to_its_end(&folder, scratch.path(), &mut jobs)?;
    let run_dir = destination.path().to_path_buf();
    let files = files(&out)?;
    let warnings = warnings(&files);
    destination.write(&files)?;
    let seconds = begun.elapsed().as_secs_f64();
    let Run { name, sites, .. } = &run;
    let warned: Vec<String> =
        warnings.iter().map(|warning| format!("Warning: {warning}\n")).collect();
    let warned = warned.concat();
    let text = format!(
        "{} sites, {} job(s), {seconds:.1} s; run {name}\n{warned}Run directory: {}\n",
        sites.len(),
        jobs.len(),
        run_dir.display()
    );
    let report = Report { run: name, sites, jobs: &jobs, seconds, warnings, run_dir: &run_dir };
    output.result(&report, &text)
}

impl Run<'_> {
    /// Submits jobs until one of them says how the run ended.
    fn to_its_end(
        &self,
        folder: &Path,
        scratch: &Path,
        jobs: &mut Vec<String>,
    ) -> Result<PathBuf, Failure> {
        let progress = Progress::start("submitting");
        let (mut why, mut ended) = (String::new(), None);
        for attempt in 0..self.attempts {
            if attempt > 0 {
                self.output.note(&format!("{why}; the run is submitted again and goes on"));
            }
            let id = self.submitted(folder)?;
            jobs.push(id.clone());
            progress.task("waiting for FLARE to begin");
            match watch(&self.flare, &id, self.reply, scratch, &progress)? {
                End::Told(outcome) if outcome.status == Some(0) => return Ok(outcome.out),
                End::Told(outcome) => {
                    let mut failed = failure(&outcome);
                    if failed.code != steffle_front::LOST {
                        return Err(failed);
                    }
                    // A site that is back is worth another job.
                    if let Err(away) = self.all_present() {
                        failed.message = format!("{failed}; {away}");
                        return Err(Failure { help: away.help, ..failed });
                    }
                    why = format!("job {id}: {failed}");
                    ended = Some(failed);
                }
                End::Lost(lost) => {
                    self.flare.abort(&id);
                    match self.all_present() {
                        Err(away) if !self.drops => return Err(away),
                        _ => {}
                    }
                    why = format!("job {id} was lost: {lost}");
                }
            }
        }
        if let Some(failed) = ended {
            return Err(failed);
        }
        let message = format!("{why}; {} jobs were submitted in vain", self.attempts);
        let help = format!("`--resume {}` goes on with the run", self.name);
        Err(Failure::data("submit::lost", message).help(help))
    }

    /// A job, once FLARE takes it: a server that was restarted is waited for.
    fn submitted(&self, folder: &Path) -> Result<String, Failure> {
        let until = Instant::now() + self.reply.max(RETURN);
        loop {
            match passing(self.flare.submit(folder))? {
                Ok(id) => return Ok(id),
                Err(why) if Instant::now() > until => {
                    let message = format!("FLARE does not take the job: {why}");
                    return Err(Failure::data("submit::refused", message));
                }
                Err(_) => thread::sleep(PAUSE),
            }
        }
    }

    /// Waits for all sites, as long as for a reply at least.
    fn all_present(&self) -> Result<(), Failure> {
        let patience = self.reply.max(RETURN);
        let until = Instant::now() + patience;
        loop {
            let present = passing(self.flare.present())?;
            let sites = present.map(|present| present.sites).unwrap_or_default();
            let away: Vec<&str> = self
                .sites
                .iter()
                .filter(|site| !sites.contains(site))
                .map(String::as_str)
                .collect();
            if away.is_empty() {
                return Ok(());
            }
            if Instant::now() > until {
                let (away, seconds) = (away.join(", "), patience.as_secs());
                let message = format!("{away} did not come within {seconds} seconds");
                let help = format!("`--resume {}` goes on with the run", self.name);
                return Err(Failure::data("submit::away", message).help(help));
            }
            thread::sleep(PAUSE);
        }
    }
}

/// The job as it travels: it names no file, neither of sites nor of the lead.
fn travelling(mut job: Job) -> Result<String, Failure> {
    job.sites.iter_mut().for_each(|site| site.silo = None);
    toml::to_string(&job).map_err(|error| Failure::bug(error.to_string()))
}

/// What the server's process ended with, as it said it.
fn failure(outcome: &Outcome) -> Failure {
    let said = &outcome.said;
    let status = match outcome.status {
        Some(2) => Status::Usage,
        Some(3) => Status::Data,
        Some(4) => Status::Budget,
        Some(5) => Status::Threshold,
        _ => Status::Bug,
    };
    let error = said.iter().rev().find_map(|line| line.strip_prefix("error[")?.split_once("]: "));
    let help = said.iter().rev().find_map(|line| line.strip_prefix("help: "));
    let (code, message) =
        error.unwrap_or(("steffle::submit::server", "the server's process failed"));
    let code = code.strip_prefix("steffle::").unwrap_or(code);
    let failure = Failure::new(status, code, message);
    match help {
        Some(help) => failure.help(help),
        None => failure,
    }
}

/// The files of a fetched run directory.
fn files(out: &Path) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let failed = |error| Failure::at(out, &error);
    let mut files = Vec::new();
    for entry in fs::read_dir(out).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        files.push((name, fs::read(entry.path()).map_err(failed)?));
    }
    Ok(files)
}

/// What a fetched run warns of.
fn warnings(files: &[(String, Vec<u8>)]) -> Vec<String> {
    let metrics = files.iter().find(|(name, _)| name == "metrics.json");
    let metrics = metrics.and_then(|(_, bytes)| serde_json::from_slice::<Value>(bytes).ok());
    let warnings =
        metrics.and_then(|mut metrics| metrics["warnings"].as_array_mut().map(std::mem::take));
    let texts = warnings.into_iter().flatten();
    texts.filter_map(|warning| warning.as_str().map(str::to_owned)).collect()
}

/// What a job is called: its own name, or that of its folder.
fn stem(job: &Path) -> String {
    let named =
        |path: Option<&std::ffi::OsStr>| path.map(|name| name.to_string_lossy().into_owned());
    let own = named(job.file_stem()).filter(|name| name != "job");
    let folder = || named(job.parent().and_then(Path::file_name));
    own.or_else(folder).unwrap_or_else(|| "job".to_owned())
}

/// A name that no other run has.
fn fresh(stem: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{stem}-{:x}", now.as_micros())
}
