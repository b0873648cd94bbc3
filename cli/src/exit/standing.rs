//! How an experiment stands: in words, as JSON, and as an exit code.

use serde::Serialize;
use speedup_core::{machine::event::Tally, value::id::ExperimentId, value::time::Timestamp};
use speedup_proto::convert::{ExperimentStatus, StatusPhase};

use crate::exit::Exit;

/// How the reason of a pause begins when a user asked for it; any other is the coordinator's own.
const BY_A_USER: &str = "paused by ";

/// What an experiment's phase means to those who wait for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ExperimentStanding {
    /// It goes on, or will when a user resumes it.
    Open,
    /// The coordinator paused it: nothing could be executed.
    Stuck {
        /// In the coordinator's words.
        reason: String,
    },
    /// Nothing will change any more.
    Finished(Exit),
}

impl From<&ExperimentStatus> for ExperimentStanding {
    fn from(status: &ExperimentStatus) -> Self {
        match &status.phase {
            StatusPhase::Running
            | StatusPhase::WaitingForHosts
            | StatusPhase::Deciding
            | StatusPhase::Cancelling => Self::Open,
            StatusPhase::Paused { reason } if reason.starts_with(BY_A_USER) => Self::Open,
            StatusPhase::Paused { reason } => Self::Stuck { reason: reason.clone() },
            StatusPhase::Finished { cancelled, .. } => {
                // Versions that cannot be built or run are part of a bisection's answer.
                let tally = if status.bisects { Tally::default() } else { status.tally };
                Self::Finished(exit_of(&tally, *cancelled))
            }
        }
    }
}

/// The exit code of a finished experiment. Runs that the infrastructure kept from being executed weigh more than runs
/// that failed: the sample is not the planned one.
fn exit_of(tally: &Tally, cancelled: bool) -> Exit {
    if tally.abandoned > 0 {
        Exit::Infrastructure
    } else if cancelled || tally.failed > 0 {
        Exit::Failed
    } else {
        Exit::Done
    }
}

/// The phase in a word, for people.
pub(crate) fn phase(status: &ExperimentStatus) -> &'static str {
    match status.phase {
        StatusPhase::Running => "running",
        StatusPhase::WaitingForHosts => "waiting for hosts",
        StatusPhase::Paused { .. } => "paused",
        StatusPhase::Deciding => "deciding",
        StatusPhase::Cancelling => "cancelling",
        StatusPhase::Finished { cancelled: false, .. } => "finished",
        StatusPhase::Finished { cancelled: true, .. } => "cancelled",
    }
}

/// How many runs were executed to their end, well or badly.
pub(crate) fn done(tally: &Tally) -> u32 {
    tally.measured + tally.failed
}

/// The state of the runs in words: what is done, and what went wrong if anything did.
pub(crate) fn tally(tally: &Tally) -> String {
    let mut text = format!("{}/{} runs done", done(tally), tally.runs());
    let told = [
        (tally.failed, "failed"),
        (tally.abandoned, "abandoned"),
        (tally.cancelled, "cancelled"),
        (tally.lost_attempts, if tally.lost_attempts == 1 { "attempt lost" } else { "attempts lost" }),
    ];
    for (count, what) in told.into_iter().filter(|(count, _)| *count > 0) {
        text += &format!(", {count} {what}");
    }
    text
}

#[derive(Debug, Serialize)]
pub(crate) struct ExperimentSummary<'a> {
    experiment: ExperimentId,
    name: &'a str,
    /// Words to find it by.
    tags: &'a [String],
    /// running, waiting for hosts, paused, deciding, cancelling, or finished.
    phase: &'static str,
    /// Whether it was cancelled; what was measured before counts.
    cancelled: bool,
    reason: Option<&'a str>,
    /// The latest words of the plan's rule, or why it was cancelled.
    words: Option<&'a str>,
    runs: u32,
    done: u32,
    tally: Tally,
    cells: u32,
    hosts_here: u32,
    submitted_by: &'a str,
    submitted_ns: Timestamp,
    finished_ns: Option<Timestamp>,
}

