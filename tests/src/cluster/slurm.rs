//! A real Slurm over simulated hosts, and a site whose hosts come from it: no agent runs before a plan needs it.

use std::{os::unix::fs::PermissionsExt as _, path::Path, process::Command, process::Output, sync::Arc};

use serde_json::Value;

use super::{Cluster, Host, Site};
use crate::pool::{Pool, eventually};

/// Slurm's configuration, where `tests/cluster/slurm` puts it.
const CONFIGURATION: &str = "/var/lib/speedup-slurm/slurm.conf";
/// What Slurm's configuration calls the cluster.
const CLUSTER_NAME: &str = "speedup";
/// The user `nobody`.
const NOBODY: u32 = 65_534;
/// Starts a command as the user `nobody`, who may do nothing but what every user may.
const AS_NOBODY: &[&str] = &[
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
    "--pdeathsig",
    "KILL",
    "env",
    "SLURM_CONF=/var/lib/speedup-slurm/slurm.conf",
];
/// Starts a command as root, who may tell Slurm to reboot nodes.
const AS_ROOT: &[&str] =
    &["setpriv", "--pdeathsig", "KILL", "env", "SLURM_CONF=/var/lib/speedup-slurm/slurm.conf"];

/// A Slurm with nodes of its own. There is one a machine; it ends when this is dropped.
#[derive(Debug)]
pub struct Slurm {
    nodes: usize,
}

/// Who the coordinator is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// A user who may do nothing but what every user may.
    Nobody,
    /// The user who administers Slurm.
    Root,
}

/// What Slurm does with a job whose node failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterNodeFailure {
    Fail,
    /// It waits again, under the same number.
    Requeue,
}

/// Whether Slurm keeps accounts, by which administrators limit users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Accounts {
    /// It does not, and everybody may do anything.
    None,
    /// It does, in a database of its own.
    Kept,
}

/// A coordinator that asks a Slurm for hosts.
#[derive(Debug)]
pub struct SlurmSite {
    /// The coordinator, the hosts, and what becomes of plans.
    pub site: Site,
    pub slurm: Slurm,
}

impl SlurmSite {
    /// A coordinator and this many idle nodes. `binary` is the command under test: a copy of it is all that is installed.
    pub fn start(
        binary: &str,
        policy: &'static str,
        nodes: usize,
        who: Who,
        after: AfterNodeFailure,
    ) -> Self {
        let cluster = Cluster::shared();
        let hosts: Vec<Host> = (0..nodes).map(|_| cluster.host()).collect();
        Self::start_on(binary, policy, cluster, hosts, who, after, Accounts::None)
    }

    /// The same, for an ordinary user whose Slurm keeps accounts.
    pub fn start_with_accounts(binary: &str, policy: &'static str, nodes: usize) -> Self {
        let cluster = Cluster::shared();
        let hosts: Vec<Host> = (0..nodes).map(|_| cluster.host()).collect();
        Self::start_on(binary, policy, cluster, hosts, Who::Nobody, AfterNodeFailure::Fail, Accounts::Kept)
    }

    /// The same, for an ordinary user, on nodes that were started from one image.
    pub fn start_on_clones(binary: &str, policy: &'static str, nodes: usize) -> Self {
        let cluster = Cluster::shared();
        let hosts: Vec<Host> = (0..nodes).map(|_| cluster.host()).collect();
        hosts.iter().for_each(Host::clone_image);
        Self::start_on(binary, policy, cluster, hosts, Who::Nobody, AfterNodeFailure::Fail, Accounts::None)
    }

    fn start_on(
        binary: &str,
        policy: &'static str,
        cluster: Arc<Cluster>,
        hosts: Vec<Host>,
        who: Who,
        after: AfterNodeFailure,
        accounts: Accounts,
    ) -> Self {
        let slurm = Slurm::up(&hosts, after, accounts);
        let (starter, owner) = match who {
            Who::Nobody => (AS_NOBODY, Some(NOBODY)),
            Who::Root => (AS_ROOT, None),
        };
        let pool = Pool::installed(binary, Cluster::address(), starter, owner);
        let id_of = |host: &Host| format!("{CLUSTER_NAME}:{}", host.name());
        Self { site: Site::of(pool, cluster, hosts, policy, id_of), slurm }
    }

