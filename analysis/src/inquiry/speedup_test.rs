//! The Speedup-Test (Touati 2010): each benchmark by mean and median, and what all of them say together.

use super::interval::covers_one;
use super::method::{FindResult, MethodFindings, MethodSpec};
use super::pairing::{Pair, Pairing};
use super::proportion::{AcceleratedShare, ShareQuestion};
use super::{Findings, Inquiry, InquiryError, IntervalAnswer, Preference, effect, signed_rank};
use crate::conclusion::{Direction, Protocol, Reason, ReasonCode, Verdict, Warning};
use crate::gate::{Conclusion, GateError};
use crate::study::two_sample::protocol::{AssumptionReport, ProtocolResult, mean_seen, median_seen};
use crate::study::{IntervalReport, ProtocolReport, two_sample::paired};
use serde::{Deserialize, Serialize};
use speedup_core::value::hint::Hinted;
use speedup_statistics::inference::{
    Adjustment, Alternative, Caveat, ConfidenceLevel, PValue, Risk, Threshold,
};
use speedup_statistics::protocol::speedup_test::{
    ObservedSpeedups, ProtocolConclusion, ProtocolOutcome, ProtocolVerdict, Question, Rules, SpeedupTest,
    published,
};
use speedup_statistics::ratio::{
    MedianRatio, Overall, PairedRatio, RatioError, Speedup, SpeedupMeans, SuiteError, SuiteMember,
    SuiteRatio, SuiteRatioError, Summary,
};
use speedup_statistics::{sample::Sample, test::PrecisionError, test::ProportionMethod, test::PseudoMedian};

/// The least precision: what is finer asks for more benchmarks than can be counted.
const LEAST_PRECISION: f64 = 1e-6;

/// Whose verdicts of the Speedup-Test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpeedupTestMode {
    /// Those of the published program, bit for bit.
    Published,
    /// Ours: best levels in closed form, caveats where the program is silent.
    #[default]
    Exact,
}

/// Options of the Speedup-Test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SpeedupTestOptions {
    /// Whose verdicts.
    pub mode: SpeedupTestMode,
    /// How p-values are adjusted for the number of benchmarks and candidates, beside those that are not.
    pub adjust: Option<Adjustment>,
    /// The half-width to which the proportion of accelerated benchmarks is to be known.
    pub precision: f64,
    /// An interval of the proportion beside the published and the recommended one.
    pub proportion_interval: Option<ProportionMethod>,
}

impl Default for SpeedupTestOptions {
    fn default() -> Self {
        Self { mode: SpeedupTestMode::Exact, adjust: None, precision: 0.05, proportion_interval: None }
    }
}

/// A candidate over all benchmarks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpeedupTestSuite {
    pub candidate: String,
    /// The verdict by the overall speedup of the mean, one-sided; of one benchmark its own.
    pub verdict: Verdict,
    /// The overall speedup of the mean.
    pub speedup: Option<f64>,
    pub interval: IntervalAnswer,
    /// The one-sided p-values of its being faster, and slower.
    #[serde(skip)]
    p_values: [Option<PValue>; 2],
    /// The overall gain and speedup by minimum, mean and median.
    pub overall: Vec<Overall>,
    /// The plain means of the benchmarks' speedups by minimum, mean and median, which are no overall speedups.
    pub speedup_means: Vec<SpeedupMeansFinding>,
    /// The proportion of accelerated benchmarks, by the mean and by the median.
    pub proportions: Vec<AcceleratedShare<IntervalAnswer, Overall>>,
    pub benchmarks: Vec<SpeedupTestFinding>,
}

/// Plain means of the benchmarks' speedups by one summary (Touati 2010 §3.2, example 3.1).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpeedupMeansFinding {
    /// What stands for the times.
    pub summary: Summary,
    #[serde(flatten)]
    pub means: SpeedupMeans,
    /// The caveat that a plain mean is no overall speedup.
    pub caveats: Vec<Warning>,
}

/// One benchmark of one candidate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpeedupTestFinding {
    pub benchmark: String,
    /// The verdict of the protocol that speaks for it: the mean's where its assumptions were not rejected, else the
    /// median's.
    pub verdict: Verdict,
    pub by: Protocol,
    /// The observed speedups of minimum, mean and median.
    pub speedups: ObservedSpeedups,
    /// The estimated probability that a run of the candidate is the better; ties count one half.
    pub probability_faster: f64,
    pub mean: ProtocolFinding,
    pub median: ProtocolFinding,
}

