//! What is refused, and under which name; what is cut.

use std::error::Error as _;

use proptest::{strategy::Strategy, strategy::ValueTree as _, test_runner::TestRunner};
use prost::Message as _;
use speedup_core::{
    experiment::Experiment, experiment::MAX_BENCHMARKS, experiment::MAX_OUTPUT_KEPT, experiment::MAX_RUNS,
    experiment::files::MAX_FILES, experiment::metric::MAX_OWN_METRICS, experiment::metric::MAX_SERIES_VALUES,
    experiment::metric::Metric, fingerprint::HashIdError, fingerprint::MAX_FACT_BYTES,
    fingerprint::MAX_FACTS, host::HostFacts, machine::Request, machine::event::Event, machine::event::Tally,
    plan::Plan, repetition::MAX_LINE, run::Obstacle, run::record::MAX_REASON_BYTES, run::record::Outcome,
    run::record::Record, value::hint::Hinted, value::id::IdError, value::id::MAX_ID_BYTES,
};
use speedup_proto::convert::{Blob, Malformed, Submission, Why, id_text};
use speedup_proto::limits::MAX_BY_BYTES;
use speedup_proto::payload::PayloadError;
use speedup_proto::{journal_payload, outbox_payload, v1};

fn some<S: Strategy>(strategy: S) -> S::Value {
    strategy.new_tree(&mut TestRunner::deterministic()).unwrap().current()
}

fn refused<T: std::fmt::Debug>(result: Result<T, Malformed>, field: &str, why: Why) {
    assert_eq!(result.unwrap_err(), Malformed { field: field.to_owned(), why });
}

fn benchmark() -> v1::Benchmark {
    let line = Some(v1::command_line::Line::Shell("true".to_owned()));
    let (command, expect) = (Some(v1::CommandLine { line }), Some(v1::Expectation::default()));
    v1::Benchmark { command, expect, ..Default::default() }
}

fn experiment() -> v1::Experiment {
    v1::Experiment {
        versions: vec![v1::Version::default(); 2],
        benchmarks: vec![benchmark(); 4],
        metrics: vec![v1::Metric::Wall.into()],
        policy: v1::Policy::Distinct.into(),
        scope: v1::Scope::Benchmark.into(),
        weights: v1::Weights::Equal.into(),
        output: Some(v1::Output { keep_of: v1::KeepOutput::Failed.into(), ..Default::default() }),
        ..Default::default()
    }
}

fn record() -> v1::Record {
    let stream = Some(v1::StreamOutput { blake3: vec![0; 32], ..Default::default() });
    let outcome = Some(v1::record::Outcome::Measured(v1::Measured {}));
    v1::Record { outcome, stdout: stream.clone(), stderr: stream, ..Default::default() }
}

#[test]
fn files_have_a_hash_and_a_source_and_are_few() {
    let file = |bytes, source| v1::StagedFile { name: "f".to_owned(), blake3: vec![0; bytes], source };
    let with = |files| Experiment::try_from(v1::Experiment { files, ..experiment() });
    let content = Some(v1::staged_file::Source::Content(v1::staged_file::Content::default()));
    assert!(with(vec![file(32, content.clone())]).is_ok());
    refused(
        with(vec![file(32, content.clone()), file(31, content.clone())]),
        "files[1].blake3",
        Why::Length { bytes: 31, expected: 32 },
    );
    refused(with(vec![file(32, None)]), "files[0].source", Why::Unset);
    let (items, most) = (MAX_FILES + 1, MAX_FILES);
    refused(with(vec![file(32, content); items]), "files", Why::TooMany { items, most });
    let blob = v1::Blob { blake3: b"../../etc/passwd".to_vec(), bytes: 1 };
    refused(Blob::try_from(blob), "blake3", Why::Length { bytes: 16, expected: 32 });
}

