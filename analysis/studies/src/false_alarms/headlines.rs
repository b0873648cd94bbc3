//! False alarms of headlines: the two-sided interval of the ratio of the declared centres.

use super::{AlarmSection, FalseAlarmStudy};
use crate::{LawShape, law::draws::Draws, row::Cell, row::StudyRow, row::Unanswered};
use clap::ValueEnum;
use speedup_statistics::inference::{Alternative, ConfidenceLevel};
use speedup_statistics::ratio::{MeanRatio, QuantileRatio, Speedup};
use speedup_statistics::{sample::Sample, test::Equivalence};

const OF_CENTERS: [&str; 2] = ["median_ratio", "mean_ratio"];
const SAME: [&str; 3] = ["same_by_median", "same_by_mean", "same_by_welch_on_logarithms"];
/// The centre that both versions have.
const CENTER: f64 = 100.0;

impl FalseAlarmStudy {
    /// Two samples of one law.
    pub(super) fn of_headlines(&self) -> Vec<StudyRow> {
        let level = self.replication.confidence;
        let row = |(shape, runs): (LawShape, u64)| {
            let cell =
                Cell { section: AlarmSection::Headlines.code(), distribution: Some(shape), size: runs };
            let tallies = self.replication.tally(&cell.stream(), OF_CENTERS.len(), |draws| {
                let samples = self.times(shape, runs, draws).zip(self.times(shape, runs, draws));
                samples.map_or_else(|| vec![None; 2], |(x, y)| calls(&x, &y, level).to_vec())
            });
            let promised = self.replication.promised_risk();
            let rows = OF_CENTERS.iter().zip(tallies);
            rows.map(move |(method, tally)| cell.row(method, tally, Unanswered::No, [None, promised]))
                .collect::<Vec<_>>()
        };
        self.cells().flat_map(row).collect()
    }

    /// Two samples of unlike laws: of equal median, where both are known, for the ratio of medians; of equal mean for that of
    /// means.
    pub(super) fn of_unlike_shapes(&self) -> Vec<StudyRow> {
        let level = self.replication.confidence;
        let row = |((shape, runs), other): ((LawShape, u64), LawShape)| {
            let cell =
                Cell { section: AlarmSection::UnlikeShapes.code(), distribution: Some(shape), size: runs };
            let stream = format!("{} against {}", cell.stream(), other.code());
            let tallies = self.replication.tally(&stream, OF_CENTERS.len(), |draws| {
                let of = |shape: LawShape, draws: &mut Draws| {
                    let sample = self.times(shape, runs, draws)?;
                    let of_median = shape.median().and_then(|median| {
                        let moved =
                            sample.in_run_order().iter().map(|time| time - median * CENTER * self.variation);
                        Sample::new(moved.collect()).ok()
                    });
                    Some((of_median, sample))
                };
                let samples = of(shape, draws).zip(of(other, draws));
                samples.map_or_else(
                    || vec![None; 2],
                    |((of_median, of_mean), (other_median, other_mean))| {
                        let medians = of_median.zip(other_median);
                        let by_median = medians.and_then(|(x, y)| calls(&x, &y, level)[0]);
                        vec![by_median, calls(&of_mean, &other_mean, level)[1]]
                    },
                )
            });
            let promised = self.replication.promised_risk();
            let rows = other.against().into_iter().zip(tallies);
            rows.map(move |(method, tally)| cell.row(method, tally, Unanswered::No, [None, promised]))
                .collect::<Vec<_>>()
        };
        let pairs = self.cells().flat_map(|cell| {
            LawShape::value_variants()
                .iter()
                .copied()
                .filter(move |other| *other > cell.0)
                .map(move |other| (cell, other))
        });
        pairs.flat_map(row).collect()
    }

