//! Tails: the ratio of the quantiles of runs, by what is independent in the plan's design.
//!
//! * Runs that are independent, within the classes of their hosts or not, are compared as they are.
//! * Units of one run each (the visits of a blocked order, mostly) are runs that are independent. Where the versions shared hosts, they
//!   depend on each other in whatever way: each keeps half of the risk (Bonferroni).
//! * Hosts, boots, builds and visits of many runs each count by the quantile of their own runs, as they count in the headline by their
//!   mean: the ratio is of the medians over them, or of visits the median of the ratios within them.
//! * Where they have too few for that, each counts by one of its runs, drawn from the plan's seed. So many are independent, and no method
//!   that supposes nothing knows more of the quantile: the runs of a unit may all be alike.

use crate::conclusion::{Reason, ReasonCode, ReportWord, Word};
use crate::count::{counted, grouped};
use crate::study::design::{Design, Run, UnitDependence, UnitRuns};
use crate::study::{
    RunUnit, Study, two_sample::headline::HeadlineSpec, two_sample::headline::RatioFound,
    two_sample::interval::IntervalReport,
};
use speedup_core::{experiment::Experiment, repetition::Order, value::seed::below};
use speedup_statistics::ratio::{PairedMedianRatio, QuantileRatio, RatioError};
use speedup_statistics::{inference::ConfidenceLevel, sample::Sample, sample::SampleQuantile};
use std::fmt;

/// What a verdict on a quantile takes of the runs of a unit that counts by its own: an observation beyond it, on average.
fn runs_of_a_unit(probability: f64) -> usize {
    (1.0 / probability.min(1.0 - probability)).round() as usize
}

/// The ratio of the quantiles of the runs of units; none where the design says that the units are runs.
pub(super) fn of_units(
    study: &Study,
    probability: f64,
    sides: [&[Run]; 2],
    declared: &HeadlineSpec,
) -> Option<Result<(RatioFound, Word<RunUnit>), Reason>> {
    let found = |units: UnitRuns| {
        let UnitRuns { unit, dependence, sides } = units;
        let tail = Tail { probability, unit: unit.name(), dependence, declared };
        let found = tail.found(study, &sides)?;
        Ok((found, unit.into()))
    };
    Some(Design::of(&study.plan).unit_runs(sides)?.and_then(found))
}

/// A tail of units.
struct Tail<'t> {
    probability: f64,
    unit: &'static str,
    dependence: UnitDependence,
    declared: &'t HeadlineSpec,
}

impl Tail<'_> {
    fn found(&self, study: &Study, sides: &[Vec<Vec<f64>>; 2]) -> Result<RatioFound, Reason> {
        let enough = runs_of_a_unit(self.probability);
        let are_single = sides.each_ref().map(|units| units.iter().all(|runs| runs.len() == 1));
        let are_many = sides.each_ref().map(|units| typical_count(units) >= enough);
        if are_single == [true; 2] {
            let runs = sides.each_ref().map(|units| units.concat());
            return self.of_single(runs, None);
        }
        // A version that is built once has runs for units, beside the builds of the other.
        if [0, 1].iter().all(|side| are_single[*side] || are_many[*side]) {
            return self.of_quantiles(sides, are_single);
        }
        let seed = study.plan.experiment.seed;
        let drawn = [0, 1].map(|side| {
            let mut random = seed.child(&format!("tail of version {side}"));
            let one =
                |runs: &Vec<f64>| Some(*runs.get(below(runs.len().max(1) as u64, &mut random) as usize)?);
            sides[side].iter().filter_map(one).collect::<Vec<f64>>()
        });
        let unit = self.unit;
        self.of_single(drawn, Some(format!(
            "Each {unit} counts by one of its runs, drawn from the plan's seed, as the runs of one {unit} are not independent."
        )))
    }

    /// One run of each unit.
    fn of_single(&self, runs: [Vec<f64>; 2], note: Option<String>) -> Result<RatioFound, Reason> {
        let [over, under] = samples(runs)?;
        let of = |sample| SampleQuantile::new(sample, self.probability);
        let (over, under) = of(&over).zip(of(&under)).ok_or_else(Reason::no_values)?;
        let level = self.declared.level;
        let (ratio, level_of_each) = match self.dependence {
            UnitDependence::Apart => (QuantileRatio::new(over, under), level),
            UnitDependence::Paired | UnitDependence::Shared => {
                (QuantileRatio::dependent(over, under), half(level))
            }
        };
        let found = self.declared.judge(&ratio.map_err(|error| Reason::from(&error))?);
        let needed = SampleQuantile::runs_needed(self.probability, level_of_each);
        match (&found.interval, note) {
            (IntervalReport::Bounded { .. }, note) => Ok(RatioFound { note, ..found }),
            (IntervalReport::Missing { .. }, None) => Err(too_few_runs(self.probability, needed, level)),
            (IntervalReport::Missing { .. }, Some(_)) => Err(self.too_few_units(needed)),
        }
    }

    /// The quantile of the runs of each unit; of a version whose units are single runs the quantile of these.
    fn of_quantiles(&self, sides: &[Vec<Vec<f64>>; 2], are_single: [bool; 2]) -> Result<RatioFound, Reason> {
        let of_unit = |runs: &Vec<f64>| Sample::new(runs.clone()).ok()?.quantile(self.probability).ok();
        let [over, under] =
            samples(sides.each_ref().map(|units| units.iter().filter_map(of_unit).collect()))?;
        let refused = |error: RatioError| Reason::from(&error);
        let found = if self.dependence == UnitDependence::Paired {
            self.declared.judge(&PairedMedianRatio::new(&over, &under).map_err(refused)?)
        } else {
            let of = |sample, is_single| match is_single {
                true => SampleQuantile::new(sample, self.probability),
                false => Some(SampleQuantile::median(sample)),
            };
            let (over, under) =
                of(&over, are_single[0]).zip(of(&under, are_single[1])).ok_or_else(Reason::no_values)?;
            let ratio = match self.dependence {
                UnitDependence::Shared => QuantileRatio::dependent(over, under),
                UnitDependence::Apart | UnitDependence::Paired => QuantileRatio::new(over, under),
            };
            self.declared.judge(&ratio.map_err(refused)?)
        };
        let (unit, name) = (self.unit, named(self.probability));
        if let IntervalReport::Missing { .. } = found.interval {
            return Err(self.too_few_of_many(are_single));
        }
        let compared = match self.dependence {
            UnitDependence::Paired => format!("the ratio is the median over the {unit}s"),
            UnitDependence::Apart | UnitDependence::Shared => {
                format!("the ratio is of the medians over the {unit}s")
            }
        };
        let note = format!("Each {unit} counts by the {name} of its own runs, and {compared}.");
        Ok(RatioFound { note: Some(note), ..found })
    }

    fn too_few_of_many(&self, are_single: [bool; 2]) -> Reason {
        let (unit, name, level) = (self.unit, named(self.probability), self.declared.level);
        let of_each = if self.dependence == UnitDependence::Shared { half(level) } else { level };
        let needed = counted(SampleQuantile::runs_needed(0.5, of_each), unit);
        let versions = if are_single == [false; 2] {
            "each version".to_owned()
        } else {
            let runs = SampleQuantile::runs_needed(self.probability, of_each);
            format!("a version, and {} of one that is built once,", counted(runs, "run"))
        };
        let sentence = format!(
            "The interval of the {name} of a {unit} takes {needed} of {versions} at {level}: plan more"
        );
        Reason::new(ReasonCode::TooFewUnits, sentence)
    }

    fn too_few_units(&self, needed: u64) -> Reason {
        let (unit, name) = (self.unit, named(self.probability));
        let sentence = format!(
            "Runs of one {unit} are not independent: at {}, {name} takes {} of each version, or at least {} on each {unit}: plan more",
            self.declared.level,
            counted(needed, unit),
            counted(runs_of_a_unit(self.probability) as u64, "run"),
        );
        Reason::new(ReasonCode::TooFewUnits, sentence)
    }
}