/// What one protocol says.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProtocolFinding {
    /// Verdict, speedup, interval, tests, best level.
    #[serde(flatten)]
    pub report: ProtocolReport,
    /// What the published program says, in that mode.
    pub published: Option<PublishedFinding>,
    /// The verdict after adjustment for the number of tests, where that was asked for.
    pub adjusted: Option<AdjustedVerdict>,
    pub caveats: Vec<Warning>,
    /// The p-values of faster and of slower, absent where the protocol stops.
    #[serde(skip)]
    p_values: [Option<PValue>; 2],
}

/// A verdict of the published program.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PublishedFinding {
    /// Whether the speedup is significant; absent where nothing can be concluded.
    pub significant: Option<bool>,
    /// The confidence level that it prints.
    pub confidence: Option<f64>,
}

/// A verdict after adjustment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AdjustedVerdict {
    /// The adjusted p-value of the verdict's question, among those of all benchmarks and candidates that the protocol
    /// could test.
    pub p_value: f64,
    /// What follows at the level.
    pub verdict: Verdict,
}

const QUESTIONS: [Question; 2] = [Question::CandidateFaster, Question::CandidateSlower];

/// Both protocols of a benchmark, in the order in which they are reported.
const PROTOCOLS: [Protocol; 2] = [Protocol::Mean, Protocol::Median];

impl MethodSpec for SpeedupTestOptions {
    fn name(&self) -> &'static str {
        match self.mode {
            SpeedupTestMode::Published => "Speedup-Test (Touati, Worms, Briais 2010), as published",
            SpeedupTestMode::Exact => "Speedup-Test (Touati, Worms, Briais 2010), exact levels",
        }
    }

    fn sources(&self) -> &'static [&'static str] {
        &[
            "Touati, Worms, Briais: The Speedup-Test, 2010",
            effect::SOURCE,
            "Hodges, Lehmann: Estimates of Location Based on Rank Tests, 1963",
            "Brown, Cai, DasGupta: Interval Estimation for a Binomial Proportion, 2001",
        ]
    }

    fn find(&self, inquiry: &Inquiry, pairing: &Pairing<'_>, level: ConfidenceLevel) -> FindResult {
        let setting = Setting { inquiry, pairing, options: self, level };
        let mut tested = Vec::new();
        for (number, candidate) in pairing.candidates() {
            let pairs = pairing.pairs(number, inquiry.better);
            let mut benchmarks = Vec::with_capacity(pairs.len());
            for pair in &pairs {
                benchmarks.push(setting.benchmark(pair)?);
            }
            tested.push((candidate, pairs, benchmarks));
        }
        // The family of an adjustment is all benchmarks of all candidates, so it comes before any suite.
        if let Some(adjustment) = self.adjust {
            let mut all: Vec<_> = tested.iter_mut().flat_map(|(_, _, benchmarks)| benchmarks).collect();
            adjust(&mut all, adjustment, level);
        }
        let mut suites = Vec::with_capacity(tested.len());
        for (candidate, pairs, benchmarks) in tested {
            suites.push(setting.suite(candidate, &pairs, benchmarks)?);
        }
        Ok(Findings::SpeedupTest(suites))
    }

    fn check(&self) -> Result<(), InquiryError> {
        if (LEAST_PRECISION..1.0).contains(&self.precision) {
            Ok(())
        } else {
            Err(InquiryError::Precision(PrecisionError::Precision(self.precision)))
        }
    }

    fn check_gate(&self) -> Result<(), GateError> {
        match self.mode {
            SpeedupTestMode::Published => Err(GateError::OneSided(self.name())),
            SpeedupTestMode::Exact => Ok(()),
        }
    }

    fn takes_pairs(&self) -> bool {
        self.mode == SpeedupTestMode::Exact
    }
}

impl MethodFindings for Vec<SpeedupTestSuite> {
    fn reasons(&self) -> Vec<Reason> {
        let mut reasons = Vec::new();
        for suite in self {
            for report in suite.protocols().map(|finding| &finding.report) {
                reasons.extend(report.reason.clone());
                if let IntervalReport::Missing { reason } = &report.interval {
                    reasons.push(reason.clone());
                }
            }
            reasons.extend(suite.interval.reason().cloned());
        }
        reasons
    }

    fn caveats(&self) -> Vec<Warning> {
        let mut caveats = Vec::new();
        for suite in self {
            for finding in suite.protocols() {
                caveats.extend_from_slice(&finding.caveats);
            }
            // Of one benchmark nothing is said over all.
            if suite.benchmarks.len() > 1 {
                caveats.extend_from_slice(suite.interval.caveats());
                for proportion in &suite.proportions {
                    caveats.extend_from_slice(proportion.interval.caveats());
                }
            }
        }
        caveats
    }

