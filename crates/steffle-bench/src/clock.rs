//! Processor time and peak memory of this process, and how two sides take turns.

use std::time::Instant;

/// Measures from its creation on.
pub(crate) struct Clock {
    wall: Instant,
    cpu: f64,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self { wall: Instant::now(), cpu: cpu_seconds() }
    }

    pub(crate) fn wall(&self) -> f64 {
        self.wall.elapsed().as_secs_f64()
    }

    pub(crate) fn cpu(&self) -> f64 {
        cpu_seconds() - self.cpu
    }
}

/// How two sides are compared.
#[derive(clap::Args, Clone, Copy)]
pub(crate) struct Turns {
    /// How many times each side runs; the best of each counts.
    #[arg(long, default_value_t = 3)]
    pub(crate) repeat: u32,
    /// Threads of each side.
    #[arg(long, default_value_t = 1)]
    pub(crate) threads: usize,
    /// Run the first side only, for a profiler: ours, or the private one.
    #[arg(long)]
    pub(crate) alone: bool,
}

fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The most memory this process ever had resident, in bytes; Linux tells, others do not.
pub(crate) fn peak_memory() -> Option<u64> {
    peak_memory_of("self")
}

/// The same of another process, by its id.
pub(crate) fn peak_memory_of(process: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// Processor seconds of all children that were waited for, in hundredths; Linux tells, others do not.
pub(crate) fn children_seconds() -> f64 {
    let ticks = |stat: &str| {
        // After the name, which may hold anything, the fields 16 and 17.
        let (_, fields) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<f64>().ok();
        Some(number(13)? + number(14)?)
    };
    let stat = std::fs::read_to_string("/proc/self/stat").ok();
    stat.and_then(|stat| ticks(&stat)).map_or(f64::NAN, |ticks| ticks / 100.0)
}
