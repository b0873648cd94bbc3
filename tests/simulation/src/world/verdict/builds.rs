//! Whether builds came first and each run used the build that it should, from the journal alone and with the rules written
//! anew: what was built is what was reported, and who uses which build is counted, group by group. In a bisection the ends are
//! built first, any other version before its first run, and one of these that cannot be built ends nothing.

use std::collections::{BTreeMap, BTreeSet};

use speedup_core::{
    experiment::Experiment, experiment::Rule, experiment::build::Product, machine::event::Change,
    plan::Extension, plan::Plan, run::AfterLoss, run::lease::Lease, run::record::Outcome,
    run::record::Record, value::id::ExperimentId, value::id::LeaseEpoch, value::id::RunIndex,
};

use crate::world::World;

/// What the journal said of the builds of one experiment so far.
struct Said {
    experiment: Experiment,
    cells: u32,
    runs: u32,
    /// The builds of each version, in the order of the plan.
    of_version: BTreeMap<u32, Vec<RunIndex>>,
    builds: BTreeSet<RunIndex>,
    made: BTreeMap<RunIndex, Vec<Product>>,
    version: BTreeMap<RunIndex, u32>,
    /// How many groups each cell has had.
    groups: BTreeMap<u32, usize>,
    wanted: BTreeMap<RunIndex, RunIndex>,
    /// That a build is not to be had that there must be.
    is_lacking: bool,
    is_cancelled: bool,
}

impl World {
    pub(super) fn builds_held(&self) {
        let mut said: BTreeMap<ExperimentId, Said> = BTreeMap::new();
        let mut leases: BTreeMap<LeaseEpoch, &Lease> = BTreeMap::new();
        for event in &self.durable {
            match &event.change {
                Change::Submitted { experiment, plan, .. } => {
                    said.insert(*experiment, Said::of(plan));
                }
                Change::Extended { experiment, appended, .. } => {
                    heard(&mut said, *experiment).extended(appended);
                }
                Change::LeaseGranted(_) | Change::GangGranted(_) => {
                    for lease in event.change.granted() {
                        heard(&mut said, lease.experiment).granted(lease);
                        leases.insert(lease.epoch, lease);
                    }
                }
                Change::RunReported { lease, record, .. } => {
                    let lease = leases[lease];
                    heard(&mut said, lease.experiment).reported(lease.run, record);
                }
                Change::AttemptLost { lease, after: AfterLoss::Abandoned, .. } => {
                    let lease = leases[lease];
                    let of = heard(&mut said, lease.experiment);
                    of.is_lacking |= of.is_build(lease.run) && of.is_needed(lease.run);
                }
                Change::Cancelled { experiment, .. } => heard(&mut said, *experiment).is_cancelled = true,
                Change::Finished { experiment, cancelled, .. } => {
                    let of = heard(&mut said, *experiment);
                    let is_whole = of.made.len() == of.builds.len() && of.runs as usize > of.builds.len();
                    let is_whole = is_whole || of.bisects() && !of.is_lacking;
                    assert!(*cancelled || is_whole, "what is not cancelled has all builds, and runs");
                    assert!(!of.is_lacking || *cancelled && of.is_cancelled, "no build, no experiment");
                }
                _ => {}
            }
        }
    }
}

fn heard(said: &mut BTreeMap<ExperimentId, Said>, experiment: ExperimentId) -> &mut Said {
    said.get_mut(&experiment).expect("submitted before")
}

impl Said {
    fn of(plan: &Plan) -> Self {
        let mut said = Self {
            experiment: plan.experiment.clone(),
            cells: plan.cells(),
            runs: 0,
            of_version: BTreeMap::new(),
            builds: BTreeSet::new(),
            made: BTreeMap::new(),
            version: BTreeMap::new(),
            groups: BTreeMap::new(),
            wanted: BTreeMap::new(),
            is_lacking: false,
            is_cancelled: false,
        };
        let [stage] = plan.stages() else { panic!("a plan is submitted with one stage") };
        let is_built = said.experiment.versions.iter().any(|version| version.build.is_some());
        let builds = plan.order().iter().filter(|number| **number >= said.cells).count();
        assert_eq!(builds, if is_built { plan.order().len() } else { 0 }, "builds by themselves, or none");
        let last = plan.experiment.versions.len() as u32 - 1;
        let bisects = said.bisects();
        let at_first = (0..).zip(&plan.experiment.versions);
        for (version, of) in at_first.filter(|(version, _)| !bisects || [0, last].contains(version)) {
            let planned = plan.order().iter().filter(|number| **number == said.cells + version).count();
            assert_eq!(
                planned,
                of.build.as_ref().map_or(0, |build| build.builds as usize),
                "as many as are wanted"
            );
        }
        said.append(&Extension { order: plan.order().to_vec(), shape: stage.shape });
        said
    }

