//! A candidate over all benchmarks: what got faster, the total, the typical benchmark, and a further one.
//!
//! The total is the ratio of the weighted sums of mean times ([`SuiteRatio`]), with a two-sided interval. Its verdict is the suite's
//! one word, unless a benchmark whose verdict survives Holm's adjustment says the opposite: then there is no one word. The
//! typical speedup is the random-effects mean of the benchmarks' log speedups ([`RandomEffectsMean`]), with the interval in which
//! a further benchmark's lies. Of a single benchmark all is that benchmark's own.

use super::comparison::{BenchmarkReport, ComparisonReport};
use super::multiplicity::{AdjustedReport, FamilyMember, MultiplicityReport, TestedVerdict};
use super::proportion::{ProportionReport, RequiredReport, TrueShareReport};
use super::{members::Members, proportion, verdict_counts::VerdictCounts};
use crate::conclusion::{Reason, ReasonCode, Verdict, WarningCode, Warnings};
use crate::count;
use crate::study::two_sample::{headline::HeadlineSpec, headline::OneSidedReport, interval::IntervalReport};
use serde::{Deserialize, Serialize};
use speedup_statistics::inference::{Adjustment, ErrorRate, Interval, PValue};
use speedup_statistics::protocol::speedup_test::LARGE_ABOVE;
use speedup_statistics::ratio::{
    BenchmarkWeights, LogEffect, PairedRatio, RandomEffectsMean, RatioError, Speedup, SpeedupMeans,
    SuiteMember, SuiteRatio, SuiteRatioError, Summary,
};
use speedup_statistics::test::{ExactRule, KolmogorovSmirnovStatistic, Selection};

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
    /// The two-sided p-value of its being 1.
    pub p_value: Option<f64>,
    /// The p-value of the versions differing by the margin or more in total, where the plan declares one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_same: Option<f64>,
    /// Both directions tested against the noise threshold of the report in place of 1, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_threshold: Option<OneSidedReport>,
    /// The verdict with its p-value adjusted, in one family with the benchmarks; of one benchmark its own.
    #[serde(default)]
    pub adjusted: Vec<AdjustedReport>,
    /// The typical benchmark, and a further one; `None` below [`FEWEST_TYPICAL`] benchmarks with intervals.
    #[serde(default)]
    pub typical: Option<TypicalReport>,
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
    /// Which share of the benchmarks is truly faster.
    #[serde(default)]
    pub true_share: Option<TrueShareReport>,
    /// How many benchmarks it takes to know the proportion to the plan's precision.
    pub required: Option<RequiredReport>,
    /// What is left of the verdicts on the benchmarks when their p-values are adjusted for their number.
    #[serde(default)]
    pub multiplicity: Vec<MultiplicityReport>,
}

/// The typical speedup of the benchmarks, and what it says of a further one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TypicalReport {
    /// The full name of the method.
    pub method: String,
    /// The benchmarks that have an interval, and so a weight.
    pub benchmarks: u64,
    /// The random-effects mean of the log speedups, as a speedup.
    pub speedup: f64,
    /// Its interval at the report's level.
    pub interval: [f64; 2],
    /// Where a further benchmark of the same population lies, at that level.
    pub prediction: [f64; 2],
    /// τ, the standard deviation of the log speedups between benchmarks.
    pub tau: f64,
    /// I², the share of the scatter that is of the benchmarks, not of their runs.
    pub heterogeneity: f64,
}

/// The fewest benchmarks that have a typical one.
pub const FEWEST_TYPICAL: usize = 3;
/// The least variance of a log speedup: below it lies the rounding of clocks.
const LEAST_VARIANCE: f64 = 1e-14;

/// The overall gain and speedup by one summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OverallReport {
    /// What stands for the times of a benchmark.
    pub summary: Summary,
    /// G, the share of the weighted baseline time that is saved.
    pub gain: f64,
    /// S = 1/(1 − G).
    pub speedup: f64,
}

