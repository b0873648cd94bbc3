//! What of a comparison is independent, by the plan's design: the runs; the pairs of a blocked order; or the hosts of
//! nested levels, or the boots where a single host was planned; or the runs within the classes of their hosts.
//!
//! Stages of different shapes are one experiment of units with different counts, which the methods by levels take with a
//! caveat: a unit is the mean of its boots' means, whatever their numbers (see [`speedup_statistics::levels::RandomEffects`]). Versions that are
//! built several times go by their builds, whatever the visits are: `builds`.

mod builds;

pub(super) use self::builds::OfBuild;
use crate::conclusion::{Reason, ReasonCode, ReportWord, Word};
use crate::study::gather::{evidence::NamedLocation, numbers::Number};
use serde::{Deserialize, Serialize};
use speedup_core::value::id::{RunIndex, VersionIndex};
use speedup_core::{independence::Sameness, plan::Place, plan::Plan, repetition::Order};
use speedup_statistics::test::block_pairs::{Block, BlockPairs};
use speedup_statistics::{levels::LevelTree, levels::LevelsError, sample::Sample};
use std::collections::BTreeMap;

speedup_core::words! {
    /// What is independent in a comparison, or a level of the spread.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum RunUnit {
        /// A run.
        Run = "run",
        /// A visit of a host.
        Visit = "visit",
        /// A host.
        Host = "host",
        /// A boot of a host.
        Boot = "boot",
        /// A build of a version.
        Build = "build",
        /// A block of a table of samples.
        Block = "block",
    }
    impl ReportWord::name;
}

/// How a comparison was made other than from independent runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DesignReport {
    /// What was compared.
    pub kind: DesignKind,
    /// The independent units; by builds, those of a version that is built once are its runs, visits or hosts.
    pub unit: Word<RunUnit>,
    /// The baseline's.
    pub baseline_units: u64,
    /// The candidate's; as many, where they are pairs.
    pub candidate_units: u64,
    /// Visits or blocks that lack a measured run of one of the two versions, or classes that do: counted, and left out.
    pub incomplete: u64,
}

/// What was compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DesignKind {
    /// Pairs: both versions in one visit of one host, or in one block of a table.
    Pairs,
    /// Means of hosts or boots, whose runs are not independent.
    Levels,
    /// Runs within the fingerprint classes of their hosts, never across.
    Classes,
    /// Means of builds, where a version was built several times.
    Builds,
}

/// A measured run of a cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) location: NamedLocation,
    pub(super) place: Place,
    /// Its build, where its version is built several times.
    pub(super) build: Option<OfBuild>,
    pub(super) value: f64,
}

impl Run {
    pub(super) fn new(plan: &Plan, location: NamedLocation, value: f64) -> Self {
        let of = plan.builds_of(plan.task(location.run).version());
        let number = plan.build_of(location.run).and_then(|build| of.binary_search(&build.0).ok());
        let build = number.filter(|_| of.len() > 1);
        let build = build.map(|number| OfBuild { number: number as u32, of: of.len() as u32 });
        Self { location, place: plan.place(location.run), build, value }
    }
}

/// What is independent where the design says nothing else.
pub(super) const INDEPENDENT_RUN: &str = "independent run";

/// What a comparison is made from.
#[derive(Clone, Debug)]
pub(crate) struct IndependentUnits {
    /// What is independent, of the baseline and of the candidate; of pairs in their order.
    pub(super) baseline: Sample,
    pub(super) candidate: Sample,
    pub(super) design: DesignReport,
    /// All runs by their levels, where they are nested.
    pub(super) levels: Option<[LevelTree; 2]>,
    /// The samples of each class, where the classes are blocks.
    pub(super) blocks: Vec<(Sample, Sample)>,
    /// The builds that the observations of each version are of, ascending, where they are of builds: all benchmarks share them.
    pub(super) builds: [Option<Vec<u32>>; 2],
}

/// The unit of pairs that the blocks of a table make.
pub(crate) const BLOCK: RunUnit = RunUnit::Block;

/// The runs of what is independent, of the baseline and of the candidate.
pub(super) struct UnitRuns {
    pub(super) unit: RunUnit,
    pub(super) dependence: UnitDependence,
    /// Of each unit the values of its runs.
    pub(super) sides: [Vec<Vec<f64>>; 2],
}

/// How the units of one version depend on those of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnitDependence {
    /// Not at all.
    Apart,
    /// They are pairs, in their order.
    Paired,
    /// They shared hosts in the visits of a blocked order, and are no pairs.
    Shared,
}

