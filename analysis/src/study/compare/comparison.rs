//! One benchmark: its cells, and each candidate against the baseline.

use super::multiplicity::{AdjustedReport, FamilyMember, TestedVerdict};
use super::{members::speedup_within, mixture::MixtureReport, rule_verdict, rule_verdict::InterimVerdict};
use crate::conclusion::{Direction, Protocol, Reason, ReasonCode, Verdict, WarningCode, Warnings, Word};
use crate::count::counted;
use crate::study::design::{BLOCK, DesignKind, DesignReport, INDEPENDENT_RUN, IndependentUnits};
use crate::study::two_sample::headline::{HeadlineReport, HeadlineSpec, OneSidedReport, Sides};
use crate::study::two_sample::{paired, protocol, stratified};
use crate::study::{
    RunUnit, gather::cell::CellRecords, gather::cell::ConditionCounts, gather::mishap::FailureSummary,
    rule::LookReport, two_sample::advice::AdviceReport, two_sample::interval::by_levels,
    two_sample::protocol::ProtocolReport, two_sample::protocol::ProtocolResult,
    validity::diagnostics::DiagnosticsReport,
};
use serde::{Deserialize, Serialize};
use speedup_core::{experiment::Center, run::timer::TimerError};
use speedup_statistics::inference::{Adjustment, ConfidenceLevel, PValue};
use speedup_statistics::levels::{DroppedWhy, LevelTree, Reshaped};
use speedup_statistics::sample::{Sample, SampleQuantile};
use speedup_statistics::{
    protocol::speedup_test::SpeedupTest, ratio::RatioError, ratio::Summary, ratio::TrimShare,
};

/// A benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchmarkReport {
    /// Its name.
    pub name: String,
    /// Its cells, in the order of the versions.
    pub cells: Vec<CellReport>,
    /// The candidates against the baseline, in the order of the versions.
    pub comparisons: Vec<ComparisonReport>,
}

/// A benchmark in one version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellReport {
    /// The version.
    pub version: String,
    /// The measured runs.
    pub n: u64,
    /// Their wall times; `None` without measured runs.
    pub wall_ns: Option<SampleReport>,
    /// The largest error of the timers that measured them, where those were tested.
    pub timer: Option<TimerError>,
    /// The conditions of the measured runs; nothing known in reports from before this was told.
    #[serde(default)]
    pub conditions: ConditionCounts,
    /// What was not measured.
    pub mishaps: FailureSummary,
    /// Whether its runs are what the methods take them for; `None` below five runs.
    #[serde(default)]
    pub diagnostics: Option<DiagnosticsReport>,
    /// The clusters of its times, where they were asked for.
    #[serde(default)]
    pub mixture: Option<MixtureReport>,
}

/// A sample in a few numbers, in the unit of its observations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SampleReport {
    /// The least.
    pub min: f64,
    /// The lower quartile (type 7).
    pub lower_quartile: f64,
    /// The median.
    pub median: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The geometric mean without the share at each end that the plan says, where trimmed means are compared: the same share of all versions of a
    /// benchmark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trimmed_mean: Option<f64>,
    /// The upper quartile.
    pub upper_quartile: f64,
    /// The largest.
    pub max: f64,
    /// The standard deviation; `None` for one run.
    pub standard_deviation: Option<f64>,
}

