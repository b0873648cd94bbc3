//! `speedup samples repetitions`: how many runs a precision or a power takes, from a pilot or from a mean and a spread.

use anyhow::anyhow;
use clap::Args;
use serde::Serialize;
use speedup_analysis::{conclusion::Reason, conclusion::ReasonCode, conclusion::Warning, count::percent};
use speedup_core::value::hint::Hinted;
use speedup_statistics::inference::{Alternative, ConfidenceLevel};
use speedup_statistics::planning::power::PowerError;
use speedup_statistics::planning::required_repetitions::{
    Attainability, Effort, MeanPrecision, MedianPrecision, PlanningAssumption, RankSumDetection,
    RatioPrecision, RequiredError, RequiredRuns, SpeedupGoal, WelchDetection,
};
use speedup_statistics::sample::Sample;

use super::pilot::PilotArguments;
use crate::{
    arguments::FormArgument, arguments::fraction, command::print_answer, console::Console, console::Paint,
    console::render::table::of_sheet, exit::Exit, exit::failure::Failure,
};
use speedup_report::facts::{Sheet, SheetCell, exact, hidden, number, words};

/// The version of the JSON value; it changes when a field changes its name or meaning.
const SCHEMA_VERSION: u32 = 1;

/// How many runs a precision needs, and how many to find a speedup
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n\
    \x20 speedup samples repetitions pilot.txt --half-width 1% --speedup 1.05\n\
    \x20 speedup samples repetitions pilot.txt --run-time 12 --hosts 30\n\
    \x20 speedup samples repetitions --mean 2.1 --sd 0.08 --speedup 1.02 --power 0.9\n\n\
    Plan from a pilot of the baseline, from pilots of baseline and candidate, or from a mean and a standard \
    deviation. A pilot's spread is itself an estimate: take more runs than the minimum.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    pilot: PilotArguments,
    /// The mean of a run, instead of a pilot
    #[arg(long, value_name = "MEAN", allow_hyphen_values = true, requires = "sd", conflicts_with = "files")]
    mean: Option<f64>,
    /// The standard deviation of a run, in the same unit
    #[arg(long, value_name = "SD", allow_hyphen_values = true, requires = "mean", conflicts_with = "files")]
    sd: Option<f64>,
    /// The half-width of the interval, as a share of the mean, median or speedup: 0.01 or 1%
    #[arg(long, value_name = "R", allow_hyphen_values = true, default_value = "0.01", value_parser = fraction::share)]
    half_width: f64,
    /// The true speedup to find, 1.05 for 5 % faster [default: plan no power]
    #[arg(long, value_name = "DELTA", allow_hyphen_values = true)]
    speedup: Option<f64>,
    /// The probability of finding it
    #[arg(long, value_name = "POWER", allow_hyphen_values = true, default_value_t = 0.8)]
    power: f64,
    /// Look for a difference in either direction, not only for a speedup
    #[arg(long)]
    two_sided: bool,
    /// The confidence level of interval and test
    #[arg(long, value_name = "LEVEL", allow_hyphen_values = true, default_value = "0.95", value_parser = fraction::confidence_level)]
    confidence: ConfidenceLevel,
    /// The maximum number of runs of each version to consider
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(2..=1_000_000_000))]
    maximum: u64,
    /// How long a run takes, in seconds, to compute the hours
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true)]
    run_time: Option<f64>,
    /// How many hosts run in parallel
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    hosts: u64,
    #[command(flatten)]
    output: FormArgument,
}

#[derive(Debug, Serialize)]
struct Answer {
    schema_version: u32,
    benchmark: Option<String>,
    confidence: ConfidenceLevel,
    half_width: f64,
    speedup: Option<f64>,
    power: f64,
    plans: Vec<Plan>,
    caveats: Vec<Warning>,
}

/// What one goal takes.
#[derive(Debug, Serialize)]
struct Plan {
    goal: &'static str,
    method: &'static str,
    /// Runs of each version; absent where the goal is not reached.
    runs_each: Option<u64>,
    /// Of them those of the pilot.
    pilot_runs: Option<u64>,
    versions: u64,
    effort: Option<Effort>,
    /// Why there is no number.
    reason: Option<Reason>,
}

/// What the plans are made from.
enum Spread {
    Pilot { benchmark: String, baseline: Sample, candidate: Option<Sample> },
    Given { mean: f64, sd: f64 },
}

type Required = Result<RequiredRuns, RequiredError>;

pub(super) fn execute(arguments: &Arguments, console: &Console) -> Result<Exit, Failure> {
    let spread = arguments.spread(console)?;
    let answer = arguments.answer(&spread)?;
    print_answer(console, arguments.output.output, &answer, shown, sheet)
}

