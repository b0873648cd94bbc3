//! The interval of a metric that the program writes: by the same levels as the wall times, and one more below them, the
//! iterations of a run.
//!
//! What is independent is what the design says: runs, pairs, hosts, or runs within classes. A run counts by the mean of its
//! iterations, whatever their number, so that a program that prints more of them does not know its mean better than its
//! runs allow.

use crate::conclusion::{Reason, ReasonCode, Word};
use crate::study::design::{Design, IndependentUnits, Run};
use crate::study::{
    RunUnit, Study, gather::cell::CellRecords, gather::cell::Iterations, gather::evidence::RunLocation,
    two_sample::interval::IntervalReport, two_sample::interval::by_levels, two_sample::paired,
    two_sample::stratified,
};
use serde::{Deserialize, Serialize};
use speedup_core::{experiment::Rule, experiment::metric::Better};
use speedup_statistics::ratio::{MeanRatio, PairedRatio, RatioError, Speedup, SuiteRatioError};
use speedup_statistics::{inference::ConfidenceLevel, levels::RandomEffects, sample::Sample};

/// A candidate against the baseline in a metric that the program writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OwnComparison {
    /// The ratio of the means, above 1 when the candidate is the better; `None` where it cannot be formed.
    pub ratio: Option<f64>,
    /// Its interval at the report's confidence level.
    pub interval: IntervalReport,
    /// The independent units.
    pub unit: Word<RunUnit>,
}

/// Where the values of a cell vary.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct IterationReport {
    /// The iterations of all runs.
    pub iterations: u64,
    /// The runs that have them.
    pub runs: u64,
    /// The share of the variance that lies within runs, from iteration to iteration; the rest lies between runs. `None`
    /// where no run has two, or nothing varies.
    pub within_runs: Option<f64>,
}

impl IterationReport {
    /// Of a cell; `None` without values. The variance between runs is that of their means less what the iterations add to
    /// it, by the mean squares of the unbalanced design (Searle, Casella and McCulloch, Variance Components, 1992, §3.6).
    pub(crate) fn new(cell: &CellRecords, place: usize) -> Option<Self> {
        let of_runs: Vec<Iterations> = cell.iterations(place).into_iter().map(|(_, of_run)| of_run).collect();
        let runs = of_runs.len() as f64;
        (runs > 0.0).then_some(())?;
        let iterations: usize = of_runs.iter().map(|of_run| of_run.count).sum();
        let freedom = iterations as f64 - runs;
        let squares = |of_run: &Iterations| of_run.variance.map_or(0.0, |v| v * (of_run.count - 1) as f64);
        let within = of_runs.iter().map(squares).sum::<f64>() / freedom;
        let share = (freedom > 0.0 && runs > 1.0).then(|| {
            let all = iterations as f64;
            let mean = of_runs.iter().map(|of_run| of_run.mean * of_run.count as f64).sum::<f64>() / all;
            let between = of_runs.iter().map(|of_run| of_run.count as f64 * (of_run.mean - mean).powi(2));
            let between = between.sum::<f64>() / (runs - 1.0);
            let typical = (all
                - of_runs.iter().map(|of_run| (of_run.count as f64).powi(2)).sum::<f64>() / all)
                / (runs - 1.0);
            within / (within + ((between - within) / typical).max(0.0))
        });
        let within_runs = share.filter(|share| share.is_finite());
        Some(Self { iterations: iterations as u64, runs: of_runs.len() as u64, within_runs })
    }
}

impl OwnComparison {
    /// Of the own metric at `place` in the plan; the baseline's cell first.
    pub(crate) fn new(
        study: &Study,
        place: usize,
        better: Better,
        [baseline, candidate]: [&CellRecords; 2],
        level: ConfidenceLevel,
    ) -> Self {
        if let Rule::Sequential { .. } = study.plan.experiment.rule {
            return Self::without(looked_sequentially());
        }
        let of = |cell: &CellRecords| runs(study, cell, place);
        // The ratio is of the worse values over the better ones.
        let (over, under) = match better {
            Better::Lower => (of(baseline), of(candidate)),
            Better::Higher => (of(candidate), of(baseline)),
        };
        let is_by_size = study.plan.experiment.analysis.center.is_none();
        match Design::of(&study.plan).arrange(&over, &under) {
            None => Self::of_runs(&over, &under, is_by_size, level),
            Some(Ok(arranged)) => Self::of_units(&arranged, is_by_size, level),
            Some(Err(reason)) => Self::without(reason),
        }
    }

    fn of_runs(over: &[Run], under: &[Run], is_by_size: bool, level: ConfidenceLevel) -> Self {
        let sample = |runs: &[Run]| Sample::new(runs.iter().map(|run| run.value).collect());
        let (Ok(over), Ok(under)) = (sample(over), sample(under)) else {
            return Self::without(Reason::from(&RatioError::TooFew { n: over.len(), m: under.len() }));
        };
        let ratio = MeanRatio::new(&over, &under);
        let ratio = ratio.map(|ratio| if is_by_size { ratio } else { ratio.by_smaller_side() });
        let interval = ratio.map(|ratio| ratio.interval(level));
        Self::with(over.mean() / under.mean(), IntervalReport::from(&interval), RunUnit::Run.into())
    }

    fn of_units(arranged: &IndependentUnits, is_by_size: bool, level: ConfidenceLevel) -> Self {
        let IndependentUnits { baseline: over, candidate: under, design, levels, blocks, builds: _ } =
            arranged;
        if let Some(levels) = levels {
            let [x, y] = levels.each_ref().map(|levels| RandomEffects::new(levels).mean());
            return Self::with(x / y, by_levels(levels, level).0, design.unit.clone());
        }
        let ratio: Result<Box<dyn Speedup>, SuiteRatioError> = match blocks.is_empty() {
            true => PairedRatio::new(over, under).map(|ratio| Box::new(ratio) as _),
            false => stratified::ratio_of_means(blocks.iter().map(|(x, y)| (x, y)))
                .map(|ratio| Box::new(if is_by_size { ratio } else { ratio.by_smaller_side() }) as _),
        };
        match ratio {
            Ok(ratio) => Self::with(ratio.estimate(), (&ratio.interval(level)).into(), design.unit.clone()),
            Err(error) => Self::without(paired::refusal(&error)),
        }
    }

    fn with(ratio: f64, interval: IntervalReport, unit: Word<RunUnit>) -> Self {
        let ratio = Some(ratio).filter(|ratio| ratio.is_finite() && *ratio > 0.0);
        Self { ratio, interval, unit }
    }

    fn without(reason: Reason) -> Self {
        Self { ratio: None, interval: IntervalReport::Missing { reason }, unit: RunUnit::Run.into() }
    }
}

/// Why there is no interval under a rule of looks.
pub(in crate::study) fn looked_sequentially() -> Reason {
    Reason::new(
        ReasonCode::LookedSequentially,
        "The looks at the wall times decided how many runs there are, so no interval of anything else keeps its level",
    )
}

/// The runs of a cell, each with the mean of its iterations, hosts by the order of their names.
pub(super) fn runs(study: &Study, cell: &CellRecords, place: usize) -> Vec<Run> {
    let by_name = study.evidence.by_name();
    let run = |(location, of_run): (RunLocation, Iterations)| {
        Run::new(&study.plan, by_name.location(location), of_run.mean)
    };
    cell.iterations(place).into_iter().map(run).collect()
}
