//! A site whose coordinator reaches its hosts by a real ssh: an OpenSSH server on each, and nothing else.

use std::net::{IpAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use super::{Cluster, Host, Site};
use crate::pool::{Pool, eventually};

/// Where Debian has the server.
const SSHD: &str = "/usr/sbin/sshd";
/// Ends the coordinator with the thread that started it. The `ssh` that it finds first has a configuration of this pool.
const LEASHED: &[&str] =
    &["sh", "-c", "PATH=$XDG_STATE_HOME/bin:$PATH exec setpriv --pdeathsig KILL \"$0\" \"$@\""];

/// A coordinator with a key for its hosts, whose own keys it knows.
#[derive(Debug)]
pub struct SshSite {
    /// The coordinator, the hosts, and what becomes of plans.
    pub site: Site,
}

/// A key by which a user is let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SshKey {
    /// One that the hosts know.
    Known,
    Unknown,
}

/// What the coordinator's user knows of the keys of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SshHostKeys {
    Known,
    Unknown,
}

impl SshSite {
    /// A coordinator at this address and so many hosts, of which it knows nothing. `binary` is the command under test.
    ///
    /// # Panics
    /// Without Debian's packages openssh-server and openssh-client.
    pub fn start(binary: &str, address: IpAddr, policy: &'static str, hosts: usize) -> Self {
        let cluster = Cluster::shared();
        let pool = Pool::at(binary, address, LEASHED);
        configure(pool.path());
        for name in ["known", "unknown"] {
            make_key(&pool.path().join(name));
        }
        let hosts: Vec<Host> = (0..hosts).map(|_| cluster.host()).collect();
        let public = read(&pool.path().join("known.pub"));
        let mut known_hosts = String::new();
        for host in &hosts {
            let own = host.directory().join("own");
            std::fs::create_dir_all(&own).expect("the host's disk");
            make_key(&own.join("host_key"));
            known_hosts += &format!("{} {}", host.address(), read(&own.join("host_key.pub")));
            std::fs::write(own.join("authorized_keys"), &public).expect("the keys that it knows");
            std::fs::write(own.join("sshd_config"), configuration()).expect("a configuration");
            host.set_service(&format!(
                "mkdir -p /run/sshd; exec {SSHD} -D -e -f {}",
                Host::disk().join("sshd_config").display()
            ));
            host.boot();
        }
        for host in &hosts {
            let listens = || TcpStream::connect((host.address(), 22)).ok();
            eventually("its server listens", listens);
        }
        std::fs::write(pool.path().join("all_hosts"), known_hosts).expect("the hosts' keys");
        Self { site: Site::of(pool, cluster, hosts, policy, Host::address) }
    }

    /// The program by which the hosts reach each other, in place of ssh, where they were introduced: it has their key.
    pub fn remote() -> PathBuf {
        Host::disk().join("remote")
    }

    /// Lets the hosts reach each other by their names, with the key that all of them know.
    pub fn introduce(&self) {
        let remote = format!(
            "#!/bin/sh\nexec ssh -q -i {} -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -l root \"$@\"\n",
            Host::disk().join("key").display()
        );
        for host in &self.site.hosts {
            let own = host.directory().join("own");
            std::fs::copy(self.site.pool.path().join("known"), own.join("key")).expect("the key");
            std::fs::write(own.join("remote"), &remote).expect("a program");
            for (name, mode) in [("key", 0o600), ("remote", 0o755)] {
                let mode = std::fs::Permissions::from_mode(mode);
                std::fs::set_permissions(own.join(name), mode).expect("its mode");
            }
        }
    }

    /// `speedup hosts ssh add` of all hosts, with these flags; they are waited for.
    pub fn add(&self, flags: &[&str]) {
        let names: Vec<String> = self.site.hosts.iter().map(Host::address).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let output = self.try_to_add(&[&names, flags].concat(), SshKey::Known, SshHostKeys::Known);
        assert!(output.status.success(), "{}", said(&output));
    }

