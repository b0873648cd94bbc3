//! The door against a coordinator that only exports.

#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

use speedup_analysis::study::{Report, State, Verdict};
use speedup_core::event::{AttemptEnd, EndedAttempt, Tally};
use speedup_core::experiment::Metric;
use speedup_core::id::{AgentEpoch, Attempt, ExperimentId, LeaseEpoch, RunIndex};
use speedup_core::lease::{Evidence, Lease};
use speedup_core::plan::Plan;
use speedup_core::plan_file;
use speedup_core::record::{Outcome, Record};
use speedup_core::seed::Seed;
use speedup_core::time::Timestamp;
use speedup_proto::convert::{ExperimentStatus, ExportPart, StatusPhase, experiment_id, id_bytes};
use speedup_proto::v1;
use speedup_proto::v1::analysis_client::AnalysisClient;
use speedup_proto::v1::experiments_server::{Experiments, ExperimentsServer};
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Code, Request, Response, Status};

/// A coordinator that only exports.
struct Exporter {
    pieces: Vec<v1::ExportChunk>,
}

type Answer<T> = Result<Response<T>, Status>;
type Pieces = tokio_stream::Iter<std::vec::IntoIter<Result<v1::ExportChunk, Status>>>;

macro_rules! not_asked {
    ($($method:ident($request:ident) -> $answer:ident;)*) => {
        #[tonic::async_trait]
        impl Experiments for Exporter {
            $(async fn $method(&self, _: Request<v1::$request>) -> Answer<v1::$answer> {
                Err(Status::unimplemented("only exports"))
            })*

            type WatchStream = tokio_stream::Empty<Result<v1::ExperimentStatus, Status>>;

            async fn watch(&self, _: Request<v1::GetRequest>) -> Answer<Self::WatchStream> {
                Err(Status::unimplemented("only exports"))
            }

            type ExportStream = Pieces;

            async fn export(&self, request: Request<v1::GetRequest>) -> Answer<Pieces> {
                let id = experiment_id(&request.into_inner().experiment, "experiment")?;
                if id != experiment() {
                    return Err(Status::not_found(format!("there is no experiment {id}")));
                }
                let pieces: Vec<_> = self.pieces.iter().cloned().map(Ok).collect();
                Ok(Response::new(tokio_stream::iter(pieces)))
            }
        }
    };
}

not_asked! {
    submit(SubmitRequest) -> SubmitResponse;
    check(CheckRequest) -> CheckResponse;
    list(ListRequest) -> ListResponse;
    get(GetRequest) -> ExperimentStatus;
    pause(ChangeRequest) -> ExperimentStatus;
    resume(ChangeRequest) -> ExperimentStatus;
    cancel(ChangeRequest) -> ExperimentStatus;
    extend(ExtendRequest) -> ExperimentStatus;
    explain(ExplainRequest) -> Explanation;
}

fn experiment() -> ExperimentId {
    "00000000-0000-7000-8000-00000000002a".parse().unwrap()
}

