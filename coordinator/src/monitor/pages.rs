//! Where the metrics are asked for: two pages over plain HTTP, which hold numbers and no names.
//!
//! `/metrics` is for Prometheus. `/livez` says whether the coordinator answers, for those who start it
//! anew otherwise; `/healthz` says whether all of it works, for those who tell people.

use std::{convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};

use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use speedup_access::{PendingConnections, Seat, Seats};
use tokio::{net::TcpListener, net::TcpStream, sync::Mutex, time::timeout};

use super::{Gauges, Health, MachineCounts};
use crate::fault::Vital;
use crate::gate::Gate;
use crate::handle::Handle;
use crate::metrics::Metrics;
use crate::open_files::paced;
use crate::provision::QueueSelector;

/// Connections at once: some Prometheus servers and probes. Beyond that the oldest that have asked nothing end.
const CONNECTIONS: Seats = Seats {
    most: 256,
    most_of_address: 256,
    glance: Duration::from_millis(200),
    patience: Duration::from_secs(2),
};
/// How long a connection may last, which is one request: whoever is slower is not waited for.
const CONNECTION: Duration = Duration::from_secs(10);
/// How long a coordinator may take to answer itself until it counts as not healthy: a journal's sync takes milliseconds.
const HEALTHY: Duration = Duration::from_secs(5);
/// How long engines are waited for that are being added or removed, which takes as long as they do: then the page has what it
/// had of them before.
const ENGINES: Duration = Duration::from_secs(1);
/// Most bytes of a request's head.
const HEAD_BYTES: usize = 16 << 10;
/// The text format of Prometheus.
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

pub(crate) struct Pages {
    metrics: Metrics,
    handle: Handle,
    health: Health,
    gate: Arc<Gate>,
    /// One request at a time sets them and renders the page, so that a page does not mix two requests' figures.
    gauges: Mutex<Gauges>,
}

impl Pages {
    pub(crate) fn new(metrics: Metrics, handle: Handle, health: Health, gate: Arc<Gate>) -> Self {
        let gauges = Mutex::new(Gauges::new(metrics.registrar()));
        Self { metrics, handle, health, gate, gauges }
    }

    /// Serves the pages until the task is aborted.
    pub(crate) async fn serve(self: Arc<Self>, listener: TcpListener, _vital: Vital) {
        let pending = PendingConnections::new(CONNECTIONS);
        loop {
            pending.room().await;
            match paced(listener.accept().await).await {
                Ok((stream, address)) => {
                    if let Some((seat, eviction)) = pending.enter(address.ip()) {
                        let pages = self.clone();
                        tokio::spawn(async move {
                            tokio::select! {
                                // What has come is read before it is judged.
                                biased;
                                () = pages.converse(stream, address, seat) => {}
                                () = eviction => {}
                            }
                        });
                    }
                }
                Err(error) => tracing::debug!("cannot accept a connection for metrics: {error}"),
            }
        }
    }

    async fn converse(self: Arc<Self>, stream: TcpStream, address: SocketAddr, seat: Seat) {
        let answer = |request: Request<Incoming>| {
            seat.has_spoken();
            let pages = self.clone();
            async move { Ok::<_, Infallible>(pages.answer(request.method(), request.uri().path()).await) }
        };
        let mut server = http1::Builder::new();
        server
            .keep_alive(false)
            .max_buf_size(HEAD_BYTES)
            .timer(TokioTimer::new())
            .header_read_timeout(CONNECTION);
        let served =
            timeout(CONNECTION, server.serve_connection(TokioIo::new(stream), service_fn(answer))).await;
        if !matches!(served, Ok(Ok(()))) {
            tracing::debug!(%address, "a connection for metrics ended early");
        }
    }

    async fn answer(&self, method: &Method, path: &str) -> Response<String> {
        if !matches!(*method, Method::GET | Method::HEAD) {
            let mut refused = page(StatusCode::METHOD_NOT_ALLOWED, "only GET\n".to_owned());
            refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return refused;
        }
        match path {
            "/metrics" => match self.metrics().await {
                Some(text) => page(StatusCode::OK, text),
                None => page(StatusCode::SERVICE_UNAVAILABLE, "the coordinator does not answer\n".to_owned()),
            },
            "/livez" => match self.counted().await {
                Some(_) => page(StatusCode::OK, "ok\n".to_owned()),
                None => page(StatusCode::SERVICE_UNAVAILABLE, "the coordinator does not answer\n".to_owned()),
            },
            "/healthz" => self.health().await,
            _ => page(StatusCode::NOT_FOUND, "there are /metrics, /healthz and /livez\n".to_owned()),
        }
    }

    /// Returns whether it answers and all of it works; if not, with a line for each that does not.
    async fn health(&self) -> Response<String> {
        if self.counted().await.is_none() {
            return page(StatusCode::SERVICE_UNAVAILABLE, "the coordinator does not answer\n".to_owned());
        }
        let mut lines = String::new();
        for component in self.health.look().await {
            lines.push_str(component.sentence());
            lines.push('\n');
        }
        if lines.is_empty() {
            return page(StatusCode::OK, "ok\n".to_owned());
        }
        page(StatusCode::SERVICE_UNAVAILABLE, lines)
    }

    /// The machine in numbers; all that they rest on is durable, so that a journal which hangs shows.
    async fn counted(&self) -> Option<MachineCounts> {
        timeout(HEALTHY, self.handle.query(MachineCounts::count)).await.ok()?.ok()
    }

    async fn metrics(&self) -> Option<String> {
        let counted = self.counted().await?;
        let engines = timeout(ENGINES, self.health.provisioning.show(&QueueSelector::default())).await;
        let failing = self.health.look().await;
        let gauges = self.gauges.lock().await;
        if let Ok(queues) = engines {
            gauges.engines.show(queues.iter());
        }
        gauges.show_machine(&counted);
        gauges.show_progress(&self.handle.progress);
        gauges.show_disk(&self.health.data, self.health.blobs.kept_bytes(), self.gate.count());
        gauges.show_health(&failing);
        gauges.process.show();
        self.metrics.registrar().text().ok()
    }
}

fn page(status: StatusCode, text: String) -> Response<String> {
    let mut page = Response::new(text);
    *page.status_mut() = status;
    page.headers_mut().insert(CONTENT_TYPE, TEXT);
    page
}
