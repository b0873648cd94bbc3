//! Connections: accepted, secured, counted and bounded in time. Whoever sends slowly, or too much, is let go.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::sockopt::{set_socket_keepalive, set_tcp_nodelay, set_tcp_user_timeout};
use rustls::ServerConfig;
use speedup_access::liveness::UNACKNOWLEDGED_MS;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tonic::codegen::Service as _;

/// Most connections at once: people with some windows each. Who comes later waits.
const MAX_CONNECTIONS: usize = 512;
/// Connections that may wait to be accepted.
const WAITING: u32 = 128;
/// How long a handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long the head of a request may take, the pause before it included: whoever says nothing makes room.
const HEAD: Duration = Duration::from_secs(15);
/// Most bytes of a request's head: cookies of other services of the same address come with it.
const MAX_HEAD_BYTES: usize = 32 << 10;
/// Most header lines of a request.
const MAX_HEADERS: usize = 64;
/// How long to wait after a connection could not be accepted, which is for want of files or memory.
const PAUSE: Duration = Duration::from_millis(200);

/// Listens on an address.
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

/// Serves until the task is aborted.
pub(crate) async fn serve(listener: TcpListener, tls: Option<Arc<ServerConfig>>, routes: Router) {
    let acceptor = tls.map(TlsAcceptor::from);
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    // Connections end with this task.
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::debug!("cannot accept a connection to the page: {error}");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let (acceptor, routes) = (acceptor.clone(), routes.clone());
        connections.spawn(async move {
            let _place = place;
            accepted(stream, acceptor, routes).await;
        });
    }
}

async fn accepted(stream: TcpStream, acceptor: Option<TlsAcceptor>, routes: Router) {
    let Some(acceptor) = acceptor else { return speak(stream, routes).await };
    match timeout(HANDSHAKE, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => speak(stream, routes).await,
        Ok(Err(error)) => tracing::debug!("a browser's handshake failed: {error}"),
        Err(_) => tracing::debug!("a browser's handshake took too long"),
    }
}

async fn speak(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, routes: Router) {
    let service = hyper::service::service_fn(move |request: hyper::Request<Incoming>| {
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
