//! Reports of what a coordinator exports.

use speedup_analysis::conclusion::{ReasonCode, Verdict};
use speedup_analysis::study::{MixtureReport, Report, State};
use speedup_proto::{convert::id_text, v1, v1::analysis_client::AnalysisClient, v1::report_request::Form};
use tonic::{Code, Status, service::Routes, transport::Server, transport::server::TcpIncoming};

use crate::coordinator::{experiment, pieces, serve};

/// The answer to one request.
async fn ask(pieces: Vec<v1::ExportChunk>, request: v1::ReportRequest) -> Result<Report, Status> {
    let mut served = serve(pieces, None).await;
    let answer = served.client.report(request).await;
    answer.map(|answer| serde_json::from_str(&answer.into_inner().json).unwrap())
}

fn request(confidence: Option<f64>) -> v1::ReportRequest {
    v1::ReportRequest { experiment: id_text(experiment().0), confidence, ..Default::default() }
}

#[tokio::test]
async fn an_export_becomes_a_report() {
    let report = ask(pieces(), request(None)).await.unwrap();
    assert_eq!((report.head.state, report.head.measured_runs), (State::Complete, 40));
    assert_eq!((report.head.confidence, report.suites[0].verdict), (0.95, Verdict::Faster));
    let other = ask(pieces(), request(Some(0.999))).await.unwrap();
    assert_eq!(other.head.confidence, 0.999);
    assert_eq!(other.benchmarks[0].cells[0].mixture, None);
}

#[tokio::test]
async fn a_report_comes_as_people_read_it() {
    let mut served = serve(pieces(), None).await;
    let mut text = async |form: Form| {
        let asked = v1::ReportRequest { form: form.into(), figures: true, ..request(None) };
        let answer = served.client.report(asked).await.unwrap().into_inner();
        assert_eq!(answer.json, "");
        answer.text
    };
    let html = text(Form::Html).await;
    assert!(html.starts_with("<!DOCTYPE html>") && html.contains("<svg") && !html.contains("<script"));
    let markdown = text(Form::Markdown).await;
    assert!(markdown.contains("| sort |") && !markdown.contains("<svg"), "{markdown}");
    let unknown = v1::ReportRequest { form: 99, ..request(None) };
    assert_eq!(ask(pieces(), unknown).await.unwrap_err().code(), Code::InvalidArgument);
}

#[tokio::test]
async fn mixtures_are_fitted_on_request() {
    let asked = v1::ReportRequest { mixtures: true, ..request(None) };
    let report = ask(pieces(), asked).await.unwrap();
    // Samples of 20 runs have none, and say so.
    let mixture = report.benchmarks[0].cells[0].mixture.as_ref();
    assert!(
        matches!(mixture, Some(MixtureReport::NotFitted { reason }) if reason.code == ReasonCode::TooFewRuns)
    );
}

#[tokio::test]
async fn what_cannot_be_asked_is_refused() {
    let refused = async |request| ask(pieces(), request).await.unwrap_err();
    let level = refused(request(Some(95.0))).await;
    assert_eq!(level.code(), Code::InvalidArgument);
    assert!(level.message().contains("0.95"), "{level}");
    let malformed = v1::ReportRequest { experiment: "last".to_owned(), ..Default::default() };
    assert_eq!(refused(malformed).await.code(), Code::InvalidArgument);
    let unknown = v1::ReportRequest {
        experiment: "07070707-0707-0707-0707-070707070707".to_owned(),
        ..Default::default()
    };
    assert_eq!(refused(unknown).await.code(), Code::NotFound);
}

#[tokio::test]
async fn a_broken_export_is_told_from_a_wrong_request() {
    let mut headless = pieces();
    headless.remove(0);
    assert_eq!(ask(headless, request(None)).await.unwrap_err().code(), Code::DataLoss);
    let mut twice = pieces();
    let last = twice.last().cloned();
    twice.extend(last);
    let error = ask(twice, request(None)).await.unwrap_err();
    assert!(error.message().contains("reported twice"), "{error}");
    let empty = ask(pieces()[..1].to_vec(), request(None)).await.unwrap();
    assert_eq!(empty.head.state, State::Empty);
}

#[tokio::test]
async fn an_absent_coordinator_is_told() {
    let incoming = TcpIncoming::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = incoming.local_addr().unwrap();
    let nobody = tonic::transport::Endpoint::from_static("http://127.0.0.1:1").connect_lazy();
    let routes = speedup_analysis_service::routes(nobody, Routes::builder().routes());
    let server = tokio::spawn(Server::builder().add_routes(routes).serve_with_incoming(incoming));
    let mut client = AnalysisClient::connect(format!("http://{address}")).await.unwrap();
    let error = client.report(request(None)).await.unwrap_err();
    server.abort();
    assert_eq!(error.code(), Code::Unavailable);
    assert!(error.message().contains("coordinator"), "{error}");
}
