//! The attempts of an experiment as the coordinator sends them: the plan first, then page after page, never all at once.

use std::collections::BTreeMap;

use anyhow::anyhow;
use speedup_core::experiment::{Experiment, Metric};
use speedup_core::machine::event::{AttemptEnd, EndedAttempt};
use speedup_core::plan::{Plan, Stage, Task};
use speedup_core::run::record::Outcome;
use speedup_core::value::id::{BenchmarkIndex, ExperimentId, RunIndex};
use speedup_proto::{convert::ExperimentStatus, convert::ExportPart, v1};
use tokio::sync::mpsc;
use tonic::Streaming;
use v1::export_chunk::Part;

use crate::{connection::Connection, connection::selector, exit::failure::Failure};

const TRIED: &str = "cannot read the attempts";
/// Pages that are read before they are wanted.
const PAGES_AHEAD: usize = 4;

/// The plan of an experiment, and its attempts to come.
#[derive(Debug)]
pub(crate) struct Attempts {
    /// How the experiment stood when it was asked for.
    pub(crate) status: ExperimentStatus,
    pub(crate) plan: Plan,
    /// The attempts as they come; they may be decoded on any thread.
    pub(crate) pages: mpsc::Receiver<Result<Page, Failure>>,
}

/// What a run measured.
#[derive(Debug)]
pub(crate) struct MeasuredRun {
    pub(crate) metrics: BTreeMap<Metric, u64>,
    /// The values of the plan's own metrics by their names.
    pub(crate) series: BTreeMap<String, Vec<f64>>,
}

/// The measured runs by the numbers of benchmark and version, in run order.
pub(crate) type MeasuredRuns = BTreeMap<(u32, u32), BTreeMap<RunIndex, MeasuredRun>>;

/// Attempts as they were sent.
#[derive(Debug)]
pub(crate) struct Page(v1::ExportChunk);

impl Page {
    pub(crate) fn read(self) -> Result<impl Iterator<Item = Result<EndedAttempt, Failure>>, Failure> {
        match part(self.0)? {
            ExportPart::Attempts(attempts) => {
                Ok(attempts.read().map(|attempt| attempt.map_err(|error| Failure::malformed(TRIED, error))))
            }
            ExportPart::Head { .. } | ExportPart::Order(_) => Err(out_of_order()),
        }
    }
}

impl Attempts {
    pub(crate) async fn open(connection: &Connection, experiment: ExperimentId) -> Result<Self, Failure> {
        Self::requested(connection, selector::export(experiment, false)).await
    }

    /// The same, with what the other hosts of gangs reported after what the first did.
    pub(crate) async fn open_with_all_hosts(
        connection: &Connection,
        experiment: ExperimentId,
    ) -> Result<Self, Failure> {
        Self::requested(connection, selector::export(experiment, true)).await
    }

    async fn requested(connection: &Connection, request: v1::ExportRequest) -> Result<Self, Failure> {
        let answer = connection.experiments().export(request).await;
        let mut stream = answer.map_err(|status| Failure::status(TRIED, &status))?.into_inner();
        let head = receive(&mut stream).await?.map(part).transpose()?;
        let (status, experiment, benchmarks, stages) = match head {
            Some(ExportPart::Head { status, experiment, benchmarks, stages, exclusions: _ }) => {
                (*status, *experiment, benchmarks, stages)
            }
            Some(ExportPart::Order(_) | ExportPart::Attempts(_)) | None => return Err(out_of_order()),
        };
        let mut order = Vec::new();
        let first = loop {
            match receive(&mut stream).await? {
                Some(chunk) if has_attempts(&chunk) => break Some(Page(chunk)),
                Some(chunk) => match part(chunk)? {
                    ExportPart::Order(piece) => order.extend(piece),
                    ExportPart::Head { .. } | ExportPart::Attempts(_) => return Err(out_of_order()),
                },
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
        let page = self.pages.recv().await.transpose()?;
        page.map(|page| page.read()?.collect()).transpose()
    }

    /// All runs that were measured, of the attempts that are left.
    pub(crate) async fn measured(&mut self) -> Result<MeasuredRuns, Failure> {
        let mut measured = MeasuredRuns::new();
        while let Some(page) = self.page().await? {
            for EndedAttempt { lease, end, .. } in page {
                let AttemptEnd::Reported(record) = end else { continue };
                let Task::Run(cell) = self.plan.task(lease.run) else { continue };
                if record.outcome == Outcome::Measured {
                    let run = MeasuredRun { metrics: record.metrics.clone(), series: record.series.clone() };
                    measured.entry((cell.benchmark.0, cell.version.0)).or_default().insert(lease.run, run);
                }
            }
        }
        Ok(measured)
    }
}

/// Reads pages while others are written, until the last, a failure, or nobody wants them.
async fn read_ahead(
    first: Option<Page>,
    mut stream: Streaming<v1::ExportChunk>,
    pages: mpsc::Sender<Result<Page, Failure>>,
) {
    let mut next = first.map(Ok);
    while let Some(page) = next.take() {
        let failed = page.is_err();
        if pages.send(page).await.is_err() || failed {
            return;
        }
        next = receive(&mut stream).await.transpose().map(|chunk| chunk.map(Page));
    }
}

async fn receive(stream: &mut Streaming<v1::ExportChunk>) -> Result<Option<v1::ExportChunk>, Failure> {
    stream.message().await.map_err(|status| Failure::status(TRIED, &status))
}

fn has_attempts(chunk: &v1::ExportChunk) -> bool {
    matches!(chunk.part, Some(Part::Attempts(_)))
}

fn part(chunk: v1::ExportChunk) -> Result<ExportPart, Failure> {
    ExportPart::try_from(chunk).map_err(|error| Failure::malformed(TRIED, error))
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
