//! A candidate over all benchmarks: the overall speedup, the verdict in words, and the counts behind it.
//!
//! The verdict on the suite is by the overall speedup of the mean ([`SuiteRatio`]), one-sided at the
//! report's confidence level like those of the benchmarks; of a single benchmark it is that benchmark's own.

use super::comparison::{BenchmarkReport, ComparisonReport};
use super::members::Members;
use super::multiplicity::MultiplicityReport;
use super::proportion::{ProportionReport, RequiredReport};
use super::protocol::IntervalReport;
use crate::count;
use crate::study::validity::warning::Warnings;
use crate::study::verdict::{Direction, Protocol, Reason, Verdict};
use serde::{Deserialize, Serialize};
use speedup_statistics::inference::{Alternative, ConfidenceLevel, PValue, RatioInterval};
use speedup_statistics::ratio::{
    BenchmarkWeights, PairedRatio, RatioError, SpeedupMeans, SuiteRatio, SuiteRatioError, Summary,
};

/// A candidate over all benchmarks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SuiteReport {
    /// The candidate.
    pub candidate: String,
    /// The verdict on the suite.
    pub verdict: Verdict,
    /// The verdict in a sentence, with how much and how sure.
    pub sentence: String,
    /// Why there is not enough data.
    pub reason: Option<Reason>,
    /// How many benchmarks have which headline verdict.
    pub benchmarks: VerdictCounts,
    /// The overall speedup that the verdict is about; `None` without data.
    pub speedup: Option<f64>,
    /// The change of the time that goes with it, in percent.
    pub change_percent: Option<f64>,
    /// Its interval.
    pub interval: Option<IntervalReport>,
    /// The one-sided p-value of the verdict, in the observed direction.
    pub p_value: Option<f64>,
    /// The benchmarks that the overall numbers are over: those with measured runs of both versions.
    pub over: u64,
    /// Overall gain and speedup by minimum, mean and median (Touati 2010 §3.2).
    pub overall: Vec<OverallReport>,
    /// The plain means of the benchmarks' speedups by minimum, mean and median, which are no overall speedups; empty in
    /// reports from before they were told.
    #[serde(default)]
    pub speedup_means: Vec<SpeedupMeansReport>,
    /// How many benchmarks are accelerated, or slowed down, by the headline and by each protocol.
    pub proportions: Vec<ProportionReport>,
    /// How many benchmarks it takes to know the proportion to the plan's precision.
    pub required: Option<RequiredReport>,
    /// What is left of the verdicts on the benchmarks when their p-values are adjusted for their number.
    #[serde(default)]
    pub multiplicity: Vec<MultiplicityReport>,
}

/// How many benchmarks have which headline verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictCounts {
    /// Faster.
    pub faster: u64,
    /// Slower.
    pub slower: u64,
    /// No difference shown.
    pub no_difference_shown: u64,
    /// Not enough data.
    pub not_enough_data: u64,
}

/// The overall gain and speedup by one summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OverallReport {
    /// `min`, `mean` or `median`.
    pub summary: String,
    /// G, the share of the weighted baseline time that is saved.
    pub gain: f64,
    /// S = 1/(1 − G).
    pub speedup: f64,
}

/// Plain means of the benchmarks' speedups by one summary (Touati 2010 §3.2, example 3.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpeedupMeansReport {
    /// `min`, `mean` or `median`.
    pub summary: String,
    /// (1/b)·Σ s.
    pub arithmetic: f64,
    /// (Π s)^(1/b).
    pub geometric: f64,
    /// b/Σ(1/s).
    pub harmonic: f64,
    /// What must be known: that none of them is an overall speedup.
    pub caveats: Vec<Reason>,
}

