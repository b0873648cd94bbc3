//! How many runs make the mean, or the median, of a sample look normal (Touati 2010 App. C).
//!
//! From N samples of n runs, N the greatest of at most 500 with n·N ≤ 1000, Shapiro–Wilk tests the N means, and the N
//! medians, for normality. The paper draws the samples from runs of real programs; here they come from a law.

use super::{Power, PowerSection};
use crate::{LawShape, law::draws::Draws, row::Cell, row::StudyRow, row::Unanswered};
use speedup_statistics::{sample::Sample, test::ShapiroWilk};

const METHODS: [&str; 2] = ["sample_mean_not_normal", "sample_median_not_normal"];
/// The paper's limit on all runs of an application.
const RUNS_IN_ALL: u64 = 1000;
/// The paper's bounds on the number of samples.
const FEWEST_SAMPLES: u64 = 10;
const MOST_SAMPLES: u64 = 500;
const MEAN: f64 = 100.0;

impl Power {
    pub(super) fn normal_mean_rows(&self) -> Vec<StudyRow> {
        let cells =
            self.distributions.iter().flat_map(|shape| self.mean_runs.iter().map(|runs| (*shape, *runs)));
        let rows = cells.flat_map(|(shape, runs)| {
            let section = PowerSection::NormalMeans.code();
            let cell = Cell { section, distribution: Some(shape), size: runs };
            let tallies = self
                .replication
                .tally(&cell.stream(), METHODS.len(), |draws| self.rejections(shape, runs, draws).to_vec());
            let risk = self.replication.promised_risk();
            let methods = METHODS.iter().zip(tallies);
            methods.map(move |(method, tally)| {
                // The means of normal samples are normal, and of medians that is said of no finite sample.
                let exact = shape == LawShape::Normal && *method == METHODS[0];
                cell.row(method, tally, Unanswered::No, [None, risk.filter(|_| exact)])
            })
        });
        rows.collect()
    }

    fn rejections(&self, shape: LawShape, runs: u64, draws: &mut Draws) -> [Option<bool>; 2] {
        let samples = (RUNS_IN_ALL / runs).clamp(FEWEST_SAMPLES, MOST_SAMPLES);
        let mut means = Vec::new();
        let mut medians = Vec::new();
        for _ in 0..samples {
            if let Some(sample) = draws.times(shape, runs, MEAN, MEAN * self.variation) {
                means.push(sample.mean());
                medians.push(sample.median());
            }
        }
        let rejects = |values: Vec<f64>| {
            let test = ShapiroWilk::new(&Sample::new(values).ok()?).ok()?;
            Some(test.p_value().rejects_at(self.replication.confidence.risk()))
        };
        [rejects(means), rejects(medians)]
    }
}
