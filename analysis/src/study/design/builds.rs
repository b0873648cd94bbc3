//! Versions that are built several times: the build is the highest level, above host, boot and run (Kalibera 2012 §3, §6.1).
//!
//! All runs of a build share what that compilation happened to make, layout above all, so that what is independent of a
//! version is its builds: the tests are of the means of their hosts' means, and the interval is that by levels. A version that
//! is built once, or not at all, counts by what the design says without builds, and what is found of it holds for that build.
//!
//! A blocked order pairs the builds as well, since the i-th visit uses the builds i mod n and i mod m of the versions: visits
//! whose builds agree modulo gcd(n, m) hang together, and no others. These are the pairs. Where gcd(n, m) is 1 all of them hang
//! together and nothing is a pair; then the builds of each version are compared as if the visits were not shared. The builds
//! of one version are independent all the same, and what the versions have in common in a visit makes their difference vary
//! less than two independent versions' would: the level is kept, and what the pairs would have gained is not.

use super::{
    Design, DesignKind, DesignReport, IndependentUnits, Run, Unit, UnitDependence, UnitRuns, alone, sample,
    units,
};
use crate::{conclusion::Reason, conclusion::ReasonCode, study::RunUnit};
use speedup_statistics::levels::{LevelTree, LevelsError};
use std::collections::BTreeMap;

/// Of which build of its version a run is, where there are several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::study) struct OfBuild {
    /// The place of the build among those of its version.
    pub(in crate::study) number: u32,
    /// How many the version has.
    pub(in crate::study) of: u32,
}

/// What is independent of one version.
struct Side {
    means: Vec<f64>,
    /// The builds that they are of, where they are.
    builds: Option<Vec<u32>>,
    levels: LevelTree,
}

/// Whether a version of the comparison is built several times.
pub(super) fn are_levels(sides: [&[Run]; 2]) -> bool {
    sides.iter().any(|runs| is_built(runs))
}

fn is_built(runs: &[Run]) -> bool {
    runs.iter().any(|run| run.build.is_some())
}

/// The comparison by builds, of whatever design the visits are.
pub(super) fn arrange(design: Design, sides: [&[Run]; 2]) -> Result<IndependentUnits, Reason> {
    if design == Design::Pairs && !are_coprime(sides) {
        return pairs(sides);
    }
    let [baseline, candidate] = sides.map(|runs| Side::of(design, runs));
    let (baseline, candidate) = (baseline?, candidate?);
    Ok(IndependentUnits {
        design: report(baseline.means.len(), candidate.means.len(), 0),
        baseline: sample(baseline.means.into_iter())?,
        candidate: sample(candidate.means.into_iter())?,
        levels: Some([baseline.levels, candidate.levels]),
        blocks: Vec::new(),
        builds: [baseline.builds, candidate.builds],
    })
}

/// The runs of each build, of whatever design the visits are; of a version that is built once, of what the design says.
pub(super) fn unit_runs(design: Design, sides: [&[Run]; 2]) -> Result<UnitRuns, Reason> {
    let unit = RunUnit::Build;
    if design == Design::Pairs && !are_coprime(sides) {
        let runs = |visits: Vec<Unit>| visits.into_iter().flat_map(Unit::into_runs).collect();
        let pairs = whole_pairs(sides)?.0.into_values().map(|[x, y]| (runs(x), runs(y)));
        let (baseline, candidate): (Vec<_>, Vec<_>) = pairs.unzip();
        return Ok(UnitRuns { unit, dependence: UnitDependence::Paired, sides: [baseline, candidate] });
    }
    let of = |runs: &[Run]| match is_built(runs) {
        true => {
            let values = |runs: Vec<Run>| runs.iter().map(|run| run.value).collect();
            by_key(runs, |run| run.build.map(|build| build.number)).into_values().map(values).collect()
        }
        false => of_one_build(design, runs).into_iter().map(Unit::into_runs).collect(),
    };
    let dependence = if design == Design::Pairs { UnitDependence::Shared } else { UnitDependence::Apart };
    Ok(UnitRuns { unit, dependence, sides: sides.map(of) })
}

/// What is independent of a version that is built once.
fn of_one_build(design: Design, runs: &[Run]) -> Vec<Unit> {
    match design {
        Design::Runs | Design::Classes => {
            runs.iter().map(|run| Unit { boots: vec![vec![run.value]] }).collect()
        }
        Design::Pairs => alone(units(runs, |run| (run.place.group, run.location.host))),
        Design::Levels { by_boots } => {
            super::of_hosts_or_boots([runs], by_boots).1.into_iter().flatten().collect()
        }
    }
}

impl Side {
    fn of(design: Design, runs: &[Run]) -> Result<Self, Reason> {
        if is_built(runs) {
            return Self::of_builds(runs);
        }
        let units = of_one_build(design, runs);
        let levels = super::tree(&units).map_err(|error| no_levels(&error))?;
        Ok(Self { means: units.iter().map(Unit::mean).collect(), builds: None, levels })
    }

