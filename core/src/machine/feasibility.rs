//! Whether a pool can carry a plan out: the fresh hosts it needs, those there are, how often they are taken, how long it
//! lasts, and what would make it fit. Nothing is decided here: the machine refuses, this explains before.

mod remedy;
mod shortage;
#[cfg(test)]
mod tests;

use std::{cmp::Reverse, collections::BinaryHeap};

use serde::{Deserialize, Serialize};

use crate::experiment::{Bisection, Experiment, Rule, Sameness};
use crate::machine::{hosts_needed, hosts_needed::hosts_for_sets, largest_gang, needs_reboots};
use crate::value::{id::RunIndex, time::Span};
use crate::{independence::Renewable, plan::Plan};

pub use remedy::Remedy;
pub use shortage::{Shortage, Want, shortage};

/// How long a boot is taken to last where nothing is known: what a server's firmware and an agent's start often take.
pub(crate) const USUAL_BOOT: Span = Span::from_secs(180);

/// The hosts there are, by their classes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    pub classes: Vec<HostClass>,
}

/// The connected hosts of one fingerprint class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostClass {
    /// Its name; empty where hosts are not told apart.
    pub class: String,
    /// Hosts that may be given runs.
    pub available: u32,
    /// Those of them that can boot anew when they are asked to.
    pub can_reboot: u32,
    /// Those of them that sit in an allocation, so that an engine may give them out anew.
    pub allocated: u32,
    /// Those of them that hold an attempt now.
    pub busy: u32,
    /// Those of them that have served runs of any experiment.
    pub used: u32,
    /// Connected hosts that are given none: drained or quarantined.
    pub out_of_service: u32,
}

impl Pool {
    /// A pool of so many hosts alike, of which nothing else is known.
    pub fn alike(hosts: u32) -> Self {
        Self { classes: vec![HostClass { available: hosts, ..HostClass::default() }] }
    }

    /// The hosts that one experiment may take: of the largest class where they have to be identical, else all.
    pub(crate) fn of_one_experiment(&self, sameness: Sameness) -> HostClass {
        match sameness {
            Sameness::Identical => {
                // Of two as large, always the same one: that which is pinned at the submission.
                let served = self.classes.iter().filter(|class| class.available > 0);
                let largest = served.max_by_key(|class| (class.available, &class.class));
                largest.cloned().unwrap_or_default()
            }
            Sameness::Classes | Sameness::Unchecked => self.classes.iter().fold(HostClass::default(), add),
        }
    }

    /// What it lacks for a plan, if it lacks anything. The hosts of a run are of one class, whatever classes the plan takes.
    pub fn shortage(&self, plan: &Plan) -> Option<Shortage> {
        let of_all = shortage(plan, &self.of_one_experiment(plan.experiment.independence.hosts));
        if of_all.is_some() {
            return of_all;
        }
        let needed = largest_gang(plan);
        let here = self.of_one_experiment(Sameness::Identical).available;
        let is_apart = needed > 1 && plan.runs() > 0 && here < needed;
        is_apart.then_some(Shortage { needed, here, want: Want::Together })
    }
}

fn add(mut sum: HostClass, class: &HostClass) -> HostClass {
    for (total, more) in [
        (&mut sum.available, class.available),
        (&mut sum.can_reboot, class.can_reboot),
        (&mut sum.allocated, class.allocated),
        (&mut sum.busy, class.busy),
        (&mut sum.used, class.used),
        (&mut sum.out_of_service, class.out_of_service),
    ] {
        *total = total.saturating_add(more);
    }
    sum
}

/// How long an execution lasts, and where that is known from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// One execution of each benchmark that takes part, in the plan's order.
    pub executions: Vec<Span>,
    /// One build of each version, with all that it makes; nothing of one that is not built.
    pub builds: Vec<Span>,
    /// Whether somebody said how long a build lasts; else it is taken to last as long as its timeout allows.
    pub builds_are_given: bool,
    pub boot: Span,
    pub source: EstimateSource,
}

