//! The ranks of runs on several hosts, where the plan has them timed: how long the slowest takes, by how much it
//! exceeds the others, and whether it is the same one more often than chance.

mod words;

use super::{gather::evidence::HostLabel, sampled::BenchmarkSamples, two_sample::interval::IntervalReport};
use crate::conclusion::{Reason, ReasonCode};
use crate::study::{
    Study, compare::own_metric::looked_sequentially, gather::ranks::RankPlace, gather::ranks::RunRanks,
};
use serde::{Deserialize, Serialize};
use speedup_core::experiment::{Benchmark, Rule, gang::Gang};
use speedup_core::value::id::{Attempt, RunIndex};
use speedup_statistics::diagnostics::{MostOften, OftenCount};
use speedup_statistics::inference::{ConfidenceLevel, Critical, Unbounded};
use speedup_statistics::levels::{LevelTree, MeanErrorUnknown, RandomEffects};
use speedup_statistics::{ratio::MeanRatio, ratio::RatioError, sample::Sample, sample::SampleQuantile};
use std::collections::{BTreeMap, BTreeSet};

/// The ranks of a benchmark. The runs of a cell are taken to be independent; each interval is by itself at the
/// report's confidence level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RanksReport {
    /// The benchmark.
    pub benchmark: String,
    /// On how many hosts each run is.
    pub hosts: u32,
    /// How many ranks each run has.
    pub ranks: u64,
    /// Each version, the baseline first.
    pub versions: Vec<VersionRanks>,
}

/// The ranks of a benchmark in one version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VersionRanks {
    /// The version.
    pub version: String,
    /// The measured runs of which all ranks have told their times: all that is said is of these.
    pub n: u64,
    /// The measured runs of which some rank has not.
    pub incomplete: u64,
    /// The mean of the slowest rank's wall time, in nanoseconds; absent without runs.
    pub slowest_ns: Option<RankValue>,
    /// The median of the skew, in nanoseconds: the wall time of a run's slowest rank less that of its fastest.
    pub skew_ns: Option<RankValue>,
    /// The median of the percent imbalance, as a share: by how much the slowest rank's wall time exceeds the mean of
    /// all ranks (λ of Pearce et al. 2012).
    pub imbalance: Option<RankValue>,
    /// The baseline's slowest rank over this version's, by means; absent of the baseline.
    pub speedup: Option<RankValue>,
    /// The rank that is the slowest most often; absent of one rank, and where no run has a single slowest one.
    pub rank: Option<SlowestReport>,
    /// The seat whose host has the slowest rank most often; absent of one host.
    pub seat: Option<SlowestReport>,
    /// The host that has the slowest rank most often; absent of one host, and where each host served one run.
    pub host: Option<SlowestReport>,
    /// What is said of the slowest rank, in a sentence.
    pub sentence: String,
}

/// An estimate of what ranks take, with its interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankValue {
    /// The estimate.
    pub estimate: f64,
    /// Its two-sided interval.
    pub interval: IntervalReport,
}

/// What is the slowest most often: a rank, a seat, or a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlowestReport {
    /// The full name of the method.
    pub method: String,
    /// Its number, or the id of the host.
    pub name: String,
    /// What people call the host, where that tells it from others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_name: Option<String>,
    /// In how many runs it is the slowest.
    pub hits: u64,
    /// In how many it took part. Runs in which several took as long are left out.
    pub runs: u64,
    /// In how many chance would make it the slowest, on average.
    pub expected: f64,
    /// How many others are the slowest as often.
    pub alike: u64,
    /// The runs that are left out.
    pub tied: u64,
    /// The probability that chance makes this one the slowest as often or more.
    pub p_value: f64,
    /// The same adjusted for the number of ranks, seats, or hosts.
    pub adjusted: f64,
    /// Whether that is at most the report's risk.
    pub is_more_often: bool,
}

/// What all versions of a benchmark share.
struct RankContext<'a> {
    study: &'a Study,
    gang: &'a Gang,
    level: ConfidenceLevel,
    /// The labels of the hosts, by the order of their names.
    labels: &'a [HostLabel],
}

