//! What the journal recorded since the start, counted when it is durable.

use prometheus::{IntCounter, IntCounterVec};
use speedup_core::{machine::event::Change, run::LossReason, run::Obstacle, run::record::Outcome};

use super::Making;

pub(super) struct Happened {
    submitted: IntCounter,
    finished: IntCounterVec,
    granted: IntCounter,
    reported: IntCounterVec,
    late: IntCounter,
    lost: IntCounterVec,
    joined: IntCounter,
    left: IntCounter,
    quarantined: IntCounter,
}

impl Happened {
    pub(super) fn new(make: &Making) -> Self {
        let happened = Self {
            submitted: make
                .counter("speedup_experiments_submitted_total", "Experiments that were submitted."),
            finished: make.counters(
                "speedup_experiments_finished_total",
                "Experiments that ended, by outcome.",
                &["outcome"],
            ),
            granted: make.counter("speedup_leases_granted_total", "Attempts given to hosts."),
            reported: make.counters(
                "speedup_attempts_reported_total",
                "Attempts that were reported in time, by outcome.",
                &["outcome"],
            ),
            late: make
                .counter("speedup_attempts_late_total", "Attempts reported after they had been given up."),
            lost: make.counters(
                "speedup_attempts_lost_total",
                "Attempts lost through the infrastructure, by reason.",
                &["reason"],
            ),
            joined: make.counter("speedup_agents_joined_total", "Agents that joined."),
            left: make.counter("speedup_agents_left_total", "Agents whose connection ended."),
            quarantined: make.counter("speedup_hosts_quarantined_total", "Hosts that were quarantined."),
        };
        for outcome in ["finished", "cancelled"] {
            let _ = happened.finished.with_label_values(&[outcome]);
        }
        for outcome in ["measured", "failed"] {
            let _ = happened.reported.with_label_values(&[outcome]);
        }
        let not_executed = LossReason::NotExecuted { reason: String::new(), obstacle: Obstacle::Host };
        let job_ended = LossReason::JobEnded { words: String::new(), is_excused: false };
        let plain = [LossReason::Expired, LossReason::HostLost, LossReason::AgentRestarted];
        for reason in plain.into_iter().chain([not_executed, job_ended]) {
            let _ = happened.lost.with_label_values(&[reason.code()]);
        }
        happened
    }

    pub(super) fn count(&self, change: &Change) {
        match change {
            Change::Submitted { .. } => self.submitted.inc(),
            Change::Finished { cancelled, .. } => {
                let outcome = if *cancelled { "cancelled" } else { "finished" };
                self.finished.with_label_values(&[outcome]).inc();
            }
            Change::LeaseGranted(_) | Change::GangGranted(_) => self.granted.inc(),
            Change::RunReported { record, .. } => {
                let outcome = match record.outcome {
                    Outcome::Measured => "measured",
                    // What was not executed is a lost attempt, not a reported one.
                    Outcome::Failed(_) | Outcome::NotExecuted { .. } => "failed",
                };
                self.reported.with_label_values(&[outcome]).inc();
            }
            Change::LateReport { .. } => self.late.inc(),
            Change::AttemptLost { reason, .. } => self.lost.with_label_values(&[reason.code()]).inc(),
            Change::HostJoined { .. } => self.joined.inc(),
            Change::HostLeft { .. } => self.left.inc(),
            Change::HostQuarantined { .. } => self.quarantined.inc(),
            Change::CoordinatorStarted
            | Change::Paused { .. }
            | Change::Resumed { .. }
            | Change::Cancelled { .. }
            | Change::Extended { .. }
            | Change::AwaitingDecision { .. }
            | Change::Decided { .. }
            | Change::ClassPinned { .. }
            | Change::ClassApproved { .. }
            | Change::HostDrifted { .. }
            | Change::HostDrained { .. }
            | Change::HostResumed { .. }
            | Change::HostReset { .. }
            | Change::EngineNoted(_)
            | Change::RebootAsked { .. }
            | Change::VisitBroken { .. }
            | Change::HostAsked { .. }
            | Change::HostPassed { .. }
            | Change::HostHeld { .. }
            | Change::HostReady { .. }
            | Change::PartEnded { .. }
            | Change::RunStarted { .. } => {}
        }
    }
}
