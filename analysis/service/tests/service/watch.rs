//! Reports as observations arrive.

use speedup_analysis::study::{Report, State};
use speedup_core::value::time::Timestamp;
use speedup_proto::{convert::StatusPhase, convert::id_text, v1};
use tokio::sync::mpsc;
use tonic::{Code, Streaming};

use crate::coordinator::{Served, experiment, pieces, serve, status};

fn request() -> v1::ReportRequest {
    v1::ReportRequest { experiment: id_text(experiment().0), ..Default::default() }
}

const FINISHED: StatusPhase = StatusPhase::Finished { at: Timestamp(9), cancelled: false };

async fn watched(
    statuses: usize,
) -> (Served, Streaming<v1::ReportResponse>, mpsc::Sender<Result<v1::ExperimentStatus, tonic::Status>>) {
    let (sender, receiver) = mpsc::channel(statuses);
    let mut served = serve(pieces(), Some(receiver)).await;
    sender.send(Ok((&status(StatusPhase::Running, 1)).into())).await.unwrap();
    let reports = served.client.watch(request()).await.unwrap().into_inner();
    (served, reports, sender)
}

fn report(answer: Option<v1::ReportResponse>) -> Report {
    serde_json::from_str(&answer.unwrap().json).unwrap()
}

#[tokio::test]
async fn a_report_comes_at_once_and_the_last_when_the_experiment_is_finished() {
    let (_served, mut reports, statuses) = watched(64).await;
    assert_eq!(report(reports.message().await.unwrap()).head.measured_runs, 40);
    // Many statuses between two reports make one report: the last one alone is certain to have its own.
    for measured in 2..40 {
        statuses.send(Ok((&status(StatusPhase::Running, measured)).into())).await.unwrap();
    }
    statuses.send(Ok((&status(FINISHED, 40)).into())).await.unwrap();
    let mut further = 0;
    while let Some(answer) = reports.message().await.unwrap() {
        assert_eq!(report(Some(answer)).head.state, State::Complete);
        further += 1;
    }
    assert!((1..=2).contains(&further), "{further}");
}

#[tokio::test]
async fn what_changes_nothing_makes_no_report() {
    let (_served, mut reports, statuses) = watched(8).await;
    report(reports.message().await.unwrap());
    // A host that came is no observation; the end is.
    let mut arrived = status(StatusPhase::Running, 1);
    arrived.hosts_here = 7;
    statuses.send(Ok((&arrived).into())).await.unwrap();
    statuses.send(Ok((&status(FINISHED, 1)).into())).await.unwrap();
    report(reports.message().await.unwrap());
    assert!(reports.message().await.unwrap().is_none());
}

#[tokio::test]
async fn a_coordinator_that_goes_is_told_and_a_watcher_that_goes_lets_go_of_it() {
    let (_served, mut reports, statuses) = watched(8).await;
    report(reports.message().await.unwrap());
    drop(statuses);
    let gone = reports.message().await.unwrap_err();
    assert_eq!(gone.code(), Code::Unavailable, "{gone}");
    let (_served, reports, statuses) = watched(8).await;
    drop(reports);
    // The other end is dropped when the coordinator's stream is.
    statuses.closed().await;
}

#[tokio::test]
async fn an_experiment_that_is_not_there_is_not_watched() {
    let mut served = serve(pieces(), None).await;
    let error = served.client.watch(request()).await.unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    let malformed = v1::ReportRequest { experiment: "1".to_owned(), ..request() };
    assert_eq!(served.client.watch(malformed).await.unwrap_err().code(), Code::InvalidArgument);
}
