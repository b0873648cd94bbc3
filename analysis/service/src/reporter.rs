//! Reports of what the coordinator has, as JSON or as people read them.

use std::sync::Arc;

use serde::Serialize;
use speedup_access::Identity;
use speedup_analysis::study::{Figures, Mixtures, ReportOptions, Study};
use speedup_core::{value::hint::with_hint, value::id::ExperimentId};
use speedup_proto::v1::{experiments_client::ExperimentsClient, report_request::Form};
use speedup_proto::{convert::experiment_named, convert::id_text, limits, v1};
use speedup_report::{Document, html, markdown};
use tokio::{sync::mpsc, task::spawn_blocking};
use tonic::{Status, transport::Channel};

use crate::{
    from_coordinator, intake::Intake, level, limiter::ComputePermit, limiter::ConcurrencyLimiter, threshold,
};

/// Pieces of an export that come while those before them are taken in.
const PIECES_AHEAD: usize = 3;
/// What the answer around the JSON takes.
const ENVELOPE_BYTES: usize = 1 << 10;

/// Makes reports of what the coordinator has.
#[derive(Clone)]
pub(crate) struct Reporter {
    coordinator: ExperimentsClient<Channel>,
    limiter: Arc<ConcurrencyLimiter>,
}

/// What is asked of a report.
#[derive(Clone, Copy)]
pub(crate) struct ReportQuestion {
    pub(crate) experiment: ExperimentId,
    options: ReportOptions,
    form: Form,
}

impl Reporter {
    pub(crate) fn new(coordinator: ExperimentsClient<Channel>) -> Self {
        Self { coordinator, limiter: Arc::new(ConcurrencyLimiter::new()) }
    }

    pub(crate) fn experiments(&self) -> ExperimentsClient<Channel> {
        self.coordinator.clone()
    }

    /// The next turn at computing.
    pub(crate) async fn turn(&self, who: Option<&Identity>) -> Result<ComputePermit, Status> {
        self.limiter.next(who).await
    }

    /// What `apply` makes of an experiment's rule.
    pub(crate) async fn compute_rule<T: Send + 'static>(
        &self,
        experiment: ExperimentId,
        apply: fn(&Study) -> Result<T, Status>,
    ) -> Result<T, Status> {
        let turn = self.turn(None).await?;
        let study = self.study(experiment).await?;
        turn.compute("the rule", move || apply(&study)).await
    }

    pub(crate) async fn report(
        &self,
        asked: ReportQuestion,
        who: Option<&Identity>,
    ) -> Result<v1::ReportResponse, Status> {
        // The turn is taken before the export: it is the values of the runs that fill the memory.
        let turn = self.turn(who).await?;
        let study = self.study(asked.experiment).await?;
        turn.compute("the report", move || report_of(&study, asked)).await
    }

    /// The statuses of an experiment, as the coordinator streams them.
    pub(crate) async fn statuses(
        &self,
        id: ExperimentId,
    ) -> Result<tonic::Streaming<v1::ExperimentStatus>, Status> {
        let request = v1::GetRequest { experiment: id_text(id.0) };
        let statuses = self.coordinator.clone().watch(request).await;
        Ok(statuses.map_err(|status| from_coordinator(&status))?.into_inner())
    }

    /// The export of an experiment, as the coordinator streams it.
    pub(crate) async fn export(&self, id: ExperimentId) -> Result<tonic::Streaming<v1::ExportChunk>, Status> {
        let request = v1::ExportRequest { experiment: id_text(id.0), cursor: String::new(), all_hosts: true };
        let export = self.coordinator.clone().export(request).await;
        Ok(export.map_err(|status| from_coordinator(&status))?.into_inner())
    }

    /// The study of an export. Its pieces come here while those before them are taken in on a thread of its own.
    async fn study(&self, id: ExperimentId) -> Result<Study, Status> {
        let mut export = self.export(id).await?;
        let (pieces, mut taken) = mpsc::channel(PIECES_AHEAD);
        let intake = spawn_blocking(move || {
            let mut intake = Intake::new(id);
            while let Some(piece) = taken.blocking_recv() {
                intake.take(piece)?;
            }
            intake.into_study()
        });
        while let Some(piece) = export.message().await.map_err(|status| from_coordinator(&status))? {
            if pieces.send(piece).await.is_err() {
                // It says itself why it takes no more.
                break;
            }
        }
        drop(pieces);
        Ok(intake.await.map_err(|error| Status::internal(error.to_string()))??)
    }
}

impl TryFrom<v1::ReportRequest> for ReportQuestion {
    type Error = Status;

    fn try_from(request: v1::ReportRequest) -> Result<Self, Status> {
        let v1::ReportRequest { experiment, confidence, mixtures, figures, form, noise_threshold } = request;
        let form = Form::try_from(form).map_err(|_| {
            Status::invalid_argument(with_hint(
                format_args!("form: there is no form {form}"),
                Some("use a client of the coordinator's release"),
            ))
        })?;
        let mixtures = if mixtures { Mixtures::Fitted } else { Mixtures::LeftOut };
        let figures = if figures { Figures::Drawn } else { Figures::LeftOut };
        Ok(Self {
            experiment: experiment_named(&experiment, "experiment")?,
            options: ReportOptions {
                confidence: level(confidence)?,
                noise: threshold(noise_threshold)?,
                mixtures,
                figures,
            },
            form,
        })
    }
}

pub(crate) fn report_of(study: &Study, asked: ReportQuestion) -> Result<v1::ReportResponse, Status> {
    const WHAT: &str = "the report";
    let report = study.report_with(asked.options);
    let report = report.map_err(|error| Status::failed_precondition(error.to_string()))?;
    let (json, text) = match asked.form {
        Form::Unspecified | Form::Json => (json(WHAT, &report)?, String::new()),
        Form::Html => (String::new(), bounded(WHAT, html::page(&Document::full(&report)))?),
        Form::Markdown => (String::new(), bounded(WHAT, markdown::text(&Document::full(&report)))?),
    };
    Ok(v1::ReportResponse { json, text })
}

pub(crate) fn json(what: &str, answer: &impl Serialize) -> Result<String, Status> {
    bounded(what, serde_json::to_string(answer).map_err(|error| Status::internal(error.to_string()))?)
}

/// An answer, unless it is too large for one.
fn bounded(what: &str, answer: String) -> Result<String, Status> {
    let most = limits::MAX_ANSWER_BYTES - ENVELOPE_BYTES;
    if answer.len() > most {
        let words = format!("{what} takes {} bytes, more than the {most} of an answer", answer.len());
        return Err(Status::resource_exhausted(with_hint(
            words,
            Some("split the experiment, or analyse its export"),
        )));
    }
    Ok(answer)
}

/// The JSON that `Analysis.Report` answers to `request` where the coordinator's export is `pieces`.
///
/// # Errors
/// The status that the door answers: for a request that cannot be meant, and for an export that is none.
pub fn recompute(
    request: v1::ReportRequest,
    pieces: impl IntoIterator<Item = v1::ExportChunk>,
) -> Result<String, Status> {
    let asked = ReportQuestion::try_from(request)?;
    let mut intake = Intake::new(asked.experiment);
    for piece in pieces {
        intake.take(piece)?;
    }
    Ok(report_of(&intake.into_study()?, asked)?.json)
}
