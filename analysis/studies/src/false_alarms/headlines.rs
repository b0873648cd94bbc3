//! False alarms of headlines: the two-sided interval of the ratio of centres.

use super::{AlarmSection, FalseAlarmStudy, RunCounts};
use crate::headline::{HEADLINES, logarithms, rejections};
use crate::{LawShape, law::draws::Draws, row::Cell, row::StudyRow, row::Unanswered};
use speedup_statistics::inference::{Alternative, Risk};
use speedup_statistics::ratio::{MeanRatio, QuantileRatio, Speedup, TrimShare};
use speedup_statistics::{sample::Sample, test::Equivalence};

/// The headlines of twenty benchmarks are one family, of which Holm compares the least p-value with a twentieth of the risk.
const FAMILY: f64 = 20.0;
const OF_FAMILY: [&str; HEADLINES.len()] =
    ["trimmed_ratio_of_20", "median_ratio_of_20", "mean_ratio_of_20", "welch_on_logarithms_of_20"];
const SAME: [&str; 3] = ["same_by_median", "same_by_mean", "same_by_welch_on_logarithms"];
/// The mean that both versions have.
const CENTER: f64 = 100.0;
/// Draws that tell the centre of a law: to a thousandth of its spread.
const CENTER_DRAWS: u64 = 1 << 20;

/// A law, and a large sample of it where its centres are read.
struct KnownLaw {
    shape: LawShape,
    median: f64,
    large: Sample,
    log_mean: f64,
}

impl KnownLaw {
    fn new(study: &FalseAlarmStudy, shape: LawShape) -> Option<Self> {
        let stream = study.replication.seed.child(&format!("centre {}", shape.code()));
        let large = study.times(shape, CENTER_DRAWS, &mut Draws::new(&stream, 0))?;
        let median = match shape.median() {
            Some(median) => CENTER * (1.0 + study.variation * median),
            None => large.median(),
        };
        let log_mean = logarithms(&large)?.mean();
        Some(Self { shape, median, large, log_mean })
    }

    /// The logarithms of the centres that the methods ask for; of runs of which the usual share leaves `trimmed` out at each end.
    fn log_centers(&self, trimmed: TrimShare) -> [f64; HEADLINES.len()] {
        [trimmed.time_of(&self.large, self.large.len()).ln(), self.median.ln(), CENTER.ln(), self.log_mean]
    }
}

impl RunCounts {
    /// The share that is left out of both versions: what the one with fewer runs allows.
    fn trimmed(self) -> TrimShare {
        TrimShare::USUAL.whole(self.baseline.min(self.candidate) as usize)
    }

    fn candidate_if_unequal(self) -> Option<f64> {
        if self.baseline == self.candidate { None } else { Some(self.candidate as f64) }
    }
}

impl FalseAlarmStudy {
    /// Two samples of one law, each comparison alone and as one of a family.
    pub(super) fn headline_rows(&self) -> Vec<StudyRow> {
        let mut rows = Vec::new();
        let risk = self.replication.confidence.risk();
        let of_family = Risk::new(risk.get() / FAMILY).unwrap_or(risk);
        for shape in &self.distributions {
            for runs in &self.runs {
                let cell = Self::headline_cell(AlarmSection::Headlines, *shape, *runs);
                let stream = format!("{} against {}", cell.stream(), runs.candidate);
                let tallies = self.replication.tally(&stream, 2 * HEADLINES.len(), |draws| {
                    let x = self.times(*shape, runs.baseline, draws);
                    let y = self.times(*shape, runs.candidate, draws);
                    let Some((x, y)) = x.zip(y) else { return vec![None; 2 * HEADLINES.len()] };
                    let equal = [0.0; HEADLINES.len()];
                    rejections(&x, &y, equal, [risk, of_family]).concat()
                });
                let names = HEADLINES.iter().chain(&OF_FAMILY);
                for (place, (name, tally)) in names.zip(tallies).enumerate() {
                    let promised = if place < HEADLINES.len() { risk } else { of_family };
                    let told = [runs.candidate_if_unequal(), Some(promised.get())];
                    rows.push(cell.row(name, tally, Unanswered::No, told));
                }
            }
        }
        rows
    }

