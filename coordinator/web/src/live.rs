//! What changes while one looks: parts of a page, rendered anew and sent as server-sent events when they are others than
//! before. A stream that nobody reads is not written on, and the number of streams is bounded.

use std::{collections::HashMap, convert::Infallible, sync::Arc, time::Duration};

use axum::{
    Router, extract::Path, extract::Query, extract::State, http::StatusCode, response::IntoResponse,
    response::Response, response::sse::Event, response::sse::Sse, routing::get,
};
use maud::Markup;
use speedup_access::Identity;
use speedup_proto::{v1, v1::experiment_status::Phase};
use tokio::{sync::mpsc, time::Instant};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status};
use uuid::Uuid;

use crate::{context::Context, context::Visitor, page, page_error::PageError};

/// Most streams at once, of which each user has a share: half of the connections, so that pages still load.
pub(crate) const MAX_STREAMS: usize = 256;
/// Most streams with a report that grows, of which each user has a share: each has it computed.
pub(crate) const MAX_REPORT_STREAMS: usize = 32;
/// How often a list is looked at.
const LOOK: Duration = Duration::from_secs(2);
/// How often the progress of an experiment is sent at most.
const PROGRESS: Duration = Duration::from_millis(500);
/// Parts that may wait for a slow reader.
const WAITING: usize = 4;
/// How long a stream lasts: the browser takes it up again, with a session that is looked at anew.
const LIFETIME: Duration = Duration::from_secs(900);

pub(crate) fn routes() -> Router<Arc<Context>> {
    Router::new()
        .route("/live/experiments", get(experiments))
        .route("/live/experiments/{id}", get(experiment))
        .route("/live/hosts", get(hosts))
        .route("/live/hosts/of/{id}", get(host))
        .route("/live/events", get(events))
}

/// The writing end of a stream.
struct Stream {
    parts: mpsc::Sender<Result<Event, Infallible>>,
    sent: HashMap<&'static str, String>,
}

/// Nobody reads any more, or there is nothing more to tell.
struct StreamEnd;

impl From<Status> for StreamEnd {
    fn from(status: Status) -> Self {
        if !matches!(status.code(), Code::Unauthenticated | Code::Cancelled | Code::Unavailable) {
            tracing::debug!("a stream of the page ended: {status}");
        }
        Self
    }
}

impl Stream {
    /// Sends a part of the page if it is another than before.
    async fn part(&mut self, name: &'static str, part: Markup) -> Result<(), StreamEnd> {
        let part = page::written(part);
        if self.sent.get(name) == Some(&part) {
            return Ok(());
        }
        // Browsers do not tell of an event without data: what is empty now would stay as it was.
        let event = Event::default().event(name).data(if part.is_empty() { " " } else { &part });
        self.sent.insert(name, part);
        self.parts.send(Ok(event)).await.map_err(|_| StreamEnd)
    }

    /// Says that nothing changes any more, so that the browser does not ask again.
    async fn over(&mut self) -> Result<(), StreamEnd> {
        let event = Event::default().event("over").data("nothing changes any more");
        self.parts.send(Ok(event)).await.map_err(|_| StreamEnd)
    }
}

/// Makes a stream whose parts `tell` sends, until it ends, nobody reads, or the page ends.
fn stream<T>(context: &Context, identity: Option<&Identity>, tell: impl FnOnce(Stream) -> T) -> Response
where
    T: Future<Output = Result<(), StreamEnd>> + Send + 'static,
{
    let Some(permit) = context.shared.streams.try_acquire(identity) else {
        let words = "Too many pages are open. This one shows the state when it was loaded.";
        return PageError::plain(StatusCode::SERVICE_UNAVAILABLE, words).into_response();
    };
    let (parts, receiver) = mpsc::channel(WAITING);
    let gone = parts.clone();
    let mut stopped = context.stopped.clone();
    let told = tell(Stream { parts, sent: HashMap::new() });
    tokio::spawn(async move {
        let _permit = permit;
        tokio::select! {
            _ = tokio::time::timeout(LIFETIME, told) => {}
            () = gone.closed() => {}
            _ = stopped.changed() => {}
        }
    });
    Sse::new(ReceiverStream::new(receiver)).into_response()
}

async fn experiments(
    State(context): State<Arc<Context>>,
    visitor: Visitor,
    Query(wanted): Query<page::experiments::Listing>,
) -> Response {
    stream(&context, visitor.identity.clone().as_ref(), async move |mut stream: Stream| {
        loop {
            let listed = visitor.page_of_experiments(&wanted).await?;
            stream.part("experiments", page::experiments::table(&wanted, &listed.0)).await?;
            tokio::time::sleep(LOOK).await;
        }
    })
}