/// Plain means of the benchmarks' speedups by one summary (Touati 2010 §3.2, example 3.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpeedupMeansReport {
    /// What stands for the times of a benchmark.
    pub summary: Summary,
    /// (1/b)·Σ s.
    pub arithmetic: f64,
    /// (Π s)^(1/b).
    pub geometric: f64,
    /// b/Σ(1/s).
    pub harmonic: f64,
    /// What must be known: that none of them is an overall speedup.
    pub caveats: Vec<Reason>,
}

impl SuiteReport {
    /// The same with what the adjustments leave of the benchmarks.
    pub(crate) fn with_multiplicity(mut self, multiplicity: Vec<MultiplicityReport>) -> Self {
        self.multiplicity = multiplicity;
        let mut counts = self.multiplicity.iter();
        if let Some(holm) = counts.find(|one| one.controls == ErrorRate::Familywise && one.tests > 1) {
            let (total, _) = self.familywise();
            let benchmarks = holm.benchmarks.in_words();
            let said = format!(" Adjusted verdicts (Holm): in total {}; {benchmarks}.", total.words());
            self.sentence.push_str(&said);
        }
        self
    }

    /// The verdict that keeps the risk of its family, and its p-value. Where benchmarks went another way than the total it has no verdict
    /// to be left of.
    pub(crate) fn familywise(&self) -> (Verdict, Option<f64>) {
        match self.adjusted.iter().find(|one| one.is_familywise()) {
            Some(holm) if self.verdict.is_conclusive() => (holm.verdict, Some(holm.p_value)),
            Some(holm) => (self.verdict, Some(holm.p_value)),
            None => (self.verdict, self.verdict.p_value(self.p_value, self.p_same)),
        }
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
    /// Whether runs of the plan are outstanding, before which there is no verdict.
    pub(crate) is_so_far: bool,
    /// How the benchmarks were selected: those drawn at random speak of further ones.
    pub(crate) selection: Selection,
    /// Whether a speedup of 2 says twice the values instead of half of them.
    pub(crate) larger_is_better: bool,
    pub(crate) weights: BenchmarkWeights,
    pub(crate) declared: HeadlineSpec,
}

/// The total with its verdict.
#[derive(Clone, Debug, Default)]
pub(crate) struct Total {
    verdict: Verdict,
    reason: Option<Reason>,
    speedup: Option<f64>,
    interval: Option<IntervalReport>,
    p_value: Option<f64>,
    p_same: Option<f64>,
    at_threshold: Option<OneSidedReport>,
    /// The verdict with its p-value adjusted.
    pub(super) adjusted: Vec<AdjustedReport>,
}

impl FamilyMember for Total {
    fn tested(&self) -> TestedVerdict {
        TestedVerdict {
            verdict: self.verdict,
            differ: Some(PValue::from_told(self.p_value.unwrap_or(1.0))),
            same: self.p_same.map(PValue::from_told),
        }
    }

    fn store(&mut self, adjustment: Adjustment, verdict: Verdict, p_value: PValue) {
        self.adjusted.push(AdjustedReport::new(adjustment, verdict, p_value));
    }
}

impl Suite<'_> {
    /// The report of a conclusion, whose benchmarks are adjusted; how, and how many it would take, its caller fills in.
    pub(crate) fn report(&self, conclusion: Total, warnings: &mut Warnings) -> SuiteReport {
        self.warn(&conclusion, warnings);
        let conclusion = self.without_opposition(conclusion);
        let typical = self.typical();
        let overall = |summary: Summary| {
            let overall = self.members.overall(&self.weights, summary).ok()?;
            Some(OverallReport { summary, gain: overall.gain, speedup: overall.speedup })
        };
        let means = |summary: Summary| SpeedupMeansReport::new(&self.members, summary);
        let comparisons: Vec<_> = self.benchmarks.iter().map(|(_, comparison)| *comparison).collect();
        let benchmarks = VerdictCounts::of(comparisons.iter().map(|comparison| &comparison.verdict));
        SuiteReport {
            candidate: self.candidate.to_owned(),
            verdict: conclusion.verdict,
            sentence: self.sentence(&conclusion, benchmarks, typical.as_ref()),
            change_percent: conclusion.speedup.map(|speedup| 100.0 * (1.0 / speedup - 1.0)),
            reason: conclusion.reason,
            benchmarks,
            speedup: conclusion.speedup,
            interval: conclusion.interval,
            p_value: conclusion.p_value,
            p_same: conclusion.p_same,
            at_threshold: conclusion.at_threshold,
            adjusted: conclusion.adjusted,
            typical,
            over: self.members.benchmarks() as u64,
            overall: Summary::ALL.into_iter().filter_map(overall).collect(),
            speedup_means: Summary::ALL.into_iter().filter_map(means).collect(),
            proportions: proportion::all(&comparisons, self.selection, self.declared.level),
            true_share: match self.is_so_far {
                true => None,
                false => TrueShareReport::new(&comparisons, self.selection, self.declared.level),
            },
            required: None,
            multiplicity: Vec::new(),
        }
    }

