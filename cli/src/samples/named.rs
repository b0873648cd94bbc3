//! Samples that are kept by name: baselines, and what was imported from other tools.
//!
//! A set is a file of JSON lines in the user's state directory, one value a line, which `compare` reads as any other file.
//! It is put in its place when it is whole.

use std::{fmt, fs, io, io::ErrorKind, path::Path, path::PathBuf, str::FromStr};

use anyhow::{Context as _, Error, anyhow};
use serde::Serialize;
use speedup_analysis::inquiry::{MissingBenchmark, MissingCause};
use speedup_formats::{
    BetterWhen, ImportWarning, MissingKind, MissingResult, Name, Series, ValueOf, bounds::MAX_FILE_BYTES,
};

use crate::{
    connection::directories, connection::selector::Selector, exit::failure::Failure,
    plan::selection::suggestion, results::draft,
};

/// What a set is called where a file could be meant.
const PREFIX: &str = "saved:";
/// The end of a set's file name.
const ENDING: &str = ".jsonl";
/// Characters of a name: it is a file's, and stands in tables.
const MOST_NAME_CHARS: usize = 64;
/// Sets that are listed: more than anybody keeps, and a directory of anything else is not read for ever.
const MOST_LISTED: usize = 10_000;
/// What the lines of a set are marked with whose benchmarks are commands, of which one file holds versions.
pub(crate) const HYPERFINE: &str = "hyperfine";

/// What a set is called: a name that is a file's everywhere, and no path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub(crate) struct SetName(String);

impl FromStr for SetName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix(PREFIX).unwrap_or(text);
        if directories::is_file_name(text, MOST_NAME_CHARS) {
            return Ok(Self(text.to_owned()));
        }
        Err(format!(
            "a name of samples has 1 to {MOST_NAME_CHARS} letters, digits, dots, hyphens and underscores, and begins with a \
             letter or digit"
        ))
    }
}

impl fmt::Display for SetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl SetName {
    /// The set that a path on a command line means, if it means one: `saved:NAME`.
    pub(crate) fn from_path(path: &Path) -> Option<Result<Self, Failure>> {
        let name = path.to_str()?.strip_prefix(PREFIX)?;
        Some(name.parse().map_err(|error: String| {
            Failure::usage(anyhow!(error).context(format!("cannot read {PREFIX}{name:?}")))
        }))
    }

    /// The set that is meant where an experiment could be, if one is: `saved:NAME`. No coordinator knows it.
    pub(crate) fn from_selector(selector: &Selector) -> Option<Result<Self, Failure>> {
        match selector {
            Selector::Text(text) => Self::from_path(Path::new(text)),
            Selector::Id(_) | Selector::Last => None,
        }
    }

    /// As a file is named on a command line.
    pub(crate) fn as_file(&self) -> String {
        format!("{PREFIX}{self}")
    }
}

/// One value of a set. The names are those of the usual columns of a table.
#[derive(Debug, Serialize)]
struct Line<'a> {
    benchmark: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    run: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<&'a str>,
    metric: &'a str,
    unit: String,
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    better: Option<BetterWhen>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value_of: Option<ValueOf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'static str>,
}

/// The remark on runs that failed.
const FAILED_RUNS: &str = "failed_runs";

/// What is known of a set beside its values: a benchmark without a result, or a warning of the file it is from.
#[derive(Debug, Serialize)]
pub(crate) struct RemarkLine {
    pub(crate) remark: &'static str,
    /// The benchmark, or what else it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) benchmark: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    /// How many runs failed, or how many values it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) count: Option<u64>,
    /// How many runs there were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) runs: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
}

impl From<&MissingResult> for RemarkLine {
    fn from(result: &MissingResult) -> Self {
        let (remark, count, runs) = match result.kind {
            MissingKind::Failed => ("failed", None, None),
            MissingKind::Skipped => ("skipped", None, None),
            MissingKind::Unreadable => ("unreadable", None, None),
            MissingKind::FailedRuns { failed, runs } => (FAILED_RUNS, Some(failed), Some(runs)),
        };
        Self {
            remark,
            benchmark: Some(result.benchmark.as_str().to_owned()),
            version: result.version.as_ref().map(|version| version.as_str().to_owned()),
            count,
            runs,
            message: result.message.as_ref().map(|message| message.as_str().to_owned()),
        }
    }
}

impl RemarkLine {
    /// The remark on a benchmark that is missing in a comparison, unless only the comparison makes it so.
    pub(crate) fn from_missing(missing: &MissingBenchmark) -> Option<Self> {
        let (remark, count, runs) = match missing.cause {
            MissingCause::Failed => ("failed", None, None),
            MissingCause::Skipped => ("skipped", None, None),
            MissingCause::Unreadable => ("unreadable", None, None),
            MissingCause::FailedRuns { failed, runs } => (FAILED_RUNS, Some(failed), Some(runs)),
            MissingCause::Unusable => return None,
        };
        let benchmark = Some(missing.benchmark.clone());
        Some(Self { remark, benchmark, version: None, count, runs, message: missing.message.clone() })
    }
}

