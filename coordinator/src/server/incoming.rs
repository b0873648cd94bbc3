//! Connections as they come in: accepted, secured within a bounded time, counted, and ended when their certificate is.

use std::convert::Infallible;
use std::future::Future as _;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use speedup_access::{Certificate, server, unix_seconds};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Sleep, sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tonic::codegen::http::Uri;
use tonic::transport::server::Connected;
use tonic::transport::{Channel, Endpoint};
use tower_service::Service;

use super::gate::{Gate, MAX_CONNECTIONS, MAX_OF_CERTIFICATE, MAX_STRANGERS, Place};
use crate::door::{Caller, Peer};
use crate::metrics::RefusedConnection;
use crate::open_files::paced;

/// How long a handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Handshakes at once; who comes later waits to be accepted. After a restart all agents connect together.
const HANDSHAKES: usize = 1_024;
/// How long a connection may last whose other end has shown no certificate: it is for enrolling, which is one request.
const STRANGER: Duration = Duration::from_secs(30);
/// Connections that may wait to be served.
const WAITING: usize = 64;
/// Bytes on their way within this process, each way of a connection.
const INSIDE_BYTES: usize = 256 << 10;

/// Connections to be served.
#[derive(Debug)]
pub(crate) struct Incoming(mpsc::Receiver<Connection>);

/// The ways to the doors from inside this process: without a network, and without anyone between. A connection says whose
/// it is when it is made, and nothing that is sent over it changes that.
#[derive(Clone, Debug)]
pub struct Ways {
    connections: mpsc::Sender<Connection>,
    gate: Arc<Gate>,
}

/// One way, as whom.
#[derive(Clone, Debug)]
struct Inside {
    ways: Ways,
    /// The process itself, where it is nobody else.
    who: Option<Arc<Certificate>>,
}

/// Accepts connections, plain or secured, until the answer's task is aborted.
pub(crate) fn incoming(
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    gate: Arc<Gate>,
) -> (Incoming, Ways, JoinHandle<()>) {
    let (sender, receiver) = mpsc::channel(WAITING);
    let inside = Ways { connections: sender.clone(), gate: gate.clone() };
    let accepting = Accepting {
        listener,
        tls: tls.map(TlsAcceptor::from),
        gate,
        handshakes: Arc::new(Semaphore::new(HANDSHAKES)),
        connections: sender,
    };
    (Incoming(receiver), inside, tokio::spawn(accepting.run()))
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
        let inside = Inside { ways: self.clone(), who };
        Endpoint::from_static("http://inside").connect_with_connector_lazy(inside)
    }

    fn connection(&self, wire: Wire, who: Option<Arc<Certificate>>) -> io::Result<Connection> {
        let Some(certificate) = who else {
            return Ok(Connection::new(wire, Peer::new(Caller::Inside, "inside"), Vec::new()));
        };
        let too_many = || io::Error::other(format!("there are {MAX_OF_CERTIFICATE} with its certificate"));
        let (known, ended) = self.gate.enter_as_known(certificate.serial).ok_or_else(too_many)?;
        let left = Duration::from_secs(certificate.not_after.saturating_sub(unix_seconds()));
        let mut connection =
            Connection::new(wire, Peer::new(Caller::Known(certificate), "inside"), vec![known]);
        connection.ended = Some(ended);
        Ok(connection.until(left.max(STRANGER)))
    }
}

impl Service<Uri> for Inside {
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
            let connection = ways.connection(Wire::Inside(far), who)?;
            let gone = |_| io::Error::new(ErrorKind::ConnectionRefused, "the coordinator is stopping");
            ways.connections.send(connection).await.map_err(gone)?;
            Ok(TokioIo::new(near))
        })
    }
}

struct Accepting {
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    gate: Arc<Gate>,
    handshakes: Arc<Semaphore>,
    connections: mpsc::Sender<Connection>,
}

impl Accepting {
    async fn run(self) {
        loop {
            let Ok(permit) = self.handshakes.clone().acquire_owned().await else { return };
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
            let Some(acceptor) = &self.tls else {
                let peer = Peer::new(Caller::Unchecked, &address.to_string());
                if self
                    .connections
                    .send(Connection::new(Wire::Plain(stream), peer, vec![place]))
                    .await
                    .is_err()
                {
                    return;
                }
                continue;
            };
            let Some(stranger) = self.gate.enter_as_stranger(address.ip()) else {
                let reason = format!("{MAX_STRANGERS} of its address have shown no certificate");
                self.gate.complain(address.ip(), RefusedConnection::Strangers, &reason);
                continue;
            };
            let securing = Securing { address, gate: self.gate.clone(), place, stranger, _permit: permit };
            let (acceptor, connections) = (acceptor.clone(), self.connections.clone());
            tokio::spawn(async move {
                if let Some(connection) = securing.secure(acceptor, stream).await {
                    // Nobody serves any more when this fails.
                    let _ = connections.send(connection).await;
                }
            });
        }
    }
}

