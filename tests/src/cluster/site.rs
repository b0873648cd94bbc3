//! A site: a coordinator on this machine, simulated hosts of its own whose agents start at each boot, and a plan whose
//! runs may be held at a gate.

use std::{cell::Cell, path::Path, path::PathBuf, sync::Arc};

use serde_json::Value;

use super::{Cluster, Host};
use crate::{checker, checker::Verdict, pool::Pool, pool::eventually};

/// Lines of a log that are shown when a test fails.
const SHOWN_LINES: usize = 60;
/// Ends the coordinator with the thread that started it, so that a test which is killed leaves none behind.
const LEASHED: &[&str] = &["setpriv", "--pdeathsig", "KILL"];

/// Where Debian has the library that gives a program another wall clock.
const LIBRARIES: [&str; 2] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
];

/// For how long a host rests under policy `rested`; its load is this machine's, which is busy with the tests. What it may
/// wait for is part of its lease, whose end some scenarios wait for.
const REST: &str = "rest = { idle = \"300ms\", wait = \"10s\" }\n";

/// A coordinator and hosts.
#[derive(Debug)]
pub struct Site {
    /// The coordinator and the command beside it.
    pub pool: Pool,
    /// The hosts, each with an agent.
    pub hosts: Vec<Host>,
    cluster: Arc<Cluster>,
    /// What each host executes at each boot.
    service: String,
    policy: &'static str,
    submitted: Cell<usize>,
    /// The id of a host, as its agent finds it.
    id_of: fn(&Host) -> String,
}

/// What a scenario plans.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How many benchmarks, in two versions each.
    pub benchmarks: usize,
    /// Runs of each benchmark in each version.
    pub runs: usize,
    /// Longest time a run may take.
    pub timeout: &'static str,
    /// Whether runs wait at the gate.
    pub gate: Gate,
}

impl Plan {
    /// How many runs that are.
    pub fn planned(&self) -> usize {
        2 * self.benchmarks * self.runs
    }
}

/// Whether runs wait until [`Site::open_gate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    Closed,
    /// They do not.
    Open,
}

/// An experiment that was submitted.
#[derive(Clone, Debug)]
pub struct Experiment {
    id: String,
    plan: String,
    runs: usize,
}

impl Site {
    /// A coordinator, and this many hosts that have joined. `binary` is the command under test.
    pub fn start(binary: &str, policy: &'static str, hosts: usize) -> Self {
        Self::start_with(binary, policy, hosts, "")
    }

    /// The same with hosts whose wall clocks [`Host::step_clock`] can step.
    ///
    /// # Panics
    /// Without the library of Debian's package faketime.
    pub fn start_with_clocks(binary: &str, policy: &'static str, hosts: usize) -> Self {
        Self::start_with(binary, policy, hosts, &with_clock())
    }

    /// `before` stands before the agent's command.
    fn start_with(binary: &str, policy: &'static str, hosts: usize, before: &str) -> Self {
        let cluster = Cluster::shared();
        let pool = Pool::at(binary, Cluster::address(), LEASHED);
        let agent = format!(
            "{before}{binary} agent start --no-selftest --coordinator {} --access-file {} --state {} --reboot-command {}",
            pool.url(),
            pool.access_file().display(),
            Host::disk().join("agent").display(),
            Host::reboot_program().display()
        );
        let service = if policy == "reallocated" { in_jobs(&agent) } else { format!("exec {agent}") };
        let mut site = Self::of(pool, cluster, Vec::new(), policy, Host::id);
        site.service = service;
        (0..hosts).for_each(|_| site.add_host());
        site.pool.wait_for_hosts(hosts);
        site
    }

    /// A coordinator and hosts that may come to join it.
    pub(super) fn of(
        pool: Pool,
        cluster: Arc<Cluster>,
        hosts: Vec<Host>,
        policy: &'static str,
        id_of: fn(&Host) -> String,
    ) -> Self {
        Self { pool, cluster, service: String::new(), hosts, policy, submitted: Cell::new(0), id_of }
    }

    /// The id of a host, as its agent finds it.
    pub fn id_of(&self, host: &Host) -> String {
        (self.id_of)(host)
    }

    /// One more host, which boots and joins.
    pub fn add_host(&mut self) {
        let host = self.cluster.host();
        std::fs::create_dir_all(host.directory().join("own")).expect("the host's disk");
        host.step_clock(0);
        host.set_service(&self.service);
        host.boot();
        self.hosts.push(host);
    }