/// A candidate against the baseline, on one benchmark.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ComparisonReport {
    /// The candidate.
    pub candidate: String,
    /// The measured runs of the baseline.
    pub baseline_n: u64,
    /// The measured runs of the candidate.
    pub candidate_n: u64,
    /// The headline's verdict.
    pub verdict: Verdict,
    /// The centre that it is of.
    pub by: Option<Center>,
    /// Why there is not enough data.
    pub reason: Option<Reason>,
    /// What is said first; `None` without data, and in reports from before there were headlines: see
    /// [`ComparisonReport::headline`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<HeadlineReport>,
    /// The observed speedups, with measured runs of both.
    pub observed: Option<ObservedReport>,
    /// What the Speedup-Test says of the mean; `None` with fewer than 2 runs of either.
    pub mean: Option<ProtocolReport>,
    /// What it says of the median; `None` with fewer than 2 runs of either.
    pub median: Option<ProtocolReport>,
    /// The estimated probability that a run of the candidate is faster than one of the baseline, or than its pair.
    pub probability_faster: Option<f64>,
    /// The look that the verdict is by, where the plan has looks: the protocol of the declared centre is then the rule's, and
    /// the other absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub look: Option<LookReport>,
    /// The headline's one-sided p-values of both directions.
    #[serde(default)]
    pub one_sided: Option<OneSidedReport>,
    /// The headline with its p-values adjusted for the number of benchmarks; empty for one benchmark.
    #[serde(default)]
    pub adjusted: Vec<AdjustedReport>,
    /// What was compared, where it was not independent runs.
    #[serde(default)]
    pub design: Option<DesignReport>,
    /// How much each level adds to the spread of both versions, the highest first, where the runs have levels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<LevelSpread>,
    /// How many runs it would take where the headline is undecided; or visits, hosts, boots or builds, where those are what is
    /// independent.
    #[serde(default)]
    pub advice: Option<AdviceReport>,
}

/// The observed speedups (Touati 2010 §3.1); where the classes of hosts are blocks, of the weighted means over the classes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ObservedReport {
    /// Of the least times; whether it is reproducible cannot be tested (Touati 2010 App. A).
    pub min: f64,
    /// Of the means.
    pub mean: f64,
    /// Of the medians.
    pub median: f64,
}

impl ComparisonReport {
    /// What is said first: the interval of the ratio of the declared centres. In reports from before there were headlines it is
    /// what the protocol says that spoke for the benchmark.
    pub fn headline(&self) -> Option<HeadlineReport> {
        self.first.clone().or_else(|| self.protocol_of_center().map(HeadlineReport::of_protocol))
    }

    /// Whether runs are outstanding, so that its numbers are how it stands so far, without a verdict.
    pub fn is_so_far(&self) -> bool {
        self.reason.as_ref().is_some_and(|reason| reason.code == ReasonCode::RunsOutstanding)
    }

    /// Takes back what only all runs of the plan allow: verdicts, p-values and advice.
    pub(crate) fn withhold(&mut self) {
        self.verdict = Verdict::NotEnoughData;
        self.reason = Some(Reason::runs_outstanding());
        if let Some(first) = &mut self.first {
            first.verdict = Verdict::NotEnoughData;
            first.p_value = None;
            first.p_same = None;
            first.at_threshold = None;
            first.smallest_effect = None;
        }
        self.one_sided = None;
        self.mean = None;
        self.median = None;
        self.advice = None;
    }

    /// How the Speedup-Test contradicts the headline, if it does.
    pub fn contradiction(&self) -> Option<Contradiction> {
        let mut contradiction = None;
        for protocol in [&self.mean, &self.median].into_iter().flatten() {
            if !protocol.verdict.is_effect() || protocol.verdict == self.verdict {
                continue;
            }
            if self.verdict.is_effect() {
                return Some(Contradiction::Opposite);
            }
            contradiction = Some(Contradiction::OnlyThere);
        }
        contradiction
    }

    /// Returns the report of the protocol for the headline's centre. The paper has none for a trimmed mean.
    pub fn protocol_of_center(&self) -> Option<&ProtocolReport> {
        self.of(Protocol::for_center(self.by?)?)
    }

    /// What a protocol of the Speedup-Test says.
    pub fn of(&self, protocol: Protocol) -> Option<&ProtocolReport> {
        match protocol {
            Protocol::Mean => self.mean.as_ref(),
            Protocol::Median => self.median.as_ref(),
        }
    }

    /// The verdict that keeps the risk of its family, which is the headline's where it is alone in it, and its p-value.
    pub fn familywise(&self) -> (Verdict, Option<f64>) {
        let headline = self.headline();
        let p_value = headline.and_then(|headline| self.verdict.p_value(headline.p_value, headline.p_same));
        self.adjusted
            .iter()
            .find(|one| one.is_familywise())
            .map_or((self.verdict, p_value), |holm| (holm.verdict, Some(holm.p_value)))
    }

    /// What the observed times say, by the headline's centre.
    pub fn direction(&self) -> Option<Direction> {
        self.headline().map(|headline| headline.direction)
    }
}

