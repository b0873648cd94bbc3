//! Controls: comparisons of which the answer is known, because nothing differs. They say how often this experiment, on its hosts and
//! with its runs, found a difference that is none, and how small a difference it could have found.

use super::{comparison::BenchmarkReport, endpoint};
use crate::conclusion::{Reason, Verdict, WarningCode, Warnings};
use crate::count::{about, grouped, percent};
use crate::study::two_sample::headline::{HeadlineReport, HeadlineSpec, RatioFound};
use crate::study::{
    POWER, Study, gather::cell::CellRecords, sampled::BenchmarkSamples, two_sample::interval::IntervalReport,
};
use serde::{Deserialize, Serialize};
use speedup_core::experiment::{EndpointSubject, Experiment, metric::Better, metric::Metric};
use speedup_core::value::id::{BenchmarkIndex, RunIndex, VersionIndex};
use speedup_core::{plan::Cell, run::work::WorkOrder};
use speedup_statistics::{distribution::binomial, inference::ConfidenceLevel, inference::Threshold};

/// What the experiment says where nothing differs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ControlsReport {
    /// The name under which the baseline ran again; absent where the plan has no such control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline_again: Option<String>,
    /// The controls with enough data for a verdict.
    pub controls: u64,
    /// Those in which a difference was found.
    pub alarms: u64,
    /// The probability of so many alarms or more, if the level holds and the controls are independent.
    pub p_value: f64,
    /// About the smallest effects that the controls would have shown with a probability of 80 %, as the least and the largest over them; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smallest_effects: Option<[f64; 2]>,
    /// All of it in a sentence.
    pub sentence: String,
    /// One row a control, in plan order.
    pub rows: Vec<ControlRow>,
}

/// A comparison of which the answer is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ControlRow {
    /// The benchmark.
    pub benchmark: String,
    /// What the baseline is compared with.
    pub version: String,
    /// Why nothing differs.
    pub kind: ControlKind,
    /// What the interval says.
    pub verdict: Verdict,
    /// The ratio of the declared centres, baseline over control.
    pub ratio: Option<f64>,
    /// Its two-sided interval at the report's confidence level.
    pub interval: Option<IntervalReport>,
    /// About the smallest effect that it would have shown with a probability of 80 %, as a share.
    pub smallest_effect: Option<f64>,
    /// Why there is not enough data.
    pub reason: Option<Reason>,
}

/// Why nothing differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlKind {
    /// The plan has the baseline run again.
    BaselineAgain,
    /// The candidate executed the same program, in the same way.
    SameProgram,
}

impl ControlsReport {
    /// Of all benchmarks; none where there is no control.
    pub(crate) fn new(
        study: &Study,
        sampled: &[BenchmarkSamples<'_>],
        benchmarks: &[BenchmarkReport],
        level: ConfidenceLevel,
    ) -> Option<Self> {
        let experiment = &study.plan.experiment;
        let declared = HeadlineSpec::new(experiment, level, Threshold::NONE);
        let again = experiment.control().map(|(index, control)| (index, control.name.as_str()));
        let cells = study.cells.chunks(experiment.versions.len().max(1));
        let of = study.plan.benchmarks.iter().zip(cells).zip(sampled.iter().zip(benchmarks));
        let rows = of.flat_map(|((index, cells), (sampled, report))| {
            let again =
                again.map(|control| ControlRow::again(study, sampled.name, cells, control, &declared));
            again.into_iter().chain(same_programs(experiment, *index, sampled, report))
        });
        let rows: Vec<ControlRow> = rows.collect();
        (!rows.is_empty()).then(|| Self::of_rows(rows, again.map(|(_, name)| name.to_owned()), level))
    }

    pub(crate) fn of_rows(
        rows: Vec<ControlRow>,
        baseline_again: Option<String>,
        level: ConfidenceLevel,
    ) -> Self {
        let decided = || rows.iter().filter(|row| row.verdict != Verdict::NotEnoughData);
        let controls = decided().count() as u64;
        let alarms = decided().filter(|row| row.verdict.is_effect()).count() as u64;
        let effects = || rows.iter().filter_map(|row| row.smallest_effect);
        let least = effects().fold(f64::INFINITY, f64::min);
        let largest = effects().fold(0.0, f64::max);
        let beyond = |most| binomial::tails(most, controls, level.risk().get()).upper;
        let mut report = Self {
            baseline_again,
            controls,
            alarms,
            p_value: alarms.checked_sub(1).map_or(1.0, beyond),
            smallest_effects: least.is_finite().then_some([least, largest]),
            sentence: String::new(),
            rows,
        };
        report.sentence = report.say(level);
        report
    }

    fn say(&self, level: ConfidenceLevel) -> String {
        if self.controls == 0 {
            return "Controls, where nothing differs: none has enough data for a verdict.".to_owned();
        }
        let effect = self.smallest_effects.map_or_else(String::new, |[least, largest]| {
            let [least, largest] = [least, largest].map(about);
            let changes =
                if least == largest { least } else { format!("{least} to {largest}, by benchmark,") };
            format!(
                " It would have shown a change of about {changes} with a probability of {}.",
                percent(POWER)
            )
        });
        format!(
            "On its own controls, where nothing differs, this experiment found a difference in {} of {}; chance alone finds \
             one in at most {} of them.{effect}",
            grouped(self.alarms),
            grouped(self.controls),
            percent(level.risk().get())
        )
    }

    /// Raises that there are more alarms than chance allows.
    pub(crate) fn warn(&self, level: ConfidenceLevel, warnings: &mut Warnings) {
        if self.alarms > 0 && self.p_value <= level.risk().get() {
            for row in self.rows.iter().filter(|row| row.verdict.is_effect()) {
                warnings.concern(WarningCode::ControlsAlarmed, &row.benchmark, || {
                    "Differences were found where nothing differs, more often than chance allows: what made them is in the other \
                     verdicts as well. Look for what the runs of one version had in common (hosts, order, neighbours), and do not \
                     quote differences of that size."
                        .to_owned()
                });
            }
        }
    }
}

impl ControlRow {
    /// The baseline run again.
    fn again(
        study: &Study,
        benchmark: &str,
        cells: &[CellRecords],
        (index, name): (VersionIndex, &str),
        declared: &HeadlineSpec,
    ) -> Self {
        let wall = EndpointSubject::Metric(Metric::Wall);
        let pair = [&cells[0], &cells[index.0 as usize]];
        let found = endpoint::compare(study, wall, Better::Lower, pair, declared);
        Self::of_found(benchmark, name, found.map(|(found, _)| found))
    }