fn plan() -> Plan {
    let text = "
        [experiment]
        name = \"door\"
        [versions.old]
        baseline = true
        vars = { v = \"1\" }
        [versions.new]
        vars = { v = \"2\" }
        [benchmarks.sort]
        command = [\"sort\", \"{v}\"]
        [repetitions]
        runs = 20";
    Plan::draw(plan_file::parse(text, Seed(1)).unwrap())
}

fn attempt(plan: &Plan, run: u32) -> EndedAttempt {
    let cell = plan.cell_number(RunIndex(run));
    let wall_ns = 100_000_000 - u64::from(cell) * 20_000_000 + u64::from(run * run % 97) * 10_000;
    let evidence = Evidence {
        boot: "boot".parse().unwrap(),
        allocation: None,
        served_in_scope: 0,
        served_in_all: 0,
        previous: None,
    };
    let lease = Lease {
        epoch: LeaseEpoch(u64::from(run)),
        experiment: experiment(),
        run: RunIndex(run),
        attempt: Attempt(1),
        host: format!("host-{run}").parse().unwrap(),
        agent_epoch: AgentEpoch(1),
        granted: Timestamp(1),
        deadline: Timestamp(3),
        started: None,
        evidence,
    };
    let record = Record { metrics: [(Metric::Wall, wall_ns)].into(), ..Record::bare(Outcome::Measured) };
    EndedAttempt { lease, cell, ended: Timestamp(2), end: AttemptEnd::Reported(record) }
}

fn pieces() -> Vec<v1::ExportChunk> {
    let plan = plan();
    let status = ExperimentStatus {
        experiment: experiment(),
        name: "door".to_owned(),
        submitted: Timestamp(1),
        submitted_by: "tester".to_owned(),
        phase: StatusPhase::Finished { at: Timestamp(9), cancelled: false },
        tally: Tally { measured: plan.runs(), ..Tally::default() },
        cells: plan.cells(),
        hosts_here: 0,
    };
    let attempts: Vec<_> = (0..plan.runs()).map(|run| attempt(&plan, run)).collect();
    let (early, later) = attempts.split_at(13);
    let (first, second) = plan.order().split_at(7);
    let parts = [
        ExportPart::Head {
            status,
            experiment: Box::new(plan.experiment.clone()),
            benchmarks: plan.benchmarks.clone(),
        },
        ExportPart::Order(first.to_vec()),
        ExportPart::Order(second.to_vec()),
        ExportPart::Attempts(early.to_vec()),
        ExportPart::Attempts(later.to_vec()),
    ];
    parts.iter().map(Into::into).collect()
}

/// Serves a coordinator with these pieces and the analysis beside it; the answer to one request.
async fn ask(pieces: Vec<v1::ExportChunk>, request: v1::ReportRequest) -> Result<Report, Status> {
    let incoming = TcpIncoming::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = incoming.local_addr().unwrap();
    let exporter = Routes::new(ExperimentsServer::new(Exporter { pieces }));
    let routes = speedup_analysis_service::routes(address, exporter);
    let server = tokio::spawn(Server::builder().add_routes(routes).serve_with_incoming(incoming));
    let mut client = AnalysisClient::connect(format!("http://{address}")).await.unwrap();
    let answer = client.report(request).await;
    server.abort();
    answer.map(|answer| serde_json::from_str(&answer.into_inner().json).unwrap())
}

fn request(confidence: Option<f64>) -> v1::ReportRequest {
    v1::ReportRequest { experiment: id_bytes(experiment().0), confidence }
}

#[tokio::test]
async fn an_export_becomes_a_report() {
    let report = ask(pieces(), request(None)).await.unwrap();
    assert_eq!((report.head.state, report.head.measured_runs), (State::Complete, 40));
    assert_eq!((report.head.confidence, report.suites[0].verdict), (0.95, Verdict::Faster));
    let other = ask(pieces(), request(Some(0.999))).await.unwrap();
    assert_eq!(other.head.confidence, 0.999);
}

#[tokio::test]
async fn what_cannot_be_asked_is_refused() {
    let refused = async |request| ask(pieces(), request).await.unwrap_err();
    let level = refused(request(Some(95.0))).await;
    assert_eq!(level.code(), Code::InvalidArgument);
    assert!(level.message().contains("0.95"), "{level}");
    let malformed = v1::ReportRequest { experiment: vec![1, 2], confidence: None };
    assert_eq!(refused(malformed).await.code(), Code::InvalidArgument);
    let unknown = v1::ReportRequest { experiment: vec![7; 16], confidence: None };
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
    let nobody = "127.0.0.1:1".parse().unwrap();
    let routes = speedup_analysis_service::routes(nobody, Routes::builder().routes());
    let server = tokio::spawn(Server::builder().add_routes(routes).serve_with_incoming(incoming));
    let mut client = AnalysisClient::connect(format!("http://{address}")).await.unwrap();
    let error = client.report(request(None)).await.unwrap_err();
    server.abort();
    assert_eq!(error.code(), Code::Unavailable);
    assert!(error.message().contains("cannot reach the coordinator"), "{error}");
}