async fn hosts(
    State(context): State<Arc<Context>>,
    visitor: Visitor,
    Query(at): Query<page::hosts::Listing>,
) -> Response {
    stream(&context, visitor.identity.clone().as_ref(), async move |mut stream: Stream| {
        loop {
            stream.part("pool", page::hosts::pool(&visitor.pool().await?)).await?;
            stream.part("hosts", page::hosts::table(&at, &visitor.page_of_hosts(&at).await?.hosts)).await?;
            tokio::time::sleep(LOOK).await;
        }
    })
}

async fn host(State(context): State<Arc<Context>>, visitor: Visitor, Path(id): Path<String>) -> Response {
    stream(&context, visitor.identity.clone().as_ref(), async move |mut stream: Stream| {
        loop {
            let shown = visitor.host(&id).await?;
            stream.part("host", page::host::state(&visitor, &shown)).await?;
            tokio::time::sleep(LOOK).await;
        }
    })
}

async fn events(
    State(context): State<Arc<Context>>,
    visitor: Visitor,
    Query(at): Query<page::events::Listing>,
) -> Response {
    let before = match at.place() {
        Ok(before) => before,
        Err(error) => return error.into_response(),
    };
    stream(&context, visitor.identity.clone().as_ref(), async move |mut stream: Stream| {
        loop {
            let events = visitor.page_of_events(&at, before.clone()).await?;
            stream.part("events", page::events::table(&at, &events.events)).await?;
            tokio::time::sleep(LOOK).await;
        }
    })
}

async fn experiment(
    State(context): State<Arc<Context>>,
    visitor: Visitor,
    Path(id): Path<Uuid>,
) -> Result<Response, PageError> {
    // What does not exist is said at once.
    let statuses = visitor.watch(id).await?;
    let permit = context.shared.report_streams.try_acquire(visitor.identity.as_ref());
    Ok(stream(&context, visitor.identity.clone().as_ref(), async move |mut stream: Stream| {
        let mut reports = None;
        if permit.is_some() {
            reports = Some(visitor.watch_report(id).await?);
        } else {
            stream.part("report", page::report::too_many(id)).await?;
        }
        let told = tell_experiment(&mut stream, &visitor, statuses, &mut reports).await;
        drop(permit);
        told
    }))
}

async fn tell_experiment(
    stream: &mut Stream,
    visitor: &Visitor,
    statuses: tonic::Streaming<v1::ExperimentStatus>,
    reports: &mut Option<tonic::Streaming<v1::ReportResponse>>,
) -> Result<(), StreamEnd> {
    let mut statuses = Some(statuses);
    let mut latest = None;
    let mut due = Instant::now();
    let mut log = Log { phase: None, due, events: v1::ListEventsResponse::default() };
    while statuses.is_some() || latest.is_some() || reports.is_some() {
        tokio::select! {
            status = next(&mut statuses), if statuses.is_some() => match status? {
                // The one before it is told by nobody: only how it stands now is of interest.
                Some(status) => latest = Some(status),
                None => statuses = None,
            },
            report = next(reports), if reports.is_some() => match report {
                Ok(Some(report)) => stream.part("report", drawn(report.json).await?).await?,
                Ok(None) => *reports = None,
                Err(status) => {
                    *reports = None;
                    stream.part("report", page::report::failed(&status)).await?;
                }
            },
            () = tokio::time::sleep_until(due), if latest.is_some() => {
                if let Some(status) = latest.take() {
                    tell_status(stream, visitor, &status, &mut log).await?;
                }
                due = Instant::now() + PROGRESS;
            }
        }
    }
    stream.over().await
}

/// A report may have a hundred thousand benchmarks: it is read apart from the event loop.
async fn drawn(json: String) -> Result<Markup, StreamEnd> {
    let drawn = tokio::task::spawn_blocking(move || page::report::part(&json, 1));
    drawn.await.map_err(|_| StreamEnd)
}

/// The next message of a stream that is there.
async fn next<T>(stream: &mut Option<tonic::Streaming<T>>) -> Result<Option<T>, Status> {
    match stream {
        Some(stream) => stream.message().await,
        None => Ok(None),
    }
}

/// An experiment's events, which are looked at again with its phase, and now and then.
struct Log {
    phase: Option<Phase>,
    due: Instant,
    events: v1::ListEventsResponse,
}

async fn tell_status(
    stream: &mut Stream,
    visitor: &Visitor,
    status: &v1::ExperimentStatus,
    log: &mut Log,
) -> Result<(), StreamEnd> {
    if log.phase != status.phase || Instant::now() >= log.due {
        let events = visitor.events(&status.experiment, String::new()).await?;
        *log = Log { phase: status.phase.clone(), due: Instant::now() + LOOK, events };
    }
    stream.part("progress", page::experiment::progress(status, &log.events)).await?;
    stream.part("said", page::experiment::said(status)).await?;
    stream.part("actions", page::experiment::actions(visitor, status)).await?;
    stream.part("events", page::experiment::log_of(status, &log.events)).await
}
