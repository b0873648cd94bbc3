//! Keeps the agent of one host running: what is missing is copied, what has ended is started again. While its agent is connected the
//! host is left alone, so that nothing of this disturbs what is measured there.

use std::collections::BTreeSet;
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use speedup_access::Role;
use speedup_core::machine::provision::{EngineNote, EngineNoteKind};
use speedup_core::value::causes::with_causes;
use speedup_core::value::id::HostId;
use speedup_core::value::time::Timestamp;
use thiserror::Error;
use tokio::{sync::OnceCell, sync::Semaphore, sync::watch, time::Instant};

use super::client::{Client, SshError};
use super::record::SshHost;
use super::remote::{Agent, AgentSpec, RemoteLayout, Removal};
use super::tunnel::Tunnel;
use crate::admission::{Admission, NewToken, Uses};
use crate::handle::Handle;
use crate::provision::reconciler::log_note;
use crate::provision::{agent::AgentStart, command::blocking};
use crate::timeline::wall_clock;

/// How long an agent that was started may take to join before it is asked after.
const JOIN_PATIENCE: Duration = Duration::from_secs(5);
/// How long one that lost its connection may take to come back by itself: a network hiccup is no reason to look.
const RECONNECT_PATIENCE: Duration = Duration::from_secs(2);
/// How long the agents of before may take to come back to a coordinator that starts: they try it every few seconds.
const RETURN_PATIENCE: Duration = Duration::from_secs(15);
/// The longest time between two attempts: a host that booted anew serves within a minute.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// After so long a connection what failed before is forgotten.
const STEADY: Duration = Duration::from_secs(60);
/// How long the token lives that lets an agent in: until it has started.
const TOKEN_LIFETIME_S: u64 = 600;

#[derive(Debug)]
pub(super) struct SupervisorContext {
    /// How agents find the coordinator.
    pub(super) agent: AgentStart,
    /// Where the event log is told.
    pub(super) handle: Handle,
    /// What lets them in.
    pub(super) admission: Admission,
    /// What tells the directories of this coordinator from those of others.
    pub(super) name: String,
    /// Of this process; read once.
    pub(super) program: OnceCell<Program>,
    /// How many hosts are worked on at once.
    pub(super) slots: Semaphore,
    /// What the coordinator sees of the hosts.
    pub(super) presence: watch::Receiver<HostPresence>,
}

/// What the coordinator sees of the hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HostPresence {
    pub(super) connected: BTreeSet<HostId>,
    /// Those that were asked to boot anew.
    pub(super) rebooting: BTreeSet<HostId>,
}

/// The program that is copied: this very one, also where its file was replaced since.
#[derive(Clone, Debug)]
pub(super) struct Program {
    hash: String,
    bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum First {
    /// The host is looked at, also if it is connected: it was just added, and its agent may be another than is wanted now.
    Look,
    /// Its agent is waited for: it may be measuring.
    Wait,
}

speedup_core::words! {
    /// What a host does, as far as is known.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum SshState {
        Looking = "looking",
        Copying = "copying",
        /// Its agent was started and has not joined yet.
        Starting = "starting",
        Serving = "serving",
        /// It boots anew, as a plan asks.
        Rebooting = "rebooting",
        /// Something failed and is tried again.
        Failing = "failing",
    }
    fn word;
}

/// What is shown of a host.
#[derive(Clone, Debug)]
pub(crate) struct SshSeen {
    pub(crate) state: SshState,
    pub(crate) since: Timestamp,
    /// What last failed, and when.
    pub(crate) error: Option<(Timestamp, String)>,
    /// How often its agent was started by this coordinator, since it began or the host was added.
    pub(crate) starts: u32,
}

