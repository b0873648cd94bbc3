//! The protocols within the fingerprint classes of hosts: versions are compared within each class, and the comparisons
//! combined.
//!
//! The mean is the ratio of the classes' means, weighted by nm/(n + m) as Mantel and Haenszel weigh strata (Journal of the
//! National Cancer Institute 22, 1959), with the interval of a suite whose benchmarks are the classes. The median is van
//! Elteren's test.

use super::paired::{MainTest, RiskBound, judge, refusal, report_with};
use super::{interval::IntervalReport, protocol::ProtocolResult};
use crate::conclusion::{Protocol, Reason, ReasonCode};
use crate::study::design::class_weight;
use speedup_statistics::inference::{Alternative, ConfidenceLevel};
use speedup_statistics::ratio::{BenchmarkWeights, SuiteMember, SuiteRatio, SuiteRatioError};
use speedup_statistics::test::{ShapiroWilk, VanElteren};
use speedup_statistics::{protocol::speedup_test::LARGE_ABOVE, sample::Sample};

/// The full name of the test of means.
pub(crate) const T_TEST_NAME: &str = "t test of the ratio of means within classes (weights nm/(n + m))";

/// The protocol of the mean.
pub(crate) fn mean(blocks: &[(Sample, Sample)], level: ConfidenceLevel) -> ProtocolResult {
    let several = |(x, y): &&(Sample, Sample)| x.len() > 1 && y.len() > 1;
    let blocks: Vec<&(Sample, Sample)> = blocks.iter().filter(several).collect();
    let ratio = ratio_of_means(blocks.iter().map(|(x, y)| (x, y)));
    let interval = match &ratio {
        Ok(ratio) => IntervalReport::from(&ratio.interval(level)),
        Err(error) => IntervalReport::Missing { reason: refusal(error) },
    };
    let speedup = ratio.as_ref().map_or(1.0, SuiteRatio::estimate);
    let test = ratio.map_err(|error| (SuiteRatio::NAME, refusal(&error))).map(|ratio| MainTest {
        method: T_TEST_NAME,
        statistic: ratio.estimate(),
        faster: ratio.p_value(1.0, Alternative::Greater),
        slower: ratio.p_value(1.0, Alternative::Less),
    });
    let allowed = RiskBound {
        below: blocks.iter().flat_map(|(x, y)| [x, y]).map(normal_below).fold(f64::INFINITY, f64::min),
        refusal: Reason::new(
            ReasonCode::SmallNotNormal,
            "The times within a class seem not to be normally distributed, and with at most 30 runs a t test is not valid: go by \
             the median",
        ),
    };
    let report = judge(Protocol::Mean, speedup, interval, &test, Some(&allowed), level, &[]);
    report_with(report, Vec::new(), Vec::new(), Vec::new())
}

/// The ratio of the means within the classes that have runs enough for an error.
pub(crate) fn ratio_of_means<'s>(
    classes: impl Iterator<Item = (&'s Sample, &'s Sample)>,
) -> Result<SuiteRatio, SuiteRatioError> {
    let mut members = Vec::new();
    let mut weights = Vec::new();
    for (baseline, candidate) in classes.filter(|(x, y)| x.len() > 1 && y.len() > 1) {
        members.push(SuiteMember { baseline, candidate });
        weights.push(class_weight(baseline, candidate));
    }
    SuiteRatio::new(&members, &BenchmarkWeights::Custom(weights))
}

/// The protocol of the median.
pub(crate) fn median(blocks: &[(Sample, Sample)], level: ConfidenceLevel) -> (ProtocolResult, f64) {
    let samples: Vec<(&Sample, &Sample)> = blocks.iter().map(|(x, y)| (x, y)).collect();
    let test = VanElteren::new(&samples);
    let probability = test.as_ref().map_or(0.5, VanElteren::probability_greater);
    let test = test.map_err(|error| (VanElteren::NAME, Reason::of(ReasonCode::SubTestRefused, &error)));
    let test = test.map(|test| MainTest {
        method: VanElteren::NAME,
        statistic: test.z(),
        faster: test.p_value(Alternative::Greater),
        slower: test.p_value(Alternative::Less),
    });
    let interval = IntervalReport::Missing {
        reason: Reason::new(
            ReasonCode::NoIntervalByClasses,
            "Van Elteren's test has no interval: see that of the mean",
        ),
    };
    let report = judge(Protocol::Median, typical(blocks), interval, &test, None, level, &[]);
    (report_with(report, Vec::new(), Vec::new(), Vec::new()), probability)
}

/// The weighted geometric mean of the classes' ratios of medians.
fn typical(blocks: &[(Sample, Sample)]) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for (x, y) in blocks {
        let weight = class_weight(x, y);
        sum += weight * (x.median() / y.median()).ln();
        weights += weight;
    }
    (sum / weights).exp()
}

/// The risk from which a sample counts as not normal.
fn normal_below(sample: &Sample) -> f64 {
    match ShapiroWilk::new(sample) {
        _ if sample.len() > LARGE_ABOVE => f64::INFINITY,
        Ok(test) => test.p_value().get(),
        Err(_) => 0.0,
    }
}
