//! The conclusions of a track.

use super::Conclusion;
use crate::conclusion::Verdict;
use crate::track::{TrackBenchmark, TrackReport, TrackStepReport};

impl Conclusion {
    /// Those of a track: each step to a worse level that nobody acknowledged; of a benchmark without one, that there is none, unless it has too few
    /// points for any. The track keeps the number of false alarms of all benchmarks, so nothing is adjusted.
    pub fn of_track(report: &TrackReport) -> Vec<Self> {
        let of_benchmark = |benchmark: &TrackBenchmark| {
            let mut steps =
                report.regressions().filter(|step| step.benchmark == benchmark.benchmark).peekable();
            match steps.peek() {
                Some(_) => steps.map(|step| of_step(report, step)).collect(),
                None => vec![without_step(report, benchmark)],
            }
        };
        report.benchmarks.iter().flat_map(of_benchmark).collect()
    }
}

fn of_step(report: &TrackReport, step: &TrackStepReport) -> Conclusion {
    // A speedup is the old level over the new one; where more is better, the other way round.
    let is_rate = step.size.ratio < 1.0;
    let speedup = |ratio: f64| if is_rate { ratio } else { ratio.recip() };
    let [one, other] = step.size.interval.map(speedup);
    let candidate = format!("{}, {}", report.terms.branch, report.set(step));
    let ends = Some((one.min(other), one.max(other)));
    Conclusion::new(&candidate, Some(&step.benchmark), Verdict::Slower, Some(speedup(step.size.ratio)), ends)
}

fn without_step(report: &TrackReport, benchmark: &TrackBenchmark) -> Conclusion {
    let verdict = if benchmark.ratios_lacking > 0 { Verdict::NotEnoughData } else { Verdict::Same };
    Conclusion::new(&report.terms.branch, Some(&benchmark.benchmark), verdict, None, None)
}
