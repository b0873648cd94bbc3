//! The door: requests, and what they are answered with.

use std::sync::Arc;

use serde::Serialize;
use speedup_access::{Certificate, FairSemaphore, Identity};
use speedup_core::value::hint::with_hint;
use speedup_proto::{v1, v1::analysis_server::Analysis, v1::experiments_client::ExperimentsClient};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, transport::Channel};

use crate::{
    advise, compare, observations, reporter::ReportQuestion, reporter::Reporter, reporter::json, watch,
};

/// Requests held at once that bring what is to be computed, of which each user has a share: each may be a message of the largest
/// size.
const MOST_HELD: usize = 16;
/// Experiments watched at once, of which each user has a share: each holds a stream of the coordinator's.
const MOST_WATCHES: usize = 256;
/// Tables written at once, of which each user has a share: each holds some thousands of rows, and uses all processors.
const MOST_TABLES: usize = 16;

pub(crate) struct AnalysisDoor {
    reporter: Reporter,
    held: Arc<FairSemaphore>,
    watches: Arc<FairSemaphore>,
    tables: Arc<FairSemaphore>,
}

impl AnalysisDoor {
    pub(crate) fn new(coordinator: ExperimentsClient<Channel>) -> Self {
        Self {
            reporter: Reporter::new(coordinator),
            held: FairSemaphore::new(MOST_HELD),
            watches: FairSemaphore::new(MOST_WATCHES),
            tables: FairSemaphore::new(MOST_TABLES),
        }
    }

    /// An answer to what the request itself brings, as JSON.
    async fn answer<R: Send + 'static, T: Serialize + 'static>(
        &self,
        what: &'static str,
        request: Request<R>,
        answer: fn(R) -> Result<T, Status>,
    ) -> Result<String, Status> {
        let who = who(&request);
        let _permit = self.held.try_acquire(who.as_ref()).ok_or_else(|| {
            Status::resource_exhausted(with_hint(
                "you have reached the limit of waiting requests for each user",
                Some("ask again in a minute"),
            ))
        })?;
        let turn = self.reporter.turn(who.as_ref()).await?;
        let request = request.into_inner();
        turn.compute(what, move || json(what, &answer(request)?)).await
    }
}

/// Identity whose shares a request uses. A standalone service asks for no certificate, so there it is `None`.
fn who<T>(request: &Request<T>) -> Option<Identity> {
    request.extensions().get::<Arc<Certificate>>().map(|certificate| certificate.identity.clone())
}

#[tonic::async_trait]
impl Analysis for AnalysisDoor {
    async fn report(
        &self,
        request: Request<v1::ReportRequest>,
    ) -> Result<Response<v1::ReportResponse>, Status> {
        let who = who(&request);
        let report =
            self.reporter.report(ReportQuestion::try_from(request.into_inner())?, who.as_ref()).await?;
        Ok(Response::new(report))
    }

    type ObservationsStream = ReceiverStream<Result<v1::ObservationsChunk, Status>>;

    async fn observations(
        &self,
        request: Request<v1::ObservationsRequest>,
    ) -> Result<Response<Self::ObservationsStream>, Status> {
        let who = who(&request);
        let asked = observations::TableRequest::try_from(request.into_inner())?;
        let permit = self.tables.try_acquire(who.as_ref()).ok_or_else(|| {
            Status::resource_exhausted(with_hint(
                "as many tables are being written already as one may have at once",
                Some("ask again in a minute"),
            ))
        })?;
        let chunks = observations::begin(&self.reporter, asked, permit).await?;
        Ok(Response::new(ReceiverStream::new(chunks)))
    }

    type WatchStream = ReceiverStream<Result<v1::ReportResponse, Status>>;

    async fn watch(
        &self,
        request: Request<v1::ReportRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let who = who(&request);
        let asked = ReportQuestion::try_from(request.into_inner())?;
        let permit = self.watches.try_acquire(who.as_ref()).ok_or_else(|| {
            Status::resource_exhausted("as many experiments are watched already as one may watch at once")
        })?;
        let statuses = self.reporter.statuses(asked.experiment).await?;
        // One report waits at most: who reads slowly gets fewer of them, not older ones.
        let (sender, receiver) = mpsc::channel(1);
        let reporter = self.reporter.clone();
        tokio::spawn(async move {
            watch::watch(&reporter, asked, who.as_ref(), statuses, &sender).await;
            drop(permit);
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn advise(
        &self,
        request: Request<v1::AdviseRequest>,
    ) -> Result<Response<v1::AdviseResponse>, Status> {
        let json = self.answer("the advice", request, advise::advice).await?;
        Ok(Response::new(v1::AdviseResponse { json }))
    }

    async fn compare(
        &self,
        request: Request<v1::CompareRequest>,
    ) -> Result<Response<v1::CompareResponse>, Status> {
        let json = self.answer("the comparison", request, compare::answer).await?;
        Ok(Response::new(v1::CompareResponse { json }))
    }
}
