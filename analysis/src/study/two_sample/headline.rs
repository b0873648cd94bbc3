//! What is said first of a candidate on a benchmark: the two-sided interval of the ratio of the declared centres, and what it
//! says.
//!
//! The centre is declared before there are data and is never chosen by a test on them, so verdict and interval are one
//! thing: *faster* or *slower* where the interval leaves 1 out, *same* where two one-sided tests (Schuirmann 1987) show the
//! ratio to be within the declared margin, else *undecided*. The interval of the trimmed mean is the wider of a permutation interval and
//! Yuen's; that of the median combines order statistics of each version on the log scale; that of the mean is Fieller's.

use super::{interval::IntervalReport, paired, protocol::ProtocolReport, stratified};
use crate::conclusion::{Direction, Reason, ReasonCode, Verdict};
use crate::count::counted;
use crate::study::design::{INDEPENDENT_RUN, IndependentUnits, class_weight};
use serde::{Deserialize, Serialize};
use speedup_core::experiment::{Center, Experiment};
use speedup_statistics::planning::required_repetitions::TrimmedDetection;
use speedup_statistics::{
    diagnostics::common_step, inference::Alternative, inference::ConfidenceLevel, inference::PValue,
    inference::RatioInterval, inference::Risk, inference::Threshold, ratio::LogEffect, ratio::MeanRatio,
    ratio::PairedMedianRatio, ratio::PairedRatio, ratio::QuantileRatio, ratio::RatioError, ratio::Speedup,
    ratio::SuiteRatioError, ratio::TrimShare, ratio::TrimmedRatio, ratio::difference::CenterDifference,
    sample::Sample, sample::SampleQuantile,
};

/// The probability with which the observed difference is to be shown: the usual one (Cohen 1988, §2.4).
pub const POWER: f64 = 0.8;

/// What is said first of a candidate on a benchmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeadlineReport {
    /// Whose ratio it is of.
    pub center: Center,
    /// What the interval says.
    pub verdict: Verdict,
    /// What the observed times say, shown or not.
    pub direction: Direction,
    /// The ratio of the centres, baseline over candidate.
    pub speedup: f64,
    /// The change of the time that goes with it, in percent; negative is faster.
    pub change_percent: f64,
    /// The two-sided interval of the ratio at the report's confidence level.
    pub interval: IntervalReport,
    /// The two-sided p-value of the ratio being 1.
    pub p_value: Option<f64>,
    /// Within what the versions count as the same, where the plan declares it.
    pub margin: Option<f64>,
    /// The p-value of the versions differing by the margin or more, less what the clock's step leaves open.
    pub p_same: Option<f64>,
    /// The step of the clock as a share of the smaller median, where the times lie on a grid: `same` is claimed only as far as the
    /// margin exceeds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_step: Option<f64>,
    /// Both directions tested against the noise threshold of the report in place of 1, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_threshold: Option<OneSidedReport>,
    /// About the smallest speedup, less 1, that such runs would have shown with a probability of 80 %; absent by looks, and in older
    /// reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smallest_effect: Option<f64>,
    /// The standard error of the speedup's logarithm, estimated from what is independent; `None` by looks, and in reports from before it
    /// was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_standard_error: Option<f64>,
    /// The degrees of freedom of that error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_df: Option<f64>,
}

/// The one-sided p-values of a headline.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OneSidedReport {
    /// Of the candidate being no faster.
    pub faster: f64,
    /// Of the candidate being no slower.
    pub slower: f64,
}

impl OneSidedReport {
    /// The tests of the speedup being `ratio`.
    pub(crate) fn new(ratio: f64, p_value: impl Fn(f64, Alternative) -> PValue) -> Self {
        Self {
            faster: p_value(ratio, Alternative::Greater).told(),
            slower: p_value(ratio, Alternative::Less).told(),
        }
    }

    /// The two-sided p-value of the same ratio.
    pub(crate) fn two_sided(self) -> PValue {
        PValue::clamped(2.0 * PValue::from_told(self.faster.min(self.slower)).get())
    }
}

/// On what scale versions were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// The baseline's over the candidate's.
    Ratio,
    /// The baseline's less the candidate's, in their unit: where a value is not positive.
    Difference,
}

impl Scale {
    /// Where the versions are equal.
    fn equal(self) -> f64 {
        match self {
            Self::Ratio => 1.0,
            Self::Difference => 0.0,
        }
    }
}

