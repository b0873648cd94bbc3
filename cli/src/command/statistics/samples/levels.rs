//! `speedup samples levels`: how often to repeat each level of an experiment, so that a given time buys the most precise
//! mean.

use anyhow::anyhow;
use clap::Args;
use serde::Serialize;
use speedup_analysis::{conclusion::Warning, conclusion::WarningCode, count::counted, count::percent};
use speedup_statistics::inference::{Caveat, ConfidenceLevel};
use speedup_statistics::levels::{DroppedLevel, DroppedWhy, LevelTree, RandomEffects, Reshaped};
use speedup_statistics::planning::{
    BudgetedPlan, Costs, OneLevelDesign, RepetitionPlan, RepetitionPlanError, VarianceComponents,
};

use super::pilot::PilotArguments;
use crate::{
    arguments::FormArgument, arguments::fraction, command::print_answer, console::Console, console::Paint,
    console::render::table::of_sheet, exit::Exit, exit::failure::Failure,
};
use speedup_report::facts::{Sheet, SheetCell, hidden, number, significant};

/// The version of the JSON value; it changes when a field changes its name or meaning.
const SCHEMA_VERSION: u32 = 1;
/// Seconds of an hour.
const HOUR_S: f64 = 3600.0;

/// How often to repeat each level: values in a run, runs, and levels above
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n\
    \x20 speedup samples levels --mean 10 --variances 4,1 --costs 2 --budget 500\n\
    \x20 speedup samples levels pilot.json --costs 5 --hours 2 --measurement-time 0.4\n\n\
    Levels are ordered from the lowest: values within a run, then runs. There is one cost fewer than there are \
    levels, counted in measurements: what one more unit above a level costs besides its members, such as the warm-up \
    of one more run.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    pilot: PilotArguments,
    /// The mean, instead of a pilot; with 1 the half-width stays absolute
    #[arg(
        long,
        value_name = "MEAN",
        allow_hyphen_values = true,
        requires = "variances",
        conflicts_with = "files",
        help_heading = "Instead of a pilot"
    )]
    mean: Option<f64>,
    /// The variance T² of each level, lowest first, separated by commas, instead of a pilot
    #[arg(
        long,
        value_name = "T2",
        value_delimiter = ',',
        requires = "mean",
        conflicts_with = "files",
        allow_hyphen_values = true,
        help_heading = "Instead of a pilot"
    )]
    variances: Vec<f64>,
    /// The cost of one more unit above each level except the highest, in measurements, separated by commas
    #[arg(long, value_name = "COSTS", allow_hyphen_values = true, value_delimiter = ',', required = true)]
    costs: Vec<f64>,
    /// The budget, in measurements
    #[arg(long, value_name = "MEASUREMENTS", allow_hyphen_values = true, conflicts_with = "hours")]
    budget: Option<f64>,
    /// The budget, in hours
    #[arg(long, value_name = "HOURS", allow_hyphen_values = true, requires = "measurement_time")]
    hours: Option<f64>,
    /// How long a measurement takes, in seconds
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true)]
    measurement_time: Option<f64>,
    /// The confidence level of the interval
    #[arg(long, value_name = "LEVEL", allow_hyphen_values = true, default_value = "0.95", value_parser = fraction::confidence_level)]
    confidence: ConfidenceLevel,
    #[command(flatten)]
    output: FormArgument,
}

#[derive(Debug, Serialize)]
struct Answer {
    schema_version: u32,
    method: &'static str,
    confidence: ConfidenceLevel,
    mean: f64,
    levels: Vec<Level>,
    /// The level that is repeated as often as time allows.
    highest: usize,
    /// Measurements that there is time for.
    budget: Option<f64>,
    within_budget: Option<BudgetedPlan>,
    /// Hours that the two designs take, where the time of a measurement is known.
    hours: Option<f64>,
    one_level_hours: Option<f64>,
    /// The levels that do not vary, in the order of their going (Kalibera 2012 §6.1).
    dropped: Vec<DroppedLevel>,
    caveats: Vec<Warning>,
}

/// What the plan is made from.
struct Components {
    mean: f64,
    /// T² of each level, 0 of those that were dropped.
    variances: Vec<f64>,
    unbiased: Vec<Option<f64>>,
    dropped: Vec<DroppedLevel>,
    caveats: Vec<Warning>,
}

#[derive(Debug, Serialize)]
struct Level {
    level: usize,
    /// T² that was planned with, not below 0.
    variance: f64,
    /// T² by the unbiased estimate of the whole experiment, or as it was given; absent for a level that was not repeated.
    unbiased: Option<f64>,
    cost: Option<f64>,
    /// By Kalibera 2012's eq. 14, before rounding; absent where the level is executed once, or as often as time allows.
    unrounded: Option<f64>,
    /// Absent for the highest level, unless there is a budget.
    repetitions: Option<u64>,
}