impl UnitRuns {
    /// The whole visits of a blocked order.
    fn of_visits(sides: [&[Run]; 2]) -> Result<Self, Reason> {
        let whole =
            visits(sides).into_values().filter_map(|[baseline, candidate]| Some((baseline?, candidate?)));
        let (baseline, candidate): (Vec<_>, Vec<_>) =
            whole.map(|(baseline, candidate)| (baseline.into_runs(), candidate.into_runs())).unzip();
        if baseline.is_empty() {
            return Err(Reason::new(
                ReasonCode::NoPairs,
                "No visit has measured runs of both versions: retry the runs that were lost",
            ));
        }
        Ok(Self { unit: RunUnit::Visit, dependence: UnitDependence::Paired, sides: [baseline, candidate] })
    }
}

impl DesignReport {
    /// What is independent, in words.
    pub fn noun(&self) -> &str {
        match self.kind {
            DesignKind::Pairs => "pair",
            DesignKind::Classes => INDEPENDENT_RUN,
            DesignKind::Levels | DesignKind::Builds => self.unit.as_str(),
        }
    }
}

impl IndependentUnits {
    /// What is independent, in words.
    pub(super) fn noun(&self) -> &str {
        self.design.noun()
    }

    /// The pairs within `blocks`, each a `unit`.
    pub(crate) fn of_pairs(blocks: &[Block], unit: RunUnit) -> Result<Self, Reason> {
        let pairs = BlockPairs::new(blocks).map_err(|error| Reason::of(ReasonCode::NoPairs, &error))?;
        let units = pairs.baseline().len() as u64;
        Ok(Self {
            baseline: pairs.baseline().clone(),
            candidate: pairs.candidate().clone(),
            design: DesignReport {
                kind: DesignKind::Pairs,
                unit: unit.into(),
                baseline_units: units,
                candidate_units: units,
                incomplete: pairs.incomplete() as u64,
            },
            levels: None,
            blocks: Vec::new(),
            builds: [None, None],
        })
    }

    /// Whether both samples are pairs.
    pub(super) fn are_pairs(&self) -> bool {
        self.design.kind == DesignKind::Pairs
    }

    /// What is independent, of the baseline and of the candidate; of pairs in their order.
    pub(crate) fn samples(&self) -> (&Sample, &Sample) {
        (&self.baseline, &self.candidate)
    }
}

/// What a class counts in a comparison within classes, nm/(n + m): least variance where all runs vary alike, as Mantel
/// and Haenszel weigh strata (Journal of the National Cancer Institute 22, 1959).
pub(super) fn class_weight(baseline: &Sample, candidate: &Sample) -> f64 {
    let (n, m) = (baseline.len() as f64, candidate.len() as f64);
    n * m / (n + m)
}

impl DesignKind {
    /// What a plan compares; none where runs are independent.
    pub fn of(plan: &Plan) -> Option<Self> {
        if has_builds(plan) {
            return Some(Self::Builds);
        }
        match Design::of(plan) {
            Design::Runs => None,
            Design::Classes => Some(Self::Classes),
            Design::Pairs => Some(Self::Pairs),
            Design::Levels { .. } => Some(Self::Levels),
        }
    }
}

/// The design of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Design {
    Runs,
    Classes,
    Pairs,
    Levels {
        /// Whether boots of one host are what is independent, as a single host was planned. Units never go down by themselves:
        /// runs that fell on one host of several that were planned are of too few hosts.
        by_boots: bool,
    },
}

impl Design {
    pub(super) fn of(plan: &Plan) -> Self {
        let experiment = &plan.experiment;
        let versions = experiment.versions.len() as u32;
        let repeats = |boots: u32, runs: u32| boots > 1 || runs > 1;
        if experiment.order == Order::Blocked && versions > 1 {
            Self::Pairs
        } else if plan.stages().iter().any(|stage| repeats(stage.shape.boots, stage.shape.runs)) {
            let by_boots = experiment.levels.hosts() <= 1;
            Self::Levels { by_boots }
        } else if experiment.independence.hosts == Sameness::Classes {
            Self::Classes
        } else {
            Self::Runs
        }
    }