    /// Two samples of unlike laws, each method's hypothesis the ratio that its centres have: all pairs of the laws, in both orders
    /// where the numbers of runs differ.
    pub(super) fn unlike_shape_rows(&self) -> Vec<StudyRow> {
        let laws: Vec<KnownLaw> =
            self.distributions.iter().filter_map(|shape| KnownLaw::new(self, *shape)).collect();
        let mut rows = Vec::new();
        for runs in &self.runs {
            for (place, law) in laws.iter().enumerate() {
                let others = if runs.baseline == runs.candidate { &laws[place + 1..] } else { &laws[..] };
                for other in others.iter().filter(|other| other.shape != law.shape) {
                    rows.extend(self.unlike_rows([law, other], *runs));
                }
            }
        }
        rows
    }

    fn unlike_rows(&self, [law, other]: [&KnownLaw; 2], runs: RunCounts) -> Vec<StudyRow> {
        let cell = Self::headline_cell(AlarmSection::UnlikeShapes, law.shape, runs);
        let stream = format!("{} against {} {}", cell.stream(), other.shape.code(), runs.candidate);
        let risk = self.replication.confidence.risk();
        let mut truth = law.log_centers(runs.trimmed());
        for (truth, other) in truth.iter_mut().zip(other.log_centers(runs.trimmed())) {
            *truth -= other;
        }
        let tallies = self.replication.tally(&stream, HEADLINES.len(), |draws| {
            let x = self.times(law.shape, runs.baseline, draws);
            let y = self.times(other.shape, runs.candidate, draws);
            let Some((x, y)) = x.zip(y) else { return vec![None; HEADLINES.len()] };
            rejections(&x, &y, truth, [risk]).concat()
        });
        let told = [runs.candidate_if_unequal(), Some(risk.get())];
        let rows = other.shape.against().into_iter().zip(tallies);
        rows.map(|(method, tally)| cell.row(method, tally, Unanswered::No, told)).collect()
    }

    fn headline_cell(section: AlarmSection, shape: LawShape, runs: RunCounts) -> Cell {
        Cell { section: section.code(), distribution: Some(shape), size: runs.baseline }
    }

    /// Versions that differ by the margin exactly, and are called the same within it.
    pub(super) fn equal_version_rows(&self) -> Vec<StudyRow> {
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

    /// The laws and numbers of runs of sections whose versions have equal numbers.
    pub(super) fn cells(&self) -> impl Iterator<Item = (LawShape, u64)> + Clone {
        self.distributions.iter().flat_map(|shape| self.runs.iter().map(|runs| (*shape, runs.baseline)))
    }

    pub(super) fn times(&self, shape: LawShape, runs: u64, draws: &mut Draws) -> Option<Sample> {
        draws.times(shape, runs, CENTER, CENTER * self.variation)
    }
}

/// The names of the methods that compare with each shape.
macro_rules! against {
    ($($shape:ident $name:literal,)*) => {
        impl LawShape {
            fn against(self) -> [&'static str; HEADLINES.len()] {
                match self {
                    $(Self::$shape => [
                        concat!("trimmed_ratio_against_", $name),
                        concat!("median_ratio_against_", $name),
                        concat!("mean_ratio_against_", $name),
                        concat!("welch_on_logarithms_against_", $name),
                    ],)*
                }
            }
        }
    };
}
against! {
    Normal "normal",
    Lognormal "lognormal",
    Gamma "gamma",
    Bimodal "bimodal",
    Floor "floor",
    HeavyLognormal "heavy_lognormal",
    Pareto "pareto",
    Clock "clock",
    Stalls "stalls",
    TwoModes "two_modes",
    HalfTight "half_tight",
    MostlyTight "mostly_tight",
    Cusp "cusp",
    Gap "gap",
}