const METHOD: &str = "optimal repetitions of each level (Kalibera and Jones 2012, eq. 14)";

pub(super) fn execute(arguments: &Arguments, console: &Console) -> Result<Exit, Failure> {
    let answer = arguments.answer(console)?;
    print_answer(console, arguments.output.output, &answer, shown, sheet)
}

impl Arguments {
    fn answer(&self, console: &Console) -> Result<Answer, Failure> {
        let refused = |error: RepetitionPlanError| Failure::refused(error).context("cannot plan repetitions");
        let Components { mean, variances, unbiased, dropped, caveats } = self.components(console)?;
        let components = VarianceComponents::new(mean, variances.clone()).map_err(refused)?;
        let costs = Costs::new(self.costs.clone()).map_err(refused)?;
        let plan = RepetitionPlan::new(components, costs).map_err(refused)?;
        let budget = self.budget_in_measurements()?;
        let within =
            budget.map(|budget| plan.within(budget, self.confidence)).transpose().map_err(refused)?;
        let hours = |cost: f64| self.measurement_time.map(|seconds| cost * seconds / HOUR_S);
        let levels = variances.iter().enumerate().map(|(at, variance)| Level {
            level: at + 1,
            variance: variance.max(0.0),
            unbiased: unbiased.get(at).copied().flatten(),
            cost: self.costs.get(at).copied(),
            unrounded: plan.unrounded().get(at).copied().flatten(),
            repetitions: match &within {
                Some(within) => within.repetitions.get(at).copied(),
                None if at + 1 > plan.highest() => Some(1),
                None => plan.repetitions().get(at).copied(),
            },
        });
        Ok(Answer {
            schema_version: SCHEMA_VERSION,
            method: METHOD,
            confidence: self.confidence,
            mean,
            levels: levels.collect(),
            highest: plan.highest(),
            budget,
            hours: within.as_ref().and_then(|within| hours(within.cost)),
            one_level_hours: within
                .as_ref()
                .and_then(|within| within.one_level)
                .and_then(|one_level| hours(one_level.cost)),
            within_budget: within,
            dropped,
            caveats,
        })
    }

    fn components(&self, console: &Console) -> Result<Components, Failure> {
        if let Some(mean) = self.mean {
            if !(mean != 0.0 && mean.abs() <= 1e100 && self.variances.iter().all(|v| v.abs() <= 1e200)) {
                return Err(Failure::usage(anyhow!(
                    "a mean is a number other than 0, and variances are numbers"
                ))
                .hint("give both in another unit"));
            }
            return Ok(Components::given(mean, &self.variances));
        }
        if !self.pilot.is_given() {
            return Err(Failure::usage(anyhow!("there is neither a pilot nor the variance of each level"))
                .hint("give a file of samples with runs, or --mean and --variances"));
        }
        let pilot = self.pilot.read(console)?;
        if pilot.candidate.is_some() {
            return Err(Failure::usage(anyhow!(
                "levels are planned from one version's pilot, and there are two"
            )));
        }
        let levels = pilot.baseline.levels().map_err(Failure::refused)?;
        if levels.depth() < 2 {
            return Err(Failure::usage(anyhow!(
                "the pilot has one level: each run has a single value, or there is a single run"
            ))
            .hint("name the column of the runs with --run-column; runs alone are planned by speedup samples repetitions"));
        }
        Ok(Components::from_pilot(&levels))
    }

    fn budget_in_measurements(&self) -> Result<Option<f64>, Failure> {
        let Some(hours) = self.hours else { return Ok(self.budget) };
        let seconds = self.measurement_time.filter(|seconds| *seconds > 0.0 && seconds.is_finite());
        let Some(seconds) = seconds else {
            return Err(Failure::usage(anyhow!("a measurement takes a positive number of seconds")));
        };
        Ok(Some(hours * HOUR_S / seconds))
    }
}

impl Components {
    fn given(mean: f64, variances: &[f64]) -> Self {
        let unbiased: Vec<Option<f64>> = variances.iter().copied().map(Some).collect();
        let numbered = (1..).zip(variances.iter().copied());
        let dropped: Vec<DroppedLevel> = numbered
            .filter(|(_, variance)| *variance <= 0.0)
            .map(|(level, unbiased)| DroppedLevel { level, why: DroppedWhy::NoVariance { unbiased } })
            .collect();
        let caveats = dropped.iter().map(warn_of_dropped).collect();
        Self { mean, variances: variances.to_vec(), unbiased, dropped, caveats }
    }