    /// Ends the job in which the agent of a host executes; the engine gives the host out anew, as another job. Only under
    /// policy `reallocated` there are jobs.
    pub fn end_job(&self, host: &Host) {
        host.enter(&format!("kill -TERM $(cat {})", Host::disk().join("job.pid").display()));
    }

    /// Waits until a host has been given so many runs, and has none now.
    pub fn wait_until_served(&self, host: &Host, runs: u64) {
        eventually("it has served", || {
            let listed = self.listed(host)?;
            (listed["served"] == runs && listed["lease"].is_null()).then_some(())
        });
    }

    /// Why a host is quarantined, once it is.
    pub fn wait_for_quarantine(&self, host: &Host) -> String {
        eventually("it is quarantined", || {
            let listed = self.listed(host)?;
            (listed["standing"] == "quarantined").then(|| listed["reason"].as_str().map(str::to_owned))?
        })
    }

    /// How a run is lost whose agent starts anew: where agents are in jobs, it is in another job then.
    pub fn loss_by_restart(&self) -> &'static str {
        if self.policy == "reallocated" { "job_ended" } else { "agent_restarted" }
    }

    /// Submits a plan under the site's policy.
    pub fn submit(&self, plan: Plan) -> Experiment {
        self.submit_with(plan, &[])
    }

    /// The same, with these flags.
    pub fn submit_with(&self, plan: Plan, flags: &[&str]) -> Experiment {
        let text = self.plan(plan);
        Experiment { id: self.pool.submit(&text, flags), plan: text, runs: plan.planned() }
    }

    /// The text of a plan under the site's policy.
    pub fn plan(&self, plan: Plan) -> String {
        let Plan { benchmarks, runs, timeout, gate } = plan;
        self.submitted.set(self.submitted.get() + 1);
        if gate == Gate::Open {
            self.open_gate();
        }
        let directory = self.pool.path().display();
        // What a run does is seen from outside: it says when it has begun, waits at the gate, and says when it ends. Asked to
        // end with its job, it makes an exit code of that.
        let program = format!(
            "trap \"exit 143\" TERM; h=$(cat /proc/sys/kernel/hostname); : > {directory}/begun-$h; \
             until [ -e {directory}/go ] || [ -e {directory}/go-$h ]; do sleep 0.05; done; \
             head -c 8192 /dev/zero; : > {directory}/ended-$h"
        );
        let benchmark =
            |number| format!("[benchmarks.b{number}]\nshell = '{program}'\ntimeout = \"{timeout}\"\n");
        format!(
            "[experiment]\nname = \"{policy}-{number}\"\nseed = {number}\n[versions.old]\nbaseline = true\n\
             [versions.new]\n{benchmarks}[repetitions]\nruns = {runs}\n[independence]\npolicy = \"{policy}\"\n\
             {rest}[output]\nkeep_of = \"all\"\n[limits]\nattempts = 10\n",
            policy = self.policy,
            rest = if self.policy == "rested" { REST } else { "" },
            number = self.submitted.get(),
            benchmarks = (1..=benchmarks).map(benchmark).collect::<String>(),
        )
    }

    /// Lets all runs go on.
    pub fn open_gate(&self) {
        self.write("go");
    }

    /// Has runs wait again from now on.
    pub fn close_gate(&self) {
        std::fs::remove_file(self.file("go")).expect("an open gate");
    }

    /// Lets the runs on one host go on.
    pub fn open_gate_for(&self, host: &Host) {
        self.write(&format!("go-{}", host.name()));
    }

    /// Waits until a run has begun on a host.
    pub fn wait_for_begin(&self, host: &Host) {
        let begun = self.file(&format!("begun-{}", host.name()));
        eventually("a run begins", || begun.exists().then_some(()));
    }

    /// Whether a run has begun on a host.
    pub fn has_begun(&self, host: &Host) -> bool {
        self.file(&format!("begun-{}", host.name())).exists()
    }

    /// Waits until a run has ended on a host.
    pub fn wait_for_end(&self, host: &Host) {
        let ended = self.file(&format!("ended-{}", host.name()));
        eventually("a run ends", || ended.exists().then_some(()));
    }

    /// Forgets that a run had begun on a host.
    pub fn forget_begin(&self, host: &Host) {
        std::fs::remove_file(self.file(&format!("begun-{}", host.name()))).expect("a run that had begun");
    }

    /// Waits until the coordinator has given up what this host held.
    pub fn wait_until_given_up(&self, host: &Host) {
        eventually("the lease is given up", || self.listed(host)?["lease"].is_null().then_some(()));
    }

    /// Waits until a host holds a lease.
    pub fn wait_until_leased(&self, host: &Host) {
        eventually("a lease is given", || (!self.listed(host)?["lease"].is_null()).then_some(()));
    }

    /// Waits until an experiment has finished, and checks its export: all is as the plan and its policy say, and every
    /// run was measured.
    pub fn finish(&self, experiment: &Experiment) -> Verdict {
        eventually("the experiment finishes", || self.pool.is_finished(&experiment.id).then_some(()));
        self.check(experiment)
    }

    /// How many attempts of all experiments were lost.
    pub fn lost(&self) -> u64 {
        let listed = eventually("the coordinator answers", || self.pool.json(&["list"]));
        let listed = listed.as_array().expect("experiments");
        listed.iter().filter_map(|one| one["tally"]["lost_attempts"].as_u64()).sum()
    }

    /// Checks the export of an experiment that has finished. No fault of hosts is an error of the coordinator.
    pub fn check(&self, experiment: &Experiment) -> Verdict {
        let export = self.pool.export_as("jsonl", &experiment.id);
        let verdict = checker::check(&experiment.plan, &export);
        verdict.assert_ok();
        assert_eq!(verdict.counting(), experiment.runs, "every run is measured:\n{export}");
        let log = self.pool.logged("coordinator");
        assert!(!log.contains("ERROR") && !log.contains("panicked"), "the coordinator complains:\n{log}");
        verdict
    }

    /// The report of an experiment, as people read it.
    pub fn report(&self, experiment: &Experiment) -> String {
        let output = self.pool.speedup(&["report", &experiment.id, "-v"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        // Lines are broken at the width of the page.
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn listed(&self, host: &Host) -> Option<Value> {
        let listed = self.pool.json(&["hosts", "list"])?;
        listed.as_array()?.iter().find(|one| one["host"] == self.id_of(host)).cloned()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.pool.path().join(name)
    }

    fn write(&self, name: &str) {
        std::fs::write(self.file(name), "").expect("a file of the gate");
    }
}

/// What gives a program the wall clock of its host. It is asked each time, and only the wall clock is another: no namespace
/// has one of its own, and the clocks that measure do not step.
fn with_clock() -> String {
    let variables = wall_clock(&Host::clock()).map(|(name, value)| format!("{name}={value}"));
    format!("env {} ", variables.join(" "))
}

/// The variables with which a program has the wall clock of a file: a shift of this machine's in seconds, with its sign.
///
/// # Panics
/// Without the library of Debian's package faketime.
pub fn wall_clock(file: &Path) -> [(&'static str, String); 5] {
    let library = LIBRARIES.iter().find(|path| Path::new(path).exists());
    let library = library.expect("the library of the package faketime; hint: apt-get install libfaketime");
    [
        ("LD_PRELOAD", (*library).to_owned()),
        ("FAKETIME_TIMESTAMP_FILE", file.display().to_string()),
        ("FAKETIME_NO_CACHE", "1".to_owned()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ("NO_FAKE_STAT", "1".to_owned()),
    ]
}

/// A service that executes an agent in one job after another, as Slurm starts and numbers them: a new one after the end of
/// the last, and after each boot.
fn in_jobs(agent: &str) -> String {
    let [job, pid] = ["job", "job.pid"].map(|name| Host::disk().join(name));
    let (job, pid) = (job.display(), pid.display());
    format!(
        "while :; do number=$(($(cat {job} 2>/dev/null || echo 100) + 1)); echo $number >{job}\n\
         SLURM_JOB_ID=$number SLURM_JOB_END_TIME=$(($(date +%s) + 86400)) {agent} & echo $! >{pid}; wait $!; done"
    )
}

impl Drop for Site {
    fn drop(&mut self) {
        if std::thread::panicking() {
            show("coordinator", &self.pool.logged("coordinator"));
            self.hosts.iter().for_each(|host| show(&host.name(), &host.logged()));
        }
    }
}

/// Shows the end of a log where a test that fails shows its output.
#[expect(clippy::print_stderr, reason = "a test that fails has no other place to say why")]
fn show(who: &str, log: &str) {
    let lines: Vec<&str> = log.lines().collect();
    eprintln!("-- {who}\n{}", lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n"));
}