    /// The total, before the benchmarks are adjusted.
    pub(crate) fn conclusion(&self) -> Total {
        match &self.benchmarks[..] {
            [(_, only)] => Total::of_one(only),
            _ if self.is_by_looks => self.of_looks(),
            _ if self.is_so_far => {
                let Total { speedup, interval, .. } = self.of_many();
                Total { speedup, interval, ..Total::refused(Reason::runs_outstanding()) }
            }
            _ => self.of_many(),
        }
    }

    /// Over benchmarks that stopped by what they showed there is no test that keeps the risk: the speedup is a description.
    fn of_looks(&self) -> Total {
        let reason = Reason::new(
            ReasonCode::NoSuiteByLooks,
            "The looks decided for each benchmark by itself how many runs it has, so no test over all of them keeps the risk: \
             go by the benchmarks",
        );
        let overall = self.members.overall(&self.weights, Summary::Mean).ok();
        let interval = IntervalReport::Missing { reason: reason.clone() };
        Total {
            speedup: overall.map(|overall| overall.speedup),
            interval: Some(interval),
            ..Total::refused(reason)
        }
    }

    fn of_many(&self) -> Total {
        let (members, weights) =
            (self.members.as_members(), self.members.weights(&self.weights, Summary::Mean));
        let builds = self.members.builds();
        let ratio: Result<Box<dyn Speedup>, SuiteRatioError> = match self.are_pairs {
            true => PairedRatio::from_clusters(members, builds, &weights).map(|ratio| Box::new(ratio) as _),
            false => SuiteRatio::from_clusters(members, builds, &weights).map(|ratio| {
                Box::new(if self.declared.is_by_size { ratio } else { ratio.by_smaller_side() }) as _
            }),
        };
        let ratio = match ratio {
            Ok(ratio) => ratio,
            Err(error) => return Total::refused(refusal(error, self.members.benchmarks())),
        };
        // The clock's step is at most the largest share of a benchmark's time.
        let steps =
            self.benchmarks.iter().filter_map(|(_, comparison)| comparison.first.as_ref()?.clock_step);
        let declared = HeadlineSpec { clock_step: steps.reduce(f64::max), ..self.declared };
        let found = declared.judge(&*ratio);
        Total {
            verdict: found.verdict,
            reason: found.interval.reason().cloned(),
            speedup: Some(found.ratio),
            interval: Some(found.interval),
            p_value: Some(found.p_value),
            p_same: found.p_same,
            at_threshold: found.at_threshold,
            adjusted: Vec::new(),
        }
    }

    /// The same without its word, where a benchmark whose verdict survives the adjustment says the opposite.
    fn without_opposition(&self, conclusion: Total) -> Total {
        let opposite = match conclusion.verdict {
            Verdict::Faster => Verdict::Slower,
            Verdict::Slower => Verdict::Faster,
            Verdict::Same | Verdict::Undecided | Verdict::NotEnoughData => return conclusion,
        };
        let opposes = |comparison: &ComparisonReport| {
            comparison.adjusted.iter().any(|one| one.is_familywise() && one.verdict == opposite)
        };
        if !self.benchmarks.iter().any(|(_, comparison)| opposes(comparison)) {
            return conclusion;
        }
        let sentence = "Benchmarks went another way than the total, so there is no single verdict for all of \
            them: go by the benchmarks";
        let reason = Some(Reason::new(ReasonCode::BenchmarksOppose, sentence));
        Total { verdict: Verdict::Undecided, reason, ..conclusion }
    }

