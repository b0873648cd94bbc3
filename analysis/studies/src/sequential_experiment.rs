//! An experiment under a rule of looks that is carried out with given times: stage by stage, each run measured on a fresh host, and
//! the rule asked after each, as a coordinator does.

use speedup_analysis::conclusion::Verdict;
use speedup_analysis::study::{RuleReport, RuleState, Study, StudyStanding};
use speedup_core::machine::{StatusPhase, event::AttemptEnd, event::EndedAttempt, event::Tally};
use speedup_core::run::{lease::Evidence, lease::Lease, record::Outcome, record::Record};
use speedup_core::value::id::{AgentEpoch, Attempt, ExperimentId, LeaseEpoch, RunIndex};
use speedup_core::value::{seed::Seed, time::Timestamp};
use speedup_core::{experiment::Center, experiment::Spending, experiment::metric::Metric, plan, plan::Plan};
use speedup_statistics::inference::ConfidenceLevel;

/// Nanoseconds of the unit that times are drawn in: a run of 100 takes 100 ms, and rounding to nanoseconds changes no tie.
const UNIT_NS: f64 = 1e6;

/// What its rule says in the end.
pub(crate) struct Concluded {
    /// Whether the candidate is called faster or slower.
    pub(crate) is_called: bool,
    pub(crate) interval: Option<[f64; 2]>,
    pub(crate) observed: Option<f64>,
    pub(crate) unbiased: Option<f64>,
}

/// Two versions of one benchmark, and no run yet.
pub(crate) struct SequentialExperiment {
    plan: Plan,
    id: ExperimentId,
}

impl SequentialExperiment {
    /// With so many looks, each after so many further runs of both versions.
    pub(crate) fn new(
        [looks, step]: [u64; 2],
        spending: Spending,
        center: Center,
        level: ConfidenceLevel,
    ) -> Option<Self> {
        let spending = match spending {
            Spending::ObrienFleming => "obrien_fleming",
            Spending::Pocock => "pocock",
        };
        let center = match center {
            Center::Mean => "mean",
            Center::Median => "median",
            Center::Trimmed => "trimmed",
        };
        let text = format!(
            "[experiment]\nname = \"looks\"\nseed = 1\n\
             [repetitions]\nlooks = {looks}\nmaximum = {}\nspending = \"{spending}\"\n\
             [independence]\npolicy = \"any\"\n\
             [analysis]\ncenter = \"{center}\"\nconfidence = {}\n\
             [versions.old]\nbaseline = true\nvars = {{ v = \"0\" }}\n[versions.new]\nvars = {{ v = \"1\" }}\n\
             [benchmarks.b]\ncommand = [\"b\", \"{{v}}\"]\n",
            looks * step,
            level.get(),
        );
        let plan = Plan::draw(plan::file::parse(&text, Seed(1)).ok()?);
        Some(Self { plan, id: format!("{:032x}", 1).parse().ok()? })
    }

    /// Carries it out with these times of the baseline and of the candidate, which is faster by `speedup` than they say, until the
    /// rule has enough.
    pub(crate) fn concluded(&self, times: [&[f64]; 2], speedup: f64) -> Option<Concluded> {
        let mut plan = self.plan.clone();
        loop {
            let report = self.ask(&plan, times, speedup)?;
            if matches!(report.state, RuleState::Enough | RuleState::Exhausted) {
                let row = report.rows.first()?;
                return Some(Concluded {
                    is_called: matches!(row.verdict, Verdict::Faster | Verdict::Slower),
                    interval: row.speedup_interval,
                    observed: row.speedup,
                    unbiased: row.look.and_then(|look| look.unbiased),
                });
            }
            let extension = report.extension(&plan)?;
            plan = plan.extended(extension).ok()?;
        }
    }

    /// What the rule says when all runs of the plan are measured.
    fn ask(&self, plan: &Plan, times: [&[f64]; 2], speedup: f64) -> Option<RuleReport> {
        let standing = StudyStanding {
            experiment: self.id,
            submitted: Timestamp(0),
            submitted_by: "study".to_owned(),
            phase: StatusPhase::Running,
            tally: Tally { measured: plan.runs(), ..Tally::default() },
        };
        let mut study = Study::new(plan.clone(), standing);
        let mut times = times.map(|times| times.iter());
        for run in (0..plan.runs()).map(RunIndex) {
            let cell = plan.cell_number(run);
            let time = times.get_mut(cell as usize)?.next()?;
            let faster = if cell == 0 { 1.0 } else { speedup };
            study.add(&self.measured(run, cell, UNIT_NS * time / faster)?).ok()?;
        }
        study.rule().ok()?
    }

    fn measured(&self, run: RunIndex, cell: u32, wall_ns: f64) -> Option<EndedAttempt> {
        let wall = (Metric::Wall, wall_ns.round() as u64);
        let lease = Lease {
            epoch: LeaseEpoch(u64::from(run.0) + 1),
            experiment: self.id,
            run,
            attempt: Attempt(1),
            host: format!("host-{}", run.0).parse().ok()?,
            agent_epoch: AgentEpoch(1),
            granted: Timestamp(0),
            deadline: Timestamp(u64::MAX),
            started: None,
            evidence: Evidence::first(format!("boot-{}", run.0).parse().ok()?),
            seat: None,
        };
        let record = Record { metrics: [wall].into(), ..Record::bare(Outcome::Measured) };
        Some(EndedAttempt { lease, cell, ended: Timestamp(0), end: AttemptEnd::reported(record) })
    }
}
