//! The conclusions of an experiment's report.

use super::Conclusion;
use crate::study::{ComparisonReport, EndpointReport, IntervalReport, Report, SuiteReport, Verdict};

/// Why a suite has no verdict under a rule of looks, which is no lack of data.
const NO_SUITE_BY_LOOKS: &str = "no_suite_by_looks";

impl Conclusion {
    /// Those of a report: each candidate over all benchmarks, then on each; of one benchmark on that alone; then on each endpoint.
    pub fn of_report(report: &Report) -> Vec<Self> {
        let of = |suite: &SuiteReport| {
            let own = report.benchmarks.iter().flat_map(|benchmark| {
                let own = benchmark.comparisons.iter().filter(|one| one.candidate == suite.candidate);
                own.map(|comparison| (benchmark.name.as_str(), comparison))
            });
            let endpoints =
                report.endpoints.iter().flat_map(|endpoint| of_endpoint(endpoint, &suite.candidate));
            of_suite(suite, own).into_iter().chain(endpoints).collect::<Vec<Self>>()
        };
        report.suites.iter().flat_map(of).collect()
    }
}

/// The conclusions of a candidate: over all benchmarks, then on each.
pub(super) fn of_suite<'a>(
    suite: &SuiteReport,
    benchmarks: impl Iterator<Item = (&'a str, &'a ComparisonReport)>,
) -> Vec<Conclusion> {
    let mut conclusions: Vec<Conclusion> =
        benchmarks.map(|(benchmark, comparison)| of_comparison(benchmark, comparison)).collect();
    let by_looks = suite.reason.as_ref().is_some_and(|reason| reason.code == NO_SUITE_BY_LOOKS);
    if conclusions.len() != 1 && !by_looks {
        let overall = Conclusion {
            candidate: suite.candidate.clone(),
            benchmark: None,
            endpoint: None,
            verdict: of_total(suite),
            speedup: suite.speedup,
            interval: suite.interval.as_ref().and_then(IntervalReport::ends),
        };
        conclusions.insert(0, overall);
    }
    conclusions
}

fn of_comparison(benchmark: &str, comparison: &ComparisonReport) -> Conclusion {
    let headline = comparison.headline();
    Conclusion {
        candidate: comparison.candidate.clone(),
        benchmark: Some(benchmark.to_owned()),
        endpoint: None,
        verdict: verdict(comparison),
        speedup: headline.as_ref().map(|headline| headline.speedup),
        interval: headline.and_then(|headline| headline.interval.ends()),
    }
}

/// The conclusions of a candidate on an endpoint, benchmark by benchmark.
pub(super) fn of_endpoint<'a>(
    endpoint: &'a EndpointReport,
    candidate: &'a str,
) -> impl Iterator<Item = Conclusion> + use<'a> {
    endpoint.of(candidate).map(|row| Conclusion {
        candidate: row.candidate.clone(),
        benchmark: Some(row.benchmark.clone()),
        endpoint: Some(endpoint.name()),
        verdict: row.familywise().into(),
        speedup: row.ratio,
        interval: row.interval.as_ref().and_then(IntervalReport::ends),
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
