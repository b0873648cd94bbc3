//! `speedup samples repetitions`: how many runs a precision or a power takes, from a pilot or from a mean and a spread.

use anyhow::anyhow;
use clap::Args;
use serde::Serialize;
use speedup_analysis::study::{ASSURANCE, POWER};
use speedup_analysis::{
    conclusion::Reason, conclusion::ReasonCode, conclusion::Warning, count::about, count::counted,
    count::percent,
};
use speedup_core::value::hint::Hinted;
use speedup_statistics::inference::{Alternative, ConfidenceLevel};
use speedup_statistics::planning::power::PowerError;
use speedup_statistics::planning::required_repetitions::{
    Attainability, Effort, MeanPrecision, MedianPrecision, PlanningAssumption, RankSumDetection,
    RatioPrecision, RequiredError, RequiredRuns, SpeedupGoal, TrimmedDetection, WelchDetection,
};
use speedup_statistics::{inference::LevelError, ratio::TrimShare, sample::Sample};
use std::collections::BTreeMap;

use super::pilot::{Pilot, PilotArguments};
use crate::{
    arguments::FormArgument, arguments::fraction, command::print_answer, console::Console, console::Paint,
    console::render::table::of_sheet, exit::Exit, exit::failure::Failure,
};
use speedup_report::facts::{Sheet, SheetCell, exact, hidden, number, words};

/// The version of the JSON value; it changes when a field changes its name or meaning.
const SCHEMA_VERSION: u32 = 1;

/// Runs of each version at which the curve is shown: in steps of about the root of two.
const CURVE: [u64; 22] =
    [4, 5, 6, 8, 10, 14, 20, 28, 40, 56, 80, 112, 160, 224, 320, 450, 640, 900, 1_300, 1_800, 2_500, 5_000];
/// So many runs are always shown.
const LEAST_SHOWN: u64 = 56;
/// Characters of the longest bar of the curve.
const LONGEST_BAR: f64 = 24.0;

/// How many runs a precision needs, how many to find a speedup, and what each number of runs finds
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n\
    \x20 speedup samples repetitions last --benchmark sort --speedup 2% --hosts 16\n\
    \x20 speedup samples repetitions pilot.txt --half-width 1% --speedup 1.05\n\
    \x20 speedup samples repetitions --mean 2.1 --sd 0.08 --run-time 36 --hosts 10\n\n\
    Plan from a pilot of the baseline, from pilots of baseline and candidate, from an experiment, or from a mean and a \
    standard deviation. The first goals are those of the usual report, and are planned with an upper limit of the \
    pilot's spread. Tests are two-sided, as in reports, except for the published one.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    pilot: PilotArguments,
    /// The mean of a run, instead of a pilot
    #[arg(long, value_name = "MEAN", allow_hyphen_values = true, requires = "sd", conflicts_with = "files")]
    #[arg(help_heading = "Instead of a pilot")]
    mean: Option<f64>,
    /// The standard deviation of a run, in the same unit
    #[arg(long, value_name = "SD", allow_hyphen_values = true, requires = "mean", conflicts_with = "files")]
    #[arg(help_heading = "Instead of a pilot")]
    sd: Option<f64>,
    /// The half-width of the interval, as a share of the mean, median or speedup: 0.01 or 1%
    #[arg(long, value_name = "R", allow_hyphen_values = true, default_value = "0.01", value_parser = fraction::share)]
    half_width: f64,
    /// The true speedup to find, 1.05 or 5% for 5 % faster [default: plan no power]
    #[arg(long, value_name = "DELTA", allow_hyphen_values = true, value_parser = speedup)]
    speedup: Option<f64>,
    /// The probability of finding it
    #[arg(long, value_name = "POWER", allow_hyphen_values = true, default_value_t = 0.8)]
    power: f64,
    /// The number of benchmarks in the suite: each has as many runs, and each is to be found after Holm's adjustment for all
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    benchmarks: u64,
    /// The confidence level of interval and test
    #[arg(long, value_name = "LEVEL", allow_hyphen_values = true, default_value = "0.95", value_parser = fraction::confidence_level)]
    confidence: ConfidenceLevel,
    /// The maximum number of runs of each version to consider
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(2..=1_000_000_000))]
    maximum: u64,
    /// How long a run takes, in seconds, to compute the hours [default: the mean of an experiment's runs]
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
    benchmarks: u64,
    /// The standard deviation of log times, trimmed: that of the pilot, and the limit that is planned with.
    spread: Option<f64>,
    planned_spread: Option<f64>,
    plans: Vec<Plan>,
    /// The smallest change that is found with a probability of 80 %, by the number of runs.
    curve: Vec<Plan>,
    caveats: Vec<Warning>,
}

