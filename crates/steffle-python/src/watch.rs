//! Training under Python's eyes: signals are handled, and progress is told.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use steffle_front::{Observer, Stage};

/// How often Python is asked: it has to be waited for.
const EVERY: Duration = Duration::from_millis(50);

/// Asks Python for signals and tells a function how far training is.
pub(crate) struct Watch {
    progress: Option<Py<PyAny>>,
    state: Mutex<State>,
}

struct State {
    stage: &'static str,
    done: u32,
    steps: Option<u32>,
    last: Instant,
    raised: Option<PyErr>,
}

impl Watch {
    pub(crate) fn new(progress: Option<Py<PyAny>>) -> Self {
        let state = State { stage: "", done: 0, steps: None, last: Instant::now(), raised: None };
        Self { progress, state: Mutex::new(state) }
    }

    /// What Python raised meanwhile.
    pub(crate) fn into_raised(self) -> Option<PyErr> {
        self.state.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).raised
    }

    fn ask(&self, state: &State) -> PyResult<()> {
        Python::attach(|py| {
            py.check_signals()?;
            if let Some(progress) = &self.progress {
                progress.call1(py, (state.stage, state.done, state.steps))?;
            }
            Ok(())
        })
    }
}

impl Observer for Watch {
    fn begin(&self, stage: Stage, steps: Option<u32>) {
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        state.stage = match stage {
            Stage::Unconstrained => "unconstrained",
            Stage::Federated => "federated",
            _ => "fair",
        };
        (state.done, state.steps) = (0, steps);
    }

    fn step(&self) -> ControlFlow<()> {
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        state.done += 1;
        if state.last.elapsed() < EVERY {
            return ControlFlow::Continue(());
        }
        state.last = Instant::now();
        match self.ask(&state) {
            Ok(()) => ControlFlow::Continue(()),
            Err(raised) => {
                state.raised = Some(raised);
                ControlFlow::Break(())
            }
        }
    }
}