    /// The random-effects mean of the benchmarks with intervals, by the estimated errors of their log speedups.
    fn typical(&self) -> Option<TypicalReport> {
        let effect = |(_, comparison): &(&BenchmarkReport, &ComparisonReport)| {
            let headline = comparison.headline()?;
            headline.interval.ends()?;
            let variance = headline.log_standard_error?.powi(2).max(LEAST_VARIANCE);
            Some(LogEffect { estimate: headline.speedup.ln(), variance, df: headline.log_df? })
        };
        let effects: Vec<LogEffect> = self.benchmarks.iter().filter_map(effect).collect();
        // What stopped by what it showed has no error that is known.
        if effects.len() < FEWEST_TYPICAL || self.is_by_looks {
            return None;
        }
        let mean = RandomEffectsMean::new(&effects).ok()?;
        let ends = |interval: Interval| [interval.lower.exp(), interval.upper.exp()];
        Some(TypicalReport {
            method: RandomEffectsMean::NAME.to_owned(),
            benchmarks: effects.len() as u64,
            speedup: mean.mean().exp(),
            interval: ends(mean.interval(self.declared.level)),
            prediction: ends(mean.prediction(self.declared.level)),
            tau: mean.tau_squared().sqrt(),
            heterogeneity: mean.heterogeneity(),
        })
    }

    fn sentence(&self, conclusion: &Total, counts: VerdictCounts, typical: Option<&TypicalReport>) -> String {
        let said = self.verdict_in_words(conclusion, counts);
        if counts.total() < 2 || self.is_so_far {
            return said.trim_end().to_owned();
        }
        let typical = typical.map_or_else(String::new, |typical| self.typical_in_words(typical));
        format!("{} By benchmark: {}.{typical}", said.trim_end(), counts.in_words())
    }