impl Arguments {
    fn spread(&self, console: &Console) -> Result<Spread, Failure> {
        if let (Some(mean), Some(sd)) = (self.mean, self.sd) {
            return Ok(Spread::Given { mean, sd });
        }
        if !self.pilot.is_given() {
            return Err(Failure::usage(anyhow!(
                "there is neither a pilot nor a mean with its standard deviation"
            ))
            .hint("give a file of samples, or --mean and --sd"));
        }
        let pilot = self.pilot.read(console)?;
        let sample = |named: &speedup_analysis::inquiry::NamedSample| {
            named.sample("the pilot").map_err(Failure::refused)
        };
        Ok(Spread::Pilot {
            baseline: sample(&pilot.baseline)?,
            candidate: pilot.candidate.as_ref().map(sample).transpose()?,
            benchmark: pilot.benchmark,
        })
    }

    fn answer(&self, spread: &Spread) -> Result<Answer, Failure> {
        // Also where no speedup is to be found: whoever gives a power means something by it.
        if !(self.power > 0.0 && self.power < 1.0) {
            let error = RequiredError::Power(PowerError::Power { power: self.power });
            return Err(Failure::refused(error).context("cannot plan runs"));
        }
        let mut caveats = Vec::new();
        let mut plans = Vec::new();
        for (goal, method, versions, required) in self.goals(spread) {
            let plan = match required {
                Ok(required) => {
                    warn(&mut caveats, &required.assumptions);
                    self.plan(goal, versions, &required)?
                }
                Err(
                    error @ (RequiredError::HalfWidth(_)
                    | RequiredError::Speedup(_)
                    | RequiredError::Power(_)),
                ) => {
                    return Err(Failure::refused(error).context("cannot plan runs"));
                }
                Err(error) if matches!(spread, Spread::Given { .. }) => {
                    return Err(Failure::refused(error).context("cannot plan runs"));
                }
                Err(error) => Plan { reason: Some(refusal(&error)), ..Plan::nothing(goal, method, versions) },
            };
            plans.push(plan);
        }
        if plans.iter().all(|plan| plan.reason.is_some()) {
            let sentence =
                plans.into_iter().find_map(|plan| plan.reason).map_or_else(String::new, |note| note.sentence);
            return Err(Failure::usage(anyhow!(sentence).context("nothing can be planned from the pilot")));
        }
        Ok(Answer {
            schema_version: SCHEMA_VERSION,
            benchmark: match spread {
                Spread::Pilot { benchmark, .. } => Some(benchmark.clone()),
                Spread::Given { .. } => None,
            },
            confidence: self.confidence,
            half_width: self.half_width,
            speedup: self.speedup,
            power: self.power,
            plans,
            caveats,
        })
    }

    /// Each goal with its method, the versions it is about, and what it takes.
    fn goals(&self, spread: &Spread) -> Vec<(&'static str, &'static str, u64, Required)> {
        let (r, level, maximum) = (self.half_width, self.confidence, self.maximum);
        let mut goals = Vec::new();
        let mean = match spread {
            Spread::Pilot { baseline, .. } => MeanPrecision::new(baseline),
            Spread::Given { mean, sd } => MeanPrecision::of_moments(*mean, *sd),
        };
        let mean = mean.and_then(|mean| mean.required(r, level, maximum));
        goals.push(("precision of the mean", MeanPrecision::NAME, 1, mean));
        let ratio = match spread {
            Spread::Pilot { candidate: None, .. } => None,
            Spread::Pilot { baseline, candidate: Some(candidate), .. } => {
                Some(RatioPrecision::new(baseline, candidate))
            }
            Spread::Given { mean, sd } => Some(RatioPrecision::of_moments(*mean, *sd)),
        };
        if let Some(ratio) = ratio {
            let ratio = ratio.and_then(|ratio| ratio.required(r, level, maximum));
            goals.push(("precision of the speedup", RatioPrecision::NAME, 2, ratio));
        }
        if let Spread::Pilot { baseline, .. } = spread {
            let median = MedianPrecision::new(baseline).and_then(|median| median.required(r, level, maximum));
            goals.push(("precision of the median", MedianPrecision::NAME, 1, median));
        }
        let Some(goal) = self.goal() else { return goals };
        let welch = match spread {
            Spread::Pilot { baseline, candidate, .. } => WelchDetection::new(baseline, candidate.as_ref()),
            Spread::Given { mean, sd } => WelchDetection::of_moments(*mean, *sd),
        };
        let welch = welch.and_then(|welch| welch.required(&goal));
        goals.push(("finding the speedup by the mean", WelchDetection::NAME, 2, welch));
        if let Spread::Pilot { baseline, candidate, .. } = spread {
            let rank_sum = RankSumDetection::new(baseline, candidate.as_ref());
            let rank_sum = rank_sum.and_then(|rank_sum| rank_sum.required(&goal));
            goals.push(("finding the speedup by the median", RankSumDetection::NAME, 2, rank_sum));
        }
        goals
    }

