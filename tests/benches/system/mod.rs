//! The systems that execute the runs: ours, and HyperQueue, each with one server and some workers on loopback.

use std::{path::Path, path::PathBuf, process::Child, process::Command, process::Stdio};

use speedup_tests::{pool::Pool, pool::eventually, process::Process};
use tempfile::TempDir;

/// A server with workers that serve one run at a time each.
pub(crate) trait System {
    /// What the table calls it.
    fn name(&self) -> String;
    /// Executes `/bin/true` that often, and returns when the last result is recorded.
    fn execute(&self, runs: u32);
    /// The process that schedules.
    fn server(&self) -> Process;
    fn workers(&self) -> Vec<Process>;
}

/// A coordinator and its agents.
pub(crate) struct Ours {
    pub(crate) pool: Pool,
    agents: usize,
}

impl Ours {
    /// With so many agents, all joined.
    pub(crate) fn start(agents: usize) -> Self {
        Self { pool: Pool::start(env!("CARGO_BIN_EXE_speedup-under-test"), agents), agents }
    }
}

impl System for Ours {
    fn name(&self) -> String {
        format!("speedup, {}", counted(self.agents, "agent"))
    }

    fn execute(&self, runs: u32) {
        let plan = format!(
            "[experiment]\nname = \"true\"\nseed = 1\n[versions.old]\nbaseline = true\n[versions.new]\n\
             [benchmarks.true]\ncommand = [\"/bin/true\"]\n[repetitions]\nruns = {}\n[independence]\npolicy = \"any\"\n",
            runs / 2
        );
        let experiment = self.pool.submit(&plan, &[]);
        let waited = self.pool.speedup(&["wait", &experiment]);
        assert!(waited.status.success(), "{}", String::from_utf8_lossy(&waited.stderr));
    }

    fn server(&self) -> Process {
        Process::of_id(self.pool.coordinator_id().cast_signed())
    }

    fn workers(&self) -> Vec<Process> {
        (0..self.agents).map(|number| Process::of_id(self.pool.agent_id(number))).collect()
    }
}

/// `hq`, with a journal, and with workers of one processor.
pub(crate) struct HyperQueue {
    binary: PathBuf,
    directory: TempDir,
    server: Child,
    workers: Vec<Child>,
}

impl HyperQueue {
    /// With so many workers, all registered.
    pub(crate) fn start(binary: &Path, workers: usize) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let start = |arguments: &[&str]| {
            let mut command = hq(binary, directory.path());
            command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("hq starts")
        };
        let journal = directory.path().join("journal").display().to_string();
        let server = start(&["server", "start", "--journal", &journal]);
        let ask = |arguments: &[&str]| hq(binary, directory.path()).args(arguments).output().ok();
        let is_up = || ask(&["server", "info"]).filter(|answer| answer.status.success());
        eventually("HyperQueue's server", is_up);
        let each = ["worker", "start", "--cpus", "1", "--on-server-lost", "stop"];
        let started: Vec<Child> = (0..workers).map(|_| start(&each)).collect();
        let are_here = || {
            let listed = ask(&["--output-mode", "json", "worker", "list"])?.stdout;
            let listed: serde_json::Value = serde_json::from_slice(&listed).ok()?;
            (listed.as_array()?.len() == workers).then_some(())
        };
        eventually("HyperQueue's workers", are_here);
        Self { binary: binary.to_owned(), directory, server, workers: started }
    }
}

impl System for HyperQueue {
    fn name(&self) -> String {
        format!("HyperQueue, {}", counted(self.workers.len(), "worker"))
    }

    fn execute(&self, runs: u32) {
        let tasks = format!("1-{runs}");
        let submit =
            ["submit", "--wait", "--array", &tasks, "--stdout", "none", "--stderr", "none", "/bin/true"];
        let done = hq(&self.binary, self.directory.path()).args(submit).output().expect("hq starts");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    fn server(&self) -> Process {
        Process::of(&self.server)
    }

    fn workers(&self) -> Vec<Process> {
        self.workers.iter().map(Process::of).collect()
    }
}

impl Drop for HyperQueue {
    fn drop(&mut self) {
        for process in self.workers.iter_mut().chain([&mut self.server]) {
            // One that has ended has nothing to stop.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn hq(binary: &Path, directory: &Path) -> Command {
    let mut command = Command::new(binary);
    command.arg("--server-dir").arg(directory);
    command
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