    fn verdict_in_words(&self, conclusion: &Total, counts: VerdictCounts) -> String {
        let Self { candidate, baseline, declared, .. } = self;
        let within = if self.members.are_by_classes() { " within the classes of hosts" } else { "" };
        let is_one = self.benchmarks.len() == 1;
        let over = match is_one {
            true => within.to_owned(),
            false => {
                format!(" over {}{within}", count::counted(self.members.benchmarks() as u64, "benchmark"))
            }
        };
        let ends = conclusion.interval.as_ref().and_then(IntervalReport::ends);
        let size = |speedup: f64| {
            let change = if self.larger_is_better { speedup - 1.0 } else { 1.0 / speedup - 1.0 };
            let change = count::change(100.0 * change, ends);
            format!("{} ({change}){over}", count::ratio(speedup, ends))
        };
        let level = count::percent(declared.level.get());
        let in_total = if is_one { "" } else { " in total, by means" };
        match (conclusion.verdict, conclusion.speedup) {
            (verdict @ (Verdict::Faster | Verdict::Slower), Some(speedup)) => format!(
                "{candidate} is {} than {baseline}{in_total}: {}, at confidence level {level}.",
                verdict.words(),
                size(speedup)
            ),
            (Verdict::Same, Some(speedup)) => {
                let margin = self.declared.margin;
                let margin =
                    margin.map_or_else(String::new, |margin| format!(" within ±{}", count::percent(margin)));
                format!(
                    "{candidate} and {baseline} take the same time{in_total}{margin}: {}, at confidence level {level}.",
                    size(speedup)
                )
            }
            (Verdict::Undecided, Some(speedup)) if conclusion.reason.is_some() => format!(
                "No one verdict on {candidate} against {baseline}, as benchmarks went another way than the total: {}, at \
                 confidence level {level}.",
                size(speedup)
            ),
            (Verdict::Undecided, Some(speedup)) => format!(
                "Undecided between {candidate} and {baseline}{in_total}: {}, at confidence level {level}.",
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
            (Verdict::NotEnoughData, Some(speedup)) if self.is_so_far => {
                format!("So far, without a verdict: {baseline} over {candidate}{in_total} {}.", size(speedup))
            }
            (Verdict::NotEnoughData, _) | (_, None) => {
                let reason = conclusion.reason.as_ref().map_or("", |reason| reason.sentence.as_str());
                format!("Not enough data to compare {candidate} with {baseline}. {reason}")
            }
        }
    }

    /// The typical benchmark, in a sentence.
    fn typical_in_words(&self, typical: &TypicalReport) -> String {
        let [lower, upper] = typical.interval;
        let [least, most] = typical.prediction.map(|end| count::ratio(end, None));
        let further = match self.selection {
            Selection::Drawn | Selection::DrawnFromFinite { .. } => {
                format!("; a further one of the population: {least} to {most}")
            }
            Selection::Chosen => String::new(),
        };
        format!(" A typical benchmark: {}{further}.", count::ratio(typical.speedup, Some((lower, upper))))
    }

    /// Names benchmarks whose centres are not shown to differ, though the laws of their times do. The runs are independent there;
    /// of all that are asked the familywise error keeps the level.
    fn warn_of_unlike_shapes(&self, warnings: &mut Warnings) {
        let compared: Vec<_> =
            self.benchmarks.iter().filter(|(_, comparison)| comparison.observed.is_some()).collect();
        let members = self.members.as_members();
        if self.are_pairs || self.is_by_looks || compared.len() != members.len() {
            return;
        }
        let p_value =
            |((_, comparison), member): (&&(&BenchmarkReport, &ComparisonReport), &SuiteMember<'_>)| {
                let is_asked = matches!(comparison.verdict, Verdict::Same | Verdict::Undecided);
                let statistic = || KolmogorovSmirnovStatistic::new(member.baseline, member.candidate);
                (is_asked && comparison.design.is_none())
                    .then(|| statistic().test(ExactRule::SmallProduct).p_value())
            };
        let p_values: Vec<Option<PValue>> = compared.iter().zip(members).map(p_value).collect();
        for ((benchmark, _), p_value) in compared.into_iter().zip(Adjustment::Holm.adjust(&p_values)) {
            if p_value.is_some_and(|p_value| p_value.rejects_at(self.declared.level.risk())) {
                warnings.concern(WarningCode::UnlikeShapes, &benchmark.name, || {
                    "The versions' values do not follow one law (two-sample Kolmogorov–Smirnov test, Holm over the benchmarks), \
                     though their centres are not shown to differ: their spread, their tails or a small shift do. Look at the \
                     distributions, and declare quantiles where tails matter."
                        .to_owned()
                });
            }
        }
    }

    fn warn(&self, conclusion: &Total, warnings: &mut Warnings) {
        self.warn_of_unlike_shapes(warnings);
        if self.benchmarks.len() < 2 || self.members.benchmarks() == 0 {
            return;
        }
        if let Some(name) = self.dominant() {
            warnings.concern(WarningCode::DominatedByOne, name, || {
                "More than half of the total's time is one benchmark's, so the total says little about the \
                    others: go by the benchmarks and by the typical one."
                    .to_owned()
            });
        }
        let by =
            |summary| self.members.overall(&self.weights, summary).map_or(1.0, |overall| overall.speedup);
        let (mean, median) = (by(Summary::Mean), by(Summary::Median));
        if conclusion.verdict.is_effect() && (mean - 1.0) * (median - 1.0) < 0.0 {
            warnings.raise(
                WarningCode::CenterMatters,
                "The total of the means and the total of the medians point in opposite directions: rare long runs decide the \
                 total. Look at the distributions before quoting either."
                    .to_owned(),
            );
        }
        for (benchmark, comparison) in &self.benchmarks {
            if comparison.observed.is_none() {
                warnings.concern(WarningCode::SuiteIncomplete, &benchmark.name, || {
                    "The overall speedups leave out benchmarks without measured runs of both versions: fix or \
                        repeat these before quoting the suite."
                        .to_owned()
                });
            }
        }
        for name in self.not_normal() {
            warnings.concern(WarningCode::SuiteMeanApproximate, name, || {
                "The verdict on the suite is by means, some of at most 30 runs that seem not to be normally distributed \
                 (Shapiro–Wilk, Holm over all samples), so its level is approximate: plan more than 30 runs, or go by the \
                 benchmarks."
                    .to_owned()
            });
        }
    }

    /// The benchmarks with a small sample that is not taken for normal, where all samples are tested together: each at the full risk
    /// would doubt some of many that are normal.
    fn not_normal(&self) -> Vec<&str> {
        let mut names = Vec::new();
        let mut p_values = Vec::new();
        for (benchmark, comparison) in &self.benchmarks {
            let is_small = comparison.baseline_n.min(comparison.candidate_n) <= LARGE_ABOVE as u64;
            for assumption in comparison.mean.iter().flat_map(|mean| &mean.assumptions) {
                if is_small && assumption.assumption.is_normality() {
                    names.push(benchmark.name.as_str());
                    p_values.push(assumption.test.p_value.map(PValue::from_told));
                }
            }
        }
        let risk = self.declared.level.risk();
        let adjusted = names.into_iter().zip(Adjustment::Holm.adjust(&p_values));
        adjusted.filter_map(|(name, p_value)| p_value?.rejects_at(risk).then_some(name)).collect()
    }

    /// The benchmark that has more than half of the baseline's weighted time, of three or more.
    fn dominant(&self) -> Option<&str> {
        let overall = self.members.overall(&self.weights, Summary::Mean).ok()?;
        let compared: Vec<_> =
            self.benchmarks.iter().filter(|(_, comparison)| comparison.observed.is_some()).collect();
        if compared.len() < FEWEST_TYPICAL || overall.weights.len() != compared.len() {
            return None;
        }
        let time = |((benchmark, _), weight): (&&(&'_ BenchmarkReport, &ComparisonReport), &f64)| {
            let wall = benchmark.cells.first().and_then(|cell| cell.wall_ns.as_ref());
            weight * wall.map_or(0.0, |wall| wall.mean)
        };
        let times: Vec<f64> = compared.iter().zip(&overall.weights).map(time).collect();
        let all: f64 = times.iter().sum();
        let at = times.iter().position(|time| *time > all / 2.0)?;
        Some(&compared[at].0.name)
    }
}

impl SpeedupMeansReport {
    fn new(members: &Members<'_>, summary: Summary) -> Option<Self> {
        let SpeedupMeans { arithmetic, geometric, harmonic } = members.speedup_means(summary)?;
        let caveats = vec![Reason::new(ReasonCode::MeanOfSpeedups, SpeedupMeans::CAVEAT.sentence())];
        Some(Self { summary, arithmetic, geometric, harmonic, caveats })
    }
}

impl Total {
    fn of_one(only: &ComparisonReport) -> Self {
        let headline = only.headline();
        Self {
            verdict: only.verdict,
            reason: only.reason.clone(),
            speedup: headline.as_ref().map(|headline| headline.speedup),
            interval: headline.as_ref().map(|headline| headline.interval.clone()),
            p_value: headline.as_ref().and_then(|headline| headline.p_value),
            p_same: headline.as_ref().and_then(|headline| headline.p_same),
            at_threshold: headline.and_then(|headline| headline.at_threshold),
            adjusted: Vec::new(),
        }
    }

    fn refused(reason: Reason) -> Self {
        Self { reason: Some(reason), ..Self::default() }
    }
}

fn refusal(error: SuiteRatioError, members: usize) -> Reason {
    match error {
        SuiteRatioError::Suite(_) if members == 0 => {
            Reason::new(ReasonCode::NotMeasured, "No benchmark has measured runs of both versions")
        }
        SuiteRatioError::Suite(error) => Reason::of(ReasonCode::Weights, &error),
        SuiteRatioError::Ratio(error @ RatioError::TooFew { .. }) => Reason::from(&error),
        SuiteRatioError::Ratio(
            error @ (RatioError::NotPositive { .. } | RatioError::Constant | RatioError::EssentiallyConstant),
        ) => Reason::from(&error),
    }
}
