//! The benchmarks that all versions have, by name.

use super::missing::UnmatchedBenchmark;
use super::missing::{Availability, nothing_compared, unmatched};
use super::refusal::{MOST_VALUES, MOST_VERSIONS};
use super::{
    Inquiry, InquiryError, Preference, blocks::BenchmarkBlocks, blocks::BlockedSamples, suite::ObservedSample,
};
use crate::study::design::IndependentUnits;
use speedup_statistics::{ratio::BenchmarkWeights, ratio::SuiteMember, sample::Sample};
use std::collections::BTreeSet;

/// The samples, checked, by version and benchmark.
pub(super) struct Pairing<'a> {
    /// The versions, the baseline first.
    pub(super) versions: Vec<&'a str>,
    /// The benchmarks that all versions have, in the baseline's order.
    pub(super) benchmarks: Vec<&'a str>,
    /// The samples, of each version those of the benchmarks above, in their order.
    pub(super) samples: Vec<Vec<ObservedSample<'a>>>,
    /// The benchmarks that a version lacks.
    pub(super) unmatched: Vec<UnmatchedBenchmark>,
    /// What each version has and lacks; also those of which nothing can be compared, which are not in `versions`.
    pub(super) available: Vec<Availability<'a>>,
    /// What each of the benchmarks counts.
    pub(super) weights: BenchmarkWeights,
}

/// A baseline and a candidate of one benchmark, the one to be divided by first: so that a speedup is first over second
/// and the second is faster, whichever values are the better.
pub(super) struct Pair<'p> {
    pub(super) benchmark: &'p str,
    pub(super) first: &'p ObservedSample<'p>,
    pub(super) second: &'p ObservedSample<'p>,
    /// What the blocks of both make of them, where they have any.
    pub(super) blocked: Option<BlockedSamples>,
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
        let samples = suites.iter().flat_map(|suite| &suite.benchmarks);
        if samples.flat_map(|sample| &sample.runs).map(Vec::len).sum::<usize>() > MOST_VALUES {
            return Err(InquiryError::TooManyValues);
        }
        let compares = inquiry.method.compares();
        let mut names = BTreeSet::new();
        let mut available = Vec::with_capacity(suites.len());
        for &suite in suites {
            if !names.insert(suite.version.as_str()) {
                return Err(InquiryError::VersionTwice { version: suite.version.clone() });
            }
            available.push(Availability::new(suite)?);
        }
        // A candidate of which nothing is left is no reason to compare none.
        let measured: Vec<&Availability<'_>> =
            available.iter().filter(|version| !version.samples.is_empty()).collect();
        let is_comparable = if compares {
            measured.len() > 1 && !available[0].samples.is_empty()
        } else {
            measured.len() == available.len()
        };
        let mut benchmarks: Vec<&str> = Vec::new();
        for sample in &suites[0].benchmarks {
            let name = sample.benchmark.as_str();
            if measured.iter().all(|version| version.samples.contains_key(name)) {
                benchmarks.push(name);
            }
        }
        if !is_comparable || compares && benchmarks.is_empty() {
            return Err(nothing_compared(available));
        }
        let mut versions = Vec::with_capacity(measured.len());
        let mut samples = Vec::with_capacity(measured.len());
        for version in measured {
            let own = version.suite.benchmarks.iter().map(|one| one.benchmark.as_str());
            let names: Vec<&str> = if compares { benchmarks.clone() } else { own.collect() };
            samples.push(names.iter().filter_map(|name| version.samples.get(name).cloned()).collect());
            versions.push(version.suite.version.as_str());
        }
        let weights = weights(inquiry, &benchmarks)?;
        let unmatched = if inquiry.method.spec().pairs() { unmatched(&available) } else { Vec::new() };
        Ok(Self { versions, benchmarks, samples, unmatched, available, weights })
    }

    /// The benchmarks that crashed in the version numbered `candidate`, also in some runs only.
    pub(super) fn failures(&self, candidate: usize) -> BTreeSet<&str> {
        let version = self.versions[candidate];
        let available = self.available.iter().find(|available| available.suite.version == version);
        available.map(Availability::failures).unwrap_or_default()
    }

    /// The candidates: their names and what they are numbered among the versions.
    pub(super) fn candidates(&self) -> impl Iterator<Item = (usize, &'a str)> {
        self.versions.iter().copied().enumerate().skip(1)
    }

    /// The baseline beside the version numbered `candidate`, benchmark by benchmark.
    pub(super) fn pairs(&self, candidate: usize, better: Preference) -> Vec<Pair<'_>> {
        let samples = self.samples[0].iter().zip(&self.samples[candidate]);
        let mut pairs = Vec::with_capacity(self.benchmarks.len());
        for (benchmark, (baseline, candidate)) in self.benchmarks.iter().zip(samples) {
            let (first, second) = match better {
                Preference::Lower => (baseline, candidate),
                Preference::Higher => (candidate, baseline),
            };
            pairs.push(Pair { benchmark, first, second, blocked: BlockedSamples::new(first, second) });
        }
        pairs
    }

    /// Calls `compare` with the name and the pair of each candidate and benchmark, candidate by candidate.
    pub(super) fn each<T>(&self, better: Preference, compare: impl Fn(&'a str, &Pair<'_>) -> T) -> Vec<T> {
        let mut found = Vec::new();
        for (number, candidate) in self.candidates() {
            for pair in self.pairs(number, better) {
                found.push(compare(candidate, &pair));
            }
        }
        found
    }

    /// The candidates' benchmarks whose runs are in blocks.
    pub(super) fn blocks(&self) -> Vec<BenchmarkBlocks> {
        let mut found = Vec::new();
        for (number, candidate) in self.candidates() {
            for pair in self.pairs(number, Preference::Lower) {
                let Some(blocked) = pair.blocked else { continue };
                found.push(BenchmarkBlocks {
                    about: match self.versions.len() {
                        0..=2 => pair.benchmark.to_owned(),
                        _ => format!("{} ({candidate})", pair.benchmark),
                    },
                    pairs: blocked.pairs.map_or(0, |pairs| pairs.samples().0.len()),
                    left_out: blocked.left_out,
                });
            }
        }
        found
    }
}

impl Pair<'_> {
    pub(super) fn samples(&self) -> (&Sample, &Sample) {
        (&self.first.sample, &self.second.sample)
    }

    /// The pairs that the blocks make, for methods that take pairs.
    pub(super) fn arranged(&self) -> Option<&IndependentUnits> {
        self.blocked.as_ref()?.pairs.as_ref()
    }

    /// What is compared by methods that take pairs: the pairs in their order, or else the samples.
    pub(super) fn compared(&self) -> (&Sample, &Sample) {
        self.arranged().map_or_else(|| self.samples(), IndependentUnits::samples)
    }

    /// The ratios within the pairs, whose order counts in the place of either version's.
    pub(super) fn ratios(&self) -> Option<Sample> {
        let (first, second) = self.arranged()?.samples();
        let both = first.in_run_order().iter().zip(second.in_run_order());
        Sample::new(both.map(|(x, y)| x / y).collect()).ok()
    }

    pub(super) fn member(&self) -> SuiteMember<'_> {
        SuiteMember { baseline: &self.first.sample, candidate: &self.second.sample }
    }
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
