//! How often the headline finds a true speedup, and how wide its interval is.

use super::{Power, PowerSection};
use crate::headline::{Answers, HEADLINES, log_intervals};
use crate::{LawShape, replication::Tally, row::Cell, row::StudyRow, row::Unanswered};
use speedup_statistics::sample::Sample;

const WIDTHS: [&str; HEADLINES.len()] =
    ["trimmed_ratio_width", "median_ratio_width", "mean_ratio_width", "welch_on_logarithms_width"];
const MEAN: f64 = 100.0;

impl Power {
    /// A candidate of the baseline's law that is faster by the parameter.
    pub(super) fn headline_rows(&self) -> Vec<StudyRow> {
        let mut rows = Vec::new();
        for shape in &self.distributions {
            for runs in &self.runs {
                for speedup in &self.speedups {
                    rows.extend(self.rows_for_headline(*shape, *runs, *speedup));
                }
            }
        }
        rows
    }

    fn rows_for_headline(&self, shape: LawShape, runs: u64, speedup: f64) -> Vec<StudyRow> {
        let section = PowerSection::Headlines.code();
        let cell = Cell { section, distribution: Some(shape), size: runs };
        let level = self.replication.confidence;
        let sd = MEAN * self.variation;
        let found: Vec<Answers<[f64; 2]>> = self.replication.each(&cell.stream(), |draws| {
            let slow = draws.times(shape, runs, speedup * MEAN, speedup * sd);
            let fast = draws.times(shape, runs, MEAN, sd);
            let intervals = slow.zip(fast).map(|(slow, fast)| log_intervals(&slow, &fast, level));
            intervals.unwrap_or([None; HEADLINES.len()])
        });
        let mut rows = Vec::new();
        for (place, name) in HEADLINES.iter().enumerate() {
            let of_method = || found.iter().map(|intervals| intervals[place]);
            let tally = Tally::new(of_method().map(|interval| interval.map(|[lower, _]| lower > 0.0)));
            rows.push(cell.row(name, tally, Unanswered::No, [Some(speedup), None]));
            let widths = of_method().flatten().map(|[lower, upper]| upper - lower).collect();
            let width = Sample::new(widths).map_or(f64::NAN, |widths| widths.median());
            rows.push(cell.exact(WIDTHS[place], width, Some(speedup)));
        }
        rows
    }
}
