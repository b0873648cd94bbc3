//! Reports as observations arrive.
//!
//! The coordinator streams the statuses of the experiment; a report is made when one of them says that runs ended since
//! the last report. Nothing is asked in between.

use std::time::{Duration, Instant};

use speedup_access::Identity;
use speedup_core::value::hint::with_hint;
use speedup_proto::v1;
use tokio::sync::mpsc::Sender;
use tonic::{Status, Streaming};

use crate::{from_coordinator, reporter::ReportQuestion, reporter::Reporter};

/// The shortest time from one report to the next: nobody reads faster.
const PAUSE: Duration = Duration::from_secs(2);
/// The pause is at least so many times what the last report took, so that watching takes half of a processor at most.
const REST: u32 = 1;

/// What a report depends on.
#[derive(Clone, Debug, PartialEq)]
struct Evidence {
    ended: [u32; 5],
    phase: Option<v1::experiment_status::Phase>,
}

impl Evidence {
    fn from_status(status: &v1::ExperimentStatus) -> Self {
        let tally = status.tally.unwrap_or_default();
        Self {
            ended: [tally.measured, tally.failed, tally.abandoned, tally.cancelled, tally.lost_attempts],
            phase: status.phase.clone(),
        }
    }

    fn is_final(&self) -> bool {
        matches!(self.phase, Some(v1::experiment_status::Phase::Finished(_)))
    }
}

type Reports = Sender<Result<v1::ReportResponse, Status>>;

/// Sends a report now and after changes, until the experiment is finished or nobody listens.
pub(crate) async fn watch(
    reporter: &Reporter,
    asked: ReportQuestion,
    who: Option<&Identity>,
    statuses: Streaming<v1::ExperimentStatus>,
    reports: &Reports,
) {
    tokio::select! {
        () = reports.closed() => {}
        told = tell(reporter, asked, who, statuses, reports) => if let Err(status) = told {
            // An error that nobody hears is nobody's.
            let _ = reports.send(Err(status)).await;
        }
    }
}

async fn tell(
    reporter: &Reporter,
    asked: ReportQuestion,
    who: Option<&Identity>,
    mut statuses: Streaming<v1::ExperimentStatus>,
    reports: &Reports,
) -> Result<(), Status> {
    let mut evidence = next(&mut statuses).await?;
    loop {
        let begun = Instant::now();
        let report = reporter.report(asked, who).await?;
        if reports.send(Ok(report)).await.is_err() || evidence.is_final() {
            return Ok(());
        }
        evidence = changed(&mut statuses, &evidence, PAUSE.max(begun.elapsed() * REST)).await?;
    }
}

/// The evidence when it is another than what was told and the pause is over; at once when it is the last.
async fn changed(
    statuses: &mut Streaming<v1::ExperimentStatus>,
    told: &Evidence,
    pause: Duration,
) -> Result<Evidence, Status> {
    let mut latest = told.clone();
    let rest = tokio::time::sleep(pause);
    tokio::pin!(rest);
    let mut rested = false;
    while !(latest.is_final() || rested && latest != *told) {
        tokio::select! {
            evidence = next(statuses) => latest = evidence?,
            () = &mut rest, if !rested => rested = true,
        }
    }
    Ok(latest)
}

async fn next(statuses: &mut Streaming<v1::ExperimentStatus>) -> Result<Evidence, Status> {
    match statuses.message().await {
        Ok(Some(status)) => Ok(Evidence::from_status(&status)),
        Ok(None) => Err(Status::unavailable(with_hint(
            "the coordinator stopped before the experiment was finished",
            Some("watch again when it is back"),
        ))),
        Err(status) => Err(from_coordinator(&status)),
    }
}