impl FamilyMember for ComparisonReport {
    /// A headline, as far as there are runs of both versions; one that could not be tested counts with a p-value of 1.
    fn tested(&self) -> TestedVerdict {
        let verdict = self.verdict;
        if self.observed.is_none() {
            return TestedVerdict { verdict, differ: None, same: None };
        }
        let first = self.first.as_ref().filter(|_| verdict != Verdict::NotEnoughData);
        let differ = first.and_then(|first| first.p_value).unwrap_or(1.0);
        let same = first.and_then(|first| first.p_same);
        TestedVerdict { verdict, differ: Some(PValue::from_told(differ)), same: same.map(PValue::from_told) }
    }

    fn store(&mut self, adjustment: Adjustment, verdict: Verdict, p_value: PValue) {
        self.adjusted.push(AdjustedReport::new(adjustment, verdict, p_value));
    }
}

/// How the Speedup-Test contradicts a headline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contradiction {
    /// A protocol shows a difference, and the headline none.
    OnlyThere,
    /// A protocol shows the opposite.
    Opposite,
}

impl CellReport {
    pub(crate) fn new(version: &str, sample: Option<&Sample>, records: &CellRecords) -> Self {
        Self {
            version: version.to_owned(),
            n: sample.map_or(0, |sample| sample.len() as u64),
            wall_ns: sample.map(SampleReport::from),
            timer: records.timer,
            conditions: records.conditions.clone(),
            mishaps: records.mishaps.clone(),
            diagnostics: None,
            mixture: None,
        }
    }

    /// Adds the trimmed means of a benchmark's times, where these are compared.
    pub(crate) fn add_trimmed_means(cells: &mut [Self], samples: &[Option<Sample>], declared: &HeadlineSpec) {
        let Some(fewest) = samples.iter().flatten().map(Sample::len).min() else { return };
        if declared.center != Center::Trimmed {
            return;
        }
        for (cell, sample) in cells.iter_mut().zip(samples) {
            if let (Some(wall), Some(sample)) = (&mut cell.wall_ns, sample)
                && sample.min() > 0.0
            {
                wall.trimmed_mean = Some(declared.trim.time_of(sample, fewest));
            }
        }
    }
}

impl SampleReport {
    /// The centre that verdicts are on; the median where it was not computed, as in reports from before there were headlines.
    pub fn center(&self, by: Option<Center>) -> (Center, f64) {
        match (by, self.trimmed_mean) {
            (Some(Center::Mean), _) => (Center::Mean, self.mean),
            (Some(Center::Trimmed), Some(trimmed_mean)) => (Center::Trimmed, trimmed_mean),
            (Some(Center::Trimmed | Center::Median) | None, _) => (Center::Median, self.median),
        }
    }
}

impl From<&Sample> for SampleReport {
    fn from(sample: &Sample) -> Self {
        let quartile = |probability| sample.quantile(probability).unwrap_or_else(|_| sample.median());
        Self {
            min: sample.min(),
            lower_quartile: quartile(0.25),
            median: sample.median(),
            mean: sample.mean(),
            trimmed_mean: None,
            upper_quartile: quartile(0.75),
            max: sample.max(),
            standard_deviation: sample.standard_deviation(),
        }
    }
}

/// The two cells of a comparison.
pub(crate) struct Pair<'a> {
    pub(crate) baseline: &'a CellReport,
    pub(crate) candidate: &'a CellReport,
    pub(crate) samples: [Option<&'a Sample>; 2],
    /// What the design makes of the runs, where they are not what is independent.
    pub(crate) arranged: Option<&'a Result<IndependentUnits, Reason>>,
    /// What the plan's rule says, where the plan has looks.
    pub(crate) looked: Option<&'a InterimVerdict<'a>>,
}

/// Both protocols on what is independent.
struct Protocols {
    mean: ProtocolResult,
    median: ProtocolResult,
    probability_faster: f64,
}

