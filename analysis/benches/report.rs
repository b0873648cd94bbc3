//! A report over 2,438 samples of 30 to 1000 run times (the size of Worms 2016's experiment), with and without mixtures.
//!
//! `cargo bench -p speedup-analysis --bench report`
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program that prints figures of the clock"
)]

use speedup_analysis::study::{
    MixtureReport, Mixtures, Report, ReportOptions, Study, StudyPhase, StudyStanding,
};
use speedup_core::experiment::Metric;
use speedup_core::machine::event::{AttemptEnd, EndedAttempt, Tally};
use speedup_core::plan::{self, Plan};
use speedup_core::run::lease::{Evidence, Lease};
use speedup_core::run::record::{Failure, Outcome, Record};
use speedup_core::value::id::{AgentEpoch, Attempt, ExperimentId, LeaseEpoch, RunIndex};
use speedup_core::value::seed::Seed;
use speedup_core::value::time::{Span, Timestamp};
use speedup_statistics::mixture::{Component, Mixture, MixtureError};
use std::error::Error;
use std::fmt::Write as _;
use std::time::Instant;

/// Benchmarks of two versions each: 2,438 samples.
const BENCHMARKS: u32 = 1_219;
/// The runs that the plan has of each cell; in most cells some of them fail.
const RUNS: u32 = 1_000;
/// Sizes of samples, in turn.
const SIZES: [u32; 5] = [30, 50, 100, 300, 1_000];
/// Hosts that serve the runs in turn.
const HOSTS: u32 = 400;

fn main() -> Result<(), Box<dyn Error>> {
    let study = study()?;
    println!("{} threads", rayon::current_num_threads());
    for mixtures in [Mixtures::LeftOut, Mixtures::Fitted] {
        let (start, processors) = (Instant::now(), processor_seconds()?);
        let report = study.report_with(ReportOptions { mixtures, ..ReportOptions::default() })?;
        let (taken, processors) = (start.elapsed(), processor_seconds()? - processors);
        let cells = report.benchmarks.iter().flat_map(|benchmark| &benchmark.cells);
        let fitted =
            cells.clone().filter(|cell| matches!(cell.mixture, Some(MixtureReport::Fitted { .. }))).count();
        let codes: Vec<&str> = report.warnings.iter().map(|warning| warning.code.as_str()).collect();
        println!(
            "{mixtures:?}: {taken:.2?}, {processors:.2} s of processors; {} samples, {} runs, {fitted} mixtures, {} bytes of JSON; {codes:?}",
            cells.count(),
            report.head.measured_runs,
            bytes(&report)?
        );
    }
    Ok(())
}

/// The processor time that this process has had, in seconds: what a shared machine disturbs least. Ticks are of 10 ms.
fn processor_seconds() -> Result<f64, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: Result<Vec<f64>, _> = after_name.split_whitespace().skip(11).take(2).map(str::parse).collect();
    Ok(ticks?.iter().sum::<f64>() / 100.0)
}

fn bytes(report: &Report) -> Result<usize, serde_json::Error> {
    serde_json::to_string(report).map(|json| json.len())
}

fn study() -> Result<Study, Box<dyn Error>> {
    let mut text = format!("[experiment]\nname = \"report\"\nseed = 1\n[repetitions]\nruns = {RUNS}\n");
    text += "[independence]\npolicy = \"any\"\n";
    text += "[versions.a]\nbaseline = true\nvars = { v = \"1\" }\n[versions.b]\nvars = { v = \"2\" }\n";
    for benchmark in 0..BENCHMARKS {
        write!(text, "[benchmarks.b{benchmark}]\ncommand = [\"b{benchmark}\", \"{{v}}\"]\n")?;
    }
    let plan = Plan::draw(plan::file::parse(&text, Seed(1))?);
    let standing = StudyStanding {
        experiment: experiment()?,
        submitted: Timestamp(0),
        submitted_by: "bench".to_owned(),
        phase: StudyPhase::Finished { at: Timestamp(1), cancelled: false },
        tally: Tally::default(),
    };
    let cells = plan.order().to_vec();
    let mut times = Vec::new();
    for cell in 0..plan.cells() {
        times.push(times_of(cell)?);
    }
    let mut study = Study::new(plan, standing);
    for (run, cell) in (0..).zip(cells) {
        let outcome = times[cell as usize].pop();
        study.add(&attempt(run, cell, outcome)?)?;
    }
    Ok(study)
}

/// Run times in one to three clusters around 50 ms, a candidate of every third benchmark 2 % faster.
fn times_of(cell: u32) -> Result<Vec<u64>, MixtureError> {
    let laws: [&[(f64, f64, f64)]; 3] = [
        &[(1.0, 50.0, 2.0)],
        &[(0.6, 40.0, 2.0), (0.4, 52.0, 3.0)],
        &[(0.3, 30.0, 1.5), (0.5, 42.0, 2.0), (0.2, 55.0, 1.0)],
    ];
    let component = |&(weight, mean, sd): &(f64, f64, f64)| Component { weight, mean, sd };
    let law = Mixture::new(laws[(cell / 2) as usize % 3].iter().map(component).collect())?;
    let mut values = Vec::new();
    let runs = SIZES[(cell / 2) as usize % SIZES.len()];
    law.draw(runs as usize, &mut Seed(u64::from(cell)).child("report"), &mut values);
    let factor = if cell % 6 == 1 { 0.98 } else { 1.0 };
    Ok(values.iter().map(|ms| (ms * factor * 1e6) as u64).collect())
}

fn experiment() -> Result<ExperimentId, Box<dyn Error>> {
    Ok("00000000-0000-7000-8000-000000000001".parse()?)
}

fn attempt(run: u32, cell: u32, wall_ns: Option<u64>) -> Result<EndedAttempt, Box<dyn Error>> {
    let evidence = Evidence::first("boot".parse()?);
    let lease = Lease {
        epoch: LeaseEpoch(u64::from(run)),
        experiment: experiment()?,
        run: RunIndex(run),
        attempt: Attempt(1),
        host: format!("host-{}", run % HOSTS).parse()?,
        agent_epoch: AgentEpoch(1),
        granted: Timestamp(0),
        deadline: Timestamp(1),
        started: None,
        evidence,
        seat: None,
    };
    let outcome = match wall_ns {
        Some(_) => Outcome::Measured,
        None => Outcome::Failed(Failure::TimedOut { limit: Span::from_secs(1) }),
    };
    let record = Record {
        metrics: wall_ns.map(|ns| (Metric::Wall, ns)).into_iter().collect(),
        ..Record::bare(outcome)
    };
    Ok(EndedAttempt { lease, cell, ended: Timestamp(1), end: AttemptEnd::reported(record) })
}
