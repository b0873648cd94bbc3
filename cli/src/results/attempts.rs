//! The attempts of an experiment as the coordinator sends them: the plan first, then page after page, never all at once.

use anyhow::anyhow;
use speedup_core::experiment::Experiment;
use speedup_core::machine::event::EndedAttempt;
use speedup_core::plan::{Plan, Stage};
use speedup_core::value::id::{BenchmarkIndex, ExperimentId};
use speedup_proto::convert::{ExperimentStatus, ExportPart};
use speedup_proto::v1;
use tokio::sync::mpsc;
use tonic::Streaming;

use crate::connection::Connection;
use crate::connection::selector;
use crate::exit::failure::Failure;

const TRIED: &str = "cannot read the attempts";
/// Pages that are decoded before they are wanted.
const PAGES_AHEAD: usize = 2;

/// The plan of an experiment, and its attempts to come.
#[derive(Debug)]
pub(crate) struct Attempts {
    /// How the experiment stood when it was asked for.
    pub(crate) status: ExperimentStatus,
    /// Every planned run.
    pub(crate) plan: Plan,
    pages: mpsc::Receiver<Result<Vec<EndedAttempt>, Failure>>,
}

impl Attempts {
    /// Asks for the attempts of one experiment.
    pub(crate) async fn open(connection: &Connection, experiment: ExperimentId) -> Result<Self, Failure> {
        let answer = connection.experiments().export(selector::export(experiment)).await;
        let mut stream = answer.map_err(|status| Failure::status(TRIED, &status))?.into_inner();
        let (status, experiment, benchmarks, stages) = match receive(&mut stream).await? {
            Some(ExportPart::Head { status, experiment, benchmarks, stages, exclusions: _ }) => {
                (*status, *experiment, benchmarks, stages)
            }
            Some(ExportPart::Order(_) | ExportPart::Attempts(_)) | None => return Err(out_of_order()),
        };
        let mut order = Vec::new();
        let first = loop {
            match receive(&mut stream).await? {
                Some(ExportPart::Order(piece)) => order.extend(piece),
                Some(ExportPart::Attempts(page)) => break Some(page),
                Some(ExportPart::Head { .. }) => return Err(out_of_order()),
                None => break None,
            }
        };
        let plan = restored(experiment, benchmarks, order, &stages)?;
        let (sender, pages) = mpsc::channel(PAGES_AHEAD);
        tokio::spawn(read_ahead(first, stream, sender));
        Ok(Self { status, plan, pages })
    }

    /// The next page; nothing after the last.
    pub(crate) async fn page(&mut self) -> Result<Option<Vec<EndedAttempt>>, Failure> {
        self.pages.recv().await.transpose()
    }
}

/// Decodes pages while others are written, until the last, a failure, or nobody wants them.
async fn read_ahead(
    first: Option<Vec<EndedAttempt>>,
    mut stream: Streaming<v1::ExportChunk>,
    pages: mpsc::Sender<Result<Vec<EndedAttempt>, Failure>>,
) {
    let mut next = first.map(Ok);
    while let Some(page) = next.take() {
        let failed = page.is_err();
        if pages.send(page).await.is_err() || failed {
            return;
        }
        next = match receive(&mut stream).await {
            Ok(Some(ExportPart::Attempts(page))) => Some(Ok(page)),
            Ok(Some(ExportPart::Head { .. } | ExportPart::Order(_))) => Some(Err(out_of_order())),
            Ok(None) => None,
            Err(failure) => Some(Err(failure)),
        };
    }
}

async fn receive(stream: &mut Streaming<v1::ExportChunk>) -> Result<Option<ExportPart>, Failure> {
    let chunk = stream.message().await.map_err(|status| Failure::status(TRIED, &status))?;
    let part = chunk.map(ExportPart::try_from).transpose();
    part.map_err(|error| Failure::malformed(TRIED, error))
}

fn restored(
    experiment: Experiment,
    benchmarks: Vec<BenchmarkIndex>,
    order: Vec<u32>,
    stages: &[Stage],
) -> Result<Plan, Failure> {
    Plan::restore(experiment, benchmarks, order, stages)
        .map_err(|error| Failure::infrastructure(error).context(TRIED))
}

fn out_of_order() -> Failure {
    Failure::infrastructure(anyhow!("the coordinator sent the parts in the wrong order"))
        .context(TRIED)
        .hint("the coordinator is of another release; use the same release of speedup everywhere")
}
