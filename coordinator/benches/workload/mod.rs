//! What the benchmarks give to do: an experiment of runs that cost nothing, and the record of one.

#![allow(dead_code, reason = "each benchmark uses its part")]

use speedup_core::{
    experiment::Experiment, experiment::Metric, experiment::files::ContentHash, plan,
    run::conditions::Conditions, run::conditions::FileSystem, run::conditions::Location,
    run::program::Program, run::program::ProgramContent, run::reading::CpuTime, run::reading::Load,
    run::reading::Pressure, run::reading::Reading, run::record::Outcome, run::record::Output,
    run::record::Record, run::timer::TimerError, value::seed::Seed,
};

/// The record of a run. What was measured differs from run to run, as it does.
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

/// The same with its conditions and the program that was executed, as an agent reports them.
pub(crate) fn record_with_conditions(number: u64) -> Record {
    let reading = |of_run: u64| Reading {
        load: Some(Load { one_percent: 76, five_percent: 60, fifteen_percent: 33 }),
        runnable: Some(2),
        pressure_cpu: Some(Pressure { recent: 120, total_us: 9_000_000 + of_run }),
        pressure_memory: Some(Pressure { recent: 0, total_us: 12_345 }),
        pressure_io: Some(Pressure { recent: 3, total_us: 777_777 + of_run }),
        cpu_time: Some(CpuTime {
            busy_ns: 4_321_000_000_000 + of_run * 12_000_000,
            iowait_ns: 1_000_000_000,
            stolen_ns: 0,
        }),
        available_bytes: Some(22_000_000_000 + of_run * 4_096),
        cached_bytes: Some(3_000_000_000),
        ..Reading::default()
    };
    let conditions = Conditions {
        before: reading(2 * number),
        after: reading(2 * number + 1),
        env_bytes: Some(242),
        directory_bytes: Some(81),
        file_system: Some(FileSystem { kind: "ext4".to_owned(), location: Location::Local }),
        ..Conditions::default()
    };
    let program =
        Program { path: "/usr/bin/bench".to_owned(), content: ProgramContent::Blake3(ContentHash([3; 32])) };
    Record {
        timer: Some(TimerError { bias_ns: 6_583, spread_ns: 18_795 }),
        conditions: Some(Box::new(conditions)),
        program: Some(Box::new(program)),
        ..record(number)
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