    fn of_builds(runs: &[Run]) -> Result<Self, Reason> {
        let (mut means, mut builds) = (Vec::new(), Vec::new());
        let mut counts = [Vec::new(), Vec::new(), Vec::new()];
        let mut values = Vec::with_capacity(runs.len());
        for (build, runs) in by_key(runs, |run| run.build.map(|build| build.number)) {
            let hosts = alone(units(&runs, |run| run.location.host));
            means.push(mean(hosts.iter().map(Unit::mean)));
            builds.extend(build);
            let boots = || hosts.iter().flat_map(|host| &host.boots);
            counts[0].extend(boots().map(Vec::len));
            counts[1].extend(hosts.iter().map(|host| host.boots.len()));
            counts[2].push(hosts.len());
            values.extend(boots().flatten().copied());
        }
        if means.len() < 2 {
            return Err(one_build(
                "Runs of one build are not independent observations of their version, and a version that is built \
                 several times has measured runs of one build only: take at least as many visits as builds",
            ));
        }
        let [of_boots, of_hosts, of_builds] = counts;
        let counts = [of_boots, of_hosts, of_builds, vec![means.len()]];
        let levels = LevelTree::from_counts(values, &counts).map_err(|error| no_levels(&error))?;
        Ok(Self { means, builds: Some(builds), levels })
    }
}

/// How many builds each version has; 0 where it is built once.
fn builds_of(sides: [&[Run]; 2]) -> [u32; 2] {
    sides.map(|runs| runs.iter().find_map(|run| run.build).map_or(0, |build| build.of))
}

/// Whether all visits of a blocked order hang together through their builds.
fn are_coprime(sides: [&[Run]; 2]) -> bool {
    let [n, m] = builds_of(sides);
    greatest_common_divisor(n, m) == 1
}

/// Pairs of builds, each the mean over the visits that hang together; visits that lack a version are left out.
fn pairs(sides: [&[Run]; 2]) -> Result<IndependentUnits, Reason> {
    let (of_pairs, incomplete) = whole_pairs(sides)?;
    let of_side =
        |side: usize| sample(of_pairs.values().map(|sides| mean(sides[side].iter().map(Unit::mean))));
    let builds: Vec<u32> = of_pairs.keys().copied().collect();
    Ok(IndependentUnits {
        design: DesignReport { kind: DesignKind::Pairs, ..report(builds.len(), builds.len(), incomplete) },
        baseline: of_side(0)?,
        candidate: of_side(1)?,
        levels: None,
        blocks: Vec::new(),
        builds: [Some(builds.clone()), Some(builds)],
    })
}

/// The whole visits of both versions, by the pair of builds.
type WholePairs = BTreeMap<u32, [Vec<Unit>; 2]>;

/// The whole visits of each pair of builds, and how many lack a version.
fn whole_pairs(sides: [&[Run]; 2]) -> Result<(WholePairs, usize), Reason> {
    let of = builds_of(sides);
    let together = greatest_common_divisor(of[0], of[1]);
    let key = |run: &Run| (run.place.group, run.location.host);
    let built = sides.into_iter().flatten().filter_map(|run| Some((key(run), run.build?.number % together)));
    let pair_of: BTreeMap<_, u32> = built.collect();
    let visits = super::visits(sides);
    let all = visits.len();
    let mut of_pairs = WholePairs::new();
    for (key, units) in visits {
        if let [Some(baseline), Some(candidate)] = units {
            let pair = pair_of.get(&key).copied().unwrap_or(0);
            let [of_baseline, of_candidate] = of_pairs.entry(pair).or_default();
            of_baseline.push(baseline);
            of_candidate.push(candidate);
        }
    }
    let whole: usize = of_pairs.values().map(|[visits, _]| visits.len()).sum();
    if of_pairs.len() < 2 {
        return Err(one_build(
            "The whole visits of a blocked order are of one pair of builds only, and visits that share a build are not \
             independent: take at least as many visits as builds",
        ));
    }
    Ok((of_pairs, all - whole))
}

/// What order tells nothing of builds: the visits themselves where each has a build of its own, else the means of rounds, in each
/// of which every build that was measured is used once. `None` without builds.
pub(super) fn rounds(runs: &[Run]) -> Option<Vec<f64>> {
    is_built(runs).then_some(())?;
    let visits = units(runs, |run| (run.place.group, run.location.host));
    let build_of: BTreeMap<_, _> = runs
        .iter()
        .filter_map(|run| Some(((run.place.group, run.location.host), run.build?.number)))
        .collect();
    let mut of_builds: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (key, unit) in &visits {
        of_builds.entry(*build_of.get(key)?).or_default().push(unit.mean());
    }
    if of_builds.values().all(|visits| visits.len() == 1) {
        return Some(visits.iter().map(|(_, unit)| unit.mean()).collect());
    }
    let whole = of_builds.values().map(Vec::len).min().unwrap_or(0);
    Some((0..whole).map(|round| mean(of_builds.values().map(|visits| visits[round]))).collect())
}

/// Runs by a key, ascending.
fn by_key<K: Ord>(runs: &[Run], key: impl Fn(&Run) -> K) -> BTreeMap<K, Vec<Run>> {
    let mut by_key: BTreeMap<K, Vec<Run>> = BTreeMap::new();
    for run in runs {
        by_key.entry(key(run)).or_default().push(*run);
    }
    by_key
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

/// 0 and a number have the number: a version of one build is in all visits.
fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

fn report(baseline: usize, candidate: usize, incomplete: usize) -> DesignReport {
    DesignReport {
        kind: DesignKind::Builds,
        unit: RunUnit::Build.into(),
        baseline_units: baseline as u64,
        candidate_units: candidate as u64,
        incomplete: incomplete as u64,
    }
}

fn one_build(sentence: &str) -> Reason {
    Reason::new(ReasonCode::OneBuildMeasured, sentence)
}

fn no_levels(error: &LevelsError) -> Reason {
    Reason::of(ReasonCode::NoLevels, error)
}
