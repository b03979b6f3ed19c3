//! Work under Python's eyes: on a thread of its own, while the calling one handles signals and tells
//! progress. Other threads of Python run meanwhile.

use std::ops::ControlFlow;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use pyo3::prelude::*;
use steffle_front::{Error, Observer, Stage};

use crate::error::{bug, raised};

/// How often Python is asked for signals: Ctrl-C is noticed this soon, whatever the work does.
const EVERY: Duration = Duration::from_millis(20);

/// How far work is, and whether anybody still wants it.
#[derive(Default)]
pub(crate) struct Watch {
    stage: AtomicU32,
    done: AtomicU32,
    /// Steps of the stage and one more; 0 where their number is not known.
    steps: AtomicU32,
    unwanted: AtomicBool,
}

const STAGES: [&str; 4] = ["preparing", "unconstrained", "federated", "fair"];

impl Observer for Watch {
    fn begin(&self, stage: Stage, steps: Option<u32>) {
        let stage = match stage {
            Stage::Unconstrained => 1,
            Stage::Federated => 2,
            _ => 3,
        };
        self.done.store(0, Ordering::Relaxed);
        self.steps.store(steps.map_or(0, |steps| steps.saturating_add(1)), Ordering::Relaxed);
        self.stage.store(stage, Ordering::Relaxed);
    }

    fn step(&self) -> ControlFlow<()> {
        self.done.fetch_add(1, Ordering::Relaxed);
        if self.unwanted.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

impl Watch {
    fn tell(&self, py: Python<'_>, progress: &Py<PyAny>) -> PyResult<()> {
        let stage = STAGES[self.stage.load(Ordering::Relaxed) as usize];
        let steps = self.steps.load(Ordering::Relaxed).checked_sub(1);
        progress.call1(py, (stage, self.done.load(Ordering::Relaxed), steps)).map(drop)
    }
}

/// Does the work. Ctrl-C, or an exception of `progress`, ends the call at once; the work, which nobody
/// waits for any more, ends at its next step. A mistake of ours is an exception like others, and ends
/// nothing.
pub(crate) fn watched<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&Watch) -> Result<T, Error> + Send + 'static,
) -> PyResult<T> {
    let watch = Arc::new(Watch::default());
    let (sender, receiver) = mpsc::channel();
    // Only this thread locks it; a receiver alone may not be lent to a closure that others could run.
    let receiver = Mutex::new(receiver);
    let seen = Arc::clone(&watch);
    std::thread::Builder::new().name("steffle".to_owned()).spawn(move || {
        let done = std::panic::catch_unwind(AssertUnwindSafe(|| work(&seen)));
        // Nobody listens any more after Ctrl-C.
        let _ = sender.send(done);
    })?;
    loop {
        let waited = py
            .detach(|| receiver.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(EVERY));
        let asked = py.check_signals().and_then(|()| match progress {
            Some(progress) => watch.tell(py, progress),
            None => Ok(()),
        });
        if let Err(raised) = asked {
            watch.unwanted.store(true, Ordering::Relaxed);
            return Err(raised);
        }
        match waited {
            Ok(Ok(done)) => return done.map_err(|error| raised(py, &error)),
            Ok(Err(_)) | Err(mpsc::RecvTimeoutError::Disconnected) => return Err(bug(py)),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
    }
}
