//! The door: one request, one report.

use speedup_analysis::ConfidenceLevel;
use speedup_analysis::study::Study;
use speedup_core::id::ExperimentId;
use speedup_proto::convert::experiment_id;
use speedup_proto::v1::analysis_server::Analysis;
use speedup_proto::v1::experiments_client::ExperimentsClient;
use speedup_proto::{limits, v1};
use tokio::sync::Semaphore;
use tonic::transport::Channel;
use tonic::{Code, Request, Response, Status};

use crate::intake::Intake;

/// Reports made at once: each may hold the values of millions of runs; the others wait.
const REPORTS_AT_ONCE: usize = 2;
/// What the answer around the JSON takes.
const ENVELOPE_BYTES: usize = 1 << 10;

/// The door to the analysis.
pub(crate) struct AnalysisDoor {
    coordinator: ExperimentsClient<Channel>,
    turns: Semaphore,
}

impl AnalysisDoor {
    pub(crate) fn new(coordinator: ExperimentsClient<Channel>) -> Self {
        Self { coordinator, turns: Semaphore::new(REPORTS_AT_ONCE) }
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
        let v1::ReportRequest { experiment, confidence } = request.into_inner();
        let id = experiment_id(&experiment, "experiment")?;
        let level = confidence.map(ConfidenceLevel::new).transpose();
        let level = level.map_err(|error| Status::invalid_argument(error.to_string()))?;
        let turn = self.turns.acquire().await;
        let _turn = turn.map_err(|_| Status::unavailable("the analysis is stopping"))?;
        let study = self.study(id).await?;
        let made = tokio::task::spawn_blocking(move || json(&study, level)).await;
        let json = made.map_err(|error| {
            tracing::error!(experiment = %id, %error, "a report failed: this is a bug");
            Status::internal("the report failed; the log of the analysis says why")
        })??;
        Ok(Response::new(v1::ReportResponse { json }))
    }
}

fn json(study: &Study, level: Option<ConfidenceLevel>) -> Result<String, Status> {
    let report = study.report(level).map_err(|error| Status::failed_precondition(error.to_string()))?;
    let json = serde_json::to_string(&report).map_err(|error| Status::internal(error.to_string()))?;
    let most = limits::MAX_ANSWER_BYTES - ENVELOPE_BYTES;
    if json.len() > most {
        return Err(Status::resource_exhausted(format!(
            "the report takes {} bytes, more than the {most} of an answer\nhint: split the experiment, or \
             analyse its export",
            json.len()
        )));
    }
    Ok(json)
}

/// What the coordinator answered, said from here: its refusals pass, its absence is told.
fn from_coordinator(status: &Status) -> Status {
    match status.code() {
        Code::Unavailable | Code::Unknown => Status::unavailable(format!(
            "the analysis cannot reach the coordinator: {}\nhint: is it running?",
            status.message()
        )),
        code => Status::new(code, status.message()),
    }
}
