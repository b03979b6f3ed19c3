//! A job as FLARE takes it: a folder of settings that name the relay's classes, and no code.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::failure::Failure;
use crate::interrupt::{self, Unfinished};

/// What the relay is told.
pub(super) struct Told<'a> {
    /// The run, which outlives FLARE's jobs.
    pub(super) run: &'a str,
    /// The sites, in the order of their node numbers.
    pub(super) roster: &'a [String],
    /// How long to wait for a reply of a site.
    pub(super) seconds: u64,
    /// The job's own text.
    pub(super) job: &'a str,
}

/// A folder that is removed when it goes out of scope.
pub(super) struct Scratch(Unfinished);

impl Scratch {
    pub(super) fn new(name: &str) -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("steffle-{name}-{}", std::process::id()));
        let scratch = Unfinished { path, made: Vec::new() };
        interrupt::guard(&scratch, || fs::create_dir_all(&scratch.path))
            .map_err(|error| Failure::at(&scratch.path, &error))?;
        Ok(Self(scratch))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        interrupt::release(&self.0, || self.0.remove());
    }
}

/// Writes the folder.
pub(super) fn write(place: &Path, told: &Told<'_>) -> Result<PathBuf, Failure> {
    let folder = place.join("job");
    for (name, contents) in files(told) {
        let path = folder.join(name);
        let written = path.parent().map_or(Ok(()), fs::create_dir_all);
        let written = written.and_then(|()| fs::write(&path, contents));
        written.map_err(|error| Failure::at(&path, &error))?;
    }
    Ok(folder)
}

fn files(told: &Told<'_>) -> [(&'static str, String); 3] {
    let Told { run, roster, seconds, job } = told;
    // One site is enough for FLARE to begin: the relay looks who is there, and names who is not.
    let meta = [
        ("name", json!(run)),
        ("min_clients", json!(1)),
        ("resource_spec", json!({})),
        ("deploy_map", json!({"lead": ["server"], "site": roster})),
    ];
    let controller = json!({
        "id": "controller",
        "path": "nvflare.collab.runtime.controller.CollabController",
        "args": {
            "server_obj_id": "lead",
            "props": {"run": run, "roster": roster, "seconds": seconds, "job": job},
        },
    });
    let executor = json!({
        "path": "nvflare.collab.runtime.executor.CollabExecutor",
        "args": {"client_obj_id": "site", "props": {"roster": roster, "seconds": seconds}},
    });
    let lead = json!([{"id": "lead", "path": "steffle_relay.Lead", "args": {}}]);
    let site = json!([{"id": "site", "path": "steffle_relay.Site", "args": {}}]);
    let version = || ("format_version", json!(2));
    let lead = [version(), ("workflows", json!([controller])), ("components", lead)];
    let executors = json!([{"tasks": ["*"], "executor": executor}]);
    let site = [version(), ("executors", executors), ("components", site)];
    [
        ("meta.json", object(&meta)),
        ("lead/config/config_fed_server.json", object(&lead)),
        ("site/config/config_fed_client.json", object(&site)),
    ]
}

/// An object whose keys stand in this order: FLARE loses the rest of a file whose first is an object.
fn object(entries: &[(&str, Value)]) -> String {
    let entries: Vec<String> =
        entries.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
    format!("{{{}}}", entries.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FLARE calls an app with a folder `custom` code; everything here is settings.
    #[test]
    fn a_job_carries_no_code() {
        let roster = ["north".to_owned(), "south".to_owned()];
        let told = Told { run: "r", roster: &roster, seconds: 60, job: "version = 1" };
        let files = files(&told);
        assert!(files.iter().all(|(name, _)| !name.contains("custom")));
        let text: String = files.iter().map(|(_, contents)| contents.as_str()).collect();
        let paths = text.split("\"path\":\"").skip(1).filter_map(|rest| rest.split('"').next());
        let mut paths: Vec<&str> = paths.collect();
        paths.sort_unstable();
        let classes = [
            "nvflare.collab.runtime.controller.CollabController",
            "nvflare.collab.runtime.executor.CollabExecutor",
            "steffle_relay.Lead",
            "steffle_relay.Site",
        ];
        assert_eq!(paths, classes);
        for (name, contents) in &files {
            assert!(serde_json::from_str::<Value>(contents).is_ok(), "{name}: {contents}");
        }
        // Sites are told who takes part and how long to wait; the job's text is the lead's.
        assert!(!files[2].1.contains("version = 1"));
    }
}