impl Pair<'_> {
    /// Compares them, and raises the caveats `about` the benchmark.
    pub(crate) fn compare(
        &self,
        declared: &HeadlineSpec,
        about: &str,
        warnings: &mut Warnings,
    ) -> ComparisonReport {
        let (baseline, candidate) = match self.samples {
            [Some(baseline), Some(candidate)] => (baseline, candidate),
            [None, _] => return self.without(not_measured("baseline", self.baseline)),
            [Some(_), None] => return self.without(not_measured("candidate", self.candidate)),
        };
        let declared = &declared.by_clock_of(baseline, candidate);
        let mut observed = match SpeedupTest::new(baseline, candidate) {
            Ok(test) => ObservedReport::from(&test),
            Err(error) => return self.without(Reason::from(&error)),
        };
        let (baseline, candidate) = match self.arranged {
            None => (baseline, candidate),
            Some(Ok(arranged)) => {
                if !arranged.blocks.is_empty() {
                    observed = ObservedReport::within(&arranged.blocks);
                }
                (&arranged.baseline, &arranged.candidate)
            }
            Some(Err(reason)) => return self.without(reason.clone()),
        };
        self.warn_of_broken_pairs(about, warnings);
        if let Some(looked) = self.looked {
            return self.by_looks(looked, observed, declared, about, warnings);
        }
        self.by_headline((baseline, candidate), observed, declared, about, warnings)
    }

    /// The headline of what is independent, with what the Speedup-Test says beside it.
    fn by_headline(
        &self,
        (baseline, candidate): (&Sample, &Sample),
        observed: ObservedReport,
        declared: &HeadlineSpec,
        about: &str,
        warnings: &mut Warnings,
    ) -> ComparisonReport {
        let (n, m) = (baseline.len(), candidate.len());
        if n < 2 || m < 2 {
            let reason = Reason::from(&RatioError::TooFew { n, m });
            return ComparisonReport { observed: Some(observed), ..self.without(reason) };
        }
        let protocols = self.protocols(baseline, candidate, declared.level);
        let Protocols { mean, median, probability_faster } = match protocols {
            Ok(protocols) => protocols,
            Err(reason) => return self.without(reason),
        };
        let arranged = self.arranged.and_then(|arranged| arranged.as_ref().ok());
        let unit = arranged.map_or(INDEPENDENT_RUN, IndependentUnits::noun);
        let (first, one_sided, refused) = match declared.headline(baseline, candidate, arranged) {
            Ok((first, one_sided)) => {
                let refused = declared.refusal(&first.interval, arranged);
                (Some(first), Some(one_sided), refused)
            }
            Err(refused) => (None, None, Some(refused)),
        };
        let verdict = first.as_ref().map_or(Verdict::NotEnoughData, |first| first.verdict);
        self.warn(verdict, &mean, declared, (baseline, candidate), unit, (about, warnings));
        let ends = first.as_ref().and_then(|first| first.interval.ends());
        if ends.is_some_and(|(lower, upper)| lower == upper) {
            warnings.concern(WarningCode::NoWidth, about, || NO_WIDTH.to_owned());
        }
        let planned = declared.planned(&Sides::new(baseline, candidate, arranged));
        let advice = first.as_ref().and_then(|first| {
            let unit = self.design().map(|design| design.unit.clone());
            AdviceReport::new(first, unit, planned.as_ref(), n.min(m) as u64, declared.level)
        });
        ComparisonReport {
            verdict,
            by: Some(declared.center),
            reason: refused,
            first,
            observed: Some(observed),
            probability_faster: Some(probability_faster),
            one_sided,
            mean: Some(mean.report),
            median: Some(median.report),
            advice,
            ..self.blank()
        }
    }

    /// Raises what must be known beside a verdict on what is independent, each a `unit`.
    fn warn(
        &self,
        verdict: Verdict,
        mean: &ProtocolResult,
        declared: &HeadlineSpec,
        (baseline, candidate): (&Sample, &Sample),
        unit: &str,
        (about, warnings): (&str, &mut Warnings),
    ) {
        if verdict.is_effect() && self.is_near_the_timer(declared.saved(baseline, candidate)) {
            warnings.concern(WarningCode::NearTimer, about, || NEAR_TIMER.to_owned());
        }
        let sizes = [baseline.len() as u64, candidate.len() as u64];
        let fewest = sizes[0].min(sizes[1]);
        if !declared.is_by_size && sizes[0].max(sizes[1]) > 2 * fewest {
            warnings.concern(WarningCode::UnequalRuns, about, || unequal_runs(unit));
        }
        match declared.center {
            Center::Trimmed if fewest < FEW_UNITS => {
                let leaves_none_out = declared.trim.whole(fewest as usize) == TrimShare::NONE;
                warnings
                    .concern(WarningCode::FewRuns, about, || few_for_trimmed_means(unit, leaves_none_out));
            }
            Center::Median if verdict.is_effect() && !declared.is_by_size => {
                warnings.concern(WarningCode::MedianOfCloseRuns, about, || MEDIAN_OF_CLOSE_RUNS.to_owned());
            }
            Center::Trimmed | Center::Median => {}
            Center::Mean => {
                let has_stalls = !declared.is_by_size && [baseline, candidate].into_iter().any(has_stalls);
                if mean.is_doubtful() || has_stalls {
                    warnings
                        .concern(WarningCode::MeanOfDoubtfulLaw, about, || MEAN_OF_DOUBTFUL_LAW.to_owned());
                } else if verdict.is_effect() {
                    warnings.concern(WarningCode::MeanOfRareRuns, about, || MEAN_OF_RARE_RUNS.to_owned());
                }
                let needed = SampleQuantile::runs_needed(0.5, declared.level);
                if fewest < needed {
                    warnings.concern(WarningCode::FewRuns, about, || few_for_means(needed, unit));
                }
                for caveat in &mean.interval_caveats {
                    warnings.caveat(caveat, about);
                }
            }
        }
    }

    /// What the plan's rule says, in the place of the protocols.
    fn by_looks(
        &self,
        looked: &InterimVerdict<'_>,
        observed: ObservedReport,
        declared: &HeadlineSpec,
        about: &str,
        warnings: &mut Warnings,
    ) -> ComparisonReport {
        let (row, look) = match looked {
            Ok((row, look)) => (*row, *look),
            Err(reason) => {
                return ComparisonReport { observed: Some(observed), ..self.without(reason.clone()) };
            }
        };
        let verdict = row.verdict;
        if verdict.is_effect() && row.saved_ns.is_some_and(|saved| self.is_near_the_timer(saved)) {
            warnings.concern(WarningCode::NearTimer, about, || NEAR_TIMER.to_owned());
        }
        let mut mean = None;
        let mut median = None;
        match Protocol::for_center(declared.center) {
            Some(Protocol::Mean) => {
                mean = Some(rule_verdict::protocol_report(row, look, Protocol::Mean, declared.level));
            }
            Some(Protocol::Median) => {
                median = Some(rule_verdict::protocol_report(row, look, Protocol::Median, declared.level));
            }
            None => {}
        }
        let interval = rule_verdict::interval(row, declared.level);
        let first = HeadlineReport {
            p_value: look.p,
            margin: declared.margin,
            ..HeadlineReport::new(declared.center, verdict, row.speedup.unwrap_or(1.0), interval)
        };
        ComparisonReport {
            verdict,
            by: Some(declared.center),
            reason: rule_verdict::reason(row, look),
            first: Some(first),
            observed: Some(observed),
            mean,
            median,
            look: Some(look),
            ..self.blank()
        }
    }

    fn protocols(
        &self,
        baseline: &Sample,
        candidate: &Sample,
        level: ConfidenceLevel,
    ) -> Result<Protocols, Reason> {
        let design = self.design().map(|design| design.kind);
        if design == Some(DesignKind::Pairs) {
            return Ok(Protocols {
                mean: paired::mean(baseline, candidate, level),
                median: paired::median(baseline, candidate, level),
                probability_faster: paired::probability_faster(baseline, candidate),
            });
        }
        if let Some(Ok(IndependentUnits { blocks, .. })) = self.arranged
            && !blocks.is_empty()
        {
            let (median, probability_faster) = stratified::median(blocks, level);
            return Ok(Protocols { mean: stratified::mean(blocks, level), median, probability_faster });
        }
        let test = SpeedupTest::new(baseline, candidate).map_err(|error| Reason::from(&error))?;
        let mut mean = protocol::mean(&test.mean, baseline, candidate, level);
        if let Some(Ok(IndependentUnits { levels: Some(levels), .. })) = self.arranged {
            (mean.report.interval, mean.interval_caveats) = by_levels(levels, level);
        }
        let median = protocol::median(&test.median, baseline, candidate, level);
        Ok(Protocols { mean, median, probability_faster: test.median.probability_faster() })
    }

    /// Those of a table's blocks are named by who read them.
    fn warn_of_broken_pairs(&self, about: &str, warnings: &mut Warnings) {
        let is_to_be_told = |design: &&DesignReport| design.incomplete > 0 && design.unit != BLOCK;
        let Some(design) = self.design().filter(is_to_be_told) else { return };
        if design.kind == DesignKind::Classes {
            warnings.concern(WarningCode::ClassesLeftOut, about, || {
                "Classes of hosts have runs of one version only and are left out of the comparison: let both versions run \
                 on hosts of each class."
                    .to_owned()
            });
        } else {
            warnings.concern(WarningCode::BrokenPairs, about, || {
                "Visits lost the run of one version, so that they are no pairs and are left out of the \
                    comparison: which are missing may depend on the times; fix what loses runs."
                    .to_owned()
            });
        }
    }

    fn design(&self) -> Option<&DesignReport> {
        Some(&self.arranged?.as_ref().ok()?.design)
    }

    /// Whether a difference of two times is within what the timers themselves may be off.
    fn is_near_the_timer(&self, difference_ns: f64) -> bool {
        let timers = [self.baseline.timer, self.candidate.timer].into_iter().flatten();
        timers.map(|timer| timer.near_ns()).max().is_some_and(|near_ns| difference_ns.abs() <= near_ns as f64)
    }

    /// A comparison that cannot be made.
    fn without(&self, reason: Reason) -> ComparisonReport {
        ComparisonReport { reason: Some(reason), ..self.blank() }
    }

    /// A comparison of which nothing is known but what was to be compared.
    fn blank(&self) -> ComparisonReport {
        ComparisonReport {
            candidate: self.candidate.version.clone(),
            baseline_n: self.baseline.n,
            candidate_n: self.candidate.n,
            design: self.design().cloned(),
            levels: match self.arranged {
                Some(Ok(arranged)) => level_spreads(arranged),
                Some(Err(_)) | None => Vec::new(),
            },
            ..ComparisonReport::default()
        }
    }
}

