//! Connections as they come in: accepted, secured within a bounded time, counted, and ended when their certificate is.

use std::{
    convert::Infallible, fmt, future::Future, io, io::ErrorKind, net::SocketAddr, pin::Pin, sync::Arc,
    task::Context, task::Poll, time::Duration,
};

use futures_util::Stream;
use hyper_util::rt::TokioIo;
use rustix::process::{Resource, getrlimit};
use rustls::{ServerConfig, server::Acceptor};
use speedup_access::{Certificate, Eviction, PendingConnections, Seat, Seats, server, unix_seconds};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, Sleep, sleep, sleep_until};
use tokio_rustls::{LazyConfigAcceptor, server::TlsStream};
use tonic::{codegen::http::Uri, transport::Channel, transport::Endpoint, transport::server::Connected};
use tower_service::Service;

use crate::gate::{ConnectionSlot, Gate, MAX_CONNECTIONS, MAX_UNKNOWN};
use crate::{admission::Admission, fault::Vital};
use crate::{door::Caller, door::Peer, metrics::RefusedConnection, open_files::paced};

/// How long a handshake may take: three times that of a host on the other side of the world that loses a packet.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// Handshakes at once; beyond that the oldest that have said nothing end. After a restart all agents connect together, and
/// half of them may come through one tunnel. Each holds some 20 KiB, 64 at most.
const HANDSHAKES: Seats =
    Seats { most: 1_024, most_of_address: 512, glance: GLANCE, patience: Duration::from_millis(500) };
/// How long a connection is heard before it makes room: what it sent with its first packets is read by then.
const GLANCE: Duration = Duration::from_millis(20);
/// Connections at once whose other end has shown no certificate, or one that was revoked. Hosts that enrol are through within milliseconds.
const STRANGERS: Seats =
    Seats { most: 512, most_of_address: 64, glance: GLANCE, patience: Duration::from_secs(2) };
const _: () = assert!(HANDSHAKES.most + STRANGERS.most == MAX_UNKNOWN, "the others leave them this room");
/// Why a connection is refused whose owner has many.
const LIMIT: &str = "has reached the limit of connections for each user and host";
/// How long such a connection may last: it is for enrolling, which is one request.
const STRANGER: Duration = Duration::from_secs(30);
/// Byte limit of such a connection. Enrolling needs 16 KiB; anything beyond this limit is an attack on memory.
const STRANGER_BYTES: usize = 64 << 10;
/// Handshakes may use at most a quarter of the files that the process may open.
const FILES_FOR_HANDSHAKES: usize = 4;
/// Connections that may wait to be served.
const WAITING: usize = 64;
/// Bytes on their way within this process, each way of a connection.
const INSIDE_BYTES: usize = 256 << 10;
/// Bytes of a message that a way within the process carries at once: a page of an export takes fewer turns.
const INSIDE_FRAME: u32 = 128 << 10;

/// Connections to be served, all of one kind.
#[derive(Debug)]
pub(crate) struct Incoming(mpsc::Receiver<Connection>);

/// What there is for each kind of connection, which differ in their bounds.
#[derive(Clone, Debug)]
pub(crate) struct ByKind<T> {
    /// Who has shown no certificate where one is needed, or one that was revoked.
    pub(crate) strangers: T,
    /// Who has, or comes from this machine where none is needed.
    pub(crate) known: T,
    /// Ways within the process.
    pub(crate) inside: T,
}

/// The ways to the doors from inside this process: without a network, and without anyone between. A connection says whose
/// it is when it is made, and nothing that is sent over it changes that.
#[derive(Clone, Debug)]
pub struct Ways {
    connections: mpsc::Sender<Connection>,
    gate: Arc<Gate>,
}

/// One way, as whom.
#[derive(Clone, Debug)]
struct InsideConnector {
    ways: Ways,
    /// The process itself, where it is nobody else.
    who: Option<Arc<Certificate>>,
}