    /// The runs of each independent unit of the two versions, in run order; `None` where the units are runs, within classes or not.
    pub(super) fn unit_runs(self, sides: [&[Run]; 2]) -> Option<Result<UnitRuns, Reason>> {
        if builds::are_levels(sides) {
            return Some(builds::unit_runs(self, sides));
        }
        match self {
            Self::Runs | Self::Classes => None,
            Self::Pairs => Some(UnitRuns::of_visits(sides)),
            Self::Levels { by_boots } => {
                let (unit, of) = of_hosts_or_boots(sides, by_boots);
                let sides = of.map(|units| units.into_iter().map(Unit::into_runs).collect());
                Some(Ok(UnitRuns { unit, dependence: UnitDependence::Apart, sides }))
            }
        }
    }

    /// The independent units of the two versions' runs, each in run order; `None` where these are the runs.
    pub(super) fn arrange(
        self,
        baseline: &[Run],
        candidate: &[Run],
    ) -> Option<Result<IndependentUnits, Reason>> {
        if builds::are_levels([baseline, candidate]) {
            return Some(builds::arrange(self, [baseline, candidate]));
        }
        match self {
            Self::Runs => None,
            Self::Classes => classes(baseline, candidate),
            Self::Pairs => Some(pairs(baseline, candidate)),
            Self::Levels { by_boots } => Some(levels(baseline, candidate, by_boots)),
        }
    }
}

/// Whether a version of the plan is built several times.
pub(super) fn has_builds(plan: &Plan) -> bool {
    let versions = (0..plan.experiment.versions.len() as u32).map(VersionIndex);
    versions.into_iter().any(|version| plan.builds_of(version).len() > 1)
}

/// What the order of a cell's runs is looked for in: the means of its visits, in their order, or of its rounds of builds; `None`
/// where each visit has one run, or there is none.
pub(super) fn in_order(runs: &[Run]) -> Option<Sample> {
    if let Some(rounds) = builds::rounds(runs) {
        return Sample::new(rounds).ok();
    }
    let visits = units(runs, |run| (run.place.group, run.location.host));
    (visits.len() < runs.len()).then_some(())?;
    Sample::new(visits.iter().map(|(_, unit)| unit.mean()).collect()).ok()
}

fn sample(values: impl Iterator<Item = f64>) -> Result<Sample, Reason> {
    Sample::new(values.collect()).map_err(|error| Reason::of(ReasonCode::NoSample, &error))
}

/// The runs of a unit, boot by boot.
#[derive(Default)]
struct Unit {
    boots: Vec<Vec<f64>>,
}

impl Unit {
    fn mean(&self) -> f64 {
        let of = |values: &mut dyn ExactSizeIterator<Item = f64>| {
            let count = values.len() as f64;
            values.sum::<f64>() / count
        };
        of(&mut self.boots.iter().map(|boot| of(&mut boot.iter().copied())))
    }

    fn into_runs(self) -> Vec<f64> {
        self.boots.into_iter().flatten().collect()
    }
}

/// The units that the runs belong to, in the order of their first runs.
fn units<K: Ord + Copy>(runs: &[Run], key: impl Fn(&Run) -> K) -> Vec<(K, Unit)> {
    let (mut numbers, mut boots) = (BTreeMap::new(), BTreeMap::new());
    let mut units: Vec<(K, Unit)> = Vec::new();
    for run in runs {
        let next = units.len();
        let number = *numbers.entry(key(run)).or_insert(next);
        if number == next {
            units.push((key(run), Unit::default()));
        }
        let unit = &mut units[number].1;
        let boot = (number, run.place.group, run.place.boot, run.location.boot);
        let boot = *boots.entry(boot).or_insert(unit.boots.len());
        if boot == unit.boots.len() {
            unit.boots.push(Vec::new());
        }
        unit.boots[boot].push(run.value);
    }
    units
}

/// The visits of a blocked order, with what each has of the two versions.
fn visits(sides: [&[Run]; 2]) -> BTreeMap<(RunIndex, u32), [Option<Unit>; 2]> {
    let mut visits: BTreeMap<_, [Option<Unit>; 2]> = BTreeMap::new();
    for (side, runs) in sides.into_iter().enumerate() {
        for (key, unit) in units(runs, |run| (run.place.group, run.location.host)) {
            visits.entry(key).or_default()[side] = Some(unit);
        }
    }
    visits
}

fn pairs(baseline: &[Run], candidate: &[Run]) -> Result<IndependentUnits, Reason> {
    let mean = |unit: Option<Unit>| unit.map(|unit| unit.mean());
    let block = |[baseline, candidate]: [Option<Unit>; 2]| Block {
        baseline: mean(baseline),
        candidate: mean(candidate),
    };
    let blocks: Vec<Block> = visits([baseline, candidate]).into_values().map(block).collect();
    IndependentUnits::of_pairs(&blocks, RunUnit::Visit)
}

