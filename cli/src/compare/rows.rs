//! The answers of each method as rows: the verdict first, then what it is about.

mod distribution;

use speedup_analysis::hierarchical_performance_test::{ReliableSpeedup, Winner};
use speedup_analysis::inquiry::{
    DiagnosticsFinding, EarlierSuite, EffectFinding, Findings, IntervalAnswer, MixtureFinding,
    MixtureFindings, PerformanceFinding, ProtocolFinding, SignedRankFinding, SpeedupTestSuite,
};
use speedup_analysis::mixture::Component;
use speedup_analysis::study::{Protocol, Reason, Verdict};
use speedup_analysis::{Decision, MetricKind};

use super::sheet::{Cell, Heading, Sheet, hidden, number, words};

/// The rows of an answer.
pub(crate) fn sheet(findings: &Findings) -> Sheet {
    match findings {
        Findings::SpeedupTest(of) => speedup_test(of),
        Findings::PerformanceTest(of) => performance_test(of),
        Findings::Effect(of) => effect(of),
        Findings::Mixture(of) => mixture(of),
        Findings::Distribution(of) => distribution::sheet(of),
        Findings::SignedRank(of) => signed_rank(of),
        Findings::Earlier(of) => earlier(of),
        Findings::Diagnostics(of) => diagnostics(of),
    }
}

fn reason(reason: Option<&Reason>) -> Cell {
    reason.map_or(Cell::Absent, |reason| Cell::text(&reason.code))
}

fn lower(interval: &IntervalAnswer) -> Cell {
    match interval {
        IntervalAnswer::Bounded { lower, .. } => Cell::of(*lower),
        IntervalAnswer::Missing { .. } => Cell::Absent,
    }
}

fn upper(interval: &IntervalAnswer) -> Cell {
    match interval {
        IntervalAnswer::Bounded { upper, .. } => Cell::of(*upper),
        IntervalAnswer::Missing { .. } => Cell::Absent,
    }
}

fn verdict(verdict: Verdict) -> Cell {
    Cell::text(verdict.words())
}

/// A decision in words.
pub(crate) fn decision(decision: Decision) -> &'static str {
    match decision {
        Decision::Faster => "faster",
        Decision::Slower => "slower",
        Decision::WithinThreshold => "within the threshold",
        Decision::NotEnoughData => "not enough data",
    }
}

fn speedup_test(of: &[SpeedupTestSuite]) -> Sheet {
    let adjusted = of.iter().flat_map(|suite| &suite.benchmarks).any(|one| one.mean.adjusted.is_some());
    let mut headings = vec![
        words("verdict", "verdict"),
        words("candidate", "candidate"),
        words("benchmark", "benchmark"),
        words("by", "by"),
        number("speedup", "speedup"),
        hidden("lower"),
        hidden("upper"),
        number("p_value", "p"),
        number("best_confidence", "best level"),
    ];
    if adjusted {
        headings.push(number("adjusted_p_value", "adjusted p"));
        headings.push(words("adjusted_verdict", "adjusted verdict"));
    }
    headings.push(words("reason", "reason"));
    let mut rows = Vec::new();
    for suite in of {
        for one in &suite.benchmarks {
            for protocol in [Protocol::Mean, Protocol::Median] {
                let finding = one.of(protocol);
                let mut row = vec![
                    verdict(finding.report.verdict),
                    Cell::text(&suite.candidate),
                    Cell::text(&one.benchmark),
                    Cell::text(protocol.name()),
                ];
                row.extend(protocol_cells(finding));
                if adjusted {
                    row.push(Cell::p_value(finding.adjusted.map(|adjusted| adjusted.p_value)));
                    row.push(finding.adjusted.map_or(Cell::Absent, |adjusted| verdict(adjusted.verdict)));
                }
                row.push(reason(finding.report.reason.as_ref()));
                rows.push(row);
            }
        }
    }
    Sheet { headings, rows }
}