/// Where an estimate is from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EstimateSource {
    Given,
    /// The mean of what was measured before.
    Measured {
        experiment: String,
    },
    /// A trial that executed each cell once.
    Trial,
    /// The timeouts: the worst case, usually far above.
    Timeouts,
}

impl Estimate {
    /// Every execution lasts as long.
    pub fn given(plan: &Plan, execution: Span) -> Self {
        Self::with_executions(plan, EstimateSource::Given, |_| execution)
    }

    /// Executions last as long as a trial of each cell found, in the plan's order of benchmarks.
    pub fn tried(plan: &Plan, executions: Vec<Span>) -> Self {
        Self { executions, source: EstimateSource::Trial, ..Self::by_timeouts(plan) }
    }

    /// Every execution lasts as long as its timeout allows.
    pub fn by_timeouts(plan: &Plan) -> Self {
        Self::with_executions(plan, EstimateSource::Timeouts, |timeout| timeout)
    }

    fn with_executions(plan: &Plan, source: EstimateSource, execution: impl Fn(Span) -> Span) -> Self {
        let timeouts = plan.benchmarks.iter().filter_map(|index| plan.experiment.benchmark(*index));
        let executions = timeouts.map(|benchmark| execution(benchmark.timeout)).collect();
        // No build is known to last as long as an execution, whatever is known of that.
        let builds = plan.experiment.versions.iter().map(|version| version.build.as_ref());
        let builds = builds.map(|build| build.map_or(Span(0), |build| build.timeout)).collect();
        Self { executions, builds, builds_are_given: false, boot: USUAL_BOOT, source }
    }

    /// The same where a build lasts as long as this.
    #[must_use]
    pub fn with_builds(self, plan: &Plan, build: Span) -> Self {
        let built = plan.experiment.versions.iter().map(|version| version.build.is_some());
        let builds = built.map(|is_built| if is_built { build } else { Span(0) }).collect();
        Self { builds, builds_are_given: true, ..self }
    }

    fn build_time(&self, plan: &Plan, run: RunIndex) -> Span {
        self.builds.get(plan.task(run).version().0 as usize).copied().unwrap_or_default()
    }
}

/// What a plan takes of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Feasibility {
    /// Visits of hosts that the plan has now, without its builds.
    pub visits: u32,
    /// Builds that go before them, on any host.
    pub builds: u32,
    pub hosts_needed: u32,
    /// Fresh hosts that it may come to need when its rule asks for all it may.
    pub hosts_needed_at_most: u32,
    /// What the pool has; absent where no pool is known.
    pub pool: Option<PoolFeasibility>,
    /// The time on hosts, summed over them, of builds and runs, without setup and retries.
    pub host_time_ns: Span,
    pub build_host_time_ns: Span,
    /// Whether somebody said how long a build lasts; else it is by the timeouts of the builds.
    pub builds_are_given: bool,
    pub estimate: EstimateSource,
}

/// What a known pool makes of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PoolFeasibility {
    /// Hosts that the experiment may take.
    pub hosts: u32,
    pub hosts_of_all_classes: u32,
    /// Whether they are enough.
    pub fits: bool,
    /// What they lack, where they are not.
    pub shortage: Option<Shortage>,
    /// How often each host is visited, the one with most; none where they are not enough.
    pub waves: Option<u32>,
    /// How long it lasts, builds and runs; none where they are not enough.
    pub wall_time_ns: Option<Span>,
    /// How long the builds last, before the first run; none where there is no host.
    pub build_wall_time_ns: Option<Span>,
    /// What would make it fit, each by itself.
    pub remedies: Vec<Remedy>,
}