/// What is to be reached.
#[derive(Clone, Copy, Debug, Serialize)]
struct Goal {
    goal: &'static str,
    /// The report whose interval or test is planned: by its centre.
    report: &'static str,
    /// The half-width or the change that is the goal, as a share.
    change: f64,
    method: &'static str,
    versions: u64,
}

/// What one goal takes.
#[derive(Debug, Serialize)]
struct Plan {
    #[serde(flatten)]
    goal: Goal,
    /// Runs of each version; absent where the goal is not reached.
    runs_each: Option<u64>,
    /// Of them those of the pilot.
    pilot_runs: Option<u64>,
    effort: Option<Effort>,
    /// Why there is no number.
    reason: Option<Reason>,
}

/// What the plans are made from.
enum Spread {
    Pilot {
        benchmark: String,
        baseline: Sample,
        candidate: Option<Sample>,
        /// Whether runs of one place in both samples are pairs.
        are_pairs: bool,
        is_in_seconds: bool,
        share: TrimShare,
    },
    Given {
        mean: f64,
        sd: f64,
    },
}

type RequiredResult = Result<RequiredRuns, RequiredError>;

const BY_TRIMMED: &str = "trimmed (default)";
const BY_MEAN: &str = "mean";
const BY_MEDIAN: &str = "median";
const AS_PUBLISHED: &str = "Speedup-Test, one-sided";

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
        let mut pilot = self.pilot.read(console)?;
        let are_pairs = keep_pairs(&mut pilot);
        let sample = |named: &speedup_analysis::inquiry::NamedSample| {
            named.sample("the pilot").map_err(Failure::refused)
        };
        Ok(Spread::Pilot {
            baseline: sample(&pilot.baseline)?,
            candidate: pilot.candidate.as_ref().map(sample).transpose()?,
            benchmark: pilot.benchmark,
            are_pairs,
            is_in_seconds: pilot.is_in_seconds,
            share: pilot.share,
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
        let level = self.level_of_each().map_err(Failure::refused)?;
        let trimmed = spread.trimmed();
        let planned = trimmed.clone().map(|trimmed| trimmed.at_upper_limit(ASSURANCE));
        let seconds = self.run_time.or(spread.seconds());
        for (goal, required) in self.goals(spread, &planned, level) {
            let plan = match required {
                Ok(required) => {
                    warn(&mut caveats, &required.assumptions);
                    self.plan(goal, &required, seconds)?
                }
                // What is wrong with an argument is refused, and what is wrong with a pilot is noted.
                Err(
                    error @ (RequiredError::HalfWidth(_)
                    | RequiredError::Speedup(_)
                    | RequiredError::Power(_)),
                ) => return Err(Failure::refused(error).context("cannot plan runs")),
                Err(error) if matches!(spread, Spread::Given { .. }) => {
                    return Err(Failure::refused(error).context("cannot plan runs"));
                }
                Err(error) => Plan { reason: Some(refusal(&error)), ..Plan::nothing(goal) },
            };
            plans.push(plan);
        }
        if plans.iter().all(|plan| plan.reason.is_some()) {
            let sentence =
                plans.into_iter().find_map(|plan| plan.reason).map_or_else(String::new, |note| note.sentence);
            return Err(Failure::usage(anyhow!(sentence).context("nothing can be planned from the pilot")));
        }
        let planned = planned.ok();
        let curve = planned.as_ref().map(|planned| self.curve(planned, level, seconds)).transpose()?;
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
            benchmarks: self.benchmarks,
            spread: trimmed.ok().map(|trimmed| trimmed.spread()),
            planned_spread: planned.map(|planned| planned.spread()),
            plans,
            curve: curve.unwrap_or_default(),
            caveats,
        })
    }

    /// The level of a test that is found in a family, if its p-value is the least (Holm).
    fn level_of_each(&self) -> Result<ConfidenceLevel, LevelError> {
        match self.benchmarks {
            1 => Ok(self.confidence),
            benchmarks => ConfidenceLevel::new(1.0 - self.confidence.risk().get() / benchmarks as f64),
        }
    }

    /// All goals, those of the usual report first, and what they take.
    fn goals(
        &self,
        spread: &Spread,
        planned: &Result<TrimmedDetection, RequiredError>,
        of_each: ConfidenceLevel,
    ) -> Vec<(Goal, RequiredResult)> {
        let (r, level, maximum) = (self.half_width, self.confidence, self.maximum);
        let by_trimmed = Goal {
            goal: "precision of the speedup",
            report: BY_TRIMMED,
            change: r,
            method: TrimmedDetection::NAME_OF_PRECISION,
            versions: 2,
        };
        let two_sided = self.speedup.map(|speedup| SpeedupGoal {
            speedup,
            alternative: Alternative::TwoSided,
            level: of_each,
            power: self.power,
            maximum,
        });
        let precise = planned.clone().and_then(|planned| planned.precise(r, level, maximum));
        let mut goals = vec![(by_trimmed, precise)];
        if let Some(goal) = &two_sided {
            let found = planned.clone().and_then(|planned| planned.required(goal));
            goals.push((by_trimmed.finding(goal, TrimmedDetection::NAME), found));
        }
        // The other tests and intervals are of independent runs.
        let (mean, ratio, welch) = match spread {
            Spread::Pilot { are_pairs: true, .. } => return goals,
            Spread::Pilot { baseline, candidate, .. } => (
                MeanPrecision::new(baseline),
                candidate.as_ref().map(|candidate| RatioPrecision::new(baseline, candidate)),
                WelchDetection::new(baseline, candidate.as_ref()),
            ),
            Spread::Given { mean, sd } => (
                MeanPrecision::from_moments(*mean, *sd),
                Some(RatioPrecision::from_moments(*mean, *sd)),
                WelchDetection::from_moments(*mean, *sd),
            ),
        };
        let by_mean = Goal { report: BY_MEAN, method: RatioPrecision::NAME, ..by_trimmed };
        let of_mean =
            Goal { goal: "precision of the mean", method: MeanPrecision::NAME, versions: 1, ..by_mean };
        goals.push((of_mean, mean.and_then(|mean| mean.required(r, level, maximum))));
        if let Some(ratio) = ratio {
            goals.push((by_mean, ratio.and_then(|ratio| ratio.required(r, level, maximum))));
        }
        if let Spread::Pilot { baseline, .. } = spread {
            let (goal, method) = ("precision of the median", MedianPrecision::NAME);
            let of_median = Goal { goal, report: BY_MEDIAN, method, ..of_mean };
            let median = MedianPrecision::new(baseline).and_then(|median| median.required(r, level, maximum));
            goals.push((of_median, median));
        }
        let Some(goal) = two_sided else { return goals };
        goals.push((
            by_mean.finding(&goal, WelchDetection::NAME),
            welch.and_then(|welch| welch.required(&goal)),
        ));
        if let Spread::Pilot { baseline, candidate, .. } = spread {
            let alternative = if goal.speedup < 1.0 { Alternative::Less } else { Alternative::Greater };
            let goal = SpeedupGoal { alternative, ..goal };
            let ranks =
                RankSumDetection::new(baseline, candidate.as_ref()).and_then(|ranks| ranks.required(&goal));
            let published = Goal { report: AS_PUBLISHED, ..by_mean };
            goals.push((published.finding(&goal, RankSumDetection::NAME), ranks));
        }
        goals
    }

    /// The smallest changes, from the fewest runs that show any to those that find the half of what is asked for.
    fn curve(
        &self,
        planned: &TrimmedDetection,
        level: ConfidenceLevel,
        seconds: Option<f64>,
    ) -> Result<Vec<Plan>, Failure> {
        let enough = self.speedup.map_or(self.half_width, |speedup| (speedup - 1.0).abs()) / 2.0;
        let mut curve = Vec::new();
        for runs in CURVE {
            let Some(smallest) = planned.with_runs(runs).smallest(level.risk(), POWER) else {
                continue;
            };
            let (report, method, change) = (BY_TRIMMED, TrimmedDetection::NAME, smallest - 1.0);
            let goal = Goal { goal: "smallest change", report, change, method, versions: 2 };
            let effort = self.effort(runs, 2, seconds)?;
            curve.push(Plan { runs_each: Some(runs), effort, ..Plan::nothing(goal) });
            if change <= enough && runs >= LEAST_SHOWN {
                break;
            }
        }
        Ok(curve)
    }

    fn effort(&self, runs: u64, versions: u64, seconds: Option<f64>) -> Result<Option<Effort>, Failure> {
        let effort = |seconds| Effort::new(runs, versions * self.benchmarks, seconds, self.hosts);
        seconds.map(effort).transpose().map_err(Failure::refused)
    }

    fn plan(&self, goal: Goal, required: &RequiredRuns, seconds: Option<f64>) -> Result<Plan, Failure> {
        let nothing = Plan::nothing(goal);
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
        let effort = self.effort(needed, goal.versions, seconds)?;
        Ok(Plan { runs_each: Some(needed), pilot_runs: (pilot > 0).then_some(pilot), effort, ..nothing })
    }
}

