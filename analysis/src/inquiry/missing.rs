//! Benchmarks that some version has no usable result of, and what gates make of them: a program that crashes is not faster.
//!
//! What a source says is missing stands in [`Suite::missing`]; here it is joined with what only a comparison shows: samples
//! that cannot be compared, and benchmarks that only one of two versions has.

use super::InquiryError;
use super::suite::{MissingBenchmark, MissingCause, ObservedSample, Suite};
use crate::conclusion::{Verdict, Warning, WarningCode};
use crate::gate::{Conclusion, Ruling};
use serde::Serialize;
use std::{collections::BTreeMap, collections::BTreeSet, fmt};

/// A benchmark that is missing, and in which version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MissingSample {
    pub version: String,
    #[serde(flatten)]
    pub what: MissingBenchmark,
}

impl MissingCause {
    /// Whether the program crashed or reported an error.
    fn is_failure(self) -> bool {
        matches!(self, Self::Failed | Self::FailedRuns { .. })
    }

    /// How grave it is: of several remarks on one benchmark the gravest counts.
    fn gravity(self) -> u8 {
        match self {
            Self::Failed => 4,
            Self::FailedRuns { .. } => 3,
            Self::Unusable => 2,
            Self::Unreadable => 1,
            Self::Skipped => 0,
        }
    }
}

/// A benchmark that some version lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnmatchedBenchmark {
    pub benchmark: String,
    /// The versions without it.
    pub missing_in: Vec<String>,
}

impl fmt::Display for MissingSample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MissingBenchmark { benchmark, cause, message } = &self.what;
        let version = &self.version;
        match cause {
            MissingCause::Failed => write!(f, "{benchmark} failed in {version}")?,
            MissingCause::FailedRuns { failed, runs } => {
                write!(f, "{failed} of {runs} runs of {benchmark} failed in {version}")?;
            }
            MissingCause::Skipped => write!(f, "{benchmark} was skipped in {version}")?,
            MissingCause::Unreadable => write!(f, "the result of {benchmark} in {version} cannot be read")?,
            MissingCause::Unusable => write!(f, "{benchmark} in {version} cannot be compared")?,
        }
        match message {
            Some(message) => write!(f, " ({message})"),
            None => Ok(()),
        }
    }
}

/// What a version has: its samples that can be compared, and what is missing of it.
pub(super) struct Availability<'a> {
    pub(super) suite: &'a Suite,
    pub(super) samples: BTreeMap<&'a str, ObservedSample<'a>>,
    pub(super) missing: BTreeMap<String, MissingSample>,
    /// Why the first of the samples that cannot be compared is none.
    refusal: Option<InquiryError>,
}

impl<'a> Availability<'a> {
    pub(super) fn new(suite: &'a Suite) -> Result<Self, InquiryError> {
        let mut available = Self { suite, samples: BTreeMap::new(), missing: BTreeMap::new(), refusal: None };
        let mut names = BTreeSet::new();
        for sample in &suite.benchmarks {
            let name = sample.benchmark.as_str();
            if !names.insert(name) {
                return Err(InquiryError::BenchmarkTwice {
                    version: suite.version.clone(),
                    benchmark: name.to_owned(),
                });
            }
            match sample.observed(&suite.version) {
                Ok(observed) => {
                    available.samples.insert(name, observed);
                }
                Err(refusal) => {
                    // Where it is stands beside the message.
                    let place = format!(" of {name} of {}", suite.version);
                    available.add(&MissingBenchmark {
                        benchmark: name.to_owned(),
                        cause: MissingCause::Unusable,
                        message: Some(refusal.to_string().replacen(&place, "", 1)),
                    });
                    available.refusal.get_or_insert(refusal);
                }
            }
        }
        suite.missing.iter().for_each(|one| available.add(one));
        if names.is_empty() && available.missing.is_empty() {
            return Err(InquiryError::NoBenchmarks { version: suite.version.clone() });
        }
        Ok(available)
    }

    /// Adds a remark, unless there is a graver one on the same benchmark.
    fn add(&mut self, what: &MissingBenchmark) {
        let known = self.missing.get(&what.benchmark);
        if known.is_none_or(|known| known.what.cause.gravity() < what.cause.gravity()) {
            let missing = MissingSample { version: self.suite.version.clone(), what: what.clone() };
            self.missing.insert(what.benchmark.clone(), missing);
        }
    }

