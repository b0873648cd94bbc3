//! Orders from a coordinator that is mad or bad, over the real wire to the real agent: whatever it says, the agent does not
//! end, executes nothing that it must not, nothing twice, and goes on with the next honest order.

use std::{
    fs, fs::Permissions, net::SocketAddr, os::unix::fs::PermissionsExt as _, path::Path, path::PathBuf,
    process::Command, process::Stdio, time::Duration,
};

use prost::Message as _;
use rand_chacha::ChaCha8Rng;
use speedup_core::value::seed::{Seed, below};
use speedup_proto::encoded::SentGrant;
use speedup_proto::v1;
use speedup_proto::v1::agent_message::Message as Said;
use speedup_proto::v1::coordinator_message::Message as Order;
use speedup_tests::{pool::PATIENCE, process::Killed, wire::Api};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Context, Poll, Service, http};
use tonic::server::NamedService;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status, Streaming};

use crate::{SPEEDUP, security::fuzz::Raw};

/// How often orders without sense are followed by an honest one.
const ROUNDS: u64 = 40;
/// Orders without sense of a round.
const ORDERS: usize = 12;
/// Orders that may wait to be sent.
const WAITING: usize = 64;
/// How long a run may take.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Before the leases that are honest there are others, which are old then.
const FIRST_LEASE: u64 = 1 << 40;

/// One session of the agent: what it says, and where it is told something.
struct Session {
    said: Streaming<Vec<u8>>,
    orders: mpsc::Sender<Result<Vec<u8>, Status>>,
    /// The start of the agent.
    epoch: u64,
}

impl Session {
    /// What the agent says next; nothing when the session is over.
    async fn hear(&mut self) -> Option<Said> {
        let heard =
            tokio::time::timeout(PATIENCE, self.said.message()).await.expect("the agent says something");
        let bytes = heard.ok().flatten()?;
        v1::AgentMessage::decode(&*bytes).expect("an honest message").message
    }

    /// Whether it still listens.
    async fn order(&self, bytes: Vec<u8>) -> bool {
        self.orders.send(Ok(bytes)).await.is_ok()
    }

    async fn tell(&self, order: Order) -> bool {
        self.order(v1::CoordinatorMessage { message: Some(order) }.encode_to_vec()).await
    }

    /// Acknowledges all that it reports, until it asks for work; gives the lease of what it reported last. Nothing when the
    /// session is over.
    async fn until_it_asks(&mut self) -> Option<Option<u64>> {
        let mut last = None;
        loop {
            match self.hear().await? {
                Said::Ask(_) => return Some(last),
                Said::Report(report) => {
                    last = Some(report.lease);
                    self.tell(Order::Acknowledged(v1::Acknowledged { lease: report.lease })).await;
                }
                Said::Ready(_) | Said::Started(_) | Said::Join(_) => {}
            }
        }
    }
}

/// The door of a coordinator that gives every session to a test.
#[derive(Clone)]
struct Door(mpsc::Sender<Session>);

impl NamedService for Door {
    const NAME: &'static str = "speedup.v1.Agents";
}

impl Service<http::Request<Body>> for Door {
    type Response = http::Response<Body>;
    type Error = std::convert::Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let opening = Opening(self.0.clone());
        Box::pin(async move { Ok(tonic::server::Grpc::new(Raw).streaming(opening, request).await) })
    }
}

struct Opening(mpsc::Sender<Session>);

impl Service<Request<Streaming<Vec<u8>>>> for Opening {
    type Response = Response<ReceiverStream<Result<Vec<u8>, Status>>>;
    type Error = Status;
    type Future = BoxFuture<Self::Response, Status>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Streaming<Vec<u8>>>) -> Self::Future {
        let sessions = self.0.clone();
        Box::pin(async move {
            let (orders, ordered) = mpsc::channel(WAITING);
            let mut session = Session { said: request.into_inner(), orders, epoch: 0 };
            // An agent that was killed has said nothing.
            if let Some(Said::Join(join)) = session.hear().await {
                session.epoch = join.agent_epoch;
                let _ = sessions.send(session).await;
            }
            Ok(Response::new(ReceiverStream::new(ordered)))
        })
    }
}

/// A host whose owner lets plans execute one program, which writes down with what word it was executed.
struct Host {
    // Before its directory, so that the agent has ended when that is removed.
    agent: Killed,
    directory: tempfile::TempDir,
}