/// What a plan takes: of `pool`, where there is one.
pub fn assess(plan: &Plan, pool: Option<&Pool>, estimate: &Estimate) -> Feasibility {
    let plan = &*plan.with_first_runs();
    let load = Load::new(plan, estimate);
    let hosts_needed = hosts_needed(plan).min(load.fullest_lane);
    let grown = u64::from(load.fullest_lane)
        .saturating_mul(growth(plan, &load))
        .div_ceil(u64::from(load.fullest_cell.max(1)));
    let grown = u32::try_from(grown).unwrap_or(u32::MAX);
    let build_host_time = plan.build_runs().fold(Span(0), |sum, run| sum + estimate.build_time(plan, run));
    Feasibility {
        visits: load.visits,
        builds: plan.builds(),
        hosts_needed,
        hosts_needed_at_most: needed_at_most(plan, &load, grown).max(hosts_needed),
        pool: pool.map(|pool| assess_pool(plan, pool, &load, estimate)),
        host_time_ns: load.host_time + build_host_time,
        build_host_time_ns: build_host_time,
        builds_are_given: estimate.builds_are_given,
        estimate: estimate.source.clone(),
    }
}

/// What the runs of a plan come to.
struct Load {
    visits: u32,
    /// Visits of the lane that has most.
    fullest_lane: u32,
    /// Visits of the cell that has most.
    fullest_cell: u32,
    host_time: Span,
    longest_visit: Span,
}

impl Load {
    fn new(plan: &Plan, estimate: &Estimate) -> Self {
        let versions = plan.experiment.versions.len().max(1) as u32;
        let unit = plan.experiment.independence.unit(plan.experiment.order);
        let mut lanes = vec![0_u32; plan.cells().max(1) as usize];
        let mut cells = vec![0_u32; plan.cells() as usize];
        let mut load =
            Self { visits: 0, fullest_lane: 0, fullest_cell: 0, host_time: Span(0), longest_visit: Span(0) };
        let mut visit = Span(0);
        for run in (0..plan.runs()).map(RunIndex).filter(|run| !plan.is_build(*run)) {
            let place = plan.place(run);
            let cell = plan.cell_number(run);
            if place.group == run {
                let hosts = plan.hosts_of(run);
                load.visits += hosts;
                lanes[unit.number(cell, versions) as usize] += hosts;
                cells[cell as usize] += 1;
                // A visit of several boots waits for all but the first.
                let boots = plan.place(RunIndex(run.0 + place.size - 1)).boot;
                visit = estimate.boot.times(u64::from(boots));
                load.host_time = load.host_time + visit;
            }
            let took = run_time(plan, cell, estimate).times(plan.hosts_of(run).into());
            visit = visit + took;
            load.host_time = load.host_time + took;
            load.longest_visit = load.longest_visit.max(visit);
        }
        load.fullest_lane = lanes.into_iter().max().unwrap_or(0);
        load.fullest_cell = cells.into_iter().max().unwrap_or(0);
        load
    }
}

/// A run with its warm-ups.
fn run_time(plan: &Plan, cell: u32, estimate: &Estimate) -> Span {
    let versions = plan.experiment.versions.len().max(1) as u32;
    let warmup = plan.experiment.benchmark(plan.cell_by_number(cell).benchmark).map_or(0, |b| b.warmup);
    let execution = estimate.executions.get((cell / versions) as usize).copied().unwrap_or_default();
    execution.times(u64::from(warmup) + 1)
}

/// Where no host may come again, as many as the fullest lane has visits when it has `grown`; where the plan nests, as many as
/// a cell has.
fn needed_at_most(plan: &Plan, load: &Load, grown: u32) -> u32 {
    let policy = plan.experiment.independence.policy;
    if policy.is_of_sets() {
        let growth = growth(plan, load);
        let grown =
            |visits| u64::from(visits).saturating_mul(growth).div_ceil(u64::from(load.fullest_cell.max(1)));
        hosts_for_sets(plan, grown)
    } else if !policy.reuses_hosts() {
        grown
    } else if plan.experiment.levels.are_nested() {
        u32::try_from(growth(plan, load)).unwrap_or(u32::MAX)
    } else {
        grown.min(1)
    }
}

