//! The answers of each method as rows: the verdict first, then what it is about.

mod distribution;
mod mixture;
mod speedup_test;

use speedup_analysis::inquiry::{
    Answer, DiagnosticsFinding, EarlierSuite, EffectFinding, Findings, IntervalAnswer, PerformanceFinding,
    Remark, SignedRankFinding,
};
use speedup_analysis::study::{Reason, Verdict};
use speedup_statistics::diagnostics::MetricKind;
use speedup_statistics::inference::ThresholdDecision;
use speedup_statistics::protocol::hierarchical_performance_test::{ReliableSpeedup, Winner};

pub(crate) use self::mixture::metrics;
use super::sheet::{Cell, Sheet, hidden, number, words};

/// The rows of an answer.
pub(crate) fn sheet(answer: &Answer) -> Sheet {
    match &answer.findings {
        Findings::SpeedupTest(of) => speedup_test::sheet(of),
        Findings::PerformanceTest(of) => performance_test(of),
        Findings::Effect(of) => effect(of),
        Findings::Mixture(of) => mixture::sheet(of, &answer.versions),
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

/// The level that an interval achieves.
fn achieved(interval: &IntervalAnswer) -> Cell {
    match interval {
        IntervalAnswer::Bounded { confidence, .. } => Cell::Number(*confidence),
        IntervalAnswer::Missing { .. } => Cell::Absent,
    }
}

/// The full name of what made it.
fn method(interval: &IntervalAnswer) -> Cell {
    match interval {
        IntervalAnswer::Bounded { method, .. } => Cell::text(method),
        IntervalAnswer::Missing { .. } => Cell::Absent,
    }
}

/// The codes of remarks, each once.
fn codes<'a>(remarks: impl IntoIterator<Item = &'a Remark>) -> Cell {
    Cell::codes(remarks.into_iter().map(|remark| remark.code.as_str()))
}

fn verdict(verdict: Verdict) -> Cell {
    Cell::text(verdict.words())
}

/// A decision in words.
pub(crate) fn decision(decision: ThresholdDecision) -> &'static str {
    match decision {
        ThresholdDecision::Faster => "faster",
        ThresholdDecision::Slower => "slower",
        ThresholdDecision::WithinThreshold => "within the threshold",
        ThresholdDecision::NotEnoughData => "not enough data",
    }
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
        hidden("p_value"),
        hidden("test"),
        hidden("speedup_under_test"),
        hidden("reliable_speedup"),
        hidden("geometric_mean_speedup"),
        words("reason", "reason"),
        hidden("caveats"),
    ];
    let mut rows = Vec::new();
    for finding in of {
        let of_all = || {
            [
                verdict(finding.verdict),
                Cell::of(finding.confidence),
                Cell::of(finding.p_value),
                finding.signed_rank.map_or(Cell::Absent, Cell::text),
                Cell::Number(finding.speedup_under_test),
                Cell::of(reliable(finding)),
                Cell::of(finding.geometric_mean_speedup),
                reason(finding.reason.as_ref()),
                codes(&finding.caveats),
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
        hidden("interval_confidence"),
        hidden("interval_method"),
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
            hidden("bootstrap_confidence"),
            hidden("bootstrap_method"),
        ]);
    }
    headings.extend([words("reason", "reason"), hidden("caveats")]);
    let row = |one: &EffectFinding| {
        let mut row = vec![
            Cell::text(decision(one.decision)),
            Cell::text(&one.candidate),
            Cell::text(&one.benchmark),
            Cell::speedup(Some(one.speedup), one.interval.ends()),
            lower(&one.interval),
            upper(&one.interval),
            achieved(&one.interval),
            method(&one.interval),
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
                    achieved(&bootstrap.interval),
                    method(&bootstrap.interval),
                ],
                None => [const { Cell::Absent }; 6],
            });
        }
        row.extend([reason(one.reason.as_ref()), codes(&one.caveats())]);
        row
    };
    Sheet { headings, rows: of.iter().map(row).collect() }
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
        hidden("interval_confidence"),
        hidden("interval_method"),
        hidden("test"),
        number("statistic", "V"),
        number("p_value_faster", "p (faster)"),
        number("p_value_slower", "p (slower)"),
        words("reason", "reason"),
        hidden("caveats"),
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
            achieved(&one.interval),
            method(&one.interval),
            one.test.as_ref().map_or(Cell::Absent, Cell::text),
            Cell::of(one.statistic),
            Cell::p_value(one.p_value_faster),
            Cell::p_value(one.p_value_slower),
            reason(one.reason.as_ref()),
            codes(one.caveats.iter().chain(one.interval.caveats())),
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
        hidden("interval_confidence"),
        hidden("interval_method"),
        number("best_confidence", "best level"),
        words("reason", "reason"),
        hidden("caveats"),
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
                achieved(&one.difference),
                method(&one.difference),
                Cell::percent(one.best_confidence),
                reason(one.reason.as_ref()),
                codes(suite.caveats.iter().chain(one.difference.caveats())),
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
        hidden("test"),
        words("reason", "reason"),
        hidden("caveats"),
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
                Cell::text(diagnostic.method),
                reason(diagnostic.reason.as_ref()),
                codes(&one.caveats),
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
