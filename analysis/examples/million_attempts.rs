//! How long a study of a million attempts takes, fed one by one, and its report.
//!
//!     cargo run --release -p speedup-analysis --example million_attempts [benchmarks] [runs of each cell]

#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "it measures, and prints its figures")]

use speedup_analysis::study::{Study, StudyStanding};
use speedup_core::machine::{StatusPhase, event::AttemptEnd, event::EndedAttempt, event::Tally};
use speedup_core::run::{lease::Evidence, lease::Lease, record::Outcome, record::Record};
use speedup_core::value::id::{AgentEpoch, Attempt, ExperimentId, LeaseEpoch, RunIndex};
use speedup_core::value::{seed::Seed, seed::below, time::Timestamp};
use speedup_core::{experiment::Metric, plan, plan::Plan};
use std::{error::Error, fmt::Write as _, time::Duration, time::Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let mut given = std::env::args().skip(1).map(|text| text.parse::<u32>());
    let benchmarks = given.next().transpose()?.unwrap_or(1_000);
    let runs = given.next().transpose()?.unwrap_or(500);
    let plan = plan(benchmarks, runs)?;
    let attempts = plan.runs();
    let standing = StudyStanding {
        experiment: experiment()?,
        submitted: Timestamp(0),
        submitted_by: "example".to_owned(),
        phase: StatusPhase::Finished { at: Timestamp(1), cancelled: false },
        tally: Tally::default(),
    };
    let cells = plan.order().to_vec();
    let mut study = Study::new(plan, standing);
    let mut random = Seed(1).child("example");
    let mut feeding = Duration::ZERO;
    for (run, cell) in (0..attempts).zip(cells) {
        let attempt = attempt(run, cell, 100_000_000 + below(10_000_000, &mut random))?;
        let start = Instant::now();
        study.add(&attempt)?;
        feeding += start.elapsed();
    }
    let start = Instant::now();
    let report = study.report(None)?;
    let reporting = start.elapsed();
    let start = Instant::now();
    let bytes = serde_json::to_string(&report)?.len();
    println!("{attempts} attempts, {benchmarks} benchmarks, {runs} runs of each cell");
    println!("feeding {feeding:?}, report {reporting:?}, JSON {:?} ({bytes} bytes)", start.elapsed());
    println!("{}", report.suites[0].sentence);
    Ok(())
}

fn experiment() -> Result<ExperimentId, Box<dyn Error>> {
    Ok("00000000-0000-7000-8000-000000000001".parse()?)
}

fn plan(benchmarks: u32, runs: u32) -> Result<Plan, Box<dyn Error>> {
    let mut text = format!("[experiment]\nname = \"million\"\n[repetitions]\nruns = {runs}\n");
    text += "[versions.a]\nbaseline = true\nvars = { v = \"1\" }\n[versions.b]\nvars = { v = \"2\" }\n";
    for benchmark in 0..benchmarks {
        write!(text, "[benchmarks.b{benchmark}]\ncommand = [\"b{benchmark}\", \"{{v}}\"]\n")?;
    }
    Ok(Plan::draw(plan::file::parse(&text, Seed(1))?))
}

fn attempt(run: u32, cell: u32, wall_ns: u64) -> Result<EndedAttempt, Box<dyn Error>> {
    let evidence = Evidence::first("boot".parse()?);
    let lease = Lease {
        epoch: LeaseEpoch(u64::from(run)),
        experiment: experiment()?,
        run: RunIndex(run),
        attempt: Attempt(1),
        host: format!("host-{}", run % 10_000).parse()?,
        agent_epoch: AgentEpoch(1),
        granted: Timestamp(0),
        deadline: Timestamp(1),
        started: None,
        evidence,
        seat: None,
    };
    let metrics = [(Metric::Wall, wall_ns), (Metric::User, wall_ns), (Metric::MaxRss, 4 << 20)];
    let record = Record { metrics: metrics.into_iter().collect(), ..Record::bare(Outcome::Measured) };
    Ok(EndedAttempt { lease, cell, ended: Timestamp(1), end: AttemptEnd::reported(record) })
}
