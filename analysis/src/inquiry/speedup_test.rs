//! The Speedup-Test (Touati 2010): each benchmark by mean and median, and what all of them say together.

use super::method::{Asked, FindResult, Found};
use super::{Findings, Inquiry, InquiryError, IntervalAnswer, Preference, effect, signed_rank};
use super::{
    interval::covers_one, pairing::Pair, pairing::Pairing, proportion::AcceleratedShare, proportion::Asking,
};
use crate::conclusion::{Direction, Protocol, Reason, ReasonCode, Verdict, Warning};
use crate::gate::{Conclusion, GateError};
use crate::study::two_sample::protocol::{AssumptionReport, Judged, mean_seen, median_seen};
use crate::study::{IntervalReport, ProtocolReport, two_sample::paired};
use serde::{Deserialize, Serialize};
use speedup_core::value::hint::Hinted;
use speedup_statistics::{
    inference::Adjustment, inference::Alternative, inference::Caveat, inference::ConfidenceLevel,
    inference::PValue, inference::Risk, inference::Threshold, protocol::speedup_test::ObservedSpeedups,
    protocol::speedup_test::ProtocolConclusion, protocol::speedup_test::ProtocolOutcome,
    protocol::speedup_test::Question, protocol::speedup_test::Rules, protocol::speedup_test::SpeedupTest,
    protocol::speedup_test::published, protocol::speedup_test::published::PublishedVerdict,
    ratio::MedianRatio, ratio::Overall, ratio::PairedRatio, ratio::RatioError, ratio::Speedup,
    ratio::SpeedupMeans, ratio::SuiteError, ratio::SuiteMember, ratio::SuiteRatio, ratio::SuiteRatioError,
    ratio::Summary, sample::Sample, test::PrecisionError, test::ProportionMethod, test::PseudoMedian,
};

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
    pub overall: Vec<OverallFinding>,
    /// The plain means of the benchmarks' speedups by minimum, mean and median, which are no overall speedups.
    pub speedup_means: Vec<SpeedupMeansFinding>,
    /// The proportion of accelerated benchmarks, by the mean and by the median.
    pub proportions: Vec<AcceleratedShare<IntervalAnswer, OverallFinding>>,
    pub benchmarks: Vec<SpeedupTestFinding>,
}

/// Overall gain and speedup by one summary (Touati 2010 §3.2).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OverallFinding {
    /// What stands for the times.
    pub summary: Summary,
    /// G, the share of the weighted baseline time that is saved.
    pub gain: f64,
    /// S = 1/(1 − G).
    pub speedup: f64,
    /// The weights, summing to 1, in the order of the benchmarks.
    pub weights: Vec<f64>,
}

/// Plain means of the benchmarks' speedups by one summary (Touati 2010 §3.2, example 3.1).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpeedupMeansFinding {
    /// What stands for the times.
    pub summary: Summary,
    #[serde(flatten)]
    pub means: SpeedupMeans,
    /// That none of them is an overall speedup.
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
    pub adjusted: Option<Adjusted>,
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
pub struct Adjusted {
    /// The adjusted p-value of the verdict's question, among those of all benchmarks and candidates that the protocol
    /// could test.
    pub p_value: f64,
    /// What follows at the level.
    pub verdict: Verdict,
}

const QUESTIONS: [Question; 2] = [Question::CandidateFaster, Question::CandidateSlower];

/// Both protocols of a benchmark, in the order in which they are told.
const PROTOCOLS: [Protocol; 2] = [Protocol::Mean, Protocol::Median];

/// Why a protocol has no verdict, and why it has no interval.
fn reasons_of(report: &ProtocolReport) -> Vec<Reason> {
    let of_interval = match &report.interval {
        IntervalReport::Missing { reason } => Some(reason),
        IntervalReport::Bounded { .. } => None,
    };
    report.reason.iter().chain(of_interval).cloned().collect()
}

