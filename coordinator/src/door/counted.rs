//! The count of calls, by method and code: before all doors and the guard, so that refusals count as well. Every answer
//! leaves with the coordinator's release.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use http_body::Frame;
use tonic::body::Body;
use tonic::codegen::http::header::SERVER;
use tonic::codegen::http::{HeaderMap, HeaderValue, Request, Response};
use tonic::codegen::{Body as HttpBody, Bytes};
use tonic::{Code, Status};
use tower_layer::Layer;
use tower_service::Service;

use super::methods::METHODS;
use crate::metrics::Metrics;

/// What is no method of ours, in one label.
const OTHER: &str = "other";

/// What every answer says of the coordinator.
const RELEASE: &str = concat!("speedup/", env!("CARGO_PKG_VERSION"));

/// Counts calls.
#[derive(Clone, Debug)]
pub(crate) struct Counting(pub(crate) Metrics);

/// Doors whose calls are counted.
#[derive(Clone, Debug)]
pub(crate) struct Counted<S> {
    metrics: Metrics,
    inner: S,
}

impl<S> Layer<S> for Counting {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted { metrics: self.0.clone(), inner }
    }
}

impl<S> Service<Request<Body>> for Counted<S>
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
        let mut call = Call::new(self.metrics.clone(), request.uri().path());
        let answered = self.inner.call(request);
        Box::pin(async move {
            let (mut head, body) = answered.await?.into_parts();
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
}

impl Call {
    fn new(metrics: Metrics, path: &str) -> Self {
        let place = METHODS.binary_search_by_key(&path, |(path, _)| path);
        let method = place.ok().and_then(|place| METHODS.get(place)).map_or(OTHER, |(path, _)| *path);
        Self { metrics, method, code: Code::Cancelled }
    }

    fn see(&mut self, headers: &HeaderMap) {
        if let Some(status) = Status::from_header_map(headers) {
            self.code = status.code();
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.metrics.called(self.method, name(self.code));
    }
}

/// An answer whose end is seen.
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