impl VerdictCounts {
    pub(crate) fn of<'a>(verdicts: impl Iterator<Item = &'a Verdict>) -> Self {
        let mut counts = Self::default();
        for verdict in verdicts {
            *match verdict {
                Verdict::Faster => &mut counts.faster,
                Verdict::Slower => &mut counts.slower,
                Verdict::NoDifferenceShown => &mut counts.no_difference_shown,
                Verdict::NotEnoughData => &mut counts.not_enough_data,
            } += 1;
        }
        counts
    }

    /// All benchmarks.
    pub fn total(&self) -> u64 {
        self.faster + self.slower + self.no_difference_shown + self.not_enough_data
    }
}

/// What the overall numbers are computed from.
pub(crate) struct Suite<'a> {
    pub(crate) candidate: &'a str,
    pub(crate) baseline: &'a str,
    /// All benchmarks that take part, each with the comparison of this candidate.
    pub(crate) benchmarks: Vec<(&'a BenchmarkReport, &'a ComparisonReport)>,
    /// Those with a sample of positive times of both versions.
    pub(crate) members: Members<'a>,
    /// Whether the observations of each benchmark are pairs.
    pub(crate) are_pairs: bool,
    /// Whether the plan's looks decided how many runs each benchmark has.
    pub(crate) is_by_looks: bool,
    pub(crate) weights: BenchmarkWeights,
    pub(crate) level: ConfidenceLevel,
}

/// The ratio of the weighted sums of means.
enum SuiteMean {
    OfRuns(SuiteRatio),
    OfPairs(PairedRatio),
}

/// The overall speedup with its verdict.
struct Conclusion {
    verdict: Verdict,
    reason: Option<Reason>,
    speedup: Option<f64>,
    interval: Option<IntervalReport>,
    p_value: Option<f64>,
}

