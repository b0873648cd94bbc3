//! How much of the spread of a version's times comes from each level of its runs: builds, hosts, boots and the runs themselves.

use crate::{conclusion::Word, study::RunUnit, study::design::Arranged};
use serde::{Deserialize, Serialize};
use speedup_statistics::levels::{DroppedWhy, LevelTree, Reshaped};

/// What one level adds to the spread of both versions (Kalibera 2012 §6.1, §7.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelSpread {
    /// The level.
    pub level: Word<RunUnit>,
    /// The standard deviation that it adds to the baseline's times, in nanoseconds: T of the levels that vary, 0 where it adds
    /// none; absent where it was not repeated, so that it is part of a neighbour.
    pub baseline_sd_ns: Option<f64>,
    /// The same of the candidate's.
    pub candidate_sd_ns: Option<f64>,
}

/// The levels of both versions, the highest first; none where the runs have no levels, or the versions not the same.
pub(super) fn of(arranged: &Arranged) -> Vec<LevelSpread> {
    use RunUnit::{Boot, Build, Host, Run};
    let Some([baseline, candidate]) = &arranged.levels else { return Vec::new() };
    if baseline.depth() != candidate.depth() {
        return Vec::new();
    }
    let units: &[RunUnit] = match baseline.depth() {
        4 => &[Run, Boot, Host, Build],
        // Boots alone stand where a single host was planned.
        3 if arranged.design.unit == Boot => &[Run, Host, Boot],
        3 => &[Run, Boot, Host],
        _ => return Vec::new(),
    };
    let [baseline, candidate] = [baseline, candidate].map(deviations);
    let rows = units.iter().zip(baseline.into_iter().zip(candidate));
    let rows = rows.filter(|(_, (baseline, candidate))| baseline.is_some() || candidate.is_some());
    let row = |(number, (unit, (baseline_sd_ns, candidate_sd_ns))): (usize, (&RunUnit, _))| LevelSpread {
        // Where each unit of the lowest levels has one run, what it adds is the runs'.
        level: if number == 0 { Run } else { *unit }.into(),
        baseline_sd_ns,
        candidate_sd_ns,
    };
    let mut rows: Vec<LevelSpread> = rows.enumerate().map(row).collect();
    rows.reverse();
    rows
}

/// The standard deviation that each level adds, the lowest first.
fn deviations(levels: &LevelTree) -> Vec<Option<f64>> {
    let Reshaped { kept, dropped } = Reshaped::new(levels);
    let mut deviations = vec![None; levels.depth()];
    for level in dropped.iter().filter(|level| matches!(level.why, DroppedWhy::NoVariance { .. })) {
        deviations[level.level - 1] = Some(0.0);
    }
    for level in &kept {
        deviations[level.level - 1] = level.unbiased.map(|variance| variance.max(0.0).sqrt());
    }
    deviations
}
