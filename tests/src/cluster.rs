//! Simulated hosts on this machine, with addresses, boots and disks of their own; `tests/cluster/hosts` makes them and says
//! what it wants. In reading order: [`Cluster`], [`Host`], `site`: a coordinator with hosts of its own, and a plan,
//! `slurm`: one whose hosts come from a real Slurm, `gridengine`: one whose hosts come from a real Grid Engine, and `ssh`: one that
//! reaches its hosts by a real ssh.

pub mod gridengine;
mod site;
mod slurm;
mod ssh;

use std::{
    collections::BTreeSet, fs::File, net::IpAddr, net::Ipv4Addr, os::unix::fs::PermissionsExt as _,
    path::Path, path::PathBuf, process::Command, sync::Arc, sync::Mutex, sync::PoisonError, sync::Weak,
};

pub use self::gridengine::GridEngineSite;
pub use self::site::{Experiment, Gate, Plan, Site, wall_clock};
pub(crate) use self::slurm::install;
pub use self::slurm::{AfterNodeFailure, Slurm, SlurmSite, Who};
pub use self::ssh::{SshKey, SshSite};
use crate::pool::eventually;

/// Where the hosts keep what is theirs.
const DIRECTORY: &str = "/var/lib/speedup-cluster";
/// Held by the process whose cluster it is: names and addresses of the hosts are those of one cluster a machine.
const LOCK: &str = "/run/lock/speedup-cluster";
/// The first three bytes of the network, where the environment says no others.
const NETWORK: (&str, &str) = ("SPEEDUP_CLUSTER_NET", "10.99.0");
/// The last byte of this machine's address.
const THIS_MACHINE: u8 = 254;
/// The most hosts there may be at once.
const MOST_HOSTS: u8 = 250;

/// The cluster of this process, while anyone uses it.
static SHARED: Mutex<Weak<Cluster>> = Mutex::new(Weak::new());

/// The switch that connects hosts with this machine. It is taken down with all hosts when nobody uses it any more; what
/// a process left that was killed is removed when the next cluster comes up.
#[derive(Debug)]
pub struct Cluster {
    /// Numbers that no host has.
    free: Mutex<BTreeSet<u8>>,
    _lock: File,
}

/// One simulated host. It is removed with its disk when it is dropped.
#[derive(Debug)]
pub struct Host {
    number: u8,
    cluster: Arc<Cluster>,
}

/// Which way a host's packets are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// What is sent to it.
    In,
    Out,
    /// Both.
    Both,
}

impl Cluster {
    /// The cluster of this process, brought up if it is not.
    ///
    /// # Panics
    /// When it cannot be: not as root, or a program is missing; the message says which package has it.
    pub fn shared() -> Arc<Self> {
        // A test that failed to bring it up leaves nothing half done.
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let cluster = Arc::new(Self::up());
            *shared = Arc::downgrade(&cluster);
            cluster
        })
    }

    fn up() -> Self {
        let lock =
            File::create(LOCK).unwrap_or_else(|error| panic!("{LOCK}: {error}: simulated hosts need root"));
        eventually("no other process has a cluster", || lock.try_lock().ok());
        hosts(&["up"]);
        Self { free: Mutex::new((1..=MOST_HOSTS).collect()), _lock: lock }
    }

    /// The address of this machine in the cluster's network.
    ///
    /// # Panics
    /// When the environment names no network.
    pub fn address() -> IpAddr {
        let network = std::env::var(NETWORK.0).unwrap_or_else(|_| NETWORK.1.to_owned());
        let address: Ipv4Addr =
            format!("{network}.{THIS_MACHINE}").parse().expect("three bytes of an address");
        address.into()
    }

    /// A host that is off and new.
    pub fn host(self: &Arc<Self>) -> Host {
        let number = self.free().pop_first();
        let number =
            number.unwrap_or_else(|| panic!("there are {MOST_HOSTS} hosts already: run fewer tests at once"));
        let host = Host { number, cluster: self.clone() };
        std::fs::create_dir_all(host.directory()).expect("a directory of the host");
        host
    }

    fn free(&self) -> std::sync::MutexGuard<'_, BTreeSet<u8>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // While a test fails a second panic would hide the first; the next cluster begins by removing this one.
        let _ = command(&["down"]).status();
    }
}

impl Host {
    /// Its name, which is what the kernel there calls it.
    pub fn name(&self) -> String {
        format!("host{}", self.number)
    }

