//! Leases and durable reports a second over gRPC, with simulated agents in this process: real connections, real journal,
//! no execution.
//!
//! `cargo bench -p speedup-coordinator --bench throughput`; `SPEEDUP_BENCH_RUNS` sets the runs of each measurement,
//! `SPEEDUP_BENCH_DIR` where the journal lies (a real disk, not memory).
#![expect(clippy::print_stdout, reason = "a program that prints figures")]

mod simulated;
mod workload;

use std::path::Path;
use std::time::Instant;

use simulated::serve;
use speedup_coordinator::{Coordinator, Options, start};
use speedup_core::machine::Settings;
use speedup_proto::v1;
use speedup_proto::v1::experiments_client::ExperimentsClient;
use tonic::transport::{Channel, Endpoint};
use workload::experiment;

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
