//! The count of calls, by method and code, and the time until their answers: before all doors and the guard, so that refusals
//! count as well. Every answer leaves with the coordinator's release.

use std::{pin::Pin, sync::Arc, task::Context, task::Poll, task::ready, time::Instant};

use http_body::Frame;
use speedup_access::{FairPermit, FairSemaphore};
use speedup_core::value::hint::with_hint;
use tonic::body::Body;
use tonic::codegen::http::header::SERVER;
use tonic::codegen::http::{HeaderMap, HeaderValue, Request, Response};
use tonic::codegen::{Body as HttpBody, Bytes};
use tonic::{Code, Status};
use tower_layer::Layer;
use tower_service::Service;

use super::{caller::Peer, methods::METHODS};
use crate::metrics::{Metrics, Outcome};

/// Methods whose answer waits for something other than the coordinator: for what is to happen, or for all that the caller
/// sends. Their time says nothing of it, and is not taken. Of other streams it is the time to the first message.
const UNTIMED: [&str; 8] = [
    "/grpc.health.v1.Health/Watch",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
    "/speedup.v1.Agents/Session",
    "/speedup.v1.Analysis/Watch",
    "/speedup.v1.Experiments/Watch",
    "/speedup.v1.Experiments/WatchUndecided",
    "/speedup.v1.Files/Put",
];

/// What is no method of ours, in one label.
const OTHER: &str = "other";

/// What every answer says of the coordinator.
const RELEASE: &str = concat!("speedup/", env!("CARGO_PKG_VERSION"));

/// Most calls of one user or agent at once, over whatever connections: each has a task here, and many ask the machine again and
/// again.
const MAX_CALLS_OF_ONE: usize = 1_024;

#[derive(Clone, Debug)]
pub(crate) struct CallCounter {
    metrics: Metrics,
    calls: Arc<FairSemaphore>,
}

impl CallCounter {
    pub(crate) fn new(metrics: Metrics) -> Self {
        // All together are bounded by the connections.
        Self { metrics, calls: FairSemaphore::with_most(usize::MAX, MAX_CALLS_OF_ONE) }
    }
}

/// Doors whose calls are counted.
#[derive(Clone, Debug)]
pub(crate) struct CountedService<S> {
    counting: CallCounter,
    inner: S,
}

impl<S> Layer<S> for CallCounter {
    type Service = CountedService<S>;

    fn layer(&self, inner: S) -> CountedService<S> {
        CountedService { counting: self.clone(), inner }
    }
}

impl<S> Service<Request<Body>> for CountedService<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let CallCounter { metrics, calls } = &self.counting;
        let mut call = Call::new(metrics.clone(), request.uri().path());
        let peer = request.extensions().get::<Peer>();
        let identity = peer.and_then(|peer| peer.caller.identity());
        call.permit = identity.and_then(|identity| calls.try_acquire(Some(identity)));
        // Nobody's share bounds the process itself, and strangers have bounds of their own.
        let is_refused = identity.is_some() && call.permit.is_none();
        let answer = if is_refused { None } else { Some(self.inner.call(request)) };
        Box::pin(async move {
            let answered = match answer {
                Some(answer) => answer.await?,
                None => too_many_calls().into_http(),
            };
            let (mut head, body) = answered.into_parts();
            head.headers.insert(SERVER, HeaderValue::from_static(RELEASE));
            // An answer without a body has its code in the head.
            call.see(&head.headers);
            Ok(Response::from_parts(head, Body::new(Answer { body, call })))
        })
    }
}

/// A call; it is counted when it is dropped, once its answer was sent, or nobody wants it any more.
struct Call {
    metrics: Metrics,
    method: &'static str,
    code: Code,
    /// When it came, until it is answered; nothing where that is not timed.
    came: Option<Instant>,
    /// In the share of its caller, where that is known.
    permit: Option<FairPermit>,
}

impl Call {
    fn new(metrics: Metrics, path: &str) -> Self {
        let place = METHODS.binary_search_by_key(&path, |(path, _)| path);
        let method = place.ok().and_then(|place| METHODS.get(place)).map_or(OTHER, |(path, _)| *path);
        let is_timed = method != OTHER && !UNTIMED.contains(&method);
        Self { metrics, method, code: Code::Cancelled, came: is_timed.then(Instant::now), permit: None }
    }