#[test]
fn the_path_names_the_field() {
    let mut wire = experiment();
    wire.benchmarks[3].expect = Some(v1::Expectation { exit: 256, ..Default::default() });
    let submit =
        v1::SubmitRequest { plan: Some(v1::submit_request::Plan::Experiment(wire)), ..Default::default() };
    let error = Submission::try_from(submit).unwrap_err();
    assert_eq!(error.field, "experiment.benchmarks[3].expect.exit");
    assert_eq!(error.why, Why::TooLarge { number: 256, most: 255 });
    assert_eq!(tonic::Status::from(error).code(), tonic::Code::InvalidArgument);
}

#[test]
fn an_experiment_of_the_wrong_shape_is_refused() {
    let with = |change: fn(&mut v1::Experiment)| {
        let mut wire = experiment();
        change(&mut wire);
        Experiment::try_from(wire)
    };
    assert!(with(|_| ()).is_ok());
    refused(with(|wire| wire.output = None), "output", Why::Missing);
    refused(with(|wire| wire.policy = 0), "policy", Why::Unspecified);
    refused(with(|wire| wire.scope = 77), "scope", Why::Unknown(77));
    refused(with(|wire| wire.weights = -1), "weights", Why::Unknown(-1));
    refused(with(|wire| wire.metrics.push(0)), "metrics[1].metric", Why::Unspecified);
    let many = Metric::ALL.len() + 1;
    let why = Why::TooMany { items: many, most: many - 1 };
    refused(with(|wire| wire.metrics = vec![1; Metric::ALL.len() + 1]), "metrics", why);
    let why = Why::TooMany { items: MAX_LINE + 1, most: MAX_LINE };
    refused(with(|wire| wire.versions = vec![v1::Version::default(); MAX_LINE + 1]), "versions", why);
    let why = Why::TooMany { items: MAX_BENCHMARKS + 1, most: MAX_BENCHMARKS };
    refused(with(|wire| wire.benchmarks = vec![benchmark(); MAX_BENCHMARKS + 1]), "benchmarks", why);
    let unset = |wire: &mut v1::Experiment| wire.benchmarks[0].command = Some(v1::CommandLine { line: None });
    refused(with(unset), "benchmarks[0].command.line", Why::Unset);
    let short = |wire: &mut v1::Experiment| {
        wire.benchmarks[0].expect =
            Some(v1::Expectation { stdout_blake3: Some(vec![0; 31]), ..Default::default() });
    };
    refused(with(short), "benchmarks[0].expect.stdout_blake3", Why::Length { bytes: 31, expected: 32 });
}

#[test]
fn a_plan_of_other_runs_is_refused() {
    let plan = |benchmarks: Vec<u32>, order| {
        Plan::try_from(v1::Plan { experiment: Some(experiment()), benchmarks, order, stages: Vec::new() })
    };
    assert_eq!(plan(vec![0, 3], vec![3, 0]).unwrap().cells(), 4);
    refused(plan(vec![3, 0], vec![]), "benchmarks", Why::Unordered);
    refused(plan(vec![3, 3], vec![]), "benchmarks", Why::Unordered);
    assert_eq!(plan(vec![4], vec![]).unwrap_err().field, "benchmarks");
    assert_eq!(plan(vec![0], vec![0, 2]).unwrap_err().field, "order");
    assert_eq!(plan(vec![], vec![0]).unwrap_err().field, "order");
}

#[test]
fn facts_keep_their_limits() {
    let facts = || v1::HostFacts { host: "h".to_owned(), boot: "b".to_owned(), ..Default::default() };
    assert!(HostFacts::try_from(facts()).is_ok());
    let long = "h".repeat(MAX_ID_BYTES + 1);
    let why = Why::Id(IdError::TooLong(MAX_ID_BYTES + 1));
    refused(HostFacts::try_from(v1::HostFacts { host: long, ..facts() }), "host", why);
    let slash = v1::HostFacts { allocation: Some("a/b".to_owned()), ..facts() };
    refused(HostFacts::try_from(slash), "allocation", Why::Id(IdError::Character('/')));
    let many = (0..=MAX_FACTS).map(|fact| (fact.to_string(), String::new())).collect();
    let why = Why::TooMany { items: MAX_FACTS + 1, most: MAX_FACTS };
    refused(HostFacts::try_from(v1::HostFacts { fingerprint: many, ..facts() }), "fingerprint", why);
    let long = [("cpu".to_owned(), "x".repeat(MAX_FACT_BYTES + 1))].into();
    let why = Why::TooLong { bytes: MAX_FACT_BYTES + 1, most: MAX_FACT_BYTES };
    refused(HostFacts::try_from(v1::HostFacts { fingerprint: long, ..facts() }), "fingerprint", why);
}

