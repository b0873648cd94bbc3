//! From the attempts of an experiment to its report.
//!
//! A [`Study`] is made of the plan and of how the experiment stands, is fed every ended attempt one by one, in
//! any order, and keeps of each only what the report needs: values, hosts as small numbers, counts. Only the
//! first report of a run within its lease counts, which the coordinator has decided; everything else is
//! counted and stands in the report. There is no I/O here.
//!
//! In reading order:
//! * [`StudyStanding`] and [`Study`]: what goes in;
//! * [`Report`]: what comes out, with [`Head`], [`SuiteReport`], [`BenchmarkReport`], [`ComparisonReport`] and
//!   [`ProtocolReport`];
//! * [`IndependenceReport`], [`ProportionReport`], [`FailureSummary`], [`MethodReport`]: what a verdict is worth;
//! * [`MultiplicityReport`], [`DiagnosticsSummary`], [`HostEffectReport`], [`AdviceReport`], [`MixtureReport`]: the
//!   verdicts in the light of their number, of the order of the runs and of the hosts, and what to plan next;
//! * [`ScalingReport`]: one program on several numbers of hosts; [`RanksReport`]: the ranks of its runs;
//! * [`FiguresReport`]: what plots are drawn from;
//! * [`RuleReport`]: what the plan's rule of repetition asks for, and what it concludes.

pub(crate) mod compare;
pub(crate) mod design;
mod gather;
mod head;
mod ranks;
mod report;
mod rule;
mod sampled;
mod scaling;
#[cfg(test)]
mod tests;
pub(crate) mod two_sample;
mod validity;

pub use self::compare::{
    comparison::BenchmarkReport, comparison::CellReport, comparison::ComparisonReport,
    comparison::Contradiction, comparison::LevelSpread, comparison::ObservedReport, comparison::SampleReport,
    controls::ControlKind, controls::ControlRow, controls::ControlsReport, endpoint::AdjustedEndpoint,
    endpoint::DifferenceReport, endpoint::EndpointReport, endpoint::EndpointRow, metric::MetricReport,
    metric::MetricRow, mixture::ComponentReport, mixture::FEWEST_RUNS_OF_A_MIXTURE, mixture::MixtureReport,
    multiplicity::AdjustedReport, multiplicity::MultiplicityReport, own_metric::IterationReport,
    own_metric::OwnComparison, proportion::MOST_SHARE_POINTS, proportion::ProportionReport,
    proportion::RequiredReport, proportion::RequiredShareReport, proportion::SharePoint,
    proportion::TrueShareReport, suite::FEWEST_TYPICAL, suite::OverallReport, suite::SpeedupMeansReport,
    suite::SuiteReport, suite::TypicalReport, tail::TailTakes, verdict_counts::VerdictCounts,
};
pub use self::gather::cell::ConditionCounts;
pub use self::gather::mishap::{
    FailureCount, FailureExample, FailureSummary, FailureTotals, LossCount, LossExample,
};
use self::gather::{cell::CellRecords, evidence::Evidence};
pub use self::two_sample::{
    advice::ASSURANCE, advice::AdviceReport, advice::MOST_RUNS_ADVISED, advice::RELATIVE_HALF_WIDTH,
    advice::ReachReport, advice::RequiredRunsReport, headline::HeadlineReport, headline::OneSidedReport,
    headline::POWER, interval::IntervalReport, protocol::AnswerOutcome, protocol::AssumptionReport,
    protocol::ProtocolAnswer, protocol::ProtocolReport, protocol::TestReport,
};
pub use self::validity::{
    canary::CanaryOutcome, canary::CanaryReport, canary::HostTrend, canary::PoolTrend, canary::TrendOver,
    diagnostic::DiagnosticReport, diagnostics::DiagnosticsReport, diagnostics::DiagnosticsSummary,
    diagnostics::GranularityKind, diagnostics::GranularityReport, exclusion::ExcludedHost,
    exclusion::ExclusionKind, exclusion::ExclusionsReport, host_effect::HostEffectReport,
    host_effect::OutlyingHost, host_effect::OutlyingReport, host_effect::WithoutReport,
    independence::EvidenceCounts, independence::IndependenceKind, independence::IndependenceReport,
    independence::ViolatingRun, missing::AttemptCounts, missing::MissingFinding, missing::MissingReport,
    placement::PlacementReport, placement::VersionPlacement, placement::WithinPlacement,
};
pub use self::{
    design::DesignKind, design::DesignReport, design::RunUnit, head::CommitReport, head::Head,
    head::ReportPhase, head::State, ranks::RankValue, ranks::RanksReport, ranks::SlowestReport,
    ranks::VersionRanks, report::Report, report::SCHEMA_VERSION, report::UndecidedAdvice,
    report::figures::BenchmarkFigures, report::figures::CellFigures, report::figures::FiguresReport,
    report::figures::FitFigure, report::figures::MOST_BENCHMARKS_DRAWN, report::figures::MOST_CELLS_DRAWN,
    report::figures::MOST_POINTS_DRAWN, report::figures::PrecisionFigure, report::method::LevelSource,
    report::method::MethodNote, report::method::MethodReport, rule::BisectionReport, rule::BisectionVerdict,
    rule::CommitSetReport, rule::Further, rule::LineCommit, rule::LineCommitState, rule::LookReport,
    rule::NextProbes, rule::PathWeightReport, rule::Promise, rule::RuleKind, rule::RuleReport, rule::RuleRow,
    rule::RuleState, rule::SeveralStepsReport, rule::StepSizeReport, rule::first_decisive_look,
    scaling::EfficiencyRatioRow, scaling::ScalingComparison, scaling::ScalingReport, scaling::ScalingRow,
    scaling::ScalingSample, scaling::ScalingValue, scaling::SerialShareReport, scaling::VersionScaling,
};
use self::{
    rule::Costs, validity::built::Builds, validity::canary::Canary, validity::missing::losses::HostLosses,
};
pub use crate::conclusion::EndpointVerdict;
use speedup_core::machine::{StatusPhase, event::AttemptEnd, event::EndedAttempt, event::Tally};
use speedup_core::value::{id::ExperimentId, id::RunIndex, id::VersionIndex, time::Timestamp};
use speedup_core::{host::Exclusion, plan::Plan, repetition::Rule, run::AfterLoss, run::record::Outcome};
use speedup_statistics::inference::{ConfidenceLevel, LevelError, Threshold};
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// How an experiment stands, as its coordinator says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyStanding {
    pub experiment: ExperimentId,
    /// When it was submitted.
    pub submitted: Timestamp,
    pub submitted_by: String,
    /// Whether its runs are still given out.
    pub phase: StatusPhase,
    /// How its runs stand.
    pub tally: Tally,
}