    /// Its first message leaves, or it ends without one.
    fn answered(&mut self, outcome: Outcome) {
        if let Some(came) = self.came.take() {
            self.metrics.answered(self.method, outcome, came.elapsed());
        }
    }

    fn see(&mut self, headers: &HeaderMap) {
        if let Some(status) = Status::from_header_map(headers) {
            self.code = status.code();
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.answered(outcome(self.code));
        self.metrics.called(self.method, name(self.code));
    }
}

fn too_many_calls() -> Status {
    Status::resource_exhausted(with_hint(
        format_args!("{MAX_CALLS_OF_ONE} calls of yours wait for their answers already"),
        Some("end commands that watch or wait, or try again later"),
    ))
}

struct Answer {
    body: Body,
    call: Call,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        match &frame {
            Some(Ok(frame)) => {
                if let Some(trailers) = frame.trailers_ref() {
                    self.call.see(trailers);
                } else {
                    self.call.answered(Outcome::Ok);
                }
            }
            Some(Err(status)) => self.call.code = status.code(),
            None => {}
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.body.size_hint()
    }
}

/// A code as gRPC names it.
const fn name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

/// The class of a code: whose matter it is.
const fn outcome(code: Code) -> Outcome {
    match code {
        Code::Ok => Outcome::Ok,
        Code::Cancelled => Outcome::Cancelled,
        Code::InvalidArgument
        | Code::NotFound
        | Code::AlreadyExists
        | Code::PermissionDenied
        | Code::FailedPrecondition
        | Code::Aborted
        | Code::OutOfRange
        | Code::Unimplemented
        | Code::Unauthenticated => Outcome::Rejected,
        Code::Unknown
        | Code::DeadlineExceeded
        | Code::ResourceExhausted
        | Code::Internal
        | Code::Unavailable
        | Code::DataLoss => Outcome::Failed,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use prost::Message as _;
    use prost_types::FileDescriptorSet;
    use speedup_proto::v1;

    use super::*;

    /// Streams that begin as soon as the coordinator has what it sends.
    const TRANSFERS: [&str; 3] =
        ["/speedup.v1.Analysis/Observations", "/speedup.v1.Experiments/Export", "/speedup.v1.Files/Get"];

    #[test]
    fn of_every_stream_it_is_known_whether_its_beginning_is_timed() {
        let described = FileDescriptorSet::decode(v1::DESCRIPTORS).unwrap();
        let mut streams = BTreeSet::new();
        for file in &described.file {
            for service in &file.service {
                let long = service.method.iter().filter(|of| of.client_streaming() || of.server_streaming());
                streams
                    .extend(long.map(|of| format!("/{}.{}/{}", file.package(), service.name(), of.name())));
            }
        }
        let ours = UNTIMED.into_iter().filter(|path| path.starts_with("/speedup."));
        let known: BTreeSet<String> = ours.chain(TRANSFERS).map(str::to_owned).collect();
        assert_eq!(streams, known, "decide whether the new stream is timed");
        for path in UNTIMED {
            assert!(METHODS.iter().any(|(method, _)| *method == path), "{path} is no method");
        }
    }

    #[test]
    fn a_call_is_timed_once_and_by_what_became_of_it() {
        let metrics = Metrics::default();
        let list = "/speedup.v1.Hosts/List";
        let call = |path: &str| Call::new(metrics.clone(), path);
        let mut answered = call(list);
        answered.answered(Outcome::Ok);
        answered.code = Code::Unavailable;
        drop(answered);
        let mut refused = call(list);
        refused.code = Code::PermissionDenied;
        drop(refused);
        drop(call(list));
        drop(call("/speedup.v1.Agents/Session"));
        drop(call("/speedup.v1.Hosts/Nothing"));
        let page = metrics.page();
        let timed: Vec<&str> =
            page.lines().filter(|line| line.starts_with("speedup_grpc_answer_seconds_count")).collect();
        let line = |outcome| {
            format!("speedup_grpc_answer_seconds_count{{method=\"{list}\",outcome=\"{outcome}\"}} 1")
        };
        assert_eq!(timed, [line("cancelled"), line("ok"), line("rejected")]);
        assert!(
            page.contains(
                "speedup_grpc_calls_total{code=\"UNAVAILABLE\",method=\"/speedup.v1.Hosts/List\"} 1"
            )
        );
    }
}