impl Suite<'_> {
    /// The report, with its proportions yet to be filled in.
    pub(crate) fn report(&self, warnings: &mut Warnings) -> SuiteReport {
        self.warn(warnings);
        let overall = |summary: Summary| {
            let overall = self.members.overall(&self.weights, summary).ok()?;
            let summary = summary.name().to_owned();
            Some(OverallReport { summary, gain: overall.gain, speedup: overall.speedup })
        };
        let means = |summary: Summary| SpeedupMeansReport::new(&self.members, summary);
        let conclusion = self.conclusion();
        let benchmarks = VerdictCounts::of(self.benchmarks.iter().map(|(_, comparison)| &comparison.verdict));
        SuiteReport {
            candidate: self.candidate.to_owned(),
            verdict: conclusion.verdict,
            sentence: self.sentence(&conclusion, benchmarks),
            change_percent: conclusion.speedup.map(|speedup| 100.0 * (1.0 / speedup - 1.0)),
            reason: conclusion.reason,
            benchmarks,
            speedup: conclusion.speedup,
            interval: conclusion.interval,
            p_value: conclusion.p_value,
            over: self.members.benchmarks() as u64,
            overall: Summary::ALL.into_iter().filter_map(overall).collect(),
            speedup_means: Summary::ALL.into_iter().filter_map(means).collect(),
            proportions: Vec::new(),
            required: None,
            multiplicity: Vec::new(),
        }
    }

    fn conclusion(&self) -> Conclusion {
        match &self.benchmarks[..] {
            [(_, only)] => Conclusion::of_one(only),
            _ if self.is_by_looks => self.of_looks(),
            _ => self.of_many(),
        }
    }

    /// Over benchmarks that stopped by what they showed there is no test that keeps the risk: the speedup is a description.
    fn of_looks(&self) -> Conclusion {
        let reason = Reason::new(
            "no_suite_by_looks",
            "The looks decided for each benchmark by itself how many runs it has, so no test over all of them keeps the risk: \
             go by the benchmarks",
        );
        let overall = self.members.overall(&self.weights, Summary::Mean).ok();
        let interval = IntervalReport::Missing { reason: reason.clone() };
        Conclusion {
            speedup: overall.map(|overall| overall.speedup),
            interval: Some(interval),
            ..Conclusion::refused(reason)
        }
    }

    fn of_many(&self) -> Conclusion {
        let (members, weights) =
            (self.members.as_members(), self.members.weights(&self.weights, Summary::Mean));
        let ratio = match self.are_pairs {
            true => {
                PairedRatio::of_clusters(members, self.members.builds(), &weights).map(SuiteMean::OfPairs)
            }
            false => SuiteRatio::of_clusters(members, self.members.builds(), &weights).map(SuiteMean::OfRuns),
        };
        let ratio = match ratio {
            Ok(ratio) => ratio,
            Err(error) => return Conclusion::refused(refusal(error, self.members.benchmarks())),
        };
        let [faster, slower] =
            [Alternative::Greater, Alternative::Less].map(|alternative| ratio.p_value(1.0, alternative));
        let p_value = if slower.get() < faster.get() { slower } else { faster };
        let significant = PValue::rejects_at(p_value, self.level.risk());
        let verdict = match Direction::of(ratio.estimate()) {
            Direction::CandidateFaster if significant => Verdict::Faster,
            Direction::CandidateSlower if significant => Verdict::Slower,
            Direction::CandidateFaster | Direction::CandidateSlower | Direction::Neither => {
                Verdict::NoDifferenceShown
            }
        };
        Conclusion {
            verdict,
            reason: None,
            speedup: Some(ratio.estimate()),
            interval: Some((&ratio.interval(self.level)).into()),
            p_value: Some(p_value.told()),
        }
    }

    fn sentence(&self, conclusion: &Conclusion, counts: VerdictCounts) -> String {
        let Self { candidate, baseline, level, .. } = self;
        let within = if self.members.are_by_classes() { " within the classes of hosts" } else { "" };
        let over = match self.benchmarks.len() {
            1 => within.to_owned(),
            _ => format!(" over {}{within}", count::counted(self.members.benchmarks() as u64, "benchmark")),
        };
        let ends = conclusion.interval.as_ref().and_then(IntervalReport::ends);
        let size = |speedup: f64| {
            let change = count::change(100.0 * (1.0 / speedup - 1.0), ends);
            format!("{} ({change}){over}", count::ratio(speedup, ends))
        };
        let level = count::percent(level.get());
        let covers_one = match ends {
            Some((lower, upper)) if lower <= 1.0 && 1.0 <= upper && !self.is_by_looks => {
                "; the verdict is one-sided, and the two-sided interval still covers 1"
            }
            Some(_) | None => "",
        };
        let said = match (conclusion.verdict, conclusion.speedup) {
            (Verdict::Faster, Some(speedup)) => {
                format!(
                    "{candidate} is faster than {baseline}: {}, at confidence level {level}{covers_one}.",
                    size(speedup)
                )
            }
            (Verdict::Slower, Some(speedup)) => {
                format!(
                    "{candidate} is slower than {baseline}: {}, at confidence level {level}{covers_one}.",
                    size(speedup)
                )
            }
            (Verdict::NoDifferenceShown, Some(speedup)) => format!(
                "No difference shown between {candidate} and {baseline}: {}, at confidence level {level}.",
                size(speedup)
            ),
            (Verdict::NotEnoughData, speedup) if self.is_by_looks && counts.total() > 1 => {
                let about = speedup.map_or_else(String::new, |speedup| {
                    format!(" The overall speedup of {} is a description, not a verdict.", size(speedup))
                });
                format!(
                    "{candidate} against {baseline} by the looks of each benchmark, each at confidence level {level}.{about}"
                )
            }
            (Verdict::NotEnoughData, _) | (_, None) => {
                let reason = conclusion.reason.as_ref().map_or("", |reason| reason.sentence.as_str());
                format!("Not enough data to compare {candidate} with {baseline}. {reason}")
            }
        };
        if counts.total() < 2 {
            return said.trim_end().to_owned();
        }
        let of =
            |number: u64, words: &str| (number > 0).then(|| format!("{words} on {}", count::grouped(number)));
        let counts = [
            Some(format!(
                "faster on {} of {}",
                count::grouped(counts.faster),
                count::counted(counts.total(), "benchmark")
            )),
            Some(format!("slower on {}", count::grouped(counts.slower))),
            of(counts.no_difference_shown, "no difference shown"),
            of(counts.not_enough_data, "not enough data"),
        ];
        let counts: Vec<String> = counts.into_iter().flatten().collect();
        format!("{} By benchmark: {}.", said.trim_end(), counts.join(", "))
    }

    fn warn(&self, warnings: &mut Warnings) {
        if self.benchmarks.len() < 2 || self.members.benchmarks() == 0 {
            return;
        }
        for (benchmark, comparison) in &self.benchmarks {
            if comparison.observed.is_none() {
                warnings.concern("suite_incomplete", &benchmark.name, || {
                    "The overall speedups leave out benchmarks without measured runs of both versions: mend \
                     or repeat these before quoting the suite."
                        .to_owned()
                });
            }
            let small_not_normal = |comparison: &ComparisonReport| {
                let reason = comparison.of(Protocol::Mean).and_then(|mean| mean.reason.as_ref());
                reason.is_some_and(|reason| reason.code == "small_not_normal")
            };
            if small_not_normal(comparison) {
                warnings.concern("suite_mean_approximate", &benchmark.name, || {
                    "The verdict on the suite is by means, some of at most 30 runs that are not normally \
                     distributed, so its level is approximate: plan more than 30 runs, or go by the benchmarks."
                        .to_owned()
                });
            }
        }
    }
}

