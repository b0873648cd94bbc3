//! What a file is, by its contents.

use crate::{
    bounds::MAX_COLUMNS, cargo_bench, criterion, format::Format, go, google_benchmark, jmh, options::Columns,
    options::VALUE, plain, rebench, table, table::Header, text, text_table,
};

/// How much of a file is looked at.
const LOOKED_AT_BYTES: usize = 1 << 20;

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
                "name the format, if it is one of hyperfine, Google Benchmark, pyperf, pytest-benchmark, asv, criterion, cargo bench, \
                    JMH, Go benchmark text, BenchmarkDotNet, ReBench, ReFrame, IOR, HPL, the NCCL tests, the OSU micro-benchmarks, \
                    CSV with a header, JSON lines, or one number per line"
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
    let looked_at = text::beginning(bytes, LOOKED_AT_BYTES);
    let is_cut = looked_at.len() == LOOKED_AT_BYTES;
    let text = String::from_utf8_lossy(&looked_at);
    let text = text::without_colors(&text);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    match text.chars().next() {
        Some('{') => of_object(text, is_cut),
        Some('[') if criterion::looks_like_old_sample(text) => Ok(Format::CriterionSample),
        Some('[') if jmh::looks_like_results(text) => Ok(Format::Jmh),
        Some('[') | None => Err(DetectError::Unknown),
        Some('<') if text.contains("<BenchmarkResults ") => Ok(Format::Catch2),
        Some(_) => of_lines(text),
    }
}

/// What is asked of an object to be a format's: keys, of which one is enough.
const OBJECTS: [(&[&str], Format); 9] = [
    (&["reason"], Format::CargoCriterion),
    (&["Action"], Format::GoEvents),
    (&["HostEnvironmentInfo"], Format::BenchmarkDotNet),
    (&["machine_info", "commit_info"], Format::PytestBenchmark),
    (&["result_columns", "commit_hash"], Format::Asv),
    (&["schema_version", "primary_metric"], Format::Hyperfine2),
    (&["context"], Format::GoogleBenchmark),
    (&["iters", "sampling_mode"], Format::CriterionSample),
    (&["value"], Format::JsonLines),
];

/// By the keys of the outermost object.
fn of_object(text: &str, is_cut: bool) -> Result<Format, DetectError> {
    let keys = outermost_keys(text);
    let has = |key: &str| keys.contains(&key);
    // A line of measured values may have any keys beside its value.
    let is_line = has("value") && !has("results") && !has("benchmarks");
    let marked =
        OBJECTS.iter().filter(|(marks, _)| marks.iter().any(|mark| has(mark))).map(|(_, format)| *format);
    let mut marked = marked.filter(|format| is_line == (*format == Format::JsonLines));
    if let Some(first) = marked.next() {
        return marked.next().map_or(Ok(first), |second| Err(DetectError::Several { first, second }));
    }
    let several_objects = || text.lines().filter(|line| line.starts_with('{')).count() > 1;
    if has("results") && has("benchmarks") {
        Err(DetectError::Several { first: Format::Hyperfine1, second: Format::Pyperf })
    } else if has("results") {
        Ok(Format::Hyperfine1)
    } else if has("benchmarks") && (has("version") || is_cut || text.contains("\"runs\"")) {
        Ok(Format::Pyperf)
    } else if has("benchmarks") {
        Ok(Format::GoogleBenchmark)
    } else if has("median_abs_dev") || has("MedianAbsDev") {
        Ok(Format::CriterionEstimates)
    } else if several_objects() {
        Ok(Format::JsonLines)
    } else {
        Err(DetectError::Unknown)
    }
}

/// The keys of the first object, without reading what it holds: damage behind them does not matter.
fn outermost_keys(text: &str) -> Vec<&str> {
    const MAX_KEYS: usize = 64;
    let mut keys = Vec::new();
    let (mut depth, mut string_start, mut escaped) = (0_usize, None, false);
    let mut last_string = None;
    for (at, byte) in text.bytes().enumerate() {
        if let Some(start) = string_start {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    last_string = Some(&text[start..at]);
                    string_start = None;
                }
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => string_start = Some(at + 1),
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    break;
                }
            }
            b':' if depth == 1 => keys.extend(last_string.take()),
            _ => {}
        }
        if keys.len() == MAX_KEYS {
            break;
        }
    }
    keys
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
                let found = line.split([' ', ',', ';', '\t', '|', '"']).take(MAX_COLUMNS);
                let found: Vec<&str> = found.collect();
                if words.iter().all(|word| found.contains(word)) {
                    return Some(*format);
                }
            }
        }
    }
    None
}

/// By what lines of a text look like. Two tools' outputs in one file are refused.
fn of_lines(text: &str) -> Result<Format, DetectError> {
    let printed = [
        (text.lines().any(rebench::begins_data), Format::ReBench),
        (text.lines().any(go::is_result), Format::Go),
        (google_benchmark::looks_like_console(text), Format::GoogleBenchmarkConsole),
        (google_benchmark::begin_of_table(text).is_some(), Format::GoogleBenchmarkCsv),
        (text.lines().any(cargo_bench::is_estimate), Format::CargoBench),
    ];
    let printed = printed.into_iter().filter(|(looks, _)| *looks).map(|(_, format)| format);
    let tables = text_table::LAYOUTS.iter().filter(|layout| layout.fits(text)).map(|layout| layout.format);
    let headers = [find_header(text, &SUMMARIES), find_header(text, &TABLES)];
    let mut printed = printed.chain(tables).chain(headers.into_iter().flatten());
    if let Some(first) = printed.next() {
        return printed.next().map_or(Ok(first), |second| Err(DetectError::Several { first, second }));
    }
    if plain::looks_plain(text) {
        return Ok(Format::Plain);
    }
    if is_our_table(text) {
        return Ok(Format::Csv);
    }
    if text.lines().any(go::is_failure) { Ok(Format::Go) } else { Err(DetectError::Unknown) }
}

/// Whether the header of a table has our words. One alone can be another tool's, so that there are numbers has to be seen then.
fn is_our_table(text: &str) -> bool {
    let mut rows = table::rows(text);
    let Ok(header) = Header::of(&mut rows) else { return false };
    let usual = Columns::default();
    let mut known = 0;
    for (_, name) in header.names() {
        known += usize::from(name == VALUE || usual.names(name) || table::unit_in(name).is_some());
    }
    let Some(Ok(first)) = rows.next() else { return false };
    known > 1 || known > 0 && first.iter().any(table::looks_like_number)
}