/// What was found of a ratio, or of the difference in its place.
pub(crate) struct RatioFound {
    /// What the interval says.
    pub(crate) verdict: Verdict,
    /// Which of the two it is.
    pub(crate) scale: Scale,
    /// The baseline's over the candidate's, or less it.
    pub(crate) ratio: f64,
    /// Two-sided, at the declared level.
    pub(crate) interval: IntervalReport,
    /// The two-sided p-value of the ratio being 1.
    pub(crate) p_value: f64,
    /// The p-value of the versions differing by the margin or more, where one is declared.
    pub(crate) p_same: Option<f64>,
    /// The p-values of both directions.
    pub(crate) one_sided: OneSidedReport,
    /// The same against the noise threshold, where there is one.
    pub(crate) at_threshold: Option<OneSidedReport>,
    /// The logarithm of the ratio with its error; a difference has none.
    pub(crate) log_effect: Option<LogEffect>,
    /// What else must be known of it.
    pub(crate) note: Option<String>,
    /// About the smallest ratio, less 1, that such samples would have shown with the probability [`POWER`].
    pub(crate) smallest_effect: Option<f64>,
}

/// What the plan declares of a headline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeadlineSpec {
    pub(crate) center: Center,
    /// Whether no centre is declared, so that it is by the number of runs: in experiments from before trimmed means were the default. Their
    /// numbers stay as they were.
    pub(crate) is_by_size: bool,
    pub(crate) trim: TrimShare,
    pub(crate) margin: Option<f64>,
    pub(crate) level: ConfidenceLevel,
    /// The slowdown that gates ignore, which the report was asked for.
    pub(crate) noise: Threshold,
    /// The step of the clock as a share of the smaller median, where the times lie on a grid.
    pub(crate) clock_step: Option<f64>,
    /// How many benchmarks, each on how many endpoints, may be adjusted together.
    pub(crate) tests: usize,
}

/// The share that a trimmed mean leaves out at each end, where one may be declared.
pub(crate) fn trim_share(declared: Option<f64>) -> TrimShare {
    declared.and_then(|share| TrimShare::new(share).ok()).unwrap_or(TrimShare::USUAL)
}

/// Two samples of what is independent, as a design has them.
pub(crate) enum Sides<'s> {
    Apart(&'s Sample, &'s Sample),
    Pairs(&'s Sample, &'s Sample),
    /// Those of each class of hosts, with its weight.
    Classes(Vec<(&'s Sample, &'s Sample, f64)>),
}

impl<'s> Sides<'s> {
    pub(crate) fn new(
        baseline: &'s Sample,
        candidate: &'s Sample,
        arranged: Option<&'s IndependentUnits>,
    ) -> Self {
        match arranged {
            Some(arranged) if arranged.are_pairs() => Self::Pairs(baseline, candidate),
            Some(arranged) if !arranged.blocks.is_empty() => {
                Self::Classes(arranged.blocks.iter().map(|(x, y)| (x, y, class_weight(x, y))).collect())
            }
            Some(_) | None => Self::Apart(baseline, candidate),
        }
    }
}

impl HeadlineSpec {
    pub(crate) fn new(experiment: &Experiment, level: ConfidenceLevel, noise: Threshold) -> Self {
        Self {
            center: experiment.center(),
            is_by_size: experiment.analysis.center.is_none(),
            trim: trim_share(experiment.analysis.trim),
            margin: experiment.analysis.margin,
            level,
            noise,
            clock_step: None,
            tests: experiment.benchmarks.len() * (1 + experiment.endpoints().len()),
        }
    }

    /// The same for times that the clock of these runs rounded; what was stored without a centre keeps its margin.
    pub(crate) fn by_clock_of(&self, baseline: &Sample, candidate: &Sample) -> Self {
        if self.is_by_size {
            return *self;
        }
        let least = baseline.median().min(candidate.median());
        Self { clock_step: common_step([baseline, candidate]).map(|step| step / least), ..*self }
    }

    /// The margin less what the clock's step leaves open; none where none is declared.
    pub(crate) fn shown_margin(&self) -> Option<f64> {
        Some((1.0 + self.margin?) / (1.0 + self.clock_step.unwrap_or(0.0)) - 1.0)
    }

    /// The least risk with which an adjustment compares a p-value: the family has the total besides, and where a margin is declared, each
    /// test again of being the same.
    pub(crate) fn least_risk(&self) -> Risk {
        let risk = self.level.risk();
        let questions = if self.margin.is_some() { 2 } else { 1 };
        Risk::new(risk.get() / (questions * (self.tests + 1)) as f64).unwrap_or(risk)
    }

    /// The headline of two samples of what is independent, as the design has `arranged` them; and the p-values of both
    /// directions.
    pub(crate) fn headline(
        &self,
        baseline: &Sample,
        candidate: &Sample,
        arranged: Option<&IndependentUnits>,
    ) -> Result<(HeadlineReport, OneSidedReport), Reason> {
        let found = self.found(baseline, candidate, arranged)?;
        let report = HeadlineReport {
            p_value: Some(found.p_value),
            margin: self.margin,
            p_same: found.p_same,
            clock_step: self.clock_step,
            at_threshold: found.at_threshold,
            smallest_effect: found.smallest_effect,
            log_standard_error: found.log_effect.map(|effect| effect.variance.sqrt()),
            log_df: found.log_effect.map(|effect| effect.df),
            ..HeadlineReport::new(self.center, found.verdict, found.ratio, found.interval)
        };
        Ok((report, found.one_sided))
    }

