//! Which build a run uses: the runs of the i-th group that has a cell use build i mod n of its version, counted from the
//! first run that is measured. So builds are used as evenly as possible, and the levels nest: build, host, boot, run.

use super::{Extension, Plan, PlanError};
use crate::experiment::Experiment;
use crate::value::id::{RunIndex, VersionIndex};

/// The builds of a plan, and the uses of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Builds {
    /// The runs that build each version, ascending; of no version where nothing is built.
    of_version: Vec<Vec<u32>>,
    /// How many they are.
    pub(super) count: u32,
    /// How many groups have each cell.
    groups: Vec<u32>,
    /// The run that built what each run uses, from the first measured one on; [`NOTHING`] where its version is not built.
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
                let used = self.of_group(*cell, self.groups[*cell as usize] - 1);
                self.used.push(used.unwrap_or(NOTHING));
                continue;
            };
            self.of_version[version as usize].push(from + number);
            self.count += 1;
        }
    }

    /// The run that built what the runs of a cell use in the group with this number among those that have the cell.
    fn of_group(&self, cell: u32, group: u32) -> Option<u32> {
        let built = &self.of_version[cell as usize % self.of_version.len()];
        built.get((group as usize).checked_rem(built.len())?).copied()
    }
}

impl Plan {
    /// How many runs are builds; they go before all others.
    pub fn builds(&self) -> u32 {
        self.builds.count
    }

    /// Whether it has builds, and no run yet that is measured: those follow when all builds are there.
    pub fn is_building(&self) -> bool {
        self.builds.count > 0 && self.builds.used.is_empty()
    }

    /// Whether every version has all its builds.
    pub fn has_all_builds(&self) -> bool {
        u64::from(self.builds.count) == self.experiment.builds()
    }

    /// The run that built what a run uses; none of a build, and where the run's version is not built.
    pub fn build_of(&self, run: RunIndex) -> Option<RunIndex> {
        let measured = run.0.checked_sub(self.builds.count)?;
        self.builds.used.get(measured as usize).copied().filter(|used| *used != NOTHING).map(RunIndex)
    }

    /// The runs that build a version, in their order.
    pub fn builds_of(&self, version: VersionIndex) -> &[u32] {
        self.builds.of_version.get(version.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// A build, as people are told of it.
    pub fn build_in_words(&self, run: RunIndex) -> String {
        let version = self.task(run).version();
        let name = self.experiment.version(version).map_or("", |version| version.name.as_str());
        let number = self.builds_of(version).partition_point(|build| *build < run.0) + 1;
        format!("build {number} of version {name} (run {run})")
    }

    /// Whether runs may follow those of the plan: builds go first, each a group of its own, as many as the experiment says.
    pub(super) fn fit_builds(&self, Extension { order, shape }: &Extension) -> Result<(), PlanError> {
        let cells = self.cells();
        let mut planned: Vec<u32> = self.builds.of_version.iter().map(|builds| builds.len() as u32).collect();
        let mut is_building = self.builds.used.is_empty();
        if planned.is_empty() {
            return Ok(());
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

    fn count_builds(&self, planned: &[u32], are_right: fn(u32, u32) -> bool) -> Result<(), PlanError> {
        for (version, (planned, of)) in (0..).zip(planned.iter().zip(&self.experiment.versions)) {
            let builds = of.build.as_ref().map_or(0, |build| build.builds);
            if !are_right(*planned, builds) {
                return Err(PlanError::Builds { version, planned: *planned, builds });
            }
        }
        Ok(())
    }
}
