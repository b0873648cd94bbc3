//! Samples that a request brings.

use serde_json::Value;
use speedup_analysis::inquiry::{Inquiry, Method, Suite};
use speedup_proto::v1::{CompareRequest, SampledBenchmark, SampledVersion, compare_request::Weighting};
use tonic::{Code, Status};

use crate::coordinator::serve;

pub(crate) fn version(name: &str, values: &[f64]) -> SampledVersion {
    let benchmark =
        SampledBenchmark { name: "sort".to_owned(), values: values.to_vec(), values_of_runs: Vec::new() };
    SampledVersion { name: name.to_owned(), benchmarks: vec![benchmark] }
}

const OLD: [f64; 5] = [2.799, 2.046, 1.259, 1.877, 2.244];
const NEW: [f64; 5] = [1.046, 0.259, 0.877, 1.244, 1.799];

fn request() -> CompareRequest {
    CompareRequest {
        versions: vec![version("old", &OLD), version("new", &NEW)],
        method: r#"{"kind":"speedup_test"}"#.to_owned(),
        ..CompareRequest::default()
    }
}

async fn ask(request: CompareRequest) -> Result<Value, Status> {
    let mut served = serve(Vec::new(), None).await;
    let answer = served.client.compare(request).await?;
    Ok(serde_json::from_str(&answer.into_inner().json).unwrap())
}

#[tokio::test]
async fn the_answer_is_the_inquirys() {
    let suites = vec![Suite::single("old", "sort", OLD.to_vec()), Suite::single("new", "sort", NEW.to_vec())];
    let pure = Inquiry::new(suites, Method::speedup_test()).answer().unwrap();
    let pure: Value = serde_json::from_str(&serde_json::to_string(&pure).unwrap()).unwrap();
    assert_eq!(ask(request()).await.unwrap(), pure);
}

#[tokio::test]
async fn runs_with_several_values_are_a_level() {
    let values: Vec<f64> = (0..12).map(|k| 10.0 + f64::from(k / 4) + f64::from(k % 4) / 10.0).collect();
    let mut versions = vec![version("old", &values), version("new", &values)];
    versions.iter_mut().for_each(|version| version.benchmarks[0].values_of_runs = vec![4, 4, 4]);
    let method = r#"{"kind":"effect"}"#.to_owned();
    let answer = ask(CompareRequest { versions, method, ..request() }).await.unwrap();
    assert_eq!(answer["samples"][0]["runs"].as_u64(), Some(3));
    assert_eq!(answer["samples"][0]["values"].as_u64(), Some(12));
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused() {
    let code = async |request: CompareRequest| ask(request).await.unwrap_err().code();
    let asked = |method: &str| CompareRequest { method: method.to_owned(), ..request() };
    assert_eq!(code(asked("speedup_test")).await, Code::InvalidArgument);
    // JSON nested deeper than any method is.
    assert_eq!(code(asked(&"[".repeat(4_000))).await, Code::InvalidArgument);
    assert_eq!(code(asked(&" ".repeat(5_000))).await, Code::InvalidArgument);
    let one = CompareRequest { versions: vec![version("old", &OLD)], ..request() };
    assert_eq!(code(one).await, Code::InvalidArgument);
    let negative = vec![version("old", &OLD), version("new", &[1.0, -1.0])];
    assert_eq!(code(CompareRequest { versions: negative, ..request() }).await, Code::InvalidArgument);
    let long = vec![version("old", &OLD), version(&"n".repeat(2_000), &NEW)];
    assert_eq!(code(CompareRequest { versions: long, ..request() }).await, Code::InvalidArgument);
    let weights = CompareRequest { weights: vec![1.0], ..request() };
    assert_eq!(code(weights).await, Code::InvalidArgument);
    let newer = CompareRequest { weighting: 99, ..request() };
    assert_eq!(code(newer).await, Code::InvalidArgument);
    let population = CompareRequest { population: 7, ..request() };
    assert_eq!(code(population).await, Code::InvalidArgument);
    let level = CompareRequest { confidence: Some(95.0), ..request() };
    assert_eq!(code(level).await, Code::InvalidArgument);
    let mut runs = request();
    runs.versions[0].benchmarks[0].values_of_runs = vec![u32::MAX, u32::MAX, 3];
    assert_eq!(code(runs).await, Code::InvalidArgument);
}

#[tokio::test]
async fn what_would_take_for_ever_is_refused_at_once() {
    let values: Vec<f64> = (0..1_000).map(|k| 100.0 + f64::from(k * k % 997)).collect();
    let endless = CompareRequest {
        versions: vec![version("old", &values)],
        method: r#"{"kind":"mixture","resamples":1000000}"#.to_owned(),
        ..request()
    };
    let error = ask(endless).await.unwrap_err();
    assert_eq!(error.code(), Code::ResourceExhausted, "{error}");
    assert!(error.message().contains("speedup compare"), "{error}");
}

#[tokio::test]
async fn a_caller_who_goes_away_leaves_the_door_open() {
    let mut served = serve(Vec::new(), None).await;
    let values: Vec<f64> = (0..1_000).map(|k| 100.0 + f64::from(k * k % 997)).collect();
    let method = r#"{"kind":"mixture","resamples":5000}"#.to_owned();
    let long = CompareRequest { versions: vec![version("old", &values)], method, ..request() };
    let mut client = served.client.clone();
    // Dropped at some wait: the request may be on its way, in line, or computed already.
    tokio::select! {
        biased;
        answered = client.compare(long) => drop(answered),
        () = tokio::task::yield_now() => {}
    }
    let weighting = Weighting::Fraction.into();
    let answer = served.client.compare(CompareRequest { weighting, ..request() }).await.unwrap();
    assert!(answer.into_inner().json.contains("faster"));
}
