//! The conclusions of an experiment's report.

use super::Conclusion;
use crate::conclusion::{ReasonCode, Verdict};
use crate::study::{BisectionReport, ComparisonReport, EndpointReport, IntervalReport, Report, SuiteReport};
use speedup_core::experiment::metric::Metric;

impl Conclusion {
    /// Those of a report: each candidate over all benchmarks, then on each; of one benchmark on that alone; then on each endpoint.
    pub fn of_report(report: &Report) -> Vec<Self> {
        let of = |suite: &SuiteReport| {
            let own = report.benchmarks.iter().flat_map(|benchmark| {
                let own = benchmark.comparisons.iter().filter(|one| one.candidate == suite.candidate);
                own.map(|comparison| (benchmark.name.as_str(), comparison))
            });
            Self::of_suite(suite, own, &report.endpoints)
        };
        let of_step = report.rule.as_ref().and_then(|rule| rule.bisection.as_ref()).map(of_bisection);
        report.suites.iter().flat_map(of).chain(of_step).collect()
    }

    /// Those of a candidate.
    pub(crate) fn of_suite<'a>(
        suite: &SuiteReport,
        benchmarks: impl Iterator<Item = (&'a str, &'a ComparisonReport)>,
        endpoints: &[EndpointReport],
    ) -> Vec<Self> {
        let own: Vec<Self> = benchmarks.map(|(benchmark, of)| of_comparison(benchmark, of)).collect();
        // Under a rule of looks a suite has no verdict, which is no lack of data.
        let by_looks = suite.reason.as_ref().is_some_and(|reason| reason.code == ReasonCode::NoSuiteByLooks);
        let ends = suite.interval.as_ref().and_then(IntervalReport::ends);
        let overall = Self::new(&suite.candidate, None, of_total(suite), suite.speedup, ends);
        let mut all = if by_looks { own } else { overall.over(own) };
        all.extend(endpoints.iter().flat_map(|endpoint| of_endpoint(endpoint, &suite.candidate)));
        all
    }

    /// The conclusion over all benchmarks before theirs; of one benchmark its own is all.
    pub(crate) fn over(self, mut own: Vec<Self>) -> Vec<Self> {
        if own.len() != 1 {
            own.insert(0, self);
        }
        own
    }

    pub(crate) fn new(
        candidate: &str,
        benchmark: Option<&str>,
        verdict: Verdict,
        speedup: Option<f64>,
        interval: Option<(f64, f64)>,
    ) -> Self {
        let (candidate, benchmark) = (candidate.to_owned(), benchmark.map(str::to_owned));
        Self { candidate, benchmark, endpoint: None, verdict, speedup, interval }
    }
}

/// What a bisection says of its bad end.
fn of_bisection(bisection: &BisectionReport) -> Conclusion {
    let candidate = bisection.commits.last().map_or("", |commit| commit.version.as_str());
    let speedup = bisection.size.map(|size| 1.0 / size.ratio);
    let ends = bisection.size.map(|size| (1.0 / size.interval[1], 1.0 / size.interval[0]));
    let of = Conclusion::new(candidate, Some(&bisection.benchmark), bisection.gated(), speedup, ends);
    let is_own = bisection.metric != Metric::Wall.name();
    Conclusion { endpoint: is_own.then(|| bisection.metric.clone()), ..of }
}

fn of_comparison(benchmark: &str, comparison: &ComparisonReport) -> Conclusion {
    let headline = comparison.headline();
    let speedup = headline.as_ref().map(|headline| headline.speedup);
    let ends = headline.and_then(|headline| headline.interval.ends());
    Conclusion::new(&comparison.candidate, Some(benchmark), verdict(comparison), speedup, ends)
}

/// The conclusions of a candidate on an endpoint, benchmark by benchmark.
fn of_endpoint<'a>(
    endpoint: &'a EndpointReport,
    candidate: &'a str,
) -> impl Iterator<Item = Conclusion> + use<'a> {
    endpoint.of(candidate).map(|row| {
        let ends = row.interval.as_ref().and_then(IntervalReport::ends);
        let verdict = row.familywise().into();
        let of = Conclusion::new(&row.candidate, Some(&row.benchmark), verdict, row.ratio, ends);
        Conclusion { endpoint: Some(endpoint.name()), ..of }
    })
}

/// Verdicts of looks have no p-value to adjust: the rule keeps the risk of each benchmark.
fn verdict(comparison: &ComparisonReport) -> Verdict {
    let adjusted = comparison.adjusted.iter().find(|one| one.is_familywise());
    match adjusted {
        Some(adjusted) if comparison.look.is_none() => adjusted.verdict,
        Some(_) | None => comparison.verdict,
    }
}

/// The total's, of the same family as its benchmarks'; undecided where these went both ways.
fn of_total(suite: &SuiteReport) -> Verdict {
    let adjusted = suite.adjusted.iter().find(|one| one.is_familywise());
    match (suite.verdict, adjusted) {
        (Verdict::Faster | Verdict::Slower, Some(adjusted)) => adjusted.verdict,
        (verdict, _) => verdict,
    }
}