/// Speedup, its interval, the p-value of the direction observed, and the best level.
fn protocol_cells(finding: &ProtocolFinding) -> [Cell; 5] {
    let report = &finding.report;
    let ends = report.interval.ends();
    let best = match finding.published {
        Some(published) => published.confidence,
        None => report.best.confidence,
    };
    [
        Cell::speedup(Some(report.speedup), ends),
        Cell::of(ends.map(|(lower, _)| lower)),
        Cell::of(ends.map(|(_, upper)| upper)),
        Cell::p_value(report.at_level.main_test.p_value),
        Cell::percent(best),
    ]
}

fn performance_test(of: &[PerformanceFinding]) -> Sheet {
    let headings = vec![
        words("verdict", "verdict"),
        words("candidate", "candidate"),
        words("benchmark", "benchmark"),
        number("candidate_median", "candidate's score"),
        number("baseline_median", "baseline's score"),
        number("difference", "difference"),
        number("rank", "rank"),
        hidden("suite_verdict"),
        hidden("confidence"),
        hidden("speedup_under_test"),
        hidden("reliable_speedup"),
        words("reason", "reason"),
    ];
    let mut rows = Vec::new();
    for finding in of {
        let of_all = || {
            [
                verdict(finding.verdict),
                Cell::of(finding.confidence),
                Cell::Number(finding.speedup_under_test),
                Cell::of(reliable(finding)),
                reason(finding.reason.as_ref()),
            ]
        };
        for one in &finding.benchmarks {
            let is_plain = finding.speedup_under_test == 1.0;
            // Whoever is not more than γ times faster may still be faster.
            let said = match one.verdict.winner {
                Winner::Baseline if is_plain => "slower",
                Winner::Baseline => "below γ",
                Winner::Tie => "no difference shown",
                Winner::Candidate if is_plain => "faster",
                Winner::Candidate => "above γ",
            };
            let mut row = vec![Cell::text(said), Cell::text(&finding.candidate), Cell::text(&one.benchmark)];
            let own = &one.verdict;
            row.extend(
                [own.candidate_median, own.baseline_median, own.difference, own.rank].map(Cell::Number),
            );
            row.extend(of_all());
            rows.push(row);
        }
        if finding.benchmarks.is_empty() {
            let mut row = vec![verdict(finding.verdict), Cell::text(&finding.candidate)];
            row.extend(std::iter::repeat_n(Cell::Absent, 5));
            row.extend(of_all());
            rows.push(row);
        }
    }
    Sheet { headings, rows }
}

/// The r-Speedup, if there is a finite one above 1.
fn reliable(finding: &PerformanceFinding) -> Option<f64> {
    match finding.reliable_speedup? {
        ReliableSpeedup::Supremum { speedup, .. } => Some(speedup),
        ReliableSpeedup::NotFaster | ReliableSpeedup::Unbounded => None,
    }
}

fn effect(of: &[EffectFinding]) -> Sheet {
    let drawn = of.iter().any(|one| one.bootstrap.is_some());
    let mut headings = vec![
        words("verdict", "verdict"),
        words("candidate", "candidate"),
        words("benchmark", "benchmark"),
        number("speedup", "speedup"),
        hidden("lower"),
        hidden("upper"),
        number("time_ratio", "time ratio"),
        hidden("time_ratio_lower"),
        hidden("time_ratio_upper"),
        words("baseline_t2", "T² of the baseline"),
        words("candidate_t2", "T² of the candidate"),
    ];
    if drawn {
        headings.extend([
            words("bootstrap_verdict", "by bootstrap"),
            number("bootstrap_speedup", "speedup"),
            hidden("bootstrap_lower"),
            hidden("bootstrap_upper"),
        ]);
    }
    headings.push(words("reason", "reason"));
    let row = |one: &EffectFinding| {
        let mut row = vec![
            Cell::text(decision(one.decision)),
            Cell::text(&one.candidate),
            Cell::text(&one.benchmark),
            Cell::speedup(Some(one.speedup), one.interval.ends()),
            lower(&one.interval),
            upper(&one.interval),
            Cell::speedup(Some(one.time_ratio), one.time_ratio_interval.ends()),
            lower(&one.time_ratio_interval),
            upper(&one.time_ratio_interval),
        ];
        for levels in [&one.baseline_levels, &one.candidate_levels] {
            row.push(Cell::List(levels.levels.iter().map(|level| level.unbiased).collect(), 3));
        }
        if drawn {
            row.extend(match &one.bootstrap {
                Some(bootstrap) => [
                    Cell::text(decision(bootstrap.decision)),
                    Cell::speedup(bootstrap.speedup, bootstrap.interval.ends()),
                    lower(&bootstrap.interval),
                    upper(&bootstrap.interval),
                ],
                None => [Cell::Absent, Cell::Absent, Cell::Absent, Cell::Absent],
            });
        }
        row.push(reason(one.reason.as_ref()));
        row
    };
    Sheet { headings, rows: of.iter().map(row).collect() }
}

