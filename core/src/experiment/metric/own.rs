//! Own metrics: what a plan finds in the output of a run. Each match is the value of one iteration, the lowest level of
//! the experiment's hierarchy, and they stay in the order in which the program wrote them.
//!
//! A run whose output has no value where one was expected has failed, as one with wrong output: a program that fell
//! silent must not look like one that is fast.

use regex::bytes::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::pointer;
use crate::experiment::excerpt;

/// Most own metrics of an experiment: each reads the whole output of each run.
pub const MAX_OWN_METRICS: usize = 64;
/// Most values of one run, all own metrics together: with the output that is kept they have to fit a message.
pub const MAX_SERIES_VALUES: usize = 100_000;
/// Largest stream from which values are read: it is in memory while it is read.
pub const MAX_READ_BYTES: u64 = 256 << 20;
/// Longest pattern.
pub const MAX_PATTERN_BYTES: usize = 4_096;
/// Longest unit: it stands in headings.
pub const MAX_OWN_UNIT_BYTES: usize = 32;
/// Largest compiled regular expression, in bytes: `\w{1000}` alone has several megabytes.
const MAX_REGEX_BYTES: usize = 1 << 20;
/// Most memory of the automaton that searches, in bytes: it is built anew when it is full, which costs time alone.
const MAX_AUTOMATON_BYTES: usize = 2 << 20;

/// A metric whose values the program writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnMetric {
    pub name: String,
    pub pattern: Pattern,
    pub from: Stream,
    /// The unit of its values, as people read it; may be empty.
    pub unit: String,
    pub better: Better,
}

crate::words! {
    /// How the values of an own metric are found.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Pattern {
        /// A regular expression with one group: what the group matches is a value, wherever it matches.
        Regex(String) = "regex",
        /// A JSON pointer (RFC 6901) to a number or an array of numbers; the stream is one JSON document.
        Pointer(String) = "pointer",
        /// A benchmark of a Google Benchmark report in JSON, by its name; after a colon the counter.
        GoogleBenchmark(String) = "google_benchmark",
        /// A benchmark of a report in Go's benchmark text, by its name; after a colon the unit.
        Go(String) = "go",
    }
    /// Its key in plan files.
    fn key(&self);
}

/// A tool whose report holds values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// Google Benchmark, in JSON.
    GoogleBenchmark,
    Go,
}

/// What is wanted of the report of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted<'p> {
    pub tool: Tool,
    /// The benchmark, and after a colon what of it.
    pub text: &'p str,
}

/// A stream of output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// Standard output.
    #[default]
    Stdout,
    /// Standard error.
    Stderr,
}

/// Which values are good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Small ones.
    #[default]
    Lower,
    /// Large ones.
    Higher,
}

/// Why a pattern is none.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OwnMetricError {
    #[error("the pattern is empty")]
    Empty,
    #[error("the pattern has {bytes} bytes, but at most {MAX_PATTERN_BYTES} are allowed")]
    TooLong { bytes: usize },
    #[error("this is not a regular expression: {cause}")]
    Regex { cause: String },
    /// A regular expression that matches nothing in particular.
    #[error("the regular expression has {groups} capture groups instead of one")]
    Groups { groups: usize },
    #[error("{0:?} is not a JSON pointer")]
    Pointer(String),
}

/// Why a run has no values of an own metric.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ValueError {
    #[error("nothing in the output matches")]
    NotFound,
    #[error("{text:?} is not a number")]
    NoNumber { text: String },
    /// A number that nothing can be concluded from.
    #[error("{text} is not a finite number")]
    NotFinite { text: String },
    #[error("more than {MAX_SERIES_VALUES} values in one run")]
    TooMany,
    #[error("the output is not JSON: {cause}")]
    Json { cause: String },
    #[error("the output is not of the tool: {cause}")]
    Format { cause: String },
    #[error(transparent)]
    Pattern(#[from] OwnMetricError),
}

impl Pattern {
    /// Its text.
    pub fn text(&self) -> &str {
        match self {
            Self::Regex(text) | Self::Pointer(text) | Self::GoogleBenchmark(text) | Self::Go(text) => text,
        }
    }

    /// Whether it is one.
    ///
    /// # Errors
    /// [`OwnMetricError`] says what is wrong with it.
    pub fn check(&self) -> Result<(), OwnMetricError> {
        let bytes = self.text().len();
        if bytes > MAX_PATTERN_BYTES {
            return Err(OwnMetricError::TooLong { bytes });
        }
        match self {
            Self::Regex(text) => compile(text).map(drop),
            Self::Pointer(text) if pointer::is_pointer(text) => Ok(()),
            Self::Pointer(text) => Err(OwnMetricError::Pointer(excerpt(text))),
            Self::GoogleBenchmark(text) | Self::Go(text) if text.is_empty() => Err(OwnMetricError::Empty),
            Self::GoogleBenchmark(_) | Self::Go(_) => Ok(()),
        }
    }