    fn goal(&self) -> Option<SpeedupGoal> {
        let speedup = self.speedup?;
        let alternative = match self.two_sided {
            true => Alternative::TwoSided,
            false if speedup < 1.0 => Alternative::Less,
            false => Alternative::Greater,
        };
        let (power, level, maximum) = (self.power, self.confidence, self.maximum);
        Some(SpeedupGoal { speedup, alternative, level, power, maximum })
    }

    fn plan(&self, goal: &'static str, versions: u64, required: &RequiredRuns) -> Result<Plan, Failure> {
        let nothing = Plan::nothing(goal, required.method, versions);
        let (needed, pilot) = match required.reach {
            Attainability::PilotSuffices { needed, pilot } | Attainability::MoreRuns { needed, pilot } => {
                (needed, pilot)
            }
            Attainability::Unreachable { maximum } => {
                let sentence =
                    format!("Not within {maximum} runs of each version: ask for less, or allow more.");
                let reason = Reason { code: ReasonCode::Unreachable.into(), sentence };
                return Ok(Plan { reason: Some(reason), ..nothing });
            }
        };
        let effort = self.run_time.map(|seconds| Effort::new(needed, versions, seconds, self.hosts));
        let effort = effort.transpose().map_err(Failure::refused)?;
        Ok(Plan { runs_each: Some(needed), pilot_runs: (pilot > 0).then_some(pilot), effort, ..nothing })
    }
}

impl Plan {
    fn nothing(goal: &'static str, method: &'static str, versions: u64) -> Self {
        Self { goal, method, runs_each: None, pilot_runs: None, versions, effort: None, reason: None }
    }
}

fn refusal(error: &RequiredError) -> Reason {
    let code = match error {
        RequiredError::HalfWidth(_) => ReasonCode::HalfWidth,
        RequiredError::SmallPilot { .. } => ReasonCode::SmallPilot,
        RequiredError::ConstantPilot => ReasonCode::ConstantPilot,
        RequiredError::NotPositive(_) | RequiredError::MeanNotPositive(_) => ReasonCode::NotPositive,
        RequiredError::Spread { .. } => ReasonCode::Spread,
        RequiredError::Speedup(_) => ReasonCode::Speedup,
        RequiredError::Ratio(_) => ReasonCode::NoRatio,
        RequiredError::Power(_) => ReasonCode::Power,
    };
    Reason { code: code.into(), sentence: error.in_a_sentence() }
}

fn warn(warnings: &mut Vec<Warning>, assumptions: &[PlanningAssumption]) {
    for warning in assumptions.iter().map(Warning::from) {
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
}

fn sheet(answer: &Answer) -> Sheet {
    let timed = answer.plans.iter().any(|plan| plan.effort.is_some());
    let mut headings = vec![
        words("goal", "goal"),
        number("runs_each", "runs of each"),
        number("pilot_runs", "pilot"),
        number("runs", "runs in all"),
    ];
    if timed {
        headings.extend([number("hosts", "hosts"), number("hours", "hours")]);
    }
    headings.extend([words("reason", "reason"), hidden("method")]);
    let count = |count: Option<u64>| count.map_or(SheetCell::Absent, SheetCell::Count);
    let row = |plan: &Plan| {
        let mut row = vec![
            SheetCell::text(plan.goal),
            count(plan.runs_each),
            count(plan.pilot_runs),
            count(plan.runs_each.map(|each| each.saturating_mul(plan.versions))),
        ];
        if timed {
            row.push(count(plan.effort.map(|effort| effort.hosts)));
            row.push(SheetCell::of(plan.effort.map(|effort| effort.hours)));
        }
        row.push(
            plan.reason.as_ref().map_or(SheetCell::Absent, |reason| SheetCell::text(reason.code.as_str())),
        );
        row.push(SheetCell::text(plan.method));
        row
    };
    Sheet { headings, rows: answer.plans.iter().map(row).collect() }
}

fn shown(answer: &Answer, paint: Paint) -> String {
    let to_find = answer.speedup.map_or_else(String::new, |speedup| {
        format!(", a true speedup of {} found with probability {}", exact(speedup), percent(answer.power))
    });
    let opening = format!(
        "For intervals of ±{} at confidence level {}{to_find}:",
        percent(answer.half_width),
        percent(answer.confidence.get())
    );
    let reasons = answer.plans.iter().filter_map(|plan| plan.reason.as_ref());
    let reasons = reasons.map(|reason| format!("{}: {}", reason.code, reason.sentence));
    let caveats = answer.caveats.iter().map(|caveat| format!("{}: {}", caveat.code, caveat.sentence));
    let methods = answer.plans.iter().map(|plan| format!("{}: {}", plan.goal, plan.method));
    let notes: Vec<String> = methods.chain(reasons).chain(caveats).collect();
    format!("{opening}\n\n{}\n\n{}", of_sheet(&sheet(answer), paint), notes.join("\n"))
}
