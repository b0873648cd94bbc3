//! How many benchmarks, or how often to repeat: questions become those of the planning methods.

use serde::Serialize;
use speedup_analysis::study::ASSURANCE;
use speedup_core::value::hint::{Hinted, with_hint};
use speedup_proto::v1::{self, advise_request as asked};
use speedup_statistics::levels::{LevelTree, LevelVariance, RandomEffects, Reshaped};
use speedup_statistics::planning::required_repetitions::{
    MeanPrecision, MedianPrecision, RankSumDetection, RatioPrecision, RequiredError, RequiredRuns,
    SpeedupGoal, TrimmedDetection, WelchDetection,
};
use speedup_statistics::planning::{BudgetedPlan, Costs, RepetitionPlan, VarianceComponents};
use speedup_statistics::test::{Selection, benchmarks_by_wald, benchmarks_by_wilson};
use speedup_statistics::{
    inference::Alternative, inference::ConfidenceLevel, ratio::TrimShare, sample::Sample,
};
use tonic::Status;

use crate::{invalid, level};

/// The power where none is asked for.
const USUAL_POWER: f64 = 0.8;
/// The most runs of each version where no number is given: nobody makes more of a benchmark.
const USUAL_MAXIMUM: u64 = 10_000;
/// Values of a pilot: more would need no plan.
const MOST_PILOT_VALUES: usize = 1 << 20;

#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Advice {
    /// How many benchmarks to take.
    Benchmarks {
        confidence: ConfidenceLevel,
        /// By the formula of Touati 2010 §5; 0 at a proportion of 0 or 1, where it knows nothing.
        wald: u64,
        /// By the half-width of Wilson's interval.
        wilson: u64,
    },
    /// How often to repeat each version, by each method that the pilot allows.
    Repetitions {
        /// The numbers of runs.
        required: Vec<RequiredRuns>,
        /// Why other methods gave none.
        refused: Vec<String>,
    },
    /// How often to repeat each level.
    Levels {
        /// The mean of the pilot.
        mean: f64,
        /// The variances of its levels, the lowest first.
        levels: Vec<LevelVariance>,
        /// The repetitions of the levels below the highest that varies, the lowest first.
        repetitions: Vec<u64>,
        /// The same before rounding, for every level.
        unrounded: Vec<Option<f64>>,
        /// The highest level that varies, which is repeated as often as time allows.
        highest: usize,
        /// What the budget buys.
        within: Option<BudgetedPlan>,
    },
}

/// The advice to a request, made when its turn comes.
pub(crate) fn advice(request: v1::AdviseRequest) -> Result<Advice, Status> {
    let confidence = level(request.confidence)?.unwrap_or(ConfidenceLevel::USUAL);
    match request.question {
        None => Err(Status::invalid_argument("question: nothing is asked")),
        Some(asked::Question::Benchmarks(question)) => benchmarks(&question, confidence),
        Some(asked::Question::Repetitions(question)) => repetitions(question, confidence),
        Some(asked::Question::Levels(question)) => levels(question, confidence),
    }
}

fn benchmarks(question: &asked::Benchmarks, confidence: ConfidenceLevel) -> Result<Advice, Status> {
    let asked::Benchmarks { proportion, precision, population } = *question;
    let selection = match population {
        0 => Selection::Drawn,
        size => Selection::DrawnFromFinite { size },
    };
    let wald = benchmarks_by_wald(proportion, precision, confidence, selection);
    let wilson = benchmarks_by_wilson(proportion, precision, confidence, selection);
    Ok(Advice::Benchmarks {
        confidence,
        wald: wald.map_err(|error| invalid(&error))?,
        wilson: wilson.map_err(|error| invalid(&error))?,
    })
}

