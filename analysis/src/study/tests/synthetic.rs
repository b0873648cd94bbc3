//! Attempts of an experiment that was never run, with times drawn from named laws.

mod builds;
mod gangs;
mod hosts;
mod times;

use self::{builds::BuildSpread, hosts::Hosts, hosts::class};
pub(super) use self::{gangs::with_ranks, times::Times};
use crate::study::{Report, Study, StudyStanding};
use speedup_core::experiment::gang::{Gang, GangLauncher, ScalingLaw, ScalingSeries};
use speedup_core::experiment::{Metric, Policy, build::UsedBuild};
use speedup_core::machine::{StatusPhase, event::AttemptEnd, event::EndedAttempt, event::Tally};
use speedup_core::run::lease::{Evidence, Lease};
use speedup_core::run::record::{Failure, Outcome, Output, Record};
use speedup_core::run::{AfterLoss, LossReason, conditions::Conditions, timer::TimerError};
use speedup_core::value::id::{AgentEpoch, Attempt, ExperimentId, LeaseEpoch, RunIndex};
use speedup_core::value::{seed::Seed, seed::below, seed::shuffle, time::Timestamp};
use speedup_core::{plan, plan::Plan, plan::Shape};
use std::{collections::BTreeMap, sync::Arc};

enum Mishap {
    Failed(Failure, String),
    Lost(LossReason, AfterLoss),
}

/// An experiment that was never run.
pub(super) struct Synthetic {
    plan: Plan,
    times: BTreeMap<u32, Times>,
    /// By cell and repetition.
    mishaps: BTreeMap<(u32, u32), Mishap>,
    hosts: Hosts,
    /// Whether each run of a cell is slower than the one before it.
    in_order: bool,
    /// A host, by its number among few, and by how much its runs take longer.
    slow_host: Option<(u32, f64)>,
    /// By how much the first run of each cell takes longer.
    slow_first: f64,
    host_spread: f64,
    build_spread: Option<BuildSpread>,
    idle_s: u64,
    /// Whether hosts are of two classes, of which one is slow.
    classes: bool,
    classes_by_host: bool,
    late: bool,
    take: usize,
    finished: bool,
    cancelled: bool,
    survivors: u32,
    timer: Option<TimerError>,
    /// By version: the conditions of its first measured runs, and of how many.
    conditions: BTreeMap<u32, (u32, Conditions)>,
}

impl Synthetic {
    /// Versions v0, v1, … of benchmarks b0, b1, …
    pub(super) fn new(benchmarks: usize, versions: usize, runs: u32, more: &str) -> Self {
        Self::nested(benchmarks, versions, &format!("runs = {runs}\n"), more)
    }

    /// The same with other `repetitions` than a number of runs.
    pub(super) fn nested(benchmarks: usize, versions: usize, repetitions: &str, more: &str) -> Self {
        let names = |letter: &str, count| (0..count).map(|at| format!("{letter}{at}")).collect::<Vec<_>>();
        let (benchmarks, versions) = (names("b", benchmarks).join(" "), names("v", versions).join(" "));
        Self::repeated(&benchmarks, &versions, repetitions, more)
    }

    /// Versions and benchmarks by their names, with a space between.
    pub(super) fn named(benchmarks: &str, versions: &str, runs: u32, more: &str) -> Self {
        Self::repeated(benchmarks, versions, &format!("runs = {runs}\n"), more)
    }

    /// Likewise under a rule of repetition.
    pub(super) fn looking(benchmarks: &str, versions: &str, repetitions: &str) -> Self {
        Self::repeated(benchmarks, versions, repetitions, "")
    }

