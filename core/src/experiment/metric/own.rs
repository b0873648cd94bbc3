//! Own metrics: what a plan finds in the output of a run. Each match is the value of one iteration, the lowest level of
//! the experiment's hierarchy, and they stay in the order in which the program wrote them.
//!
//! A run whose output has no value where one was expected has failed, as one with wrong output: a program that fell
//! silent must not look like one that is fast.

mod pointer;
mod quantity;

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::value::excerpt::excerpt;

/// Most own metrics of an experiment: each reads the whole output of each run.
pub const MAX_OWN_METRICS: usize = 64;
/// Most values of one run, all own metrics together: with the output that is kept they have to fit a message.
pub const MAX_SERIES_VALUES: usize = 100_000;
/// Largest stream from which values are read: it is in memory while it is read.
pub(crate) const MAX_READ_BYTES: u64 = 256 << 20;
/// Longest pattern.
pub(crate) const MAX_PATTERN_BYTES: usize = 4_096;
/// Longest unit: it stands in headings.
pub(crate) const MAX_OWN_UNIT_BYTES: usize = 32;
/// Largest compiled regular expression, in bytes: `\w{1000}` alone has several megabytes.
const MAX_REGEX_BYTES: usize = 1 << 20;
/// Most memory of the automaton that searches, in bytes: it is built anew when it is full, which costs time alone.
const MAX_AUTOMATON_BYTES: usize = 2 << 20;

/// The group of a regular expression that matches a value, where there are two.
const VALUE: &str = "value";
/// The one that matches its unit.
const UNIT: &str = "unit";

/// An escape sequence of a terminal (ECMA-48): colours and the cursor, and what sets a title or a link.
static SEQUENCE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]+[0-~])")
        .expect("a regular expression")
});

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
        /// A regular expression with one group: what the group matches is a value, wherever it matches. Or with two,
        /// `value` and `unit`.
        Regex(String) = "regex",
        /// A JSON pointer (RFC 6901) to a number or an array of numbers, in each JSON document of the stream that has it.
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
    /// A unit is read that can be converted into none.
    #[error("the regular expression reads a unit, and the metric declares none")]
    NoUnit,
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
    #[error("a value in {written:?} cannot be converted into the unit of the metric, {declared:?}")]
    Unit { written: String, declared: String },
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

    /// Checks it as the pattern of a metric with this unit.
    ///
    /// # Errors
    /// [`OwnMetricError`] says what is wrong with it.
    pub fn check(&self, unit: &str) -> Result<(), OwnMetricError> {
        let bytes = self.text().len();
        if bytes > MAX_PATTERN_BYTES {
            return Err(OwnMetricError::TooLong { bytes });
        }
        match self {
            Self::Regex(text) => match compile(text)?.captures_len() {
                3 if unit.is_empty() => Err(OwnMetricError::NoUnit),
                _ => Ok(()),
            },
            Self::Pointer(text) if pointer::is_pointer(text) => Ok(()),
            Self::Pointer(text) => Err(OwnMetricError::Pointer(excerpt(text))),
            Self::GoogleBenchmark(text) | Self::Go(text) if text.is_empty() => Err(OwnMetricError::Empty),
            Self::GoogleBenchmark(_) | Self::Go(_) => Ok(()),
        }
    }

    /// The values in a stream, in its order and in `unit`: at least one, all finite, at most [`MAX_SERIES_VALUES`]. The
    /// reports of other tools are read by `read_report`, for their formats are not known here.
    ///
    /// # Errors
    /// [`ValueError`] when there are none, or one is not a finite number.
    pub fn values(
        &self,
        unit: &str,
        stream: &[u8],
        read_report: impl FnOnce(Wanted<'_>, &[u8]) -> Result<Vec<f64>, ValueError>,
    ) -> Result<Vec<f64>, ValueError> {
        let stream = &*without_marks(stream);
        let values = match self {
            Self::Regex(text) => matches(&compile(text)?, unit, stream)?,
            Self::Pointer(text) => pointer::numbers(stream, text, unit)?,
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
    fn no_number(text: &str) -> Self {
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
            Self::Groups { .. } => {
                "put parentheses around the number, and (?:…) around what else is grouped; with the unit beside it: (?<value>[0-9.]+) (?<unit>ms|s)"
            }
            Self::NoUnit => "add the unit to convert to, such as unit = \"ms\"",
            Self::Pointer(_) => {
                "a pointer is names after slashes, \"/results/0/time\"; ~1 stands for a slash in a name, ~0 for ~"
            }
        }
    }
}

/// Compiles a regular expression. `^` and `$` match at every line, as in `grep`, whether it ends with LF or CR LF.
fn compile(text: &str) -> Result<Regex, OwnMetricError> {
    let built = RegexBuilder::new(text)
        .multi_line(true)
        .crlf(true)
        .size_limit(MAX_REGEX_BYTES)
        .dfa_size_limit(MAX_AUTOMATON_BYTES)
        .build();
    let regex = built.map_err(|error| OwnMetricError::Regex { cause: last_line(&error.to_string()) })?;
    let has_unit =
        [VALUE, UNIT].iter().all(|name| regex.capture_names().flatten().any(|other| other == *name));
    match regex.captures_len() - 1 {
        1 => Ok(regex),
        2 if has_unit => Ok(regex),
        groups => Err(OwnMetricError::Groups { groups }),
    }
}

/// The crate's messages draw the expression over several lines; the last says what is wrong.
fn last_line(message: &str) -> String {
    let line = message.lines().last().unwrap_or_default();
    line.trim().trim_start_matches("error: ").to_owned()
}

/// Removes what does not belong to the text of a stream: a byte order mark, and the sequences that colour a terminal.
fn without_marks(stream: &[u8]) -> Cow<'_, [u8]> {
    let text = stream.strip_prefix("\u{feff}".as_bytes()).unwrap_or(stream);
    SEQUENCE.replace_all(text, &b""[..])
}