    /// Its id: that of the machine, as the agent finds it.
    pub fn id(&self) -> String {
        format!("{:032x}", self.number)
    }

    /// Its address in the cluster's network.
    ///
    /// # Panics
    /// When the environment names no network.
    pub fn address(&self) -> String {
        let this = Cluster::address().to_string();
        let (network, _) = this.rsplit_once('.').expect("an address of version 4");
        format!("{network}.{}", self.number)
    }

    /// The directory that only it sees, from inside: its disk.
    pub fn disk() -> PathBuf {
        Path::new(DIRECTORY).join("own")
    }

    /// How far its wall clock is from this machine's, from inside, where its agent was started with such a clock.
    fn clock() -> PathBuf {
        Self::disk().join("clock")
    }

    /// Steps its wall clock to so many seconds from this machine's.
    pub fn step_clock(&self, seconds: i64) {
        let own = self.directory().join("own");
        // Put in place whole: it is read at any time.
        std::fs::write(own.join("clock.new"), format!("{seconds:+}")).expect("the host's clock");
        std::fs::rename(own.join("clock.new"), own.join("clock")).expect("the host's clock");
    }

    /// A program that reboots the host that executes it.
    pub fn reboot_program() -> PathBuf {
        Path::new(DIRECTORY).join("reboot")
    }

    /// Gives it the machine id of the image that all clones have, from its next boot on.
    pub(crate) fn clone_image(&self) {
        std::fs::write(self.directory().join("machine-id"), format!("{:032x}\n", u128::MAX))
            .expect("a machine id");
    }

    /// What is executed at each boot: a shell script.
    pub fn set_service(&self, script: &str) {
        let path = self.directory().join("service");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a script");
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&path, executable).expect("an executable script");
    }

    /// What its service has said, over all boots.
    pub fn logged(&self) -> String {
        std::fs::read_to_string(self.directory().join("service.log")).unwrap_or_default()
    }

    /// Powers it on.
    pub fn boot(&self) {
        hosts(&["boot", &self.number()]);
    }

    /// A power cut: nobody hears of it.
    pub fn crash(&self) {
        hosts(&["crash", &self.number()]);
    }

    /// It reboots by itself. No program of the boot that ends executes any longer.
    pub fn reboot(&self) {
        hosts(&["reboot", &self.number()]);
    }

    /// Executes a shell script there.
    pub fn enter(&self, script: &str) {
        hosts(&["enter", &self.number(), "sh", "-c", script]);
    }

    /// Whether a shell script succeeds there.
    pub fn succeeds(&self, script: &str) -> bool {
        let status = command(&["enter", &self.number(), "sh", "-c", script]).output();
        status.is_ok_and(|output| output.status.success())
    }

    /// It hangs: its kernel answers, no program runs.
    pub fn freeze(&self) {
        hosts(&["freeze", &self.number()]);
    }

    /// It hangs no more.
    pub fn thaw(&self) {
        hosts(&["thaw", &self.number()]);
    }

    /// Its packets are lost.
    pub fn cut(&self, way: Cut) {
        let way = match way {
            Cut::In => "in",
            Cut::Out => "out",
            Cut::Both => "both",
        };
        hosts(&["cut", &self.number(), way]);
    }

    /// Each packet is lost with this probability in percent, each way.
    pub fn lose(&self, percent: u8) {
        hosts(&["loss", &self.number(), &percent.to_string()]);
    }

    /// Its cable carries this many kilobits a second, each way, until its next boot.
    pub fn slow_down(&self, kbit: u32) {
        hosts(&["rate", &self.number(), &kbit.to_string()]);
    }

    /// Its cable is sound again.
    pub fn heal(&self) {
        hosts(&["heal", &self.number()]);
    }

    fn number(&self) -> String {
        self.number.to_string()
    }

    fn directory(&self) -> PathBuf {
        Path::new(DIRECTORY).join(self.number())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // A number is given again only if nothing of its host is left.
        if command(&["remove", &self.number()]).status().is_ok_and(|status| status.success()) {
            self.cluster.free().insert(self.number);
        }
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("cluster/hosts"));
    command.args(arguments);
    command
}

/// Executes `hosts`, which has to succeed.
fn hosts(arguments: &[&str]) {
    let output = command(arguments).output().expect("tests/cluster/hosts, which bash executes");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}