impl Asked for SpeedupTestOptions {
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
        let mut found = Vec::new();
        for (number, candidate) in pairing.candidates() {
            let pairs = pairing.pairs(number, inquiry.better);
            let benchmarks: Result<Vec<_>, _> =
                pairs.iter().map(|pair| benchmark(pair, inquiry, self, level)).collect();
            found.push((candidate, pairs, benchmarks?));
        }
        if self.adjust.is_some() {
            let mut all: Vec<_> = found.iter_mut().flat_map(|(_, _, benchmarks)| benchmarks).collect();
            adjust(&mut all, self, level);
        }
        let of = |(candidate, pairs, benchmarks): (_, Vec<Pair<'_>>, _)| {
            suite(candidate, &pairs, benchmarks, inquiry, pairing, self, level)
        };
        found.into_iter().map(of).collect::<Result<_, _>>().map(Findings::SpeedupTest)
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

impl Found for Vec<SpeedupTestSuite> {
    fn reasons(&self) -> Vec<Reason> {
        let of_suite = |suite: &SpeedupTestSuite| {
            let of_benchmarks = suite
                .benchmarks
                .iter()
                .flat_map(|one| PROTOCOLS.map(|by| reasons_of(&one.of(by).report)))
                .flatten();
            of_benchmarks.chain(suite.interval.reason().cloned()).collect::<Vec<_>>()
        };
        self.iter().flat_map(of_suite).collect()
    }

    fn caveats(&self) -> Vec<Warning> {
        let of_suite = |suite: &SpeedupTestSuite| {
            let of_benchmarks =
                suite.benchmarks.iter().flat_map(|one| PROTOCOLS.map(|by| one.of(by).caveats.clone()));
            let intervals = suite.proportions.iter().map(|one| &one.interval);
            let of_all = [&suite.interval].into_iter().chain(intervals);
            // Of one benchmark nothing is said over all.
            let of_all = of_all.filter(|_| suite.benchmarks.len() > 1);
            of_benchmarks
                .flatten()
                .chain(of_all.flat_map(IntervalAnswer::caveats).cloned())
                .collect::<Vec<_>>()
        };
        self.iter().flat_map(of_suite).collect()
    }

    /// Verdicts that the inquiry had adjusted are taken so, others are adjusted by Holm, the suite's among them.
    fn conclusions(&self, level: ConfidenceLevel, _noise: Threshold) -> Vec<Conclusion> {
        let of_suite = |suite: &SpeedupTestSuite| {
            let of_one = |one: &SpeedupTestFinding| {
                let (own, benchmark) = (one.of(one.by), Some(one.benchmark.as_str()));
                let (speedup, ends) = (Some(own.report.speedup), own.report.interval.ends());
                (Conclusion::new(&suite.candidate, benchmark, one.verdict, speedup, ends), own.p_values)
            };
            let mut plain: Vec<_> = suite.benchmarks.iter().map(of_one).collect();
            if plain.len() != 1 {
                let ends = suite.interval.ends();
                let total = Conclusion::new(&suite.candidate, None, suite.verdict, suite.speedup, ends);
                plain.insert(0, (total, suite.p_values));
            }
            let mut all = Conclusion::adjusted(&plain, level);
            for (one, found) in all.iter_mut().rev().zip(suite.benchmarks.iter().rev()) {
                if let Some(adjusted) = found.of(found.by).adjusted {
                    one.adjusted_verdict = adjusted.verdict;
                    one.ruling = adjusted.verdict.into();
                    one.ruling_p_value = Some(adjusted.p_value);
                }
            }
            all
        };
        self.iter().flat_map(of_suite).collect()
    }
}

/// What the options let be compared: the published program knows no pairs.
fn compared<'p>(pair: &'p Pair<'p>, options: &SpeedupTestOptions) -> (&'p Sample, &'p Sample) {
    match options.mode {
        SpeedupTestMode::Exact => pair.compared(),
        SpeedupTestMode::Published => pair.samples(),
    }
}

/// Pairs by the protocols that a report of a blocked experiment has for them.
fn of_pairs(
    pair: &Pair<'_>,
    (first, second): (&Sample, &Sample),
    better: Preference,
    level: ConfidenceLevel,
) -> Result<SpeedupTestFinding, InquiryError> {
    let judged = [paired::mean(first, second, level), paired::median(first, second, level)];
    let [mean, median] = std::array::from_fn(|at| {
        let concluded = judged[at].report.reason.is_none();
        let p_values = paired::p_values(PROTOCOLS[at], first, second).filter(|_| concluded);
        protocol(&judged[at], None, p_values.map_or([None; 2], |p_values| p_values.map(Some)), better)
    });
    let speedups = SpeedupTest::new(first, second).map_err(no_ratios)?.speedups;
    Ok(SpeedupTestFinding::new(
        pair.benchmark,
        speedups,
        paired::probability_faster(first, second),
        mean,
        median,
    ))
}

