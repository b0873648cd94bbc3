//! What a file is, by its contents.

use crate::{
    Columns, Format, bounds::MAX_COLUMNS, cargo_bench, criterion, go, google_benchmark::console,
    google_benchmark::csv, layout, options::VALUE, plain, rebench, table, text, text_table,
};
use std::collections::BTreeSet;

/// How much of a file is looked at.
const LOOKED_AT_BYTES: usize = 8 << 20;

/// Contents of which no format can be told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DetectError {
    #[error("the contents look like none of the known formats")]
    Unknown,
    #[error("the contents look like {first} and like {second}")]
    Several { first: Format, second: Format },
}

impl DetectError {
    /// What the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unknown => {
                "the page of the guide on `compare` has the tools and formats that are read: name the format if it is one of these, or \
                    write CSV with a header, JSON lines, or one number per line"
            }
            Self::Several { .. } => "give each tool's output in a file of its own, or name the format",
        }
    }
}

/// The format that the contents look like. Damaged files are recognised too, so that reading them can say where the damage
/// is; whether the file can be read, only [`crate::read`] knows.
///
/// # Errors
/// Contents that look like none of the formats, or like several.
pub fn detect(bytes: &[u8]) -> Result<Format, DetectError> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        // UTF-16, which the reader refuses with what to do: programs of Windows write tables and numbers so.
        return Ok(Format::Csv);
    }
    let looked_at = text::beginning(bytes, LOOKED_AT_BYTES);
    let text = String::from_utf8_lossy(&looked_at);
    let text = text::without_colors(&text);
    let text = layout::without_assignment(text.trim_start_matches('\u{feff}').trim_start());
    match text.chars().next() {
        // Programs may say something in brackets before what a tool prints.
        Some('{' | '[') => detect_json(text).or_else(|error| detect_lines(text).map_err(|_| error)),
        None => Err(DetectError::Unknown),
        Some('<') if text.contains("<BenchmarkResults ") => Ok(Format::Catch2),
        Some(_) => detect_lines(text),
    }
}

/// The keys that identify each tool's JSON: all are required, each as a path with alternatives separated by `|`, in which `[]` matches
/// any array element and `*` any object member. A key that several tools share is not sufficient.
const JSON_MARKS: [(Format, &[&str]); 30] = [
    (Format::Hyperfine1, &["results.[].command", "results.[].times|results.[].mean"]),
    (Format::Hyperfine2, &["schema_version", "primary_metric"]),
    (Format::GoogleBenchmark, &["benchmarks.[].name", "context|benchmarks.[].real_time"]),
    (Format::PytestBenchmark, &["machine_info", "benchmarks.[].stats"]),
    (Format::Asv, &["commit_hash", "requirements", "results"]),
    (Format::Jmh, &["[].benchmark", "[].primaryMetric"]),
    (Format::BenchmarkDotNet, &["HostEnvironmentInfo", "Benchmarks"]),
    (Format::Pyperf, &["benchmarks.[].runs"]),
    (Format::CriterionSample, &["iters", "times"]),
    (Format::CriterionEstimates, &["median_abs_dev", "mean.confidence_interval"]),
    (Format::CriterionEstimates, &["MedianAbsDev", "Mean.confidence_interval"]),
    (Format::CargoCriterion, &["reason", "measured_values"]),
    (Format::GoEvents, &["Action", "Package"]),
    (Format::Nanobench, &["results.[].name", "results.[].measurements.[].elapsed"]),
    (Format::Vitest, &["files.[].groups.[].fullName", "files.[].groups.[].benchmarks"]),
    (Format::BenchmarkTools, &["[].Julia", "[].BenchmarkTools"]),
    (Format::GithubBenchmarkHistory, &["entries.*.[].benches.[].value", "entries.*.[].commit.id"]),
    (Format::GithubBenchmark, &["[].name", "[].unit", "[].value"]),
    (Format::Fio, &["fio version", "jobs.[].jobname"]),
    (Format::Caliper, &["columns", "column_metadata", "nodes.[].label"]),
    (Format::LlamaBench, &["[].samples_ns", "[].model_type"]),
    (Format::LlamaBench, &["samples_ns", "model_type"]),
    (Format::Vllm, &["avg_latency", "latencies"]),
    (Format::Vllm, &["requests_per_second", "tokens_per_second"]),
    (Format::Vllm, &["request_throughput", "model_id"]),
    (Format::Aiperf, &["request_latency.avg", "request_throughput.avg"]),
    (Format::NvBench, &["benchmarks.[].states.[].summaries", "benchmarks.[].states.[].is_skipped"]),
    (Format::Renaissance, &["format_version", "data.*.results"]),
    (Format::KernelBenchBaseline, &["*.*.mean", "*.*.num_trials"]),
    (Format::KernelBenchEvaluation, &["*.[].compiled", "*.[].correctness"]),
];

