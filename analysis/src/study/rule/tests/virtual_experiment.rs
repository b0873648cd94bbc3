//! An experiment whose runs are drawn from a law, carried out stage by stage.

use crate::{study::Report, study::Study, study::StudyStanding, study::rule::RuleReport};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use speedup_core::experiment::build::{Build, UsedBuild};
use speedup_core::experiment::{Bisection, CommandLine, Order, Rule, metric::Metric};
use speedup_core::machine::{StatusPhase, event::AttemptEnd, event::EndedAttempt, event::Tally};
use speedup_core::run::{lease::Evidence, lease::Lease, record::Failure, record::Outcome, record::Record};
use speedup_core::value::id::{AgentEpoch, Attempt, ExperimentId, LeaseEpoch, RunIndex, VersionIndex};
use speedup_core::value::{seed::Seed, time::Span, time::Timestamp};
use speedup_core::{plan, plan::Plan};
use speedup_statistics::distribution::{Tails, normal as law};
use std::collections::BTreeMap;

/// The time of a run in nanoseconds, with the randomness of that run; none if it fails.
pub(super) type Law<'a> = &'a dyn Fn(At, &mut ChaCha8Rng) -> Option<f64>;

/// Where a run stands.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub(super) benchmark: u32,
    pub(super) version: u32,
    /// The visit of its cell, from 0; in the blocked order of its benchmark.
    pub(super) visit: u32,
    group: u32,
    seed: u64,
}

impl At {
    /// Whether its host is of the second class, where there are two.
    pub(super) fn is_of_second_class(self) -> bool {
        self.group % 2 == 1
    }

    /// The randomness that the runs of a visit share.
    pub(super) fn of_visit(self) -> ChaCha8Rng {
        Seed(self.seed).child(&format!("visit {}", self.group))
    }
}

/// A draw from the standard normal law.
pub(super) fn normal(random: &mut ChaCha8Rng) -> f64 {
    let uniform = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    law::quantile(Tails::from_upper(uniform.clamp(1e-15, 1.0 - 1e-15)))
}

/// An experiment that was never run.
pub(super) struct Virtual {
    pub(super) plan: Plan,
    /// Runs that are said to be outstanding.
    pub(super) outstanding: u32,
    pub(super) cancelled: bool,
    /// What the first run of a visit costs more, in seconds, where runs cost one.
    pub(super) visit_cost: f64,
    /// Whether the hosts are of two classes, in turn.
    pub(super) is_of_two_classes: bool,
    /// Versions that cannot be built, of a bisection.
    pub(super) broken: Vec<u32>,
}

impl Virtual {
    /// Benchmarks and versions under a rule, with more of a plan.
    pub(super) fn new(benchmarks: u32, versions: u32, rule: &str, more: &str) -> Self {
        let mut text = format!(
            "[experiment]\nname = \"virtual\"\nseed = 1\n[repetitions]\n{rule}\n[independence]\npolicy = \"any\"\n{more}"
        );
        for version in 0..versions {
            let baseline = if version == 0 { "baseline = true\n" } else { "" };
            text += &format!("[versions.v{version}]\n{baseline}vars = {{ v = \"{version}\" }}\n");
        }
        for benchmark in 0..benchmarks {
            text += &format!("[benchmarks.b{benchmark}]\ncommand = [\"b{benchmark}\", \"{{v}}\"]\n");
        }
        let experiment = plan::file::parse(&text, Seed(1)).unwrap_or_else(|error| panic!("{error}\n{text}"));
        Self {
            plan: Plan::draw(experiment),
            outstanding: 0,
            cancelled: false,
            visit_cost: 0.0,
            is_of_two_classes: false,
            broken: Vec::new(),
        }
    }

    pub(super) fn bisecting(versions: u32, bisection: Bisection, more: &str) -> Self {
        let mut of = Self::new(1, versions, "runs = 1", more).built(1);
        let mut experiment = of.plan.experiment.clone();
        (experiment.order, experiment.rule) = (Order::Blocked, Rule::Bisection(bisection));
        experiment.check().expect("a bisection");
        of.plan = Plan::draw(experiment);
        of
    }

    /// The same with each version built so often.
    pub(super) fn built(self, builds: u32) -> Self {
        let mut experiment = self.plan.experiment.clone();
        for version in &mut experiment.versions {
            version.build = Some(Build {
                command: CommandLine::Shell("make".to_owned()),
                builds,
                products: [("prog".to_owned(), "prog".to_owned())].into(),
                timeout: Span::from_secs(60),
            });
        }
        experiment.check().expect("an experiment that may be submitted");
        Self { plan: Plan::draw(experiment).with_first_runs().into_owned(), ..self }
    }

    /// The run that built what each run of a version uses, in run order.
    pub(super) fn builds_used(&self, version: u32) -> Vec<RunIndex> {
        let runs = (self.plan.builds()..self.plan.runs()).map(RunIndex);
        let of_version = runs.filter(|run| self.plan.task(*run).version() == VersionIndex(version));
        of_version.filter_map(|run| self.plan.build_of(run)).collect()
    }