    fn repeated(benchmarks: &str, versions: &str, repetitions: &str, more: &str) -> Self {
        let mut text =
            "[experiment]\nname = \"synthetic\"\ndescription = \"attempts that never were\"\nseed = 42\n"
                .to_owned();
        text +=
            &format!("[repetitions]\n{repetitions}[metrics]\ncollect = [\"wall\", \"user\", \"max_rss\"]\n");
        if !more.contains("[independence]") {
            text += "[independence]\npolicy = \"any\"\n";
        }
        text += more;
        for (at, version) in versions.split(' ').enumerate() {
            let baseline = if at == 0 { "baseline = true\n" } else { "" };
            text += &format!("[versions.{version}]\n{baseline}vars = {{ v = \"{at}\" }}\n");
        }
        for benchmark in benchmarks.split(' ') {
            text += &format!("[benchmarks.{benchmark}]\ncommand = [\"{benchmark}\", \"{{v}}\"]\n");
        }
        let experiment = plan::file::parse(&text, Seed(42)).unwrap_or_else(|error| panic!("{error}\n{text}"));
        Self {
            plan: Plan::draw(experiment),
            times: BTreeMap::new(),
            mishaps: BTreeMap::new(),
            hosts: Hosts::Fresh,
            in_order: false,
            slow_host: None,
            slow_first: 1.0,
            host_spread: 0.0,
            build_spread: None,
            idle_s: 0,
            classes: false,
            classes_by_host: false,
            late: false,
            take: usize::MAX,
            finished: true,
            cancelled: false,
            survivors: 0,
            timer: None,
            conditions: BTreeMap::new(),
        }
    }

    /// As it was stored before the centre was written down.
    pub(super) fn without_center(mut self) -> Self {
        self.plan.experiment.analysis.center = None;
        self
    }

    /// With all versions executed alike, but for what they are called.
    pub(super) fn alike(mut self) -> Self {
        let versions = &mut self.plan.experiment.versions;
        let vars = versions[0].vars.clone();
        versions.iter_mut().for_each(|version| version.vars.clone_from(&vars));
        self
    }

    /// With the benchmarks one program on these numbers of hosts.
    pub(super) fn scaling(mut self, law: ScalingLaw, hosts: &[u32]) -> Self {
        for (benchmark, hosts) in self.plan.experiment.benchmarks.iter_mut().zip(hosts) {
            let series = Some(ScalingSeries { name: "solve".to_owned(), law });
            let launcher = GangLauncher::None;
            benchmark.gang =
                Some(Gang { hosts: *hosts, ranks_per_host: 1, launcher, times_ranks: false, series });
        }
        self
    }

    /// With sets of hosts that are to be fresh.
    pub(super) fn of_sets(mut self) -> Self {
        self.plan.experiment.independence.policy = Policy::DistinctSets;
        self
    }

    fn cell(&self, benchmark: u32, version: u32) -> u32 {
        benchmark * self.plan.experiment.versions.len() as u32 + version
    }

    pub(super) fn times(mut self, benchmark: u32, version: u32, times: Times) -> Self {
        self.times.insert(self.cell(benchmark, version), times);
        self
    }

    /// Lets the first repetitions of a cell that do not yet fail do so.
    pub(super) fn fail(
        mut self,
        benchmark: u32,
        version: u32,
        runs: u32,
        failure: &Failure,
        text: &str,
    ) -> Self {
        let cell = self.cell(benchmark, version);
        let free: Vec<u32> =
            (0..).filter(|k| !self.mishaps.contains_key(&(cell, *k))).take(runs as usize).collect();
        for repetition in free {
            self.mishaps.insert((cell, repetition), Mishap::Failed(failure.clone(), text.to_owned()));
        }
        self
    }

    pub(super) fn lose(
        mut self,
        benchmark: u32,
        version: u32,
        repetition: u32,
        reason: LossReason,
        after: AfterLoss,
    ) -> Self {
        let cell = self.cell(benchmark, version);
        self.mishaps.insert((cell, repetition), Mishap::Lost(reason, after));
        self
    }

    /// Lets a late report come for each abandoned attempt.
    pub(super) fn late(self) -> Self {
        Self { late: true, ..self }
    }

    pub(super) fn in_order(self) -> Self {
        Self { in_order: true, ..self }
    }

    pub(super) fn slow_first(self, factor: f64) -> Self {
        Self { slow_first: factor, ..self }
    }

    pub(super) fn take(self, attempts: usize) -> Self {
        Self { take: attempts, ..self }
    }

    pub(super) fn running(self) -> Self {
        Self { finished: false, ..self }
    }

    pub(super) fn cancelled(self) -> Self {
        Self { cancelled: true, ..self }
    }

    /// Appends `more` runs of each cell, as if after the submission.
    pub(super) fn extended(mut self, more: u32) -> Self {
        let appended = self.plan.draw_extension(&self.plan.singly(more), self.plan.visit());
        self.plan = self.plan.extended(appended).unwrap();
        self
    }