/// An experiment under study.
#[derive(Debug)]
pub struct Study {
    plan: Plan,
    standing: StudyStanding,
    /// By the numbers of the cells in the plan.
    cells: Vec<CellRecords>,
    evidence: Evidence,
    builds: Builds,
    /// Versions of which a build made nothing, or lost all its attempts.
    unbuilt: BTreeSet<VersionIndex>,
    /// Whether a run was reported, by its index.
    reported: Vec<bool>,
    beyond_plan: u64,
    /// Attempts and lost attempts by host number.
    host_losses: BTreeMap<u32, HostLosses>,
    /// What the attempts took of the hosts.
    costs: Costs,
    canary: Canary,
    /// Hosts that were taken out of service meanwhile.
    exclusions: Vec<Exclusion>,
}

/// What a report is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReportOptions {
    /// Another confidence level than the plan's.
    pub confidence: Option<ConfidenceLevel>,
    /// The slowdown that gates ignore.
    pub noise: Threshold,
    /// Whether the clusters of every cell are described.
    pub mixtures: Mixtures,
    /// Whether there is what plots are drawn from.
    pub figures: Figures,
}

/// Whether a report holds what plots are drawn from, which is larger than all the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Figures {
    /// It does not.
    #[default]
    LeftOut,
    Drawn,
}

/// Whether the clusters of every cell are described, which takes longer than all the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mixtures {
    /// They are not.
    #[default]
    LeftOut,
    /// They are, with the bootstrap of their fit.
    Fitted,
}

/// An attempt that is none of the experiment's: the records are not what the coordinator writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum AttemptError {
    #[error("the attempt belongs to experiment {found}, not to {expected}")]
    Experiment { found: ExperimentId, expected: ExperimentId },
    /// Its cell is not the one that the plan has for the run.
    #[error("run {run} is of cell {expected} by the plan, and of cell {found} by the attempt")]
    Cell { run: RunIndex, found: u32, expected: u32 },
    /// It used another build than the plan's for its run.
    #[error("run {run} used another build than the one that the plan has for it")]
    Build { run: RunIndex },
    #[error("run {run} was reported twice, and a run counts once")]
    ReportedTwice { run: RunIndex },
}

impl Study {
    /// A study of the experiment that has this plan, as it stands.
    pub fn new(plan: Plan, standing: StudyStanding) -> Self {
        let mut runs_of = vec![0; plan.cells() as usize];
        // What is beyond the cells are builds.
        for cell in plan.order() {
            runs_of.get_mut(*cell as usize).into_iter().for_each(|runs: &mut usize| *runs += 1);
        }
        let reported = vec![false; plan.runs() as usize];
        Self {
            plan,
            standing,
            cells: runs_of.into_iter().map(CellRecords::with_room).collect(),
            evidence: Evidence::with_room(reported.len()),
            builds: Builds::default(),
            unbuilt: BTreeSet::new(),
            reported,
            beyond_plan: 0,
            host_losses: BTreeMap::new(),
            costs: Costs::default(),
            canary: Canary::default(),
            exclusions: Vec::new(),
        }
    }

    /// The same, with the hosts that were taken out of service while the experiment ran, oldest first.
    #[must_use]
    pub fn with_exclusions(self, exclusions: Vec<Exclusion>) -> Self {
        Self { exclusions, ..self }
    }

