//! The analysis of a running coordinator, in its process and on its own: reports as runs are measured, and answers to
//! samples that a request brings.

use std::{io::BufRead as _, io::BufReader, process::Stdio};

use speedup_proto::{convert::id_text, v1, v1::analysis_client::AnalysisClient};
use speedup_tests::{plan::naps, pool::Pool, pool::eventually, process::Killed};
use tonic::transport::{Channel, Endpoint};

use crate::SPEEDUP;

/// `speedup analysis start` beside a pool, killed when dropped.
struct Standalone {
    child: Killed,
    url: String,
}

impl Standalone {
    fn start(pool: &Pool) -> Self {
        let mut command = pool.command();
        command.args(["analysis", "start", "--insecure", "--bind", "127.0.0.1:0", "--format", "json"]);
        let mut child = command
            .args(["--coordinator", &pool.url()])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the analysis");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("its output");
        BufReader::new(stdout).read_line(&mut line).expect("one line");
        let said: serde_json::Value = serde_json::from_str(&line).expect("one JSON value");
        Self { child: Killed(child), url: said["url"].as_str().expect("where it listens").to_owned() }
    }
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(work)
}

/// The measured runs in each report, and the last report.
async fn watch(channel: Channel, experiment: &str) -> (Vec<u64>, serde_json::Value) {
    let id: uuid::Uuid = experiment.parse().expect("an id");
    let request = v1::ReportRequest { experiment: id_text(id), ..Default::default() };
    let mut reports = AnalysisClient::new(channel).watch(request).await.expect("a watch").into_inner();
    let (mut measured, mut last) = (Vec::new(), serde_json::Value::Null);
    while let Some(answer) = reports.message().await.expect("a report") {
        last = serde_json::from_str(&answer.json).expect("JSON");
        measured.push(last["head"]["measured_runs"].as_u64().expect("a count"));
    }
    (measured, last)
}

#[test]
fn reports_come_as_runs_are_measured_and_end_with_the_experiment() {
    let pool = Pool::start(SPEEDUP, 1);
    let experiment = pool.submit(&naps("watched", ["0.1", "0.01"], 40, "any", ""), &[]);
    let standalone = Standalone::start(&pool);
    let (own, other) = block_on(async {
        let plain = Endpoint::from_shared(standalone.url.clone()).expect("a URL").connect().await;
        let (own, other) = (pool.channel(None).await, plain.expect("a connection"));
        tokio::join!(watch(own, &experiment), watch(other, &experiment))
    });
    for (measured, last) in [own, other] {
        // 80 runs of 10 ms and more take longer than the pause between two reports.
        assert!(measured.len() > 1 && measured.is_sorted(), "{measured:?}");
        assert_eq!(measured.last(), Some(&80), "{measured:?}");
        assert_eq!(last["head"]["state"], "complete");
        assert_eq!(last["suites"][0]["verdict"], "faster");
        assert_eq!(last["diagnostics"]["hosts"]["kind"], "not_tested", "one host: {last}");
    }
}

#[test]
fn samples_are_compared_without_an_experiment() {
    let pool = Pool::without_agents(SPEEDUP);
    let version = |name: &str, values: Vec<f64>| v1::SampledVersion {
        name: name.to_owned(),
        benchmarks: vec![v1::SampledBenchmark { name: "sort".to_owned(), values, ..Default::default() }],
    };
    let versions = vec![
        version("old", vec![2.799, 2.046, 1.259, 1.877, 2.244]),
        version("new", vec![1.046, 0.259, 0.877, 1.244, 1.799]),
    ];
    let method = r#"{"kind":"speedup_test"}"#.to_owned();
    let request = v1::CompareRequest { versions, method, ..v1::CompareRequest::default() };
    let answer = block_on(async {
        AnalysisClient::new(pool.channel(None).await).compare(request).await.expect("an answer")
    });
    let answer: serde_json::Value = serde_json::from_str(&answer.into_inner().json).expect("JSON");
    assert_eq!(answer["findings"]["of"][0]["benchmarks"][0]["verdict"], "faster", "{answer}");
}

#[test]
fn a_standalone_analysis_ends_when_it_is_told_to() {
    let pool = Pool::without_agents(SPEEDUP);
    let mut standalone = Standalone::start(&pool);
    let pid = rustix::process::Pid::from_child(&standalone.child.0);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("a signal");
    let status = eventually("the analysis ends", || standalone.child.0.try_wait().expect("a child"));
    assert_eq!(status.code(), Some(0));
}