fn mixture(of: &MixtureFindings) -> Sheet {
    let headings = vec![
        words("verdict", "fit"),
        words("version", "version"),
        words("benchmark", "benchmark"),
        number("components", "K"),
        words("model", "model"),
        number("bic", "BIC"),
        number("modes", "I4: modes"),
        words("weights", "weights"),
        words("means", "means"),
        words("standard_deviations", "sds"),
        number("fit_p_value", "KSfit p"),
        hidden("fit_distance"),
        hidden("fit_critical_distance"),
        words("reason", "reason"),
    ];
    let row = |one: &MixtureFinding| {
        let fit = match (one.components_count, one.fits()) {
            (None, _) => "no mixture",
            (Some(_), None) => "not tested",
            (Some(_), Some(true)) => "not rejected",
            (Some(_), Some(false)) => "rejected",
        };
        let list = |value: fn(&Component) -> f64| {
            Cell::List(one.components.iter().map(|component| Some(value(component))).collect(), 4)
        };
        let count = |count: Option<usize>| count.map_or(Cell::Absent, |count| Cell::Count(count as u64));
        vec![
            Cell::text(fit),
            Cell::text(&one.version),
            Cell::text(&one.benchmark),
            count(one.components_count),
            one.model.map_or(Cell::Absent, |letter| Cell::text(letter.to_string())),
            Cell::of(one.bic),
            count(one.variability_level),
            list(|c| c.weight),
            list(|c| c.mean),
            list(|c| c.sd),
            fit_p_value(one),
            Cell::of(one.fit_distance),
            Cell::of(one.fit_critical_distance),
            reason(one.reason.as_ref().or(one.fit_reason.as_ref())),
        ]
    };
    Sheet { headings, rows: of.samples.iter().map(row).collect() }
}

/// Never finer than its resamples.
fn fit_p_value(one: &MixtureFinding) -> Cell {
    match (one.fit_p_value, one.fit_resamples) {
        (Some(0.0), Some(resamples)) => Cell::Shown(0.0, format!("< 1/{resamples}")),
        (p, _) => Cell::p_value(p),
    }
}

/// I₁ and I₂ of every candidate, and I₃ of every version, from the observations and from the mixtures.
pub(crate) fn metrics(of: &MixtureFindings, versions: &[String]) -> Sheet {
    let headings: Vec<Heading> = vec![
        words("metric", "metric"),
        words("version", "version"),
        words("benchmark", "benchmark"),
        number("observed", "observed"),
        number("modelled", "modelled"),
        number("tied", "tied"),
    ];
    let mut rows = Vec::new();
    for one in &of.metrics {
        let mut row = |metric: &str, observed: f64, modelled: Option<f64>, tied: Option<f64>| {
            rows.push(vec![
                Cell::text(metric),
                Cell::text(&one.candidate),
                Cell::text(&one.benchmark),
                Cell::Number(observed),
                Cell::of(modelled),
                Cell::of(tied),
            ]);
        };
        row("I1: mean difference", one.mean_difference, one.mean_difference_modelled, None);
        let better = one.probability_better;
        row("I2: P[better]", better.below, one.probability_better_modelled, Some(better.tied));
    }
    for one in &of.shortest {
        for (at, version) in versions.iter().enumerate().take(one.observed.shares.len()) {
            rows.push(vec![
                Cell::text("I3: P[best of all]"),
                Cell::text(version),
                Cell::text(&one.benchmark),
                Cell::Number(one.observed.shares[at]),
                Cell::of(one.modelled.as_ref().and_then(|shares| shares.get(at).copied())),
                Cell::Number(one.observed.tied),
            ]);
        }
    }
    Sheet { headings, rows }
}