/// Accepts connections, plain or secured, until the answer's task is aborted.
pub(crate) fn incoming(
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    admission: Option<Admission>,
    gate: Arc<Gate>,
    vital: Vital,
) -> (ByKind<Incoming>, Ways, JoinHandle<()>) {
    let [(to_strangers, strangers), (to_known, known), (to_inside, inside)] =
        [(); 3].map(|()| mpsc::channel(WAITING));
    let ways = Ways { connections: to_inside, gate: gate.clone() };
    let accepting = ConnectionAcceptor {
        listener,
        tls,
        admission,
        gate,
        handshakes: PendingConnections::new(within_open_files(HANDSHAKES)),
        strangers: PendingConnections::new(STRANGERS),
        to_strangers,
        to_known,
        _vital: vital,
    };
    let incoming =
        ByKind { strangers: Incoming(strangers), known: Incoming(known), inside: Incoming(inside) };
    (incoming, ways, tokio::spawn(accepting.run()))
}

/// Fewer seats where the process may open few files: connections that stand need them.
fn within_open_files(seats: Seats) -> Seats {
    let files = getrlimit(Resource::Nofile).current.and_then(|files| usize::try_from(files).ok());
    let most = files.map_or(seats.most, |files| seats.most.min(files / FILES_FOR_HANDSHAKES));
    Seats { most, most_of_address: seats.most_of_address.min(most.div_ceil(2)), ..seats }
}

impl Stream for Incoming {
    type Item = Result<Connection, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|connection| connection.map(Ok))
    }
}

impl Ways {
    /// A connection of the process itself, made when it is first used.
    pub fn channel(&self) -> Channel {
        self.channel_of(None)
    }

    /// A connection of the holder of a certificate, made when it is first used: it may what its holder may over a network,
    /// counts among the connections with that certificate, and ends with it.
    pub fn channel_as(&self, certificate: Arc<Certificate>) -> Channel {
        self.channel_of(Some(certificate))
    }

    fn channel_of(&self, who: Option<Arc<Certificate>>) -> Channel {
        let inside = InsideConnector { ways: self.clone(), who };
        Endpoint::from_static("http://inside")
            .max_frame_size(INSIDE_FRAME)
            .connect_with_connector_lazy(inside)
    }

    fn connection(&self, wire: DuplexStream, who: Option<Arc<Certificate>>) -> io::Result<Connection> {
        let Some(certificate) = who else {
            return Ok(Connection::new(
                wire,
                Peer::new(Caller::Inside, "inside"),
                Vec::new(),
                StayLimit::Free,
            ));
        };
        let too_many = || io::Error::other(format!("{} {LIMIT}", certificate.identity));
        let (known, ended) = self.gate.enter_as_known(&certificate).ok_or_else(too_many)?;
        let left = Duration::from_secs(certificate.not_after.saturating_sub(unix_seconds()));
        let peer = Peer::new(Caller::Known(certificate), "inside");
        Ok(Connection::new(wire, peer, vec![known], StayLimit::Known(ended)).until(left.max(STRANGER)))
    }
}

impl Service<Uri> for InsideConnector {
    type Response = TokioIo<DuplexStream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _uri: Uri) -> Self::Future {
        let Self { ways, who } = self.clone();
        Box::pin(async move {
            let (near, far) = tokio::io::duplex(INSIDE_BYTES);
            let connection = ways.connection(far, who)?;
            let gone = |_| io::Error::new(ErrorKind::ConnectionRefused, "the coordinator is stopping");
            ways.connections.send(connection).await.map_err(gone)?;
            Ok(TokioIo::new(near))
        })
    }
}

struct ConnectionAcceptor {
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    admission: Option<Admission>,
    gate: Arc<Gate>,
    handshakes: Arc<PendingConnections>,
    strangers: Arc<PendingConnections>,
    to_strangers: mpsc::Sender<Connection>,
    to_known: mpsc::Sender<Connection>,
    _vital: Vital,
}

