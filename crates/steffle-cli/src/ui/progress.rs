//! Progress on standard error, on a terminal only.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A line that shows what is going on and, once the amount is known, how far it is.
///
/// It is removed when dropped, so that results stand alone.
#[derive(Debug)]
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Starts with a task of unknown size.
    pub(crate) fn start(task: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        bar.enable_steady_tick(Duration::from_millis(100));
        bar.set_message(task.to_owned());
        Self(bar)
    }

    /// Goes on to a task of unknown size.
    pub(crate) fn task(&self, task: &str) {
        self.0.unset_length();
        self.0.set_style(ProgressStyle::default_spinner());
        self.0.set_message(task.to_owned());
    }

    /// Goes on to a task of `steps` steps.
    pub(crate) fn steps(&self, task: &str, steps: usize) {
        // The template is a constant; were it wrong, the default bar would do.
        let style = ProgressStyle::with_template("{msg} {bar:30} {pos}/{len} {eta} left");
        self.0.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        self.0.set_length(steps as u64);
        self.0.set_position(0);
        self.0.set_message(task.to_owned());
    }

    /// So many steps are done in all.
    pub(crate) fn reach(&self, steps: u64) {
        self.0.set_position(steps);
    }

    /// One step is done.
    pub(crate) fn step(&self) {
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
