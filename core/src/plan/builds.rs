//! Which build a run uses: the runs of the i-th group that has a cell use build i mod n of its version, counted from the
//! first run that is measured. So builds are used as evenly as possible, and the levels nest: build, host, boot, run.
//!
//! All builds come before all runs, but in a bisection, where each version is built when it is first to be run.

use super::{Extension, Plan, PlanError, Shape};
use crate::{experiment::Experiment, value::id::RunIndex, value::id::VersionIndex};

/// The builds of a plan, and the uses of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Builds {
    /// The runs that build each version, ascending; of no version where nothing is built.
    of_version: Vec<Vec<u32>>,
    pub(super) count: u32,
    /// How many groups have each cell.
    groups: Vec<u32>,
    /// The run that built what each run uses; [`NOTHING`] of a build, and where its version is not built.
    used: Vec<u32>,
}

/// Stands for no build, and for no group: no plan has a run of this number.
const NOTHING: u32 = u32::MAX;

impl Builds {
    /// Of an experiment of which nothing is planned yet.
    pub(super) fn none(experiment: &Experiment, cells: u32) -> Self {
        if experiment.builds() == 0 {
            return Self::default();
        }
        let of_version = vec![Vec::new(); experiment.versions.len()];
        Self { of_version, count: 0, groups: vec![0; cells as usize], used: Vec::new() }
    }

    /// Takes over runs that fit, the first of which is `from`.
    pub(super) fn append(&mut self, cells: u32, from: u32, Extension { order, shape }: &Extension) {
        if self.of_version.is_empty() {
            return;
        }
        let size = shape.size().max(1);
        let mut last_group = vec![NOTHING; self.groups.len()];
        // In which group of these each cell was last: all its runs of one group use one build.
        for (number, cell) in (0..).zip(order) {
            let Some(version) = cell.checked_sub(cells) else {
                let group = number / size;
                let is_new = std::mem::replace(&mut last_group[*cell as usize], group) != group;
                self.groups[*cell as usize] += u32::from(is_new);
                let used = self.build_number(*cell, self.groups[*cell as usize] - 1);
                self.used.push(used.unwrap_or(NOTHING));
                continue;
            };
            self.of_version[version as usize].push(from + number);
            self.used.push(NOTHING);
            self.count += 1;
        }
    }

    /// The run that built what the runs of a cell use in the group with this number among those that have the cell.
    fn build_number(&self, cell: u32, group: u32) -> Option<u32> {
        let built = &self.of_version[cell as usize % self.of_version.len()];
        built.get((group as usize).checked_rem(built.len())?).copied()
    }
}

impl Plan {
    /// How many runs are builds; they go before all others, but in a bisection.
    pub fn builds(&self) -> u32 {
        self.builds.count
    }

    /// Whether a run is a build.
    pub fn is_build(&self, run: RunIndex) -> bool {
        self.order.get(run.0 as usize).is_some_and(|number| *number >= self.cells())
    }

    /// The runs that build, in their order.
    pub fn build_runs(&self) -> impl Iterator<Item = RunIndex> + '_ {
        let built = if self.builds.count > 0 { self.runs() } else { 0 };
        (0..built).map(RunIndex).filter(|run| self.is_build(*run))
    }

    /// Whether what was planned last builds: what is measured follows when it is done.
    pub fn is_building(&self) -> bool {
        self.order.last().is_some_and(|number| *number >= self.cells())
    }

    /// Whether every version has all its builds.
    pub(crate) fn has_all_builds(&self) -> bool {
        u64::from(self.builds.count) == self.experiment.builds()
    }

    /// The run that built what a run uses; none of a build, and where the run's version is not built.
    pub fn build_of(&self, run: RunIndex) -> Option<RunIndex> {
        self.builds.used.get(run.0 as usize).copied().filter(|used| *used != NOTHING).map(RunIndex)
    }

    /// The runs that build a version, in their order.
    pub fn builds_of(&self, version: VersionIndex) -> &[u32] {
        self.builds.of_version.get(version.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// A build, as people are told of it.
    pub(crate) fn build_in_words(&self, run: RunIndex) -> String {
        let version = self.task(run).version();
        let name = self.experiment.version(version).map_or("", |version| version.name.as_str());
        let number = self.builds_of(version).partition_point(|build| *build < run.0) + 1;
        format!("build {number} of version {name} (run {run})")
    }

    /// Whether runs may follow those of the plan: builds go first, each a group of its own, as many as the experiment says.
    pub(super) fn fit_builds(&self, extension: &Extension) -> Result<(), PlanError> {
        let Extension { order, shape } = extension;
        let cells = self.cells();
        let mut planned: Vec<u32> = self.builds.of_version.iter().map(|builds| builds.len() as u32).collect();
        let mut is_building = self.builds.used.len() == self.builds.count as usize;
        if planned.is_empty() {
            return Ok(());
        }
        if self.experiment.bisection().is_some() {
            return self.fit_lazy_builds(extension, planned);
        }
        for (run, cell) in (self.runs()..).zip(order) {
            match cell.checked_sub(cells) {
                Some(_) if !is_building || shape.size() != 1 => return Err(PlanError::LateBuild(run)),
                Some(version) => planned[version as usize] += 1,
                None if is_building => {
                    is_building = false;
                    self.count_builds(&planned, |planned, builds| planned == builds)?;
                }
                None => {}
            }
        }
        self.count_builds(&planned, |planned, builds| planned <= builds)
    }

    /// The same of a bisection: what is planned together builds, or is measured in versions whose builds were planned before.
    fn fit_lazy_builds(&self, extension: &Extension, mut planned: Vec<u32>) -> Result<(), PlanError> {
        let Extension { order, shape } = extension;
        let cells = self.cells();
        let versions = self.experiment.versions.len() as u32;
        let are_builds = order.first().is_some_and(|cell| *cell >= cells);
        for (run, cell) in (self.runs()..).zip(order) {
            match cell.checked_sub(cells) {
                Some(_) if !are_builds || shape.size() != 1 => return Err(PlanError::LateBuild(run)),
                Some(version) => planned[version as usize] += 1,
                None if are_builds => return Err(PlanError::LateBuild(self.runs())),
                // Stages of one shape are one: those of builds and of runs stay apart by their shapes.
                None if shape.size() == 1 => {
                    let (runs, Shape { boots, runs: of_a_boot }) = (order.len(), *shape);
                    return Err(PlanError::TornGroup { runs, boots, of_a_boot });
                }
                None => {
                    let version = cell % versions;
                    let builds = self.builds_wanted(cell % versions);
                    if planned[version as usize] < builds {
                        return Err(PlanError::Builds {
                            version,
                            planned: planned[version as usize],
                            builds,
                        });
                    }
                }
            }
        }
        self.count_builds(&planned, |planned, builds| planned <= builds)
    }

    fn builds_wanted(&self, version: u32) -> u32 {
        let version = self.experiment.version(VersionIndex(version));
        version.and_then(|version| version.build.as_ref()).map_or(0, |build| build.builds)
    }

    fn count_builds(&self, planned: &[u32], are_right: fn(u32, u32) -> bool) -> Result<(), PlanError> {
        for (version, planned) in (0..).zip(planned) {
            let builds = self.builds_wanted(version);
            if !are_right(*planned, builds) {
                return Err(PlanError::Builds { version, planned: *planned, builds });
            }
        }
        Ok(())
    }
}