#[test]
fn facts_are_values_or_absent_or_unreadable() {
    let fact = || [("a".to_owned(), "1".to_owned())].into();
    let facts = || v1::HostFacts { host: "h".to_owned(), boot: "b".to_owned(), ..Default::default() };
    let twice = v1::HostFacts { fingerprint: fact(), unreadable: fact(), ..facts() };
    refused(HostFacts::try_from(twice), "fingerprint", Why::Twice);
    let twice = v1::HostFacts { unreadable: fact(), absent: vec!["a".to_owned()], ..facts() };
    refused(HostFacts::try_from(twice), "fingerprint", Why::Twice);
    for absent in [["b", "a"], ["a", "a"]].map(|names| names.map(str::to_owned).to_vec()) {
        refused(HostFacts::try_from(v1::HostFacts { absent, ..facts() }), "absent", Why::Unordered);
    }
    let names = |from: usize, to: usize| (from..to).map(|name| format!("{name:04}"));
    let texts = |from, to| names(from, to).map(|name| (name, String::new())).collect();
    let together = |half| v1::HostFacts {
        fingerprint: texts(0, half),
        unreadable: texts(half, half + 1),
        absent: names(half + 1, MAX_FACTS + 1).collect(),
        ..facts()
    };
    let why = Why::TooMany { items: MAX_FACTS + 1, most: MAX_FACTS };
    refused(HostFacts::try_from(together(MAX_FACTS / 2)), "fingerprint", why);
    let hardware = Some("no hash".to_owned());
    refused(HostFacts::try_from(v1::HostFacts { hardware, ..facts() }), "hardware", Why::Hash(HashIdError));
}

#[test]
fn a_record_of_the_wrong_shape_is_refused() {
    assert!(Record::try_from(record()).is_ok());
    refused(Record::try_from(v1::Record { outcome: None, ..record() }), "outcome", Why::Unset);
    let failed = |failure| {
        let outcome = v1::record::Outcome::Failed(v1::Failure { failure, core_dumped: false });
        Record::try_from(v1::Record { outcome: Some(outcome), ..record() })
    };
    refused(failed(None), "failed.failure", Why::Unset);
    let why = Why::TooLarge { number: 300, most: 255 };
    refused(failed(Some(v1::failure::Failure::Signal(300))), "failed.signal", why);
    let wall = v1::MetricValue { metric: v1::Metric::Wall.into(), value: 1, user_only: false };
    refused(
        Record::try_from(v1::Record { metrics: vec![wall; 2], ..record() }),
        "metrics[1].metric",
        Why::Twice,
    );
    let canary_failed = Some("it failed".to_owned());
    let both = v1::Record { canary_ns: Some(1), canary_failed, ..record() };
    refused(Record::try_from(both), "canary_failed", Why::Twice);
    let absent = |metrics: Vec<v1::MetricValue>, why, times| {
        let absent = vec![v1::AbsentMetric { metric: v1::Metric::Wall.into(), why }; times];
        Record::try_from(v1::Record { metrics, absent, ..record() })
    };
    let why = || Some(v1::absent_metric::Why::NotCounted(v1::absent_metric::NotCounted {}));
    assert!(absent(vec![], why(), 1).is_ok());
    refused(absent(vec![wall], why(), 1), "absent[0].metric", Why::Twice);
    refused(absent(vec![], why(), 2), "absent[1].metric", Why::Twice);
    refused(absent(vec![], None, 1), "absent[0].why", Why::Unset);
    let series = |values: Vec<f64>, times| {
        let series = vec![v1::Series { metric: "m".to_owned(), values }; times];
        Record::try_from(v1::Record { series, ..record() })
    };
    assert!(series(vec![0.0; MAX_SERIES_VALUES], 1).is_ok());
    refused(series(vec![1.0], 2), "series[1].metric", Why::Twice);
    refused(series(vec![1.0, f64::NAN], 1), "series[0].values", Why::NotFinite);
    let (items, most) = (MAX_SERIES_VALUES + 1, MAX_SERIES_VALUES);
    refused(series(vec![0.0; items], 1), "series.values", Why::TooMany { items, most });
    let (items, most) = (MAX_OWN_METRICS + 1, MAX_OWN_METRICS);
    refused(series(vec![], items), "series", Why::TooMany { items, most });
    let most = MAX_OUTPUT_KEPT as usize;
    let stdout = |bytes| {
        let stream = v1::StreamOutput { blake3: vec![0; 32], kept: vec![0; bytes], ..Default::default() };
        Record::try_from(v1::Record { stdout: Some(stream), ..record() })
    };
    assert!(stdout(most).is_ok());
    refused(stdout(most + 1), "stdout.kept", Why::TooLong { bytes: most + 1, most });
}