/// Leaves of blocked versions the blocks that have both, in the same order; false where the pilot has no blocks.
fn keep_pairs(pilot: &mut Pilot) -> bool {
    let Some(candidate) = &mut pilot.candidate else { return false };
    let baseline = &mut pilot.baseline;
    if baseline.blocks.is_empty() || candidate.blocks.is_empty() {
        return false;
    }
    let blocks = std::mem::take(&mut candidate.blocks);
    let mut of_candidate: BTreeMap<_, _> = blocks.into_iter().zip(candidate.runs.drain(..)).collect();
    // Runs of no block have nothing in common.
    of_candidate.remove(&None);
    let blocks = std::mem::take(&mut baseline.blocks);
    for (block, run) in blocks.into_iter().zip(std::mem::take(&mut baseline.runs)) {
        if let Some(paired) = of_candidate.remove(&block) {
            baseline.runs.push(run);
            candidate.runs.push(paired);
        }
    }
    true
}

impl Goal {
    /// To find a speedup by the same report.
    fn finding(self, goal: &SpeedupGoal, method: &'static str) -> Self {
        Self { goal: "finding the speedup", change: (goal.speedup - 1.0).abs(), method, ..self }
    }
}

impl Plan {
    fn nothing(goal: Goal) -> Self {
        Self { goal, runs_each: None, pilot_runs: None, effort: None, reason: None }
    }
}

