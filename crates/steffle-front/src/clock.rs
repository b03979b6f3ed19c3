//! What a run took.

use std::time::Instant;

use crate::trained::Took;

/// Wall and processor time.
pub(crate) struct Clock {
    wall: Instant,
    cpu: Option<f64>,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { wall: Instant::now(), cpu: processor_seconds() }
    }

    pub(crate) fn stop(&self) -> Took {
        let cpu = processor_seconds().zip(self.cpu).map(|(now, then)| now - then);
        Took { wall: self.wall.elapsed().as_secs_f64(), cpu }
    }
}

/// Of this process or, where a run has one thread to itself because others run beside it, of this
/// thread.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems do not tell")]
fn processor_seconds() -> Option<f64> {
    let alone = rayon::current_thread_index().is_some() && rayon::current_num_threads() == 1;
    let clock = if alone {
        rustix::time::ClockId::ThreadCPUTime
    } else {
        rustix::time::ClockId::ProcessCPUTime
    };
    let time = rustix::time::clock_gettime(clock);
    Some(time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9)
}

#[cfg(not(unix))]
fn processor_seconds() -> Option<f64> {
    None
}