    /// What was found of the baseline's program run again, called `name`.
    pub(crate) fn of_found(benchmark: &str, name: &str, found: Result<RatioFound, Reason>) -> Self {
        let mut row = Self::without(benchmark, name, ControlKind::BaselineAgain);
        match found {
            Ok(RatioFound { verdict, ratio, interval, smallest_effect, .. }) => {
                row.fill(verdict, ratio, interval, smallest_effect);
            }
            Err(reason) => row.reason = Some(reason),
        }
        row
    }

    fn without(benchmark: &str, version: &str, kind: ControlKind) -> Self {
        Self {
            benchmark: benchmark.to_owned(),
            version: version.to_owned(),
            kind,
            verdict: Verdict::NotEnoughData,
            ratio: None,
            interval: None,
            smallest_effect: None,
            reason: None,
        }
    }

    fn fill(&mut self, verdict: Verdict, ratio: f64, interval: IntervalReport, smallest: Option<f64>) {
        self.verdict = verdict;
        self.ratio = Some(ratio);
        self.interval = Some(interval);
        self.smallest_effect = smallest;
    }
}

/// The candidates that executed the baseline's program in the baseline's way.
fn same_programs(
    experiment: &Experiment,
    benchmark: BenchmarkIndex,
    sampled: &BenchmarkSamples<'_>,
    report: &BenchmarkReport,
) -> Vec<ControlRow> {
    let mut rows = Vec::new();
    let baseline = &sampled.records[0];
    let Some(program) = baseline.programs.only(baseline.runs()) else { return rows };
    let order = work_order(experiment, benchmark, 0);
    for (version, cell) in sampled.records.iter().enumerate().skip(1) {
        let is_same = cell.programs.only(cell.runs()) == Some(program);
        if !is_same || !order.is_alike(&work_order(experiment, benchmark, version)) {
            continue;
        }
        let comparison = &report.comparisons[version - 1];
        let mut row = ControlRow::without(&report.name, &comparison.candidate, ControlKind::SameProgram);
        match comparison.headline() {
            Some(HeadlineReport { speedup, interval, smallest_effect, .. }) => {
                row.fill(comparison.verdict, speedup, interval, smallest_effect);
            }
            None => row.reason.clone_from(&comparison.reason),
        }
        rows.push(row);
    }
    rows
}

/// The work of a cell's first run, by which versions are executed alike or not.
fn work_order(experiment: &Experiment, benchmark: BenchmarkIndex, version: usize) -> WorkOrder {
    let cell = Cell { benchmark, version: VersionIndex(version as u32) };
    WorkOrder::new(experiment, cell, RunIndex(0))
}
