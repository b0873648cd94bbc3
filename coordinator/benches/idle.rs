//! What a coordinator costs while ten thousand agents are connected and have nothing to do: CPU time and memory of its
//! process, over real gRPC. The agents are simulated in another process.
//!
//! `cargo bench -p speedup-coordinator --bench idle`; `SPEEDUP_BENCH_AGENTS` sets how many agents (10 000),
//! `SPEEDUP_BENCH_SECONDS` for how long it is watched (30). Each process needs a file an agent (`ulimit -Hn`).
#![expect(clippy::print_stdout, reason = "a program that prints figures")]

mod simulated;
mod workload;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use simulated::serve;
use speedup_coordinator::{Options, raise_open_files, start};
use speedup_core::machine::Settings;
use speedup_proto::v1;
use speedup_proto::v1::experiments_client::ExperimentsClient;
use speedup_proto::v1::hosts_client::HostsClient;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Agents that connect at once.
const CONNECTING: usize = 256;
/// The first measurement begins this long after the last agent joined.
const CALM: Duration = Duration::from_secs(3);

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    raise_open_files();
    if let Some(at) = arguments.iter().position(|argument| argument == "--coordinate") {
        return runtime.block_on(coordinate(Path::new(&arguments[at + 1])));
    }
    let number =
        |name: &str, usual| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (agents, seconds) = (number("SPEEDUP_BENCH_AGENTS", 10_000), number("SPEEDUP_BENCH_SECONDS", 30));
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let mut child = Command::new(&arguments[0])
        .arg("--coordinate")
        .arg(directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let watched = runtime.block_on(watch(&mut child, agents, seconds));
    // The agents first: they would complain that the coordinator is gone.
    runtime.shutdown_background();
    child.kill()?;
    child.wait()?;
    watched
}

async fn coordinate(data: &Path) -> Result<(), Failure> {
    let bind = ([127, 0, 0, 1], 0).into();
    let options = Options { data: data.to_owned(), bind, settings: Settings::default() };
    let coordinator = start(options, |_, routes| routes).await?;
    println!("http://{}", coordinator.address());
    coordinator.failed().await;
    Ok(())
}

async fn watch(child: &mut Child, agents: u32, seconds: u32) -> Result<(), Failure> {
    let mut address = String::new();
    BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut address)?;
    let address = address.trim().to_owned();
    let before = Usage::of(child.id())?;
    let begin = Instant::now();
    let places = std::sync::Arc::new(tokio::sync::Semaphore::new(CONNECTING));
    let mut joined = Vec::new();
    for number in 0..agents {
        let place = places.clone().acquire_owned().await?;
        let (tell, told) = tokio::sync::oneshot::channel();
        let (address, served) = (address.clone(), tokio::sync::oneshot::channel());
        let (tell_served, is_served) = served;
        tokio::spawn(async move {
            if let Err(error) = serve(address, number, tell_served).await {
                println!("agent {number}: {error}");
            }
        });
        tokio::spawn(async move {
            let _ = is_served.await;
            drop(place);
            let _ = tell.send(());
        });
        joined.push(told);
    }
    for told in joined {
        told.await?;
    }
    println!("{agents} agents joined within {:.1} s", begin.elapsed().as_secs_f64());
    tokio::time::sleep(CALM).await;
    measure(child.id(), before, agents, seconds).await?;
    let hosts = HostsClient::connect(address.clone()).await?.list(v1::ListHostsRequest::default()).await?;
    let listed = ExperimentsClient::connect(address).await?.list(v1::ListRequest::default()).await?;
    let (hosts, listed) = (hosts.into_inner(), listed.into_inner());
    println!(
        "it answers: {} hosts on the first page, {} experiments",
        hosts.hosts.len(),
        listed.experiments.len()
    );
    Ok(())
}

async fn measure(process: u32, before: Usage, agents: u32, seconds: u32) -> Result<(), Failure> {
    let (begin, first) = (Instant::now(), Usage::of(process)?);
    tokio::time::sleep(Duration::from_secs(seconds.into())).await;
    let (elapsed, last) = (begin.elapsed().as_secs_f64(), Usage::of(process)?);
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

/// What a process has used.
#[derive(Clone, Copy)]
struct Usage {
    /// Of CPU time: hundredths of a second on every Linux.
    ticks: u64,
    resident_kb: u64,
    /// Times that a thread of it began to wait.
    switches: u64,
}

impl Usage {
    fn of(process: u32) -> Result<Self, Failure> {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
        let fields: Vec<&str> = stat.rsplit_once(')').ok_or("no name")?.1.split_ascii_whitespace().collect();
        let ticks = fields[11].parse::<u64>()? + fields[12].parse::<u64>()?;
        let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
        let resident_kb = resident.trim().trim_end_matches(" kB").parse()?;
        let mut switches = 0;
        for task in std::fs::read_dir(format!("/proc/{process}/task"))? {
            let status = std::fs::read_to_string(task?.path().join("status"))?;
            let voluntary = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            switches += voluntary.unwrap_or("0").trim().parse::<u64>()?;
        }
        Ok(Self { ticks, resident_kb, switches })
    }
}
