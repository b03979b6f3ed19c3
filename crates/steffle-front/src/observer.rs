//! Whoever watches training, and may stop it.

use std::cell::Cell;
use std::ops::ControlFlow;

use crate::Error;

/// What training is busy with.
///
/// Observers are told when one begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// The model without fairness, where some methods start and which all are compared with.
    Unconstrained,
    /// The fair model.
    Fair,
    /// A model whose silos train by themselves.
    Federated,
}

/// What a step told, for whoever watches.
///
/// Nothing of it costs anything: it is computed from x, y and what was released.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Told {
    /// The mean loss on the training rows; where [`Told::penalised`], with the penalty of what was released.
    pub loss: f64,
    /// Whether the penalty is part of it.
    pub penalised: bool,
    /// The most epsilon that the run has spent by its plan; 0 before it asks for anything that is priced.
    pub epsilon: Option<f64>,
}

/// Sees how far training is and may stop it. `()` watches nothing.
///
/// ```
/// use std::ops::ControlFlow;
/// use std::time::{Duration, Instant};
/// use steffle_front::Observer;
///
/// /// Stops training at a point in time.
/// struct Until(Instant);
///
/// impl Observer for Until {
///     fn step(&self) -> ControlFlow<()> {
///         if Instant::now() < self.0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
///     }
/// }
/// # let _ = Until(Instant::now() + Duration::from_secs(60));
/// ```
pub trait Observer: Sync {
    /// A stage begins. `steps` is the number of its steps, where that is known before.
    fn begin(&self, stage: Stage, steps: Option<u32>) {
        let _ = (stage, steps);
    }

    /// What the step told that is made next; not every method tells, and rounds only of parties elsewhere.
    fn told(&self, told: Told) {
        let _ = told;
    }

    /// A step was made: a round, or an evaluation of the loss.
    fn step(&self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl Observer for () {}

/// An observer, and whether it has asked to stop.
pub(crate) struct Watch<'a> {
    observer: &'a dyn Observer,
    stopped: Cell<bool>,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(observer: &'a dyn Observer, stage: Stage, steps: Option<u32>) -> Self {
        observer.begin(stage, steps);
        Self { observer, stopped: Cell::new(false) }
    }

    /// A step that told something.
    pub(crate) fn tell(&self, told: Told) -> ControlFlow<()> {
        self.observer.told(told);
        self.step()
    }

    pub(crate) fn step(&self) -> ControlFlow<()> {
        let flow = self.observer.step();
        self.stopped.set(self.stopped.get() || flow.is_break());
        flow
    }

    /// What came out, unless it was stopped before its end.
    pub(crate) fn end<T>(&self, outcome: Result<T, Error>) -> Result<T, Error> {
        if self.stopped.get() { Err(Error::cancelled()) } else { outcome }
    }
}