/// Runs by the classes of their hosts; `None` where all are of one.
fn classes(baseline: &[Run], candidate: &[Run]) -> Option<Result<IndependentUnits, Reason>> {
    let mut by_class: BTreeMap<Option<Number>, [Vec<f64>; 2]> = BTreeMap::new();
    for (side, runs) in [baseline, candidate].into_iter().enumerate() {
        for run in runs {
            by_class.entry(run.location.class).or_default()[side].push(run.value);
        }
    }
    (by_class.len() > 1).then(|| {
        let all = by_class.len();
        let both = by_class.into_values().filter(|sides| sides.iter().all(|side| !side.is_empty()));
        let both: Vec<[Vec<f64>; 2]> = both.collect();
        if both.is_empty() {
            let sentence = "No class of hosts has runs of both versions: let both run on hosts of each class";
            return Err(Reason::new(ReasonCode::NoCommonClass, sentence));
        }
        let of = |side: usize| sample(both.iter().flat_map(|sides| sides[side].iter().copied()));
        let (baseline, candidate) = (of(0)?, of(1)?);
        let block = |[x, y]: &[Vec<f64>; 2]| Ok((sample(x.iter().copied())?, sample(y.iter().copied())?));
        Ok(IndependentUnits {
            design: DesignReport {
                kind: DesignKind::Classes,
                unit: RunUnit::Run.into(),
                baseline_units: baseline.len() as u64,
                candidate_units: candidate.len() as u64,
                incomplete: (all - both.len()) as u64,
            },
            levels: None,
            builds: [None, None],
            blocks: both.iter().map(block).collect::<Result<_, Reason>>()?,
            baseline,
            candidate,
        })
    })
}

/// The hosts of each side, or, where one has a single host and the plan allows it, their boots.
fn of_hosts_or_boots<const N: usize>(sides: [&[Run]; N], by_boots: bool) -> (RunUnit, [Vec<Unit>; N]) {
    let of_hosts = sides.map(|runs| alone(units(runs, |run| run.location.host)));
    if !by_boots || of_hosts.iter().all(|hosts| hosts.len() > 1) {
        return (RunUnit::Host, of_hosts);
    }
    let of_boots = of_hosts.map(|hosts| {
        let boots = hosts.into_iter().flat_map(|host| host.boots);
        boots.map(|boot| Unit { boots: vec![boot] }).collect::<Vec<_>>()
    });
    (RunUnit::Boot, of_boots)
}

fn levels(baseline: &[Run], candidate: &[Run], by_boots: bool) -> Result<IndependentUnits, Reason> {
    let (unit, units) = of_hosts_or_boots([baseline, candidate], by_boots);
    if units.iter().any(|units| units.len() < 2) {
        let [n, m] = units.each_ref().map(Vec::len);
        let unit = unit.name();
        let sentence = format!(
            "Runs of one {unit} are not independent, and the versions have runs of {n} and {m} of them: plan more {unit}s"
        );
        return Err(Reason::new(ReasonCode::OneUnit, sentence));
    }
    let means = units.each_ref().map(|units| sample(units.iter().map(Unit::mean)));
    let [baseline, candidate] = means;
    let (baseline, candidate) = (baseline?, candidate?);
    let [of_baseline, of_candidate] = units.each_ref().map(|units| tree(units));
    let no_levels = |error: LevelsError| Reason::of(ReasonCode::NoLevels, &error);
    Ok(IndependentUnits {
        design: DesignReport {
            kind: DesignKind::Levels,
            unit: unit.into(),
            baseline_units: baseline.len() as u64,
            candidate_units: candidate.len() as u64,
            incomplete: 0,
        },
        levels: Some([of_baseline.map_err(no_levels)?, of_candidate.map_err(no_levels)?]),
        blocks: Vec::new(),
        builds: [None, None],
        baseline,
        candidate,
    })
}

fn alone<K>(units: Vec<(K, Unit)>) -> Vec<Unit> {
    units.into_iter().map(|(_, unit)| unit).collect()
}

/// Runs in boots in units.
fn tree(units: &[Unit]) -> Result<LevelTree, LevelsError> {
    let boots = || units.iter().flat_map(|unit| &unit.boots);
    let counts = [
        boots().map(Vec::len).collect(),
        units.iter().map(|unit| unit.boots.len()).collect(),
        vec![units.len()],
    ];
    LevelTree::from_counts(boots().flatten().copied().collect(), &counts)
}
