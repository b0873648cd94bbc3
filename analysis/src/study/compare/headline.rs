//! What is said first of a candidate on a benchmark: the two-sided interval of the ratio of the declared centres, and what it
//! says.
//!
//! The centre is declared before there are data and is never chosen by a test on them, so verdict and interval are one
//! thing: *faster* or *slower* where the interval leaves 1 out, *same* where two one-sided tests (Schuirmann 1987) show the
//! ratio to be within the declared margin, else *undecided*. The interval of the median supposes neither a shift nor a shape
//! in common (order statistics of each version, combined on the log scale); that of the mean is Fieller's.

use super::{multiplicity::OneSidedReport, protocol::IntervalReport, protocol::ProtocolReport};
use crate::conclusion::{Direction, Reason, ReasonCode, Verdict};
use crate::count::counted;
use crate::study::design::{Arranged, DesignKind, INDEPENDENT_RUN, class_weight};
use serde::{Deserialize, Serialize};
use speedup_core::experiment::{Center, Experiment};
use speedup_statistics::{
    inference::Alternative, inference::ConfidenceLevel, inference::PValue, inference::RatioInterval,
    ratio::BenchmarkWeights, ratio::MeanRatio, ratio::PairedMedianRatio, ratio::PairedRatio,
    ratio::QuantileRatio, ratio::RatioError, ratio::Speedup, ratio::SuiteMember, ratio::SuiteRatio,
    ratio::SuiteRatioError, ratio::TrimShare, ratio::TrimmedRatio, ratio::difference::CenterDifference,
    sample::Sample, sample::SampleQuantile,
};

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
    /// The p-value of the versions differing by the margin or more.
    pub p_same: Option<f64>,
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
    /// What else must be known of it.
    pub(crate) note: Option<String>,
}

/// What the plan declares of a headline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Declared {
    pub(crate) center: Center,
    pub(crate) margin: Option<f64>,
    pub(crate) level: ConfidenceLevel,
}

impl Declared {
    pub(crate) fn new(experiment: &Experiment, level: ConfidenceLevel) -> Self {
        Self { center: experiment.center(), margin: experiment.analysis.margin, level }
    }

    /// The headline of two samples of what is independent, as the design has `arranged` them; and the p-values of both
    /// directions.
    pub(crate) fn headline(
        &self,
        baseline: &Sample,
        candidate: &Sample,
        arranged: Option<&Arranged>,
    ) -> Result<(HeadlineReport, OneSidedReport), Reason> {
        let found = self.found(baseline, candidate, arranged)?;
        let report = HeadlineReport {
            center: self.center,
            verdict: found.verdict,
            direction: Direction::of(found.ratio),
            speedup: found.ratio,
            change_percent: 100.0 * (1.0 / found.ratio - 1.0),
            interval: found.interval,
            p_value: Some(found.p_value),
            margin: self.margin,
            p_same: found.p_same,
        };
        Ok((report, found.one_sided))
    }

    /// The ratio of the centres of two samples of what is independent, as the design has `arranged` them.
    pub(super) fn found(
        &self,
        baseline: &Sample,
        candidate: &Sample,
        arranged: Option<&Arranged>,
    ) -> Result<RatioFound, Reason> {
        let blocks = arranged.map_or(&[][..], |arranged| &arranged.blocks);
        let are_pairs = arranged.is_some_and(|arranged| arranged.design.kind == DesignKind::Pairs);
        let refused = |error: RatioError| Reason::from(&error);
        match (self.center, are_pairs) {
            (Center::Trimmed, true) => {
                Ok(self.judge(&TrimmedRatio::paired(baseline, candidate, TrimShare::USUAL).map_err(refused)?))
            }
            (Center::Trimmed, false) if blocks.is_empty() => {
                Ok(self.judge(&TrimmedRatio::new(baseline, candidate, TrimShare::USUAL).map_err(refused)?))
            }
            (Center::Trimmed, false) => {
                let strata = blocks.iter().map(|(x, y)| (x, y, class_weight(x, y)));
                Ok(self.judge(&TrimmedRatio::within(strata, TrimShare::USUAL).map_err(refused)?))
            }
            (Center::Median, true) => {
                Ok(self.judge(&PairedMedianRatio::new(baseline, candidate).map_err(refused)?))
            }
            (Center::Median, false) if blocks.is_empty() => {
                Ok(self.judge(&QuantileRatio::median(baseline, candidate).map_err(refused)?))
            }
            (Center::Median, false) => {
                let stratum =
                    |(x, y)| (SampleQuantile::median(x), SampleQuantile::median(y), class_weight(x, y));
                let strata = blocks.iter().map(|(x, y)| stratum((x, y)));
                Ok(self.judge(&QuantileRatio::within(strata).map_err(refused)?))
            }
            (Center::Mean, true) => {
                Ok(self.judge(&PairedRatio::new(baseline, candidate).map_err(|error| refused_suite(&error))?))
            }
            (Center::Mean, false) if blocks.is_empty() => {
                Ok(self.judge(&MeanRatio::new(baseline, candidate).map_err(refused)?))
            }
            (Center::Mean, false) => {
                let several = |(x, y): &&(Sample, Sample)| x.len() > 1 && y.len() > 1;
                let blocks = || blocks.iter().filter(several);
                let members: Vec<SuiteMember<'_>> =
                    blocks().map(|(x, y)| SuiteMember { baseline: x, candidate: y }).collect();
                let weights = blocks().map(|(x, y)| class_weight(x, y)).collect();
                let ratio = SuiteRatio::new(&members, &BenchmarkWeights::Custom(weights));
                Ok(self.judge(&ratio.map_err(|error| refused_suite(&error))?))
            }
        }
    }

