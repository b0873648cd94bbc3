//! The conclusions of an experiment's report.

use crate::conclusion::{ReasonCode, Verdict};
use crate::gate::{Conclusion, Ruling};
use crate::study::{
    BisectionReport, ComparisonReport, EndpointReport, IntervalReport, OneSidedReport, Report, SuiteReport,
};
use speedup_core::experiment::{Family, metric::Metric};
use speedup_statistics::inference::{Adjustment, ConfidenceLevel, PValue, Threshold};

/// A conclusion with what its ruling is by.
struct FamilyConclusion {
    conclusion: Conclusion,
    /// The p-value of both directions against the threshold, 1 for what cannot conclude; `None` where its risk is its own.
    at_threshold: Option<OneSidedReport>,
    /// The verdicts that share a risk: 0 with the headlines, else those of an endpoint.
    family: usize,
}

impl Conclusion {
    /// Those of a report: each candidate over all benchmarks, then on each; of one benchmark on that alone; then on each endpoint.
    pub fn of_report(report: &Report) -> Vec<Self> {
        if report.gates.is_empty() { Self::of_rows(report) } else { report.gates.clone() }
    }

    /// The same by the rows of the report, of which none may be left out.
    pub(crate) fn of_rows(report: &Report) -> Vec<Self> {
        // A file with a level that is none has its gates all the same.
        let level = ConfidenceLevel::new(report.head.confidence).unwrap_or(ConfidenceLevel::USUAL);
        let noise = report.head.noise_threshold;
        let mut all = Vec::new();
        for suite in &report.suites {
            let own = report.benchmarks.iter().flat_map(|benchmark| {
                let own = benchmark.comparisons.iter().filter(|one| one.candidate == suite.candidate);
                own.map(|comparison| (benchmark.name.as_str(), comparison))
            });
            all.extend(Self::of_suite(suite, own, &report.endpoints, (noise, level)));
        }
        let bisection = report.rule.as_ref().and_then(|rule| rule.bisection.as_ref());
        all.extend(bisection.map(|bisection| of_bisection(bisection, noise)));
        all
    }

    /// Those of a candidate.
    pub(crate) fn of_suite<'a>(
        suite: &SuiteReport,
        benchmarks: impl Iterator<Item = (&'a str, &'a ComparisonReport)>,
        endpoints: &[EndpointReport],
        (noise, level): (Threshold, ConfidenceLevel),
    ) -> Vec<Self> {
        let mut all: Vec<FamilyConclusion> =
            benchmarks.map(|(name, one)| of_comparison(name, one, noise)).collect();
        // Under a rule of looks a suite has no verdict, which is no lack of data.
        let by_looks = suite.reason.as_ref().is_some_and(|reason| reason.code == ReasonCode::NoSuiteByLooks);
        if all.len() != 1 && !by_looks {
            all.insert(0, of_total(suite));
        }
        for (number, endpoint) in (1..).zip(endpoints) {
            let family = if endpoint.family == Family::Own { number } else { 0 };
            all.extend(of_endpoint(endpoint, &suite.candidate, family));
        }
        if !noise.is_none() {
            rule_at_threshold(&mut all, endpoints.len(), level);
        }
        let opposed = suite.reason.as_ref().is_some_and(|reason| reason.code == ReasonCode::BenchmarksOppose);
        if let Some(total) = all.first_mut().filter(|one| opposed && one.conclusion.benchmark.is_none())
            && total.conclusion.ruling != Ruling::Sound
        {
            total.conclusion.ruling = Ruling::Undecided;
            total.conclusion.ruling_p_value = None;
        }
        all.into_iter().map(|one| one.conclusion).collect()
    }
}

/// Rules by tests of the speedup being the threshold's, adjusted by Holm in each family.
fn rule_at_threshold(all: &mut [FamilyConclusion], endpoints: usize, level: ConfidenceLevel) {
    for family in 0..=endpoints {
        let p_value = |one: &FamilyConclusion| match one.at_threshold {
            Some(tested) if one.family == family => Some(tested.two_sided()),
            Some(_) | None => None,
        };
        let p_values: Vec<Option<PValue>> = all.iter().map(p_value).collect();
        for (one, p_value) in all.iter_mut().zip(Adjustment::Holm.adjust(&p_values)) {
            let (Some(p_value), Some(tested)) = (p_value, one.at_threshold) else { continue };
            one.conclusion.ruling_p_value = Some(p_value.told());
            one.conclusion.ruling = match p_value.rejects_at(level.risk()) {
                true if tested.slower < tested.faster => Ruling::Regression,
                true => Ruling::Sound,
                false => Ruling::Undecided,
            };
        }
    }
}

