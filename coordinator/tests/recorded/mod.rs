//! A data directory with a journal of many small segments, a checkpoint and a store; and what of it was acknowledged.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use speedup_coordinator::{Coordinator, Options, Security, StartError, StoreCache};
use speedup_core::{
    agent::message::AttemptReport, host::HostFacts, machine::Command, machine::Effect, machine::Machine,
    machine::Settings, machine::Speaker, plan, plan::Plan, run::record::Outcome, run::record::Output,
    run::record::Record, value::id::AgentEpoch, value::id::AgentId, value::id::ExperimentId,
    value::seed::Seed, value::seed::below, value::time::Timestamp,
};
use speedup_journal::{Journal, JournalId, PayloadVersion};
use speedup_proto::journal_payload;
use speedup_proto::v1::experiments_client::ExperimentsClient;
use speedup_proto::v1::{ExportChunk, ExportRequest, export_chunk};
use uuid::Uuid;

/// What was acknowledged: of each experiment its plan's order and its attempts.
pub(crate) type Acknowledged = BTreeMap<ExperimentId, Vec<ExportChunk>>;

const EXPERIMENTS: u128 = 4;
/// Runs of each cell; there are two.
const RUNS: u32 = 60;
/// So that there are many.
const SEGMENT_BYTES: u64 = 16 << 10;

pub(crate) fn start(data: &Path) -> Result<Running, StartError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let bind = ([127, 0, 0, 1], 0).into();
    let options = Options {
        data: data.to_owned(),
        bind,
        security: Security::Plain,
        settings: Settings::default(),
        store_cache: StoreCache::Serving,
        agents: None,
        metrics: None,
    };
    let coordinator = runtime.block_on(speedup_coordinator::start(options, |_, routes| routes))?;
    Ok(Running { runtime, coordinator })
}

/// A coordinator and what it runs on.
pub(crate) struct Running {
    runtime: tokio::runtime::Runtime,
    coordinator: Coordinator,
}

/// All that a coordinator has of these experiments; then it is stopped.
pub(crate) fn export<'a>(
    running: Running,
    experiments: impl Iterator<Item = &'a ExperimentId>,
) -> Acknowledged {
    let Running { runtime, coordinator } = running;
    runtime.block_on(async {
        let url = format!("http://{}", coordinator.address());
        let mut client = ExperimentsClient::connect(url).await.unwrap().max_decoding_message_size(64 << 20);
        let mut all = Acknowledged::new();
        for experiment in experiments {
            let request = ExportRequest { experiment: experiment.to_string(), ..ExportRequest::default() };
            let mut pieces = client.export(request).await.unwrap().into_inner();
            let kept = all.entry(*experiment).or_default();
            while let Some(mut piece) = pieces.message().await.unwrap() {
                if let Some(export_chunk::Part::Head(head)) = &mut piece.part {
                    // Hosts come and go with the coordinator.
                    head.status.as_mut().unwrap().hosts_here = 0;
                }
                kept.push(piece);
            }
        }
        coordinator.stop().await;
        all
    })
}

/// Fills a data directory, the last experiment still active, and gives what was acknowledged.
pub(crate) fn record(data: &Path) -> Acknowledged {
    let ids: Vec<ExperimentId> = (1..=EXPERIMENTS).map(|id| ExperimentId(Uuid::from_u128(id))).collect();
    write(data, &ids);
    let acknowledged = export(start(data).unwrap(), ids.iter());
    let attempts = |pieces: &Vec<ExportChunk>| {
        let of = |piece: &ExportChunk| match &piece.part {
            Some(export_chunk::Part::Attempts(attempts)) => attempts.attempts.len(),
            _ => 0,
        };
        pieces.iter().map(of).sum::<usize>()
    };
    let all: usize = acknowledged.values().map(attempts).sum();
    let last = RUNS as usize;
    assert_eq!(all, (EXPERIMENTS as usize - 1) * 2 * RUNS as usize + last, "every report is there");
    acknowledged
}

fn write(data: &Path, ids: &[ExperimentId]) {
    let options = speedup_journal::Options {
        segment_bytes: SEGMENT_BYTES,
        ..speedup_journal::Options::new(JournalId([1; 16]))
    };
    let mut journal = Journal::open(data.join("journal"), &options).unwrap().0;
    let mut machine = Machine::new(Settings::default());
    let mut random = Seed(1).child("recorded");
    let (mut clock, mut buffer) = (0, Vec::new());
    let mut handle = |command: Command| -> Vec<Effect> {
        clock += 1_000;
        let outcome = machine.handle(Timestamp(clock), command).unwrap();
        for event in outcome.events {
            buffer.clear();
            if journal_payload::encode(&event, &mut buffer).is_ok() {
                journal.append(PayloadVersion(journal_payload::VERSION), &buffer).unwrap();
            }
        }
        journal.sync().unwrap();
        outcome.effects
    };
    let speaker = Speaker { host: "host".parse().unwrap(), epoch: AgentEpoch(1) };
    let (host, boot) = (speaker.host.clone(), "boot".parse().unwrap());
    let facts = HostFacts::bare(host, boot);
    handle(Command::Join { facts, agent: AgentId(Uuid::from_u128(1)), epoch: speaker.epoch });
    for (number, experiment) in ids.iter().enumerate() {
        let plan = Arc::new(Plan::draw(plan()));
        let runs = if number + 1 == ids.len() { RUNS } else { plan.runs() };
        let (experiment, by) = (*experiment, "test".to_owned());
        handle(Command::Submit { experiment, plan, by, wait_for_hosts: false, request: None });
        for _ in 0..runs {
            let asked = handle(Command::Ask(speaker.clone()));
            let Some(Effect::Grant { lease, .. }) = asked.first() else { panic!("nothing was granted") };
            let (lease, executed_by) = (lease.epoch, speaker.epoch);
            let kept = (0..below(2_000, &mut random)).map(|_| below(256, &mut random) as u8).collect();
            let stdout = Output { bytes: 2_000, blake3: [7; 32], kept };
            let record = Record { stdout, ..Record::bare(Outcome::Measured) };
            let report = Box::new(AttemptReport { lease, executed_by, record });
            handle(Command::Report { speaker: speaker.clone(), report });
        }
    }
    journal.close().unwrap();
}

fn plan() -> speedup_core::experiment::Experiment {
    let text = format!(
        "[experiment]\nname = \"damage\"\n[versions.old]\nbaseline = true\n[versions.new]\n[benchmarks.b]\n\
         command = [\"true\"]\n[repetitions]\nruns = {RUNS}\n[independence]\npolicy = \"any\"\n"
    );
    plan::file::parse(&text, Seed(1)).unwrap()
}
