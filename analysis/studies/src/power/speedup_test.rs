//! Power of the Speedup-Test on one benchmark, beside the tests that it rests on.

use super::{Power, PowerSection};
use crate::{
    LawShape, false_alarms::concludes, law::draws::Draws, row::Cell, row::StudyRow, row::Unanswered,
};
use speedup_statistics::inference::{Alternative, PValue};
use speedup_statistics::planning::power::{Group, Rejections, WelchPower};
use speedup_statistics::protocol::speedup_test::{Question, SpeedupTest};
use speedup_statistics::{sample::Sample, test::RankSum, test::WelchTTest};

const METHODS: [&str; 4] =
    ["speedup_test_mean", "speedup_test_median", "welch_one_sided", "rank_sum_one_sided"];
const MEAN: f64 = 100.0;

impl Power {
    pub(super) fn speedup_test_rows(&self) -> Vec<StudyRow> {
        let cells = self.distributions.iter().flat_map(|shape| self.runs.iter().map(|runs| (*shape, *runs)));
        cells.flat_map(|(shape, runs)| self.rows_for_runs(shape, runs)).collect()
    }

    fn rows_for_runs(&self, shape: LawShape, runs: u64) -> Vec<StudyRow> {
        let section = PowerSection::SpeedupTest.code();
        let cell = Cell { section, distribution: Some(shape), size: runs };
        let count = METHODS.len() * self.speedups.len();
        let tallies = self.replication.tally(&cell.stream(), count, |draws| {
            let versions = self.two_samples(shape, runs, draws);
            let of = |speedup: &f64| {
                let (slow, fast) = versions.as_ref()?;
                self.answers(&scaled(slow, *speedup)?, fast)
            };
            self.speedups.iter().flat_map(|speedup| of(speedup).unwrap_or([None; 4])).collect()
        });
        let cells = self.speedups.iter().flat_map(|speedup| METHODS.map(|method| (*speedup, method)));
        let rows = cells.zip(tallies).map(|((speedup, method), tally)| {
            let by_formula = shape == LawShape::Normal && method == "welch_one_sided";
            let expected = if by_formula { self.welch_power(runs, speedup) } else { None };
            cell.row(method, tally, Unanswered::No, [Some(speedup), expected])
        });
        rows.collect()
    }

    fn two_samples(&self, shape: LawShape, runs: u64, draws: &mut Draws) -> Option<(Sample, Sample)> {
        let sd = MEAN * self.variation;
        Some((draws.times(shape, runs, MEAN, sd)?, draws.times(shape, runs, MEAN, sd)?))
    }

    fn answers(&self, baseline: &Sample, candidate: &Sample) -> Option<[Option<bool>; 4]> {
        let level = self.replication.confidence;
        let test = SpeedupTest::new(baseline, candidate).ok()?;
        let faster = Question::CandidateFaster;
        let conclusions = [test.mean.at(faster, level), test.median.at(faster, level)];
        let [mean, median] =
            conclusions.map(|conclusion| concludes(&conclusion).then(|| conclusion.is_significant()));
        let rejects = |p: PValue| p.rejects_at(level.risk());
        let welch = WelchTTest::new(baseline, candidate).ok();
        let welch = welch.map(|test| rejects(test.p_value(Alternative::Greater)));
        let rank_sum = rejects(RankSum::choose(baseline, candidate).p_value(Alternative::Greater));
        Some([mean, median, welch, Some(rank_sum)])
    }

    fn welch_power(&self, runs: u64, speedup: f64) -> Option<f64> {
        let alternative = Alternative::Greater;
        let rejections = Rejections::OnTheTrueSide;
        let test = WelchPower { alternative, rejections, risk: self.replication.confidence.risk() };
        let runs = runs as f64;
        let sd = MEAN * self.variation;
        let [slow, fast] = [speedup * sd, sd].map(|sd| Group { runs, sd });
        test.power(slow, fast, (speedup - 1.0) * MEAN).ok()
    }
}

fn scaled(sample: &Sample, factor: f64) -> Option<Sample> {
    Sample::new(sample.in_run_order().iter().map(|time| factor * time).collect()).ok()
}