impl FamilyConclusion {
    /// By the verdict that keeps the risk of its family, and its p-value.
    fn new(
        plain: Conclusion,
        (adjusted_verdict, ruling_p_value): (Verdict, Option<f64>),
        at_threshold: Option<OneSidedReport>,
        family: usize,
    ) -> Self {
        // What has no data counts as if nothing were shown.
        let at_threshold = match (plain.verdict, at_threshold) {
            (Verdict::NotEnoughData, _) | (_, None) => OneSidedReport { faster: 1.0, slower: 1.0 },
            (_, Some(tested)) => tested,
        };
        let ruling = adjusted_verdict.into();
        let conclusion = Conclusion { adjusted_verdict, ruling, ruling_p_value, ..plain };
        Self { conclusion, at_threshold: Some(at_threshold), family }
    }
}

fn of_comparison(benchmark: &str, comparison: &ComparisonReport, noise: Threshold) -> FamilyConclusion {
    let headline = comparison.headline();
    let speedup = headline.as_ref().map(|headline| headline.speedup);
    let ends = headline.as_ref().and_then(|headline| headline.interval.ends());
    let verdict = comparison.verdict;
    let plain = Conclusion::new(&comparison.candidate, Some(benchmark), verdict, speedup, ends);
    if comparison.look.is_some() {
        // The rule keeps the risk of each benchmark.
        let ruling = Ruling::by_interval(verdict, ends, noise);
        return FamilyConclusion {
            conclusion: Conclusion { ruling, ..plain },
            at_threshold: None,
            family: 0,
        };
    }
    let at_threshold = headline.and_then(|headline| headline.at_threshold);
    let ruled = FamilyConclusion::new(plain, comparison.familywise(), at_threshold, 0);
    // Without runs of both versions it is not of the family.
    if comparison.observed.is_none() { FamilyConclusion { at_threshold: None, ..ruled } } else { ruled }
}

/// The total, of the same family as its benchmarks.
fn of_total(suite: &SuiteReport) -> FamilyConclusion {
    let ends = suite.interval.as_ref().and_then(IntervalReport::ends);
    let plain = Conclusion::new(&suite.candidate, None, suite.verdict, suite.speedup, ends);
    FamilyConclusion::new(plain, suite.familywise(), suite.at_threshold, 0)
}

/// The conclusions of a candidate on an endpoint, benchmark by benchmark.
fn of_endpoint<'a>(
    endpoint: &'a EndpointReport,
    candidate: &'a str,
    family: usize,
) -> impl Iterator<Item = FamilyConclusion> + use<'a> {
    endpoint.of(candidate).map(move |row| {
        let ends = row.interval.as_ref().and_then(IntervalReport::ends);
        let verdict = row.verdict.into();
        let plain = Conclusion::new(&row.candidate, Some(&row.benchmark), verdict, row.ratio, ends);
        let plain = Conclusion { endpoint: Some(endpoint.name()), ..plain };
        let (adjusted_verdict, p_value) = row.familywise();
        FamilyConclusion::new(plain, (adjusted_verdict.into(), p_value), row.at_threshold, family)
    })
}

/// What a bisection says of its bad end.
fn of_bisection(bisection: &BisectionReport, noise: Threshold) -> Conclusion {
    let candidate = bisection.commits.last().map_or("", |commit| commit.version.as_str());
    let speedup = bisection.size.map(|size| 1.0 / size.ratio);
    let ends = bisection.size.map(|size| (1.0 / size.interval[1], 1.0 / size.interval[0]));
    let verdict = bisection.gated();
    let plain = Conclusion::new(candidate, Some(&bisection.benchmark), verdict, speedup, ends);
    let is_own = bisection.metric != Metric::Wall.name();
    let endpoint = is_own.then(|| bisection.metric.clone());
    Conclusion { endpoint, ruling: Ruling::by_interval(verdict, ends, noise), ..plain }
}