impl ObservedReport {
    /// Within the classes of hosts, whose means are weighted as in the verdict.
    fn within(blocks: &[(Sample, Sample)]) -> Self {
        let [min, mean, median] = Summary::ALL.map(|summary| speedup_within(blocks, summary));
        Self { min, mean, median }
    }
}

impl From<&SpeedupTest> for ObservedReport {
    fn from(test: &SpeedupTest) -> Self {
        Self { min: test.speedups.min, mean: test.speedups.mean, median: test.speedups.median }
    }
}

/// Below so many independent units a trimmed mean is little sharper than no comparison.
const FEW_UNITS: u64 = 6;

/// Whether a run lies farther beyond the upper quartile than three interquartile ranges (Tukey 1977), as one of a million normal ones does.
fn has_stalls(sample: &Sample) -> bool {
    let SampleReport { lower_quartile, upper_quartile, max, .. } = SampleReport::from(sample);
    max > upper_quartile + 3.0 * (upper_quartile - lower_quartile)
}

fn unequal_runs(unit: &str) -> String {
    format!(
        "One version has more than twice as many {unit}s as the other. Where the versions also differ in shape, intervals miss more often \
         than their level says (those of trimmed means in up to 18 % of simulations at 95 %): plan as many of each."
    )
}

fn few_for_trimmed_means(unit: &str, leaves_none_out: bool) -> String {
    let none = if leaves_none_out { ", and no disturbed one is left out" } else { "" };
    format!(
        "With fewer than {FEW_UNITS} {unit}s of a version only large differences can be shown, so `undecided` says little{none}: plan more."
    )
}