/// All values are positive, so the only refusal of the ratios cannot be.
fn no_ratios(source: RatioError) -> InquiryError {
    InquiryError::Suite(SuiteError::Ratio { index: 0, source })
}

fn benchmark(
    pair: &Pair<'_>,
    inquiry: &Inquiry,
    options: &SpeedupTestOptions,
    level: ConfidenceLevel,
) -> Result<SpeedupTestFinding, InquiryError> {
    let (first, second) = compared(pair, options);
    if options.mode == SpeedupTestMode::Exact && pair.arranged().is_some() {
        return of_pairs(pair, (first, second), inquiry.better, level);
    }
    let rules = match options.mode {
        SpeedupTestMode::Published => Rules::PUBLISHED,
        SpeedupTestMode::Exact => Rules::OURS,
    };
    let test = SpeedupTest::with_rules(first, second, rules).map_err(no_ratios)?;
    let seen = |conclusion: ProtocolConclusion| match inquiry.better {
        Preference::Lower => conclusion,
        Preference::Higher => conclusion.exchanged(),
    };
    let judged = [
        mean_seen(&test.mean, first, second, level, seen),
        median_seen(&test.median, first, second, level, seen),
    ];
    let at_risk: [&dyn Fn(Question, Risk) -> ProtocolConclusion; 2] =
        [&|question, risk| seen(test.mean.at_risk(question, risk)), &|question, risk| {
            seen(test.median.at_risk(question, risk))
        }];
    let [mean, median] = std::array::from_fn(|at| {
        let published = match options.mode {
            SpeedupTestMode::Exact => None,
            SpeedupTestMode::Published => {
                let faster = |risk| at_risk[at](Question::CandidateFaster, risk);
                Some(published::verdict(inquiry.confidence.map(|_| level), faster))
            }
        };
        let p_values = QUESTIONS.map(|question| concluded(&at_risk[at](question, level.risk())));
        protocol(&judged[at], published, p_values, inquiry.better)
    });
    let probability_faster = test.median.probability_faster();
    Ok(SpeedupTestFinding::new(pair.benchmark, test.speedups, probability_faster, mean, median))
}

/// Which protocol speaks for the benchmark, as Touati 2010 §4 advises: the mean's when its assumptions were not rejected, else the
/// median's; the mean's with its caveats where only it can conclude.
fn speaks(mean: Verdict, mean_is_sound: bool, median: Verdict) -> Protocol {
    let concludes = |verdict: Verdict| verdict != Verdict::NotEnoughData;
    match (concludes(mean), concludes(median)) {
        (true, _) if mean_is_sound => Protocol::Mean,
        (true, false) => Protocol::Mean,
        (true | false, _) => Protocol::Median,
    }
}

fn concluded(conclusion: &ProtocolConclusion) -> Option<PValue> {
    match conclusion.outcome {
        ProtocolOutcome::Significant | ProtocolOutcome::NotSignificant => conclusion.main_test.p_value(),
        ProtocolOutcome::CannotConclude { .. } => None,
    }
}

fn protocol(
    judged: &Judged,
    published: Option<PublishedVerdict>,
    p_values: [Option<PValue>; 2],
    better: Preference,
) -> ProtocolFinding {
    let mut report = judged.report.clone();
    if better == Preference::Higher {
        report.change_percent = 100.0 * (report.speedup - 1.0);
    }
    // The conclusions, and so their caveats, are exchanged already; what stands at an interval names no side.
    let of_answer = published.as_ref().map_or(&judged.caveats, |published| &published.conclusion.caveats);
    let mut caveats: Vec<Warning> =
        of_answer.iter().chain(&judged.interval_caveats).map(Warning::from).collect();
    let published = published.map(|published| {
        let PublishedVerdict { significant, confidence, no_level_above_half, conclusion } = published;
        // Of a protocol that stopped, the caveat would say that there may be no difference.
        if no_level_above_half && conclusion.outcome == ProtocolOutcome::NotSignificant {
            caveats.push(Warning::from(&Caveat::NoLevelAboveHalf));
        }
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
        report.at_level = (&conclusion).into();
        PublishedFinding { significant, confidence }
    });
    caveats.extend(covers_one(report.verdict, report.interval.ends()));
    ProtocolFinding { report, published, adjusted: None, caveats, p_values }
}