    /// Takes an attempt that ended, or the part of a further host in one, which is evidence of freshness alone. An attempt of a
    /// run that the plan did not have yet is counted only.
    ///
    /// # Errors
    /// [`AttemptError`] for an attempt that cannot be of this plan.
    pub fn add(&mut self, attempt: &EndedAttempt) -> Result<(), AttemptError> {
        let lease = &attempt.lease;
        let run = lease.run;
        let is_part = lease.is_of_member() && matches!(attempt.end, AttemptEnd::Reported(_));
        if lease.experiment != self.standing.experiment {
            let expected = self.standing.experiment;
            return Err(AttemptError::Experiment { found: lease.experiment, expected });
        }
        let Some(reported) = self.reported.get_mut(run.0 as usize) else {
            self.beyond_plan += u64::from(!is_part);
            return Ok(());
        };
        let expected = self.plan.cell_number(run);
        if attempt.cell != expected {
            return Err(AttemptError::Cell { run, found: attempt.cell, expected });
        }
        if is_part {
            let location = self.evidence.keep(attempt, &self.plan.experiment.independence);
            self.keep_ranks_of_part(attempt, self.evidence.stay(location).host);
            return Ok(());
        }
        if *reported && matches!(attempt.end, AttemptEnd::Reported(_)) {
            return Err(AttemptError::ReportedTwice { run });
        }
        let (used, planned) = (lease.evidence.build.as_ref().map(|build| build.run), self.plan.build_of(run));
        if used != planned {
            return Err(AttemptError::Build { run });
        }
        let reported_now = matches!(attempt.end, AttemptEnd::Reported(_));
        let Some(cell) = self.cells.get_mut(expected as usize) else {
            // A build is no observation of the comparison; what it took of the hosts counts.
            *reported |= reported_now;
            let is_lacking = match &attempt.end {
                AttemptEnd::Reported(record) => record.outcome != Outcome::Measured,
                AttemptEnd::Lost { after, .. } => *after == AfterLoss::Abandoned,
            };
            self.unbuilt.extend(is_lacking.then(|| self.plan.task(run).version()));
            self.costs.add(attempt, Rule::Fixed);
            return Ok(());
        };
        if let Some(build) = &lease.evidence.build {
            self.builds.keep(self.plan.task(run).version(), build);
        }
        let location = self.evidence.keep(attempt, &self.plan.experiment.independence);
        let host = self.evidence.stay(location).host;
        self.costs.add(attempt, self.plan.experiment.rule);
        self.host_losses.entry(host).or_default().take(attempt);
        match &attempt.end {
            AttemptEnd::Lost { reason, after, late } => {
                cell.mishaps.lost((run, lease.attempt), reason, *after, late.is_some());
            }
            AttemptEnd::Reported(record) => {
                *reported = true;
                self.canary.keep(host, lease.epoch, record);
                match &record.outcome {
                    Outcome::Measured => {
                        cell.outlived += u64::from(record.survivors > 0);
                        cell.conditions.measured(record.conditions.as_deref());
                        cell.ranks.keep(lease, host, record, true);
                        cell.measured(location, host, record, &self.plan.experiment.own_metrics);
                    }
                    Outcome::Failed(failure) => cell.mishaps.failed(run, failure, record),
                    Outcome::NotExecuted { reason, obstacle } => {
                        cell.mishaps.not_executed((run, lease.attempt), reason, *obstacle);
                    }
                }
            }
        }
        Ok(())
    }

    /// The ranks on a further host of an attempt.
    fn keep_ranks_of_part(&mut self, part: &EndedAttempt, host: u32) {
        if let (Some(cell), AttemptEnd::Reported(record)) =
            (self.cells.get_mut(part.cell as usize), &part.end)
        {
            cell.ranks.keep(&part.lease, host, record, false);
        }
    }

    /// The report at the plan's confidence level, or at another.
    ///
    /// # Errors
    /// [`LevelError`] when the plan's level is none.
    pub fn report(&self, confidence: Option<ConfidenceLevel>) -> Result<Report, LevelError> {
        self.report_with(ReportOptions { confidence, ..ReportOptions::default() })
    }

    /// The report as asked for. The same bytes whatever the number of threads and the order in which attempts came.
    ///
    /// # Errors
    /// [`LevelError`] when the plan's level is none.
    pub fn report_with(&self, options: ReportOptions) -> Result<Report, LevelError> {
        let planned = self.plan.experiment.analysis.confidence;
        let level = options.confidence.map_or_else(|| ConfidenceLevel::new(planned), Ok)?;
        Ok(report::assembly::report(self, level, options))
    }

    /// What the plan's rule of repetition says of the runs that are settled; none where the plan gives their number.
    ///
    /// # Errors
    /// [`LevelError`] when the plan's level is none.
    pub fn rule(&self) -> Result<Option<RuleReport>, LevelError> {
        let level = ConfidenceLevel::new(self.plan.experiment.analysis.confidence)?;
        Ok(rule::report(self, level))
    }

    /// The plan under study.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}
