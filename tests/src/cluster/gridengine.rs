//! A real Grid Engine over simulated hosts, and a site whose hosts come from it through the recipe of `deploy/batch/`.

use std::{path::Path, path::PathBuf, process::Command, process::Output};

use serde_json::Value;

use super::{Cluster, Host, Site};
use crate::pool::{Pool, eventually};

/// What makes a Grid Engine, and what a command has to be executed by to find it.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/cluster/gridengine");
/// What the recipe calls the system.
const SYSTEM: &str = "gridengine";
/// The user `nobody`.
const NOBODY: u32 = 65_534;
/// Starts a command as the user `nobody`, who may do nothing but what every user may.
const AS_NOBODY: &[&str] = &[
    SCRIPT,
    "client",
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
    "--pdeathsig",
    "KILL",
    "env",
    "USER=nobody",
    "LOGNAME=nobody",
];

/// A coordinator that asks a Grid Engine for hosts. There is one a machine; it ends when this is dropped.
#[derive(Debug)]
pub struct GridEngineSite {
    /// The coordinator, the hosts, and what becomes of plans.
    pub site: Site,
}

impl GridEngineSite {
    /// A coordinator of an ordinary user, and this many idle hosts. `binary` is the command under test.
    pub fn start(binary: &str, policy: &'static str, hosts: usize) -> Self {
        let cluster = Cluster::shared();
        let hosts: Vec<Host> = (0..hosts).map(|_| cluster.host()).collect();
        up(&hosts);
        let pool = Pool::installed(binary, Cluster::address(), AS_NOBODY, Some(NOBODY));
        let id_of = |host: &Host| format!("{SYSTEM}:{}", host.name());
        Self { site: Site::of(pool, cluster, hosts, policy, id_of) }
    }

    /// The recipe, as it stands in `deploy/batch/`.
    pub fn recipe() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/batch/gridengine.toml")
    }

    /// `speedup hosts batch add` of the recipe, with these options of `qsub`.
    pub fn ask(&self, flags: &[&str], options: &[&str]) {
        let output = self.try_to_ask(flags, options);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// The same, which may be refused.
    pub fn try_to_ask(&self, flags: &[&str], options: &[&str]) -> Output {
        let recipe = Self::recipe().display().to_string();
        let add = ["hosts", "batch", "add", &recipe, "--poll", "1s"];
        self.site.pool.speedup(&[&add, flags, &["--"], options].concat())
    }

    /// What `speedup hosts batch show` tells of the first queue; nothing where there is none.
    pub fn shown(&self) -> Value {
        let shown = eventually("the coordinator tells", || self.site.pool.json(&["hosts", "batch", "show"]));
        shown[0].clone()
    }

    /// Waits until Grid Engine has no job any more, and the coordinator knows it.
    pub fn wait_until_given_back(&self) {
        eventually("all hosts are given back", || jobs().is_empty().then_some(()));
        eventually("and nothing is asked for", || {
            self.shown()["jobs"].as_array().is_some_and(Vec::is_empty).then_some(())
        });
    }

    /// Waits until a run has begun somewhere; gives the job's number and the host.
    pub fn wait_for_a_run(&self) -> (String, &Host) {
        eventually("a run begins", || {
            let shown = self.shown();
            shown["jobs"].as_array()?.iter().find_map(|job| {
                let host = self.site.hosts.iter().find(|host| job["node"] == host.name().as_str())?;
                let number = job["id"].as_str()?.strip_prefix("gridengine:")?.to_owned();
                self.site.has_begun(host).then_some((number, host))
            })
        })
    }
}

impl Drop for GridEngineSite {
    fn drop(&mut self) {
        // While a test fails a second panic would hide the first; the next one begins by removing this one.
        let _ = Command::new(SCRIPT).arg("down").status();
    }
}

fn up(hosts: &[Host]) {
    let numbers: Vec<String> = hosts.iter().map(Host::number).collect();
    let output = Command::new(SCRIPT).arg("up").args(&numbers).output();
    let output = output.expect("tests/cluster/gridengine, which bash executes");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for host in hosts {
        host.set_service(&format!("{SCRIPT} node"));
        host.boot();
    }
    eventually("all hosts report their load", || {
        let told = asked("qhost", &[])?;
        let is_here = |host: &Host| {
            told.lines().any(|line| line.starts_with(&format!("{} ", host.name())) && !line.contains(" -  "))
        };
        hosts.iter().all(is_here).then_some(())
    });
}

/// The numbers of all jobs.
pub fn jobs() -> Vec<String> {
    let told = eventually("Grid Engine answers", || asked("qstat", &["-u", "*"]));
    let number = |line: &str| {
        line.split_whitespace().next().filter(|word| word.parse::<u32>().is_ok()).map(str::to_owned)
    };
    told.lines().filter_map(number).collect()
}

/// What Grid Engine says of a job that waits or runs.
pub fn told(job: &str) -> String {
    eventually("Grid Engine tells", || asked("qstat", &["-j", job]))
}

/// `qdel`, as the user who administers Grid Engine.
pub fn delete(job: &str) {
    assert!(asked("qdel", &[job]).is_some(), "job {job} cannot be deleted");
}

fn asked(program: &str, words: &[&str]) -> Option<String> {
    let program = format!("/usr/bin/{program}");
    let output = Command::new(SCRIPT).args(["client", &program]).args(words).output();
    let output = output.expect("a command of Grid Engine");
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
