//! Leases and durable reports a second over gRPC, with simulated agents: real connections, real journal, no execution. The
//! agents are in this process, the coordinator is in another.
//!
//! `cargo bench -p speedup-coordinator --bench throughput`; `SPEEDUP_BENCH_AGENTS` sets how many agents ("1 16 1000
//! 10000"), `SPEEDUP_BENCH_RUNS` the runs of each measurement, `SPEEDUP_BENCH_DIR` where the journal lies (a real disk, not
//! memory); `SPEEDUP_BENCH_TLS=1` has connections secured by TLS on both sides, as they are in service. For each run an agent
//! does nothing, or waits `SPEEDUP_BENCH_RUN_US` microseconds, or executes the program `SPEEDUP_BENCH_PROGRAM`;
//! `SPEEDUP_BENCH_CONDITIONS=1` has it report the conditions of the run, as agents do.
#![expect(clippy::print_stdout, reason = "a program that prints figures")]

mod apart;
mod simulated;
mod workload;

use std::{path::PathBuf, time::Duration, time::Instant};

use apart::{Coordinator, Usage};
use simulated::Run;
use speedup_proto::{v1, v1::experiments_client::ExperimentsClient, v1::hosts_client::HostsClient};
use tonic::transport::Channel;
use workload::experiment;

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    if let Some(coordinated) = apart::coordinate_if_told() {
        return coordinated;
    }
    let text = |name: &str, usual: &str| std::env::var(name).unwrap_or_else(|_| usual.to_owned());
    let runs: u32 = text("SPEEDUP_BENCH_RUNS", "200000").parse()?;
    let run = Run {
        lasts: Duration::from_micros(text("SPEEDUP_BENCH_RUN_US", "0").parse()?),
        program: std::env::var_os("SPEEDUP_BENCH_PROGRAM").map(PathBuf::from),
        with_conditions: std::env::var_os("SPEEDUP_BENCH_CONDITIONS").is_some(),
    };
    let parent = text("SPEEDUP_BENCH_DIR", env!("CARGO_TARGET_TMPDIR"));
    for agents in text("SPEEDUP_BENCH_AGENTS", "1 16 1000 10000").split_ascii_whitespace() {
        let directory = tempfile::tempdir_in(&parent)?;
        let agents: u32 = agents.parse()?;
        let runs = if agents == 1 { runs / 20 } else { runs };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let coordinator = Coordinator::start(directory.path())?;
        let measured = runtime.block_on(measure(&coordinator, agents, runs, &run));
        runtime.shutdown_background();
        coordinator.kill()?;
        measured?;
    }
    Ok(())
}

async fn measure(coordinator: &Coordinator, agents: u32, runs: u32, run: &Run) -> Result<(), Failure> {
    simulated::join(&coordinator.site, agents, run).await?;
    let channel = coordinator.site.reach()?.connect().await?;
    let mut client = ExperimentsClient::new(channel.clone());
    let (begin, before, mine) = (Instant::now(), coordinator.usage()?, Usage::of(std::process::id())?);
    let plan = v1::submit_request::Plan::Experiment(v1::Experiment::from(&experiment(runs / 20)));
    let submit = v1::SubmitRequest {
        plan: Some(plan),
        wait_for_hosts: true,
        by: "bench".to_owned(),
        request_id: String::new(),
    };
    let id = client.submit(submit).await?.into_inner().experiment;
    wait(&mut client, id).await?;
    let seconds = begin.elapsed().as_secs_f64();
    let (after, mine_after) = (coordinator.usage()?, Usage::of(std::process::id())?);
    let each = |before: Usage, after: Usage| (after.ticks - before.ticks) as f64 * 1e4 / f64::from(runs);
    let (least, most) = served(channel).await?;
    println!(
        "{agents:>5} agents: {:>8.0} runs/s leased and durably reported ({runs} runs); CPU time a run: coordinator {:.1} µs, \
         agents {:.1} µs; the coordinator began to wait {:.1} times; {least} to {most} runs a host; {} MB resident",
        f64::from(runs) / seconds,
        each(before, after),
        each(mine, mine_after),
        (after.switches - before.switches) as f64 / f64::from(runs),
        after.resident_kb / 1_000,
    );
    Ok(())
}

async fn wait(client: &mut ExperimentsClient<Channel>, experiment: String) -> Result<(), Failure> {
    let mut statuses = client.watch(v1::GetRequest { experiment }).await?.into_inner();
    while statuses.message().await?.is_some() {}
    Ok(())
}

/// The fewest and the most runs that a host was given.
async fn served(channel: Channel) -> Result<(u64, u64), Failure> {
    let mut client = HostsClient::new(channel).max_decoding_message_size(64 << 20);
    let (mut least, mut most, mut page_token) = (u64::MAX, 0, String::new());
    loop {
        let page = client.list(v1::ListHostsRequest { page_token, page_size: 0 }).await?.into_inner();
        for host in &page.hosts {
            (least, most) = (least.min(host.served), most.max(host.served));
        }
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return Ok((least, most));
        }
    }
}