impl Spread {
    fn trimmed(&self) -> Result<TrimmedDetection, RequiredError> {
        match self {
            Self::Pilot { baseline, candidate: Some(candidate), are_pairs: true, share, .. } => {
                TrimmedDetection::from_pairs(baseline, candidate, *share)
            }
            Self::Pilot { baseline, candidate, share, .. } => {
                TrimmedDetection::new(baseline, candidate.as_ref(), *share)
            }
            Self::Given { mean, sd } => TrimmedDetection::from_moments(*mean, *sd),
        }
    }

    /// How long a run takes, where that is known.
    fn seconds(&self) -> Option<f64> {
        match self {
            Self::Pilot { baseline, is_in_seconds, .. } => is_in_seconds.then(|| baseline.mean()),
            Self::Given { .. } => None,
        }
    }
}

/// A speedup, as a factor or as a change of the baseline's time over the candidate's: 1.05 and 5% are the same.
fn speedup(text: &str) -> Result<f64, String> {
    let is_change = text.trim().ends_with('%');
    let number = fraction::fraction(text).map(|number| if is_change { 1.0 + number } else { number });
    number.ok_or_else(|| "a speedup is a factor or a change, such as 1.05 or 5%".to_owned())
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
    rows(answer.plans.iter().chain(&answer.curve), answer)
}

