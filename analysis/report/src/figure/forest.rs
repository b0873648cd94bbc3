//! The speedups of the benchmarks, one under the other.

use speedup_analysis::count::{counted, percent, ratio};
use speedup_analysis::study::{Report, Verdict};

use super::axis::{Axis, Spacing};
use crate::document::clean;

/// Speedups with their intervals.
#[derive(Clone, Debug, PartialEq)]
pub struct Forest {
    /// What is compared.
    pub title: String,
    /// The benchmarks, in plan order.
    pub rows: Vec<ForestRow>,
    /// The same in words.
    pub description: String,
}

impl Forest {
    /// Around all estimates and 1, and the intervals as far as they are not `widest` times beyond the estimates; `margin` is a share
    /// of the range.
    pub(crate) fn axis(&self, widest: f64, margin: f64) -> Axis {
        let estimates = || self.rows.iter().filter_map(|row| row.speedup).chain([1.0]);
        let (least, most) =
            estimates().fold((f64::INFINITY, 0.0_f64), |(least, most), at| (least.min(at), most.max(at)));
        let ends = self.rows.iter().filter_map(|row| row.interval).flat_map(|(lower, upper)| [lower, upper]);
        let ends = ends.map(|end| end.clamp(least / widest, most * widest));
        Axis::over(Spacing::Logarithmic, estimates().chain(ends), margin)
    }
}

/// A benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct ForestRow {
    /// Its name.
    pub name: String,
    /// The speedup; `None` without data.
    pub speedup: Option<f64>,
    /// Its interval.
    pub interval: Option<(f64, f64)>,
    /// What the verdict is.
    pub mark: Mark,
    /// The speedup and its interval in words.
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
    /// The candidate `at` this place; `None` where no benchmark has a speedup.
    pub(crate) fn of(report: &Report, at: usize) -> Option<Self> {
        let (baseline, candidate) = (&report.head.baseline, &report.suites[at].candidate);
        let rows: Vec<ForestRow> = report
            .benchmarks
            .iter()
            .map(|benchmark| {
                let comparison = &benchmark.comparisons[at];
                let headline = comparison.headline();
                let headline = headline.as_ref();
                let observed = comparison.observed.map(|observed| observed.median);
                let speedup = headline.map(|headline| headline.speedup).or(observed).filter(|s| *s > 0.0);
                let interval = headline.and_then(|headline| headline.interval.ends());
                let label = match speedup {
                    Some(speedup) => ratio(speedup, interval),
                    None => comparison.verdict.words().to_owned(),
                };
                ForestRow {
                    name: clean(&benchmark.name),
                    speedup,
                    interval,
                    mark: comparison.verdict.into(),
                    label,
                }
            })
            .collect();
        let known = rows.iter().filter(|row| row.speedup.is_some()).count();
        (known > 0).then(|| Self {
            title: clean(&format!("Speedup of {candidate} over {baseline}")),
            description: description(&rows, report.head.confidence),
            rows,
        })
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

fn description(rows: &[ForestRow], confidence: f64) -> String {
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
