//! Hosts that are reached by the system's `ssh`: the program is copied to each, and an agent is started there that stays. They are fixed,
//! unlike the jobs of an engine: nothing decides how many there are, and nothing is given back. What ends is started again while the
//! coordinator lives; agents outlive it, and find it again.
//!
//! In reading order: `destination` and `options` (what a user may say), `record` (what is kept over a restart), `client` (one ssh),
//! `remote` (what is executed on a host), `tunnel` (a way back), `supervisor` (one host), and here what adds, shows and removes them.

mod client;
mod destination;
mod options;
mod record;
mod remote;
mod supervisor;
mod tunnel;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex as SharedMutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use speedup_core::host::Presence;
use speedup_core::machine::provision::{EngineNote, EngineNoteKind};
use speedup_core::value::causes::with_causes;
use speedup_core::value::id::HostId;
use thiserror::Error;
use tokio::{sync::Mutex, sync::OnceCell, sync::Semaphore, sync::watch, task::JoinHandle, task::JoinSet};

use super::{agent::AgentStart, command::blocking, reconciler::log_note, record::RecordError};
use crate::{admission::Admission, handle::Handle};
pub(crate) use destination::{Destination, DestinationError};
use options::SshOptionsError;
use record::Record;
pub(crate) use record::{NAME as SSH_RECORD, SshHost};
use remote::Removal;
pub(crate) use supervisor::SshSeen;
use supervisor::{First, HostPresence, Supervisor, SupervisorContext};

/// Most hosts: each has a task here, and those with a tunnel a process.
const MAX_HOSTS: usize = 2_000;
/// Hosts that are worked on at once: each takes a process of ssh, and perhaps a copy of the program through one network.
const SLOTS: usize = 16;
/// How often it is looked which hosts are connected.
const PRESENCE: Duration = Duration::from_secs(1);
/// Longest name of a directory on hosts.
const MAX_DIRECTORY_BYTES: usize = 200;

/// The hosts of a coordinator that are reached by ssh. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct SshHosts(Option<Arc<Inner>>);

#[derive(Debug)]
struct Inner {
    data: PathBuf,
    agent: AgentStart,
    handle: Handle,
    /// None where there is no TLS.
    shared: Option<Arc<SupervisorContext>>,
    /// Held by who changes them: that may take a while, in which they are shown all the same.
    changing: Mutex<()>,
    kept: SharedMutex<HostTable>,
    watching: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct HostTable {
    record: Record,
    hosts: BTreeMap<HostId, Current>,
}

#[derive(Debug)]
struct Current {
    seen: Arc<SharedMutex<SshSeen>>,
    task: JoinHandle<()>,
}

#[derive(Clone, Debug)]
pub(crate) struct ShownSshHost {
    pub(crate) host: SshHost,
    pub(crate) seen: SshSeen,
    /// Where log and state of its agent lie there.
    pub(crate) directory: String,
}

speedup_core::words! {
    /// What became of a host that was to be removed.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) enum SshRemoval {
        /// Nothing of it is left.
        Done = "removed",
        /// Its agent has ended, and its state is still there, with why.
        StateKept(String) = "state_kept",
        /// It is forgotten, and its agent may go on.
        Forgotten = "forgotten",
        /// It was not removed, and why.
        Failed(String) = "failed",
    }
    fn word(&self);
}

/// Whether hosts that are not reached are forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unreachable {
    /// They stay, and are tried again when they are to be removed again.
    Keep,
    Forget,
}

/// Why hosts are not added or removed.
#[derive(Debug, Error)]
pub(crate) enum SshHostsError {
    #[error("this coordinator cannot start agents: it was started for a single command")]
    Unable,
    #[error("a coordinator without TLS lets in no agents of other hosts")]
    Insecure,
    #[error("the coordinator listens on {0}, where no other host can reach it")]
    Unreachable(std::net::SocketAddr),
    #[error("no host is named")]
    Nobody,
    #[error("at most {MAX_HOSTS} hosts can be reached by ssh")]
    TooMany,
    #[error(transparent)]
    Destination(#[from] DestinationError),
    #[error(transparent)]
    Options(#[from] SshOptionsError),
    #[error(
        "{0:?} cannot be the directory on the hosts: it is relative to the home directory or absolute, in letters, digits and . _ - / without .."
    )]
    Directory(String),
    #[error("host {0} is not reached by ssh")]
    Unknown(HostId),
    /// It cannot be written down.
    #[error(transparent)]
    Record(#[from] RecordError),
}

speedup_core::hints! { SshHostsError:
    Self::Insecure => "start the coordinator without --insecure",
    Self::Unreachable(_) =>
        "start the coordinator with --bind ADDRESS, one that the hosts reach, or --advertise what they reach; or add them with \
            --tunnel",
    Self::Unknown(_) => "`speedup hosts ssh show` lists those that are",
}

impl SshHosts {
    /// Those of a coordinator for one command, which has none.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// Goes on with those that were added before, if any.
    pub(crate) fn resume(
        data: PathBuf,
        agent: AgentStart,
        handle: Handle,
        admission: Option<Admission>,
    ) -> Result<Self, RecordError> {
        let record = Record::read(&data)?.unwrap_or_else(|| Record::new(super::spec::new_name()));
        let (presence, seen_presence) = watch::channel(HostPresence::default());
        let shared = admission.map(|admission| {
            Arc::new(SupervisorContext {
                agent: agent.clone(),
                handle: handle.clone(),
                admission,
                name: record.name.clone(),
                program: OnceCell::new(),
                slots: Semaphore::new(SLOTS),
                presence: seen_presence,
            })
        });
        let mut hosts = BTreeMap::new();
        if let Some(shared) = &shared {
            hosts.extend(record.hosts.values().map(|host| start(host.clone(), shared, First::Wait)));
        }
        let kept = SharedMutex::new(HostTable { record, hosts });
        let inner = Arc::new_cyclic(|inner: &Weak<Inner>| {
            // Without TLS no host is served, and nobody asks which are connected.
            let watching = if shared.is_some() {
                Some(tokio::spawn(watch_presence(inner.clone(), handle.clone(), presence)))
            } else {
                None
            };
            Inner { data, agent, handle, shared, changing: Mutex::default(), kept, watching }
        });
        Ok(Self(Some(inner)))
    }