    /// Appends `more` visits of a single run.
    pub(super) fn extended_singly(mut self, more: u32) -> Self {
        let appended = self.plan.draw_extension(&self.plan.singly(more), Shape::SINGLE);
        self.plan = self.plan.extended(appended).unwrap();
        self
    }

    /// Lets every host have tested its timer, with this result.
    pub(super) fn timer(self, timer: TimerError) -> Self {
        Self { timer: Some(timer), ..self }
    }

    /// Lets every measured run leave processes behind.
    pub(super) fn survivors(self, survivors: u32) -> Self {
        Self { survivors, ..self }
    }

    /// Gives conditions to all measured runs, and these to the first repetitions of the cells of a version.
    pub(super) fn conditions(mut self, version: u32, repetitions: u32, conditions: &Conditions) -> Self {
        self.conditions.insert(version, (repetitions, conditions.clone()));
        self
    }

    pub(super) fn study(&self) -> Study {
        let phase = match self.finished {
            true => {
                StatusPhase::Finished { at: Timestamp(1_790_000_060_000_000_000), cancelled: self.cancelled }
            }
            false => StatusPhase::Running,
        };
        let standing = StudyStanding {
            experiment: experiment(1),
            submitted: Timestamp(1_790_000_000_000_000_000),
            submitted_by: "tester".to_owned(),
            phase,
            tally: Tally::default(),
        };
        Study::new(self.plan.clone(), standing)
    }