    fn from_pilot(levels: &LevelTree) -> Self {
        let effects = RandomEffects::new(levels);
        let Reshaped { kept, dropped } = Reshaped::new(levels);
        let mut variances = vec![0.0; effects.levels().len()];
        for kept in kept {
            variances[kept.level - 1] = kept.unbiased.unwrap_or(0.0);
        }
        let mut caveats = Vec::new();
        if !effects.is_balanced() {
            caveats.push(Warning::from(&Caveat::Unbalanced));
        }
        caveats.extend(dropped.iter().map(warn_of_dropped));
        let units = counted(effects.highest_units() as u64, "unit");
        caveats.push(Warning::new(
            WarningCode::PilotError,
            format!(
                "The variances are estimates from a pilot with {units} of its highest level, and the numbers \
                    planned from them err as they do: use a larger pilot, or more repetitions than the minimum."
            ),
        ));
        let unbiased = effects.levels().iter().map(|level| level.unbiased).collect();
        Self { mean: effects.mean(), variances, unbiased, dropped, caveats }
    }
}

fn warn_of_dropped(dropped: &DroppedLevel) -> Warning {
    let level = dropped.level;
    match dropped.why {
        DroppedWhy::NotRepeated => Warning::new(
            WarningCode::LevelNotRepeated,
            format!(
                "Level {level} was never repeated, so its variance is that of its neighbour: repeat it in the pilot."
            ),
        ),
        DroppedWhy::NoVariance { unbiased } => Warning::new(
            WarningCode::LevelWithoutVariance,
            format!(
                "Level {level} was dropped, since its T² of {} is not above 0 (Kalibera 2012 §6.1); a larger pilot tells \
                 whether it varies.",
                significant(unbiased, 3)
            ),
        ),
    }
}

fn sheet(answer: &Answer) -> Sheet {
    let headings = vec![
        number("level", "level"),
        number("variance", "T²"),
        hidden("unbiased"),
        number("cost", "cost above"),
        number("unrounded", "by formula"),
        number("repetitions", "repetitions"),
    ];
    let row = |level: &Level| {
        vec![
            SheetCell::Count(level.level as u64),
            SheetCell::Number(level.variance),
            SheetCell::optional(level.unbiased),
            SheetCell::optional(level.cost),
            SheetCell::optional(level.unrounded),
            level.repetitions.map_or(SheetCell::Absent, SheetCell::Count),
        ]
    };
    Sheet { headings, rows: answer.levels.iter().map(row).collect() }
}

fn shown(answer: &Answer, paint: Paint) -> String {
    let notes = answer.caveats.iter().map(|note| format!("\n{}: {}", note.code, note.sentence));
    let notes: String = notes.collect();
    let plan = shown_plan(answer, paint);
    if notes.is_empty() { plan } else { format!("{plan}\n{notes}") }
}

fn shown_plan(answer: &Answer, paint: Paint) -> String {
    let table = of_sheet(&sheet(answer), paint);
    let method = answer.method;
    let Some(plan) = &answer.within_budget else {
        return format!(
            "{method}\n\n{table}\n\nLevel {} is repeated as often as time allows.",
            answer.highest
        );
    };
    let design = |name: &str, units: u64, cost: f64, half: f64, relative: f64, hours: Option<f64>| {
        let hours = hours.map_or_else(String::new, |hours| format!(", {} h", significant(hours, 3)));
        let half = significant(half, 3);
        format!(
            "{name}: {}, {} measurements{hours}, ±{half} (±{})",
            counted(units, "unit"),
            significant(cost, 4),
            percent(relative)
        )
    };
    let highest = plan.repetitions.get(answer.highest - 1).copied().unwrap_or(1);
    let optimal =
        design("by levels", highest, plan.cost, plan.half_width, plan.relative_half_width, answer.hours);
    let one_level = match plan.one_level {
        Some(OneLevelDesign { repetitions, cost, half_width, relative_half_width }) => {
            design("one level", repetitions, cost, half_width, relative_half_width, answer.one_level_hours)
        }
        None => "one level: the time does not suffice for two units".to_owned(),
    };
    let level = percent(answer.confidence.get());
    // The formula may ask for more than fits the time; then its optimum is no longer the one shown.
    let lowered = if plan.lowered {
        "\n\nWith the counts by formula two units of the highest level would take longer than there is time for; these are \
         the narrowest interval that fits."
    } else {
        ""
    };
    format!("{method}, interval at confidence level {level}\n\n{table}\n\n{optimal}\n{one_level}{lowered}")
}