/// So many runs are in at least half of the units.
fn typical_count(units: &[Vec<f64>]) -> usize {
    let mut counts: Vec<usize> = units.iter().map(Vec::len).collect();
    counts.sort_unstable();
    counts.get(counts.len() / 2).copied().unwrap_or(0)
}

/// Half of the risk.
fn half(level: ConfidenceLevel) -> ConfidenceLevel {
    ConfidenceLevel::new(1.0 - level.risk().get() / 2.0).unwrap_or(level)
}

fn samples([over, under]: [Vec<f64>; 2]) -> Result<[Sample; 2], Reason> {
    let of = |values| Sample::new(values).map_err(|_| Reason::no_values());
    Ok([of(over)?, of(under)?])
}

fn named(probability: f64) -> String {
    format!("p{}", hundredths(probability))
}

/// What a verdict on a quantile takes of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TailTakes {
    /// What is independent: `run`, `visit`, `host`, `boot` or `build`.
    pub unit: &'static str,
    /// So many of them, of each version.
    pub units: u64,
    /// Or fewer with several runs each: so many, of so many runs; none of single runs.
    pub or: Option<[u64; 2]>,
    /// Whether the plan has fewer than either.
    pub has_too_few: bool,
}

impl TailTakes {
    /// Of the quantile at `probability` in `experiment`; none where its confidence level is none.
    pub fn of(experiment: &Experiment, probability: f64) -> Option<Self> {
        let level = ConfidenceLevel::new(experiment.analysis.confidence).ok()?;
        let unit = experiment.unit_of_a_cell();
        let is_blocked = experiment.order == Order::Blocked && experiment.versions.len() > 1;
        let of_single = if is_blocked { half(level) } else { level };
        let (units, planned) =
            (SampleQuantile::runs_needed(probability, of_single), experiment.units_of_a_cell());
        let each = experiment.runs_of_a_cell() / planned.max(1);
        let or =
            (each > 1).then(|| [SampleQuantile::runs_needed(0.5, level), runs_of_a_unit(probability) as u64]);
        let is_enough = or.is_some_and(|[units, runs]| planned >= units && each >= runs);
        Some(Self { unit, units, or, has_too_few: planned < units && !is_enough })
    }
}

/// As in `takes 36 independent runs of each version` or `takes 36 hosts of each version, or 6 hosts of 10 runs each`.
impl fmt::Display for TailTakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { unit, units, or, has_too_few: _ } = *self;
        match or {
            None => write!(f, "takes {} independent runs of each version", grouped(units)),
            Some([fewer, runs]) => write!(
                f,
                "takes {} of each version, or {} of {} each",
                counted(units, unit),
                counted(fewer, unit),
                counted(runs, "run")
            ),
        }
    }
}

/// Why there is no interval of a quantile of single runs.
pub(super) fn too_few_runs(probability: f64, needed: u64, level: ConfidenceLevel) -> Reason {
    let sentence = format!(
        "The interval of p{} takes {} independent runs of each version at {level}: plan more, or ask for a quantile nearer to the \
         median",
        hundredths(probability),
        grouped(needed),
    );
    Reason::new(ReasonCode::TooFewRuns, sentence)
}

/// A probability as the number of a percentile.
pub(super) fn hundredths(probability: f64) -> String {
    let rounded = (probability * 1e8).round() / 1e6;
    rounded.to_string()
}