    /// The study after these attempts.
    pub(super) fn study_of<'a>(&self, attempts: impl IntoIterator<Item = &'a EndedAttempt>) -> Study {
        let mut study = self.study();
        attempts.into_iter().for_each(|attempt| study.add(attempt).unwrap());
        study
    }

    pub(super) fn report(&self) -> Report {
        self.study_of(&self.attempts()).report(None).unwrap()
    }

    /// The report after `change` was given the cell, the lease and the record of each attempt.
    pub(super) fn changed_report(&self, mut change: impl FnMut(u32, &Lease, &mut Record)) -> Report {
        let mut attempts = self.attempts();
        for EndedAttempt { cell, lease, end, .. } in &mut attempts {
            let AttemptEnd::Reported(record) = end else { panic!("reported") };
            change(*cell, lease, Arc::make_mut(record));
        }
        self.study_of(&attempts).report(None).unwrap()
    }

    /// All attempts, in run order.
    pub(super) fn attempts(&self) -> Vec<EndedAttempt> {
        let mut random = Seed(7).child("synthetic");
        let mut repetitions: BTreeMap<u32, u32> = BTreeMap::new();
        let mut places: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let mut attempts = Vec::new();
        for run in self.plan.builds()..self.plan.runs() {
            let cell = self.plan.cell_number(RunIndex(run));
            let repetition = repetitions.entry(cell).or_default();
            let of_cell = (self.plan.runs() - self.plan.builds()) / self.plan.cells();
            let place =
                places.entry(cell).or_insert_with(|| self.places(cell, of_cell))[*repetition as usize];
            // A quantile of its own for each run, so that small samples have the law's shape.
            let jitter = below(1_000, &mut random) as f64 / 1_000.0;
            let probability = (f64::from(place) + 0.1 + 0.8 * jitter) / f64::from(of_cell);
            let mishap = self.mishaps.get(&(cell, *repetition));
            attempts.extend(self.ended(run, *repetition, probability, mishap));
            *repetition += 1;
        }
        attempts.truncate(self.take);
        attempts
    }

    /// Which of the quantiles of its cell each repetition has: in random order, as independent runs are.
    fn places(&self, cell: u32, runs: u32) -> Vec<u32> {
        let mut places: Vec<u32> = (0..runs).collect();
        if !self.in_order {
            shuffle(&mut places, &mut Seed(7).child(&format!("synthetic order {cell}")));
        }
        places
    }

    /// By how much a run takes longer than its law says.
    fn factor(&self, run: u32, repetition: u32) -> f64 {
        let of_host = match (&self.hosts, self.slow_host) {
            (Hosts::Few(count), Some((host, factor))) if run % count == host => factor,
            _ => 1.0,
        };
        let (host, _, _) = self.host(RunIndex(run), repetition, Attempt(1));
        let z = below(2_000_001, &mut Seed(9).child(&host)) as f64 / 1e6 - 1.0;
        let of_host = of_host * (1.0 + self.host_spread * z);
        let of_host = if self.classes && self.is_slow_class(run) { 1.5 * of_host } else { of_host };
        let of_build = self.build_spread.map_or(1.0, |spread| spread.factor(&self.plan, run, repetition));
        of_host * of_build * if repetition == 0 { self.slow_first } else { 1.0 }
    }

    fn ended(
        &self,
        run: u32,
        repetition: u32,
        probability: f64,
        mishap: Option<&Mishap>,
    ) -> Vec<EndedAttempt> {
        let cell = self.plan.cell_number(RunIndex(run));
        let times = self.times.get(&cell).copied().unwrap_or(Times::normal(100e6, 1e6));
        let measured = || {
            let record = record(Outcome::Measured, times.at(probability) * self.factor(run, repetition), "");
            let version = cell % self.plan.experiment.versions.len() as u32;
            let odd = self.conditions.get(&version).filter(|(first, _)| repetition < *first);
            let conditions = odd.map_or_else(Conditions::default, |(_, conditions)| conditions.clone());
            let conditions = (!self.conditions.is_empty()).then(|| Box::new(conditions));
            let (survivors, timer) = (self.survivors, self.timer);
            AttemptEnd::reported(Record { survivors, timer, conditions, ..record })
        };
        let ends = match mishap {
            None => vec![measured()],
            Some(Mishap::Failed(failure, text)) => {
                vec![AttemptEnd::reported(record(Outcome::Failed(failure.clone()), 1e6, text))]
            }
            Some(Mishap::Lost(reason, after)) => {
                let late = self.late && *after == AfterLoss::Abandoned;
                let late = late.then(|| Arc::new(record(Outcome::Measured, 1e6, "")));
                let lost = AttemptEnd::Lost { reason: reason.clone(), after: *after, late };
                match after {
                    AfterLoss::Again(_) => vec![lost, measured()],
                    AfterLoss::Abandoned | AfterLoss::Cancelled => vec![lost],
                }
            }
        };
        let numbered = ends.into_iter().zip(1..);
        numbered.map(|(end, attempt)| self.attempt(run, repetition, Attempt(attempt), end)).collect()
    }

    fn attempt(&self, run: u32, repetition: u32, attempt: Attempt, end: AttemptEnd) -> EndedAttempt {
        let (host, boot, served) = self.host(RunIndex(run), repetition, attempt);
        let begin = u64::from(run) * (self.idle_s + 1) * 1_000_000_000;
        let evidence = Evidence {
            allocation: Some(format!("of-{boot}").parse().unwrap()),
            served_in_scope: served,
            served_in_all: u64::from(served),
            build: self
                .plan
                .build_of(RunIndex(run))
                .map(|run| Box::new(UsedBuild { run, products: Vec::new() })),
            class: self.classes.then(|| class(self.is_slow_class(run))),
            // A boot is one machine's alone.
            ..Evidence::first(format!("{boot}-of-{host}").parse().unwrap())
        };
        let lease = Lease {
            epoch: LeaseEpoch(u64::from(run) + 1),
            experiment: experiment(1),
            run: RunIndex(run),
            attempt,
            host: host.parse().unwrap(),
            agent_epoch: AgentEpoch(1),
            granted: Timestamp(begin),
            deadline: Timestamp(begin + 2_000_000_000),
            started: None,
            evidence,
            seat: None,
        };
        EndedAttempt {
            lease,
            cell: self.plan.cell_number(RunIndex(run)),
            ended: Timestamp(begin + 1_000_000_000),
            end,
        }
    }
}

fn experiment(number: u128) -> ExperimentId {
    format!("{number:032x}").parse::<ExperimentId>().unwrap()
}

fn record(outcome: Outcome, wall_ns: f64, stderr: &str) -> Record {
    let metrics = [
        (Metric::Wall, wall_ns as u64),
        (Metric::User, wall_ns as u64 / 4_000_000 * 4_000_000),
        (Metric::MaxRss, 4 << 20),
    ];
    Record {
        metrics: metrics.into_iter().collect(),
        stderr: Output { bytes: stderr.len() as u64, blake3: [0; 32], kept: stderr.as_bytes().to_vec() },
        ..Record::bare(outcome)
    }
}
