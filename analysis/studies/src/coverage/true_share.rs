//! Coverage of the share of benchmarks that are truly faster, whatever the power of their tests.

use super::{Coverage, CoverageSection};
use crate::{LawShape, law::draws::Draws, row::Cell, row::StudyRow, row::Unanswered};
use speedup_statistics::test::{Proportion, ProportionMethod, Selection, ShareCurve, SpeedupLimits};
use speedup_statistics::{inference::Interval, inference::Risk, ratio::QuantileRatio};

/// By how much the faster benchmarks are faster, and the names of the methods there.
const GAINS: [(f64, [&str; 3]); 2] = [
    (1.02, ["true_share_by_2_percent", "band_by_2_percent", "published_by_2_percent"]),
    (1.05, ["true_share_by_5_percent", "band_by_5_percent", "published_by_5_percent"]),
];
/// Runs of each version of a benchmark.
const RUNS: u64 = 31;
const MEDIAN: f64 = 100.0;

impl Coverage {
    /// Suites of benchmarks drawn at random, of which a share is truly faster, the others equal.
    pub(super) fn true_share_rows(&self) -> Vec<StudyRow> {
        let cells =
            self.benchmarks.iter().flat_map(|size| self.proportions.iter().map(|share| (*size, *share)));
        let rows = cells.flat_map(|(size, share)| {
            let cell = Cell { section: CoverageSection::TrueShare.code(), distribution: None, size };
            GAINS.into_iter().flat_map(move |(gain, methods)| {
                let stream = format!("{} {share} {gain}", cell.stream());
                let tallies = self.replication.tally(&stream, methods.len(), |draws| {
                    self.covers_share(size, share, gain, draws).map_or_else(|| vec![None; 3], Vec::from)
                });
                let promised = self.replication.promised_coverage();
                let rows = methods.into_iter().zip(tallies);
                rows.map(move |(method, tally)| {
                    cell.row(method, tally, Unanswered::LeftOut, [Some(share), promised])
                })
            })
        });
        rows.collect()
    }

    /// Whether the interval at 1, the band at all speedups and the published interval contain the share.
    fn covers_share(&self, size: u64, share: f64, gain: f64, draws: &mut Draws) -> Option<[Option<bool>; 3]> {
        let level = self.replication.confidence;
        let limits = (0..size).map(|_| {
            let speedup = if draws.uniform() <= share { gain } else { 1.0 };
            self.limits(speedup, draws)
        });
        let limits = limits.collect::<Option<Vec<SpeedupLimits>>>()?;
        let curve = ShareCurve::new(&limits, Risk::new(level.risk().get() / 2.0).ok()?).ok()?;
        let contains = |interval: &Interval, truth: f64| interval.lower <= truth && truth <= interval.upper;
        // The true curve: all below 1, the share up to the gain, and none beyond.
        let truth = |x: f64| {
            if x < 1.0 {
                1.0
            } else if x < gain {
                share
            } else {
                0.0
            }
        };
        let thresholds = curve.steps().into_iter().flat_map(|step| [step.next_down(), step]);
        let thresholds = thresholds.chain([1.0_f64.next_down(), 1.0, gain.next_down(), gain]);
        let band = thresholds.into_iter().all(|x| contains(&curve.simultaneous(x, level), truth(x)));
        let proportion = Proportion::new(curve.shown_above(1.0), size, Selection::Drawn).ok()?;
        let published = proportion.interval(ProportionMethod::WilsonCorrected, level);
        Some([
            Some(contains(&curve.pointwise(1.0, level), share)),
            Some(band),
            Some(contains(&published, share)),
        ])
    }

    fn limits(&self, speedup: f64, draws: &mut Draws) -> Option<SpeedupLimits> {
        let sd = MEDIAN * self.variation;
        let baseline = draws.times(LawShape::Normal, RUNS, MEDIAN * speedup, sd * speedup)?;
        let candidate = draws.times(LawShape::Normal, RUNS, MEDIAN, sd)?;
        let ratio = QuantileRatio::median(&baseline, &candidate).ok()?;
        let interval = ratio.interval(self.replication.confidence);
        interval.bounded().map(|interval| SpeedupLimits { lower: interval.lower, upper: interval.upper })
    }
}
