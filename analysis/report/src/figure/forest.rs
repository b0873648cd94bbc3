//! The speedups of the benchmarks, one under the other.

use speedup_analysis::count::{counted, percent, ratio};
use speedup_analysis::{conclusion::Verdict, study::BenchmarkReport, study::Report};
use speedup_core::value::foreign::one_line;

use super::axis::{Axis, Spacing};

/// Speedups with their intervals.
#[derive(Clone, Debug, PartialEq)]
pub struct Forest {
    pub title: String,
    /// The benchmarks, in plan order.
    pub rows: Vec<IntervalRow>,
    /// The same in words.
    pub description: String,
}

impl Forest {
    /// Around all estimates and 1, and the intervals as far as they are not `widest` times beyond the estimates; `margin` is a share
    /// of the range.
    pub(crate) fn axis(&self, widest: f64, margin: f64) -> Axis {
        let estimates = || self.rows.iter().filter_map(|row| row.value).chain([1.0]);
        let (least, most) =
            estimates().fold((f64::INFINITY, 0.0_f64), |(least, most), at| (least.min(at), most.max(at)));
        let ends = self.rows.iter().filter_map(|row| row.interval).flat_map(|(lower, upper)| [lower, upper]);
        let ends = ends.map(|end| end.clamp(least / widest, most * widest));
        Axis::over(Spacing::Logarithmic, estimates().chain(ends), margin)
    }

    /// As far to either side of 1 as the rows go, but not much farther than most do: one wild speedup would flatten all others.
    pub(crate) fn strip_axis(&self) -> Axis {
        /// Times as far as three quarters of the rows go.
        const FARTHER: f64 = 3.0;
        /// What there is at least: a difference of some percent.
        const LEAST: f64 = 0.03;
        let places = |row: &IntervalRow| {
            let ends = row.interval.into_iter().flat_map(|(lower, upper)| [lower, upper]);
            let places = row.value.into_iter().chain(ends).map(f64::ln);
            places.filter(|place| place.is_finite()).collect::<Vec<_>>()
        };
        let farthest = |row: &IntervalRow| places(row).into_iter().map(f64::abs).fold(0.0, f64::max);
        let mut reaches: Vec<f64> =
            self.rows.iter().filter(|row| row.value.is_some()).map(farthest).collect();
        reaches.sort_by(f64::total_cmp);
        let most = reaches.get((reaches.len() * 3 / 4).min(reaches.len().saturating_sub(1)));
        let limit = most.map_or(LEAST, |reach| (reach * FARTHER).max(LEAST));
        let all = self.rows.iter().flat_map(places).map(|place| place.clamp(-limit, limit));
        let around_one = [-LEAST, LEAST];
        Axis::over(Spacing::Logarithmic, all.chain(around_one).map(f64::exp), 0.02)
    }

    /// The places of the rows, the largest speedup first and what has none last.
    pub(crate) fn by_effect(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        let speedup = |at: &usize| self.rows[*at].value.unwrap_or(f64::NEG_INFINITY);
        order.sort_by(|a, b| speedup(b).total_cmp(&speedup(a)));
        order
    }
}

/// An estimate with its interval, in a row of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct IntervalRow {
    pub name: String,
    /// The estimate; `None` without data.
    pub value: Option<f64>,
    pub interval: Option<(f64, f64)>,
    /// What the verdict is.
    pub mark: Mark,
    /// The estimate and its interval in words.
    pub label: String,
}

/// How a speedup is marked: by shape, which a colour repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Faster: a full circle.
    Faster,
    /// Slower: a full square.
    Slower,
    /// Neither: an empty circle.
    Neither,
}

impl Forest {
    /// The candidate `at` this place on these benchmarks; `None` where none of them has a speedup.
    pub(crate) fn from_report(report: &Report, at: usize, benchmarks: &[&BenchmarkReport]) -> Option<Self> {
        let rows: Vec<IntervalRow> =
            benchmarks.iter().map(|benchmark| IntervalRow::new(benchmark, at)).collect();
        if rows.iter().all(|row| row.value.is_none()) {
            return None;
        }
        let candidate = &report.suites[at].candidate;
        Some(Self {
            title: one_line(&format!("Speedup of {candidate} over {}", report.head.baseline)),
            description: description(&rows, report.head.confidence),
            rows,
        })
    }
}

impl IntervalRow {
    fn new(benchmark: &BenchmarkReport, at: usize) -> Self {
        let comparison = &benchmark.comparisons[at];
        let speedup = speedup(benchmark, at);
        let interval = comparison.headline().and_then(|headline| headline.interval.ends());
        let label = match speedup {
            Some(speedup) => ratio(speedup, interval),
            None => comparison.verdict.words().to_owned(),
        };
        Self {
            name: one_line(&benchmark.name),
            value: speedup,
            interval,
            mark: comparison.verdict.into(),
            label,
        }
    }
}

impl From<Verdict> for Mark {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Faster => Self::Faster,
            Verdict::Slower => Self::Slower,
            Verdict::Same | Verdict::Undecided | Verdict::NotEnoughData => Self::Neither,
        }
    }
}

/// The speedup of a benchmark, or what its medians say where no method gives one.
fn speedup(benchmark: &BenchmarkReport, at: usize) -> Option<f64> {
    let comparison = &benchmark.comparisons[at];
    let headline = comparison.headline().map(|headline| headline.speedup);
    headline.or(comparison.observed.map(|observed| observed.median)).filter(|speedup| *speedup > 0.0)
}

/// The benchmarks by the speedup of the candidate `at` this place, the largest first and what has none last.
pub(crate) fn by_effect(report: &Report, at: usize) -> Vec<&BenchmarkReport> {
    let mut benchmarks: Vec<&BenchmarkReport> = report.benchmarks.iter().collect();
    let place = |benchmark: &BenchmarkReport| speedup(benchmark, at).unwrap_or(f64::NEG_INFINITY);
    benchmarks.sort_by(|a, b| place(b).total_cmp(&place(a)));
    benchmarks
}

fn description(rows: &[IntervalRow], confidence: f64) -> String {
    /// Speedups that are told one by one.
    const MOST_TOLD: usize = 12;
    let told: Vec<String> =
        rows.iter().take(MOST_TOLD).map(|row| format!("{}: {}", row.name, row.label)).collect();
    let more = match rows.len().saturating_sub(MOST_TOLD) {
        0 => String::new(),
        more => format!("; {} more stand in the table", counted(more as u64, "benchmark")),
    };
    format!(
        "The speedup of each benchmark with its interval at confidence level {}; above 1 is faster. {}{more}.",
        percent(confidence),
        told.join("; ")
    )
}
