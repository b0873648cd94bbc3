//! False alarms of looks at growing data, and what is said of a true speedup after them: by the code that concludes for a coordinator,
//! from the attempts of an experiment to its rule's verdict.

use super::{AlarmSection, FalseAlarmStudy};
use crate::sequential_experiment::{Concluded, SequentialExperiment};
use crate::{LawShape, law::draws::Draws, row::Cell, row::StudyRow, row::Unanswered};
use speedup_core::experiment::{Center, Spending};
use speedup_statistics::sample::Sample;

/// Of each experiment; what most plans have.
pub(super) const LOOKS: u64 = 4;
/// The mean of the last look's statistic where the versions differ: found by most experiments, and by few at the first look.
const DRIFT: f64 = 3.0;
/// The experiments, with what is asked of each where nothing differs, and where the candidate is faster: whether that is concluded,
/// whether the interval holds the truth, whether the observed speedup is above it, and whether the median-unbiased one is.
const OF_LOOKS: [(Center, Spending, &str, [&str; 4]); 4] = [
    (
        Center::Median,
        Spending::ObrienFleming,
        "median_obrien_fleming",
        [
            "median_obrien_fleming_found",
            "median_obrien_fleming_covers",
            "median_obrien_fleming_observed_above",
            "median_obrien_fleming_unbiased_above",
        ],
    ),
    (
        Center::Median,
        Spending::Pocock,
        "median_pocock",
        [
            "median_pocock_found",
            "median_pocock_covers",
            "median_pocock_observed_above",
            "median_pocock_unbiased_above",
        ],
    ),
    (
        Center::Mean,
        Spending::ObrienFleming,
        "mean_obrien_fleming",
        [
            "mean_obrien_fleming_found",
            "mean_obrien_fleming_covers",
            "mean_obrien_fleming_observed_above",
            "mean_obrien_fleming_unbiased_above",
        ],
    ),
    (
        Center::Mean,
        Spending::Pocock,
        "mean_pocock",
        [
            "mean_pocock_found",
            "mean_pocock_covers",
            "mean_pocock_observed_above",
            "mean_pocock_unbiased_above",
        ],
    ),
];

/// The experiments of [`OF_LOOKS`], in their order; none of a plan that could not be.
type Experiments = [Option<SequentialExperiment>; OF_LOOKS.len()];

impl FalseAlarmStudy {
    /// Experiments that are looked at four times, each after a quarter of the runs: of equal versions, then of a candidate that is
    /// faster by the parameter.
    pub(super) fn look_rows(&self) -> Vec<StudyRow> {
        let rows = self.cells().flat_map(|(shape, runs)| {
            let level = self.replication.confidence;
            let experiments = OF_LOOKS.map(|(center, spending, _, _)| {
                SequentialExperiment::new([LOOKS, runs / LOOKS], spending, center, level)
            });
            [self.equal(shape, runs, &experiments), self.faster(shape, runs, &experiments)].concat()
        });
        rows.collect()
    }

    fn equal(&self, shape: LawShape, runs: u64, experiments: &Experiments) -> Vec<StudyRow> {
        let cell = cell(shape, runs);
        let tallies = self.replication.tally(&cell.stream(), OF_LOOKS.len(), |draws| {
            let found = self.conclude_looks((shape, runs), 1.0, experiments, draws);
            found.map(|found| Some(found?.is_called)).to_vec()
        });
        let expected = self.replication.promised_risk();
        let rows = OF_LOOKS.iter().zip(tallies);
        rows.map(|((_, _, name, _), tally)| cell.row(name, tally, Unanswered::No, [Some(1.0), expected]))
            .collect()
    }

    fn faster(&self, shape: LawShape, runs: u64, experiments: &Experiments) -> Vec<StudyRow> {
        let cell = cell(shape, runs);
        let truth = (DRIFT * self.variation * (2.0 / (runs / LOOKS * LOOKS) as f64).sqrt()).exp();
        let stream = format!("{} faster", cell.stream());
        let questions = OF_LOOKS.iter().flat_map(|(_, _, _, names)| names).copied();
        let tallies = self.replication.tally(&stream, questions.clone().count(), |draws| {
            let found = self.conclude_looks((shape, runs), truth, experiments, draws);
            found.into_iter().flat_map(|found| told(found.as_ref(), truth)).collect()
        });
        // What is concluded of those that are answered, and found of all.
        let kinds = [
            (Unanswered::No, None),
            (Unanswered::LeftOut, self.replication.promised_coverage()),
            (Unanswered::LeftOut, None),
            (Unanswered::LeftOut, Some(0.5)),
        ];
        let rows = questions.zip(tallies).zip(kinds.into_iter().cycle());
        rows.map(|((name, tally), (unanswered, expected))| {
            cell.row(name, tally, unanswered, [Some(truth), expected])
        })
        .collect()
    }

    /// What each of the experiments concludes of the same times, of a candidate that is faster by `speedup`.
    fn conclude_looks(
        &self,
        (shape, runs): (LawShape, u64),
        speedup: f64,
        experiments: &Experiments,
        draws: &mut Draws,
    ) -> [Option<Concluded>; OF_LOOKS.len()] {
        let times = self.times(shape, runs, draws).zip(self.times(shape, runs, draws));
        experiments.each_ref().map(|experiment| {
            let (baseline, candidate) = times.as_ref()?;
            let times = [baseline, candidate].map(Sample::in_run_order);
            experiment.as_ref()?.concluded(times, speedup)
        })
    }
}

fn told(found: Option<&Concluded>, truth: f64) -> [Option<bool>; 4] {
    let Some(found) = found else { return [None; 4] };
    [
        Some(found.is_called),
        found.interval.map(|[lower, upper]| lower <= truth && truth <= upper),
        found.observed.map(|speedup| speedup > truth),
        found.unbiased.map(|speedup| speedup > truth),
    ]
}

fn cell(shape: LawShape, runs: u64) -> Cell {
    Cell { section: AlarmSection::Looks.code(), distribution: Some(shape), size: runs }
}
