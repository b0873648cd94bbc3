//! What starts and stops: recovery, the workers (owner with committer, indexer, checkpointer), and the server of the doors.

mod doors;
mod incoming;

use std::{
    collections::BTreeSet, net::SocketAddr, path::Path, path::PathBuf, sync::Arc, thread::JoinHandle,
    time::Duration, time::Instant,
};

use rustix::net::sockopt::{
    set_socket_keepalive, set_tcp_keepcnt, set_tcp_keepidle, set_tcp_keepintvl, set_tcp_nodelay,
    set_tcp_user_timeout,
};
use rustls::ServerConfig;
use speedup_access::{
    ServerNames, liveness::KEEPALIVE, liveness::UNACKNOWLEDGED_MS, server::ServerError, unix_seconds,
};
use speedup_core::{
    experiment::Experiment, experiment::files::FileSource, machine::Settings, value::causes::with_causes,
    value::count::counted, value::id::ExperimentId,
};
use speedup_journal::{Holder, JournalId, LockError, OpenError};
use speedup_proto::convert::Blob;
use thiserror::Error;
use tokio::{net::TcpListener, net::TcpSocket, sync::mpsc, sync::watch};
use tonic::{service::Routes, transport::Channel};
use uuid::Uuid;

pub use self::incoming::Ways;
use self::{doors::Bounds, doors::doors, incoming::ByKind, incoming::Incoming, incoming::incoming};
use crate::{
    admission::Admission, admission::AdmissionError, blobs::BlobError, blobs::Blobs, blobs::UnnamedBlobs,
    checkpoint::Checkpointer, committer::Committer, component::ComponentFailures,
    component::CoordinatorComponent, door::CallCounter, door::Guard, drain_guard::DrainGuard, fault::Broken,
    fault::Fault, gate::Gate, handle::Handle, handle::Progress, indexer::Indexer, indexer::backlog,
    metrics::Metrics, monitor::Health, monitor::Pages, owner::Owner, owner::Request, owner::WAITING_REQUESTS,
    provision::AgentPlace, provision::AgentStart, provision::Provisioning, provision::QueueSelector,
    provision::QueueStatus, provision::RecordError, provision::ResumeError, provision::SshHosts,
    recovery::RecoveredState, recovery::RecoveryError, recovery::recover, store::StoreCache,
    timeline::TimeLine,
};

/// Connections that may wait to be accepted: after a restart all agents connect at once.
const WAITING_CONNECTIONS: u32 = 16_384;

/// How long connections may take, once all is kept, to bring the last answers to who waits for them. Streams that nobody
/// ends would keep them for ever.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Most users, or users and hosts, that a start names: the log stays readable.
const MAX_NAMED_USERS: usize = 10;

/// Most experiments without their staged files that a start names: the log stays readable.
const MAX_NAMED_LACKING: usize = 20;

/// How a coordinator is started.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where journal and store lie; made if it is not there.
    pub data: PathBuf,
    /// Where the doors are; port 0 takes a free one.
    pub bind: SocketAddr,
    /// Who may reach them.
    pub security: Security,
    /// How the machine behaves where plans are silent.
    pub settings: Settings,
    /// How much of the store is kept in memory.
    pub store_cache: StoreCache,
    /// Where agents lie that an engine starts; without it no engine is ever asked for hosts.
    pub agents: Option<AgentPlace>,
    /// Where metrics and health are asked for over plain HTTP, which holds numbers and no names; port 0 takes a free one.
    pub metrics: Option<SocketAddr>,
}

/// Who may reach the doors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Security {
    /// Who has a certificate of the coordinator's own authority, over TLS; what it may do is said there.
    Tls {
        /// By what names and addresses the coordinator is reached, beside the one that it listens on.
        names: Vec<String>,
    },
    /// Every user of this machine, who then may have programs executed on every host.
    Plain,
}