impl<'a> From<&'a ExperimentStatus> for ExperimentSummary<'a> {
    fn from(status: &'a ExperimentStatus) -> Self {
        let (phase, reason, finished_ns, cancelled) = match &status.phase {
            StatusPhase::Running => ("running", None, None, false),
            StatusPhase::WaitingForHosts => ("waiting for hosts", None, None, false),
            StatusPhase::Paused { reason } => ("paused", Some(reason.as_str()), None, false),
            StatusPhase::Deciding => ("deciding", None, None, false),
            StatusPhase::Cancelling => ("cancelling", None, None, true),
            StatusPhase::Finished { at, cancelled } => ("finished", None, Some(*at), *cancelled),
        };
        Self {
            experiment: status.experiment,
            name: &status.name,
            tags: &status.tags,
            phase,
            cancelled,
            reason,
            words: (!status.words.is_empty()).then_some(status.words.as_str()),
            runs: status.tally.runs(),
            done: done(&status.tally),
            tally: status.tally,
            cells: status.cells,
            hosts_here: status.hosts_here,
            submitted_by: &status.submitted_by,
            submitted_ns: status.submitted,
            finished_ns,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A status to vary in tests.
    pub(crate) fn status() -> ExperimentStatus {
        ExperimentStatus {
            experiment: "0193a5b2-7c3d-7000-8000-000000000001".parse().unwrap(),
            name: "locale".to_owned(),
            tags: vec!["night".to_owned()],
            submitted: Timestamp(1_700_000_000_000_000_000),
            submitted_by: "ada@lab".to_owned(),
            phase: StatusPhase::Running,
            tally: Tally { waiting: 60, ..Tally::default() },
            cells: 2,
            hosts_here: 3,
            words: String::new(),
            bisects: false,
        }
    }

    fn finished(tally: Tally, cancelled: bool) -> ExperimentStanding {
        let phase = StatusPhase::Finished { at: Timestamp(0), cancelled };
        ExperimentStanding::from(&ExperimentStatus { tally, phase, ..status() })
    }

    fn paused(reason: &str) -> ExperimentStanding {
        let phase = StatusPhase::Paused { reason: reason.to_owned() };
        ExperimentStanding::from(&ExperimentStatus { phase, ..status() })
    }

    #[test]
    fn a_finished_experiment_has_the_exit_code_of_its_worst_run() {
        let measured = Tally { measured: 60, ..Tally::default() };
        assert_eq!(finished(measured, false), ExperimentStanding::Finished(Exit::Done));
        assert_eq!(
            finished(Tally { lost_attempts: 3, ..measured }, false),
            ExperimentStanding::Finished(Exit::Done)
        );
        assert_eq!(
            finished(Tally { failed: 1, ..measured }, false),
            ExperimentStanding::Finished(Exit::Failed)
        );
        assert_eq!(finished(measured, true), ExperimentStanding::Finished(Exit::Failed));
        let lost = Tally { failed: 1, abandoned: 1, ..measured };
        assert_eq!(finished(lost, false), ExperimentStanding::Finished(Exit::Infrastructure));
    }

    #[test]
    fn a_users_pause_is_waited_for_and_the_coordinators_is_not() {
        assert_eq!(paused("paused by ada@lab"), ExperimentStanding::Open);
        let reason = "5 runs in a row could not be executed on any host";
        assert_eq!(paused(reason), ExperimentStanding::Stuck { reason: reason.to_owned() });
    }

    #[test]
    fn a_tally_tells_what_went_wrong_only() {
        assert_eq!(tally(&status().tally), "0/60 runs done");
        let some = Tally { measured: 20, failed: 1, lost_attempts: 2, waiting: 39, ..Tally::default() };
        assert_eq!(tally(&some), "21/60 runs done, 1 failed, 2 attempts lost");
        let cancelled = Tally { measured: 20, cancelled: 40, ..Tally::default() };
        assert_eq!(tally(&cancelled), "20/60 runs done, 40 cancelled");
    }

    #[test]
    fn json_has_stable_names() {
        let json = serde_json::to_value(ExperimentSummary::from(&status())).unwrap();
        assert_eq!((json["phase"].as_str(), json["runs"].as_u64()), (Some("running"), Some(60)));
        assert_eq!(json["submitted_ns"], 1_700_000_000_000_000_000_u64);
        let phase = StatusPhase::Finished { at: Timestamp(1), cancelled: true };
        let json =
            serde_json::to_value(ExperimentSummary::from(&ExperimentStatus { phase, ..status() })).unwrap();
        assert_eq!((json["phase"].as_str(), json["cancelled"].as_bool()), (Some("finished"), Some(true)));
    }
}