/// Adjusts the p-values of faster and those of slower, as families of their own: each verdict is at the level for its
/// question, as it is without adjustment.
fn adjust(all: &mut [&mut SpeedupTestFinding], options: &SpeedupTestOptions, level: ConfidenceLevel) {
    let Some(adjustment) = options.adjust else { return };
    for protocol in [Protocol::Mean, Protocol::Median] {
        for (at, verdict) in [(0, Verdict::Faster), (1, Verdict::Slower)] {
            let p_values: Vec<_> = all.iter_mut().map(|one| one.of_mut(protocol).p_values[at]).collect();
            for (one, adjusted) in all.iter_mut().zip(adjustment.adjust(&p_values)) {
                let finding = one.of_mut(protocol);
                let asked = match finding.report.at_level.question {
                    Question::CandidateFaster => 0,
                    Question::CandidateSlower => 1,
                };
                if let Some(p_value) = adjusted.filter(|_| asked == at) {
                    let verdict = match finding.report.verdict {
                        _ if p_value.rejects_at(level.risk()) => verdict,
                        Verdict::NotEnoughData => Verdict::NotEnoughData,
                        Verdict::Faster | Verdict::Slower | Verdict::Same | Verdict::Undecided => {
                            Verdict::Undecided
                        }
                    };
                    finding.adjusted = Some(Adjusted { p_value: p_value.told(), verdict });
                }
            }
        }
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
        let sound = mean.report.at_level.caveats.is_empty();
        let by = speaks(mean.concluded(), sound, median.concluded());
        let verdict = match by {
            Protocol::Mean => mean.report.verdict,
            Protocol::Median => median.report.verdict,
        };
        Self { benchmark: benchmark.to_owned(), verdict, by, speedups, probability_faster, mean, median }
    }

    /// What a protocol says.
    pub fn of(&self, protocol: Protocol) -> &ProtocolFinding {
        match protocol {
            Protocol::Mean => &self.mean,
            Protocol::Median => &self.median,
        }
    }

    fn of_mut(&mut self, protocol: Protocol) -> &mut ProtocolFinding {
        match protocol {
            Protocol::Mean => &mut self.mean,
            Protocol::Median => &mut self.median,
        }
    }
}