    /// The ratio of the centres of two samples of what is independent, as the design has `arranged` them. Where nothing varies after trimming,
    /// trimmed means have no error: then it is of the medians, whose interval says what so many runs exclude.
    pub(crate) fn found(
        &self,
        baseline: &Sample,
        candidate: &Sample,
        arranged: Option<&IndependentUnits>,
    ) -> Result<RatioFound, Reason> {
        match self.ratio(&Sides::new(baseline, candidate, arranged), self.least_risk()) {
            Ok(ratio) => Ok(self.judge(&*ratio)),
            Err(SuiteRatioError::Ratio(RatioError::EssentiallyConstant))
                if self.center == Center::Trimmed =>
            {
                let of_medians = Self { center: Center::Median, ..*self };
                of_medians.bounded(of_medians.found(baseline, candidate, arranged)?, arranged)
            }
            Err(error) => Err(paired::refusal(&error)),
        }
    }

    /// The ratio of the centres, with p-values that can be as small as `least`.
    pub(crate) fn ratio<'s>(
        &self,
        sides: &Sides<'s>,
        least: Risk,
    ) -> Result<Box<dyn Speedup + 's>, SuiteRatioError> {
        Ok(match (self.center, sides) {
            (Center::Trimmed, Sides::Apart(x, y)) => {
                Box::new(TrimmedRatio::new(x, y, self.trim)?.compared_at(least))
            }
            (Center::Trimmed, Sides::Pairs(x, y)) => {
                Box::new(TrimmedRatio::paired(x, y, self.trim)?.compared_at(least))
            }
            (Center::Trimmed, Sides::Classes(strata)) => {
                Box::new(TrimmedRatio::within(strata.iter().copied(), self.trim)?.compared_at(least))
            }
            (Center::Median, Sides::Apart(x, y)) => Box::new(QuantileRatio::median(x, y)?),
            (Center::Median, Sides::Pairs(x, y)) => Box::new(PairedMedianRatio::new(x, y)?),
            (Center::Median, Sides::Classes(strata)) => {
                let medians = strata
                    .iter()
                    .map(|(x, y, weight)| (SampleQuantile::median(x), SampleQuantile::median(y), *weight));
                Box::new(QuantileRatio::within(medians)?)
            }
            (Center::Mean, Sides::Apart(x, y)) => {
                let ratio = MeanRatio::new(x, y)?;
                Box::new(if self.is_by_size { ratio } else { ratio.by_smaller_side() })
            }
            (Center::Mean, Sides::Pairs(x, y)) => Box::new(PairedRatio::new(x, y)?),
            (Center::Mean, Sides::Classes(strata)) => {
                let ratio = stratified::ratio_of_means(strata.iter().map(|(x, y, _)| (*x, *y)))?;
                Box::new(if self.is_by_size { ratio } else { ratio.by_smaller_side() })
            }
        })
    }

    /// The plan of the test with other numbers of runs; none of medians and means, nor within classes of hosts.
    pub(crate) fn planned(&self, sides: &Sides<'_>) -> Option<TrimmedDetection> {
        match (self.center, sides) {
            (Center::Trimmed, Sides::Apart(x, y)) => TrimmedDetection::new(x, Some(y), self.trim).ok(),
            (Center::Trimmed, Sides::Pairs(x, y)) => TrimmedDetection::from_pairs(x, y, self.trim).ok(),
            (Center::Trimmed, Sides::Classes(_)) | (Center::Median | Center::Mean, _) => None,
        }
    }

    /// What a candidate saves of the centre of two samples.
    pub(crate) fn saved(&self, baseline: &Sample, candidate: &Sample) -> f64 {
        match self.center {
            Center::Mean => baseline.mean_minus_mean_of(candidate),
            Center::Median => baseline.median() - candidate.median(),
            Center::Trimmed => self.trim.saved(baseline, candidate),
        }
    }

    /// What the interval of a ratio says.
    pub(crate) fn judge(&self, ratio: &(impl Speedup + ?Sized)) -> RatioFound {
        let interval = ratio.interval(self.level);
        let p_value = |factor, of| ratio.p_value(factor, of);
        let p_same = self.shown_margin().map(|margin| {
            if margin <= 0.0 {
                return 1.0;
            }
            let below = ratio.p_value(1.0 / (1.0 + margin), Alternative::Greater);
            let above = ratio.p_value(1.0 + margin, Alternative::Less);
            below.told().max(above.told())
        });
        let found = self.say(Scale::Ratio, ratio.estimate(), &interval, p_value, p_same);
        let smallest = ratio.smallest_shown(self.level, POWER).filter(|smallest| smallest.is_finite());
        let smallest_effect = smallest.map(|smallest| smallest - 1.0);
        RatioFound { log_effect: Some(ratio.log_effect()), smallest_effect, ..found }
    }

    /// What the interval of a difference says.
    pub(crate) fn judge_difference(&self, difference: &dyn CenterDifference) -> RatioFound {
        let interval = difference.interval(self.level);
        let p_value = |factor, of| difference.p_value(factor, of);
        let p_same = self.margin.map(|margin| difference.p_same(margin).told());
        self.say(Scale::Difference, difference.estimate(), &interval, p_value, p_same)
    }

    fn say(
        &self,
        scale: Scale,
        estimate: f64,
        interval: &RatioInterval,
        p_value: impl Fn(f64, Alternative) -> PValue,
        p_same: Option<f64>,
    ) -> RatioFound {
        let one_sided = OneSidedReport::new(1.0, &p_value);
        let at_threshold = match self.noise.is_none() {
            true => None,
            false => Some(OneSidedReport::new(self.noise.slowest(), &p_value)),
        };
        let risk = self.level.risk().get();
        let excludes = |beyond: &dyn Fn((f64, f64)) -> bool| {
            interval.bounded().is_some_and(|interval| beyond((interval.lower, interval.upper)))
        };
        let verdict = if interval.bounded().is_none() {
            Verdict::NotEnoughData
        } else if p_same.is_some_and(|p_value| p_value <= risk) {
            Verdict::Same
        } else if excludes(&|(lower, _)| lower > scale.equal()) {
            Verdict::Faster
        } else if excludes(&|(_, upper)| upper < scale.equal()) {
            Verdict::Slower
        } else {
            Verdict::Undecided
        };
        RatioFound {
            verdict,
            scale,
            ratio: estimate,
            interval: IntervalReport::from(interval),
            p_value: one_sided.two_sided().told(),
            p_same,
            one_sided,
            at_threshold,
            log_effect: None,
            note: None,
            smallest_effect: None,
        }
    }

    /// What was found, where it has an interval.
    pub(crate) fn bounded(
        &self,
        found: RatioFound,
        arranged: Option<&IndependentUnits>,
    ) -> Result<RatioFound, Reason> {
        self.refusal(&found.interval, arranged).map_or(Ok(found), Err)
    }

    /// Why there is no interval of the ratio of centres of what is independent, as the design has `arranged` it, with what it takes.
    pub(crate) fn refusal(
        &self,
        interval: &IntervalReport,
        arranged: Option<&IndependentUnits>,
    ) -> Option<Reason> {
        let IntervalReport::Missing { reason } = interval else { return None };
        let are_pairs = arranged.is_some_and(IndependentUnits::are_pairs);
        let (needed, or_else) = match self.center {
            Center::Mean => return Some(reason.clone()),
            Center::Median => {
                (Some(SampleQuantile::runs_needed(0.5, self.level)), ", or compare the trimmed means")
            }
            Center::Trimmed if are_pairs => (TrimmedRatio::pairs_needed(self.level, self.trim), ""),
            Center::Trimmed => (TrimmedRatio::runs_needed(self.level, self.trim), ""),
        };
        let interval = format!("The interval of a {}", self.center.name());
        let sentence = match needed {
            Some(needed) => {
                let takes = counted(needed, arranged.map_or(INDEPENDENT_RUN, IndependentUnits::noun));
                format!(
                    "{interval} takes at least {takes} of each version at {}: plan more{or_else}",
                    self.level
                )
            }
            None => format!(
                "{interval} has no ends at {}, however many runs there are: lower the level",
                self.level
            ),
        };
        Some(Reason::new(ReasonCode::TooFewRuns, sentence))
    }
}

impl HeadlineReport {
    /// An interval with its verdict, without a test.
    pub(crate) fn new(center: Center, verdict: Verdict, speedup: f64, interval: IntervalReport) -> Self {
        Self {
            center,
            verdict,
            direction: Direction::of(speedup),
            speedup,
            change_percent: 100.0 * (1.0 / speedup - 1.0),
            interval,
            p_value: None,
            margin: None,
            p_same: None,
            clock_step: None,
            at_threshold: None,
            smallest_effect: None,
            log_standard_error: None,
            log_df: None,
        }
    }

    /// That of a report from before there were any: the protocol's that spoke for the benchmark.
    pub(crate) fn of_protocol(report: &ProtocolReport) -> Self {
        let ProtocolReport { protocol, verdict, speedup, interval, .. } = report;
        let p_value = report.at_level.main_test.p_value;
        Self { p_value, ..Self::new((*protocol).into(), *verdict, *speedup, interval.clone()) }
    }
}
