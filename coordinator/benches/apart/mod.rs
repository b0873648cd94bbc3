//! A coordinator in a process of its own, so that what it uses is told apart from what its simulated agents use.

#![allow(dead_code, reason = "each benchmark uses its part")]

use std::{io::BufRead as _, io::BufReader, path::Path, process::Child, process::Command, process::Stdio};

use speedup_access::{Credentials, Identity, Role};
use speedup_coordinator::{Options, Security, StoreCache, raise_open_files, start};
use speedup_core::machine::Settings;

use crate::simulated::Site;

type Failure = Box<dyn std::error::Error + Send + Sync>;

const ARGUMENT: &str = "--coordinate";
/// Set where connections are secured by TLS on both sides, as they are in service.
const WITH_TLS: &str = "SPEEDUP_BENCH_TLS";
/// The credentials of an admin, below the data directory: authority, certificate, key.
const ADMIN: [&str; 3] = ["bench-authority.pem", "bench-certificate.pem", "bench-key.pem"];

/// Serves as the coordinator when this process was started for that.
pub(crate) fn coordinate_if_told() -> Option<Result<(), Failure>> {
    raise_open_files();
    let mut arguments = std::env::args().skip_while(|argument| argument != ARGUMENT).skip(1);
    arguments.next().map(|data| coordinate(Path::new(&data)))
}

fn coordinate(data: &Path) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let bind = ([127, 0, 0, 1], 0).into();
        let options = Options {
            data: data.to_owned(),
            bind,
            security: match std::env::var_os(WITH_TLS) {
                Some(_) => Security::Tls { names: Vec::new() },
                None => Security::Plain,
            },
            settings: Settings::default(),
            store_cache: StoreCache::Serving,
            agents: None,
            metrics: None,
        };
        let coordinator = start(options, |_, routes| routes).await?;
        let mut scheme = "http";
        if let Some(admission) = coordinator.admission() {
            scheme = "https";
            let own = admission.own(&Identity::new("bench", Role::Admin)?, None).await?;
            let texts = [own.authority_pem(), own.certificate_pem(), own.key_pem()];
            for (name, text) in ADMIN.iter().zip(texts) {
                std::fs::write(data.join(name), text)?;
            }
        }
        #[expect(clippy::print_stdout, reason = "the other process reads it")]
        {
            println!("{scheme}://{}", coordinator.address());
        }
        Err(coordinator.failed().await.into())
    })
}

pub(crate) struct Coordinator {
    child: Child,
    pub(crate) site: Site,
}

impl Coordinator {
    pub(crate) fn start(data: &Path) -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut child = command.arg(ARGUMENT).arg(data).stdout(Stdio::piped()).spawn()?;
        let mut address = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut address)?;
        let admin = match data.join(ADMIN[0]).exists() {
            true => {
                let text = |name: &str| std::fs::read_to_string(data.join(name));
                let [authority, certificate, key] = ADMIN;
                Some(Credentials::new(&text(authority)?, &text(certificate)?, &text(key)?)?)
            }
            false => None,
        };
        Ok(Self { child, site: Site { url: address.trim().to_owned(), admin } })
    }

    pub(crate) fn usage(&self) -> Result<Usage, Failure> {
        Usage::of(self.child.id())
    }

    pub(crate) fn kill(mut self) -> Result<(), Failure> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

/// What a process has used.
#[derive(Clone, Copy)]
pub(crate) struct Usage {
    /// Of CPU time: hundredths of a second on every Linux.
    pub(crate) ticks: u64,
    pub(crate) resident_kb: u64,
    /// Times that a thread of it began to wait.
    pub(crate) switches: u64,
}

impl Usage {
    pub(crate) fn of(process: u32) -> Result<Self, Failure> {
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