    /// `speedup hosts slurm add`, with these options of `sbatch`.
    pub fn ask(&self, flags: &[&str], options: &[&str]) {
        let output = self.try_to_ask(flags, options);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// The same, which may be refused.
    pub fn try_to_ask(&self, flags: &[&str], options: &[&str]) -> Output {
        let add = ["hosts", "slurm", "add", "--poll", "1s"];
        self.site.pool.speedup(&[&add, flags, &["--"], options].concat())
    }

    /// A command by a user who may do nothing special, in the directory of the pool.
    pub fn as_user(&self, program: &Path) -> Command {
        let pool = &self.site.pool;
        let mut command = Command::new(AS_NOBODY[0]);
        command.args(&AS_NOBODY[1..]).arg(program).current_dir(pool.path());
        command.env("XDG_STATE_HOME", pool.path()).env("SPEEDUP", pool.binary()).env("NO_COLOR", "1");
        command
    }

    /// `sbatch` by that user; gives the job's number.
    pub fn batch(&self, options: &[&str], script: &Path, arguments: &[&str]) -> String {
        let mut sbatch = self.as_user(Path::new("sbatch"));
        let output =
            sbatch.arg("--parsable").args(options).arg(script).args(arguments).output().expect("sbatch");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// What `speedup hosts slurm show` tells of the first queue; nothing where there is none.
    pub fn shown(&self) -> Value {
        self.queues()[0].clone()
    }

    /// What it tells of all queues.
    pub fn queues(&self) -> Value {
        eventually("the coordinator tells", || self.site.pool.json(&["hosts", "slurm", "show"]))
    }

    /// Waits until Slurm has no job of ours any more, and the coordinator knows it.
    pub fn wait_until_given_back(&self) {
        eventually("all nodes are given back", || self.slurm.jobs().is_empty().then_some(()));
        eventually("and nothing is asked for", || {
            let has_none = |queue: &Value| queue["jobs"].as_array().is_some_and(Vec::is_empty);
            self.queues().as_array()?.iter().all(has_none).then_some(())
        });
    }

    /// The host by its name, which is the node's.
    pub fn host(&self, node: &str) -> &Host {
        let mut hosts = self.site.hosts.iter();
        hosts.find(|host| host.name() == node).unwrap_or_else(|| panic!("no host is called {node}"))
    }

    /// Waits until a run has begun somewhere; gives the job and the host.
    pub fn wait_for_a_run(&self) -> (String, &Host) {
        eventually("a run begins", || {
            let has_begun = |(job, node): (String, String)| {
                let host = self.site.hosts.iter().find(|host| host.name() == node)?;
                self.site.has_begun(host).then_some((job, host))
            };
            self.slurm.running().into_iter().find_map(has_begun)
        })
    }
}

impl Slurm {
    fn up(hosts: &[Host], after: AfterNodeFailure, accounts: Accounts) -> Self {
        let numbers: Vec<String> = hosts.iter().map(Host::number).collect();
        let requeue = if after == AfterNodeFailure::Requeue { "1" } else { "0" };
        let accounts = if accounts == Accounts::Kept { "1" } else { "0" };
        let mut up = script();
        up.env("SPEEDUP_SLURM_REQUEUE", requeue).env("SPEEDUP_SLURM_ACCOUNTS", accounts);
        let output = up.arg("up").args(&numbers).output();
        let output = output.expect("tests/cluster/slurm, which bash executes");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        for host in hosts {
            host.set_service(&format!("{} node", script().get_program().display()));
            host.boot();
        }
        let slurm = Self { nodes: hosts.len() };
        slurm.wait_until_idle();
        slurm
    }

    /// Waits until all nodes are idle.
    pub fn wait_until_idle(&self) {
        eventually("all nodes are idle", || {
            let idle = self.asked("sinfo", &["--noheader", "--states=idle", "--format=%D"])?;
            (idle.trim() == self.nodes.to_string()).then_some(())
        });
    }

    /// What Slurm calls the state of a node.
    pub fn node_state(&self, host: &Host) -> String {
        let state = self.asked("sinfo", &["--noheader", "--nodes", &host.name(), "--format=%T"]);
        state.unwrap_or_default().trim().to_owned()
    }

    /// The numbers of the jobs that have not ended.
    pub fn jobs(&self) -> Vec<String> {
        let jobs = eventually("Slurm answers", || self.asked("squeue", &["--noheader", "--format=%i"]));
        jobs.lines().map(|job| job.trim().to_owned()).collect()
    }

    /// The jobs that run, with their nodes.
    pub fn running(&self) -> Vec<(String, String)> {
        let format = ["--noheader", "--states=running", "--format=%i %N"];
        let jobs = eventually("Slurm answers", || self.asked("squeue", &format));
        let pairs = jobs.lines().filter_map(|line| line.trim().split_once(' '));
        pairs.map(|(job, node)| (job.to_owned(), node.to_owned())).collect()
    }

    /// Every job that Slurm remembers: number, state, node.
    pub fn remembered(&self) -> Vec<(String, String, String)> {
        let format = ["--noheader", "--states=all", "--format=%i|%T|%N|%j"];
        let jobs = eventually("Slurm answers", || self.asked("squeue", &format));
        let job = |line: &str| {
            let words: Vec<&str> = line.trim().split('|').collect();
            let is_trial = words.get(3).is_some_and(|name| name.ends_with("-trial"));
            (!is_trial).then(|| (words[0].to_owned(), words[1].to_owned(), words[2].to_owned()))
        };
        jobs.lines().filter_map(job).collect()
    }

    /// What Slurm says of a job.
    pub fn told(&self, job: &str) -> String {
        eventually("Slurm answers", || self.asked("scontrol", &["show", "job", job]))
    }

    /// Whether a job was put back into the queue.
    pub fn has_restarted(&self, job: &str) -> bool {
        self.asked("scontrol", &["show", "job", job]).is_some_and(|shown| shown.contains("Restarts=1"))
    }

    /// Spares a job that was put back into the queue the two minutes that Slurm may let it wait; where another was asked for in
    /// the meantime, that one runs.
    pub fn let_start(&self, job: &str) {
        eventually("it runs, or another in its place", || {
            // One that runs already is not changed any more.
            let _ = self.asked("scontrol", &["update", &format!("JobId={job}"), "StartTime=now"]);
            (!self.running().is_empty()).then_some(())
        });
    }

    /// Waits until a job has ended, and gives what Slurm calls its state.
    pub fn wait_for_end(&self, job: &str) -> String {
        eventually("the job ends", || (!self.jobs().iter().any(|known| known == job)).then_some(()));
        self.wait_until_idle();
        let state = self.asked("squeue", &["--noheader", "--states=all", "--jobs", job, "--format=%T"]);
        state.unwrap_or_default().trim().to_owned()
    }

    /// Sends a signal to the script of a job.
    pub fn signal(&self, job: &str, signal: &str) {
        let sent = self.asked("scancel", &["--batch", "--signal", signal, job]);
        assert!(sent.is_some(), "job {job} cannot be sent {signal}");
    }

    /// Kills the controller.
    pub fn kill_controller(&self) {
        let killed = script().arg("kill-controller").status().expect("tests/cluster/slurm");
        assert!(killed.success(), "there is a controller");
    }

    /// Starts the controller anew, which has forgotten all jobs, as one does that is killed before it has written them down.
    pub fn start_forgetful_controller(&self) {
        let started = command("slurmctld").arg("-c").status().expect("slurmctld");
        assert!(started.success(), "the controller starts");
        eventually("it answers", || self.asked("scontrol", &["ping"]).filter(|said| said.contains("UP")));
    }

    /// `scancel`, as the user who administers Slurm.
    pub fn cancel(&self, job: &str) {
        assert!(self.asked("scancel", &[job]).is_some(), "job {job} cannot be cancelled");
    }

    /// `scontrol`, as the user who administers Slurm.
    pub fn control(&self, words: &[&str]) {
        let output = command("scontrol").args(words).output().expect("scontrol");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// `sacctmgr`, as the user who administers Slurm.
    pub fn limit(&self, words: &[&str]) {
        let output =
            command("sacctmgr").args(["--immediate", "--quiet"]).args(words).output().expect("sacctmgr");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stdout));
    }

    fn asked(&self, program: &str, words: &[&str]) -> Option<String> {
        let output = command(program).args(words).output().expect("a command of Slurm");
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        // While a test fails a second panic would hide the first; the next Slurm begins by removing this one.
        let _ = script().arg("down").status();
    }
}

fn script() -> Command {
    Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("cluster/slurm"))
}

fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env("SLURM_CONF", CONFIGURATION);
    command
}

/// Copies the command to where a user would, readable for the user.
pub(crate) fn install(binary: &str, directory: &Path) -> std::path::PathBuf {
    let copy = directory.join("bin/speedup");
    std::fs::create_dir(directory.join("bin")).expect("a directory for it");
    std::fs::copy(binary, &copy).expect("a copy of the command");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&copy, executable).expect("an executable");
    copy
}