/// Why a host does not serve.
#[derive(Debug, Error)]
pub(super) enum SupervisorError {
    /// It cannot be reached, or something is wrong there.
    #[error(transparent)]
    Ssh(#[from] SshError),
    #[error("{0}")]
    Tunnel(String),
    #[error("cannot make a token for the agent: {0}")]
    Token(String),
    #[error("cannot read the program of this process")]
    Program(#[source] std::io::Error),
}

/// Keeps the agent of one host running.
#[derive(Debug)]
pub(super) struct Supervisor {
    id: HostId,
    host: SshHost,
    client: Client,
    place: RemoteLayout,
    tunnel: Option<Tunnel>,
    shared: Arc<SupervisorContext>,
    seen: Arc<Mutex<SshSeen>>,
    failures: u32,
}

impl SshSeen {
    /// Of a host that was just added.
    pub(super) fn new() -> Self {
        Self { state: SshState::Looking, since: wall_clock(), error: None, starts: 0 }
    }
}

impl Supervisor {
    pub(super) fn new(host: SshHost, shared: Arc<SupervisorContext>, seen: Arc<Mutex<SshSeen>>) -> Self {
        let id = host.destination.host().clone();
        let place = RemoteLayout {
            root: host.directory.clone(),
            coordinator: shared.name.clone(),
            host: id.as_str().to_owned(),
        };
        let to = shared.agent.reached_from_here().to_string();
        let tunnel = host.tunnel.then(|| Tunnel::new(format!("{} {id}", shared.name), to));
        let client = Client::new(host.destination.clone(), host.options.clone());
        Self { id, host, client, place, tunnel, shared, seen, failures: 0 }
    }

    /// Keeps it until the task is ended.
    pub(super) async fn run(mut self, first: First) {
        let _vital = self.shared.handle.store.fault().watch_over("what keeps an agent by ssh");
        // A tunnel that cannot be made is told when the host is looked at.
        if first == First::Wait
            && self.hold_tunnel().await.is_ok()
            && self.joins_within(RETURN_PATIENCE).await
        {
            self.serve().await;
        }
        loop {
            match self.tend().await {
                Ok(state) => self.note(state),
                Err(error) => self.failed(&with_causes(&error)),
            }
            let has_joined = self.joins_within(JOIN_PATIENCE).await || {
                self.failures += 1;
                self.joins_within(pause(self.failures)).await
            };
            if has_joined {
                self.serve().await;
            }
        }
    }

    /// Ends the agent, and removes what was copied.
    pub(super) async fn remove(&self) -> Result<Removal, SupervisorError> {
        let _slot = self.slot().await;
        Ok(self.client.script(&self.place.remove()).await?.removed())
    }

    /// Until its connection is lost, and does not come back by itself. An agent that ends soon after each start is started less and less often.
    async fn serve(&mut self) {
        self.note(SshState::Serving);
        let since = Instant::now();
        let mut presence = self.shared.presence.clone();
        loop {
            let is_away = presence.wait_for(|seen| !seen.connected.contains(&self.id)).await.is_ok();
            // Without a sender the coordinator stops.
            if !is_away || !self.joins_within(RECONNECT_PATIENCE).await {
                break;
            }
        }
        let reboots = self.is_rebooting();
        self.note(if reboots { SshState::Rebooting } else { SshState::Looking });
        if reboots || since.elapsed() >= STEADY {
            self.failures = 0;
        } else {
            self.failures += 1;
            tokio::time::sleep(pause(self.failures)).await;
        }
    }

    async fn joins_within(&self, patience: Duration) -> bool {
        let mut presence = self.shared.presence.clone();
        let joined = presence.wait_for(|seen| seen.connected.contains(&self.id));
        matches!(tokio::time::timeout(patience, joined).await, Ok(Ok(_)))
    }

    /// Whether it was asked to boot anew, and has not come back since.
    fn is_rebooting(&self) -> bool {
        self.shared.presence.borrow().rebooting.contains(&self.id)
    }

    /// Looks, and does what is missing; gives what the host does then.
    async fn tend(&mut self) -> Result<SshState, SupervisorError> {
        let shared = self.shared.clone();
        let _slot = shared.slots.acquire().await;
        self.hold_tunnel().await?;
        let program = shared.program.get_or_try_init(read_program).await.map_err(SupervisorError::Program)?;
        let wanted = self.wanted(program);
        let found = self.client.script(&self.place.look(&wanted)).await?.found();
        let why = match found.agent {
            Agent::Running { mark } if mark == wanted.mark() => return Ok(SshState::Starting),
            Agent::Running { .. } => {
                tracing::info!(host = %self.id, "ending an agent that was started otherwise than is wanted now");
                self.client.script(&self.place.stop()).await?;
                "started otherwise than is wanted now".to_owned()
            }
            // It goes down: an agent of this boot would serve no run.
            Agent::Ended { .. } if self.is_rebooting() => return Ok(SshState::Rebooting),
            Agent::Ended { words } => {
                let why = format!("its agent ended: {words}");
                self.tell(&why);
                why
            }
            Agent::Booted => "its host booted anew".to_owned(),
            Agent::None => "there was none".to_owned(),
        };
        if !found.has_program {
            self.note(SshState::Copying);
            let file = File::open(PROGRAM).map_err(SupervisorError::Program)?;
            let command = self.place.copy(&program.hash, program.bytes);
            self.client.copy(file, &command).await?;
            tracing::info!(host = %self.id, program = program.hash, "copied program");
        }
        self.note(SshState::Starting);
        let token = self.token().await?;
        self.client.script(&self.place.start(&wanted, &token)).await?;
        self.seen().starts += 1;
        tracing::info!(host = %self.id, "started agent by ssh");
        log_note(&shared.handle, EngineNote::own(EngineNoteKind::SshStarted, &why).of(&self.id)).await;
        Ok(SshState::Starting)
    }

    async fn hold_tunnel(&mut self) -> Result<(), SupervisorError> {
        match &mut self.tunnel {
            Some(tunnel) => tunnel.hold(&self.client).await.map_err(SupervisorError::Tunnel),
            None => Ok(()),
        }
    }

    fn wanted(&self, program: &Program) -> AgentSpec {
        let url = match &self.tunnel {
            Some(tunnel) => format!("https://127.0.0.1:{}", tunnel.port()),
            None => self.shared.agent.url(),
        };
        let mut arguments = vec!["--coordinator".to_owned(), url];
        arguments.extend(["--host-id".to_owned(), self.id.as_str().to_owned()]);
        if let Some(command) = &self.host.reboot_command {
            arguments.extend(["--reboot-command".to_owned(), command.clone()]);
        }
        AgentSpec { program: program.hash.clone(), arguments }
    }

    /// A token for this host alone, for one use: an agent that has its certificate needs none.
    async fn token(&self) -> Result<String, SupervisorError> {
        let new = NewToken {
            role: Role::Agent,
            name: Some(self.id.as_str().to_owned()),
            uses: Uses::Times(1),
            lifetime: TOKEN_LIFETIME_S,
            by: self.host.by.clone(),
        };
        let token = self.shared.admission.create_token(new).await;
        token.map(|token| token.text()).map_err(|error| SupervisorError::Token(error.to_string()))
    }

    async fn slot(&self) -> Option<tokio::sync::SemaphorePermit<'_>> {
        // It is never closed.
        self.shared.slots.acquire().await.ok()
    }

    fn note(&self, state: SshState) {
        let mut seen = self.seen();
        if seen.state != state {
            (seen.state, seen.since) = (state, wall_clock());
        }
    }

    /// That a host which boots cannot be reached is no failure: the coordinator gives it up in time.
    fn failed(&self, words: &str) {
        if self.is_rebooting() {
            tracing::debug!(host = %self.id, "{words}; it boots anew");
            self.note(SshState::Rebooting);
        } else {
            self.note(SshState::Failing);
            self.tell(words);
        }
    }

    /// Told once, however often it happens.
    fn tell(&self, words: &str) {
        let before = self.seen().error.replace((wall_clock(), words.to_owned()));
        if before.is_none_or(|(_, before)| before != words) {
            tracing::warn!(host = %self.id, "{words}; trying again");
        }
    }

    fn seen(&self) -> MutexGuard<'_, SshSeen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A second after the first failure, twice as long after each further one.
fn pause(failures: u32) -> Duration {
    let doubled = 1_u64.checked_shl(failures.saturating_sub(1)).unwrap_or(u64::MAX);
    Duration::from_secs(doubled).min(LONGEST_PAUSE)
}

const PROGRAM: &str = "/proc/self/exe";

async fn read_program() -> Result<Program, std::io::Error> {
    blocking(|| {
        let file = File::open(PROGRAM)?;
        let bytes = file.metadata()?.len();
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(file)?;
        Ok(Program { hash: hasher.finalize().to_hex()[..32].to_owned(), bytes })
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_minute() {
        let seconds: Vec<u64> = (1..9).map(|failures| pause(failures).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(pause(u32::MAX), LONGEST_PAUSE);
    }
}