    /// Vouches for the keys of all hosts, or for none.
    pub fn vouch(&self, known: SshHostKeys) {
        let directory = self.site.pool.path();
        let keys = match known {
            SshHostKeys::Known => read(&directory.join("all_hosts")),
            SshHostKeys::Unknown => String::new(),
        };
        std::fs::write(directory.join("known_hosts"), keys).expect("the keys of hosts");
    }

    /// The same of some, which may fail, with a key and with what is known of the hosts' own.
    pub fn try_to_add(&self, words: &[&str], key: SshKey, known: SshHostKeys) -> Output {
        self.vouch(known);
        let name = match key {
            SshKey::Known => "known",
            SshKey::Unknown => "unknown",
        };
        let directory = Host::disk().join("ssh").display().to_string();
        let add = ["hosts", "ssh", "add", "--user", "root", "--directory", &directory];
        let path = self.site.pool.path().display();
        let options = ["-oIdentitiesOnly=yes".to_owned(), format!("-i{path}/{name}")];
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        self.site.pool.speedup(&[&add, words, &["--"], &options].concat())
    }

    /// What `speedup hosts ssh show` tells of a host.
    pub fn shown(&self, host: &Host) -> Option<Value> {
        let shown = self.site.pool.json(&["hosts", "ssh", "show"])?;
        shown.as_array()?.iter().find(|one| one["host"] == host.address()).cloned()
    }

    /// Waits until a host serves, by an agent that was started so often at least.
    pub fn wait_until_serving(&self, host: &Host, starts: u64) -> Value {
        eventually("it serves", || {
            let shown = self.shown(host)?;
            (shown["state"] == "serving" && shown["starts"].as_u64()? >= starts).then_some(shown)
        })
    }

    /// Waits until something has failed that is told in these words.
    pub fn wait_for_error(&self, host: &Host, words: &str) {
        eventually(words, || self.shown(host)?["error"].as_str()?.contains(words).then_some(()));
    }

    /// Kills the agent of a host, without a word.
    pub fn kill_agent(&self, host: &Host) {
        let directory = eventually("it is shown", || self.shown(host));
        let directory = directory["directory"].as_str().expect("a directory");
        host.enter(&format!("kill -KILL $(sed -n 1p {directory}/agent)"));
    }

    /// Whether anything of ours is on a host: a process, or a file that was copied.
    pub fn is_anything_left(&self, host: &Host) -> bool {
        let here = Host::disk().join("ssh");
        host.succeeds(&format!(
            "[ -e {} ] || cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -q 'agent [s]tart'",
            here.display()
        ))
    }
}

/// What a command said, to the user and of errors.
fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|said| String::from_utf8_lossy(said).into_owned()).concat()
}

/// A server that lets in by keys alone. All that it needs lies on the host's disk.
/// With a home directory of the host's own: start-up files of this machine's user are not its, and may wait for each other.
fn configuration() -> String {
    let own = Host::disk();
    format!(
        "Port 22\nHostKey {own}/host_key\nAuthorizedKeysFile {own}/authorized_keys\nStrictModes no\nUsePAM no\nPidFile none\n\
         PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\nSetEnv HOME={own}\n",
        own = own.display()
    )
}

/// Puts an `ssh` into a pool's directory with a file of known hosts there: what a user's configuration would say, which lies in the home
/// directory of this machine's user.
fn configure(pool: &Path) {
    let bin = pool.join("bin");
    std::fs::create_dir(&bin).expect("a directory");
    let known = pool.join("known_hosts");
    let real = "/usr/bin/ssh -o GlobalKnownHostsFile=/dev/null";
    let script = format!("#!/bin/sh\nexec {real} -o UserKnownHostsFile={} \"$@\"\n", known.display());
    std::fs::write(bin.join("ssh"), script).expect("a program");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(bin.join("ssh"), executable).expect("its mode");
}

fn make_key(path: &Path) {
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"])
        .arg(path)
        .output();
    let made = made.expect("ssh-keygen; hint: apt-get install openssh-client openssh-server");
    assert!(made.status.success(), "{}", said(&made));
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a file of a key")
}