#[test]
fn words_are_cut_where_they_enter() {
    let reason = "é".repeat(MAX_REASON_BYTES);
    let outcome = Some(v1::record::Outcome::NotExecuted(v1::NotExecuted { reason, obstacle: 1 }));
    let record = Record::try_from(v1::Record { outcome, ..record() }).unwrap();
    assert_eq!(
        record.outcome,
        Outcome::NotExecuted { reason: "é".repeat(MAX_REASON_BYTES / 2), obstacle: Obstacle::Host }
    );
    let experiment = id_text(uuid::Uuid::nil());
    let change = v1::ChangeRequest { experiment, by: "é".repeat(MAX_BY_BYTES) };
    assert_eq!(Request::try_from(change).unwrap().by.len(), MAX_BY_BYTES);
    let change = v1::ChangeRequest { experiment: "0".repeat(35), by: String::new() };
    let given = format!("\"{}\" is not a UUID", "0".repeat(35));
    refused(Request::try_from(change), "experiment", Why::Uuid { given });
}

#[test]
fn a_tally_whose_sums_overflow_is_refused() {
    let half = 1 << 31;
    let wire = v1::Tally { waiting: half, failed: half, ..Default::default() };
    let why = Why::TooLarge { number: 1 << 32, most: MAX_RUNS };
    refused(Tally::try_from(wire), "runs", why);
}

#[test]
fn a_newer_payload_is_refused_with_a_message() {
    let mut bytes = Vec::new();
    journal_payload::encode(&some(crate::strategy::any_value::<Event>()), &mut bytes).unwrap();
    let error = journal_payload::decode(2, &bytes).unwrap_err();
    assert!(matches!(error, PayloadError::Newer { version: 2, known: 1, .. }), "{error}");
    assert!(error.hint().is_some());
    assert!(matches!(journal_payload::decode(0, &bytes), Err(PayloadError::NeverWritten { .. })));
    assert!(matches!(outbox_payload::decode(2, &bytes), Err(PayloadError::Newer { .. })));
}

#[test]
fn an_unknown_change_is_refused_not_skipped() {
    // Field 100, an empty message: a change of a newer release.
    let mut bytes = speedup_proto::journal::v1::Event { at_ns: 7, change: None }.encode_to_vec();
    bytes.extend([0xA2, 0x06, 0x00]);
    let error = journal_payload::decode(1, &bytes).unwrap_err();
    let cause = error.source().unwrap().to_string();
    assert!(cause.starts_with("change: "), "{cause}");
}
