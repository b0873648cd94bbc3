//! Leases and durable reports a second over gRPC, with simulated agents in this process: real connections, real journal,
//! no execution.
//!
//! `cargo bench -p speedup-coordinator --bench throughput`; `SPEEDUP_BENCH_RUNS` sets the runs of each measurement,
//! `SPEEDUP_BENCH_DIR` where the journal lies (a real disk, not memory).
#![expect(clippy::print_stdout, reason = "a program that prints figures")]

mod workload;

use std::path::Path;
use std::time::Instant;

use speedup_coordinator::{Coordinator, Options, start};
use speedup_core::agent::{Action, Agent, Input};
use speedup_core::host::HostFacts;
use speedup_core::id::{AgentEpoch, AgentId};
use speedup_core::machine::Settings;
use speedup_core::message::CoordinatorMessage;
use speedup_proto::v1;
use speedup_proto::v1::agents_client::AgentsClient;
use speedup_proto::v1::experiments_client::ExperimentsClient;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};
use uuid::Uuid;
use workload::{experiment, record};

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let runs: u32 =
        std::env::var("SPEEDUP_BENCH_RUNS").ok().and_then(|text| text.parse().ok()).unwrap_or(200_000);
    let parent =
        std::env::var("SPEEDUP_BENCH_DIR").unwrap_or_else(|_| env!("CARGO_TARGET_TMPDIR").to_owned());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    for agents in [1, 16, 1_000] {
        let directory = tempfile::tempdir_in(&parent)?;
        let runs = if agents == 1 { runs / 20 } else { runs };
        let seconds = runtime.block_on(measure(directory.path(), agents, runs))?;
        println!(
            "{agents:>5} agents: {:>8.0} runs/s leased and durably reported ({runs} runs)",
            f64::from(runs) / seconds
        );
    }
    Ok(())
}

async fn open(data: &Path) -> Result<Coordinator, Failure> {
    let bind = ([127, 0, 0, 1], 0).into();
    let options = Options { data: data.to_owned(), bind, settings: Settings::default() };
    Ok(start(options, |_, routes| routes).await?)
}

async fn measure(data: &Path, agents: u32, runs: u32) -> Result<f64, Failure> {
    let coordinator = open(data).await?;
    let address = format!("http://{}", coordinator.address());
    let mut joined = Vec::new();
    for number in 0..agents {
        let (report, done) = tokio::sync::oneshot::channel();
        let served = serve(address.clone(), number, report);
        tokio::spawn(async move {
            if let Err(error) = served.await {
                println!("agent {number}: {error:?}");
            }
        });
        joined.push(done);
    }
    for done in joined {
        done.await?;
    }
    let mut client =
        ExperimentsClient::new(Endpoint::from_shared(address)?.tcp_nodelay(true).connect().await?);
    let begin = Instant::now();
    let experiment = Some(v1::Experiment::from(&experiment(runs / 20)));
    let submit = v1::SubmitRequest { experiment, wait_for_hosts: true, by: "bench".to_owned() };
    let id = client.submit(submit).await?.into_inner().experiment;
    wait(&mut client, id).await?;
    let seconds = begin.elapsed().as_secs_f64();
    coordinator.stop().await;
    Ok(seconds)
}

async fn wait(client: &mut ExperimentsClient<Channel>, experiment: Vec<u8>) -> Result<(), Failure> {
    let mut statuses = client.watch(v1::GetRequest { experiment }).await?.into_inner();
    while statuses.message().await?.is_some() {}
    Ok(())
}

/// A simulated agent: the real machine on a real connection, which executes in no time and keeps nothing.
async fn serve(
    address: String,
    number: u32,
    joined: tokio::sync::oneshot::Sender<()>,
) -> Result<(), Failure> {
    let channel = Endpoint::from_shared(address)?.tcp_nodelay(true).connect().await?;
    let host = format!("4d2c7c1e5f0b4f0c9d3e{number:012}").parse()?;
    let facts = HostFacts::bare(host, format!("8b6e1a52-3f5f-4b53-9c0e-{number:012}").parse()?);
    let mut agent =
        Agent::new(facts, AgentId(Uuid::from_u128(u128::from(number))), AgentEpoch(1), Vec::new());
    let (up, messages) = mpsc::channel(64);
    let mut joined = Some(joined);
    act(&mut agent, Input::LinkUp, &up).await?;
    let mut down = AgentsClient::new(channel).session(ReceiverStream::new(messages)).await?.into_inner();
    while let Some(message) = down.message().await? {
        let message = CoordinatorMessage::try_from(message)?;
        if matches!(message, CoordinatorMessage::Welcome { .. }) {
            joined.take().map(|joined| joined.send(()));
        }
        act(&mut agent, Input::Heard(message), &up).await?;
    }
    Ok(())
}

async fn act(agent: &mut Agent, input: Input, up: &mpsc::Sender<v1::AgentMessage>) -> Result<(), Failure> {
    let mut next = Some(input);
    while let Some(input) = next.take() {
        for action in agent.handle(input) {
            match action {
                Action::Send(message) => up.send(message.into()).await?,
                Action::Execute(_) => next = Some(Input::Executed(record())),
                Action::Keep(_)
                | Action::Forget(_)
                | Action::Remember(_)
                | Action::Complain { .. }
                | Action::Withdraw { .. } => {}
            }
        }
    }
    Ok(())
}