fn few_for_means(needed: u64, unit: &str) -> String {
    format!(
        "With fewer than {needed} {unit}s of a version, the interval of the mean may miss more often than its level says, and so few do \
         not show whether it does: plan more before you quote it."
    )
}

const MEDIAN_OF_CLOSE_RUNS: &str = "The verdict is on the median. Its interval is not known to hold where about half of the runs of a version lie close together, as at \
     a floor: there 17 % of equal medians were called different. Look at the distribution, or compare the trimmed means.";

const NEAR_TIMER: &str = "The difference is within the timer's own error (bias and interquartile range of a program that only exits, by \
     the hosts' selftest): make the benchmark do more work in a run before you rely on it.";

fn not_measured(side: &str, cell: &CellReport) -> Reason {
    let failed = cell.mishaps.failed_runs();
    let because = match (failed, cell.mishaps.lost_attempts()) {
        (0, 0) => String::new(),
        (0, lost) => format!(": {} lost", counted(lost, "attempt")),
        (failed, 0) => format!(": {} failed", counted(failed, "run")),
        (failed, lost) => {
            format!(": {} failed, {} lost", counted(failed, "run"), counted(lost, "attempt"))
        }
    };
    Reason::new(
        ReasonCode::NotMeasured,
        format!("No run of the {side}, {}, was measured{because}", cell.version),
    )
}

