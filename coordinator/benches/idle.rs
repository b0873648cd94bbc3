//! What a coordinator costs while ten thousand agents are connected and have nothing to do: CPU time and memory of its
//! process, over real gRPC. The agents are simulated in another process.
//!
//! `cargo bench -p speedup-coordinator --bench idle`; `SPEEDUP_BENCH_AGENTS` sets how many agents (10 000),
//! `SPEEDUP_BENCH_SECONDS` for how long it is watched (30), `SPEEDUP_BENCH_TLS=1` secures connections as in service. Each process needs a file an agent (`ulimit -Hn`).
#![expect(clippy::print_stdout, reason = "a program that prints figures")]

mod apart;
mod simulated;
mod workload;

use std::time::{Duration, Instant};

use apart::{Coordinator, Usage};
use speedup_proto::{v1, v1::experiments_client::ExperimentsClient, v1::hosts_client::HostsClient};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The first measurement begins this long after the last agent joined.
const CALM: Duration = Duration::from_secs(3);

fn main() -> Result<(), Failure> {
    if let Some(coordinated) = apart::coordinate_if_told() {
        return coordinated;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let number =
        |name: &str, usual| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (agents, seconds) = (number("SPEEDUP_BENCH_AGENTS", 10_000), number("SPEEDUP_BENCH_SECONDS", 30));
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let coordinator = Coordinator::start(directory.path())?;
    let watched = runtime.block_on(watch(&coordinator, agents, seconds));
    // The agents first: they would complain that the coordinator is gone.
    runtime.shutdown_background();
    coordinator.kill()?;
    watched
}

async fn watch(coordinator: &Coordinator, agents: u32, seconds: u32) -> Result<(), Failure> {
    let before = coordinator.usage()?;
    let begin = Instant::now();
    simulated::join(&coordinator.site, agents, &simulated::Run::default()).await?;
    println!("{agents} agents joined within {:.1} s", begin.elapsed().as_secs_f64());
    tokio::time::sleep(CALM).await;
    measure(coordinator, before, agents, seconds).await?;
    let channel = coordinator.site.reach()?.connect().await?;
    let hosts = HostsClient::new(channel.clone()).list(v1::ListHostsRequest::default()).await?;
    let listed = ExperimentsClient::new(channel).list(v1::ListRequest::default()).await?;
    let (hosts, listed) = (hosts.into_inner(), listed.into_inner());
    println!(
        "it answers: {} hosts on the first page, {} experiments",
        hosts.hosts.len(),
        listed.experiments.len()
    );
    Ok(())
}

async fn measure(coordinator: &Coordinator, before: Usage, agents: u32, seconds: u32) -> Result<(), Failure> {
    let (begin, first) = (Instant::now(), coordinator.usage()?);
    tokio::time::sleep(Duration::from_secs(seconds.into())).await;
    let (elapsed, last) = (begin.elapsed().as_secs_f64(), coordinator.usage()?);
    println!(
        "{agents} idle agents: {:.3} % of a core over {elapsed:.0} s; resident {} MB, {} MB before they came: {:.1} KB an \
         agent; {} wakeups",
        (last.ticks - first.ticks) as f64 / elapsed,
        last.resident_kb / 1_000,
        before.resident_kb / 1_000,
        (last.resident_kb.saturating_sub(before.resident_kb)) as f64 / f64::from(agents),
        last.switches - first.switches,
    );
    Ok(())
}
