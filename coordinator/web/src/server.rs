//! Connections: accepted, secured, counted and bounded in time. Whoever sends slowly, or too much, is let go.

use std::{convert::Infallible, net::SocketAddr, sync::Arc, sync::Mutex, sync::PoisonError, time::Duration};

use axum::{Router, body::Body, http::HeaderMap};
use hyper::{body::Incoming, server::conn::http1};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::sockopt::{set_socket_keepalive, set_tcp_nodelay, set_tcp_user_timeout};
use rustls::ServerConfig;
use speedup_access::{FairSemaphore, Identity, PendingConnections, Seat, Seats, liveness::UNACKNOWLEDGED_MS};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tonic::codegen::Service as _;

/// Most connections at once of people who have signed in, with some windows each, of which each has a share. Beyond that they
/// are held like those of strangers.
const MAX_SIGNED_IN: usize = 512;
/// Connections at once of which nobody has signed in: beyond that the oldest that have asked nothing end.
const STRANGERS: Seats = Seats {
    most: 512,
    most_of_address: 512,
    glance: Duration::from_millis(200),
    patience: Duration::from_secs(1),
};
/// Connections that may wait to be accepted, also those of a crowd of strangers: beyond that the kernel drops some, which
/// come again after a second.
const WAITING: u32 = 4_096;
/// How long a handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// How long the head of a request may take, the pause before it included: whoever says nothing makes room.
const HEAD: Duration = Duration::from_secs(15);
/// Most bytes of a request's head: cookies of other services of the same address come with it.
const MAX_HEAD_BYTES: usize = 32 << 10;
/// Most header lines of a request.
const MAX_HEADERS: usize = 64;
/// How long to wait after a connection could not be accepted, which is for want of files or memory.
const PAUSE: Duration = Duration::from_millis(200);

pub(crate) fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A coordinator that was killed is started again on its ports at once.
    socket.set_reuseaddr(true)?;
    set_tcp_user_timeout(&socket, UNACKNOWLEDGED_MS)?;
    set_socket_keepalive(&socket, true)?;
    set_tcp_nodelay(&socket, true)?;
    socket.bind(address)?;
    socket.listen(WAITING)
}

/// Who has signed in that sends a request with this head.
pub(crate) type SignedIn = Arc<dyn Fn(&HeaderMap) -> Option<Identity> + Send + Sync>;

/// Serves until the task is aborted.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    routes: Router,
    signed_in: SignedIn,
) {
    let acceptor = tls.map(TlsAcceptor::from);
    let pending = PendingConnections::new(STRANGERS);
    let signed_in_permits = FairSemaphore::new(MAX_SIGNED_IN);
    // Connections end with this task.
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        pending.room().await;
        let (stream, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::debug!("cannot accept a connection to the page: {error}");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let Some((seat, eviction)) = pending.enter(address.ip()) else { continue };
        let acceptor = acceptor.clone();
        let routes = routes.clone();
        let place =
            ConnectionPlace { held: Mutex::new(HeldSlot::Seat(seat)), permits: signed_in_permits.clone() };
        let peer = Peer { place, signed_in: signed_in.clone() };
        connections.spawn(async move {
            tokio::select! {
                // What has come is read before it is judged.
                biased;
                () = accepted(stream, acceptor, routes, peer) => {}
                () = eviction => tracing::debug!("a connection to the page made room for others"),
            }
        });
    }
}

/// At the other end of a connection.
struct Peer {
    place: ConnectionPlace,
    signed_in: SignedIn,
}

/// What a connection holds: a seat among strangers, until a request shows that its sender has signed in.
struct ConnectionPlace {
    held: Mutex<HeldSlot>,
    permits: Arc<FairSemaphore>,
}

enum HeldSlot {
    Seat(Seat),
    SignedIn { _permit: speedup_access::FairPermit },
}

impl Peer {
    /// A request has come.
    fn asks(&self, headers: &HeaderMap) {
        let mut held = self.place.held.lock().unwrap_or_else(PoisonError::into_inner);
        let HeldSlot::Seat(seat) = &*held else { return };
        seat.has_spoken();
        if let Some(identity) = (self.signed_in)(headers)
            && let Some(permit) = self.place.permits.try_acquire(Some(&identity))
        {
            *held = HeldSlot::SignedIn { _permit: permit };
        }
    }
}

async fn accepted(stream: TcpStream, acceptor: Option<TlsAcceptor>, routes: Router, peer: Peer) {
    let Some(acceptor) = acceptor else { return speak(stream, routes, peer).await };
    match timeout(HANDSHAKE, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => speak(stream, routes, peer).await,
        Ok(Err(error)) => tracing::debug!("a browser's handshake failed: {error}"),
        Err(_) => tracing::debug!("a browser's handshake took too long"),
    }
}

async fn speak(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, routes: Router, peer: Peer) {
    let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
        peer.asks(request.headers());
        let mut routes = routes.clone();
        async move {
            Ok::<_, Infallible>(routes.call(request.map(Body::new)).await.unwrap_or_else(|e| match e {}))
        }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(MAX_HEAD_BYTES)
        .max_headers(MAX_HEADERS)
        .serve_connection(TokioIo::new(stream), service)
        .await;
    if let Err(error) = served {
        tracing::debug!("a connection to the page ended: {error}");
    }
}