fn repetitions(question: asked::Repetitions, confidence: ConfidenceLevel) -> Result<Advice, Status> {
    let asked::Repetitions { baseline, candidate, goal, power, maximum } = question;
    let candidate =
        if candidate.is_empty() { None } else { Some(sample(candidate, "repetitions.candidate")?) };
    let baseline = sample(baseline, "repetitions.baseline")?;
    let maximum = maximum.unwrap_or(USUAL_MAXIMUM);
    let trimmed = TrimmedDetection::new(&baseline, candidate.as_ref(), TrimShare::USUAL);
    let trimmed = trimmed.map(|pilot| pilot.at_upper_limit(ASSURANCE));
    let by_method = match goal {
        None => return Err(Status::invalid_argument("repetitions.goal: nothing is asked")),
        Some(asked::repetitions::Goal::RelativeHalfWidth(goal)) => match &candidate {
            Some(candidate) => vec![
                trimmed.and_then(|pilot| pilot.precise(goal, confidence, maximum)),
                RatioPrecision::new(&baseline, candidate)
                    .and_then(|pilot| pilot.required(goal, confidence, maximum)),
            ],
            None => vec![
                trimmed.and_then(|pilot| pilot.precise(goal, confidence, maximum)),
                MeanPrecision::new(&baseline).and_then(|pilot| pilot.required(goal, confidence, maximum)),
                MedianPrecision::new(&baseline).and_then(|pilot| pilot.required(goal, confidence, maximum)),
            ],
        },
        Some(asked::repetitions::Goal::Speedup(speedup)) => {
            let goal = SpeedupGoal {
                speedup,
                alternative: Alternative::TwoSided,
                level: confidence,
                power: power.unwrap_or(USUAL_POWER),
                maximum,
            };
            let candidate = candidate.as_ref();
            // The published test is one-sided.
            let alternative = if speedup > 1.0 { Alternative::Greater } else { Alternative::Less };
            let as_published = SpeedupGoal { alternative, ..goal };
            vec![
                trimmed.and_then(|pilot| pilot.required(&goal)),
                WelchDetection::new(&baseline, candidate).and_then(|pilot| pilot.required(&goal)),
                RankSumDetection::new(&baseline, candidate).and_then(|pilot| pilot.required(&as_published)),
            ]
        }
    };
    by_each(by_method)
}

/// What the methods gave; the first refusal when none gave anything.
fn by_each(by_method: Vec<Result<RequiredRuns, RequiredError>>) -> Result<Advice, Status> {
    let mut required = Vec::new();
    let mut refused = Vec::new();
    for answer in by_method {
        match answer {
            Ok(runs) => required.push(runs),
            Err(error) => refused.push(invalid(&error)),
        }
    }
    match refused.first() {
        Some(first) if required.is_empty() => Err(first.clone()),
        Some(_) | None => {
            let refused = refused.iter().map(|status| status.message().to_owned()).collect();
            Ok(Advice::Repetitions { required, refused })
        }
    }
}

fn levels(question: asked::Levels, confidence: ConfidenceLevel) -> Result<Advice, Status> {
    let asked::Levels { values, counts, costs, budget } = question;
    at_most_values(values.len(), "levels.values")?;
    let counts: Vec<usize> = counts.into_iter().map(|count| count as usize).collect();
    let pilot = LevelTree::balanced(values, &counts).map_err(|error| invalid(&error))?;
    let effects = RandomEffects::new(&pilot);
    let components = VarianceComponents::from_pilot(&effects, &Reshaped::new(&pilot));
    let costs = Costs::new(costs).map_err(|error| invalid(&error))?;
    let plan = RepetitionPlan::new(components, costs).map_err(|error| invalid(&error))?;
    let within = budget.map(|budget| plan.within(budget, confidence)).transpose();
    Ok(Advice::Levels {
        mean: effects.mean(),
        levels: effects.levels().to_vec(),
        repetitions: plan.repetitions().to_vec(),
        unrounded: plan.unrounded().to_vec(),
        highest: plan.highest(),
        within: within.map_err(|error| invalid(&error))?,
    })
}

fn sample(values: Vec<f64>, field: &str) -> Result<Sample, Status> {
    at_most_values(values.len(), field)?;
    Sample::new(values)
        .map_err(|error| Status::invalid_argument(with_hint(format_args!("{field}: {error}"), error.hint())))
}

fn at_most_values(values: usize, field: &str) -> Result<(), Status> {
    if values > MOST_PILOT_VALUES {
        return Err(Status::invalid_argument(format!(
            "{field}: {values} values of a pilot are more than the {MOST_PILOT_VALUES} that are taken"
        )));
    }
    Ok(())
}
