//! Hosts that are reached by the system's `ssh`: the program is copied to each, and an agent is started there that stays. They are fixed,
//! unlike the jobs of an engine: nothing decides how many there are, and nothing is given back. What ends is started again while the
//! coordinator lives; agents outlive it, and find it again.
//!
//! In reading order: `destination` and `options` (what a user may say), `record` (what is kept over a restart), `client` (one ssh),
//! `remote` (what is executed on a host), `tunnel` (a way back), `keeper` (one host), and here what adds, shows and removes them.

mod client;
mod destination;
mod keeper;
mod options;
mod record;
mod remote;
mod tunnel;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex as SharedMutex, MutexGuard, PoisonError};
use std::time::Duration;

use speedup_core::host::{Host, Presence};
use speedup_core::machine::provision::{EngineNote, EngineNoteKind};
use speedup_core::value::causes::with_causes;
use speedup_core::value::id::HostId;
use thiserror::Error;
use tokio::{sync::Mutex, sync::OnceCell, sync::Semaphore, sync::watch, task::JoinHandle, task::JoinSet};

use super::{agent::AgentStart, look::tell, record::RecordError};
use crate::{admission::Admission, handle::Handle};
pub(crate) use destination::{Destination, DestinationError};
use keeper::{First, Glance, Keeper, Shared};
pub(crate) use keeper::{SshSeen, SshState};
use options::SshOptionsError;
use record::Record;
pub(crate) use record::{NAME as SSH_RECORD, SshHost};
use remote::Removed;

/// Most hosts: each has a task here, and those with a tunnel a process.
const MAX_HOSTS: usize = 2_000;
/// Hosts that are worked on at once: each takes a process of ssh, and perhaps a copy of the program through one network.
const SLOTS: usize = 16;
/// How often it is looked which hosts are connected.
const GLANCE: Duration = Duration::from_secs(1);
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
    shared: Option<Arc<Shared>>,
    /// Held by who changes them: that may take a while, in which they are shown all the same.
    changing: Mutex<()>,
    kept: SharedMutex<Kept>,
    glancing: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Kept {
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

/// What became of a host that was to be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SshRemoval {
    /// Nothing of it is left.
    Done,
    /// Its agent has ended, and its state is still there, with why.
    StateKept(String),
    /// It is forgotten, and its agent may go on.
    Forgotten,
    /// It was not removed, and why.
    Failed(String),
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
        let (glancing, glance) = watch::channel(Glance::default());
        let shared = admission.map(|admission| {
            Arc::new(Shared {
                agent: agent.clone(),
                handle: handle.clone(),
                admission,
                name: record.name.clone(),
                program: OnceCell::new(),
                slots: Semaphore::new(SLOTS),
                glance,
            })
        });
        let hosts = match &shared {
            Some(shared) => {
                record.hosts.values().map(|host| start(host.clone(), shared, First::Wait)).collect()
            }
            None => BTreeMap::new(),
        };
        let kept = SharedMutex::new(Kept { record, hosts });
        let inner = Arc::new_cyclic(|inner: &std::sync::Weak<Inner>| {
            let glancing =
                shared.is_some().then(|| tokio::spawn(glance_on(inner.clone(), handle.clone(), glancing)));
            Inner { data, agent, handle, shared, changing: Mutex::default(), kept, glancing }
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
        inner.write(&record).await?;
        for host in &hosts {
            let note = EngineNote::by(&host.by, EngineNoteKind::SshAdded, &host.in_words());
            tell(&inner.handle, note.of(host.destination.host())).await;
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
        let shown = |(id, current): (&HostId, &Current)| {
            let host = kept.record.hosts.get(id)?.clone();
            let seen = current.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let directory = format!("{}/{}/{id}", host.directory, kept.record.name);
            Some(ShownSshHost { host, seen, directory })
        };
        kept.hosts.iter().filter_map(shown).collect()
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
            let (id, keeper) = (id.clone(), Keeper::new(host.clone(), shared.clone(), seen));
            removals.spawn(async move { (id, removed(&keeper, unreachable).await) });
        }
        let outcomes: BTreeMap<HostId, SshRemoval> = removals.join_all().await.into_iter().collect();
        record.hosts.retain(|id, _| outcomes.get(id).is_none_or(|removal| !removal.is_over()));
        inner.write(&record).await?;
        for (id, removal) in &outcomes {
            if let Some(words) = removal.in_words() {
                tell(&inner.handle, EngineNote::by(by, EngineNoteKind::SshRemoved, &words).of(id)).await;
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
        if let Some(glancing) = &inner.glancing {
            glancing.abort();
        }
        let hosts = std::mem::take(&mut inner.kept().hosts);
        hosts.into_values().for_each(|current| current.task.abort());
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
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn write(&self, record: &Record) -> Result<(), RecordError> {
        let (record, data) = (record.clone(), self.data.clone());
        let written = tokio::task::spawn_blocking(move || record.write(&data)).await;
        written.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    }
}

fn start(host: SshHost, shared: &Arc<Shared>, first: First) -> (HostId, Current) {
    let id = host.destination.host().clone();
    let seen = Arc::new(SharedMutex::new(SshSeen::new()));
    let keeper = Keeper::new(host, shared.clone(), seen.clone());
    (id, Current { seen, task: tokio::spawn(keeper.keep(first)) })
}

async fn removed(keeper: &Keeper, unreachable: Unreachable) -> SshRemoval {
    match keeper.remove().await {
        Ok(Removed::Wholly) => SshRemoval::Done,
        Ok(Removed::ButState(why)) => SshRemoval::StateKept(why),
        Err(_) if unreachable == Unreachable::Forget => SshRemoval::Forgotten,
        Err(error) => SshRemoval::Failed(with_causes(&error)),
    }
}

/// Keeps telling which of the hosts are connected and which boot anew, while anyone asks for them.
async fn glance_on(inner: std::sync::Weak<Inner>, handle: Handle, glance: watch::Sender<Glance>) {
    let _vital = handle.store.fault().watch_over("what looks at the hosts by ssh");
    loop {
        tokio::time::sleep(GLANCE).await;
        // Nobody has the hosts any more.
        let Some(inner) = inner.upgrade() else { return };
        let ids: Vec<HostId> = inner.kept().hosts.keys().cloned().collect();
        drop(inner);
        if ids.is_empty() {
            continue;
        }
        let seen = handle.query(move |machine| {
            let those = |is_meant: fn(&Host) -> bool| -> BTreeSet<HostId> {
                ids.iter().filter(|id| machine.host(id).is_some_and(is_meant)).cloned().collect()
            };
            let connected = those(|host| matches!(host.presence, Presence::Here { .. }));
            Glance { connected, rebooting: those(|host| host.reboot.is_some()) }
        });
        let Ok(seen) = seen.await else { return };
        glance.send_if_modified(|before| {
            let is_new = *before != seen;
            *before = seen;
            is_new
        });
    }
}

/// It stands in commands for shells of any kind, so it has nothing that one of them reads otherwise.
fn check_directory(directory: &str) -> Result<(), SshHostsError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    let begins = directory.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '.' || c == '/');
    let leads_away = directory.split('/').any(|part| part == ".." || part.starts_with('-'));
    let is_root = directory.trim_matches(['/', '.']).is_empty();
    if directory.len() > MAX_DIRECTORY_BYTES
        || !begins
        || leads_away
        || is_root
        || !directory.chars().all(fits)
    {
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