fn matches(regex: &Regex, unit: &str, stream: &[u8]) -> Result<Vec<f64>, ValueError> {
    let mut values = Vec::new();
    for captures in regex.captures_iter(stream) {
        let value = captures.name(VALUE).or_else(|| captures.get(1));
        // An optional group may be left out of a match.
        let text = String::from_utf8_lossy(value.map_or(&b""[..], |group| group.as_bytes()));
        let written = captures.name(UNIT).map(|group| String::from_utf8_lossy(group.as_bytes()));
        values.push(quantity::read(&text, written.as_deref(), unit)?);
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

    /// The values of a pattern that is not about a report, in milliseconds.
    fn found(pattern: &Pattern, stream: &[u8]) -> Result<Vec<f64>, ValueError> {
        pattern.values("ms", stream, |wanted, _| panic!("{wanted:?}"))
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
            regex(r"(?:time|other): +([0-9.]+)( ms)?").check(""),
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
        assert_eq!(found(&pointer("/results/0/name"), text), no_number("x"));
        assert_eq!(found(&pointer("/results"), text), no_number("an object"));
        assert!(matches!(found(&pointer("/a"), b"a: 1"), Err(ValueError::Json { .. })));
        assert!(matches!(found(&pointer("/a"), br#"{"a": 1e999}"#), Err(ValueError::Json { .. })));
    }

    #[test]
    fn marks_line_ends_and_colours_are_no_part_of_a_stream() {
        assert_eq!(found(&pointer("/t"), b"\xef\xbb\xbf{\"t\": 12.5}\r\n"), Ok(vec![12.5]));
        assert_eq!(found(&regex(r"^t=(.*)$"), b"\xef\xbb\xbft=1\r\nt=2\r\n"), Ok(vec![1.0, 2.0]));
        assert_eq!(found(&regex(r"^t=(\d+)$"), b"10 %\rt=1\r\nt=2\r\n"), Ok(vec![1.0, 2.0]));
        let coloured = b"\x1b[1;32mt=\x1b[38;5;9m7\x1b[0m\n\x1b]8;;http://x\x1b\\t=8\x1b]8;;\x07\n";
        assert_eq!(found(&regex(r"^t=(\d+)$"), coloured), Ok(vec![7.0, 8.0]));
    }

    #[test]
    fn a_group_for_the_unit_converts_each_value() {
        let pattern = regex(r"(?<value>[\d.,]+) (?<unit>\w+)?$");
        assert_eq!(pattern.check("ms"), Ok(()));
        assert_eq!(found(&pattern, b"1.5 s\n250 us\n1,000 ms\n3 \n"), Ok(vec![1500.0, 0.25, 1000.0, 3.0]));
        let written = "MB".to_owned();
        assert_eq!(found(&pattern, b"2 MB"), Err(ValueError::Unit { written, declared: "ms".to_owned() }));
    }

    #[test]
    fn every_document_that_has_the_pointer_gives_its_values() {
        let t = |text: &str| found(&pointer("/t"), text.as_bytes());
        assert_eq!(
            t("{\"t\": 1}\n{\"level\": \"info\"}\n{\"t\": [2, \"1.5s\"]}\n"),
            Ok(vec![1.0, 2.0, 1500.0])
        );
        assert_eq!(t("[INFO] start\n{\n  \"t\": \"12.5\"\n}\ndone {x}\n"), Ok(vec![12.5]));
        assert_eq!(t("12:00 [x] result {\"t\": 4} {\"t\": 5}"), Ok(vec![4.0, 5.0]));
        assert_eq!(t("{\"level\": 1}\n{\"level\": 2}\n"), Err(ValueError::NotFound));
        // What is not finite is refused where it is a value, and only there.
        assert_eq!(t("{\"t\": 3, \"other\": NaN, \"text\": \"a \\\" NaN\"}"), Ok(vec![3.0]));
        assert_eq!(t("{\"t\": [1, -Infinity]}"), Err(ValueError::NotFinite { text: "-inf".to_owned() }));
        // The parts of a document with a fault are no documents.
        for broken in
            ["{\"a\":\n{\"t\": 5}", "{\"a\": {\"t\": 5}, x}", "[\n{\"t\": 5},\n{\"t\"", "at {\"t\": 5, "]
        {
            assert!(matches!(t(broken), Err(ValueError::Json { .. })), "{broken}: {:?}", t(broken));
        }
        assert!(matches!(t("no document"), Err(ValueError::Json { .. })));
    }

    #[test]
    fn a_pattern_that_is_none_is_refused_with_a_hint() {
        let errors = [
            (regex("t=("), "Regex { cause: \"unclosed group"),
            (regex(r"(\w{500000})"), "Regex { cause: \"Compiled"),
            (regex("time"), "Groups { groups: 0 }"),
            (regex("(?<value>x)(?<other>y)"), "Groups { groups: 2 }"),
            (regex("(?<value>x)(?<unit>y)"), "NoUnit"),
            (pointer("a/b"), "Pointer(\"a/b\")"),
            (pointer("/a~2"), "Pointer(\"/a~2\")"),
            (Pattern::Go(String::new()), "Empty"),
            (pointer(&"/".repeat(MAX_PATTERN_BYTES + 1)), "TooLong { bytes: 4097 }"),
        ];
        for (pattern, expected) in errors {
            let error = pattern.check("").unwrap_err();
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
