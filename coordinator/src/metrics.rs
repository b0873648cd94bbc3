//! What the coordinator tells Prometheus of itself. The names, their units and their labels are documented in
//! `docs/operations.md`; a label has few values, all known beforehand: never an id, a host or a user.
//!
//! In reading order: [`Metrics`], which is handed to those who count; `happened` (what the journal recorded), [`Calls`] (how
//! calls ended, and how long they took), `figures` (what is read when somebody asks), `provision` (the same of engines),
//! `process` (this process), `refused` (who was turned away, and why), `health` (what does not work), `pages` (where it is asked for).

mod figures;
mod happened;
mod health;
mod pages;
mod process;
mod provision;
mod refused;

use std::{fmt, sync::Arc, time::Duration};

use prometheus::core::Collector;
use prometheus::{
    Counter, Gauge, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec,
    Opts, Registry,
};
use speedup_core::{machine::event::Event, machine::provision::JobFailure};

pub(crate) use self::health::Health;
pub(crate) use self::pages::{Pages, serve};
pub(crate) use self::refused::{RefusedCall, RefusedConnection, RefusedEnrolment};

/// Bounds of the time that a group takes to become durable, in seconds: from a disk with a protected cache to one that is
/// in trouble.
const SYNC_SECONDS: [f64; 12] =
    [0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5];
/// Bounds of the number of events in a group: from a single agent to all of them.
const GROUP_EVENTS: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0, 1_024.0, 4_096.0];
/// Bounds of the time until an answer, in seconds: from what is read in memory, over what waits for a sync, to what an
/// analysis takes.
const ANSWER_SECONDS: [f64; 11] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5, 10.0];

/// All metrics. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Metrics(Arc<Kept>);

struct Kept {
    registry: Registry,
    happened: happened::Happened,
    sync_seconds: Histogram,
    group_events: Histogram,
    journal_bytes: IntCounter,
    calls: Calls,
    refused: refused::Counts,
    figures: figures::Figures,
    provision: provision::Provision,
    process: process::Process,
}

impl Default for Metrics {
    fn default() -> Self {
        let make = Making(Registry::new());
        let kept = Kept {
            happened: happened::Happened::new(&make),
            sync_seconds: make.histogram(
                "speedup_journal_sync_seconds",
                "Time that groups of events took to become durable.",
                &SYNC_SECONDS,
            ),
            group_events: make.histogram(
                "speedup_journal_group_events",
                "Events that became durable together.",
                &GROUP_EVENTS,
            ),
            journal_bytes: make
                .counter("speedup_journal_written_bytes_total", "Payload written to the journal."),
            calls: Calls::new(&make),
            refused: refused::Counts::new(&make),
            figures: figures::Figures::new(&make),
            provision: provision::Provision::new(&make),
            process: process::Process::new(&make),
            registry: make.0,
        };
        Self(Arc::new(kept))
    }
}

impl Metrics {
    /// A group of events became durable.
    pub(crate) fn committed(&self, events: &[Event], bytes: u64, took: Duration) {
        self.0.sync_seconds.observe(took.as_secs_f64());
        self.0.group_events.observe(events.len() as f64);
        self.0.journal_bytes.inc_by(bytes);
        events.iter().for_each(|event| self.0.happened.count(&event.change));
    }

    /// A call ended with the code of this name. Both names are of known tables.
    pub(crate) fn called(&self, method: &'static str, code: &'static str) {
        self.0.calls.ended(method, code);
    }

    /// A call was answered, by its first message or, without one, by its end.
    pub(crate) fn answered(&self, method: &'static str, outcome: Outcome, took: Duration) {
        self.0.calls.answered(method, outcome, took);
    }

    pub(crate) fn jobs_failed(&self, kind: &'static str, how: JobFailure, many: u64) {
        self.0.provision.failed(kind, how, many);
    }

    /// A connection was not served.
    pub(crate) fn refused_connection(&self, why: RefusedConnection) {
        self.0.refused.connection(why);
    }

    /// A call was not let through to its door.
    pub(crate) fn refused_call(&self, why: RefusedCall) {
        self.0.refused.call(why);
    }

    /// Somebody got no certificate for a token.
    pub(crate) fn refused_enrolment(&self, why: RefusedEnrolment) {
        self.0.refused.enrolment(why);
    }
}

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

struct Calls {
    ended: IntCounterVec,
    answered: HistogramVec,
}

impl Calls {
    fn new(make: &Making) -> Self {
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

    fn ended(&self, method: &'static str, code: &'static str) {
        self.ended.with_label_values(&[method, code]).inc();
    }

    fn answered(&self, method: &'static str, outcome: Outcome, took: Duration) {
        self.answered.with_label_values(&[method, outcome.code()]).observe(took.as_secs_f64());
    }
}

#[cfg(test)]
impl Metrics {
    /// What Prometheus would read.
    pub(crate) fn page(&self) -> String {
        let text = prometheus::TextEncoder::new().encode_to_string(&self.0.registry.gather());
        text.expect("names and labels are text")
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Metrics")
    }
}

/// Makes metrics and enters them. All names are constants of this crate, so that a failure is a bug.
struct Making(Registry);

impl Making {
    fn enter<C: Collector + Clone + 'static>(&self, made: prometheus::Result<C>) -> C {
        let made = made.expect("a valid name");
        self.0.register(Box::new(made.clone())).expect("a name that is used once");
        made
    }

    fn counter(&self, name: &str, help: &str) -> IntCounter {
        self.enter(IntCounter::new(name, help))
    }

    fn counters(&self, name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
        self.enter(IntCounterVec::new(Opts::new(name, help), labels))
    }

    fn number(&self, name: &str, help: &str) -> IntGauge {
        self.enter(IntGauge::new(name, help))
    }

    fn numbers(&self, name: &str, help: &str, labels: &[&str]) -> IntGaugeVec {
        self.enter(IntGaugeVec::new(Opts::new(name, help), labels))
    }

    fn quantity(&self, name: &str, help: &str) -> Gauge {
        self.enter(Gauge::new(name, help))
    }

    fn quantity_counter(&self, name: &str, help: &str) -> Counter {
        self.enter(Counter::new(name, help))
    }

    fn histogram(&self, name: &str, help: &str, bounds: &[f64]) -> Histogram {
        self.enter(Histogram::with_opts(HistogramOpts::new(name, help).buckets(bounds.to_vec())))
    }

    fn histograms(&self, name: &str, help: &str, bounds: &[f64], labels: &[&str]) -> HistogramVec {
        let options = HistogramOpts::new(name, help).buckets(bounds.to_vec());
        self.enter(HistogramVec::new(options, labels))
    }
}

/// A count of what memory or disk holds, which is below the 2^63 that a gauge can show.
fn shown(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
