//! Calls: how they ended, and how long their callers waited for an answer.

use std::time::Duration;

use prometheus::{HistogramVec, IntCounterVec};

use super::Making;

/// Bounds of the time until an answer, in seconds: from what is read in memory, over what waits for a sync, to what an
/// analysis takes.
const ANSWER_SECONDS: [f64; 11] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5, 10.0];

speedup_core::words! {
    /// What became of a call, in classes: codes would make too many histograms.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Outcome {
        Ok = "ok",
        /// The coordinator did not do what was asked, for a reason of the caller's.
        Rejected = "rejected",
        /// The coordinator could not do what was asked.
        Failed = "failed",
        /// Its caller did not wait for the answer.
        Cancelled = "cancelled",
    }
    fn code;
}

/// What is counted of them.
pub(super) struct Calls {
    ended: IntCounterVec,
    answered: HistogramVec,
}

impl Calls {
    pub(super) fn new(make: &Making) -> Self {
        Self {
            ended: make.counters(
                "speedup_grpc_calls_total",
                "Calls that have ended, by method and gRPC code.",
                &["method", "code"],
            ),
            answered: make.histograms(
                "speedup_grpc_answer_seconds",
                "Time from a call to the first message of its answer, by method and outcome.",
                &ANSWER_SECONDS,
                &["method", "outcome"],
            ),
        }
    }

    pub(super) fn ended(&self, method: &'static str, code: &'static str) {
        self.ended.with_label_values(&[method, code]).inc();
    }

    pub(super) fn answered(&self, method: &'static str, outcome: Outcome, took: Duration) {
        self.answered.with_label_values(&[method, outcome.code()]).observe(took.as_secs_f64());
    }
}