/// Why a coordinator does not start.
#[derive(Debug, Error)]
pub enum StartError {
    #[error("{0} can be reached from other machines, which needs TLS")]
    NotLoopback(SocketAddr),
    #[error("cannot determine who has access, from {}", path.display())]
    Admission { path: PathBuf, source: AdmissionError },
    #[error("cannot secure connections")]
    Tls(#[from] ServerError),
    #[error("cannot listen on {address}")]
    Bind { address: SocketAddr, source: std::io::Error },
    #[error("cannot listen on {address} for metrics")]
    BindMetrics { address: SocketAddr, source: std::io::Error },
    #[error("cannot recover the data directory {}", path.display())]
    Recovery { path: PathBuf, source: Box<RecoveryError> },
    #[error("cannot open the files kept in {}", path.display())]
    Files { path: PathBuf, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("cannot continue to request hosts")]
    Provision(#[source] ResumeError),
    #[error("cannot continue to keep agents running by ssh")]
    SshHosts(#[source] RecordError),
    #[error("cannot start a thread")]
    Thread(#[source] std::io::Error),
    /// The reflection service cannot be built: a bug.
    #[error("cannot describe the services")]
    Reflection(#[source] tonic_reflection::server::Error),
}

impl StartError {
    /// Who holds the data directory, where that is why.
    pub fn holder(&self) -> Option<Holder> {
        match self {
            Self::Recovery { source, .. } => match source.as_ref() {
                RecoveryError::Open(OpenError::Lock(LockError::Held { holder, .. })) => Some(*holder),
                _ => None,
            },
            _ => None,
        }
    }
}

speedup_core::hints! { StartError:
    Self::NotLoopback(_) => "omit --insecure, or bind 127.0.0.1 or [::1]",
    Self::Admission { source, .. } => source.hint(),
    Self::Bind { .. } => "another program may listen there; choose another port with --bind",
    Self::BindMetrics { .. } =>
        "another program may listen there; choose another address with --metrics, or off",
    Self::Recovery { source, .. } => source.hint(),
    Self::Files { .. } => "check free space, permissions and disk errors",
    Self::Provision(_) =>
        "repair or remove provision.json in the data directory; the engine's jobs have to be ended by hand then",
    Self::SshHosts(_) =>
        "repair or remove ssh.json in the data directory; the agents on its hosts have to be ended by hand then",
}

/// A running coordinator.
#[derive(Debug)]
pub struct Coordinator {
    address: SocketAddr,
    metrics_address: Option<SocketAddr>,
    pages: Option<tokio::task::JoinHandle<()>>,
    handle: Handle,
    provisioning: Provisioning,
    ssh: SshHosts,
    admission: Option<Admission>,
    inside: Ways,
    accepting: tokio::task::JoinHandle<()>,
    fault: Fault,
    failing: ComponentFailures,
    stop: watch::Sender<()>,
    server: tokio::task::JoinHandle<()>,
    owner: tokio::task::JoinHandle<()>,
    threads: Vec<JoinHandle<()>>,
}

/// Starts a coordinator. `extend` adds services of others to its doors; they ask it through the ways they are given,
/// which do not leave the process.
pub async fn start(
    options: Options,
    extend: impl FnOnce(&Ways, Routes) -> Routes,
) -> Result<Coordinator, StartError> {
    let Options { data, bind, security, settings, store_cache, agents, metrics: metrics_bind } = options;
    if security == Security::Plain && !bind.ip().is_loopback() {
        return Err(StartError::NotLoopback(bind));
    }
    // First of all: it takes the lock of the data directory, so that two coordinators never serve the same one.
    let recovered = recover_apart(&data, settings, store_cache).await?;
    let fault = recovered.store.fault().clone();
    let failing = ComponentFailures::default();
    let blobs = open_blobs(&data, &recovered, &failing).await?;
    let bound = |source| StartError::Bind { address: bind, source };
    let listener = listen(bind).map_err(bound)?;
    let address = listener.local_addr().map_err(bound)?;
    let asked = metrics_bind.map(listen_for_metrics).transpose()?;
    let metrics = Metrics::default();
    let gate = Arc::new(Gate::new(metrics.clone()));
    let AdmissionSetup { admission, tls, thread } = admit(&data, security, address, &gate, &fault).await?;
    let Workers { handle, owner, mut threads } = start_workers(recovered, settings, &metrics, &failing)?;
    threads.extend(thread);
    let vital = fault.watch_over("what accepts connections");
    let (incoming, inside, accepting) = incoming(listener, tls, admission.clone(), gate.clone(), vital);
    let agent = agents.map(|place| AgentStart { place, address, is_secure: admission.is_some() });
    let (provisioning, ssh) = provision(&data, agent, &handle, &admission, &metrics).await?;
    if let Some(admission) = &admission {
        tell_expired(admission);
        tell_submitters(admission, &provisioning, &ssh).await;
    }
    let health = Health::new(failing, blobs, &provisioning, &data);
    let doors = doors(&handle, &health, admission.clone(), &ssh, &metrics).await?;
    let routes = extend(&inside, doors);
    let (stop, stopped) = watch::channel(());
    let guard = Guard { admission: admission.clone(), metrics: metrics.clone() };
    let serving = serve(incoming, CallCounter::new(metrics.clone()), guard, routes, stopped);
    let server = tokio::spawn(reporting(serving, fault.clone()));
    tracing::info!(%address, data = %data.display(), "coordinator listening");
    let metrics_address = asked.as_ref().and_then(|listener| listener.local_addr().ok());
    let pages = asked.map(|listener| {
        let pages = Arc::new(Pages::new(metrics, handle.clone(), health.clone(), gate));
        tokio::spawn(pages.serve(listener, fault.watch_over("the page of metrics")))
    });
    Ok(Coordinator {
        address,
        metrics_address,
        pages,
        handle,
        provisioning,
        ssh,
        admission,
        inside,
        accepting,
        fault,
        failing: health.failing,
        stop,
        server,
        owner,
        threads,
    })
}

/// Goes on with the hosts that were asked for before. Without a place for agents nobody ever is.
async fn provision(
    data: &Path,
    agent: Option<AgentStart>,
    handle: &Handle,
    admission: &Option<Admission>,
    metrics: &Metrics,
) -> Result<(Provisioning, SshHosts), StartError> {
    let Some(agent) = agent else { return Ok((Provisioning::none(), SshHosts::none())) };
    let asked = Provisioning::resume(data.to_owned(), agent.clone(), handle.clone(), metrics.clone()).await;
    let asked = asked.map_err(StartError::Provision)?;
    let reached = SshHosts::resume(data.to_owned(), agent, handle.clone(), admission.clone());
    Ok((asked, reached.map_err(StartError::SshHosts)?))
}

/// Says whose certificates have expired and are accepted for renewal nevertheless: an admin may want to revoke some.
fn tell_expired(admission: &Admission) {
    let registry = admission.registry();
    let expired = registry.expired(unix_seconds());
    if expired.is_empty() {
        return;
    }
    let holders = BTreeSet::from_iter(&expired);
    tracing::info!(
        "{} can be renewed, of {}; `speedup access list` shows all, `speedup access revoke` ends those that are not needed",
        counted(expired.len() as u64, "expired certificate"),
        some_of(holders.iter().map(ToString::to_string).collect()),
    );
}

/// Says who is let in to have programs executed as this user, whatever its role is.
async fn tell_submitters(admission: &Admission, provisioning: &Provisioning, ssh: &SshHosts) {
    let mut hosts: Vec<String> = Vec::new();
    for QueueStatus { queue, .. } in provisioning.show(&QueueSelector::default()).await {
        if !queue.config.spec.has_user_of_programs() {
            hosts.push(format!("queue {} ({})", queue.name, queue.config.spec.kind().word()));
        }
    }
    let reached = ssh.show().len();
    if reached > 0 {
        hosts.push(format!("{} by ssh", counted(reached as u64, "host")));
    }
    let registry = admission.registry();
    let users = registry.submitters(unix_seconds());
    if hosts.is_empty() || users.is_empty() {
        return;
    }
    tracing::warn!(
        "{} may submit, and agents of {} execute programs as the coordinator's user: who submits is that user there, \
         whatever the role; docs/access.md says what helps",
        some_of(users.iter().map(ToString::to_string).collect()),
        hosts.join(", ")
    );
}

/// Names the first of these. A site may have hundreds.
fn some_of(names: Vec<String>) -> String {
    let more = if names.len() > MAX_NAMED_USERS { " and others" } else { "" };
    format!("{}{more}", names.into_iter().take(MAX_NAMED_USERS).collect::<Vec<_>>().join(", "))
}

/// Serves all kinds of connections through the same doors, each within its bounds.
async fn serve(
    incoming: ByKind<Incoming>,
    counting: CallCounter,
    guard: Guard,
    routes: Routes,
    stopped: watch::Receiver<()>,
) -> Result<(), tonic::transport::Error> {
    let serve = |bounds: Bounds, connections: Incoming| {
        let mut server = bounds.server().layer(counting.clone()).layer(guard.clone());
        let mut stopped = stopped.clone();
        server.add_routes(routes.clone()).serve_with_incoming_shutdown(connections, async move {
            // An error means that the coordinator was dropped, which stops it as well.
            let _ = stopped.changed().await;
        })
    };
    let ByKind { strangers, known, inside } = incoming;
    let strangers = serve(Bounds::STRANGER, strangers);
    tokio::try_join!(strangers, serve(Bounds::KNOWN, known), serve(Bounds::INSIDE, inside)).map(drop)
}

/// Reports a server that has ended by a failure, or died.
async fn reporting(serving: impl Future<Output = Result<(), tonic::transport::Error>>, fault: Fault) {
    let _vital = fault.watch_over("the server of the doors");
    if let Err(error) = serving.await {
        fault.report(Broken::Server(with_causes(&error)));
    }
}

/// What decides who is let in; nothing where everyone is.
#[derive(Default)]
struct AdmissionSetup {
    admission: Option<Admission>,
    tls: Option<Arc<ServerConfig>>,
    thread: Option<JoinHandle<()>>,
}

async fn admit(
    data: &Path,
    security: Security,
    address: SocketAddr,
    gate: &Arc<Gate>,
    fault: &Fault,
) -> Result<AdmissionSetup, StartError> {
    let Security::Tls { names } = security else { return Ok(AdmissionSetup::default()) };
    let path = data.to_owned();
    let gate = gate.clone();
    let fault = fault.clone();
    let opened = blocking(move || {
        let opened = Admission::open(&path, fault, move |serial| gate.end(serial));
        opened.map_err(|source| StartError::Admission { path, source })
    });
    let (admission, thread) = opened.await?;
    let names = ServerNames::new(names.into_iter().chain([address.ip().to_string()]));
    let tls = speedup_access::server::config(admission.authority().clone(), names)?;
    Ok(AdmissionSetup { admission: Some(admission), tls: Some(tls), thread: Some(thread) })
}

impl Coordinator {
    /// Where the doors are.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where metrics are asked for, if anywhere.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics_address
    }

    /// Who is let in; nothing where everyone of this machine is.
    pub fn admission(&self) -> Option<&Admission> {
        self.admission.as_ref()
    }

    /// A connection to the doors that does not leave the process.
    pub fn channel(&self) -> Channel {
        self.inside.channel()
    }

    /// Connections to the doors that do not leave the process, for those who come in by another way than these doors.
    pub fn ways(&self) -> &Ways {
        &self.inside
    }

    /// The handle to the machine.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Waits until the coordinator cannot go on, which is final: nothing is acknowledged any more.
    pub async fn failed(&self) -> Broken {
        self.fault.reported().await
    }

    /// Notes whether a component works that another looks after.
    pub fn note(&self, component: CoordinatorComponent, works: bool) {
        self.failing.note(component, works);
    }

    /// Returns what a worker beside the coordinator holds while it works; its death is then the coordinator's failure.
    pub fn watch_over(&self, worker: &'static str) -> impl Send + 'static + use<> {
        self.fault.watch_over(worker)
    }

    /// Stops: what was acknowledged is durable anyway, the rest of the journal and the store are written and closed, what
    /// waits for an answer gets it, and agents hear that their sessions are over.
    pub async fn stop(self) {
        let Self { handle, owner, threads, mut server, .. } = self;
        self.ssh.stop();
        self.provisioning.stop().await;
        self.accepting.abort();
        // Either may be gone already; then there is nothing left to stop there.
        let _ = handle.requests.send(Request::Stop).await;
        let _ = self.stop.send(());
        if let Some(admission) = &self.admission {
            admission.stop().await;
        }
        drop(handle);
        if let Some(pages) = &self.pages {
            pages.abort();
        }
        // One that died has said so.
        let _ = owner.await;
        let joined =
            tokio::task::spawn_blocking(move || threads.into_iter().for_each(|thread| drop(thread.join())));
        let _ = joined.await;
        if tokio::time::timeout(LAST_WORDS, &mut server).await.is_err() {
            server.abort();
        }
    }
}

fn listen(bind: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if bind.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A coordinator that was killed is started again on its port at once.
    socket.set_reuseaddr(true)?;
    // Connections have it from the socket that accepts them.
    set_tcp_user_timeout(&socket, UNACKNOWLEDGED_MS)?;
    let (time, interval, retries) = KEEPALIVE;
    set_socket_keepalive(&socket, true)?;
    set_tcp_keepidle(&socket, time)?;
    set_tcp_keepintvl(&socket, interval)?;
    set_tcp_keepcnt(&socket, retries)?;
    set_tcp_nodelay(&socket, true)?;
    socket.bind(bind)?;
    socket.listen(WAITING_CONNECTIONS)
}

fn listen_for_metrics(bind: SocketAddr) -> Result<TcpListener, StartError> {
    listen(bind).map_err(|source| StartError::BindMetrics { address: bind, source })
}

async fn recover_apart(
    data: &Path,
    settings: Settings,
    cache: StoreCache,
) -> Result<RecoveredState, StartError> {
    let path = data.to_owned();
    let id = JournalId(*Uuid::now_v7().as_bytes());
    blocking(move || {
        recover(&path, id, settings, cache)
            .map_err(|error| StartError::Recovery { path, source: Box::new(error) })
    })
    .await
}

/// Does a step of the start that blocks apart from the event loop. A panic of it becomes [`StartError::Thread`].
async fn blocking<T: Send + 'static>(
    step: impl FnOnce() -> Result<T, StartError> + Send + 'static,
) -> Result<T, StartError> {
    let done = tokio::task::spawn_blocking(step).await;
    done.map_err(|error| StartError::Thread(std::io::Error::other(error)))?
}

/// The contents of files, without those that no experiment names and none may come to name.
async fn open_blobs(
    data: &Path,
    recovered: &RecoveredState,
    failing: &ComponentFailures,
) -> Result<Blobs, StartError> {
    let path = data.to_owned();
    let store = recovered.store.clone();
    let failing = failing.clone();
    let fault = store.fault().clone();
    let machine = &recovered.machine;
    let mut unnamed = UnnamedBlobs::Remove;
    let mut needing: Vec<(ExperimentId, Vec<Blob>)> = Vec::new();
    for id in machine.active() {
        let Some(active) = machine.experiment(id) else { continue };
        if active.plan().is_building() {
            // What a build made is put before it is reported: until then nobody names it.
            unnamed = UnnamedBlobs::Keep;
        }
        needing.push((id, staged(&active.plan().experiment)));
    }
    blocking(move || {
        let files = |source| StartError::Files { path: path.clone(), source };
        let named = store.named_blobs().map_err(|error| files(error.into()))?;
        let blobs = Blobs::open(&path, &named, unnamed, failing, fault);
        let blobs = blobs.map_err(|error: BlobError| files(error.into()))?;
        warn_of_missing(&blobs, &needing);
        Ok(blobs)
    })
    .await
}

/// The contents that an experiment has staged.
fn staged(experiment: &Experiment) -> Vec<Blob> {
    let mut blobs = Vec::new();
    for file in &experiment.files {
        if let FileSource::Content(content) = &file.source {
            blobs.push(Blob { blake3: content.blake3.0, bytes: content.bytes });
        }
    }
    blobs
}

/// Warns of active experiments whose staged files are gone, as after a restore without them: their runs cannot execute.
fn warn_of_missing(blobs: &Blobs, needing: &[(ExperimentId, Vec<Blob>)]) {
    let mut lacking = 0;
    for (id, files) in needing {
        if files.iter().all(|blob| blobs.has(*blob)) {
            continue;
        }
        lacking += 1;
        if lacking <= MAX_NAMED_LACKING {
            tracing::warn!(experiment = %id, "staged files of an unfinished experiment are missing: bring the directory \
                `blobs` back into the data directory, or cancel the experiment and submit it again");
        }
    }
    if lacking > MAX_NAMED_LACKING {
        tracing::warn!("staged files of {lacking} unfinished experiments are missing in all");
    }
}

/// What works behind the doors.
struct Workers {
    handle: Handle,
    owner: tokio::task::JoinHandle<()>,
    threads: Vec<JoinHandle<()>>,
}

fn start_workers(
    recovered: RecoveredState,
    settings: Settings,
    metrics: &Metrics,
    failing: &ComponentFailures,
) -> Result<Workers, StartError> {
    // The owner decides and commits, the indexer follows the journal, and the checkpointer follows the indexer: each only knows
    // the channel to the next.
    let RecoveredState { journal, machine, store, unread } = recovered;
    let (requests, requested) = mpsc::channel(WAITING_REQUESTS);
    let (index, to_index) = backlog();
    let urge = index.urge();
    let (durable, durable_seen) = watch::channel(journal.durable_end());
    let (indexed, indexed_seen) = watch::channel(journal.durable_end());
    let fault = store.fault().clone();
    let thread = |name: &str, work: Box<dyn FnOnce() + Send>| {
        std::thread::Builder::new().name(name.to_owned()).spawn(work).map_err(StartError::Thread)
    };
    let closed = journal.closed_end();
    let (checkpointer, to_checkpoint) = std::sync::mpsc::sync_channel(1);
    let indexer = Indexer { store: store.clone(), indexed, checkpointer, closed };
    let checkpointer = Checkpointer {
        checkpoints: journal.checkpoints(),
        store: store.clone(),
        settings,
        unread,
        failing: failing.clone(),
    };
    let committer = Committer::new(journal, durable, index, metrics.clone());
    let threads = vec![
        thread("indexer", Box::new(move || indexer.run(&to_index)))?,
        thread("checkpointer", Box::new(move || checkpointer.run(&to_checkpoint)))?,
    ];
    let time = TimeLine::after(machine.latest());
    let drain_guard = DrainGuard::new(Instant::now(), settings.host_grace.into());
    let demand = Arc::new(watch::Sender::new(()));
    let owner = Owner::new(machine, time, drain_guard, committer, fault.clone(), demand.clone());
    let owner = tokio::spawn(owner.run(requested));
    let progress = Progress { durable: durable_seen, indexed: indexed_seen, urge };
    Ok(Workers { handle: Handle { requests, progress, store, demand }, owner, threads })
}

#[cfg(test)]
mod tests {
    use super::*;
    use speedup_core::value::hint::Hinted as _;

    async fn started(security: Security) -> Result<Coordinator, StartError> {
        let data = tempfile::tempdir().expect("a directory");
        let options = Options {
            data: data.path().to_owned(),
            bind: ([0, 0, 0, 0], 0).into(),
            security,
            settings: Settings::default(),
            store_cache: StoreCache::Serving,
            agents: None,
            metrics: None,
        };
        start(options, |_, routes| routes).await
    }

    #[tokio::test]
    async fn others_reach_it_only_over_tls() {
        let refused = started(Security::Plain).await.expect_err("a refusal");
        assert!(matches!(refused, StartError::NotLoopback(_)), "{refused}");
        assert!(refused.hint().is_some_and(|hint| hint.contains("--insecure")));
        started(Security::Tls { names: Vec::new() }).await.expect("a coordinator").stop().await;
    }
}