impl SuiteMean {
    fn estimate(&self) -> f64 {
        match self {
            Self::OfRuns(ratio) => ratio.estimate(),
            Self::OfPairs(ratio) => ratio.estimate(),
        }
    }

    fn p_value(&self, ratio: f64, alternative: Alternative) -> PValue {
        match self {
            Self::OfRuns(of) => of.p_value(ratio, alternative),
            Self::OfPairs(of) => of.p_value(ratio, alternative),
        }
    }

    fn interval(&self, level: ConfidenceLevel) -> RatioInterval {
        match self {
            Self::OfRuns(ratio) => ratio.interval(level),
            Self::OfPairs(ratio) => ratio.interval(level),
        }
    }
}

impl SpeedupMeansReport {
    fn new(members: &Members<'_>, summary: Summary) -> Option<Self> {
        let SpeedupMeans { arithmetic, geometric, harmonic } = members.speedup_means(summary)?;
        let caveat = SpeedupMeans::CAVEAT;
        let caveats = vec![Reason { code: caveat.code().to_owned(), sentence: caveat.sentence() }];
        Some(Self { summary: summary.name().to_owned(), arithmetic, geometric, harmonic, caveats })
    }
}

impl Conclusion {
    fn of_one(only: &ComparisonReport) -> Self {
        let headline = only.headline();
        Self {
            verdict: only.verdict,
            reason: only.reason.clone(),
            speedup: headline.map(|headline| headline.speedup),
            interval: headline.map(|headline| headline.interval.clone()),
            p_value: headline.and_then(|headline| headline.at_level.main_test.p_value),
        }
    }

    fn refused(reason: Reason) -> Self {
        Self {
            verdict: Verdict::NotEnoughData,
            reason: Some(reason),
            speedup: None,
            interval: None,
            p_value: None,
        }
    }
}

fn refusal(error: SuiteRatioError, members: usize) -> Reason {
    match error {
        SuiteRatioError::Suite(_) if members == 0 => {
            Reason::new("not_measured", "No benchmark has measured runs of both versions")
        }
        SuiteRatioError::Suite(error) => Reason::new("weights", error),
        SuiteRatioError::Ratio(error @ RatioError::TooFew { .. }) => Reason::from(&error),
        SuiteRatioError::Ratio(
            error @ (RatioError::NotPositive { .. } | RatioError::Constant | RatioError::EssentiallyConstant),
        ) => Reason::from(&error),
    }
}
