//! A time on hosts, split over the levels: the pilot's variances and costs give the boots of a visit and the runs of a
//! boot, and what is left of the time gives the visits.

use super::{Finding, RuleRow, costs::UnitCosts, units};
use crate::count::{counted, grouped};
use crate::study::Study;
use speedup_core::{experiment::Metric, plan::Shape, value::id::RunIndex, value::time::Span};
use speedup_statistics::levels::{LevelTree, RandomEffects, Reshaped};
use speedup_statistics::planning::{Costs, RepetitionPlan, VarianceComponents};
use std::collections::BTreeMap;

/// The levels of a plan: runs of a boot, boots of a visit, visits.
const LEVELS: usize = 3;
/// Most times the pilot's runs that a visit may have: beyond, the optimum is flat and its estimate mostly chance.
const MOST_GROWTH: u32 = 10;

/// What the time on hosts buys.
pub(super) fn find(study: &Study, time: Span, maximum: u32) -> Finding {
    let plan = &study.plan;
    let planned = units::planned(study);
    let mut visits = vec![0; plan.benchmarks.len()];
    let spent = study.costs.spent();
    let left = Span(time.0.saturating_sub(spent.0));
    let is_first = plan.runs() <= units::end_of_pilot(study);
    let costs = study.costs.of_units(plan, mean_wall(study).unwrap_or(1.0));
    let components = components(study);
    let shape = match &components {
        Some(components) if is_first => shape(study, components.clone(), costs).unwrap_or(plan.visit()),
        Some(_) | None => plan.visit(),
    };
    let of_a_visit = cost(costs, shape);
    let mut words = format!("Of {time} on hosts, {spent} are spent. ");
    if is_first {
        let cells = f64::from(plan.cells());
        let affordable = (left.0 as f64 / (of_a_visit * cells)).floor() as u32;
        for (at, visits) in visits.iter_mut().enumerate() {
            let of_cell = planned.chunks(plan.experiment.versions.len()).nth(at);
            let most = of_cell.and_then(|cells| cells.iter().max()).copied().unwrap_or(0);
            *visits = affordable.min(maximum.saturating_sub(most) / shape.size().max(1));
        }
        words += &in_words(components.as_ref(), costs, shape, affordable);
    } else {
        words += "Both stages are over. The number of runs came from variances and costs, not from the difference.";
    }
    let rows = units::comparisons(study).iter().map(|comparison| row(study, comparison, &planned)).collect();
    Finding { rows, visits, shape, words }
}

/// What one visit of a cell costs, in nanoseconds of host time.
fn cost(costs: UnitCosts, shape: Shape) -> f64 {
    costs.visit + f64::from(shape.boots) * (costs.boot + f64::from(shape.runs) * costs.run)
}

/// The boots and runs of a visit by eq. 14; none where nothing varies. Levels that the plan does not have stay at one.
fn shape(study: &Study, components: VarianceComponents, costs: UnitCosts) -> Option<Shape> {
    let levels = study.plan.experiment.levels;
    if !levels.are_nested() {
        return None;
    }
    let in_runs = Costs::new(vec![costs.boot / costs.run, costs.visit / costs.run]).ok()?;
    let optimal = RepetitionPlan::new(components, in_runs).ok()?;
    let count = |level: usize| {
        let count = optimal.repetitions().get(level - 1).copied().unwrap_or(1);
        u32::try_from(count).unwrap_or(u32::MAX)
    };
    let Shape { boots, runs } = study.plan.visit();
    let pilot = boots.saturating_mul(runs);
    // A visit far larger than the pilot's would rest on an estimate that is mostly chance.
    let most = pilot.saturating_mul(MOST_GROWTH);
    let runs = count(1).min(most);
    let boots = if levels.boots.is_some() { count(2).min(most / runs.max(1)).max(1) } else { 1 };
    Some(Shape { boots, runs })
}

/// The variances of the levels relative to the squared means, as the mean over all cells: one shape serves all.
fn components(study: &Study) -> Option<VarianceComponents> {
    let mut sums = [0.0; LEVELS];
    let mut cells = 0.0;
    for cell in 0..study.plan.cells() {
        let Some(levels) = levels(study, cell) else { continue };
        let effects = RandomEffects::new(&levels);
        let reshaped = Reshaped::new(&levels);
        for kept in &reshaped.kept {
            sums[kept.level - 1] += kept.unbiased.unwrap_or(0.0).max(0.0) / effects.mean().powi(2);
        }
        cells += 1.0;
    }
    (cells > 0.0).then(|| VarianceComponents::new(1.0, sums.iter().map(|sum| sum / cells).collect()).ok())?
}

/// A cell's pilot as visits of boots of runs.
fn levels(study: &Study, cell: u32) -> Option<LevelTree> {
    let end = RunIndex(units::end_of_pilot(study));
    let mut visits: BTreeMap<u32, BTreeMap<u32, Vec<f64>>> = BTreeMap::new();
    for (run, value) in study.cells[cell as usize].values_by_run(Metric::Wall) {
        if run < end {
            let place = study.plan.place(run);
            visits.entry(place.group.0).or_default().entry(place.boot).or_default().push(value);
        }
    }
    let boots = || visits.values().flat_map(BTreeMap::values);
    let counts =
        [boots().map(Vec::len).collect(), visits.values().map(BTreeMap::len).collect(), vec![visits.len()]];
    LevelTree::from_counts(boots().flatten().copied().collect(), &counts).ok()
}

/// The mean time of a measured run, in nanoseconds.
fn mean_wall(study: &Study) -> Option<f64> {
    let values = study.cells.iter().filter_map(|cell| cell.sample(Metric::Wall).ok());
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), sample| {
        let n = sample.len() as f64;
        (sum + sample.mean() * n, count + n)
    });
    (count > 0.0).then(|| sum / count)
}

fn row(study: &Study, comparison: &units::Comparison<'_>, planned: &[u32]) -> RuleRow {
    let units = comparison.units(study, study.plan.runs());
    let observations = units.as_ref().map_or([0; 2], units::Units::counts);
    let unit = units.as_ref().map_or("run", |units| units.unit(study));
    RuleRow {
        observations,
        saved_ns: units.as_ref().map(units::Units::saved),
        // The verdict is the report's, which knows all of the methods: see `conclude`.
        sentence: format!(
            "{}, {}: {} and {} of the two versions; the report has the verdict.",
            comparison.benchmark,
            comparison.candidate,
            grouped(observations[0]),
            counted(observations[1], unit)
        ),
        ..RuleRow::of(comparison, study, planned)
    }
}

fn in_words(
    components: Option<&VarianceComponents>,
    costs: UnitCosts,
    shape: Shape,
    affordable: u32,
) -> String {
    let costs = format!(
        "a run costs {}, one more boot {}, one more visit {}",
        seconds_of(costs.run),
        seconds_of(costs.boot),
        seconds_of(costs.visit)
    );
    let varied = match components {
        None => "the pilot shows no variances".to_owned(),
        Some(components) => {
            let of = |level: usize| format!("{:.3e}", components.variances()[level]);
            format!(
                "the squared relative deviations are {} of runs, {} of boots, {} of visits",
                of(0),
                of(1),
                of(2)
            )
        }
    };
    format!(
        "By the pilot {costs}, and {varied}: visits of {} with {} each are optimal, and the time left buys {} of each cell.",
        counted(shape.boots.into(), "boot"),
        counted(shape.runs.into(), "run"),
        counted(affordable.into(), "visit")
    )
}

fn seconds_of(ns: f64) -> String {
    Span(ns.max(0.0) as u64).to_string()
}
