//! A report over 2,438 samples of 30 to 1000 run times (the size of Worms 2016's experiment), with and without mixtures;
//! or over a million runs of 20 cells on 10,000 hosts, with what taking them in costs and the most memory of both.
//!
//! `cargo bench -p speedup-analysis --bench report`
//!
//! `SPEEDUP_BENCH_OF=million-runs cargo bench -p speedup-analysis --bench report`, or `SPEEDUP_BENCH_OF=unlike-hosts`, where the hosts
//! differ, so that many are outlying.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program that prints figures of the clock"
)]

use rand::RngExt as _;
use speedup_analysis::study::{MixtureReport, Mixtures, Report, ReportOptions, Study, StudyStanding};
use speedup_core::machine::event::{AttemptEnd, EndedAttempt, Tally};
use speedup_core::run::{lease::Evidence, lease::Lease, record::Failure, record::Outcome, record::Record};
use speedup_core::value::id::{AgentEpoch, Attempt, BootId, ExperimentId, LeaseEpoch, RunIndex};
use speedup_core::value::{seed::Seed, time::Span, time::Timestamp};
use speedup_core::{experiment::Metric, plan, plan::Plan};
use speedup_statistics::mixture::{Component, Mixture, MixtureError};
use std::hash::{Hash as _, Hasher as _};
use std::{error::Error, fmt::Write as _, sync::Arc, time::Duration, time::Instant};

/// Benchmarks of two versions each: 2,438 samples.
const BENCHMARKS: u32 = 1_219;
/// The runs that the plan has of each cell; in most cells some of them fail.
const RUNS: u32 = 1_000;
/// Sizes of samples, in turn.
const SIZES: [u32; 5] = [30, 50, 100, 300, 1_000];
/// Hosts that serve the runs in turn.
const HOSTS: u32 = 400;

/// Of the million runs: benchmarks of two versions, runs of each cell, and hosts.
const LARGE: (u32, u32, u32) = (10, 50_000, 10_000);
/// Attempts that are made before they are taken in, which alone is timed.
const AT_ONCE: u32 = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    println!("{} threads", rayon::current_num_threads());
    match std::env::var("SPEEDUP_BENCH_OF").as_deref() {
        Err(_) => many_samples(),
        Ok("million-runs") => million_runs(0.0),
        Ok("unlike-hosts") => million_runs(0.001),
        Ok(other) => {
            Err(format!("SPEEDUP_BENCH_OF={other}: it is million-runs, unlike-hosts, or not set").into())
        }
    }
}

/// Of hosts of seven kinds, each slower than the one before by `step`, as a share of the time.
fn million_runs(step: f64) -> Result<(), Box<dyn Error>> {
    let (benchmarks, runs, _) = LARGE;
    let mut study = empty_study(benchmarks, runs)?;
    let cells = study.plan().order().to_vec();
    let (mut taken, mut processors) = (Duration::ZERO, 0.0);
    for (chunk, cells) in (0..).zip(cells.chunks(AT_ONCE as usize)) {
        let attempts = (chunk * AT_ONCE..).zip(cells).map(|(run, cell)| measured_attempt(run, *cell, step));
        let attempts: Vec<EndedAttempt> = attempts.collect::<Result<_, _>>()?;
        let (start, before) = (Instant::now(), own_processor_seconds()?);
        attempts.iter().try_for_each(|attempt| study.add(attempt))?;
        taken += start.elapsed();
        processors += own_processor_seconds()? - before;
    }
    println!("{} runs taken in: {taken:.2?}, {processors:.2} s of processors, {}", cells.len(), memory()?);
    drop(cells);
    let (start, before) = (Instant::now(), processor_seconds()?);
    let report = study.report(None)?;
    let (taken, processors) = (start.elapsed(), processor_seconds()? - before);
    println!("report: {taken:.2?}, {processors:.2} s of processors, {}", memory()?);
    let mut hasher = std::hash::DefaultHasher::new();
    let json = serde_json::to_string(&report)?;
    json.hash(&mut hasher);
    println!("{} bytes of JSON, hash {:016x}", json.len(), hasher.finish());
    Ok(())
}

