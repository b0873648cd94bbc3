//! Benchmarks that some version has no usable result of, and what gates make of them: a program that crashes is not faster.
//!
//! What a source says is missing stands in [`Suite::missing`]; what only the comparison shows is found here: benchmarks that
//! another version has, and samples that cannot be compared.

use super::{InquiryError, NamedSample, Suite, pairing::Pairing};
use crate::conclusion::{Verdict, Warning, WarningCode};
use crate::gate::{Conclusion, Ruling};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt};

/// A benchmark of which a version has no result, or some runs that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingBenchmark {
    pub benchmark: String,
    #[serde(flatten)]
    pub cause: MissingCause,
    /// What the source says about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Why a result is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum MissingCause {
    /// The program or its benchmark failed.
    Failed,
    /// Some or all of its runs failed; their values are not in the sample.
    FailedRuns { failed: u64, runs: u64 },
    /// It was left out on purpose.
    Skipped,
    /// What should be its result cannot be read as one.
    Unreadable,
    /// Its values cannot be compared: they are not positive, or out of range.
    Unusable,
    /// Another version has it.
    Absent,
}

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
            MissingCause::Absent => write!(f, "{version} has no {benchmark}")?,
        }
        match message {
            Some(message) => write!(f, " ({message})"),
            None => Ok(()),
        }
    }
}

/// The samples of a suite that can be compared, by benchmark, and what is missing of it.
pub(super) struct UsableSamples<'a> {
    pub(super) by_name: BTreeMap<&'a str, &'a NamedSample>,
    pub(super) missing: Vec<MissingBenchmark>,
    /// Why the first of those that cannot be compared is none.
    pub(super) refusal: Option<InquiryError>,
}

impl<'a> UsableSamples<'a> {
    pub(super) fn new(suite: &'a Suite, by_name: BTreeMap<&'a str, &'a NamedSample>) -> Self {
        let mut usable = Self { by_name: BTreeMap::new(), missing: suite.missing.clone(), refusal: None };
        for (name, sample) in by_name {
            match sample.observed(&suite.version) {
                Ok(_) => {
                    usable.by_name.insert(name, sample);
                }
                Err(refusal) => {
                    // Where it is stands before the message.
                    let place = format!(" of {name} of {}", suite.version);
                    usable.missing.push(MissingBenchmark {
                        benchmark: name.to_owned(),
                        cause: MissingCause::Unusable,
                        message: Some(refusal.to_string().replacen(&place, "", 1)),
                    });
                    usable.refusal.get_or_insert(refusal);
                }
            }
        }
        usable
    }

    /// Whether the suite says that it lacks a benchmark.
    pub(super) fn lacks(&self, benchmark: &str) -> bool {
        self.missing.iter().any(|one| one.benchmark == benchmark)
    }
}

/// Adds the benchmarks that gates cannot pass: a failure of the candidate is a regression, where the baseline has a result; all else
/// that is missing is undecided. What both versions skip is no question.
pub(super) fn add_missing(gates: &mut Vec<Conclusion>, pairing: &Pairing<'_>) {
    let baseline = pairing.versions[0];
    for (_, candidate) in pairing.candidates() {
        let causes = |version: &str| -> BTreeMap<&str, &MissingSample> {
            let of_version = pairing.missing.iter().filter(|one| one.version == version);
            of_version.map(|one| (one.what.benchmark.as_str(), one)).collect()
        };
        let (before, after) = (causes(baseline), causes(candidate));
        let mut names: Vec<&str> = after.keys().chain(before.keys()).copied().collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let [before, after] = [&before, &after].map(|causes| causes.get(name).copied());
            let is_skipped =
                |one: Option<&MissingSample>| one.is_some_and(|one| one.what.cause == MissingCause::Skipped);
            if is_skipped(before) && is_skipped(after) {
                continue;
            }
            let fails = after.is_some_and(|one| one.what.cause.is_failure());
            let ruling = if fails && before.is_none() { Ruling::Regression } else { Ruling::Undecided };
            let failure = after.or(before).map(ToString::to_string);
            if pairing.benchmarks.contains(&name) {
                rule_compared(gates, candidate, name, fails.then_some(ruling), failure.as_ref());
            } else {
                let verdict = Verdict::NotEnoughData;
                let conclusion = Conclusion::new(candidate, Some(name), verdict, None, None);
                gates.push(Conclusion { ruling, failure, ..conclusion });
            }
        }
    }
    // Those of one candidate stand together.
    gates.sort_by_key(|one| pairing.versions.iter().position(|version| *version == one.candidate));
}