    /// The values in a stream, in its order: at least one, all finite, at most [`MAX_SERIES_VALUES`]. The reports of
    /// other tools are read by `read_report`, for their formats are not known here.
    ///
    /// # Errors
    /// [`ValueError`] when there are none, or one is not a finite number.
    pub fn values(
        &self,
        stream: &[u8],
        read_report: impl FnOnce(Wanted<'_>, &[u8]) -> Result<Vec<f64>, ValueError>,
    ) -> Result<Vec<f64>, ValueError> {
        let values = match self {
            Self::Regex(text) => matches(&compile(text)?, stream)?,
            Self::Pointer(text) => pointer::numbers(stream, text)?,
            Self::GoogleBenchmark(text) => read_report(Wanted { tool: Tool::GoogleBenchmark, text }, stream)?,
            Self::Go(text) => read_report(Wanted { tool: Tool::Go, text }, stream)?,
        };
        if values.is_empty() {
            return Err(ValueError::NotFound);
        }
        if values.len() > MAX_SERIES_VALUES {
            return Err(ValueError::TooMany);
        }
        match values.iter().find(|value| !value.is_finite()) {
            Some(value) => Err(ValueError::NotFinite { text: value.to_string() }),
            None => Ok(values),
        }
    }
}

impl ValueError {
    pub(super) fn no_number(text: &str) -> Self {
        Self::NoNumber { text: excerpt(text) }
    }
}

impl OwnMetricError {
    /// What the author of the plan can do about it.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Empty => "name the benchmark as the tool prints it",
            Self::TooLong { .. } => "match less: only what stands next to the value",
            Self::Regex { .. } => {
                "the syntax is that of https://docs.rs/regex; in TOML write it in single quotes: 'time: ([0-9.]+)'"
            }
            Self::Groups { .. } => "put parentheses around the number, and (?:…) around what else is grouped",
            Self::Pointer(_) => {
                "a pointer is names after slashes, \"/results/0/time\"; ~1 stands for a slash in a name, ~0 for ~"
            }
        }
    }
}

/// `^` and `$` match at every line, as in `grep`.
fn compile(text: &str) -> Result<Regex, OwnMetricError> {
    let built = RegexBuilder::new(text)
        .multi_line(true)
        .size_limit(MAX_REGEX_BYTES)
        .dfa_size_limit(MAX_AUTOMATON_BYTES)
        .build();
    let regex = built.map_err(|error| OwnMetricError::Regex { cause: last_line(&error.to_string()) })?;
    match regex.captures_len() - 1 {
        1 => Ok(regex),
        groups => Err(OwnMetricError::Groups { groups }),
    }
}

/// The crate's messages draw the expression over several lines; the last says what is wrong.
fn last_line(message: &str) -> String {
    let line = message.lines().last().unwrap_or_default();
    line.trim().trim_start_matches("error: ").to_owned()
}

