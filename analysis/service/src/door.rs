//! The door: requests, and what they are answered with.

use std::sync::Arc;

use serde::Serialize;
use speedup_core::value::hint::with_hint;
use speedup_proto::{v1, v1::analysis_server::Analysis, v1::experiments_client::ExperimentsClient};
use tokio::sync::{Semaphore, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, transport::Channel};

use crate::{advise, compare, observations, reporter::Asked, reporter::Reporter, reporter::json, watch};

/// Experiments watched at once: each holds a stream of the coordinator's.
const MOST_WATCHES: usize = 64;
/// Tables written at once: each holds some thousands of rows, and uses all processors.
const MOST_TABLES: usize = 4;

pub(crate) struct AnalysisDoor {
    reporter: Reporter,
    watches: Arc<Semaphore>,
    tables: Arc<Semaphore>,
}

impl AnalysisDoor {
    pub(crate) fn new(coordinator: ExperimentsClient<Channel>) -> Self {
        Self {
            reporter: Reporter::new(coordinator),
            watches: Arc::new(Semaphore::new(MOST_WATCHES)),
            tables: Arc::new(Semaphore::new(MOST_TABLES)),
        }
    }

    /// An answer to what the request itself brings, as JSON.
    async fn answer<R: Send + 'static, T: Serialize + 'static>(
        &self,
        what: &'static str,
        request: R,
        answer: fn(R) -> Result<T, Status>,
    ) -> Result<String, Status> {
        let turn = self.reporter.turn().await?;
        turn.compute(what, move || json(what, &answer(request)?)).await
    }
}

#[tonic::async_trait]
impl Analysis for AnalysisDoor {
    async fn report(
        &self,
        request: Request<v1::ReportRequest>,
    ) -> Result<Response<v1::ReportResponse>, Status> {
        let report = self.reporter.report(Asked::try_from(request.into_inner())?).await?;
        Ok(Response::new(report))
    }

    type ObservationsStream = ReceiverStream<Result<v1::ObservationsChunk, Status>>;

    async fn observations(
        &self,
        request: Request<v1::ObservationsRequest>,
    ) -> Result<Response<Self::ObservationsStream>, Status> {
        let asked = observations::Asked::try_from(request.into_inner())?;
        let place = Arc::clone(&self.tables).try_acquire_owned().map_err(|_| {
            Status::resource_exhausted(with_hint(
                format_args!("{MOST_TABLES} tables are being written already"),
                Some("ask again in a minute"),
            ))
        })?;
        let chunks = observations::begin(&self.reporter, asked, place).await?;
        Ok(Response::new(ReceiverStream::new(chunks)))
    }

    type WatchStream = ReceiverStream<Result<v1::ReportResponse, Status>>;

    async fn watch(
        &self,
        request: Request<v1::ReportRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let asked = Asked::try_from(request.into_inner())?;
        let place = Arc::clone(&self.watches).try_acquire_owned().map_err(|_| {
            Status::resource_exhausted(format!("{MOST_WATCHES} experiments are watched already"))
        })?;
        let statuses = self.reporter.statuses(asked.experiment).await?;
        // One report waits at most: who reads slowly gets fewer of them, not older ones.
        let (sender, receiver) = mpsc::channel(1);
        let reporter = self.reporter.clone();
        tokio::spawn(async move {
            watch::watch(&reporter, asked, statuses, &sender).await;
            drop(place);
        });
        Ok(Response::new(ReceiverStream::new(receiver)))
    }

    async fn advise(
        &self,
        request: Request<v1::AdviseRequest>,
    ) -> Result<Response<v1::AdviseResponse>, Status> {
        let json = self.answer("the advice", request.into_inner(), advise::advice).await?;
        Ok(Response::new(v1::AdviseResponse { json }))
    }

    async fn compare(
        &self,
        request: Request<v1::CompareRequest>,
    ) -> Result<Response<v1::CompareResponse>, Status> {
        let json = self.answer("the comparison", request.into_inner(), compare::answer).await?;
        Ok(Response::new(v1::CompareResponse { json }))
    }
}