    /// Versions that differ by the margin exactly, and are called the same within it.
    pub(super) fn of_the_same(&self) -> Vec<StudyRow> {
        let margins = self.thresholds.iter().map(|threshold| threshold.get()).filter(|margin| *margin > 0.0);
        let row = |((shape, runs), margin): ((LawShape, u64), f64)| {
            let cell = Cell { section: AlarmSection::Same.code(), distribution: Some(shape), size: runs };
            let stream = format!("{} within {margin}", cell.stream());
            let tallies = self.replication.tally(&stream, SAME.len(), |draws| {
                let longer = |sample: Sample| {
                    let times = sample.in_run_order().iter().map(|time| time * (1.0 + margin));
                    Sample::new(times.collect()).ok()
                };
                let samples =
                    self.times(shape, runs, draws).and_then(longer).zip(self.times(shape, runs, draws));
                samples.map_or_else(|| vec![None; SAME.len()], |(x, y)| self.same(&x, &y, margin))
            });
            let promised = self.replication.promised_risk();
            let rows = SAME.iter().zip(tallies);
            rows.map(move |(method, tally)| cell.row(method, tally, Unanswered::No, [Some(margin), promised]))
                .collect::<Vec<_>>()
        };
        self.cells()
            .flat_map(|cell| margins.clone().map(move |margin| (cell, margin)))
            .flat_map(row)
            .collect()
    }

    fn same(&self, x: &Sample, y: &Sample, margin: f64) -> Vec<Option<bool>> {
        let risk = self.replication.confidence.risk();
        let of = |ratio: &dyn Speedup| {
            let is_above = ratio.p_value(1.0 / (1.0 + margin), Alternative::Greater).rejects_at(risk);
            is_above && ratio.p_value(1.0 + margin, Alternative::Less).rejects_at(risk)
        };
        let welch = Equivalence::new(x, y).and_then(|test| test.p_value(margin)).ok();
        vec![
            QuantileRatio::median(x, y).ok().map(|ratio| of(&ratio)),
            MeanRatio::new(x, y).ok().map(|ratio| of(&ratio)),
            welch.map(|p_value| p_value.rejects_at(risk)),
        ]
    }

    pub(super) fn cells(&self) -> impl Iterator<Item = (LawShape, u64)> + Clone {
        self.distributions.iter().flat_map(|shape| self.runs.iter().map(|runs| (*shape, *runs)))
    }

    pub(super) fn times(&self, shape: LawShape, runs: u64, draws: &mut Draws) -> Option<Sample> {
        draws.times(shape, runs, CENTER, CENTER * self.variation)
    }
}

/// Whether the interval of the ratio of medians leaves 1 out, and that of means.
fn calls(x: &Sample, y: &Sample, level: ConfidenceLevel) -> [Option<bool>; 2] {
    let of = |ratio: &dyn Speedup| {
        ratio.interval(level).bounded().map(|interval| interval.lower > 1.0 || interval.upper < 1.0)
    };
    [
        QuantileRatio::median(x, y).ok().and_then(|ratio| of(&ratio)),
        MeanRatio::new(x, y).ok().and_then(|ratio| of(&ratio)),
    ]
}

impl LawShape {
    /// The names of the methods that compare with this shape, by the median and by the mean.
    fn against(self) -> [&'static str; 2] {
        match self {
            Self::Normal => ["median_ratio_against_normal", "mean_ratio_against_normal"],
            Self::Lognormal => ["median_ratio_against_lognormal", "mean_ratio_against_lognormal"],
            Self::Gamma => ["median_ratio_against_gamma", "mean_ratio_against_gamma"],
            Self::Bimodal => ["median_ratio_against_bimodal", "mean_ratio_against_bimodal"],
            Self::Floor => ["median_ratio_against_floor", "mean_ratio_against_floor"],
            Self::HeavyLognormal => {
                ["median_ratio_against_heavy_lognormal", "mean_ratio_against_heavy_lognormal"]
            }
            Self::Pareto => ["median_ratio_against_pareto", "mean_ratio_against_pareto"],
            Self::Clock => ["median_ratio_against_clock", "mean_ratio_against_clock"],
            Self::Stalls => ["median_ratio_against_stalls", "mean_ratio_against_stalls"],
        }
    }
}
