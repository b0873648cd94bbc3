//! The analysis on its own: a server with this one door, for a coordinator elsewhere.

use std::{net::SocketAddr, time::Duration};

use speedup_access::Reach;
use thiserror::Error;
use tokio::task::JoinHandle;
use tonic::{transport::Server, transport::server::TcpIncoming};

use crate::advisor::Advisor;

/// After how long without a word the kernel asks whether the other end is still there.
const KEEPALIVE: Duration = Duration::from_secs(30);

/// How the analysis is started.
#[derive(Clone, Debug)]
pub struct Options {
    pub coordinator: Reach,
    /// Where the door is, which every user of this machine may pass; port 0 takes a free one.
    pub bind: SocketAddr,
}

/// Why the analysis does not start.
#[derive(Debug, Error)]
pub enum AnalysisStartError {
    #[error("{0} can be reached from other machines, but this service has no TLS")]
    NotLoopback(SocketAddr),
    #[error("cannot listen on {address}")]
    Bind { address: SocketAddr, source: std::io::Error },
}

speedup_core::hints! { AnalysisStartError:
    Self::NotLoopback(_) => "bind 127.0.0.1 or [::1], and reach it from elsewhere through an ssh tunnel",
    Self::Bind { .. } => "another program may listen there; choose another port with --bind",
}

/// A running analysis.
#[derive(Debug)]
pub struct Service {
    address: SocketAddr,
    /// It ends with the service.
    advisor: Advisor,
    server: JoinHandle<Result<(), tonic::transport::Error>>,
}

/// Starts the analysis. The coordinator is not asked before the first request: it may start later.
///
/// # Errors
/// [`AnalysisStartError`] when its address cannot be listened on, or can be reached from other machines.
pub async fn start(options: Options) -> Result<Service, AnalysisStartError> {
    let Options { coordinator, bind } = options;
    if !bind.ip().is_loopback() {
        return Err(AnalysisStartError::NotLoopback(bind));
    }
    let bound = |source| AnalysisStartError::Bind { address: bind, source };
    let listener = tokio::net::TcpListener::bind(bind).await.map_err(bound)?;
    let address = listener.local_addr().map_err(bound)?;
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true)).with_keepalive(Some(KEEPALIVE));
    let coordinator = coordinator.connect_lazy();
    let advisor = Advisor::start(coordinator.clone(), ());
    let door = crate::service_of(coordinator);
    let server = tokio::spawn(Server::builder().add_service(door).serve_with_incoming(incoming));
    tracing::info!(%address, "analysis service listening");
    Ok(Service { address, advisor, server })
}

impl Service {
    /// Where the door is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until a task of it has ended, which none does unasked, and returns which: nobody would notice otherwise.
    pub async fn ended(&mut self) -> &'static str {
        tokio::select! {
            _ = &mut self.server => "its server has ended",
            () = self.advisor.died() => "what applies the rules of repetition died",
        }
    }

    /// Stops. Whoever waits for an answer is told that it is gone; nothing is kept that could be lost.
    pub async fn stop(self) {
        self.server.abort();
        // The only error is that it was aborted.
        let _ = self.server.await;
    }
}
