//! Prometheus counters, which the parts of the coordinator increment as things happen; what is measured only when somebody
//! asks is in `monitor`. The names, their units and their labels are documented in `docs/operations.md`; a label has few
//! values, all known beforehand: never an id, a host or a user.
//!
//! In reading order: [`Metrics`], which is handed to those who count; `events` (what the journal recorded), `refused` (who was
//! turned away, and why), [`Registrar`] (makes metrics).

mod events;
mod refused;

use std::{fmt, sync::Arc, time::Duration, time::SystemTime, time::UNIX_EPOCH};

use prometheus::core::Collector;
use prometheus::{
    Gauge, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGaugeVec, Opts, Registry,
    TextEncoder,
};
use speedup_core::{machine::event::Event, machine::provision::JobFailure};

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

/// All counters. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Metrics(Arc<Counters>);

struct Counters {
    registrar: Registrar,
    events: events::EventCounters,
    sync_seconds: Histogram,
    group_events: Histogram,
    journal_bytes: IntCounter,
    ended_calls: IntCounterVec,
    answer_seconds: HistogramVec,
    refused: refused::RefusalCounters,
    failed_jobs: IntCounterVec,
}

impl Default for Metrics {
    fn default() -> Self {
        let make = Registrar(Registry::new());
        // The other figures of the process are made later, and only with a page for them: see `monitor`.
        let start: Gauge = make
            .register(Gauge::new("process_start_time_seconds", "When the coordinator started, since 1970."));
        start.set(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64());
        let counters = Counters {
            events: events::EventCounters::new(&make),
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
            journal_bytes: make.register(IntCounter::new(
                "speedup_journal_written_bytes_total",
                "Payload written to the journal.",
            )),
            ended_calls: make.counters(
                "speedup_grpc_calls_total",
                "Calls that have ended, by method and gRPC code.",
                &["method", "code"],
            ),
            answer_seconds: make.histograms(
                "speedup_grpc_answer_seconds",
                "Time from a call to the first message of its answer, by method and outcome.",
                &ANSWER_SECONDS,
                &["method", "outcome"],
            ),
            refused: refused::RefusalCounters::new(&make),
            failed_jobs: make.counters(
                "speedup_provision_failures_total",
                "Jobs that failed, by reason.",
                &["engine", "reason"],
            ),
            registrar: make,
        };
        // Prometheus sees an increase only of a series that it has seen before.
        for engine in EngineKind::ALL {
            for how in JobFailure::ALL {
                let _ = counters.failed_jobs.with_label_values(&[engine.word(), how.code()]);
            }
        }
        Self(Arc::new(counters))
    }
}

impl Metrics {
    /// A group of events became durable.
    pub(crate) fn committed(&self, events: &[Event], bytes: u64, took: Duration) {
        self.0.sync_seconds.observe(took.as_secs_f64());
        self.0.group_events.observe(events.len() as f64);
        self.0.journal_bytes.inc_by(bytes);
        for event in events {
            self.0.events.count(&event.change);
        }
    }

    /// A call ended with the code of this name. Both names are of known tables.
    pub(crate) fn called(&self, method: &'static str, code: &'static str) {
        self.0.ended_calls.with_label_values(&[method, code]).inc();
    }

    /// A call was answered, by its first message or, without one, by its end.
    pub(crate) fn answered(&self, method: &'static str, outcome: Outcome, took: Duration) {
        self.0.answer_seconds.with_label_values(&[method, outcome.code()]).observe(took.as_secs_f64());
    }

    pub(crate) fn jobs_failed(&self, engine: EngineKind, how: JobFailure, many: u64) {
        self.0.failed_jobs.with_label_values(&[engine.word(), how.code()]).inc_by(many);
    }

    /// A connection was not served.
    pub(crate) fn refused_connection(&self, why: RefusedConnection) {
        self.0.refused.connections.with_label_values(&[why.code()]).inc();
    }

    /// A call was not let through to its door.
    pub(crate) fn refused_call(&self, why: RefusedCall) {
        self.0.refused.calls.with_label_values(&[why.code()]).inc();
    }

    /// Somebody got no certificate for a token.
    pub(crate) fn refused_enrolment(&self, why: RefusedEnrolment) {
        self.0.refused.enrolments.with_label_values(&[why.code()]).inc();
    }

    /// Adds metrics to those that are gathered together.
    pub(crate) fn registrar(&self) -> &Registrar {
        &self.0.registrar
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

speedup_core::words! {
    /// Kind of an engine that gives out hosts, with its word in commands, answers and labels.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub(crate) enum EngineKind {
        Slurm = "slurm",
        Batch = "batch",
        Local = "local",
    }
    fn word;
    const ALL;
}

#[cfg(test)]
impl Metrics {
    /// What Prometheus would read.
    pub(crate) fn page(&self) -> String {
        self.registrar().text().expect("names and labels are text")
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Metrics")
    }
}

/// Makes metrics and registers them. All names are constants of this crate, so that a failure is a bug.
pub(crate) struct Registrar(Registry);

impl Registrar {
    /// All metrics that were made, in the text format of Prometheus.
    pub(crate) fn text(&self) -> prometheus::Result<String> {
        TextEncoder::new().encode_to_string(&self.0.gather())
    }

    pub(crate) fn register<C: Collector + Clone + 'static>(&self, made: prometheus::Result<C>) -> C {
        let made = made.expect("a valid name");
        self.0.register(Box::new(made.clone())).expect("a name that is used once");
        made
    }

    fn counters(&self, name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
        self.register(IntCounterVec::new(Opts::new(name, help), labels))
    }

    pub(crate) fn gauges(&self, name: &str, help: &str, labels: &[&str]) -> IntGaugeVec {
        self.register(IntGaugeVec::new(Opts::new(name, help), labels))
    }

    fn histogram(&self, name: &str, help: &str, bounds: &[f64]) -> Histogram {
        self.register(Histogram::with_opts(HistogramOpts::new(name, help).buckets(bounds.to_vec())))
    }

    fn histograms(&self, name: &str, help: &str, bounds: &[f64], labels: &[&str]) -> HistogramVec {
        let options = HistogramOpts::new(name, help).buckets(bounds.to_vec());
        self.register(HistogramVec::new(options, labels))
    }
}
