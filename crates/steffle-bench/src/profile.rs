//! Where the time of a benchmark or of the program goes, by kind of work: what the profiler of Linux counts,
//! function by function, added up.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::Outcome;

/// Arguments of `profile`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Another program than this one.
    #[arg(long)]
    program: Option<PathBuf>,
    /// What it is to do, for example `speed --alone --repeat 40`.
    #[arg(last = true, required = true)]
    arguments: Vec<String>,
}

/// Kinds of work, and parts of the names of the functions that do it; the first that fits counts.
const KINDS: [(&str, &[&str]); 14] = [
    ("the operating system", &["[k]"]),
    ("adding rows to sums", &["kernel::beside", "add_all", "add_rows", "scatter"]),
    ("scores of rows", &["kernel::eight", "dot_all", "dot_rows", "kernel::dense"]),
    ("fetching rows, labels, classes", &["lookup::gather", "lookup::pick", "classes_of", "Rows::"]),
    (
        "measures of the price",
        &["kernel::measure", "measured", "price", "largest", "Digest", "bounds", "ledger"],
    ),
    (
        "sigmoid, slopes, clipping, tables",
        &[
            "kernel::vector",
            "combine_",
            "add_by_slot",
            "fill_slots",
            "weigh",
            "ieee754",
            "scores::",
            "rint",
        ],
    ),
    ("noise and batches", &["noise", "chacha", "batches", "discrete", "randomness"]),
    ("integers, and back", &["kernel::fixed", "summed", "Summed", "round_", "integers", "lattice"]),
    ("solving: factors, curvature", &["linear::", "hessian", "lbfgs", "fit::", "decode"]),
    ("copying and clearing", &["memmove", "memset", "memcpy", "clear_page"]),
    ("allocating", &["malloc", "free", "realloc", "alloc::", "unlink_chunk"]),
    ("messages", &["steffle_wire", "steffle_site::node", "federation"]),
    ("reading tables", &["steffle_data", "parquet", "arrow", "csv", "snap", "zstd"]),
    ("the server's step", &["steffle_server"]),
];

/// Runs it under `perf` and prints a line per kind.
pub(crate) fn run(Arguments { program, arguments }: &Arguments) -> Outcome {
    let program = program.clone().map_or_else(std::env::current_exe, Ok)?;
    let file = std::env::temp_dir().join(format!("steffle-bench-{}.perf", std::process::id()));
    let mut record = Command::new("perf");
    record.args(["record", "-F", "4000", "-o"]).arg(&file).arg("--").arg(program).args(arguments);
    let missing = |_| "there is no `perf` here; Debian's package linux-perf has it";
    let recorded =
        record.stdout(Stdio::null()).stderr(Stdio::null()).status().map_err(missing)?.success();
    let mut report = Command::new("perf");
    report.args(["report", "--stdio", "-F", "sample,sym", "-i"]).arg(&file);
    let report = report.stderr(Stdio::null()).output()?;
    std::fs::remove_file(&file).ok();
    if !recorded {
        return Err(format!("`{}` failed, or perf may not look at it", arguments.join(" ")).into());
    }
    let mut kinds: BTreeMap<usize, Kind> = BTreeMap::new();
    for (samples, name) in String::from_utf8(report.stdout)?.lines().filter_map(counted) {
        let does = |(_, parts): &(&str, &[&str])| parts.iter().any(|part| name.contains(part));
        let kind = KINDS.iter().position(does).unwrap_or(KINDS.len());
        let kind = kinds.entry(kind).or_default();
        (kind.samples, kind.functions) = (kind.samples + samples, kind.functions + 1);
        if kind.largest.0 < samples {
            kind.largest = (samples, name.to_owned());
        }
    }
    let all = kinds.values().map(|kind| kind.samples).sum::<u64>() as f64 / 100.0;
    println!("{}", arguments.join(" "));
    println!("{:<36} {:>6} {:>10}  the largest of them", "", "share", "functions");
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, kind)| std::cmp::Reverse(kind.samples));
    for (at, Kind { samples, functions, largest: (own, function) }) in kinds {
        let name = KINDS.get(at).map_or("all else", |(name, _)| name);
        let (share, own) = (samples as f64 / all, own as f64 / all);
        println!("{name:<36} {share:>4.0} % {functions:>10}  {own:.1} % {}", short(&function));
    }
    Ok(())
}

/// What was counted of one kind.
#[derive(Default)]
struct Kind {
    samples: u64,
    functions: usize,
    largest: (u64, String),
}

/// The last two parts of a function's name.
fn short(name: &str) -> &str {
    let plain = name.strip_suffix("::compiled").unwrap_or(name);
    let last = plain.rmatch_indices("::").nth(1).map_or(0, |(at, _)| at + 2);
    if name.starts_with('<') { plain } else { &plain[last..] }
}

/// Samples and name of a function, of a line of the report.
fn counted(line: &str) -> Option<(u64, &str)> {
    let (samples, rest) = line.trim().split_once(' ')?;
    let name = rest.trim();
    Some((samples.parse().ok()?, name.strip_prefix("[.] ").unwrap_or(name)))
}