impl ConnectionAcceptor {
    async fn run(self) {
        loop {
            self.handshakes.room().await;
            let (stream, address) = match paced(self.listener.accept().await).await {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::debug!("cannot accept a connection: {error}");
                    continue;
                }
            };
            let Some(place) = self.gate.enter() else {
                let reason = format!("there are {MAX_CONNECTIONS} already");
                self.gate.complain(address.ip(), RefusedConnection::Full, &reason);
                continue;
            };
            let Some(tls) = &self.tls else {
                let peer = Peer::new(Caller::Unchecked, &address.to_string());
                let connection = Connection::new(stream, peer, vec![place], StayLimit::Free);
                if self.to_known.send(connection).await.is_err() {
                    return;
                }
                continue;
            };
            let Some(seat) = self.handshakes.enter(address.ip()) else {
                let reason = "its address has too many handshakes in progress";
                self.gate.complain(address.ip(), RefusedConnection::Strangers, reason);
                continue;
            };
            let securing = PendingHandshake {
                address,
                admission: self.admission.clone(),
                gate: self.gate.clone(),
                strangers: self.strangers.clone(),
                place,
                tls: tls.clone(),
            };
            let to_strangers = self.to_strangers.clone();
            let to_known = self.to_known.clone();
            tokio::spawn(async move {
                // Nobody serves any more when sending fails.
                let _ = match securing.secure(stream, seat).await {
                    Some(connection) if connection.is_strangers() => to_strangers.send(connection).await,
                    Some(connection) => to_known.send(connection).await,
                    None => Ok(()),
                };
            });
        }
    }
}

/// A connection before its handshake is over.
struct PendingHandshake {
    address: SocketAddr,
    admission: Option<Admission>,
    gate: Arc<Gate>,
    strangers: Arc<PendingConnections>,
    place: ConnectionSlot,
    tls: Arc<ServerConfig>,
}

/// Why there is no secured connection.
enum HandshakeError {
    Failed(io::Error),
    TookTooLong,
    MadeRoom,
}

impl PendingHandshake {
    async fn secure(self, stream: TcpStream, seat: (Seat, Eviction)) -> Option<Connection> {
        let Self { address, admission, gate, strangers, place, tls } = self;
        let refused = |why, reason: &str| {
            gate.complain(address.ip(), why, reason);
            None
        };
        let stream = match handshake(tls, stream, seat).await {
            Ok(stream) => stream,
            Err(HandshakeError::Failed(error)) => {
                return refused(RefusedConnection::Handshake, &format!("its handshake failed: {error}"));
            }
            Err(HandshakeError::TookTooLong) => {
                return refused(RefusedConnection::Handshake, "its handshake took too long");
            }
            Err(HandshakeError::MadeRoom) => {
                return refused(RefusedConnection::Strangers, "it said nothing, and others came");
            }
        };
        let at = address.to_string();
        let mut caller = Caller::Unknown;
        match server::peer(stream.get_ref().1) {
            Ok(Some(certificate)) => {
                let entered = gate.enter_as_known(&certificate);
                // Asked afterwards: one that is revoked from here on is ended with its place.
                if admission.is_none_or(|admission| admission.holds(certificate.serial)) {
                    let Some((known, ended)) = entered else {
                        let reason = format!("{} {LIMIT}", certificate.identity);
                        return refused(RefusedConnection::OfCertificate, &reason);
                    };
                    let left = Duration::from_secs(certificate.not_after.saturating_sub(unix_seconds()));
                    let peer = Peer::new(Caller::Known(Arc::new(certificate)), &at);
                    let places = vec![place, known];
                    let connection = Connection::new(stream, peer, places, StayLimit::Known(ended));
                    // One that has run out already lasts long enough to be told so.
                    return Some(connection.until(left.max(STRANGER)));
                }
                // Whoever has a key that was revoked takes nothing from its owner, and is told why by the guard.
                caller = Caller::Known(Arc::new(certificate));
            }
            Ok(None) => {}
            Err(error) => {
                let reason = format!("its certificate cannot be used: {error}");
                return refused(RefusedConnection::Certificate, &reason);
            }
        }
        let Some((seat, eviction)) = strangers.enter(address.ip()) else {
            let reason = "its address has too many connections without a valid certificate";
            return refused(RefusedConnection::Strangers, reason);
        };
        seat.has_spoken();
        let stay = StayLimit::stranger(seat, eviction);
        let connection = Connection::new(stream, Peer::new(caller, &at), vec![place], stay);
        Some(connection.until(STRANGER))
    }
}