/// A connection before its handshake is over.
struct Securing {
    address: SocketAddr,
    gate: Arc<Gate>,
    place: Place,
    stranger: Place,
    _permit: OwnedSemaphorePermit,
}

impl Securing {
    async fn secure(self, acceptor: TlsAcceptor, stream: TcpStream) -> Option<Connection> {
        let Self { address, gate, place, stranger, _permit } = self;
        let refused = |why, reason: &str| {
            gate.complain(address.ip(), why, reason);
            None
        };
        let stream = match timeout(HANDSHAKE, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => Box::new(stream),
            Ok(Err(error)) => {
                return refused(RefusedConnection::Handshake, &format!("its handshake failed: {error}"));
            }
            Err(_) => return refused(RefusedConnection::Handshake, "its handshake took too long"),
        };
        let at = address.to_string();
        let certificate = match server::peer(stream.get_ref().1) {
            Ok(Some(certificate)) => certificate,
            Ok(None) => {
                let peer = Peer::new(Caller::Unknown, &at);
                let connection = Connection::new(Wire::Secured(stream), peer, vec![place, stranger]);
                return Some(connection.until(STRANGER));
            }
            Err(error) => {
                return refused(
                    RefusedConnection::Certificate,
                    &format!("its certificate cannot be used: {error}"),
                );
            }
        };
        let left = Duration::from_secs(certificate.not_after.saturating_sub(unix_seconds()));
        let Some((known, ended)) = gate.enter_as_known(certificate.serial) else {
            let reason = format!("there are {MAX_OF_CERTIFICATE} with its certificate already");
            return refused(RefusedConnection::OfCertificate, &reason);
        };
        let peer = Peer::new(Caller::Known(Arc::new(certificate)), &at);
        let mut connection = Connection::new(Wire::Secured(stream), peer, vec![place, known]);
        connection.ended = Some(ended);
        // One that has run out already lasts long enough to be told so.
        Some(connection.until(left.max(STRANGER)))
    }
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    wire: Wire,
    peer: Peer,
    until: Option<Pin<Box<Sleep>>>,
    ended: Option<oneshot::Receiver<()>>,
    _places: Vec<Place>,
}

#[derive(Debug)]
enum Wire {
    Plain(TcpStream),
    Secured(Box<TlsStream<TcpStream>>),
    Inside(DuplexStream),
}

impl Connection {
    fn new(wire: Wire, peer: Peer, places: Vec<Place>) -> Self {
        Self { wire, peer, until: None, ended: None, _places: places }
    }

    fn until(self, lifetime: Duration) -> Self {
        Self { until: Some(Box::pin(sleep(lifetime))), ..self }
    }

    /// Whether the connection has to end. Asked whenever something is read, which a server always waits for.
    fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        let is_revoked = self.ended.as_mut().is_some_and(|ended| Pin::new(ended).poll(context).is_ready());
        is_revoked || self.until.as_mut().is_some_and(|until| until.as_mut().poll(context).is_ready())
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
        if this.is_over(context) {
            let error = io::Error::new(ErrorKind::ConnectionAborted, "its certificate no longer holds");
            // What it was told is polled no more.
            (this.ended, this.until) = (None, Some(Box::pin(sleep(Duration::ZERO))));
            return Poll::Ready(Err(error));
        }
        match &mut this.wire {
            Wire::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Wire::Secured(stream) => Pin::new(stream).poll_read(context, buffer),
            Wire::Inside(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().wire {
            Wire::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Wire::Secured(stream) => Pin::new(stream).poll_write(context, bytes),
            Wire::Inside(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().wire {
            Wire::Plain(stream) => Pin::new(stream).poll_flush(context),
            Wire::Secured(stream) => Pin::new(stream).poll_flush(context),
            Wire::Inside(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().wire {
            Wire::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Wire::Secured(stream) => Pin::new(stream).poll_shutdown(context),
            Wire::Inside(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
