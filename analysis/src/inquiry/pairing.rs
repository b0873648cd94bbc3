//! The benchmarks that all versions have, by name.

use super::missing::{MissingBenchmark, MissingCause, MissingSample, UsableSamples, nothing_compared};
use super::suite::{MOST_VALUES, MOST_VERSIONS, NamedSample, Observed};
use super::{Inquiry, InquiryError, Preference, Unmatched, blocked::Blocked};
use crate::study::design::Arranged;
use speedup_statistics::{ratio::BenchmarkWeights, ratio::SuiteMember, sample::Sample};
use std::collections::{BTreeMap, BTreeSet};

/// The samples, checked, by version and benchmark.
pub(super) struct Pairing<'a> {
    /// The versions, the baseline first.
    pub(super) versions: Vec<&'a str>,
    /// The benchmarks that all versions have, in the baseline's order.
    pub(super) benchmarks: Vec<&'a str>,
    /// The samples, of each version those of the benchmarks above, in their order.
    pub(super) samples: Vec<Vec<Observed<'a>>>,
    /// The benchmarks that a version lacks.
    pub(super) unmatched: Vec<Unmatched>,
    /// What is missing of each version, and why.
    pub(super) missing: Vec<MissingSample>,
    /// What each of the benchmarks counts.
    pub(super) weights: BenchmarkWeights,
}

/// A baseline and a candidate of one benchmark, the one to be divided by first: so that a speedup is first over second
/// and the second is faster, whichever values are the better.
pub(super) struct Pair<'p> {
    pub(super) benchmark: &'p str,
    pub(super) first: &'p Observed<'p>,
    pub(super) second: &'p Observed<'p>,
    /// What the blocks of both make of them, where they have any.
    pub(super) blocked: Option<Blocked>,
}

impl<'a> Pairing<'a> {
    /// The versions `suites` of an inquiry, its baseline first.
    pub(super) fn new(inquiry: &'a Inquiry, suites: &[&'a super::Suite]) -> Result<Self, InquiryError> {
        if suites.is_empty() || (suites.len() < 2 && inquiry.method.compares()) {
            return Err(InquiryError::TooFewVersions { versions: suites.len() });
        }
        if suites.len() > MOST_VERSIONS {
            return Err(InquiryError::TooManyVersions { versions: suites.len() });
        }
        if suites
            .iter()
            .flat_map(|suite| &suite.benchmarks)
            .flat_map(|one| &one.runs)
            .map(Vec::len)
            .sum::<usize>()
            > MOST_VALUES
        {
            return Err(InquiryError::TooManyValues);
        }
        let mut versions: Vec<&str> = Vec::new();
        let mut usable: Vec<UsableSamples<'_>> = Vec::new();
        for &suite in suites {
            if versions.contains(&suite.version.as_str()) {
                return Err(InquiryError::VersionTwice { version: suite.version.clone() });
            }
            versions.push(&suite.version);
            usable.push(UsableSamples::new(suite, named(suite)?));
        }
        let all_have = |name: &str| usable.iter().all(|samples| samples.by_name.contains_key(name));
        let of_baseline = suites[0].benchmarks.iter().map(|one| one.benchmark.as_str());
        let benchmarks: Vec<&str> = of_baseline.filter(|name| all_have(name)).collect();
        let is_without = if inquiry.method.compares() {
            benchmarks.is_empty()
        } else {
            usable.iter().any(|samples| samples.by_name.is_empty())
        };
        if is_without {
            return Err(nothing_compared(suites, usable));
        }
        let mut samples = Vec::with_capacity(suites.len());
        for (suite, usable) in suites.iter().zip(&usable) {
            let names: Vec<&str> = if inquiry.method.compares() {
                benchmarks.clone()
            } else {
                suite.benchmarks.iter().map(|one| one.benchmark.as_str()).collect()
            };
            let named = names.into_iter().filter_map(|name| usable.by_name.get(name));
            samples.push(named.map(|sample| sample.observed(&suite.version)).collect::<Result<Vec<_>, _>>()?);
        }
        let weights = weights(inquiry, &benchmarks)?;
        let unmatched = if inquiry.method.asked().pairs() { unmatched(suites, &usable) } else { Vec::new() };
        let missing = missing(suites, usable, &unmatched);
        Ok(Self { versions, benchmarks, samples, unmatched, missing, weights })
    }

    /// The candidates: their names and what they are numbered among the versions.
    pub(super) fn candidates(&self) -> impl Iterator<Item = (usize, &'a str)> {
        self.versions.iter().copied().enumerate().skip(1)
    }

    /// The baseline beside the version numbered `candidate`, benchmark by benchmark.
    pub(super) fn pairs(&self, candidate: usize, better: Preference) -> Vec<Pair<'_>> {
        let both = self.samples[0].iter().zip(&self.samples[candidate]);
        self.benchmarks
            .iter()
            .zip(both)
            .map(|(benchmark, (baseline, candidate))| {
                let (first, second) = match better {
                    Preference::Lower => (baseline, candidate),
                    Preference::Higher => (candidate, baseline),
                };
                Pair { benchmark, first, second, blocked: Blocked::new(first, second) }
            })
            .collect()
    }

    /// What `of` says of each candidate's name and pair, candidate by candidate.
    pub(super) fn each<T>(&self, better: Preference, of: impl Fn(&'a str, &Pair<'_>) -> T) -> Vec<T> {
        let all = self.candidates().flat_map(|(number, candidate)| {
            let pairs = self.pairs(number, better);
            pairs.iter().map(|pair| of(candidate, pair)).collect::<Vec<_>>()
        });
        all.collect()
    }
}