/// The most memory that this process has had so far, and what it has now.
fn memory() -> Result<String, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let told = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name));
        let kib = line.and_then(|line| line.split_whitespace().nth(1)).map_or(Ok(0), str::parse::<u64>);
        kib.map(|kib| kib / 1024)
    };
    Ok(format!("{} MiB at most, {} MiB now", told("VmHWM:")?, told("VmRSS:")?))
}

/// The processor time that this thread has had, in seconds, by the scheduler's clock.
fn own_processor_seconds() -> Result<f64, Box<dyn Error>> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(told.split_whitespace().next().map_or(Ok(0.0), str::parse::<f64>)? / 1e9)
}

/// A run of the large experiment, with all that a lease tells of a host that serves a hundred runs.
fn measured_attempt(run: u32, cell: u32, step: f64) -> Result<EndedAttempt, Box<dyn Error>> {
    let host = run % LARGE.2;
    let id = format!("{:032x}", u128::from(host).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835));
    let boot: BootId = format!("b{id}").parse()?;
    let noise: f64 = Seed(run.into()).child("noise").random();
    let slower = step * f64::from(host % 7) + 0.001 * f64::from(cell % 2);
    let wall_ns = (1e8 * (1.0 + 0.02 * noise + slower)) as u64;
    let mut ended = attempt(run, cell, Some(wall_ns))?;
    let began = 100_000_000 * u64::from(run / LARGE.2);
    let served = run / LARGE.2;
    ended.lease.host = id.parse()?;
    ended.lease.granted = Timestamp(began);
    ended.lease.started = Some(Timestamp(began + 1_000_000));
    ended.ended = Timestamp(began + 1_000_000 + wall_ns);
    ended.lease.evidence = Evidence {
        served_in_scope: served / LARGE.0,
        served_in_all: served.into(),
        idle: (served > 0).then_some(Span(1_000)),
        boot_before: (served >= LARGE.0).then(|| boot.clone()),
        class: Some("0123456789abcdef0123456789abcdef".parse()?),
        machine: Some(id.parse()?),
        host_name: Some(format!("host-{host}").parse()?),
        ..Evidence::first(boot)
    };
    if let AttemptEnd::Reported(record) = &mut ended.end {
        let others = [
            (Metric::User, wall_ns / 10_000_000),
            (Metric::System, 1),
            (Metric::MaxRss, 4096 * noise as u64),
        ];
        Arc::make_mut(record).metrics.extend(others);
    }
    Ok(ended)
}

fn many_samples() -> Result<(), Box<dyn Error>> {
    let study = study()?;
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

/// Of so many benchmarks of two versions, with so many runs of each cell.
fn empty_study(benchmarks: u32, runs: u32) -> Result<Study, Box<dyn Error>> {
    let mut text = format!("[experiment]\nname = \"report\"\nseed = 1\n[repetitions]\nruns = {runs}\n");
    text += "[independence]\npolicy = \"any\"\n";
    text += "[versions.a]\nbaseline = true\nvars = { v = \"1\" }\n[versions.b]\nvars = { v = \"2\" }\n";
    for benchmark in 0..benchmarks {
        write!(text, "[benchmarks.b{benchmark}]\ncommand = [\"b{benchmark}\", \"{{v}}\"]\n")?;
    }
    let plan = Plan::draw(plan::file::parse(&text, Seed(1))?);
    let standing = StudyStanding {
        experiment: experiment()?,
        submitted: Timestamp(0),
        submitted_by: "bench".to_owned(),
        phase: speedup_core::machine::StatusPhase::Finished { at: Timestamp(1), cancelled: false },
        tally: Tally::default(),
    };
    Ok(Study::new(plan, standing))
}

fn study() -> Result<Study, Box<dyn Error>> {
    let mut study = empty_study(BENCHMARKS, RUNS)?;
    let cells = study.plan().order().to_vec();
    let mut times = Vec::new();
    for cell in 0..study.plan().cells() {
        times.push(times_of(cell)?);
    }
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