impl From<&ImportWarning> for RemarkLine {
    fn from(warning: &ImportWarning) -> Self {
        Self {
            remark: warning.code.as_str(),
            benchmark: warning.subject.as_ref().map(|subject| subject.as_str().to_owned()),
            version: None,
            count: Some(warning.count),
            runs: None,
            message: None,
        }
    }
}

/// The remarks on a set: the results that are missing, and the warnings that do not only tell how runs were grouped.
pub(crate) fn remarks(failures: &[MissingResult], warnings: &[ImportWarning]) -> Vec<RemarkLine> {
    let warnings = warnings.iter().filter(|warning| !warning.code.is_of_grouping());
    failures.iter().map(RemarkLine::from).chain(warnings.map(RemarkLine::from)).collect()
}

/// What is kept under a name.
#[derive(Debug)]
pub(crate) struct Samples<'a> {
    pub(crate) series: Vec<NamedSeries<'a>>,
    /// Whether the benchmarks are hyperfine's commands, which may be versions of one thing.
    pub(crate) are_commands: bool,
    pub(crate) remarks: Vec<RemarkLine>,
}

#[derive(Debug)]
pub(crate) struct NamedSeries<'a> {
    pub(crate) version: Option<String>,
    pub(crate) series: &'a Series,
    /// The block of each run, where blocks make pairs; else nothing.
    pub(crate) blocks: Vec<Option<String>>,
}

impl<'a> NamedSeries<'a> {
    /// A series whose runs are of no blocks.
    pub(crate) fn new(version: Option<String>, series: &'a Series) -> Self {
        Self { version, series, blocks: Vec::new() }
    }
}

impl Samples<'_> {
    fn text(&self) -> Result<String, serde_json::Error> {
        let tool = self.are_commands.then_some(HYPERFINE);
        let mut text = String::new();
        for NamedSeries { version, series, blocks } in &self.series {
            for (run, values) in series.runs.iter().enumerate() {
                for value in values {
                    let line = Line {
                        benchmark: series.name.labelled_benchmark(),
                        version: version.as_deref(),
                        run,
                        block: blocks.get(run).and_then(Option::as_deref),
                        metric: series.name.metric.as_str(),
                        unit: series.unit.to_string(),
                        value: *value,
                        better: series.better,
                        value_of: series.value_of,
                        tool,
                    };
                    text += &serde_json::to_string(&line)?;
                    text.push('\n');
                }
            }
        }
        for remark in &self.remarks {
            text += &serde_json::to_string(remark)?;
            text.push('\n');
        }
        Ok(text)
    }
}

/// The directory of all sets.
#[derive(Debug)]
pub(crate) struct NamedSamples(PathBuf);

impl NamedSamples {
    /// That of this user.
    pub(crate) fn open() -> Result<Self, Failure> {
        directories::or_state(None, "samples").map(Self)
    }

    /// Where a set lies, or would lie.
    pub(crate) fn path(&self, name: &SetName) -> PathBuf {
        self.0.join(format!("{name}{ENDING}"))
    }

    /// Whether there is such a set.
    pub(crate) fn has(&self, name: &SetName) -> bool {
        self.path(name).is_file()
    }

    /// Refuses a name that is not there, with those that are.
    pub(crate) fn require(&self, name: &SetName) -> Result<PathBuf, Failure> {
        if self.has(name) {
            return Ok(self.path(name));
        }
        let known = self.list()?;
        let known: Vec<&str> = known.iter().map(|name| name.0.as_str()).collect();
        let hint = match known.as_slice() {
            [] => "`speedup import FILE --as NAME` and --save-baseline NAME save samples".to_owned(),
            known => suggestion(&name.0, known, "saved samples"),
        };
        Err(Failure::usage(anyhow!("no samples are saved as {name}")).hint(hint))
    }

    /// Keeps samples, in place of those that had the name.
    pub(crate) fn save(&self, name: &SetName, samples: &Samples<'_>) -> Result<(), Failure> {
        let text = self.text(name, samples, 1)?;
        draft::replace(&self.path(name), &text)
    }

    /// Sees to it that samples can be saved which are going to have each value `runs` times.
    pub(crate) fn claim(&self, name: &SetName, samples: &Samples<'_>, runs: usize) -> Result<(), Failure> {
        self.text(name, samples, runs)?;
        let tried = || format!("cannot write to {}", self.0.display());
        tempfile::tempfile_in(&self.0).map(drop).with_context(tried).map_err(Failure::usage)
    }