    /// Settles all runs of the plan as the law says, and asks the rule.
    pub(super) fn carry_out(&self, seed: u64, law: Law<'_>) -> RuleReport {
        self.study(seed, law).rule().unwrap().expect("the plan has a rule")
    }

    /// The whole report of the same.
    pub(super) fn report(&self, seed: u64, law: Law<'_>) -> Report {
        self.study(seed, law).report(None).unwrap()
    }

    fn study(&self, seed: u64, law: Law<'_>) -> Study {
        let ended = self.attempts(seed, law);
        let measured = |attempt: &&EndedAttempt| matches!(&attempt.end, AttemptEnd::Reported(record) if record.outcome == Outcome::Measured);
        let measured = ended.iter().filter(measured).count() as u32;
        let failed = ended.len() as u32 - measured;
        let standing = StudyStanding {
            experiment: experiment(),
            submitted: Timestamp(0),
            submitted_by: "tester".to_owned(),
            phase: if self.cancelled { StatusPhase::Cancelling } else { StatusPhase::Running },
            tally: Tally { measured, failed, waiting: self.outstanding, ..Tally::default() },
        };
        let mut study = Study::new(self.plan.clone(), standing);
        // Attempts come in any order.
        ended.iter().rev().for_each(|attempt| study.add(attempt).unwrap());
        study
    }

    /// Appends what the rule asks for.
    pub(super) fn extend(&mut self, report: &RuleReport) {
        let extension = report.extension(&self.plan).expect("the rule asks for more");
        self.plan = self.plan.clone().extended(extension).unwrap();
    }

    /// What all attempts cost, in nanoseconds.
    pub(super) fn spent_ns(&self) -> f64 {
        let took = |attempt: &EndedAttempt| (attempt.ended.0 - attempt.lease.granted.0) as f64;
        self.attempts(0, &|_, _| Some(1.0)).iter().map(took).sum()
    }

    fn attempts(&self, seed: u64, law: Law<'_>) -> Vec<EndedAttempt> {
        let mut clock = 0;
        let versions = self.plan.experiment.versions.len() as u32;
        // The visits of each cell so far, and the latest of them.
        let mut visits: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
        let mut one = |run: u32| {
            let cell = self.plan.cell_number(RunIndex(run));
            if let Some(version) = cell.checked_sub(self.plan.cells()) {
                let made = (!self.broken.contains(&version)).then_some(1.0);
                return self.ended(run, cell, run, (clock, clock), made);
            }
            let group = self.plan.place(RunIndex(run)).group.0;
            let known = visits.entry(cell).or_insert((0, group));
            if known.1 != group {
                *known = (known.0 + 1, group);
            }
            let at = At { benchmark: cell / versions, version: cell % versions, visit: known.0, group, seed };
            let value = law(at, &mut Seed(seed).child(&format!("run {run}")));
            let takes = 1.0 + if group == run { self.visit_cost } else { 0.0 };
            let granted = clock;
            clock += (takes * 1e9) as u64;
            self.ended(run, cell, group, (granted, clock), value)
        };
        let first = if self.plan.experiment.bisection().is_some() { 0 } else { self.plan.builds() };
        (first..self.plan.runs()).map(&mut one).collect()
    }

    fn ended(
        &self,
        run: u32,
        cell: u32,
        group: u32,
        (granted, ended): (u64, u64),
        value: Option<f64>,
    ) -> EndedAttempt {
        let outcome = match value {
            Some(_) => Outcome::Measured,
            None => Outcome::Failed(Failure::Exit { code: 1, expected: 0 }),
        };
        let metrics = value.into_iter().map(|value| (Metric::Wall, value as u64)).collect();
        let evidence = Evidence {
            class: self.is_of_two_classes.then(|| format!("{:032x}", group % 2).parse().unwrap()),
            build: self
                .plan
                .build_of(RunIndex(run))
                .map(|run| Box::new(UsedBuild { run, products: Vec::new() })),
            ..Evidence::first("boot".parse().unwrap())
        };
        let lease = Lease {
            epoch: LeaseEpoch(u64::from(run) + 1),
            experiment: experiment(),
            run: RunIndex(run),
            attempt: Attempt(1),
            host: format!("host-{group}").parse().unwrap(),
            agent_epoch: AgentEpoch(1),
            granted: Timestamp(granted),
            deadline: Timestamp(u64::MAX),
            started: None,
            evidence,
            seat: None,
        };
        let end = AttemptEnd::reported(Record { metrics, ..Record::bare(outcome) });
        EndedAttempt { lease, cell, ended: Timestamp(ended), end }
    }
}

fn experiment() -> ExperimentId {
    format!("{:032x}", 1).parse().unwrap()
}
