//! JSON of tools that are read by their layouts, and of those with readers of their own beside them: every value of the golden files.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]
#![expect(clippy::disallowed_methods, reason = "the golden files are read from the disk")]

use speedup_formats::*;
use std::path::Path;

fn golden(file: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file)).unwrap()
}

fn imported(file: &str, format: Format) -> Imported {
    let bytes = golden(file);
    assert_eq!(detect(&bytes), Ok(format), "{file}");
    read(&bytes, format, &Options::default()).unwrap()
}

/// What a series is in short: name, unit, direction, what a value stands for, values by run.
type Short = (String, String, Option<BetterWhen>, Option<ValueOf>, Vec<Vec<f64>>);

fn short(series: &Series) -> Short {
    let runs = series.runs.iter().map(<[f64]>::to_vec).collect();
    (series.name.to_string(), series.unit.to_string(), series.better, series.value_of, runs)
}

const LOWER: Option<BetterWhen> = Some(BetterWhen::Lower);
const HIGHER: Option<BetterWhen> = Some(BetterWhen::Higher);
const RUN_MEAN: Option<ValueOf> = Some(ValueOf::Summary);
const ITERATION: Option<ValueOf> = Some(ValueOf::Iteration);

/// The same, as tests write it.
type Expected<'a> = (&'a str, &'a str, Option<BetterWhen>, Option<ValueOf>, &'a [&'a [f64]]);

/// Looks for exactly these series.
fn check(it: &Imported, expected: &[Expected<'_>]) {
    let found: Vec<Short> = it.series.iter().map(short).collect();
    let expected: Vec<Short> = expected
        .iter()
        .map(|(name, unit, better, value_of, runs)| {
            let runs = runs.iter().map(|run| run.to_vec()).collect();
            ((*name).to_owned(), (*unit).to_owned(), *better, *value_of, runs)
        })
        .collect();
    assert_eq!(found, expected);
}

fn failed(it: &Imported) -> Vec<(String, MissingKind, String)> {
    let one = |missing: &MissingResult| {
        let message = missing.message.as_ref().map(ToString::to_string).unwrap_or_default();
        (missing.benchmark.to_string(), missing.kind, message)
    };
    it.failures.iter().map(one).collect()
}

fn failure(benchmark: &str, message: &str) -> (String, MissingKind, String) {
    (benchmark.to_owned(), MissingKind::Failed, message.to_owned())
}

#[test]
fn nanobench_has_epochs_by_their_batches() {
    let it = imported("nanobench-4.6.json", Format::Nanobench);
    let all = [2.65222279792746e-06, 2.65194587628866e-06, 2.78915740740741e-06, 2.65195115681234e-06];
    let half = [3.62187148876404e-07, 1.78785980979218e-06, 3.58833958724203e-07, 3.60049360146252e-07];
    check(
        &it,
        &[
            ("sum \"of\" all, title sums (wall)", "s", LOWER, RUN_MEAN, &[&all.map(|time| time / 1000.0)]),
            ("sum of half, title sums (wall)", "s", LOWER, RUN_MEAN, &[&half.map(|time| time / 500.0)]),
        ],
    );
    // The machine that it ran on has no counters.
    let counted = String::from_utf8(golden("nanobench-4.6.json")).unwrap().replacen(
        "\"cpucycles\": 0",
        "\"cpucycles\": 250",
        1,
    );
    let it = read(counted.as_bytes(), Format::Nanobench, &Options::default()).unwrap();
    assert_eq!(short(&it.series[1]).4, [[0.25, 0.0, 0.0, 0.0]]);
}

#[test]
fn vitest_has_a_mean_of_each_benchmark() {
    let it = imported("vitest-4.0.json", Format::Vitest);
    let group = "group b/sum.bench.js > sums";
    let means = it.series.iter().map(short).collect::<Vec<_>>();
    assert_eq!(means.len(), 2);
    assert_eq!(means[0].0, format!("reduce, {group} (wall)"));
    assert_eq!((means[0].2, means[0].3, means[0].4.len()), (LOWER, RUN_MEAN, 1));
    assert_eq!(failed(&it), [failure(&format!("broken, {group}"), "")]);
    assert_eq!(imported("vitest-1.6.json", Format::Vitest).series.len(), 2);
}

#[test]
fn benchmark_tools_has_trials_in_groups() {
    let it = imported("benchmark-tools-1.8-from-source.json", Format::BenchmarkTools);
    assert_eq!(it.tool_version.as_ref().unwrap().as_str(), "1.8.0");
    check(
        &it,
        &[
            ("sort/(\"quick\", 100) (wall)", "s", LOWER, RUN_MEAN, &[&[20.5e-9, 20.75e-9, 21.25e-9]]),
            ("sort/(\"quick\", 100) (memory)", "B", LOWER, RUN_MEAN, &[&[32.0]]),
            ("sort/(\"quick\", 100) (allocs)", "", None, RUN_MEAN, &[&[1.0]]),
            ("sort/merge (wall)", "s", LOWER, RUN_MEAN, &[&[31e-9, 33.5e-9]]),
            ("sort/merge (memory)", "B", LOWER, RUN_MEAN, &[&[32.0]]),
            ("sort/merge (allocs)", "", None, RUN_MEAN, &[&[1.0]]),
            ("sum (wall)", "s", LOWER, RUN_MEAN, &[&[8.125e-9, 8.25e-9, 8.5e-9]]),
            ("sum (memory)", "B", LOWER, RUN_MEAN, &[&[32.0]]),
            ("sum (allocs)", "", None, RUN_MEAN, &[&[1.0]]),
        ],
    );
    let estimates = r#"[{"Julia": "1.12", "BenchmarkTools": "1.8"}, [["TrialEstimate", {"time": 5.0}]]]"#;
    let error = read(estimates.as_bytes(), Format::BenchmarkTools, &Options::default()).unwrap_err();
    assert!(matches!(error.problem, FileProblem::SummaryOnly { .. }), "{error}");
    assert_eq!(error.hint(), Some("a test needs every value: save the trials, not their estimates"));
}

#[test]
fn a_history_of_github_action_benchmark_has_commits_as_versions() {
    let it = imported("github-benchmark-history-1.22-from-source.js", Format::GithubBenchmarkHistory);
    let version = |commit: &str, name: &str, suite| {
        format!("{name} in version {}, suite {suite} (value)", commit.repeat(10))
    };
    let rust = |commit, name| version(commit, name, "Rust Benchmark");
    check(
        &it,
        &[
            (&rust("1f0e", "fib_10"), "s", LOWER, None, &[&[135e-9]]),
            (&rust("1f0e", "fib_20"), "s", LOWER, None, &[&[18149e-9]]),
            (&rust("2a9b", "fib_10"), "s", LOWER, None, &[&[128e-9], &[129.5e-9]]),
            (&rust("2a9b", "fib_20"), "s", LOWER, None, &[&[17342e-9]]),
            (&version("1f0e", "accuracy", "Score"), "Points", HIGHER, None, &[&[91.5]]),
            (&version("2a9b", "binary", "Score"), "KiB", LOWER, None, &[&[812.0]]),
        ],
    );
}

#[test]
fn custom_results_have_their_units() {
    let it = imported("github-benchmark-1.22-from-source.json", Format::GithubBenchmark);
    check(
        &it,
        &[
            ("start \"cold\" (value)", "s", LOWER, None, &[&[0.0415]]),
            ("throughput (value)", "req/s", HIGHER, None, &[&[1200.25]]),
            ("CPU Load (value)", "Percent", None, None, &[&[50.0]]),
        ],
    );
    let it = imported("bencher-0.6-from-source.json", Format::Bencher);
    check(
        &it,
        &[
            ("parse <html> (latency)", "s", LOWER, None, &[&[3247.5e-9]]),
            ("parse <html> (throughput)", "ops/s", HIGHER, None, &[&[307929.2]]),
            ("build (build-time)", "s", LOWER, None, &[&[12.75]]),
            ("build (file-size)", "B", LOWER, None, &[&[8192.0]]),
            ("build (Total Blocks)", "", None, None, &[&[0.0]]),
        ],
    );
}

#[test]
fn fio_has_directions_of_jobs() {
    let it = imported("fio-3.33.json", Format::Fio);
    assert_eq!(it.tool_version.as_ref().unwrap().as_str(), "fio-3.33");
    check(
        &it,
        &[
            ("write, io read (latency)", "s", LOWER, RUN_MEAN, &[&[61366.520661e-9]]),
            ("write, io read (iops)", "IO/s", HIGHER, RUN_MEAN, &[&[14235.294118]]),
            ("write, io read (bandwidth)", "B/s", HIGHER, RUN_MEAN, &[&[58307764.0]]),
            ("write, io write (latency)", "s", LOWER, RUN_MEAN, &[&[3653.588889e-9]]),
            ("write, io write (iops)", "IO/s", HIGHER, RUN_MEAN, &[&[15882.352941]]),
            ("write, io write (bandwidth)", "B/s", HIGHER, RUN_MEAN, &[&[65054117.0]]),
            ("sync, io write (latency)", "s", LOWER, RUN_MEAN, &[&[10321.21875e-9]]),
            ("sync, io write (iops)", "IO/s", HIGHER, RUN_MEAN, &[&[32000.0]]),
            ("sync, io write (bandwidth)", "B/s", HIGHER, RUN_MEAN, &[&[524288000.0]]),
        ],
    );
    let broken =
        String::from_utf8(golden("fio-3.33.json")).unwrap().replacen("\"error\": 0", "\"error\": 28", 1);
    let it = read(broken.as_bytes(), Format::Fio, &Options::default()).unwrap();
    assert_eq!(failed(&it)[0], failure("write, io read", "error 28"));
}

#[test]
fn caliper_has_regions() {
    let it = imported("caliper-2.15.json", Format::Caliper);
    check(
        &it,
        &[
            ("main (Calls)", "count", None, RUN_MEAN, &[&[1.0]]),
            ("main (wall)", "s", LOWER, RUN_MEAN, &[&[9e-6]]),
            ("main/init (Calls)", "count", None, RUN_MEAN, &[&[1.0]]),
            ("main/init (wall)", "s", LOWER, RUN_MEAN, &[&[2e-6]]),
            ("main/init/work (Calls)", "count", None, RUN_MEAN, &[&[1.0]]),
            ("main/init/work (wall)", "s", LOWER, RUN_MEAN, &[&[34e-6]]),
            ("main/mainloop (Calls)", "count", None, RUN_MEAN, &[&[5.0]]),
            ("main/mainloop (wall)", "s", LOWER, RUN_MEAN, &[&[4e-6]]),
            ("main/mainloop/work (Calls)", "count", None, RUN_MEAN, &[&[4.0]]),
            ("main/mainloop/work (wall)", "s", LOWER, RUN_MEAN, &[&[261e-6]]),
        ],
    );
}

#[test]
fn llama_bench_has_repetitions_and_what_differs_in_names() {
    let it = imported("llama-bench-6097-from-source.json", Format::LlamaBench);
    let named = |labels: &str, metric| format!("llama-bench in version 79c1160b, {labels} ({metric})");
    let prompt = "n_depth 0, n_gen 0, n_prompt 512";
    let first = short(&it.series[0]);
    assert_eq!((first.0, first.2, first.3), (named(prompt, "wall"), LOWER, ITERATION));
    assert_eq!(first.4, [[4.012345678, 4.023456789, 4.001234567]]);
    let second = short(&it.series[1]);
    assert_eq!(
        (second.0, second.1, second.2),
        (named(prompt, "tokens_per_second"), "tokens/s".to_owned(), HIGHER)
    );
    let it = imported("llama-bench-6097-from-source.jsonl", Format::LlamaBench);
    let four = short(&it.series[0]);
    assert_eq!(four.0, named("n_depth 0, n_gen 0, n_prompt 512, n_threads 4", "wall"));
    assert_eq!(four.4, [[4.012345678, 4.023456789], [4.112345678, 4.123456789]], "two runs of one test");
    assert_eq!(it.series.len(), 4);
}

#[test]
fn vllm_has_latencies_rates_and_appended_runs() {
    let it = imported("vllm-0.33-latency-from-source.json", Format::Vllm);
    check(&it, &[("vllm (wall)", "s", LOWER, ITERATION, &[&[1.5125, 1.525, 1.5375, 1.55]])]);
    let it = imported("vllm-0.33-throughput-from-source.json", Format::Vllm);
    assert_eq!(short(&it.series[0]).0, "vllm (requests_per_second)");
    assert_eq!((it.series.len(), it.series[1].better), (2, HIGHER));
    let it = imported("vllm-0.33-serve-from-source.jsonl", Format::Vllm);
    let rates = short(&it.series[0]);
    assert_eq!(rates.0, "vllm, request_rate inf (request_throughput)");
    assert_eq!((rates.2, rates.3, rates.4), (HIGHER, RUN_MEAN, vec![vec![4.0], vec![4.25]]));
    assert!(it.series.iter().any(|series| series.name.to_string() == "vllm, request_rate 2.0 (mean_ttft)"));
}

#[test]
fn aiperf_has_a_value_of_each_metric() {
    let it = imported("aiperf-0.13.json", Format::Aiperf);
    let found = |metric: &str| {
        let series = it.series.iter().find(|series| series.name.metric.as_str() == metric).unwrap();
        (series.unit.to_string(), series.better, series.runs.values().to_vec())
    };
    assert_eq!(found("request_latency"), ("s".to_owned(), LOWER, vec![0.038905757]));
    assert_eq!(found("request_throughput"), ("requests/sec".to_owned(), HIGHER, vec![45.32038749414725]));
    assert_eq!(found("output_token_throughput_per_user").1, HIGHER);
    assert_eq!(it.series.len(), 8);
    let cancelled = String::from_utf8(golden("aiperf-0.13.json"))
        .unwrap()
        .replace("\"was_cancelled\": false", "\"was_cancelled\": true");
    let it = read(cancelled.as_bytes(), Format::Aiperf, &Options::default()).unwrap();
    assert_eq!((it.series.len(), failed(&it)), (0, vec![failure("aiperf", "was_cancelled true")]));
}

#[test]
fn nvbench_has_axes_and_skipped_states() {
    let it = imported("nvbench-0.1-from-source.json", Format::NvBench);
    let small = "copy, state Device=0 Elements=2^20";
    let first: Vec<Short> = it.series.iter().take(5).map(short).collect();
    let expect = |metric: &str, unit: &str, better, value: f64| {
        (format!("{small} ({metric})"), unit.to_owned(), better, RUN_MEAN, vec![vec![value]])
    };
    assert_eq!(
        first,
        [
            expect("wall", "s", LOWER, 0.0010034715849794225),
            expect("cpu_time", "s", LOWER, 0.0010094458717434867),
            expect("batch_time", "s", LOWER, 0.001001475909284053),
            expect("item_rate", "items/s", HIGHER, 1044480000.5),
            expect("bytes_per_second", "B/s", HIGHER, 8355840004.0),
        ]
    );
    let skipped = (
        "copy, state Device=0 Elements=2^40".to_owned(),
        MissingKind::Skipped,
        "not enough memory".to_owned(),
    );
    assert_eq!(failed(&it), [skipped]);
}

#[test]
fn renaissance_has_repetitions_of_one_process() {
    let it = imported("renaissance-0.16-from-source.json", Format::Renaissance);
    let times = [0.911379929, 0.529459711, 0.487123456];
    check(&it, &[("scrabble (wall)", "s", LOWER, ITERATION, &[&times])]);
    assert_eq!(failed(&it), [failure("chi-square", "termination failure")]);
    assert_eq!(it.tool_version.as_ref().unwrap().as_str(), "0.16.1");
}

#[test]
fn kernelbench_has_problems_by_number() {
    let it = imported("kernelbench-0.2-baseline-from-source.json", Format::KernelBenchBaseline);
    check(
        &it,
        &[
            ("1 (wall)", "s", LOWER, RUN_MEAN, &[&[2.66e-3]]),
            ("19 (wall)", "s", LOWER, RUN_MEAN, &[&[0.0251e-3]]),
            ("36 (wall)", "s", LOWER, RUN_MEAN, &[&[0.412e-3]]),
        ],
    );
    let two = br#"{"level1": {"1_a.py": {"mean": 1, "num_trials": 9}}, "level2": {"1_b.py": {"mean": 2, "num_trials": 9}}}"#;
    let it = read(two, Format::KernelBenchBaseline, &Options::default()).unwrap();
    assert_eq!(short(&it.series[1]).0, "1, level level2 (wall)");
    let it = imported("kernelbench-0.2-evaluation-from-source.json", Format::KernelBenchEvaluation);
    check(&it, &[("1 (wall)", "s", LOWER, RUN_MEAN, &[&[2.41e-3]])]);
    assert_eq!(failed(&it), [failure("19", "SyntaxError"), failure("36", "Output mismatch")]);
}

/// Documents of a file are runs, on lines or over several, and a damaged one has its line.
#[test]
fn documents_one_after_the_other_are_runs() {
    let one = String::from_utf8(golden("fio-3.33.json")).unwrap();
    let it = read(format!("{one}\n{one}").as_bytes(), Format::Fio, &Options::default()).unwrap();
    assert_eq!(it.series[0].runs.one_value_each().map(<[f64]>::len), Some(2));
    assert!(it.warnings.is_empty(), "{:?}", it.warnings);
    let broken = format!("{one}{}", one.replacen("\"iops\": 14235.294118", "\"iops\": \"many\"", 1));
    let error = read(broken.as_bytes(), Format::Fio, &Options::default()).unwrap_err();
    let place =
        FilePlace::Pointer { line: Some(one.lines().count() + 1), pointer: "/jobs/0/read/iops".to_owned() };
    assert_eq!(error.place, place, "{error}");
}

/// Every result of a document is read in a time that does not grow with the document.
#[test]
fn a_document_of_many_results_takes_no_longer_than_many_documents() {
    let metrics: Vec<String> =
        (0..bounds::MAX_SERIES).map(|at| format!(r#""m{at}": {{"avg": 1, "unit": "ms"}}"#)).collect();
    let it =
        read(format!("{{{}}}", metrics.join(",")).as_bytes(), Format::Aiperf, &Options::default()).unwrap();
    assert_eq!(it.series.len(), bounds::MAX_SERIES);
    let more = format!(r#"{{{}, "one": {{"avg": 1, "unit": "ms"}}}}"#, metrics.join(","));
    let error = read(more.as_bytes(), Format::Aiperf, &Options::default()).unwrap_err();
    assert_eq!(error.problem, FileProblem::TooManySeries);
}
