//! Counters of journaled events since the start; an event counts once it is durable.

use prometheus::{IntCounter, IntCounterVec};
use speedup_core::{machine::event::Change, run::LossReason, run::Obstacle, run::record::Outcome};

use super::Registrar;

pub(super) struct EventCounters {
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

impl EventCounters {
    pub(super) fn new(make: &Registrar) -> Self {
        let counters = Self {
            submitted: make.register(IntCounter::new(
                "speedup_experiments_submitted_total",
                "Experiments that were submitted.",
            )),
            finished: make.counters(
                "speedup_experiments_finished_total",
                "Experiments that ended, by outcome.",
                &["outcome"],
            ),
            granted: make
                .register(IntCounter::new("speedup_leases_granted_total", "Attempts given to hosts.")),
            reported: make.counters(
                "speedup_attempts_reported_total",
                "Attempts that were reported in time, by outcome.",
                &["outcome"],
            ),
            late: make.register(IntCounter::new(
                "speedup_attempts_late_total",
                "Attempts reported after they had been given up.",
            )),
            lost: make.counters(
                "speedup_attempts_lost_total",
                "Attempts lost through the infrastructure, by reason.",
                &["reason"],
            ),
            joined: make.register(IntCounter::new("speedup_agents_joined_total", "Agents that joined.")),
            left: make
                .register(IntCounter::new("speedup_agents_left_total", "Agents whose connection ended.")),
            quarantined: make
                .register(IntCounter::new("speedup_hosts_quarantined_total", "Hosts that were quarantined.")),
        };
        for outcome in ["finished", "cancelled"] {
            let _ = counters.finished.with_label_values(&[outcome]);
        }
        for outcome in ["measured", "failed"] {
            let _ = counters.reported.with_label_values(&[outcome]);
        }
        // Every reason is shown from the start, as zero: a rate over a series that appears later misses its first event.
        let not_executed = LossReason::NotExecuted { reason: String::new(), obstacle: Obstacle::Host };
        let job_ended = LossReason::JobEnded { words: String::new(), is_excused: false };
        let plain = [LossReason::Expired, LossReason::HostLost, LossReason::AgentRestarted];
        for reason in plain.into_iter().chain([not_executed, job_ended]) {
            let _ = counters.lost.with_label_values(&[reason.code()]);
        }
        counters
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
            // Nothing else has a counter.
            _ => {}
        }
    }
}