fn rows<'a>(plans: impl Iterator<Item = &'a Plan>, answer: &Answer) -> Sheet {
    let timed = answer.plans.iter().any(|plan| plan.effort.is_some());
    let mut headings = vec![
        words("goal", "goal"),
        words("report", "report by"),
        number("change", "of"),
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
        let each = plan.goal.versions * answer.benchmarks;
        let mut row = vec![
            SheetCell::text(plan.goal.goal),
            SheetCell::text(plan.goal.report),
            SheetCell::Shown(plan.goal.change, about(plan.goal.change)),
            count(plan.runs_each),
            count(plan.pilot_runs),
            count(plan.runs_each.map(|runs| runs.saturating_mul(each))),
        ];
        if timed {
            row.push(count(plan.effort.map(|effort| effort.hosts)));
            row.push(SheetCell::optional(plan.effort.map(|effort| effort.hours)));
        }
        row.push(
            plan.reason.as_ref().map_or(SheetCell::Absent, |reason| SheetCell::text(reason.code.as_str())),
        );
        row.push(SheetCell::text(plan.goal.method));
        row
    };
    Sheet { headings, rows: plans.map(row).collect() }
}

/// The curve, with bars as long as the changes.
fn curve(answer: &Answer) -> Sheet {
    let mut sheet = rows(answer.curve.iter(), answer);
    sheet.headings.push(words("bar", ""));
    let largest = answer.curve.first().map_or(1.0, |plan| plan.goal.change);
    for (row, plan) in sheet.rows.iter_mut().zip(&answer.curve) {
        let length = (LONGEST_BAR * plan.goal.change / largest).ceil().min(LONGEST_BAR);
        row.push(SheetCell::text("#".repeat(length as usize)));
    }
    sheet
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
    let family = match answer.benchmarks {
        1 => String::new(),
        benchmarks => format!(", adjusted for {}", counted(benchmarks, "benchmark")),
    };
    let of_curve =
        format!("Change that the usual report finds with probability {}, two-sided{family}:", percent(POWER));
    let spread = answer.spread.zip(answer.planned_spread).map(|(spread, planned)| {
        let mut line = format!("spread of a run: {}", about(spread));
        if planned != spread {
            let beyond = percent(1.0 - ASSURANCE);
            line += &format!(
                ", planned with {}, which the true one exceeds with probability {beyond}",
                about(planned)
            );
        }
        line
    });
    let reasons = answer.plans.iter().filter_map(|plan| plan.reason.as_ref());
    let reasons = reasons.map(|reason| format!("{}: {}", reason.code, reason.sentence));
    let caveats = answer.caveats.iter().map(|caveat| format!("{}: {}", caveat.code, caveat.sentence));
    let methods = answer.plans.iter().map(|plan| &plan.goal);
    let methods = methods.map(|goal| format!("{}, {}: {}", goal.goal, goal.report, goal.method));
    let notes: Vec<String> = spread.into_iter().chain(methods).chain(reasons).chain(caveats).collect();
    let plans = of_sheet(&rows(answer.plans.iter(), answer), paint);
    let drawn = if answer.curve.is_empty() {
        String::new()
    } else {
        format!("{of_curve}\n\n{}\n\n", of_sheet(&curve(answer), paint).trim_end())
    };
    format!("{opening}\n\n{plans}\n\n{drawn}{}", notes.join("\n"))
}