const NO_WIDTH: &str = "The interval has no width, because the clock is so coarse that times are equal: by how much the versions may differ within its step \
     is not known. Use a finer clock or a longer run.";

const MEAN_OF_RARE_RUNS: &str = "The verdict is on the mean, which also counts runs that are too rare to be seen: what happens in fewer than 3/n of the runs may be \
     missing among n, and stalls move a mean by their share times their length. The trimmed mean is of usual runs.";

const MEAN_OF_DOUBTFUL_LAW: &str = "The verdict is on the mean, and the times seem not to be normally distributed: the interval of the mean is approximate, and where \
     rare runs take very long it may miss far more often than it says. Look at the distribution, or compare the trimmed means.";

/// What one level adds to the spread of both versions (Kalibera 2012 §6.1, §7.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelSpread {
    /// The level.
    pub level: Word<RunUnit>,
    /// The standard deviation that it adds to the baseline's times, in nanoseconds: T of the levels that vary, 0 where it adds
    /// none; absent where it was not repeated, so that it is part of a neighbour.
    pub baseline_sd_ns: Option<f64>,
    /// The same of the candidate's.
    pub candidate_sd_ns: Option<f64>,
}

/// The levels of both versions, the highest first; none where the runs have no levels, or the versions not the same.
fn level_spreads(arranged: &IndependentUnits) -> Vec<LevelSpread> {
    use RunUnit::{Boot, Build, Host, Run};
    let Some([baseline, candidate]) = &arranged.levels else { return Vec::new() };
    if baseline.depth() != candidate.depth() {
        return Vec::new();
    }
    let units: &[RunUnit] = match baseline.depth() {
        4 => &[Run, Boot, Host, Build],
        // Boots alone stand where a single host was planned.
        3 if arranged.design.unit == Boot => &[Run, Host, Boot],
        3 => &[Run, Boot, Host],
        _ => return Vec::new(),
    };
    let [baseline, candidate] = [baseline, candidate].map(deviations);
    let rows = units.iter().zip(baseline.into_iter().zip(candidate));
    let rows = rows.filter(|(_, (baseline, candidate))| baseline.is_some() || candidate.is_some());
    let row = |(number, (unit, (baseline_sd_ns, candidate_sd_ns))): (usize, (&RunUnit, _))| LevelSpread {
        // Where each unit of the lowest levels has one run, what it adds is the runs'.
        level: if number == 0 { Run } else { *unit }.into(),
        baseline_sd_ns,
        candidate_sd_ns,
    };
    let mut rows: Vec<LevelSpread> = rows.enumerate().map(row).collect();
    rows.reverse();
    rows
}

/// The standard deviation that each level adds, the lowest first.
fn deviations(levels: &LevelTree) -> Vec<Option<f64>> {
    let Reshaped { kept, dropped } = Reshaped::new(levels);
    let mut deviations = vec![None; levels.depth()];
    for level in dropped.iter().filter(|level| matches!(level.why, DroppedWhy::NoVariance { .. })) {
        deviations[level.level - 1] = Some(0.0);
    }
    for level in &kept {
        deviations[level.level - 1] = level.unbiased.map(|variance| variance.max(0.0).sqrt());
    }
    deviations
}
