//! What a file is, by its contents.

use crate::format::Format;
use crate::{columns, criterion, go, gzip, plain};

/// How much of a file is looked at.
const LOOKED_AT_BYTES: usize = 1 << 20;

/// Contents that look like none of the formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the contents look like none of the known formats")]
pub struct DetectError;

impl DetectError {
    /// What the user can do about it.
    pub fn hint(&self) -> &'static str {
        "name the format, if it is one of hyperfine, Google Benchmark, pyperf, criterion, Go benchmark text, \
            ReBench, CSV with a header, JSON lines, or one number per line"
    }
}

/// The format that the contents look like. Damaged files are recognised too, so that reading them can say where the damage
/// is; whether the file can be read, only [`crate::read`] knows.
///
/// # Errors
/// Contents that look like none of the formats.
pub fn detect(bytes: &[u8]) -> Result<Format, DetectError> {
    if gzip::is_packed(bytes) {
        return Ok(Format::Pyperf);
    }
    let looked_at = &bytes[..bytes.len().min(LOOKED_AT_BYTES)];
    let text = String::from_utf8_lossy(looked_at);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    match text.chars().next() {
        Some('{') => of_object(text, bytes.len() > looked_at.len()),
        Some('[') => criterion::looks_like_old_sample(text).then_some(Format::CriterionSample),
        Some(_) => of_lines(text),
        None => None,
    }
    .ok_or(DetectError)
}

/// By the keys of the outermost object.
fn of_object(text: &str, is_cut: bool) -> Option<Format> {
    let keys = outermost_keys(text);
    let has = |key: &str| keys.contains(&key);
    let several_objects = || text.lines().filter(|line| line.starts_with('{')).count() > 1;
    if has("reason") {
        Some(Format::CargoCriterion)
    } else if has("schema_version") || has("primary_metric") {
        Some(Format::Hyperfine2)
    } else if has("results") {
        Some(Format::Hyperfine1)
    } else if has("context") {
        Some(Format::GoogleBenchmark)
    } else if has("benchmarks") && (has("version") || is_cut || text.contains("\"runs\"")) {
        Some(Format::Pyperf)
    } else if has("benchmarks") {
        Some(Format::GoogleBenchmark)
    } else if has("iters") || has("sampling_mode") {
        Some(Format::CriterionSample)
    } else if has("median_abs_dev") || has("MedianAbsDev") {
        Some(Format::CriterionEstimates)
    } else if has("value") || several_objects() {
        Some(Format::JsonLines)
    } else {
        None
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

fn of_lines(text: &str) -> Option<Format> {
    if text.starts_with("#!") || text.lines().any(|line| line.starts_with("invocation\titeration\t")) {
        return Some(Format::ReBench);
    }
    if text.lines().any(go::is_result) {
        return Some(Format::Go);
    }
    if plain::looks_plain(text) {
        return Some(Format::Plain);
    }
    let header: Vec<&str> = text.lines().next()?.split(',').map(|field| field.trim_matches('"')).collect();
    if header.contains(&"sample_measured_value") {
        Some(Format::CriterionRaw)
    } else if header.first() == Some(&"command") && header.iter().any(|field| field.ends_with("mean")) {
        Some(Format::HyperfineCsv)
    } else if header.iter().any(|field| columns::is_usual_column(field)) {
        Some(Format::Csv)
    } else if text.lines().any(go::is_failure) {
        Some(Format::Go)
    } else {
        None
    }
}
