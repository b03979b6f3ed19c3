//! The runs of a sweep, in parallel, with everything shared that can be.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use serde_json::{Value, json};
use steffle_front::Library;

use super::grid::Run;
use crate::commands::train::train_family;
use crate::failure::Failure;

/// Runs that differ in lambda alone and whose models are found from one another.
pub(super) struct Family<'a> {
    /// With their places in the sweep, by rising lambda.
    runs: Vec<(usize, &'a Run)>,
    base: usize,
}

/// Lines of runs that have ended, with their places in the sweep.
pub(super) type Ended = Vec<(usize, Value)>;

/// Runs what `wanted` names, on `threads` threads; `ended` gets the lines of each family at once,
/// on the calling thread, and may stop the work by failing.
///
/// A family is run whole even if only some of its runs are wanted, so that what a sweep finds does
/// not depend on where it was interrupted.
pub(super) fn work(
    runs: &[Run],
    wanted: impl Fn(usize) -> bool + Sync,
    threads: usize,
    directory: &Path,
    mut ended: impl FnMut(Ended) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut families = families(runs);
    families.retain(|family| family.runs.iter().any(|&(place, _)| wanted(place)));
    let library = Library::keeping(2 * threads);
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel::<Ended>();
    let worker = |sender: mpsc::Sender<Ended>| {
        // The last rayon thread of its own: a run computes where it is, beside others.
        let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(1).build() else { return };
        pool.install(|| {
            while let Some(family) = families.get(next.fetch_add(1, Ordering::Relaxed)) {
                let lines = family.run(&library, directory);
                let lines = lines.into_iter().filter(|(place, _)| wanted(*place)).collect();
                if sender.send(lines).is_err() {
                    return; // nobody listens any more
                }
            }
        });
    };
    let worker = &worker;
    thread::scope(|scope| {
        for _ in 0..threads.min(families.len()) {
            let sender = sender.clone();
            scope.spawn(move || worker(sender));
        }
        drop(sender);
        receiver.into_iter().try_for_each(&mut ended)
    })
}

/// Groups the runs. Families that share a study and an unconstrained model follow each other.
fn families(runs: &[Run]) -> Vec<Family<'_>> {
    let mut families: Vec<Family<'_>> = Vec::new();
    let mut bases: HashMap<String, usize> = HashMap::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (place, run) in runs.iter().enumerate() {
        let next = bases.len();
        let base = *bases.entry(base_key(run)).or_insert(next);
        let key = if run.config.method.shares_release() {
            let mut key = run.key();
            key["lambda"] = json!(0.0);
            key.to_string()
        } else {
            place.to_string()
        };
        let family = *places.entry(key).or_insert_with(|| {
            families.push(Family { runs: Vec::new(), base });
            families.len() - 1
        });
        families[family].runs.push((place, run));
    }
    for family in &mut families {
        family.runs.sort_by(|(_, a), (_, b)| lambda(a).total_cmp(&lambda(b)));
    }
    families.sort_by_key(|family| family.base);
    families
}

fn lambda(run: &Run) -> f64 {
    run.config.method.aim().lambda
}

/// What decides the unconstrained model: the data, its cut and the model.
fn base_key(run: &Run) -> String {
    let mut key = run.key();
    let written = run.config.method.written();
    if let Value::Object(settings) = &mut key {
        for (own, _) in written.own.iter().chain(&written.steps) {
            if !["model", "notion"].contains(own) {
                settings.remove(*own);
            }
        }
    }
    key.to_string()
}

impl Family<'_> {
    fn run(&self, library: &Library, directory: &Path) -> Ended {
        let [(_, first), ..] = self.runs[..] else { return Vec::new() };
        let lambdas: Vec<f64> = self.runs.iter().map(|(_, run)| lambda(run)).collect();
        let config = first.config.clone();
        let outcomes = train_family(config, &first.origins, &lambdas, library, directory);
        let line = |run: &Run, outcome: Result<Value, &Failure>| {
            let mut line = json!({"settings": run.varying, "config": run.key()});
            let own = match outcome {
                Ok(report) => report,
                Err(Failure { code, message, help, .. }) => {
                    json!({"error": {"code": code, "message": message, "help": help}})
                }
            };
            if let (Value::Object(line), Value::Object(own)) = (&mut line, own) {
                line.extend(own);
            }
            line
        };
        let places = self.runs.iter();
        match outcomes {
            Ok(outcomes) => places
                .zip(&outcomes)
                .map(|(&(place, run), outcome)| {
                    (place, line(run, outcome.as_ref().map(|report| json!(report))))
                })
                .collect(),
            Err(failure) => places.map(|&(place, run)| (place, line(run, Err(&failure)))).collect(),
        }
    }
}
