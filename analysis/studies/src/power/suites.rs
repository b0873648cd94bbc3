//! Power over suites: the hierarchical performance test beside a paired t test of the benchmarks' mean scores and the
//! interval of the difference of the machines' means (Chen 2012 §5.2).

use super::{Power, PowerSection};
use crate::false_alarms::{SUITE_METHODS, confidences};
use crate::{
    law::draws::Draws, law::suite_model::Scores, row::Cell, row::StudyRow, row::Unanswered, table_1,
};
use speedup_statistics::sample::Sample;

const AVERAGES: [&str; 3] = [
    "hierarchical_performance_test_average_confidence",
    "paired_t_of_means_average_confidence",
    "interval_of_means_average_confidence",
];

impl Power {
    pub(super) fn suite_rows(&self) -> Vec<StudyRow> {
        let cells =
            self.distributions.iter().flat_map(|shape| self.suite_runs.iter().map(|runs| (*shape, *runs)));
        let rows = cells.flat_map(|(shape, runs)| {
            let cell = Cell { section: PowerSection::Suites.code(), distribution: Some(shape), size: runs };
            let count = SUITE_METHODS.len() * self.speedups.len();
            let tallies = self.replication.tally(&cell.stream(), count, |draws| {
                // The same scores for every speedup, so that the powers of neighbours can be compared.
                let scores = self.suite.draw(shape, runs, self.variation, draws);
                self.found(scores.as_ref(), self.speedups.iter().map(|speedup| 1.0 / speedup))
            });
            let cells =
                self.speedups.iter().flat_map(|speedup| SUITE_METHODS.map(|method| (*speedup, method)));
            cells.zip(tallies).map(move |((speedup, method), tally)| {
                cell.row(method, tally, Unanswered::No, [Some(speedup), None])
            })
        });
        rows.collect()
    }

    /// For each speedup under test whether each method is as sure as the level.
    fn found(&self, scores: Option<&Scores>, under_test: impl Iterator<Item = f64>) -> Vec<Option<bool>> {
        let level = self.replication.confidence.get();
        let of = |speedup: f64| scores?.divided(speedup).map(|scores| confidences(&scores));
        under_test
            .flat_map(|speedup| of(speedup).unwrap_or([None; 3]).map(|c| c.map(|c| c >= level)))
            .collect()
    }

    pub(super) fn table_1_rows(&self) -> Vec<StudyRow> {
        let Ok(suite) = table_1::suite() else { return Vec::new() };
        let (candidate, baseline) =
            suite.benchmarks().iter().map(|b| (b.candidate.clone(), b.baseline.clone())).unzip();
        let printed = Scores { candidate, baseline };
        let size = table_1::RUNS as u64;
        let cell = Cell { section: PowerSection::Table1.code(), distribution: None, size };
        let confidences: Vec<Vec<[Option<f64>; 3]>> = self.replication.each(&cell.stream(), |draws| {
            let scores = redrawn(&printed, draws);
            let of = |claim: &f64| Some(confidences(&scores.as_ref()?.divided(*claim)?));
            self.claims.iter().map(|claim| of(claim).unwrap_or([None; 3])).collect()
        });
        let mut rows = Vec::new();
        for (position, claim) in self.claims.iter().enumerate() {
            for (method, (share, average)) in SUITE_METHODS.into_iter().zip(AVERAGES).enumerate() {
                let answers: Vec<f64> =
                    confidences.iter().filter_map(|replicate| replicate[position][method]).collect();
                let level = self.replication.confidence.get();
                let found: Vec<f64> = answers.iter().map(|c| if *c >= level { 1.0 } else { 0.0 }).collect();
                rows.push(cell.average(share, &found, Some(*claim)));
                rows.push(cell.average(average, &answers, Some(*claim)));
            }
        }
        rows
    }
}

/// As many runs of each benchmark, drawn from its own with replacement.
fn redrawn(printed: &Scores, draws: &mut Draws) -> Option<Scores> {
    let mut redraw = |samples: &[Sample]| -> Option<Vec<Sample>> {
        let of = |sample: &Sample, draws: &mut Draws| {
            let runs = sample.in_run_order();
            Sample::new((0..runs.len()).map(|_| runs[draws.position(runs.len())]).collect()).ok()
        };
        samples.iter().map(|sample| of(sample, draws)).collect()
    };
    Some(Scores { candidate: redraw(&printed.candidate)?, baseline: redraw(&printed.baseline)? })
}