    /// Adds hosts, each in place of what was said of it before.
    pub(crate) async fn add(&self, hosts: Vec<SshHost>) -> Result<(), SshHostsError> {
        let inner = self.0.as_ref().ok_or(SshHostsError::Unable)?;
        let shared = inner.shared.as_ref().ok_or(SshHostsError::Insecure)?;
        if hosts.is_empty() {
            return Err(SshHostsError::Nobody);
        }
        for host in &hosts {
            options::check(&host.options)?;
            check_directory(&host.directory)?;
            if !host.tunnel && !inner.agent.is_reached_from_elsewhere() {
                return Err(SshHostsError::Unreachable(inner.agent.address));
            }
        }
        let _changing = inner.changing.lock().await;
        let mut record = inner.kept().record.clone();
        record.hosts.extend(hosts.iter().map(|host| (host.destination.host().clone(), host.clone())));
        if record.hosts.len() > MAX_HOSTS {
            return Err(SshHostsError::TooMany);
        }
        // Durable first: a coordinator that ends here goes on with them.
        inner.write(&record).await?;
        for host in &hosts {
            let note = EngineNote::by(&host.by, EngineNoteKind::SshAdded, &host.in_words());
            log_note(&inner.handle, note.of(host.destination.host())).await;
        }
        let mut kept = inner.kept();
        kept.record = record;
        for host in hosts {
            let (id, current) = start(host, shared, First::Look);
            if let Some(before) = kept.hosts.insert(id, current) {
                before.task.abort();
            }
        }
        Ok(())
    }

    /// All of them, by name.
    pub(crate) fn show(&self) -> Vec<ShownSshHost> {
        let Some(inner) = &self.0 else { return Vec::new() };
        let kept = inner.kept();
        let mut shown = Vec::new();
        for (id, current) in &kept.hosts {
            let Some(host) = kept.record.hosts.get(id).cloned() else { continue };
            let seen = current.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let directory = format!("{}/{}/{id}", host.directory, kept.record.name);
            shown.push(ShownSshHost { host, seen, directory });
        }
        shown
    }

    /// Ends the agents of these hosts, or of all, and removes what was copied.
    pub(crate) async fn remove(
        &self,
        hosts: Vec<HostId>,
        unreachable: Unreachable,
        by: &str,
    ) -> Result<BTreeMap<HostId, SshRemoval>, SshHostsError> {
        let inner = self.0.as_ref().ok_or(SshHostsError::Unable)?;
        let shared = inner.shared.as_ref().ok_or(SshHostsError::Insecure)?;
        let _changing = inner.changing.lock().await;
        let mut record = inner.kept().record.clone();
        if let Some(unknown) = hosts.iter().find(|host| !record.hosts.contains_key(*host)) {
            return Err(SshHostsError::Unknown(unknown.clone()));
        }
        let mut removals = JoinSet::new();
        for (id, host) in record.hosts.iter().filter(|(id, _)| hosts.is_empty() || hosts.contains(id)) {
            // It would start again what is ended. It is shown until the end all the same.
            if let Some(current) = inner.kept().hosts.get(id) {
                current.task.abort();
            }
            let seen = Arc::new(SharedMutex::new(SshSeen::new()));
            let supervisor = Supervisor::new(host.clone(), shared.clone(), seen);
            let id = id.clone();
            removals.spawn(async move { (id, removed(&supervisor, unreachable).await) });
        }
        let outcomes: BTreeMap<HostId, SshRemoval> = removals.join_all().await.into_iter().collect();
        record.hosts.retain(|id, _| outcomes.get(id).is_none_or(|removal| !removal.is_over()));
        inner.write(&record).await?;
        for (id, removal) in &outcomes {
            if let Some(words) = removal.in_words() {
                log_note(&inner.handle, EngineNote::by(by, EngineNoteKind::SshRemoved, &words).of(id)).await;
            }
        }
        let mut kept = inner.kept();
        kept.record = record;
        for id in outcomes.keys() {
            // What was not removed is kept running as before.
            let again = kept.record.hosts.get(id).cloned().map(|host| start(host, shared, First::Look));
            kept.hosts.remove(id);
            kept.hosts.extend(again);
        }
        Ok(outcomes)
    }