    fn bisects(&self) -> bool {
        matches!(self.experiment.rule, Rule::Bisection(_))
    }

    fn is_build(&self, run: RunIndex) -> bool {
        self.builds.contains(&run)
    }

    /// Whether nothing goes on without what a run is to build.
    fn is_needed(&self, run: RunIndex) -> bool {
        let last = self.experiment.versions.len() as u32 - 1;
        !self.bisects() || [0, last].contains(&self.version[&run])
    }

    fn extended(&mut self, appended: &Extension) {
        let builds = appended.order.iter().filter(|number| **number >= self.cells).count();
        if self.bisects() {
            assert!(builds == 0 || builds == appended.order.len(), "builds by themselves, or none");
        } else {
            assert_eq!(self.made.len(), self.builds.len(), "runs are planned when all builds are there");
            assert_eq!(builds, 0, "and no further builds");
        }
        let from = self.runs;
        self.append(appended);
        let used = (from..self.runs).filter_map(|run| self.wanted.get(&RunIndex(run)));
        assert!(used.into_iter().all(|build| self.made.contains_key(build)), "what is run is built");
        assert!(!self.bisects() || self.of_version.values().all(|builds| builds.len() == 1), "and once");
    }

    fn append(&mut self, Extension { order, shape }: &Extension) {
        let versions = self.experiment.versions.len() as u32;
        for group in order.chunks((shape.boots * shape.runs) as usize) {
            for number in group {
                let run = RunIndex(self.runs);
                self.runs += 1;
                let Some(version) = number.checked_sub(self.cells) else {
                    self.version.insert(run, number % versions);
                    let built = self.of_version.get(&(number % versions));
                    let before = self.groups.get(number).copied().unwrap_or(0);
                    self.wanted.extend(built.map(|built| (run, built[before % built.len()])));
                    continue;
                };
                self.version.insert(run, version);
                self.of_version.entry(version).or_default().push(run);
                self.builds.insert(run);
            }
            for cell in group.iter().collect::<BTreeSet<_>>() {
                *self.groups.entry(*cell).or_default() += 1;
            }
        }
    }

    fn granted(&mut self, lease: &Lease) {
        assert!(!self.is_cancelled, "nothing is given out of what ended");
        let build = lease.evidence.build.as_ref();
        if self.is_build(lease.run) {
            assert_eq!(build, None, "a build uses none");
            assert_eq!(lease.evidence.served_in_scope, 0, "and is no use of the host");
            return;
        }
        let are_made = self.made.len() == self.builds.len();
        assert!(are_made || self.bisects(), "no run before all builds are measured");
        let wanted = self.wanted.get(&lease.run);
        assert_eq!(build.map(|build| build.run), wanted.copied(), "run {} uses its build", lease.run);
        assert_eq!(
            build.map(|build| &build.products),
            wanted.map(|run| &self.made[run]),
            "and what that made"
        );
    }

    fn reported(&mut self, run: RunIndex, record: &Record) {
        if !self.is_build(run) {
            assert_eq!(record.products, [], "only builds make something");
            return;
        }
        let version = &self.experiment.versions[self.version[&run] as usize];
        let declared = version.build.iter().flat_map(|build| build.products.keys());
        let made: Vec<&String> = record.products.iter().map(|product| &product.name).collect();
        if record.outcome == Outcome::Measured {
            assert_eq!(made, declared.collect::<Vec<_>>(), "a build is measured with exactly its products");
            self.made.insert(run, record.products.clone());
        } else {
            self.is_lacking |= self.is_needed(run);
        }
    }
}
