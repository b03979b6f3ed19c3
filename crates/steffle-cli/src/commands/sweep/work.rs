//! The runs of a sweep, in parallel, with everything shared that can be.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;

use serde_json::{Value, json};

use super::grid::Run;
use crate::commands::train::{Public, Shared, train_family};
use crate::config::{Method, Mode, TrainConfig};
use crate::failure::Failure;

/// Runs that differ in lambda alone and whose models are found from one another.
pub(super) struct Family<'a> {
    /// With their places in the sweep, by rising lambda.
    runs: Vec<(usize, &'a Run)>,
    base: usize,
}

/// An unconstrained model that several families start from or are compared with.
#[derive(Default)]
struct Base {
    public: Mutex<Option<Arc<Public>>>,
    /// Families that have not ended.
    waiting: AtomicUsize,
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
    let (mut families, bases) = families(runs);
    families.retain(|family| family.runs.iter().any(|&(place, _)| wanted(place)));
    for family in &families {
        bases[family.base].waiting.fetch_add(1, Ordering::Relaxed);
    }
    let shared = Shared::by(threads);
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel::<Ended>();
    let worker = |sender: mpsc::Sender<Ended>| {
        // The last rayon thread of its own: a run computes where it is, beside others.
        let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(1).build() else { return };
        pool.install(|| {
            while let Some(family) = families.get(next.fetch_add(1, Ordering::Relaxed)) {
                let lines = family.run(&bases[family.base], &shared, directory);
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

/// Groups the runs. Families that share an unconstrained model follow each other.
fn families(runs: &[Run]) -> (Vec<Family<'_>>, Vec<Base>) {
    let mut families: Vec<Family<'_>> = Vec::new();
    let mut bases: HashMap<String, usize> = HashMap::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (place, run) in runs.iter().enumerate() {
        let next = bases.len();
        let base = *bases.entry(base_key(&run.config)).or_insert(next);
        let key = if run.config.has_path() {
            json!(TrainConfig { lambda: 0.0, ..run.config.clone() }).to_string()
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
        family.runs.sort_by(|(_, a), (_, b)| a.config.lambda.total_cmp(&b.config.lambda));
    }
    families.sort_by_key(|family| family.base);
    (families, bases.iter().map(|_| Base::default()).collect())
}

/// What decides the unconstrained model: the data, its cut and the model.
fn base_key(config: &TrainConfig) -> String {
    let config = TrainConfig {
        method: Method::Erm,
        lambda: 0.0,
        surrogate_sharpness: 1.0,
        sign: None,
        mode: Mode::None,
        privacy: None,
        response: None,
        one_shot: None,
        descent: None,
        federated: None,
        ..config.clone()
    };
    json!(config).to_string()
}

impl Family<'_> {
    fn run(&self, base: &Base, shared: &Shared, directory: &Path) -> Ended {
        let [(_, first), ..] = self.runs[..] else { return Vec::new() };
        let lambdas: Vec<f64> = self.runs.iter().map(|(_, run)| run.config.lambda).collect();
        let public = |compute: &mut dyn FnMut() -> Result<Public, Failure>| {
            // Whoever comes first computes it; the others wait here.
            let mut kept = base.public.lock().unwrap_or_else(PoisonError::into_inner);
            match &*kept {
                Some(public) => Ok(public.clone()),
                None => Ok(kept.insert(Arc::new(compute()?)).clone()),
            }
        };
        let config = first.config.clone();
        let outcomes = train_family(config, &first.origins, &lambdas, shared, public, directory);
        if base.waiting.fetch_sub(1, Ordering::AcqRel) == 1 {
            *base.public.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
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
