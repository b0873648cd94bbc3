//! An export, piece by piece, becomes a study.

use speedup_analysis::study::{AttemptError, Study, StudyStanding};
use speedup_core::plan::{Plan, PlanError, Stage as PlanStage};
use speedup_core::value::id::{BenchmarkIndex, ExperimentId};
use speedup_core::{experiment::Experiment, experiment::MAX_RUNS, host::Exclusion};
use speedup_proto::convert::{ExperimentStatus, ExportPart, Malformed};
use speedup_proto::v1;
use thiserror::Error;
use tonic::Status;

/// How far an export has come.
pub(crate) struct Intake {
    experiment: ExperimentId,
    stage: Stage,
}

enum Stage {
    Nothing,
    /// The head came, and some of the plan's order.
    Head(Box<Head>),
    /// The plan is whole, and attempts come.
    Attempts(Box<Study>),
}

struct Head {
    status: ExperimentStatus,
    experiment: Experiment,
    benchmarks: Vec<BenchmarkIndex>,
    stages: Vec<PlanStage>,
    exclusions: Vec<Exclusion>,
    order: Vec<u32>,
}

/// Why an export is none.
#[derive(Debug, Error)]
pub(crate) enum IntakeError {
    /// A piece that nothing can be made of.
    #[error("the export cannot be read: {0}")]
    Malformed(#[from] Malformed),
    /// A piece that does not follow the one before.
    #[error("the export is out of order: {0}")]
    OutOfOrder(&'static str),
    #[error("the export is of experiment {found}, not of {expected}")]
    Experiment { found: ExperimentId, expected: ExperimentId },
    #[error("the export has more than the {MAX_RUNS} runs of an experiment")]
    TooManyRuns,
    #[error("the export has no plan: {0}")]
    Plan(#[from] PlanError),
    /// An attempt that is not of the plan.
    #[error("the export contradicts itself: {0}")]
    Attempt(#[from] AttemptError),
}

/// What the coordinator sent is wrong, not what was asked.
impl From<IntakeError> for Status {
    fn from(error: IntakeError) -> Self {
        Self::data_loss(error.to_string())
    }
}

impl Intake {
    /// An intake of the export of `experiment`.
    pub(crate) fn new(experiment: ExperimentId) -> Self {
        Self { experiment, stage: Stage::Nothing }
    }

    /// Takes the next piece. Attempts are read one by one: what was allocated for one serves the next.
    pub(crate) fn take(&mut self, piece: v1::ExportChunk) -> Result<(), IntakeError> {
        let stage = std::mem::replace(&mut self.stage, Stage::Nothing);
        self.stage = match (stage, ExportPart::try_from(piece)?) {
            (Stage::Nothing, ExportPart::Head { status, experiment, benchmarks, stages, exclusions }) => {
                let status = *status;
                if status.experiment != self.experiment {
                    let found = status.experiment;
                    return Err(IntakeError::Experiment { found, expected: self.experiment });
                }
                let experiment = *experiment;
                let order = Vec::new();
                Stage::Head(Box::new(Head { status, experiment, benchmarks, stages, exclusions, order }))
            }
            (Stage::Head(mut head), ExportPart::Order(order)) => {
                if (head.order.len() + order.len()) as u64 > MAX_RUNS {
                    return Err(IntakeError::TooManyRuns);
                }
                head.order.extend(order);
                Stage::Head(head)
            }
            (stage @ (Stage::Head(_) | Stage::Attempts(_)), ExportPart::Attempts(attempts)) => {
                let mut study = study(stage)?;
                for attempt in attempts.read() {
                    // An attempt is large, and stays where it was read.
                    match attempt {
                        Ok(ref attempt) => study.add(attempt)?,
                        Err(error) => return Err(error.into()),
                    }
                }
                Stage::Attempts(study)
            }
            (Stage::Nothing, ExportPart::Order(_) | ExportPart::Attempts(_)) => {
                return Err(IntakeError::OutOfOrder("it does not begin with its head"));
            }
            (Stage::Head(_) | Stage::Attempts(_), ExportPart::Head { .. }) => {
                return Err(IntakeError::OutOfOrder("it has a second head"));
            }
            (Stage::Attempts(_), ExportPart::Order(_)) => {
                return Err(IntakeError::OutOfOrder("a piece of the plan comes after attempts"));
            }
        };
        Ok(())
    }

    /// The study, when the export has ended.
    pub(crate) fn into_study(self) -> Result<Study, IntakeError> {
        study(self.stage).map(|study| *study)
    }

    /// How the experiment stands and its plan, before any attempt was taken.
    pub(crate) fn into_planned(self) -> Result<(ExperimentStatus, Plan), IntakeError> {
        match self.stage {
            Stage::Nothing => Err(IntakeError::OutOfOrder("it ended before its head")),
            Stage::Head(head) => head.planned().map(|(status, plan, _)| (status, plan)),
            Stage::Attempts(_) => Err(IntakeError::OutOfOrder("attempts come before the end of its plan")),
        }
    }
}

impl Head {
    fn planned(self) -> Result<(ExperimentStatus, Plan, Vec<Exclusion>), IntakeError> {
        let Self { status, experiment, benchmarks, stages, exclusions, order } = self;
        Ok((status, Plan::restore(experiment, benchmarks, order, &stages)?, exclusions))
    }
}

fn study(stage: Stage) -> Result<Box<Study>, IntakeError> {
    match stage {
        Stage::Nothing => Err(IntakeError::OutOfOrder("it ended before its head")),
        Stage::Head(head) => {
            let (status, plan, exclusions) = head.planned()?;
            Ok(Box::new(Study::new(plan, standing(status)).with_exclusions(exclusions)))
        }
        Stage::Attempts(study) => Ok(study),
    }
}

fn standing(status: ExperimentStatus) -> StudyStanding {
    StudyStanding {
        experiment: status.experiment,
        submitted: status.submitted,
        submitted_by: status.submitted_by,
        phase: status.phase,
        tally: status.tally,
    }
}
