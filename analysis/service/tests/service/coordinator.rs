//! A coordinator that exports what it is given, and streams the statuses it is given.

use std::sync::Arc;

use speedup_core::machine::event::{AttemptEnd, EndedAttempt, Tally};
use speedup_core::run::{lease::Evidence, lease::Lease, record::Outcome, record::Record};
use speedup_core::value::id::{AgentEpoch, Attempt, ExperimentId, LeaseEpoch, RunIndex};
use speedup_core::value::{seed::Seed, time::Timestamp};
use speedup_core::{experiment::Metric, plan, plan::Plan};
use speedup_proto::convert::{ExperimentStatus, ExportPart, StatusPhase, experiment_named};
use speedup_proto::v1;
use speedup_proto::v1::analysis_client::AnalysisClient;
use speedup_proto::v1::experiments_server::{Experiments, ExperimentsServer};
use tokio::{sync::Mutex, sync::mpsc, task::JoinHandle};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint, Server, server::TcpIncoming};
use tonic::{Request, Response, Status, service::Routes};

/// What a watcher is sent, one after the other.
pub(crate) type Statuses = mpsc::Receiver<Result<v1::ExperimentStatus, Status>>;

/// A coordinator that only exports, and may be watched once.
struct Exporter {
    pieces: Vec<v1::ExportChunk>,
    statuses: Arc<Mutex<Option<Statuses>>>,
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

            type WatchStream = ReceiverStream<Result<v1::ExperimentStatus, Status>>;

            async fn watch(&self, _: Request<v1::GetRequest>) -> Answer<Self::WatchStream> {
                let statuses = self.statuses.lock().await.take();
                let statuses = statuses.ok_or_else(|| Status::not_found("there is no such experiment"))?;
                Ok(Response::new(ReceiverStream::new(statuses)))
            }

            type WatchUndecidedStream = ReceiverStream<Result<v1::Undecided, Status>>;

            async fn watch_undecided(&self, _: Request<v1::UndecidedRequest>) -> Answer<Self::WatchUndecidedStream> {
                Err(Status::unimplemented("only exports"))
            }

            type ExportStream = Pieces;

            async fn export(&self, request: Request<v1::ExportRequest>) -> Answer<Pieces> {
                let id = experiment_named(&request.into_inner().experiment, "experiment")?;
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
    decide(DecideRequest) -> ExperimentStatus;
    explain(ExplainRequest) -> Explanation;
    explain_all(GetRequest) -> Outlook;
}

pub(crate) fn experiment() -> ExperimentId {
    "00000000-0000-7000-8000-00000000002a".parse().unwrap()
}

pub(crate) fn plan() -> Plan {
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
    Plan::draw(plan::file::parse(text, Seed(1)).unwrap())
}

fn attempt(plan: &Plan, run: u32) -> EndedAttempt {
    let cell = plan.cell_number(RunIndex(run));
    let wall_ns = 100_000_000 - u64::from(cell) * 20_000_000 + u64::from(run * run % 97) * 10_000;
    let evidence = Evidence::first("boot".parse().unwrap());
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
        seat: None,
    };
    let record = Record { metrics: [(Metric::Wall, wall_ns)].into(), ..Record::bare(Outcome::Measured) };
    EndedAttempt { lease, cell, ended: Timestamp(2), end: AttemptEnd::reported(record) }
}

pub(crate) fn pieces() -> Vec<v1::ExportChunk> {
    let plan = plan();
    let status = status(StatusPhase::Finished { at: Timestamp(9), cancelled: false }, plan.runs());
    let attempts: Vec<_> = (0..plan.runs()).map(|run| attempt(&plan, run)).collect();
    let (early, later) = attempts.split_at(13);
    let (first, second) = plan.order().split_at(7);
    let parts = [
        ExportPart::Head {
            status: Box::new(status),
            experiment: Box::new(plan.experiment.clone()),
            benchmarks: plan.benchmarks.clone(),
            stages: plan.stages().to_vec(),
            exclusions: Vec::new(),
        },
        ExportPart::Order(first.to_vec()),
        ExportPart::Order(second.to_vec()),
        ExportPart::Attempts(early.iter().collect()),
        ExportPart::Attempts(later.iter().collect()),
    ];
    parts.iter().map(Into::into).collect()
}

/// A status with so many measured runs.
pub(crate) fn status(phase: StatusPhase, measured: u32) -> ExperimentStatus {
    ExperimentStatus {
        experiment: experiment(),
        name: "door".to_owned(),
        tags: Vec::new(),
        submitted: Timestamp(1),
        submitted_by: "tester".to_owned(),
        phase,
        tally: Tally { measured, ..Tally::default() },
        cells: plan().cells(),
        hosts_here: 0,
        words: String::new(),
        bisects: false,
    }
}

/// A coordinator with the analysis beside it, until it is dropped.
pub(crate) struct Served {
    pub(crate) client: AnalysisClient<Channel>,
    server: JoinHandle<Result<(), tonic::transport::Error>>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Serves a coordinator with these pieces and the analysis beside it.
pub(crate) async fn serve(pieces: Vec<v1::ExportChunk>, statuses: Option<Statuses>) -> Served {
    let incoming = TcpIncoming::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = incoming.local_addr().unwrap();
    let exporter = Exporter { pieces, statuses: Arc::new(Mutex::new(statuses)) };
    let own = Endpoint::from_shared(format!("http://{address}")).expect("a URL").connect_lazy();
    let routes = speedup_analysis_service::routes(own, Routes::new(ExperimentsServer::new(exporter)));
    let server = tokio::spawn(Server::builder().add_routes(routes).serve_with_incoming(incoming));
    let client = AnalysisClient::connect(format!("http://{address}")).await.unwrap();
    let most = speedup_proto::limits::MAX_REQUEST_BYTES;
    Served { client: client.max_encoding_message_size(most).max_decoding_message_size(most), server }
}
