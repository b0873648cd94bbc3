//! The advisor: applies the rules of experiments that await a decision, and tells the coordinator.
//!
//! The coordinator streams what awaits one, so nothing is asked in between. A decision follows from the plan and its
//! attempts alone and names the runs it was computed from: another advisor's is the same, and a stale one is refused.

use std::time::Duration;

use speedup_analysis::study::{RuleReport, RuleState, Study};
use speedup_core::{machine, run::record::MAX_REASON_BYTES, value::id::ExperimentId};
use speedup_proto::{
    convert::experiment_named, convert::id_text, v1, v1::decide_request::Decision as WireDecision,
};
use tokio::task::JoinHandle;
use tonic::{Code, Status, transport::Channel};

use crate::{experiments_of, from_coordinator, reporter::Reporter};

/// How long after the first failure the coordinator is asked again; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// How long at most: a coordinator that is back is not left waiting.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// Who decides, in the coordinator's records.
const BY: &str = "rule";

/// A running advisor; it ends when it is dropped. Nothing is lost then: the decision is made again by the next.
#[derive(Debug)]
pub struct Advisor(JoinHandle<()>);

impl Drop for Advisor {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Advisor {
    /// Starts it. It drops what it holds when it ends, also by a panic, which nobody would see otherwise.
    pub(crate) fn start(coordinator: Channel, held: impl Send + 'static) -> Self {
        let advising = advise(Reporter::new(experiments_of(coordinator)));
        Self(tokio::spawn(async move {
            let _held = held;
            advising.await;
        }))
    }
}

impl Advisor {
    /// Waits until it died by a panic; one that has ended because there are no rules to apply did not.
    pub(crate) async fn died(&mut self) {
        if (&mut self.0).await.is_ok() {
            std::future::pending::<()>().await;
        }
    }
}

async fn advise(reporter: Reporter) {
    let mut pause = FIRST_PAUSE;
    loop {
        let mut decided = 0_u32;
        match follow(&reporter, &mut decided).await {
            Ok(()) => {}
            Err(AdviceFailure { status, .. }) if status.code() == Code::Unimplemented => {
                tracing::warn!("the coordinator is of a release without rules; it is not advised");
                return;
            }
            Err(AdviceFailure { status, .. }) if status.code() == Code::Unavailable => {
                tracing::debug!(%status, "the coordinator is away");
            }
            Err(AdviceFailure { experiment, status }) => {
                let experiment = experiment.map(tracing::field::display);
                tracing::error!(experiment, %status, "a rule could not be applied; it is tried again");
            }
        }
        pause = if decided > 0 { FIRST_PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
        tokio::time::sleep(pause).await;
    }
}

/// A failure of the advisor, with its experiment if it concerns one.
struct AdviceFailure {
    experiment: Option<ExperimentId>,
    status: Status,
}

impl From<Status> for AdviceFailure {
    fn from(status: Status) -> Self {
        Self { experiment: None, status }
    }
}

/// Decides whatever awaits it, until the coordinator stops or a decision cannot be made: then all are told again.
async fn follow(reporter: &Reporter, decided: &mut u32) -> Result<(), AdviceFailure> {
    let request = v1::UndecidedRequest {};
    let undecided = reporter.experiments().watch_undecided(request).await;
    let mut undecided = undecided.map_err(|status| from_coordinator(&status))?.into_inner();
    while let Some(told) = undecided.message().await.map_err(|status| from_coordinator(&status))? {
        let id = experiment_named(&told.experiment, "experiment")
            .map_err(|error| Status::data_loss(error.to_string()))?;
        let failure = |status| AdviceFailure { experiment: Some(id), status };
        let decision = reporter.compute_rule(id, decide).await.map_err(failure)?;
        let request = v1::DecideRequest { experiment: id_text(id.0), ..decision };
        send(&mut reporter.experiments(), id, request).await.map_err(failure)?;
        *decided += 1;
    }
    Ok(())
}

type Experiments = v1::experiments_client::ExperimentsClient<Channel>;

async fn send(
    experiments: &mut Experiments,
    id: ExperimentId,
    request: v1::DecideRequest,
) -> Result<(), Status> {
    let from = request.from;
    let runs = match &request.decision {
        Some(WireDecision::Extension(extension)) => extension.order.len(),
        Some(WireDecision::Enough(_)) | None => 0,
    };
    match experiments.decide(request).await {
        Ok(_) => {
            tracing::info!(experiment = %id, from, further = runs, "applied stopping rule");
            Ok(())
        }
        // Another advisor was first, or it was cancelled or finished meanwhile.
        Err(status) if matches!(status.code(), Code::FailedPrecondition | Code::NotFound) => {
            tracing::debug!(experiment = %id, %status, "the decision came too late");
            Ok(())
        }
        Err(status) => Err(from_coordinator(&status)),
    }
}

/// The decision for `study`, which whoever sends it addresses to the experiment.
///
/// # Errors
/// When the rule cannot decide yet or there is none, which the coordinator would not ask for.
fn decide(study: &Study) -> Result<v1::DecideRequest, Status> {
    let rule = study.rule().map_err(|error| Status::failed_precondition(error.to_string()))?;
    let rule = rule.ok_or_else(|| Status::failed_precondition("the plan says the number of runs"))?;
    match rule.state {
        RuleState::Pending | RuleState::BrokenOff => return Err(Status::failed_precondition(rule.words)),
        RuleState::Further | RuleState::Enough | RuleState::Exhausted => {}
    }
    let decision = rule.extension(study.plan()).map_or(machine::Decision::Enough, machine::Decision::Extend);
    Ok(v1::DecideRequest {
        experiment: String::new(),
        by: BY.to_owned(),
        from: rule.from,
        decision: Some(decision.into()),
        words: words(rule),
    })
}

/// The words as the journal keeps them; a long end is cut at a character.
fn words(rule: RuleReport) -> String {
    let mut words = rule.words;
    if words.len() > MAX_REASON_BYTES {
        const CUT: &str = "…";
        words.truncate(words.floor_char_boundary(MAX_REASON_BYTES - CUT.len()));
        words += CUT;
    }
    words
}