/// Visits of a cell when its rule asks for all it may.
fn growth(plan: &Plan, load: &Load) -> u64 {
    let visit = u64::from(plan.visit().size()).max(1);
    match plan.experiment.rule {
        Rule::Fixed => u64::from(load.fullest_cell),
        Rule::Pilot { maximum, .. } | Rule::Sequential { maximum, .. } | Rule::Budget { maximum, .. } => {
            u64::from(maximum) / visit
        }
        Rule::Bisection(Bisection { maximum, block, blocks }) => {
            let rounds = u64::from(maximum / block.max(1)).div_ceil(u64::from(blocks.max(1)));
            rounds.saturating_mul(u64::from(load.fullest_cell))
        }
    }
    .max(u64::from(load.fullest_cell))
}

fn assess_pool(plan: &Plan, pool: &Pool, load: &Load, estimate: &Estimate) -> PoolFeasibility {
    let independence = plan.experiment.independence;
    let class = pool.of_one_experiment(independence.hosts);
    let hosts = class.available;
    let shortage = pool.shortage(plan);
    let fits = shortage.is_none();
    let usable = usable(plan, &class);
    // With a host for each visit none comes again; else only those work that can.
    let working = if usable >= load.fullest_lane { usable } else { can_come_again(plan, &class) };
    let waves = fits.then_some(load.visits.div_ceil(working.max(1)));
    let building = building_time(plan, hosts, estimate);
    let wall_time_ns = waves.map(|waves| building + wall_time(plan, load, waves, working, estimate.boot));
    let everywhere = pool.of_one_experiment(Sameness::Unchecked).available;
    let remedies = if fits { Vec::new() } else { remedy::all(plan, pool, load.fullest_lane, usable) };
    let build_wall_time_ns = (hosts > 0).then_some(building);
    PoolFeasibility {
        hosts,
        hosts_of_all_classes: everywhere,
        fits,
        shortage,
        waves,
        wall_time_ns,
        build_wall_time_ns,
        remedies,
    }
}

/// How long the builds last on so many hosts: in their order, each on the host that is free first. All hosts build, whatever
/// the policy says of runs.
fn building_time(plan: &Plan, hosts: u32, estimate: &Estimate) -> Span {
    let mut free: BinaryHeap<Reverse<Span>> =
        (0..hosts.clamp(1, plan.builds().max(1))).map(|_| Reverse(Span(0))).collect();
    let mut last = Span(0);
    for run in plan.build_runs() {
        let Reverse(begins) = free.pop().unwrap_or_default();
        let ends = begins + estimate.build_time(plan, run);
        last = last.max(ends);
        free.push(Reverse(ends));
    }
    last
}

/// Hosts that may be given visits: where these go over several boots, those that can boot anew.
fn usable(plan: &Plan, class: &HostClass) -> u32 {
    if needs_reboots(&plan.experiment) { class.can_reboot } else { class.available }
}

/// Those of them that may be fresh more than once under the plan's policy.
fn can_come_again(plan: &Plan, class: &HostClass) -> u32 {
    let hosts = usable(plan, class);
    let of = Renewable { hosts, by_boot: class.can_reboot, by_allocation: class.allocated };
    plan.experiment.independence.policy.reusable(of)
}

/// The waves one after another, each as long as the mean visit, and what the policy has hosts wait in between; never
/// shorter than the longest visit.
fn wall_time(plan: &Plan, load: &Load, waves: u32, working: u32, boot: Span) -> Span {
    let independence = plan.experiment.independence;
    let mean = Span(load.host_time.0.div_ceil(u64::from(load.visits.max(1))));
    let reboots = independence.policy.renews_by_boot() && working < load.fullest_lane;
    let pause = if reboots { boot } else { Span(0) };
    let pause = independence.wanted_rest().map_or(pause, |rest| rest.idle);
    let pauses = pause.times(u64::from(waves.saturating_sub(1)));
    // Rounded up in nanoseconds, so that no host has to be faster than its visits.
    mean.times(u64::from(waves)).max(load.longest_visit) + pauses
}

/// The plan of an experiment that was changed, drawn anew.
fn redrawn(plan: &Plan, change: impl FnOnce(&mut Experiment)) -> Plan {
    let mut experiment = plan.experiment.clone();
    change(&mut experiment);
    Plan::draw(experiment)
}