impl RanksReport {
    /// Of each benchmark whose ranks are timed, in plan order.
    pub(crate) fn all(study: &Study, sampled: &[BenchmarkSamples<'_>], level: ConfidenceLevel) -> Vec<Self> {
        let experiment = &study.plan.experiment;
        let taking_part = study.plan.benchmarks.iter().filter_map(|index| experiment.benchmark(*index));
        let timed = taking_part.zip(sampled).filter_map(|(benchmark, sampled)| {
            Some((benchmark, sampled, benchmark.gang.as_ref().filter(|gang| gang.times_ranks)?))
        });
        let timed: Vec<(&Benchmark, &BenchmarkSamples<'_>, &Gang)> = timed.collect();
        if timed.is_empty() {
            return Vec::new();
        }
        let labels = study.evidence.labels();
        let of = |(benchmark, sampled, gang): (&Benchmark, &BenchmarkSamples<'_>, &Gang)| {
            let shared = RankContext { study, gang, level, labels: &labels };
            Self::new(benchmark, sampled, &shared)
        };
        timed.into_iter().map(of).collect()
    }

    fn new(benchmark: &Benchmark, sampled: &BenchmarkSamples<'_>, shared: &RankContext<'_>) -> Self {
        let ranks = shared.gang.ranks();
        let runs: Vec<Vec<RunRanks>> =
            sampled.records.iter().map(|records| records.ranks.complete(ranks)).collect();
        let slowest: Vec<Option<Sample>> =
            runs.iter().map(|runs| sample(runs, |run| run.slowest_ns)).collect();
        let compared = shared.study.plan.experiment.compared();
        let version = |(at, runs): (usize, &Vec<RunRanks>)| {
            let baseline = slowest[0].as_ref().filter(|_| at > 0);
            let measured = sampled.records[at].runs() as u64;
            let of = VersionRanks::new(&compared[at].name, runs, measured, shared);
            let speedup = baseline.zip(slowest[at].as_ref()).map(|(x, y)| shared.ratio(x, y));
            VersionRanks { speedup, ..of }
        };
        Self {
            benchmark: benchmark.name.clone(),
            hosts: shared.gang.hosts,
            ranks,
            versions: runs.iter().enumerate().map(version).collect(),
        }
    }
}

impl VersionRanks {
    fn new(version: &str, runs: &[RunRanks], measured: u64, shared: &RankContext<'_>) -> Self {
        let n = runs.len() as u64;
        let median = |of: fn(&RunRanks) -> f64| sample(runs, of).map(|sample| shared.median(&sample));
        let found = Self {
            version: version.to_owned(),
            n,
            incomplete: measured - n,
            slowest_ns: sample(runs, |run| run.slowest_ns).map(|sample| shared.mean(&sample)),
            skew_ns: median(|run| run.skew_ns),
            imbalance: median(|run| run.imbalance),
            speedup: None,
            rank: shared.rank(runs),
            seat: shared.seat(runs),
            host: shared.host(runs),
            sentence: String::new(),
        };
        Self { sentence: words::of_version(&found), ..found }
    }
}

fn sample(runs: &[RunRanks], of: fn(&RunRanks) -> f64) -> Option<Sample> {
    Sample::new(runs.iter().map(of).collect()).ok()
}

impl RankContext<'_> {
    fn mean(&self, sample: &Sample) -> RankValue {
        let values = sample.in_run_order().to_vec();
        let interval = match LevelTree::balanced(values, &[sample.len()]) {
            Ok(levels) => match RandomEffects::new(&levels).interval(self.level, Critical::Student) {
                Ok(interval) => IntervalReport::from(&interval),
                Err(error) => IntervalReport::Missing { reason: of_mean(&error) },
            },
            Err(error) => IntervalReport::Missing { reason: Reason::of(ReasonCode::NoLevels, &error) },
        };
        self.value(sample.mean(), interval)
    }

    fn median(&self, sample: &Sample) -> RankValue {
        let interval = SampleQuantile::median(sample).interval(self.level);
        let is_bounded = interval.lower.is_finite() && interval.upper.is_finite();
        let interval = match is_bounded {
            true => IntervalReport::from(&interval),
            false => IntervalReport::Missing { reason: Unbounded::TooFewRuns.into() },
        };
        self.value(sample.median(), interval)
    }

    fn ratio(&self, baseline: &Sample, candidate: &Sample) -> RankValue {
        let ratio: Result<MeanRatio, RatioError> = MeanRatio::new(baseline, candidate);
        let interval = IntervalReport::from(&ratio.map(|ratio| ratio.interval(self.level)));
        self.value(baseline.mean() / candidate.mean(), interval)
    }

    /// Looks at the times that decided how many runs there are leave no interval its level.
    fn value(&self, estimate: f64, interval: IntervalReport) -> RankValue {
        let interval = match self.study.plan.experiment.rule {
            Rule::Sequential { .. } => IntervalReport::Missing { reason: looked_sequentially() },
            Rule::Fixed | Rule::Pilot { .. } | Rule::Budget { .. } | Rule::Bisection(_) => interval,
        };
        RankValue { estimate, interval }
    }

    fn rank(&self, runs: &[RunRanks]) -> Option<SlowestReport> {
        let ranks = self.gang.ranks();
        let hits: Vec<u32> = runs.iter().filter_map(|run| run.slowest.rank()).collect();
        let trials = hits.len() as u64;
        let found = MostOften::new(&counted(hits, |_| trials), ranks, 1.0 / ranks as f64);
        let name = |of: OftenCount| (of.member.to_string(), None);
        found.filter(|_| ranks > 1).map(|found| self.told(&found, name, runs.len() as u64 - trials))
    }

    /// The ranks of each seat are as many, so each seat has the slowest with the same probability.
    fn seat(&self, runs: &[RunRanks]) -> Option<SlowestReport> {
        let seats = self.gang.hosts;
        let hits: Vec<u32> = places(runs).map(|(_, place)| place.seat).collect();
        let trials = hits.len() as u64;
        let found = MostOften::new(&counted(hits, |_| trials), seats.into(), 1.0 / f64::from(seats));
        let name = |of: OftenCount| (of.member.to_string(), None);
        found.filter(|_| seats > 1).map(|found| self.told(&found, name, runs.len() as u64 - trials))
    }

    /// A host is compared over the runs in which it took part.
    fn host(&self, runs: &[RunRanks]) -> Option<SlowestReport> {
        let hosts = self.gang.hosts;
        let taken: BTreeSet<(RunIndex, Attempt)> =
            places(runs).map(|(run, _)| (run.run, run.attempt)).collect();
        let evidence = &self.study.evidence;
        let served = evidence.served.iter();
        let served = served.filter(|one| taken.contains(&(one.location.run, one.attempt)));
        let by_name = evidence.hosts.places();
        let mut served_by: BTreeMap<u32, u64> = BTreeMap::new();
        for one in served {
            *served_by.entry(by_name[evidence.stay(one.location).host as usize]).or_default() += 1;
        }
        if hosts < 2 || served_by.values().all(|runs| *runs < 2) {
            return None;
        }
        let hits = places(runs).map(|(_, place)| by_name[place.host as usize]).collect();
        let counts = counted(hits, |host| served_by.get(&host).copied().unwrap_or(0));
        let found = MostOften::new(&counts, served_by.len() as u64, 1.0 / f64::from(hosts))?;
        let name = |of: OftenCount| self.labels[of.member as usize].clone();
        Some(self.told(&found, name, (runs.len() - taken.len()) as u64))
    }

    fn told(&self, found: &MostOften, name: impl Fn(OftenCount) -> HostLabel, tied: u64) -> SlowestReport {
        let (name, host_name) = name(found.of);
        SlowestReport {
            method: MostOften::NAME.to_owned(),
            name,
            host_name,
            hits: found.of.hits,
            runs: found.of.trials,
            expected: found.expected,
            alike: found.alike as u64,
            tied,
            p_value: found.p.told(),
            adjusted: found.adjusted.told(),
            is_more_often: found.adjusted.rejects_at(self.level.risk()),
        }
    }
}

/// The runs whose slowest rank was on one host, with where that was.
fn places(runs: &[RunRanks]) -> impl Iterator<Item = (&RunRanks, RankPlace)> {
    runs.iter().filter_map(|run| Some((run, run.slowest.place()?)))
}

/// How often each was the slowest, ascending by its number.
fn counted(hits: Vec<u32>, trials: impl Fn(u32) -> u64) -> Vec<OftenCount> {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    hits.into_iter().for_each(|member| *counts.entry(member).or_default() += 1);
    counts.into_iter().map(|(member, hits)| OftenCount { member, hits, trials: trials(member) }).collect()
}

fn of_mean(error: &MeanErrorUnknown) -> Reason {
    let code = match error {
        MeanErrorUnknown::OneUnit => ReasonCode::TooFewRuns,
        MeanErrorUnknown::Constant => ReasonCode::Constant,
    };
    let sentence = match error {
        MeanErrorUnknown::OneUnit => {
            "The error of a mean needs at least 2 runs, but there is one: plan more runs"
        }
        MeanErrorUnknown::Constant => "All runs have one value, so their mean has no error: use a longer run",
    };
    Reason::new(code, sentence)
}