    /// What the interval of a ratio says.
    pub(super) fn judge(&self, ratio: &impl Speedup) -> RatioFound {
        let p_same = self.margin.map(|margin| {
            let [below, above] = [
                ratio.p_value(1.0 / (1.0 + margin), Alternative::Greater),
                ratio.p_value(1.0 + margin, Alternative::Less),
            ];
            below.told().max(above.told())
        });
        let one_sided = [Alternative::Greater, Alternative::Less].map(|of| ratio.p_value(1.0, of));
        self.say(Scale::Ratio, ratio.estimate(), &ratio.interval(self.level), one_sided, p_same)
    }

    /// What the interval of a difference says.
    pub(super) fn judge_difference(&self, difference: &impl CenterDifference) -> RatioFound {
        let p_same = self.margin.map(|margin| difference.p_same(margin).told());
        let one_sided = [Alternative::Greater, Alternative::Less].map(|of| difference.p_value(1.0, of));
        self.say(
            Scale::Difference,
            difference.estimate(),
            &difference.interval(self.level),
            one_sided,
            p_same,
        )
    }

    fn say(
        &self,
        scale: Scale,
        estimate: f64,
        interval: &RatioInterval,
        [faster, slower]: [PValue; 2],
        p_same: Option<f64>,
    ) -> RatioFound {
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
            p_value: PValue::clamped(2.0 * faster.told().min(slower.told())).told(),
            p_same,
            one_sided: OneSidedReport { faster: faster.told(), slower: slower.told() },
            note: None,
        }
    }

    /// Why there is no interval of the ratio of centres, with what it takes.
    pub(super) fn refusal(&self, interval: &IntervalReport) -> Option<Reason> {
        self.refusal_by(interval, INDEPENDENT_RUN)
    }

    /// The same of what `unit` names in the place of independent runs.
    pub(super) fn refusal_by(&self, interval: &IntervalReport, unit: &str) -> Option<Reason> {
        let level = self.level;
        match (interval, self.center) {
            (IntervalReport::Bounded { .. }, _) => None,
            (IntervalReport::Missing { .. }, Center::Median) => {
                let needed = counted(SampleQuantile::runs_needed(0.5, level), unit);
                Some(Reason::new(
                    ReasonCode::TooFewRuns,
                    format!(
                        "The interval of a median takes {needed} of each version at {level}: plan more, or \
                         declare center = \"mean\""
                    ),
                ))
            }
            (IntervalReport::Missing { reason }, Center::Mean | Center::Trimmed) => Some(reason.clone()),
        }
    }
}

impl HeadlineReport {
    /// That of a report from before there were any: the protocol's that spoke for the benchmark.
    pub(super) fn of_protocol(report: &ProtocolReport) -> Self {
        Self {
            center: report.protocol.into(),
            verdict: report.verdict,
            direction: report.direction,
            speedup: report.speedup,
            change_percent: report.change_percent,
            interval: report.interval.clone(),
            p_value: report.at_level.main_test.p_value,
            margin: None,
            p_same: None,
        }
    }
}

fn refused_suite(error: &SuiteRatioError) -> Reason {
    super::paired::refusal(error)
}