    /// Lets go of them: their agents stay, and come back to the next start.
    pub(crate) fn stop(&self) {
        let Some(inner) = &self.0 else { return };
        if let Some(watching) = &inner.watching {
            watching.abort();
        }
        let hosts = std::mem::take(&mut inner.kept().hosts);
        for current in hosts.into_values() {
            current.task.abort();
        }
    }
}

impl SshRemoval {
    fn is_over(&self) -> bool {
        match self {
            Self::Done | Self::StateKept(_) | Self::Forgotten => true,
            Self::Failed(_) => false,
        }
    }

    /// What the event log says of it; nothing where the host stays.
    fn in_words(&self) -> Option<String> {
        match self {
            Self::Done => Some("its agent ended, and nothing is left".to_owned()),
            Self::StateKept(why) => Some(format!("its agent ended, and its state is kept: {why}")),
            Self::Forgotten => Some("it was not reached, and is forgotten".to_owned()),
            Self::Failed(_) => None,
        }
    }
}

impl Inner {
    fn kept(&self) -> MutexGuard<'_, HostTable> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn write(&self, record: &Record) -> Result<(), RecordError> {
        let record = record.clone();
        let data = self.data.clone();
        blocking(move || record.write(&data)).await
    }
}

fn start(host: SshHost, shared: &Arc<SupervisorContext>, first: First) -> (HostId, Current) {
    let id = host.destination.host().clone();
    let seen = Arc::new(SharedMutex::new(SshSeen::new()));
    let supervisor = Supervisor::new(host, shared.clone(), seen.clone());
    (id, Current { seen, task: tokio::spawn(supervisor.run(first)) })
}

async fn removed(supervisor: &Supervisor, unreachable: Unreachable) -> SshRemoval {
    match supervisor.remove().await {
        Ok(Removal::Wholly) => SshRemoval::Done,
        Ok(Removal::ButState(why)) => SshRemoval::StateKept(why),
        Err(_) if unreachable == Unreachable::Forget => SshRemoval::Forgotten,
        Err(error) => SshRemoval::Failed(with_causes(&error)),
    }
}

/// Keeps telling which of the hosts are connected and which boot anew, while anyone asks for them.
async fn watch_presence(inner: Weak<Inner>, handle: Handle, presence: watch::Sender<HostPresence>) {
    let _vital = handle.store.fault().watch_over("what looks at the hosts by ssh");
    loop {
        tokio::time::sleep(PRESENCE).await;
        // Nobody has the hosts any more.
        let Some(inner) = inner.upgrade() else { return };
        let ids: Vec<HostId> = inner.kept().hosts.keys().cloned().collect();
        drop(inner);
        if ids.is_empty() {
            continue;
        }
        let seen = handle.query(move |machine| {
            let mut presence = HostPresence::default();
            for host in ids.iter().filter_map(|id| machine.host(id)) {
                let id = &host.facts.host;
                if matches!(host.presence, Presence::Here { .. }) {
                    presence.connected.insert(id.clone());
                }
                if host.reboot.is_some() {
                    presence.rebooting.insert(id.clone());
                }
            }
            presence
        });
        let Ok(seen) = seen.await else { return };
        presence.send_if_modified(|before| {
            let is_new = *before != seen;
            *before = seen;
            is_new
        });
    }
}

/// It stands in commands for shells of any kind, so it has nothing that one of them reads otherwise.
fn check_directory(directory: &str) -> Result<(), SshHostsError> {
    let fits = directory.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c));
    let begins = directory.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.' || c == '/');
    let leads_away = directory.split('/').any(|part| part == ".." || part.starts_with('-'));
    let is_root = directory.trim_matches(['/', '.']).is_empty();
    if directory.len() > MAX_DIRECTORY_BYTES || !begins || leads_away || is_root || !fits {
        return Err(SshHostsError::Directory(directory.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_the_same_to_every_shell() {
        for directory in [".local/state/speedup/ssh", "/scratch/alice", "a"] {
            assert!(check_directory(directory).is_ok(), "{directory}");
        }
        let long = "a".repeat(201);
        for directory in
            ["", "/", ".", "..", "a/../b", "~/a", "a b", "a'b", "$HOME", "-a", "a/-b", "a\nb", &long]
        {
            assert!(check_directory(directory).is_err(), "{directory}");
        }
    }
}