    /// What is missing of a benchmark: of it alone, or, by labels alone, of all that have these last ones, as of a whole package.
    fn find_missing(&self, benchmark: &str) -> Option<&MissingSample> {
        if let Some(missing) = self.missing.get(benchmark) {
            return Some(missing);
        }
        if self.has(benchmark) {
            return None;
        }
        let labels = benchmark.match_indices(", ").map(|(at, separator)| &benchmark[at + separator.len()..]);
        labels.into_iter().find_map(|labels| self.missing.get(labels))
    }

    fn has(&self, benchmark: &str) -> bool {
        self.samples.contains_key(benchmark)
    }

    /// The benchmarks that crashed, also in some runs only.
    pub(super) fn failures(&self) -> BTreeSet<&str> {
        let failed = self.missing.iter().filter(|(_, one)| one.what.cause.is_failure());
        failed.map(|(name, _)| name.as_str()).collect()
    }
}

/// The benchmarks that some version has or says to be missing, and that another has no usable sample of.
pub(super) fn unmatched(versions: &[Availability<'_>]) -> Vec<UnmatchedBenchmark> {
    let mut seen = BTreeSet::new();
    let mut unmatched = Vec::new();
    for version in versions {
        let measured = version.suite.benchmarks.iter().map(|one| one.benchmark.as_str());
        for name in measured.chain(version.missing.keys().map(String::as_str)) {
            if !seen.insert(name) {
                continue;
            }
            let lacking = versions.iter().filter(|version| !version.has(name));
            let missing_in: Vec<String> = lacking.map(|version| version.suite.version.clone()).collect();
            if !missing_in.is_empty() {
                unmatched.push(UnmatchedBenchmark { benchmark: name.to_owned(), missing_in });
            }
        }
    }
    unmatched
}

/// Lets gates count what is missing: a failure of the candidate is a regression, where the baseline has a result; what else was not
/// compared is undecided. What both versions skip is no question.
pub(super) fn add_missing(
    gates: &mut Vec<Conclusion>,
    versions: &[Availability<'_>],
    compared: &BTreeSet<&str>,
) {
    let Some((baseline, candidates)) = versions.split_first() else { return };
    let mut found: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
    for (at, one) in gates.iter().enumerate() {
        if let (Some(benchmark), None) = (&one.benchmark, &one.endpoint) {
            found.entry((one.candidate.clone(), benchmark.clone())).or_default().push(at);
        }
    }
    for candidate in candidates {
        let mut names: BTreeSet<&str> = BTreeSet::new();
        for version in [baseline, candidate] {
            names.extend(version.samples.keys());
            names.extend(version.missing.keys().map(String::as_str));
        }
        for name in names {
            let Some((ruling, text, is_failure)) = rule(name, baseline, candidate, compared) else {
                continue;
            };
            let mut conclusion =
                Conclusion::new(&candidate.suite.version, Some(name), Verdict::NotEnoughData, None, None);
            conclusion.ruling = ruling;
            if is_failure {
                conclusion.failure = Some(text);
            } else {
                conclusion.missing = Some(text);
            }
            let key = (candidate.suite.version.clone(), name.to_owned());
            let places = found.get(&key).map_or(&[][..], Vec::as_slice);
            if places.is_empty() || !compared.contains(name) {
                gates.push(conclusion);
                continue;
            }
            for at in places {
                let one = &mut gates[*at];
                one.failure.clone_from(&conclusion.failure);
                // A verdict against the candidate stands.
                if one.ruling != Ruling::Regression {
                    one.ruling = ruling;
                    one.ruling_p_value = None;
                }
            }
        }
    }
    // Those of one candidate stand together.
    let order: BTreeMap<&str, usize> =
        versions.iter().enumerate().map(|(at, version)| (version.suite.version.as_str(), at)).collect();
    gates.sort_by_key(|one| order.get(one.candidate.as_str()).copied());
}

/// What a gate makes of a benchmark that is missing somewhere, why, and whether the candidate failed; `None` where nothing is missing
/// that counts.
fn rule(
    name: &str,
    baseline: &Availability<'_>,
    candidate: &Availability<'_>,
    compared: &BTreeSet<&str>,
) -> Option<(Ruling, String, bool)> {
    let before = baseline.find_missing(name);
    let after = candidate.find_missing(name);
    if let Some(failed) = after.filter(|one| one.what.cause.is_failure()) {
        let ruling = if baseline.has(name) { Ruling::Regression } else { Ruling::Undecided };
        return Some((ruling, failed.to_string(), true));
    }
    if compared.contains(name) {
        return None;
    }
    // Nobody misses what both versions leave out on purpose.
    let are_skipped =
        [before, after].iter().all(|one| one.is_some_and(|one| one.what.cause == MissingCause::Skipped));
    if are_skipped {
        return None;
    }
    let text = match after.or(before) {
        Some(missing) => missing.to_string(),
        None if !candidate.has(name) => format!("{} has no {name}", candidate.suite.version),
        None if !baseline.has(name) => format!("{} has no {name}", baseline.suite.version),
        None => format!("{name} is not compared, since another version lacks it"),
    };
    Some((Ruling::Undecided, text, false))
}

/// What is missing as caveats: what failed, and what is not compared for another reason.
pub(super) fn caveats(versions: &[Availability<'_>], unmatched: &[UnmatchedBenchmark]) -> Vec<Warning> {
    let mut failed = Vec::new();
    let mut other = Vec::new();
    // What a source says is missing need not be reported as absent, too.
    let mut reported = BTreeSet::new();
    for version in versions {
        for (name, missing) in &version.missing {
            let texts = if missing.what.cause.is_failure() { &mut failed } else { &mut other };
            texts.push(missing.to_string());
            reported.insert((name.as_str(), version.suite.version.as_str()));
        }
    }
    for one in unmatched {
        let absent =
            one.missing_in.iter().filter(|version| !reported.contains(&(one.benchmark.as_str(), version)));
        let absent: Vec<&str> = absent.map(String::as_str).collect();
        if !absent.is_empty() {
            other.push(format!("{} is not in {}", one.benchmark, absent.join(", ")));
        }
    }
    let mut warnings = Vec::new();
    if !failed.is_empty() {
        warnings.push(Warning::new(WarningCode::FailedRuns, listed(failed)));
    }
    if !other.is_empty() {
        let sentence = format!("Not compared: {}", listed(other));
        warnings.push(Warning::new(WarningCode::UnmatchedBenchmarks, sentence));
    }
    warnings
}

/// Texts that a sentence has room for.
const MOST_LISTED: usize = 12;

fn listed(mut texts: Vec<String>) -> String {
    let more = texts.len().saturating_sub(MOST_LISTED);
    texts.truncate(MOST_LISTED);
    if more > 0 {
        texts.push(format!("and {more} more"));
    }
    let mut text = texts.join("; ");
    text.push('.');
    text
}

/// Why nothing can be compared: a sample that cannot be, what is missing, or that names do not match.
pub(super) fn nothing_compared(mut versions: Vec<Availability<'_>>) -> InquiryError {
    if let Some(refusal) = versions.iter_mut().find_map(|version| version.refusal.take()) {
        return refusal;
    }
    if versions.iter().any(|version| !version.missing.is_empty()) {
        let mut gates = Vec::new();
        add_missing(&mut gates, &versions, &BTreeSet::new());
        let texts = versions.iter().flat_map(|version| version.missing.values().map(ToString::to_string));
        let mut texts: Vec<String> = texts.collect();
        texts.truncate(MOST_LISTED - 1);
        texts.push(examples(&versions));
        return InquiryError::NoResults { listed: listed(texts), gates };
    }
    InquiryError::NothingInCommon { examples: examples(&versions) }
}

/// The first benchmark of the first versions, whose names may not match.
fn examples(versions: &[Availability<'_>]) -> String {
    let mut examples = Vec::new();
    for version in versions.iter().take(3) {
        let name = &version.suite.version;
        examples.push(match version.suite.benchmarks.first() {
            Some(first) => format!("{name} has {:?}", first.benchmark),
            None => format!("{name} has no result"),
        });
    }
    examples.join(", ")
}
