//! How long a coordinator takes to start on a journal of many recorded runs, and how much memory it needs: with the store
//! in step, and with the store gone. The journal is written by the machine itself, without a network; each start is
//! measured in a process of its own.
//!
//! `cargo bench -p speedup-coordinator --bench recovery`; `SPEEDUP_BENCH_RUNS` sets the runs (1 000 000),
//! `SPEEDUP_BENCH_EACH` how many of them an experiment has (100 000), `SPEEDUP_BENCH_HOSTS` how many hosts execute them in turn
//! (1), `SPEEDUP_BENCH_CONDITIONS=1` gives records their conditions and programs, as agents report them, and `SPEEDUP_BENCH_DATA` names a
//! data directory that stays, and is used as it is when it is there.
#![expect(clippy::print_stdout, reason = "a program that prints figures")]

mod workload;

use std::{path::Path, path::PathBuf, process::Command as Process, sync::Arc, time::Instant};

use speedup_coordinator::{Options, Security, StoreCache, start};
use speedup_core::{
    agent::message::AttemptReport, host::HostFacts, machine::Command, machine::Effect, machine::Machine,
    machine::Settings, machine::Speaker, plan::Plan, run::record::Record, value::id::AgentEpoch,
    value::id::AgentId, value::id::ExperimentId, value::time::Timestamp,
};
use speedup_journal::{Journal, JournalId, PayloadVersion};
use speedup_proto::journal_payload;
use uuid::Uuid;
use workload::{experiment, record, record_with_conditions};

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--recover") {
        return recover(Path::new(&arguments[at + 1]));
    }
    let number =
        |name: &str, usual: u32| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (runs, each) = (number("SPEEDUP_BENCH_RUNS", 1_000_000), number("SPEEDUP_BENCH_EACH", 100_000));
    let hosts = number("SPEEDUP_BENCH_HOSTS", 1);
    let record = if number("SPEEDUP_BENCH_CONDITIONS", 0) == 0 { record } else { record_with_conditions };
    let temporary = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let kept = std::env::var("SPEEDUP_BENCH_DATA").ok().map(PathBuf::from);
    let directory = kept.as_deref().unwrap_or(temporary.path());
    if !directory.join("journal").exists() {
        write(directory, (runs, each), hosts, record)?;
    }
    for what in ["store built from the journal", "store in step", "store in step"] {
        let output = Process::new(&arguments[0]).arg("--recover").arg(directory).output()?;
        println!("{runs} runs, {what}: {}", String::from_utf8_lossy(&output.stdout).trim());
    }
    Ok(())
}

fn recover(data: &Path) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let begin = Instant::now();
    let options = Options {
        data: data.to_owned(),
        bind: ([127, 0, 0, 1], 0).into(),
        security: Security::Plain,
        settings: Settings::default(),
        store_cache: StoreCache::Serving,
        agents: None,
        metrics: None,
    };
    let coordinator = runtime.block_on(start(options, |_, routes| routes))?;
    let seconds = begin.elapsed().as_secs_f64();
    let status = std::fs::read_to_string("/proc/self/status")?;
    let field =
        |name: &str| status.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    println!("listens after {seconds:.2} s; {} {}", field("VmRSS"), field("VmHWM"));
    runtime.block_on(coordinator.stop());
    Ok(())
}

fn write(
    data: &Path,
    (runs, each): (u32, u32),
    hosts: u32,
    record: fn(u64) -> Record,
) -> Result<(), Failure> {
    let folder = data.join("journal");
    std::fs::create_dir_all(&folder)?;
    let (mut journal, _) = Journal::open(&folder, &speedup_journal::Options::new(JournalId([1; 16])))?;
    let mut machine = Machine::new(Settings::default());
    let mut clock = 0_u64;
    let mut buffer = Vec::new();
    let mut handle = |command: Command| -> Result<Vec<Effect>, Failure> {
        clock += 1_000;
        let outcome = machine.handle(Timestamp(clock), command)?;
        for event in outcome.events {
            buffer.clear();
            if journal_payload::encode(&event, &mut buffer).is_ok() {
                journal.append(PayloadVersion(journal_payload::VERSION), &buffer)?;
            }
        }
        if clock.is_multiple_of(1_000_000) {
            journal.sync()?;
        }
        Ok(outcome.effects)
    };
    let mut speakers = Vec::new();
    for number in 1..=hosts {
        let speaker =
            Speaker { host: format!("4d2c7c1e5f0b4f0c9d3e{number:012x}").parse()?, epoch: AgentEpoch(1) };
        let boot = format!("8b6e1a52-3f5f-4b53-9c0e-{number:012x}").parse()?;
        let facts = HostFacts::bare(speaker.host.clone(), boot);
        handle(Command::Join {
            facts,
            agent: AgentId(Uuid::from_u128(number.into())),
            epoch: speaker.epoch,
        })?;
        speakers.push(speaker);
    }
    let mut speakers = speakers.iter().cycle();
    for number in 0..runs.div_ceil(each) {
        let plan = Arc::new(Plan::draw(experiment(each.min(runs) / 20)));
        let (experiment, by) = (ExperimentId(Uuid::from_u128(u128::from(number))), "bench".to_owned());
        handle(Command::Submit { experiment, plan: plan.clone(), by, wait_for_hosts: false, request: None })?;
        for run in 0..plan.runs() {
            let speaker = speakers.next().ok_or("there are no hosts")?;
            let asked = handle(Command::Ask(speaker.clone()))?;
            let Some(Effect::Grant { lease, .. }) = asked.first() else {
                return Err("nothing was granted".into());
            };
            let (lease, executed_by) = (lease.epoch, speaker.epoch);
            handle(Command::Started { speaker: speaker.clone(), lease })?;
            let report = Box::new(AttemptReport { lease, executed_by, record: record(run.into()) });
            handle(Command::Report { speaker: speaker.clone(), report })?;
        }
    }
    journal.sync()?;
    journal.close()?;
    Ok(())
}