impl Pair<'_> {
    pub(super) fn samples(&self) -> (&Sample, &Sample) {
        (&self.first.sample, &self.second.sample)
    }

    /// The pairs that the blocks make, for methods that take pairs.
    pub(super) fn arranged(&self) -> Option<&Arranged> {
        self.blocked.as_ref()?.pairs.as_ref()
    }

    /// What is compared by methods that take pairs: the pairs in their order, or else the samples.
    pub(super) fn compared(&self) -> (&Sample, &Sample) {
        self.arranged().map_or_else(|| self.samples(), Arranged::samples)
    }

    pub(super) fn member(&self) -> SuiteMember<'_> {
        SuiteMember { baseline: &self.first.sample, candidate: &self.second.sample }
    }
}

fn named(suite: &super::Suite) -> Result<BTreeMap<&str, &NamedSample>, InquiryError> {
    let mut samples = BTreeMap::new();
    for one in &suite.benchmarks {
        if samples.insert(one.benchmark.as_str(), one).is_some() {
            let (version, benchmark) = (suite.version.clone(), one.benchmark.clone());
            return Err(InquiryError::BenchmarkTwice { version, benchmark });
        }
    }
    if samples.is_empty() && suite.missing.is_empty() {
        return Err(InquiryError::NoBenchmarks { version: suite.version.clone() });
    }
    Ok(samples)
}

/// The benchmarks that some version has or says to be missing, and that another has no usable sample of.
fn unmatched(suites: &[&super::Suite], usable: &[UsableSamples<'_>]) -> Vec<Unmatched> {
    let mut seen = BTreeSet::new();
    let mut unmatched = Vec::new();
    for suite in suites {
        let measured = suite.benchmarks.iter().map(|one| one.benchmark.as_str());
        let missing = suite.missing.iter().map(|one| one.benchmark.as_str());
        for name in measured.chain(missing).filter(|name| seen.insert(*name)) {
            let versions = suites.iter().zip(usable);
            let lacking = versions.filter(|(_, samples)| !samples.by_name.contains_key(name));
            let missing_in: Vec<String> = lacking.map(|(suite, _)| suite.version.clone()).collect();
            if !missing_in.is_empty() {
                unmatched.push(Unmatched { benchmark: name.to_owned(), missing_in });
            }
        }
    }
    unmatched
}

/// What each version says to be missing, what cannot be compared, and what only another version has.
fn missing(
    suites: &[&super::Suite],
    usable: Vec<UsableSamples<'_>>,
    unmatched: &[Unmatched],
) -> Vec<MissingSample> {
    let mut all = Vec::new();
    for (suite, mut samples) in suites.iter().zip(usable) {
        for one in unmatched {
            if one.missing_in.contains(&suite.version) && !samples.lacks(&one.benchmark) {
                samples.missing.push(MissingBenchmark {
                    benchmark: one.benchmark.clone(),
                    cause: MissingCause::Absent,
                    message: None,
                });
            }
        }
        let version = &suite.version;
        all.extend(samples.missing.into_iter().map(|what| MissingSample { version: version.clone(), what }));
    }
    all
}

/// The weights of the baseline's benchmarks as those of the matched ones.
fn weights(inquiry: &Inquiry, benchmarks: &[&str]) -> Result<BenchmarkWeights, InquiryError> {
    match &inquiry.weights {
        BenchmarkWeights::Equal => Ok(BenchmarkWeights::Equal),
        BenchmarkWeights::Fraction if inquiry.better == Preference::Higher => {
            Err(InquiryError::FractionOfScores)
        }
        BenchmarkWeights::Fraction => Ok(BenchmarkWeights::Fraction),
        BenchmarkWeights::Custom(given) => {
            let own = &inquiry.suites[0].benchmarks;
            if given.len() != own.len() {
                return Err(InquiryError::WeightCount { weights: given.len(), benchmarks: own.len() });
            }
            // Of at most 1e100 each, weighted values stay doubles.
            if let Some(index) = given.iter().position(|w| !(1e-100..=1e100).contains(w)) {
                let benchmark = own[index].benchmark.clone();
                return Err(InquiryError::Weight { benchmark, weight: given[index] });
            }
            let matched: BTreeSet<&str> = benchmarks.iter().copied().collect();
            let kept = own.iter().zip(given).filter(|(one, _)| matched.contains(one.benchmark.as_str()));
            Ok(BenchmarkWeights::Custom(kept.map(|(_, weight)| *weight).collect()))
        }
    }
}