/// Rules on a benchmark that was compared although some runs failed. A verdict against the candidate stands.
fn rule_compared(
    gates: &mut [Conclusion],
    candidate: &str,
    benchmark: &str,
    ruling: Option<Ruling>,
    failure: Option<&String>,
) {
    for one in gates {
        let is_it = one.candidate == candidate && one.benchmark.as_deref() == Some(benchmark);
        if !is_it || one.endpoint.is_some() {
            continue;
        }
        one.failure = failure.cloned();
        if let Some(ruling) = ruling.filter(|_| one.ruling != Ruling::Regression) {
            one.ruling = ruling;
            one.ruling_p_value = None;
        }
    }
}

impl Pairing<'_> {
    /// How many benchmarks failed in a candidate, so that nothing can be compared.
    pub(super) fn failures(&self, candidate: &str) -> usize {
        let of_candidate = self.missing.iter().filter(|one| one.version == candidate);
        let failed = of_candidate.filter(|one| one.what.cause.is_failure());
        failed.filter(|one| !self.benchmarks.contains(&one.what.benchmark.as_str())).count()
    }

    /// What is missing as caveats: runs that failed, and benchmarks that are not compared.
    pub(super) fn missing_caveats(&self) -> Vec<Warning> {
        let (failed, other): (Vec<_>, Vec<_>) =
            self.missing.iter().partition(|one| one.what.cause.is_failure());
        let mut warnings = Vec::new();
        if !failed.is_empty() {
            warnings.push(Warning::new(WarningCode::FailedRuns, listed(&failed)));
        }
        if !other.is_empty() {
            warnings.push(Warning::new(
                WarningCode::UnmatchedBenchmarks,
                format!("Not compared: {}", listed(&other)),
            ));
        }
        warnings
    }
}

/// Results that a sentence names.
const MOST_LISTED: usize = 12;

fn listed(missing: &[&MissingSample]) -> String {
    let mut texts: Vec<String> = missing.iter().take(MOST_LISTED).map(ToString::to_string).collect();
    if missing.len() > MOST_LISTED {
        texts.push(format!("and {} more", missing.len() - MOST_LISTED));
    }
    let mut text = texts.join("; ");
    text.push('.');
    text
}

/// Why nothing can be compared: a sample that cannot be, what is missing, or that names do not match.
pub(super) fn nothing_compared(suites: &[&Suite], usable: Vec<UsableSamples<'_>>) -> InquiryError {
    let mut missing = Vec::new();
    for (suite, samples) in suites.iter().zip(usable) {
        if let Some(refusal) = samples.refusal {
            return refusal;
        }
        let version = &suite.version;
        missing
            .extend(samples.missing.into_iter().map(|what| MissingSample { version: version.clone(), what }));
    }
    if !missing.is_empty() {
        let is_of_candidate = |one: &MissingSample| one.version != suites[0].version;
        let candidate_failed = missing.iter().any(|one| is_of_candidate(one) && one.what.cause.is_failure());
        let listed = listed(&missing.iter().collect::<Vec<_>>());
        return InquiryError::NoResults { listed, candidate_failed };
    }
    let example = |suite: &&Suite| {
        let name = suite.benchmarks.first().map_or("", |one| one.benchmark.as_str());
        format!("{} has {name:?}", suite.version)
    };
    let examples: Vec<String> = suites.iter().take(2).map(example).collect();
    InquiryError::NothingInCommon { examples: examples.join(", ") }
}
