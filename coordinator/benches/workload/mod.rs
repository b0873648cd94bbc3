//! What the benchmarks give to do: an experiment of runs that cost nothing, and the record of one.

#![allow(dead_code, reason = "each benchmark uses its part")]

use speedup_core::experiment::{Experiment, Metric};
use speedup_core::plan;
use speedup_core::run::record::{Outcome, Output, Record};
use speedup_core::value::seed::Seed;

/// The record of a run, with as much in it as usual. What was measured differs from run to run, as it does.
pub(crate) fn record(number: u64) -> Record {
    let stream = Output { bytes: 1_024, blake3: [7; 32], kept: Vec::new() };
    let drawn = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44;
    let metrics = [Metric::Wall, Metric::User, Metric::System, Metric::MaxRss]
        .map(|metric| (metric, 12_000_000 + drawn));
    Record {
        started_unix_ns: 1_790_000_000_000_000_000,
        metrics: metrics.into(),
        stdout: stream.clone(),
        stderr: stream,
        agent_switches: 1,
        ..Record::bare(Outcome::Measured)
    }
}

/// Ten benchmarks in two versions, `runs` of each, on any host.
pub(crate) fn experiment(runs: u32) -> Experiment {
    let benchmarks: String =
        (0..10).map(|number| format!("[benchmarks.b{number}]\ncommand = [\"true\"]\n")).collect();
    let text = format!(
        "[experiment]\nname = \"bench\"\n[versions.old]\nbaseline = true\n[versions.new]\n{benchmarks}\
         [repetitions]\nruns = {runs}\n[independence]\npolicy = \"any\"\n"
    );
    plan::file::parse(&text, Seed(1)).expect("a plan")
}