impl Host {
    fn start(coordinator: SocketAddr) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().canonicalize().expect("a path");
        let programs = path.join("programs");
        fs::create_dir(&programs).expect("a directory");
        let script = format!("#!/bin/sh\necho \"$1\" >> {}\n", path.join("executed").display());
        fs::write(programs.join("allowed"), script).expect("a program");
        fs::set_permissions(programs.join("allowed"), Permissions::from_mode(0o755)).expect("its mode");
        let limits = path.join("limits.toml");
        fs::write(&limits, format!("commands = [\"{}\"]\n", programs.display())).expect("the limits");
        fs::set_permissions(&limits, Permissions::from_mode(0o644)).expect("their mode");
        let mut command = Command::new(SPEEDUP);
        command.args(["agent", "start", "--no-selftest", "--host-id", "fuzzed", "--boot-id", "fuzzed"]);
        command.args(["--coordinator", &format!("http://{coordinator}")]);
        command.arg("--state").arg(path.join("state")).arg("--limits").arg(limits);
        let log = fs::File::create(path.join("log")).expect("a log");
        let agent = command.stdout(Stdio::null()).stderr(log).spawn().expect("an agent");
        Self { directory, agent: Killed(agent) }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().canonicalize().expect("a path")
    }

    /// The program that its owner lets plans execute.
    fn allowed(&self) -> String {
        self.path().join("programs/allowed").display().to_string()
    }

    /// What exists if a program was executed that is not.
    fn trace(&self) -> PathBuf {
        self.path().join("trace")
    }

    /// With what words the program was executed.
    fn executed(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path().join("executed")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

fn grant(lease: u64, agent_epoch: u64, words: &[&str]) -> Order {
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    let line = Some(v1::command_line::Line::Exact(v1::Argv { words }));
    let order = v1::WorkOrder {
        command: Some(v1::CommandLine { line }),
        expect: Some(v1::Expectation::default()),
        timeout_ns: TIMEOUT.as_nanos() as u64,
        output: Some(v1::Output { limit: 1 << 20, keep: 0, keep_of: v1::KeepOutput::Failed.into() }),
        metrics: vec![v1::Metric::Wall.into()],
        ..Default::default()
    };
    let order = Some(order.encode_to_vec().into());
    Order::Grant(SentGrant { lease, agent_epoch, experiment: vec![1; 16], run: 0, attempt: 1, order })
}

fn bytes(order: Order) -> Vec<u8> {
    v1::CoordinatorMessage { message: Some(order) }.encode_to_vec()
}

/// Orders without sense: any message, and nearly a grant of what the owner of the host does not let plans execute.
async fn confuse(session: &Session, host: &Host, lease: u64, api: &Api, random: &mut ChaCha8Rng) {
    let trace = host.trace().display().to_string();
    for _ in 0..ORDERS {
        let order = match below(3, random) {
            0 => api.bytes(".speedup.v1.CoordinatorMessage", random),
            1 => api.nearly(bytes(grant(lease, session.epoch, &["/usr/bin/touch", &trace])), random),
            _ => bytes(grant(lease, session.epoch, &["/usr/bin/touch", &trace])),
        };
        // It ends the agent, as it should.
        if !ends_the_agent(&order) && !session.order(order).await {
            return;
        }
    }
}

/// Whether it says that the host is turned away for good, or given back.
fn ends_the_agent(order: &[u8]) -> bool {
    let message = v1::CoordinatorMessage::decode(order).ok().and_then(|order| order.message);
    match message {
        Some(Order::TurnedAway(turned_away)) => turned_away.is_lasting,
        Some(Order::Dismissed(_)) => true,
        _ => false,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_takes_fuzzed_orders_and_goes_on_with_honest_ones() {
    let incoming = TcpIncoming::bind(([127, 0, 0, 1], 0).into()).expect("a port");
    let address = incoming.local_addr().expect("an address");
    let (door, mut sessions) = mpsc::channel(WAITING);
    tokio::spawn(Server::builder().add_service(Door(door)).serve_with_incoming(incoming));
    let mut host = Host::start(address);
    let api = Api::described(Vec::new());
    let mut honest = 0;
    let mut lease = FIRST_LEASE;
    while honest < ROUNDS {
        let Ok(next) = tokio::time::timeout(PATIENCE, sessions.recv()).await else {
            panic!("the agent does not come again after {honest} rounds:\n{}", log(&host.path()));
        };
        let mut session = next.expect("the door is open");
        session.tell(Order::Welcome(v1::Welcome { next_lease: lease })).await;
        if session.until_it_asks().await.is_none() {
            continue;
        }
        // Honest orders first, and among them what is to be executed once or not at all.
        let word = format!("honest-{honest}");
        let order = grant(lease, session.epoch, &[&host.allowed(), &word]);
        session
            .tell(grant(lease, session.epoch.wrapping_add(1), &[&host.allowed(), "of another start"]))
            .await;
        session.tell(order.clone()).await;
        session.tell(order.clone()).await;
        session.tell(grant(lease - 1, session.epoch, &[&host.allowed(), "of an older lease"])).await;
        if session.until_it_asks().await != Some(Some(lease)) {
            panic!("the honest order {honest} was not reported:\n{}", log(&host.path()));
        }
        session.tell(order).await;
        // How many of a round's orders are taken before the agent ends the session differs from time to time.
        let mut random = Seed(20_261_123).child(&format!("orders {honest}"));
        (honest, lease) = (honest + 1, lease + 1);
        confuse(&session, &host, lease, &api, &mut random).await;
        // Dropping the session ends it, where the agent has not.
    }
    assert_eq!(host.agent.0.try_wait().expect("a state"), None, "the agent lives:\n{}", log(&host.path()));
    let expected: Vec<String> = (0..ROUNDS).map(|number| format!("honest-{number}")).collect();
    assert_eq!(host.executed(), expected, "each honest order once, and nothing else");
    assert!(!host.trace().exists(), "nothing was executed that the owner forbids");
    assert!(!log(&host.path()).contains("panicked"), "{}", log(&host.path()));
}

fn log(path: &Path) -> String {
    fs::read_to_string(path.join("log")).unwrap_or_default()
}