    /// The file of samples that are going to have each value `runs` times, and a directory for it. What could not be read
    /// again is refused.
    fn text(&self, name: &SetName, samples: &Samples<'_>, runs: usize) -> Result<String, Failure> {
        let tried = || format!("cannot save the samples {name}");
        for NamedSeries { series, .. } in &samples.series {
            Name::new(series.name.labelled_benchmark()).with_context(tried).map_err(|error| {
                Failure::usage(error).hint("give it a shorter name: `speedup bench -n NAME`")
            })?;
        }
        let text = samples.text().with_context(tried).map_err(Failure::infrastructure)?;
        if text.len().saturating_mul(runs) > MAX_FILE_BYTES {
            return Err(Failure::usage(
                anyhow!("they are larger than a file of samples may be").context(tried()),
            )
            .hint("save fewer of them, such as those of one file, or shorter names of benchmarks"));
        }
        let created = || format!("cannot create {}", self.0.display());
        fs::create_dir_all(&self.0).with_context(created).map_err(Failure::infrastructure)?;
        Ok(text)
    }

    /// The names, sorted.
    pub(crate) fn list(&self) -> Result<Vec<SetName>, Failure> {
        let tried = || format!("cannot list {}", self.0.display());
        let read = || -> io::Result<Vec<SetName>> {
            let entries = match fs::read_dir(&self.0) {
                Ok(entries) => entries,
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
                Err(error) => return Err(error),
            };
            let mut names = Vec::new();
            for entry in entries.take(MOST_LISTED) {
                let file = entry?.file_name();
                let name = file.to_str().and_then(|file| file.strip_suffix(ENDING));
                names.extend(name.and_then(|name| name.parse::<SetName>().ok()));
            }
            names.sort();
            Ok(names)
        };
        read().with_context(tried).map_err(Failure::infrastructure)
    }

    pub(crate) fn remove(&self, name: &SetName) -> Result<(), Failure> {
        let path = self.require(name)?;
        fs::remove_file(&path).map_err(|error| {
            Failure::usage(Error::new(error).context(format!("cannot remove {}", path.display())))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use speedup_formats::{Format, ImportCode, Name, Options, Runs, SeriesName, SeriesUnit, read};

    use super::*;

    fn name(text: &str) -> Name {
        Name::new(text).unwrap()
    }

    #[test]
    fn a_name_is_no_path() {
        for text in ["main", "v1.2_a-b", "saved:main", "0"] {
            assert!(text.parse::<SetName>().is_ok(), "{text}");
        }
        let long = "a".repeat(MOST_NAME_CHARS + 1);
        for text in
            ["", ".", "..", ".hidden", "-o", "a/b", "a\\b", "a b", "ä", "a\0", "saved:", long.as_str()]
        {
            assert!(text.parse::<SetName>().is_err(), "{text:?}");
        }
        assert!(SetName::from_path(Path::new("before.csv")).is_none());
        assert!(SetName::from_path(Path::new("./saved:main")).is_none());
        assert!(SetName::from_path(Path::new("saved:../main")).is_some_and(|name| name.is_err()));
    }

    #[test]
    fn what_is_kept_is_read_back_to_the_last_digit() {
        let of = |metric: &str, unit: SeriesUnit, runs: Vec<Vec<f64>>| {
            let name = SeriesName {
                labels: BTreeMap::from([(name("threads"), name("2"))]),
                ..SeriesName::wall(name("sort \"words\"")).with_metric(name(metric))
            };
            Series::new(name, unit, Runs::new(runs).unwrap())
        };
        let wall = of("wall", SeriesUnit::Seconds, vec![vec![0.1 + 0.2, 1e-9], vec![1.0 / 3.0]]);
        let wall = Series { value_of: Some(ValueOf::Iteration), ..wall };
        let score = of("score", SeriesUnit::Bare, vec![vec![123_456_789.0]]);
        let score = Series { better: Some(BetterWhen::Higher), ..score };
        let failed = MissingResult {
            benchmark: name("copy"),
            version: None,
            kind: MissingKind::FailedRuns { failed: 2, runs: 3 },
            message: Some(name("no \"space\"")),
        };
        let warning =
            ImportWarning { code: ImportCode::OutliersRemoved, subject: Some(name("sort")), count: 4 };
        let samples = Samples {
            series: vec![NamedSeries::new(None, &wall), NamedSeries::new(Some("next".to_owned()), &score)],
            are_commands: true,
            remarks: remarks(
                std::slice::from_ref(&failed),
                &[warning.clone(), ImportCode::BlocksPair.into()],
            ),
        };
        let text = samples.text().unwrap();
        let read = read(text.as_bytes(), Format::JsonLines, &Options::default()).unwrap();
        assert_eq!(read.series[0].runs, wall.runs);
        assert_eq!(read.series[0].unit, SeriesUnit::Seconds);
        assert_eq!(read.series[0].name.benchmark.as_str(), "sort \"words\", threads 2");
        assert_eq!(read.series[1].name.version, Some(name("next")));
        assert_eq!((&read.series[1].runs, &read.series[1].unit), (&score.runs, &SeriesUnit::Bare));
        assert_eq!((read.series[0].better, read.series[0].value_of), (wall.better, wall.value_of));
        assert_eq!((read.series[1].better, read.series[1].value_of), (score.better, None));
        assert!(read.are_commands);
        assert_eq!((read.failures, read.warnings), (vec![failed], vec![warning]));
    }
}