    /// Verdicts that the inquiry had adjusted stay so, others are adjusted by Holm, the suite's among them.
    fn conclusions(&self, level: ConfidenceLevel, _noise: Threshold) -> Vec<Conclusion> {
        self.iter().flat_map(|suite| suite.conclusions(level)).collect()
    }
}

impl SpeedupTestSuite {
    /// The findings of both protocols, benchmark by benchmark.
    fn protocols(&self) -> impl Iterator<Item = &ProtocolFinding> {
        self.benchmarks.iter().flat_map(|benchmark| [&benchmark.mean, &benchmark.median])
    }

    fn conclusions(&self, level: ConfidenceLevel) -> Vec<Conclusion> {
        let mut plain = Vec::with_capacity(self.benchmarks.len() + 1);
        // Of one benchmark the suite's verdict is its own.
        if self.benchmarks.len() != 1 {
            let ends = self.interval.ends();
            let total = Conclusion::new(&self.candidate, None, self.verdict, self.speedup, ends);
            plain.push((total, self.p_values));
        }
        for one in &self.benchmarks {
            let ProtocolFinding { report, p_values, .. } = one.by_protocol(one.by);
            let benchmark = Some(one.benchmark.as_str());
            let ends = report.interval.ends();
            let conclusion =
                Conclusion::new(&self.candidate, benchmark, one.verdict, Some(report.speedup), ends);
            plain.push((conclusion, *p_values));
        }
        let mut conclusions = Conclusion::adjusted(&plain, level);
        for (conclusion, one) in conclusions.iter_mut().rev().zip(self.benchmarks.iter().rev()) {
            if let Some(adjusted) = one.by_protocol(one.by).adjusted {
                conclusion.adjusted_verdict = adjusted.verdict;
                conclusion.ruling = adjusted.verdict.into();
                conclusion.ruling_p_value = Some(adjusted.p_value);
            }
        }
        conclusions
    }
}

/// All values are positive, so the only refusal of the ratios cannot be.
fn no_ratios(source: RatioError) -> InquiryError {
    InquiryError::Suite(SuiteError::Ratio { index: 0, source })
}

/// The verdict on a candidate over all benchmarks, as [`SpeedupTestSuite`] has it.
struct SuiteTotal {
    verdict: Verdict,
    speedup: Option<f64>,
    interval: IntervalAnswer,
    p_values: [Option<PValue>; 2],
}

/// The inputs of the comparison: inquiry, options and level.
struct Setting<'a> {
    inquiry: &'a Inquiry,
    pairing: &'a Pairing<'a>,
    options: &'a SpeedupTestOptions,
    level: ConfidenceLevel,
}