fn matches(regex: &Regex, stream: &[u8]) -> Result<Vec<f64>, ValueError> {
    let mut values = Vec::new();
    for captures in regex.captures_iter(stream) {
        // An optional group may be left out of a match.
        let text = captures.get(1).map_or(&b""[..], |group| group.as_bytes());
        let text = String::from_utf8_lossy(text);
        let value = text.trim().parse::<f64>().map_err(|_| ValueError::no_number(&text))?;
        values.push(value);
        if values.len() > MAX_SERIES_VALUES {
            return Err(ValueError::TooMany);
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The values of a pattern that is not about a report.
    fn found(pattern: &Pattern, stream: &[u8]) -> Result<Vec<f64>, ValueError> {
        pattern.values(stream, |wanted, _| panic!("{wanted:?}"))
    }

    fn regex(text: &str) -> Pattern {
        Pattern::Regex(text.to_owned())
    }

    fn pointer(text: &str) -> Pattern {
        Pattern::Pointer(text.to_owned())
    }

    #[test]
    fn every_match_is_a_value_in_the_order_of_the_stream() {
        let text = b"warm\ntime: 3.5 ms\ntime: 1e-3 ms\nother: 7\ntime:  -2 ms\n";
        assert_eq!(found(&regex(r"time: +(\S+)"), text), Ok(vec![3.5, 1e-3, -2.0]));
        assert_eq!(found(&regex(r"^other: (\d+)$"), text), Ok(vec![7.0]));
        assert_eq!(
            regex(r"(?:time|other): +([0-9.]+)( ms)?").check(),
            Err(OwnMetricError::Groups { groups: 2 })
        );
    }

    #[test]
    fn bytes_that_are_no_text_are_searched_too() {
        assert_eq!(found(&regex(r"t=(\d+)"), b"\xff\x00t=5\xfe t=6"), Ok(vec![5.0, 6.0]));
    }

    #[test]
    fn what_is_no_value_is_named() {
        let no_number = |text: &str| Err(ValueError::NoNumber { text: text.to_owned() });
        assert_eq!(found(&regex("t=(.*)"), b"nothing"), Err(ValueError::NotFound));
        assert_eq!(found(&regex("t=(.*)"), b""), Err(ValueError::NotFound));
        assert_eq!(found(&regex("t=(.*)"), b"t=1,5"), no_number("1,5"));
        assert_eq!(found(&regex("t=(x)?"), b"t="), no_number(""));
        let not_finite = |text: &str| Err(ValueError::NotFinite { text: text.to_owned() });
        assert_eq!(found(&regex("t=(.*)"), b"t=nan"), not_finite("NaN"));
        assert_eq!(found(&regex("t=(.*)"), b"t=1e999"), not_finite("inf"));
        assert_eq!(found(&regex("(1)"), &b"1".repeat(MAX_SERIES_VALUES + 1)), Err(ValueError::TooMany));
        assert_eq!(
            found(&regex("(1)"), &b"1".repeat(MAX_SERIES_VALUES)).map(|all| all.len()),
            Ok(MAX_SERIES_VALUES)
        );
    }

    #[test]
    fn a_pointer_leads_to_a_number_or_to_numbers() {
        let text =
            br#"{"results": [{"times": [0.5, 2, 1e3], "mean": 1.5, "name": "x", "a/b": -4, "none": []}]}"#;
        assert_eq!(found(&pointer("/results/0/times"), text), Ok(vec![0.5, 2.0, 1000.0]));
        assert_eq!(found(&pointer("/results/0/mean"), text), Ok(vec![1.5]));
        assert_eq!(found(&pointer("/results/0/a~1b"), text), Ok(vec![-4.0]));
        assert_eq!(found(&pointer(""), b" 12 \n"), Ok(vec![12.0]));
        assert_eq!(found(&pointer("/results/1/times"), text), Err(ValueError::NotFound));
        assert_eq!(found(&pointer("/results/0/none"), text), Err(ValueError::NotFound));
        let no_number = |text: &str| Err(ValueError::NoNumber { text: text.to_owned() });
        assert_eq!(found(&pointer("/results/0/name"), text), no_number("\"x\""));
        assert_eq!(found(&pointer("/results"), text), no_number("an object"));
        assert!(matches!(found(&pointer("/a"), b"a: 1"), Err(ValueError::Json { .. })));
        assert!(matches!(found(&pointer("/a"), br#"{"a": 1e999}"#), Err(ValueError::Json { .. })));
    }

    #[test]
    fn a_pattern_that_is_none_is_refused_with_a_hint() {
        let errors = [
            (regex("t=("), "Regex { cause: \"unclosed group"),
            (regex(r"(\w{500000})"), "Regex { cause: \"Compiled"),
            (regex("time"), "Groups { groups: 0 }"),
            (pointer("a/b"), "Pointer(\"a/b\")"),
            (pointer("/a~2"), "Pointer(\"/a~2\")"),
            (Pattern::Go(String::new()), "Empty"),
            (pointer(&"/".repeat(MAX_PATTERN_BYTES + 1)), "TooLong { bytes: 4097 }"),
        ];
        for (pattern, expected) in errors {
            let error = pattern.check().unwrap_err();
            assert!(format!("{error:?}").starts_with(expected), "{error:?}");
            assert!(!error.hint().is_empty());
        }
    }

    proptest! {
        #[test]
        fn any_stream_gives_finite_values_or_a_reason(
            stream in prop::collection::vec(any::<u8>(), 0..200),
            pattern in prop_oneof![
                ".{0,12}".prop_map(|text| Pattern::Regex(format!("({text})"))),
                Just(regex(r"([-+.eE\d]+|inf|nan)")),
                "(/[a-z0-9~]{0,3}){0,3}".prop_map(Pattern::Pointer),
            ],
        ) {
            if let Ok(values) = found(&pattern, &stream) {
                prop_assert!(!values.is_empty() && values.iter().all(|value| value.is_finite()));
            }
        }

        #[test]
        fn what_is_written_is_read(written in prop::collection::vec(any::<f64>().prop_filter("finite", |x| x.is_finite()), 1..20)) {
            let text: String = written.iter().map(|value| format!("v={value:?};\n")).collect();
            prop_assert_eq!(found(&regex("v=(.*);"), text.as_bytes()), Ok(written.clone()));
            let json = serde_json::to_vec(&serde_json::json!({ "v": written })).unwrap();
            prop_assert_eq!(found(&pointer("/v"), &json), Ok(written));
        }
    }
}
