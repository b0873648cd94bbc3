//! The record of an execution: its readings, and the stored part of its output.

use speedup_core::experiment::KeepOutput;
use speedup_core::experiment::metric::{Absence, Metric};
use speedup_core::run::record::{Outcome, Output, Record};
use speedup_core::run::work::WorkOrder;

use crate::{launch::Execution, launch::MetricReadings, launch::Usage, wall_clock::unix_ns};

/// The record of an execution that has just ended.
pub(super) fn record(order: &WorkOrder, execution: Execution, outcome: Outcome) -> Record {
    let mut readings = execution.readings;
    read_usage(&order.metrics, execution.wall_ns, &execution.usage, &mut readings);
    let keep = match order.output.keep_of {
        KeepOutput::All => order.output.keep,
        KeepOutput::Failed if outcome != Outcome::Measured => order.output.keep,
        KeepOutput::Failed => 0,
    };
    Record {
        started_unix_ns: unix_ns().saturating_sub(execution.wall_ns),
        metrics: readings.values,
        user_only: readings.user_only,
        absent: readings.absent,
        stdout: output(execution.stdout, keep),
        stderr: output(execution.stderr, keep),
        survivors: execution.survivors_killed,
        agent_switches: execution.agent_switches.voluntary + execution.agent_switches.involuntary,
        ..Record::bare(outcome)
    }
}

/// Adds the wanted metrics that the clock and `wait4` measure.
fn read_usage(wanted: &[Metric], wall_ns: u64, usage: &Usage, readings: &mut MetricReadings) {
    let values = [
        (Metric::Wall, wall_ns),
        (Metric::User, usage.user_ns),
        (Metric::System, usage.system_ns),
        (Metric::MaxRss, usage.max_rss_bytes),
        (Metric::MinorFaults, usage.minor_faults),
        (Metric::MajorFaults, usage.major_faults),
        (Metric::VoluntarySwitches, usage.switches.voluntary),
        (Metric::InvoluntarySwitches, usage.switches.involuntary),
        (Metric::BlockReads, usage.block_in),
        (Metric::BlockWrites, usage.block_out),
    ];
    for (metric, value) in values {
        if !wanted.contains(&metric) {
            continue;
        }
        // Linux counts the agent's own memory as the program's until it has more: up to there its peak is not known.
        if metric == Metric::MaxRss && value <= usage.max_rss_floor_bytes {
            readings.absent.insert(metric, Absence::BelowFloor);
        } else {
            readings.values.insert(metric, value);
        }
    }
}

/// The stream as it is reported, with the first `keep` of its bytes: it may have been captured whole.
fn output(captured: Option<crate::launch::CapturedOutput>, keep: u64) -> Output {
    captured.map_or_else(Output::default, |mut output| {
        output.head.truncate(usize::try_from(keep).unwrap_or(usize::MAX));
        output.head.shrink_to_fit();
        Output { bytes: output.bytes, blake3: *output.blake3.as_bytes(), kept: output.head }
    })
}