fn suite(
    candidate: &str,
    pairs: &[Pair<'_>],
    benchmarks: Vec<SpeedupTestFinding>,
    inquiry: &Inquiry,
    pairing: &Pairing<'_>,
    options: &SpeedupTestOptions,
    level: ConfidenceLevel,
) -> Result<SpeedupTestSuite, InquiryError> {
    let member = |pair| {
        let (baseline, candidate) = compared(pair, options);
        SuiteMember { baseline, candidate }
    };
    let members: Vec<SuiteMember<'_>> = pairs.iter().map(member).collect();
    let are_pairs =
        options.mode == SpeedupTestMode::Exact && pairs.iter().all(|pair| pair.arranged().is_some());
    let mut overall = Vec::new();
    for summary in Summary::ALL {
        overall.push(OverallFinding::from(Overall::new(&members, summary, &pairing.weights)?));
    }
    let speedup_means =
        Summary::ALL.into_iter().filter_map(|summary| speedup_means(&members, summary)).collect();
    let by = [Protocol::Mean, Protocol::Median];
    let proportions: Result<Vec<_>, _> = by
        .into_iter()
        .map(|by| proportion(&benchmarks, &members, by, (inquiry, pairing, options, level)))
        .collect();
    let (verdict, speedup, interval, p_values) = match benchmarks.as_slice() {
        [only] => {
            let own = &only.of(only.by).report;
            let interval = match only.by {
                Protocol::Mean => match of_means(&members, are_pairs, pairing) {
                    Ok(ratio) => IntervalAnswer::of_ratio(&ratio.interval(level), inquiry.better),
                    Err(error) => IntervalAnswer::missing(ReasonCode::NoInterval, first_cause(&error)),
                },
                Protocol::Median => of_median(&members, are_pairs, level, inquiry.better),
            };
            (only.verdict, Some(own.speedup), interval, [None; 2])
        }
        _ => of_many(of_means(&members, are_pairs, pairing), inquiry, level),
    };
    Ok(SpeedupTestSuite {
        candidate: candidate.to_owned(),
        verdict,
        speedup,
        interval,
        p_values,
        overall,
        speedup_means,
        proportions: proportions?,
        benchmarks,
    })
}

/// Absent where a ratio is beyond the doubles, so that there is no number rather than a wrong one.
fn speedup_means(members: &[SuiteMember<'_>], summary: Summary) -> Option<SpeedupMeansFinding> {
    let means = SpeedupMeans::new(members, summary).ok()?;
    Some(SpeedupMeansFinding { summary, means, caveats: vec![Warning::from(&SpeedupMeans::CAVEAT)] })
}

/// The ratio of the weighted sums of means. Where some benchmarks have no pairs, all are compared as if no blocks were shared.
fn of_means(
    members: &[SuiteMember<'_>],
    are_pairs: bool,
    pairing: &Pairing<'_>,
) -> Result<Box<dyn Speedup>, SuiteRatioError> {
    Ok(match are_pairs {
        true => Box::new(PairedRatio::of_suite(members, &pairing.weights)?),
        false => Box::new(SuiteRatio::new(members, &pairing.weights)?.by_smaller_side()),
    })
}

fn of_median(
    members: &[SuiteMember<'_>],
    are_pairs: bool,
    level: ConfidenceLevel,
    better: Preference,
) -> IntervalAnswer {
    let Some(SuiteMember { baseline, candidate }) = members.first() else {
        return IntervalAnswer::missing(ReasonCode::NoInterval, "there is no benchmark");
    };
    if are_pairs {
        return match paired::logarithms(baseline, candidate) {
            Ok(logs) => signed_rank::typical_interval(&PseudoMedian::new(&logs), level, better),
            Err(error) => IntervalAnswer::refused(ReasonCode::NoInterval, &error),
        };
    }
    match MedianRatio::new(baseline, candidate) {
        Ok(ratio) => IntervalAnswer::of_ratio(&ratio.interval(level), better),
        Err(error) => IntervalAnswer::refused(ReasonCode::NoInterval, &error),
    }
}

fn of_many(
    ratio: Result<Box<dyn Speedup>, SuiteRatioError>,
    inquiry: &Inquiry,
    level: ConfidenceLevel,
) -> (Verdict, Option<f64>, IntervalAnswer, [Option<PValue>; 2]) {
    let ratio = match ratio {
        Ok(ratio) => ratio,
        Err(error) => {
            return (
                Verdict::NotEnoughData,
                None,
                IntervalAnswer::missing(ReasonCode::NoInterval, first_cause(&error)),
                [None; 2],
            );
        }
    };
    let estimate = ratio.estimate();
    let [faster, slower] = [Alternative::Greater, Alternative::Less].map(|of| ratio.p_value(1.0, of));
    let verdict = if faster.rejects_at(level.risk()) {
        Verdict::Faster
    } else if slower.rejects_at(level.risk()) {
        Verdict::Slower
    } else {
        Verdict::Undecided
    };
    let interval = IntervalAnswer::of_ratio(&ratio.interval(level), inquiry.better);
    (verdict, Some(estimate), interval.beside(verdict), [faster, slower].map(Some))
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

fn proportion(
    benchmarks: &[SpeedupTestFinding],
    members: &[SuiteMember<'_>],
    by: Protocol,
    asked: (&Inquiry, &Pairing<'_>, &SpeedupTestOptions, ConfidenceLevel),
) -> Result<AcceleratedShare<IntervalAnswer, OverallFinding>, InquiryError> {
    let (inquiry, pairing, options, level) = asked;
    let accelerated: Vec<bool> =
        benchmarks.iter().map(|one| one.of(by).report.verdict == Verdict::Faster).collect();
    let asking = Asking {
        by,
        members,
        weights: &pairing.weights,
        level,
        precision: options.precision,
        interval: options.proportion_interval,
        selection: inquiry.selection,
    };
    AcceleratedShare::new(&accelerated, &asking, |interval| IntervalAnswer::new(&interval, inquiry.better))
}

impl From<Overall> for OverallFinding {
    fn from(Overall { summary, gain, speedup, weights }: Overall) -> Self {
        Self { summary, gain, speedup, weights }
    }
}

impl ProtocolFinding {
    /// The verdict, and not enough data where the protocol stopped.
    fn concluded(&self) -> Verdict {
        if self.report.reason.is_some() { Verdict::NotEnoughData } else { self.report.verdict }
    }

    /// Whether the observed values favour the candidate.
    pub fn direction(&self) -> Direction {
        self.report.direction
    }
}
