//! The door: requests, and what they are answered with.

use std::sync::Arc;

use serde::Serialize;
use speedup_analysis::study::{Figures, Mixtures, ReportOptions, Study};
use speedup_core::value::causes::with_causes;
use speedup_core::value::hint::{Hinted, with_hint};
use speedup_core::value::id::ExperimentId;
use speedup_proto::convert::experiment_id;
use speedup_proto::v1::analysis_server::Analysis;
use speedup_proto::v1::experiments_client::ExperimentsClient;
use speedup_proto::{limits, v1};
use speedup_statistics::inference::ConfidenceLevel;
use tokio::sync::{Semaphore, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;
use tonic::{Code, Request, Response, Status};

use crate::advise;
use crate::compare;
use crate::intake::Intake;
use crate::turns::Turns;
use crate::watch;

/// What the answer around the JSON takes.
const ENVELOPE_BYTES: usize = 1 << 10;
/// Experiments watched at once: each holds a stream of the coordinator's.
const MOST_WATCHES: usize = 64;

/// The door to the analysis.
pub(crate) struct AnalysisDoor {
    reporter: Reporter,
    watches: Arc<Semaphore>,
}

/// Makes reports of what the coordinator has.
#[derive(Clone)]
pub(crate) struct Reporter {
    coordinator: ExperimentsClient<Channel>,
    turns: Arc<Turns>,
}

/// What is asked of a report.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) experiment: ExperimentId,
    options: ReportOptions,
}

impl AnalysisDoor {
    pub(crate) fn new(coordinator: ExperimentsClient<Channel>) -> Self {
        Self { reporter: Reporter::new(coordinator), watches: Arc::new(Semaphore::new(MOST_WATCHES)) }
    }

    /// An answer to what the request itself brings, as JSON.
    async fn answer<R: Send + 'static, T: Serialize + 'static>(
        &self,
        what: &'static str,
        request: R,
        answer: fn(R) -> Result<T, Status>,
    ) -> Result<String, Status> {
        let turn = self.reporter.turns.next().await?;
        turn.compute(what, move || json(what, &answer(request)?)).await
    }
}

impl Reporter {
    pub(crate) fn new(coordinator: ExperimentsClient<Channel>) -> Self {
        Self { coordinator, turns: Arc::new(Turns::new()) }
    }

    /// The coordinator's door.
    pub(crate) fn experiments(&self) -> ExperimentsClient<Channel> {
        self.coordinator.clone()
    }

    /// What `apply` makes of an experiment's rule.
    pub(crate) async fn compute_rule<T: Send + 'static>(
        &self,
        experiment: ExperimentId,
        apply: fn(&Study) -> Result<T, Status>,
    ) -> Result<T, Status> {
        let turn = self.turns.next().await?;
        let study = self.study(experiment).await?;
        turn.compute("the rule", move || apply(&study)).await
    }

    /// The report as JSON.
    pub(crate) async fn report(&self, asked: Asked) -> Result<String, Status> {
        // The turn is taken before the export: it is the values of the runs that fill the memory.
        let turn = self.turns.next().await?;
        let study = self.study(asked.experiment).await?;
        turn.compute("the report", move || report_of(&study, asked)).await
    }

    /// The statuses of an experiment, as the coordinator streams them.
    pub(crate) async fn statuses(
        &self,
        id: ExperimentId,
    ) -> Result<tonic::Streaming<v1::ExperimentStatus>, Status> {
        let request = v1::GetRequest { experiment: id.0.as_bytes().to_vec() };
        let statuses = self.coordinator.clone().watch(request).await;
        Ok(statuses.map_err(|status| from_coordinator(&status))?.into_inner())
    }

    async fn study(&self, id: ExperimentId) -> Result<Study, Status> {
        let request = v1::GetRequest { experiment: id.0.as_bytes().to_vec() };
        let export = self.coordinator.clone().export(request).await;
        let mut pieces = export.map_err(|status| from_coordinator(&status))?.into_inner();
        let mut intake = Intake::new(id);
        while let Some(piece) = pieces.message().await.map_err(|status| from_coordinator(&status))? {
            intake.take(piece)?;
        }
        Ok(intake.into_study()?)
    }
}

#[tonic::async_trait]
impl Analysis for AnalysisDoor {
    async fn report(
        &self,
        request: Request<v1::ReportRequest>,
    ) -> Result<Response<v1::ReportResponse>, Status> {
        let json = self.reporter.report(Asked::try_from(request.into_inner())?).await?;
        Ok(Response::new(v1::ReportResponse { json }))
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

impl TryFrom<v1::ReportRequest> for Asked {
    type Error = Status;

    fn try_from(request: v1::ReportRequest) -> Result<Self, Status> {
        let v1::ReportRequest { experiment, confidence, mixtures, figures } = request;
        let mixtures = if mixtures { Mixtures::Fitted } else { Mixtures::LeftOut };
        let figures = if figures { Figures::Drawn } else { Figures::LeftOut };
        Ok(Self {
            experiment: experiment_id(&experiment, "experiment")?,
            options: ReportOptions { confidence: level(confidence)?, mixtures, figures },
        })
    }
}

/// A confidence level that was given.
pub(crate) fn level(confidence: Option<f64>) -> Result<Option<ConfidenceLevel>, Status> {
    confidence.map(ConfidenceLevel::new).transpose().map_err(|error| invalid(&error))
}

/// What was asked for cannot be meant.
pub(crate) fn invalid(error: &dyn Hinted) -> Status {
    Status::invalid_argument(with_hint(with_causes(error), error.hint()))
}

/// The report of a study as JSON.
pub(crate) fn report_of(study: &Study, asked: Asked) -> Result<String, Status> {
    let report = study.report_with(asked.options);
    json("the report", &report.map_err(|error| Status::failed_precondition(error.to_string()))?)
}

fn json(what: &str, answer: &impl Serialize) -> Result<String, Status> {
    let json = serde_json::to_string(answer).map_err(|error| Status::internal(error.to_string()))?;
    let most = limits::MAX_ANSWER_BYTES - ENVELOPE_BYTES;
    if json.len() > most {
        let words = format!("{what} takes {} bytes, more than the {most} of an answer", json.len());
        return Err(Status::resource_exhausted(with_hint(
            words,
            Some("split the experiment, or analyse its export"),
        )));
    }
    Ok(json)
}

/// What the coordinator answered, said from here: its refusals pass, its absence is told.
pub(crate) fn from_coordinator(status: &Status) -> Status {
    match status.code() {
        Code::Unavailable | Code::Unknown => Status::unavailable(with_hint(
            format_args!("the analysis cannot reach the coordinator: {}", status.message()),
            Some("is it running?"),
        )),
        code => Status::new(code, status.message()),
    }
}