fn signed_rank(of: &[SignedRankFinding]) -> Sheet {
    let headings = vec![
        words("verdict", "verdict"),
        words("candidate", "candidate"),
        words("benchmark", "benchmark"),
        number("pairs", "pairs"),
        number("speedup", "speedup of a pair"),
        hidden("lower"),
        hidden("upper"),
        number("statistic", "V"),
        number("p_value_faster", "p (faster)"),
        number("p_value_slower", "p (slower)"),
        words("reason", "reason"),
    ];
    let row = |one: &SignedRankFinding| {
        vec![
            verdict(one.verdict),
            Cell::text(&one.candidate),
            Cell::text(&one.benchmark),
            Cell::Count(one.pairs as u64),
            Cell::speedup(one.speedup, one.interval.ends()),
            lower(&one.interval),
            upper(&one.interval),
            Cell::of(one.statistic),
            Cell::p_value(one.p_value_faster),
            Cell::p_value(one.p_value_slower),
            reason(one.reason.as_ref()),
        ]
    };
    Sheet { headings, rows: of.iter().map(row).collect() }
}

fn earlier(of: &[EarlierSuite]) -> Sheet {
    let headings = vec![
        words("verdict", "verdict"),
        words("candidate", "candidate"),
        words("benchmark", "benchmark"),
        number("median_speedup", "by the median"),
        number("mean_speedup", "by the mean"),
        number("difference_lower", "difference above"),
        number("best_confidence", "best level"),
        words("reason", "reason"),
    ];
    let of_suite = |suite: &EarlierSuite| {
        let row = |one: &speedup_analysis::inquiry::EarlierFinding| {
            vec![
                verdict(one.verdict),
                Cell::text(&suite.candidate),
                Cell::text(&one.benchmark),
                Cell::speedup(Some(one.median_speedup), None),
                Cell::speedup(Some(one.mean_speedup), None),
                lower(&one.difference),
                Cell::percent(one.best_confidence),
                reason(one.reason.as_ref()),
            ]
        };
        suite.benchmarks.iter().map(row).collect::<Vec<_>>()
    };
    Sheet { headings, rows: of.iter().flat_map(of_suite).collect() }
}

fn diagnostics(of: &[DiagnosticsFinding]) -> Sheet {
    let headings = vec![
        words("verdict", "verdict"),
        words("version", "version"),
        words("benchmark", "benchmark"),
        words("diagnostic", "diagnostic"),
        number("statistic", "statistic"),
        number("p_value", "p"),
        words("metric_kind", "values"),
        number("tied_share", "tied"),
        hidden("grid"),
        hidden("slope"),
        words("reason", "reason"),
    ];
    let mut rows = Vec::new();
    for one in of {
        for diagnostic in &one.diagnostics {
            let said = match diagnostic.p_value {
                None => "not made",
                Some(_) if one.signs.contains(&diagnostic.code) => "order matters",
                Some(_) => "no sign",
            };
            rows.push(vec![
                Cell::text(said),
                Cell::text(&one.version),
                Cell::text(&one.benchmark),
                Cell::text(diagnostic.code),
                Cell::of(diagnostic.statistic),
                Cell::p_value(diagnostic.p_value),
                Cell::text(kind(one.metric_kind)),
                Cell::share(one.tied_share),
                Cell::of(one.grid),
                Cell::of(one.slope),
                reason(diagnostic.reason.as_ref()),
            ]);
        }
    }
    Sheet { headings, rows }
}

fn kind(kind: MetricKind) -> &'static str {
    match kind {
        MetricKind::Continuous => "continuous",
        MetricKind::Coarse => "coarse",
        MetricKind::Discrete => "discrete",
        MetricKind::Constant => "constant",
        MetricKind::Unknown => "too few to tell",
    }
}
