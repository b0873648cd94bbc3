//! Coverage of the intervals from two samples.

use super::{Coverage, CoverageSection, by_levels::covers, suites::MEMBERS};
use crate::{LawShape, law::draws::Draws, row::Cell, row::StudyRow, row::Unanswered};
use speedup_statistics::inference::{Alternative, Interval, RatioInterval};
use speedup_statistics::ratio::{MeanRatio, MedianRatio, TrimShare};
use speedup_statistics::test::{OneSampleTTest, PseudoMedian, WelchTTest, paired_differences};
use speedup_statistics::{distribution::student_t, planning::two_stage::TwoStage, sample::Sample};

const METHODS: [&str; 8] = [
    "mean_t",
    "difference_welch",
    "mean_ratio_fieller",
    "median_ratio",
    "pseudo_median",
    "suite_ratio",
    "stein_mean",
    "stein_difference",
];

/// The mean of the candidate's runs.
const MEAN: f64 = 100.0;
/// The true speedup: the baseline's law is the candidate's, that much longer.
const SPEEDUP: f64 = 1.25;
/// The true difference of the pairs, as a share of the mean.
const SHIFT: f64 = 0.25;
/// Stein's second stage doubles the pilot on average.
const STEIN_FACTOR: f64 = 2.0;

impl Coverage {
    pub(super) fn sample_rows(&self) -> Vec<StudyRow> {
        let cells = self.distributions.iter().flat_map(|shape| self.runs.iter().map(|runs| (*shape, *runs)));
        cells.flat_map(|(shape, runs)| self.rows_for_runs(shape, runs)).collect()
    }

    fn rows_for_runs(&self, shape: LawShape, runs: u64) -> Vec<StudyRow> {
        let cell = Cell { section: CoverageSection::Samples.code(), distribution: Some(shape), size: runs };
        let tallies = self.replication.tally(&cell.stream(), METHODS.len(), |draws| {
            let mut answers = self.two_sample_coverage(shape, runs, draws).unwrap_or([None; 4]).to_vec();
            answers.push(self.pair_coverage(shape, runs, draws));
            answers.push(self.covers_total(shape, [runs, runs], MEMBERS.len() as u64, draws));
            answers.push(self.stein_mean_coverage(shape, runs, draws));
            answers.push(self.stein_difference_coverage(shape, runs, draws));
            answers
        });
        let promised = self.replication.promised_coverage();
        let rows = METHODS.iter().zip(tallies);
        rows.map(|(method, tally)| cell.row(method, tally, Unanswered::LeftOut, [None, promised])).collect()
    }

    fn times(&self, shape: LawShape, runs: u64, mean: f64, draws: &mut Draws) -> Option<Sample> {
        draws.times(shape, runs, mean, mean * self.variation)
    }

    fn two_sample_coverage(
        &self,
        shape: LawShape,
        runs: u64,
        draws: &mut Draws,
    ) -> Option<[Option<bool>; 4]> {
        let level = self.replication.confidence;
        let baseline = self.times(shape, runs, SPEEDUP * MEAN, draws)?;
        let candidate = self.times(shape, runs, MEAN, draws)?;
        let two_sided = |interval: Interval, truth: f64| covers(&interval, truth);
        let mean = OneSampleTTest::new(&candidate, 0.0).ok();
        let difference = WelchTTest::new(&baseline, &candidate).ok();
        let mean_ratio = MeanRatio::new(&baseline, &candidate).ok();
        let median_ratio = MedianRatio::new(&baseline, &candidate).ok();
        Some([
            mean.map(|test| two_sided(test.interval(Alternative::TwoSided, level), MEAN)),
            difference
                .map(|test| two_sided(test.interval(Alternative::TwoSided, level), (SPEEDUP - 1.0) * MEAN)),
            mean_ratio.and_then(|ratio| ratio_covers(&ratio.interval(level), SPEEDUP)),
            median_ratio.and_then(|ratio| ratio_covers(&ratio.interval(level), SPEEDUP)),
        ])
    }

    /// Pairs whose sides differ by a shift, so that their differences are symmetric about it.
    fn pair_coverage(&self, shape: LawShape, runs: u64, draws: &mut Draws) -> Option<bool> {
        let sd = MEAN * self.variation;
        let baseline = draws.times(shape, runs, (1.0 + SHIFT) * MEAN, sd)?;
        let candidate = draws.times(shape, runs, MEAN, sd)?;
        let differences = paired_differences(&baseline, &candidate).ok()?;
        let interval = PseudoMedian::new(&differences).interval(self.replication.confidence).ok()?;
        Some(covers(&interval, SHIFT * MEAN))
    }

    /// The half-width for which Stein's rule asks for [`STEIN_FACTOR`] times the pilot's runs if its spread is the true one.
    fn stein_half_width(&self, df: f64, samples: f64, runs: u64) -> f64 {
        let critical = student_t::two_sided_critical(self.replication.confidence.risk().get(), df);
        critical * MEAN * self.variation * (samples / (STEIN_FACTOR * runs as f64)).sqrt()
    }

    fn stein_mean_coverage(&self, shape: LawShape, runs: u64, draws: &mut Draws) -> Option<bool> {
        let pilot = self.times(shape, runs, MEAN, draws)?;
        let half_width = self.stein_half_width(runs as f64 - 1.0, 1.0, runs);
        let plan = TwoStage::new(&[&pilot], TrimShare::NONE, half_width, self.replication.confidence).ok()?;
        let all = self.continued(&pilot, shape, plan.further_runs(), MEAN, draws)?;
        Some(covers(&plan.interval(&[&all]), MEAN))
    }

    fn stein_difference_coverage(&self, shape: LawShape, runs: u64, draws: &mut Draws) -> Option<bool> {
        let means = [(1.0 + SHIFT) * MEAN, MEAN];
        let sd = MEAN * self.variation;
        let baseline = draws.times(shape, runs, means[0], sd)?;
        let candidate = draws.times(shape, runs, means[1], sd)?;
        let half_width = self.stein_half_width(2.0 * (runs as f64 - 1.0), 2.0, runs);
        let level = self.replication.confidence;
        let plan = TwoStage::new(&[&baseline, &candidate], TrimShare::NONE, half_width, level).ok()?;
        let baseline = self.continued(&baseline, shape, plan.further_runs(), means[0], draws)?;
        let candidate = self.continued(&candidate, shape, plan.further_runs(), means[1], draws)?;
        Some(covers(&plan.interval(&[&baseline, &candidate]), SHIFT * MEAN))
    }

    /// The pilot with its second stage; its standard deviation is that of a mean of [`MEAN`].
    fn continued(
        &self,
        pilot: &Sample,
        shape: LawShape,
        further: u64,
        mean: f64,
        draws: &mut Draws,
    ) -> Option<Sample> {
        let mut runs = pilot.in_run_order().to_vec();
        let sd = MEAN * self.variation;
        if let Some(second) = draws.times(shape, further, mean, sd) {
            runs.extend_from_slice(second.in_run_order());
        }
        Sample::new(runs).ok()
    }
}

fn ratio_covers(interval: &RatioInterval, truth: f64) -> Option<bool> {
    interval.bounded().map(|interval| covers(interval, truth))
}