/// Fallbacks for JSON without any tool's keys, tried in this order: our own lines, which may have any other field, and Bencher's
/// measures, whose names are arbitrary.
const LOOSE_MARKS: [(Format, &str); 2] = [(Format::JsonLines, "value"), (Format::Bencher, "*.*.value")];

/// By the keys of objects and arrays.
fn detect_json(text: &str) -> Result<Format, DetectError> {
    let paths = key_paths(text);
    let mut formats: Vec<Format> = Vec::new();
    for (format, marks) in JSON_MARKS {
        if !formats.contains(&format) && marks.iter().all(|mark| is_there(&paths, mark)) {
            formats.push(format);
        }
    }
    match formats[..] {
        [] => {}
        [format] => return Ok(format),
        [first, second, ..] => return Err(DetectError::Several { first, second }),
    }
    for (format, mark) in LOOSE_MARKS {
        if is_there(&paths, mark) {
            return Ok(format);
        }
    }
    // For files without marks of their own, the contents decide.
    if criterion::looks_like_old_sample(text) {
        Ok(Format::CriterionSample)
    } else if text.lines().filter(|line| line.starts_with('{')).count() > 1 {
        Ok(Format::JsonLines)
    } else {
        Err(DetectError::Unknown)
    }
}

/// Whether a path is one that a mark means.
fn is_marked(path: &[&str], mark: &str) -> bool {
    let mut steps = mark.split('.').zip(path);
    let are_same = steps.all(|(mark, step)| mark == *step || mark == "*" && *step != ELEMENT);
    are_same && mark.split('.').count() == path.len()
}

/// The step into an element of an array.
const ELEMENT: &str = "[]";

/// The ways to the keys of all JSON texts of a file, without reading what they hold: damage behind them does not matter.
fn key_paths(text: &str) -> BTreeSet<Vec<&str>> {
    const MAX_PATHS: usize = 4_096;
    const MAX_STEPS: usize = 8;
    let mut paths = BTreeSet::new();
    // The steps to the innermost array or object that is open, each its own last one.
    let mut steps: Vec<&str> = Vec::new();
    let mut last_string = "";
    let mut at = 0;
    while let Some(found) = text[at..].find(['"', '{', '[', '}', ']', ':']) {
        at += found + 1;
        match text.as_bytes()[at - 1] {
            b'"' => {
                let Some(length) = length_of_string(&text[at..]) else { break };
                last_string = &text[at..at + length];
                at += length + 1;
            }
            b'{' => steps.push(""),
            b'[' => steps.push(ELEMENT),
            b':' => {
                if let Some(step) = steps.last_mut() {
                    *step = last_string;
                }
                if steps.len() <= MAX_STEPS && paths.len() < MAX_PATHS && !paths.contains(&steps) {
                    paths.insert(steps.clone());
                }
            }
            _ => {
                steps.pop();
            }
        }
    }
    paths
}

/// Where the string ends that a text begins inside.
fn length_of_string(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    })
}