impl Setting<'_> {
    /// The samples that the options let be compared: the published program knows no pairs.
    fn compared<'p>(&self, pair: &'p Pair<'p>) -> (&'p Sample, &'p Sample) {
        match self.options.mode {
            SpeedupTestMode::Exact => pair.compared(),
            SpeedupTestMode::Published => pair.samples(),
        }
    }

    fn compares_blocks(&self, pair: &Pair<'_>) -> bool {
        self.options.mode == SpeedupTestMode::Exact && pair.arranged().is_some()
    }

    fn benchmark(&self, pair: &Pair<'_>) -> Result<SpeedupTestFinding, InquiryError> {
        let (first, second) = self.compared(pair);
        if self.compares_blocks(pair) {
            return self.blocked_benchmark(pair.benchmark, first, second);
        }
        let rules = match self.options.mode {
            SpeedupTestMode::Published => Rules::PUBLISHED,
            SpeedupTestMode::Exact => Rules::OURS,
        };
        let test = SpeedupTest::with_rules(first, second, rules).map_err(no_ratios)?;
        let better = self.inquiry.better;
        let mean = mean_seen(&test.mean, first, second, self.level, |found| oriented(found, better));
        let median = median_seen(&test.median, first, second, self.level, |found| oriented(found, better));
        Ok(SpeedupTestFinding::new(
            pair.benchmark,
            test.speedups,
            test.median.probability_faster(),
            self.protocol(mean, |question, risk| oriented(test.mean.at_risk(question, risk), better)),
            self.protocol(median, |question, risk| oriented(test.median.at_risk(question, risk), better)),
        ))
    }

    /// Tests pairs by the protocols that a report of a blocked experiment has for them.
    fn blocked_benchmark(
        &self,
        benchmark: &str,
        first: &Sample,
        second: &Sample,
    ) -> Result<SpeedupTestFinding, InquiryError> {
        let [mean, median] = PROTOCOLS.map(|protocol| {
            let judged = match protocol {
                Protocol::Mean => paired::mean(first, second, self.level),
                Protocol::Median => paired::median(first, second, self.level),
            };
            let p_values = match judged.report.reason {
                Some(_) => None,
                None => paired::p_values(protocol, first, second),
            };
            let p_values = p_values.map_or([None; 2], |p_values| p_values.map(Some));
            ProtocolFinding::new(judged, None, p_values, self.inquiry.better)
        });
        let speedups = SpeedupTest::new(first, second).map_err(no_ratios)?.speedups;
        let probability_faster = paired::probability_faster(first, second);
        Ok(SpeedupTestFinding::new(benchmark, speedups, probability_faster, mean, median))
    }

    fn protocol(
        &self,
        judged: ProtocolResult,
        at_risk: impl Fn(Question, Risk) -> ProtocolConclusion,
    ) -> ProtocolFinding {
        let published = match self.options.mode {
            SpeedupTestMode::Exact => None,
            SpeedupTestMode::Published => {
                // Without a level of the inquiry's own, the program searches for the best.
                let level = self.inquiry.confidence.map(|_| self.level);
                Some(published::verdict(level, |risk| at_risk(Question::CandidateFaster, risk)))
            }
        };
        let p_values = QUESTIONS.map(|question| concluded_p_value(&at_risk(question, self.level.risk())));
        ProtocolFinding::new(judged, published, p_values, self.inquiry.better)
    }

    fn suite(
        &self,
        candidate: &str,
        pairs: &[Pair<'_>],
        benchmarks: Vec<SpeedupTestFinding>,
    ) -> Result<SpeedupTestSuite, InquiryError> {
        let mut members = Vec::with_capacity(pairs.len());
        for pair in pairs {
            let (baseline, candidate) = self.compared(pair);
            members.push(SuiteMember { baseline, candidate });
        }
        let mut overall = Vec::new();
        let mut speedup_means = Vec::new();
        for summary in Summary::ALL {
            overall.push(Overall::new(&members, summary, &self.pairing.weights)?);
            // Where a ratio is beyond the doubles, there is no number rather than a wrong one.
            if let Ok(means) = SpeedupMeans::new(&members, summary) {
                let caveats = vec![Warning::from(&SpeedupMeans::CAVEAT)];
                speedup_means.push(SpeedupMeansFinding { summary, means, caveats });
            }
        }
        let mut proportions = Vec::new();
        for by in PROTOCOLS {
            proportions.push(self.proportion(by, &benchmarks, &members)?);
        }
        // Where some benchmarks have no pairs, all are compared as if no blocks were shared.
        let are_pairs = pairs.iter().all(|pair| self.compares_blocks(pair));
        let SuiteTotal { verdict, speedup, interval, p_values } = match benchmarks.as_slice() {
            [only] => self.own_total(only, &members, are_pairs),
            _ => self.overall_total(&members, are_pairs),
        };
        Ok(SpeedupTestSuite {
            candidate: candidate.to_owned(),
            verdict,
            speedup,
            interval,
            p_values,
            overall,
            speedup_means,
            proportions,
            benchmarks,
        })
    }

    fn proportion(
        &self,
        by: Protocol,
        benchmarks: &[SpeedupTestFinding],
        members: &[SuiteMember<'_>],
    ) -> Result<AcceleratedShare<IntervalAnswer, Overall>, InquiryError> {
        let accelerated: Vec<bool> =
            benchmarks.iter().map(|one| one.by_protocol(by).report.verdict == Verdict::Faster).collect();
        let question = ShareQuestion {
            by,
            members,
            weights: &self.pairing.weights,
            level: self.level,
            precision: self.options.precision,
            interval: self.options.proportion_interval,
            selection: self.inquiry.selection,
        };
        let better = self.inquiry.better;
        AcceleratedShare::new(&accelerated, &question, |interval| IntervalAnswer::new(&interval, better))
    }

    /// The verdict of the only benchmark, with an interval of the ratio that its protocol is about.
    fn own_total(
        &self,
        only: &SpeedupTestFinding,
        members: &[SuiteMember<'_>],
        are_pairs: bool,
    ) -> SuiteTotal {
        let interval = match only.by {
            Protocol::Mean => match self.ratio_of_means(members, are_pairs) {
                Ok(ratio) => IntervalAnswer::for_ratio(&ratio.interval(self.level), self.inquiry.better),
                Err(error) => IntervalAnswer::missing(ReasonCode::NoInterval, first_cause(&error)),
            },
            Protocol::Median => self.interval_of_median(members, are_pairs),
        };
        let speedup = Some(only.by_protocol(only.by).report.speedup);
        SuiteTotal { verdict: only.verdict, speedup, interval, p_values: [None; 2] }
    }

    /// The verdict on the overall speedup of the mean, each direction one-sided at the level.
    fn overall_total(&self, members: &[SuiteMember<'_>], are_pairs: bool) -> SuiteTotal {
        let ratio = match self.ratio_of_means(members, are_pairs) {
            Ok(ratio) => ratio,
            Err(error) => {
                return SuiteTotal {
                    verdict: Verdict::NotEnoughData,
                    speedup: None,
                    interval: IntervalAnswer::missing(ReasonCode::NoInterval, first_cause(&error)),
                    p_values: [None; 2],
                };
            }
        };
        let faster = ratio.p_value(1.0, Alternative::Greater);
        let slower = ratio.p_value(1.0, Alternative::Less);
        let verdict = Verdict::one_sided(faster, slower, self.level);
        let mut interval = IntervalAnswer::for_ratio(&ratio.interval(self.level), self.inquiry.better);
        interval.warn_beside(verdict);
        let p_values = [Some(faster), Some(slower)];
        SuiteTotal { verdict, speedup: Some(ratio.estimate()), interval, p_values }
    }

    /// The ratio of the weighted sums of means.
    fn ratio_of_means(
        &self,
        members: &[SuiteMember<'_>],
        are_pairs: bool,
    ) -> Result<Box<dyn Speedup>, SuiteRatioError> {
        let weights = &self.pairing.weights;
        if are_pairs {
            Ok(Box::new(PairedRatio::from_suite(members, weights)?))
        } else {
            Ok(Box::new(SuiteRatio::new(members, weights)?.by_smaller_side()))
        }
    }

    fn interval_of_median(&self, members: &[SuiteMember<'_>], are_pairs: bool) -> IntervalAnswer {
        let better = self.inquiry.better;
        let Some(SuiteMember { baseline, candidate }) = members.first() else {
            return IntervalAnswer::missing(ReasonCode::NoInterval, "there is no benchmark");
        };
        if are_pairs {
            return match paired::logarithms(baseline, candidate) {
                Ok(logs) => signed_rank::typical_interval(&PseudoMedian::new(&logs), self.level, better),
                Err(error) => IntervalAnswer::refused(ReasonCode::NoInterval, &error),
            };
        }
        match MedianRatio::new(baseline, candidate) {
            Ok(ratio) => IntervalAnswer::for_ratio(&ratio.interval(self.level), better),
            Err(error) => IntervalAnswer::refused(ReasonCode::NoInterval, &error),
        }
    }
}

/// The conclusion as the inquiry's versions are named. Where larger is better, the samples were compared in the other order.
fn oriented(conclusion: ProtocolConclusion, better: Preference) -> ProtocolConclusion {
    match better {
        Preference::Lower => conclusion,
        Preference::Higher => conclusion.exchanged(),
    }
}

fn concluded_p_value(conclusion: &ProtocolConclusion) -> Option<PValue> {
    match conclusion.outcome {
        ProtocolOutcome::Significant | ProtocolOutcome::NotSignificant => conclusion.main_test.p_value(),
        ProtocolOutcome::CannotConclude { .. } => None,
    }
}

/// The innermost cause, and what to do.
fn first_cause(error: &SuiteRatioError) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    match error.hint() {
        Some(hint) => format!("{cause}: {hint}"),
        None => cause.to_string(),
    }
}

/// Adjusts the p-values of faster and those of slower, as families of their own: each verdict is at the level for its
/// question, as it is without adjustment.
fn adjust(findings: &mut [&mut SpeedupTestFinding], adjustment: Adjustment, level: ConfidenceLevel) {
    for protocol in PROTOCOLS {
        for (at, question) in QUESTIONS.into_iter().enumerate() {
            let p_values: Vec<_> =
                findings.iter().map(|finding| finding.by_protocol(protocol).p_values[at]).collect();
            for (finding, p_value) in findings.iter_mut().zip(adjustment.adjust(&p_values)) {
                let finding = match protocol {
                    Protocol::Mean => &mut finding.mean,
                    Protocol::Median => &mut finding.median,
                };
                // A protocol reports the answer to one question, whose p-value counts.
                if let Some(p_value) = p_value
                    && finding.report.at_level.question == question
                {
                    finding.adjusted =
                        Some(AdjustedVerdict::new(p_value, question, finding.report.verdict, level));
                }
            }
        }
    }
}

impl AdjustedVerdict {
    fn new(p_value: PValue, question: Question, unadjusted: Verdict, level: ConfidenceLevel) -> Self {
        let verdict = match (question, unadjusted) {
            (Question::CandidateFaster, _) if p_value.rejects_at(level.risk()) => Verdict::Faster,
            (Question::CandidateSlower, _) if p_value.rejects_at(level.risk()) => Verdict::Slower,
            (_, Verdict::NotEnoughData) => Verdict::NotEnoughData,
            (_, Verdict::Faster | Verdict::Slower | Verdict::Same | Verdict::Undecided) => Verdict::Undecided,
        };
        Self { p_value: p_value.told(), verdict }
    }
}

impl SpeedupTestFinding {
    fn new(
        benchmark: &str,
        speedups: ObservedSpeedups,
        probability_faster: f64,
        mean: ProtocolFinding,
        median: ProtocolFinding,
    ) -> Self {
        // As Touati 2010 §4 advises: the mean's protocol speaks where its assumptions were not rejected, else the median's; the
        // mean's with its caveats where only it can conclude.
        let is_sound = mean.report.at_level.caveats.is_empty();
        let by = if mean.concludes() && (is_sound || !median.concludes()) {
            Protocol::Mean
        } else {
            Protocol::Median
        };
        let verdict = match by {
            Protocol::Mean => mean.report.verdict,
            Protocol::Median => median.report.verdict,
        };
        Self { benchmark: benchmark.to_owned(), verdict, by, speedups, probability_faster, mean, median }
    }

    /// The finding of a protocol.
    pub fn by_protocol(&self, protocol: Protocol) -> &ProtocolFinding {
        match protocol {
            Protocol::Mean => &self.mean,
            Protocol::Median => &self.median,
        }
    }
}

impl ProtocolFinding {
    fn new(
        judged: ProtocolResult,
        published: Option<ProtocolVerdict>,
        p_values: [Option<PValue>; 2],
        better: Preference,
    ) -> Self {
        let ProtocolResult { mut report, mut caveats, interval_caveats } = judged;
        if better == Preference::Higher {
            report.change_percent = 100.0 * (report.speedup - 1.0);
        }
        if let Some(ProtocolVerdict { significant, conclusion, .. }) = &published {
            report.verdict = match significant {
                Some(true) => Verdict::Faster,
                Some(false) => Verdict::Undecided,
                None => Verdict::NotEnoughData,
            };
            // A protocol that stops is "not significant" to the program; the reason tells it from a test that was made.
            report.reason = match &conclusion.outcome {
                ProtocolOutcome::CannotConclude { reason } => Some(reason.into()),
                ProtocolOutcome::Significant | ProtocolOutcome::NotSignificant => None,
            };
            report.assumptions = conclusion.assumptions.iter().map(AssumptionReport::from).collect();
            report.at_level = conclusion.into();
            caveats.clone_from(&conclusion.caveats);
        }
        // The conclusions, and so their caveats, are oriented already; what stands at an interval names no side.
        caveats.extend(interval_caveats);
        // Of a protocol that stopped, the caveat would say that there may be no difference.
        if let Some(ProtocolVerdict { no_level_above_half: true, conclusion, .. }) = &published
            && conclusion.outcome == ProtocolOutcome::NotSignificant
        {
            caveats.push(Caveat::NoLevelAboveHalf);
        }
        let mut caveats: Vec<Warning> = caveats.iter().map(Warning::from).collect();
        caveats.extend(covers_one(report.verdict, report.interval.ends()));
        let published = published.map(|ProtocolVerdict { significant, confidence, .. }| PublishedFinding {
            significant,
            confidence,
        });
        Self { report, published, adjusted: None, caveats, p_values }
    }

    /// Whether the protocol reached a verdict: the published program gives one also where the protocol stops.
    fn concludes(&self) -> bool {
        self.report.reason.is_none() && self.report.verdict != Verdict::NotEnoughData
    }

    /// Whether the observed values favour the candidate.
    pub fn direction(&self) -> Direction {
        self.report.direction
    }
}
