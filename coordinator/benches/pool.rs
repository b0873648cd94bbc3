//! A large pool for a coordinator that is looked at: simulated agents that stay until this program is ended.
//!
//! `cargo bench -p speedup-coordinator --bench pool -- http://ADDRESS [AGENTS [SECONDS]]`: the coordinator was started with
//! `--insecure`; ten thousand agents if not told, and each run lasts ten seconds. It needs a file an agent (`ulimit -Hn`).
#![expect(clippy::print_stdout, reason = "a program that says when all have joined")]

mod simulated;
mod workload;

use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    // cargo adds a flag of its own.
    let mut words = std::env::args().skip(1).filter(|word| !word.starts_with("--"));
    let Some(url) = words.next() else {
        println!("no coordinator is named: there is nothing to join");
        return Ok(());
    };
    let agents = words.next().map_or(Ok(10_000), |word| word.parse())?;
    let seconds = words.next().map_or(Ok(10), |word| word.parse())?;
    speedup_coordinator::raise_open_files();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let site = simulated::Site { url, admin: None };
        let run = simulated::Run { lasts: Duration::from_secs(seconds), ..simulated::Run::default() };
        simulated::join(&site, agents, &run).await?;
        println!("{agents} agents joined");
        std::future::pending().await
    })
}