/// Headers of tables of summaries, by words that no other has together.
pub(crate) const SUMMARIES: [(&[&str], Format); 7] = [
    (&["benchmark", "name", "samples", "iterations"], Format::Catch2),
    (&["Benchmark", "Mode", "Score", "Units"], Format::Jmh),
    (&["Benchmark", "Mode", "Samples", "Score", "Unit"], Format::Jmh),
    (&["Method", "Job", "Mean", "Error", "StdDev"], Format::BenchmarkDotNet),
    (&["name", "mean", "median", "iqr", "rounds"], Format::PytestBenchmark),
    (&["command", "mean", "stddev", "median"], Format::HyperfineCsv),
    (&["command", "time_wall_clock_mean"], Format::HyperfineCsv),
];

/// Headers of tables of values.
const TABLES: [(&[&str], Format); 3] = [
    (&["group", "function", "sample_measured_value", "iteration_count"], Format::CriterionRaw),
    (&["group", "function", "sample_time_nanos", "iteration_count"], Format::CriterionRaw),
    (&["result", "job_completion_time", "name"], Format::ReFrame),
];

/// The format whose header is a line of the text: it begins with the first of its words and has all of them.
pub(crate) fn find_header(text: &str, headers: &[(&[&str], Format)]) -> Option<Format> {
    for line in text.lines() {
        let line = line.trim_start_matches('"');
        for (words, format) in headers {
            if line.starts_with(words[0]) {
                let found: Vec<&str> =
                    line.split([' ', ',', ';', '\t', '|', '"']).take(MAX_COLUMNS).collect();
                if words.iter().all(|word| found.contains(word)) {
                    return Some(*format);
                }
            }
        }
    }
    None
}

/// Whether one of the marks, which `|` separates, is among the paths.
fn is_there(paths: &BTreeSet<Vec<&str>>, marks: &str) -> bool {
    marks.split('|').any(|mark| paths.iter().any(|path| is_marked(path, mark)))
}

type TextTest = fn(&str) -> bool;

/// How to recognise the results that a tool prints.
const PRINTED: [(TextTest, Format); 5] = [
    (|text| text.lines().any(rebench::begins_data), Format::ReBench),
    (|text| text.lines().any(go::is_result), Format::Go),
    (|text| text.lines().any(console::is_header), Format::GoogleBenchmarkConsole),
    (|text| csv::begin_of_table(text).is_some(), Format::GoogleBenchmarkCsv),
    (|text| text.lines().any(cargo_bench::is_estimate), Format::CargoBench),
];

/// By what lines of a text look like. Two tools' outputs in one file are refused.
fn detect_lines(text: &str) -> Result<Format, DetectError> {
    let mut printed = Vec::new();
    for (looks_so, format) in PRINTED {
        if looks_so(text) {
            printed.push(format);
        }
    }
    printed.extend(text_table::LAYOUTS.iter().filter(|layout| layout.fits(text)).map(|layout| layout.format));
    printed.extend(find_header(text, &SUMMARIES));
    printed.extend(find_header(text, &TABLES));
    match printed[..] {
        [] => {}
        [format] => return Ok(format),
        [first, second, ..] => return Err(DetectError::Several { first, second }),
    }
    // Numbers and tables stand in many files, so they are tried after the formats with marks of their own.
    if plain::looks_plain(text) {
        return Ok(Format::Plain);
    }
    if is_our_table(text) {
        return Ok(Format::Csv);
    }
    if text.lines().any(|line| go::failure(line).is_some() || line.starts_with("FAIL\t")) {
        Ok(Format::Go)
    } else {
        Err(DetectError::Unknown)
    }
}

/// Whether the header of a table has our words. One alone can be another tool's, so that there are numbers has to be seen then.
fn is_our_table(text: &str) -> bool {
    let Ok((header, mut rows)) = table::open(text) else { return false };
    let usual = Columns::default();
    let names = header.names().map(|(_, name)| name);
    let known = names.filter(|name| *name == VALUE || usual.names(name) || table::unit_in(name).is_some());
    let known = known.count();
    let Some(Ok(first)) = rows.next() else { return false };
    known > 1 || known > 0 && first.0.iter().any(table::looks_like_number)
}