/// Takes up TLS within a bounded time, and while the seat is not needed for another.
async fn handshake(
    tls: Arc<ServerConfig>,
    stream: TcpStream,
    (seat, mut eviction): (Seat, Eviction),
) -> Result<TlsStream<TcpStream>, HandshakeError> {
    let deadline = Instant::now() + HANDSHAKE;
    let hello = LazyConfigAcceptor::new(Acceptor::default(), stream);
    let hello = seated(&mut eviction, deadline, hello).await?;
    seat.has_spoken();
    seated(&mut eviction, deadline, hello.into_stream(tls)).await
}

async fn seated<T>(
    eviction: &mut Eviction,
    deadline: Instant,
    step: impl Future<Output = io::Result<T>>,
) -> Result<T, HandshakeError> {
    tokio::select! {
        // What has come is read before it is judged.
        biased;
        done = step => done.map_err(HandshakeError::Failed),
        () = eviction => Err(HandshakeError::MadeRoom),
        () = sleep_until(deadline) => Err(HandshakeError::TookTooLong),
    }
}

#[derive(Debug)]
pub(crate) struct Connection {
    wire: Box<dyn Wire>,
    peer: Peer,
    until: Option<Pin<Box<Sleep>>>,
    stay: StayLimit,
    _places: Vec<ConnectionSlot>,
}

/// How long a connection may stay, beside its time.
#[derive(Debug)]
enum StayLimit {
    Free,
    /// Until its certificate is revoked.
    Known(oneshot::Receiver<()>),
    /// Until its seat is needed or it has said too much.
    Stranger {
        eviction: Eviction,
        bytes_left: usize,
        _seat: Seat,
    },
    Over,
}

impl StayLimit {
    fn stranger(seat: Seat, eviction: Eviction) -> Self {
        Self::Stranger { eviction, bytes_left: STRANGER_BYTES, _seat: seat }
    }

    /// Why it is over, if it is.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<&'static str> {
        let is_over = match self {
            Self::Free => None,
            Self::Known(ended) => {
                let is_over = Pin::new(ended).poll(context).is_ready();
                is_over.then_some("its certificate was revoked")
            }
            Self::Stranger { bytes_left: 0, .. } => Some("it said more than enrolling takes"),
            Self::Stranger { eviction, .. } => {
                let is_over = Pin::new(eviction).poll(context).is_ready();
                is_over.then_some("others without a valid certificate came")
            }
            Self::Over => Some("it is over"),
        };
        let Some(why) = is_over else { return Poll::Pending };
        // What it was told is polled no more.
        *self = Self::Over;
        Poll::Ready(why)
    }

    fn has_read(&mut self, bytes: usize) {
        if let Self::Stranger { bytes_left, .. } = self {
            *bytes_left = bytes_left.saturating_sub(bytes);
        }
    }
}

/// The bytes of a connection: plain or secured over a network, or within the process.
trait Wire: AsyncRead + AsyncWrite + fmt::Debug + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + fmt::Debug + Send + Unpin> Wire for T {}

impl Connection {
    fn new(wire: impl Wire + 'static, peer: Peer, places: Vec<ConnectionSlot>, stay: StayLimit) -> Self {
        Self { wire: Box::new(wire), peer, until: None, stay, _places: places }
    }

    fn is_strangers(&self) -> bool {
        matches!(self.stay, StayLimit::Stranger { .. })
    }

    fn until(self, lifetime: Duration) -> Self {
        Self { until: Some(Box::pin(sleep(lifetime))), ..self }
    }

    /// Why the connection has to end, if it has. Asked whenever something is read, which a server always waits for.
    fn poll_over(&mut self, context: &mut Context<'_>) -> Poll<&'static str> {
        if let Poll::Ready(why) = self.stay.poll(context) {
            return Poll::Ready(why);
        }
        match &mut self.until {
            Some(until) => until.as_mut().poll(context).map(|()| "its time is over"),
            None => Poll::Pending,
        }
    }
}

impl Connected for Connection {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if let Poll::Ready(why) = this.poll_over(context) {
            return Poll::Ready(Err(io::Error::new(ErrorKind::ConnectionAborted, why)));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.wire).poll_read(context, buffer);
        this.stay.has_read(buffer.filled().len() - before);
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().wire).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().wire).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().wire).poll_shutdown(context)
    }
}
