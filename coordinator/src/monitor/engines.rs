//! Gauges of the engines that give out hosts, summed over the queues of each kind of engine.

use std::{collections::BTreeMap, time::Duration};

use prometheus::IntGaugeVec;
use speedup_core::machine::provision::JobState;
use speedup_core::value::time::{Span, Timestamp};

use super::gauge_value;
use crate::{metrics::EngineKind, metrics::Registrar, provision::QueueStatus, timeline::wall_clock};

const STATES: [&str; 3] = ["queued", "running", "ending"];

pub(super) struct EngineGauges {
    engines: IntGaugeVec,
    jobs: IntGaugeVec,
    node_seconds: IntGaugeVec,
    stopped: IntGaugeVec,
    in_trouble: IntGaugeVec,
}

/// All engines of one kind in numbers.
#[derive(Debug, Default, PartialEq, Eq)]
struct EngineSums {
    engines: u64,
    /// As [`STATES`].
    jobs: [u64; STATES.len()],
    node_time: Span,
    stopped: u64,
    in_trouble: u64,
}

impl EngineSums {
    fn add(&mut self, now: Timestamp, queue: &QueueStatus) {
        self.engines += 1;
        for job in &queue.snapshot.jobs {
            match job.state {
                JobState::Queued => self.jobs[0] += 1,
                JobState::Running => self.jobs[1] += 1,
                JobState::Ending => self.jobs[2] += 1,
                JobState::Ended(_) => {}
            }
        }
        self.node_time = self.node_time + queue.snapshot.ledger.spent(now);
        self.stopped += u64::from(queue.stands_still(now).is_some());
        self.in_trouble += u64::from(queue.snapshot.trouble.is_some());
    }
}

impl EngineGauges {
    pub(super) fn new(make: &Registrar) -> Self {
        let gauges = Self {
            engines: make.gauges(
                "speedup_provision_engines",
                "Engines that are asked for hosts.",
                &["engine"],
            ),
            jobs: make.gauges("speedup_provision_jobs", "Jobs of engines, by state.", &["engine", "state"]),
            node_seconds: make.gauges(
                "speedup_provision_node_seconds",
                "Time on nodes, summed over all jobs of the engines that are asked.",
                &["engine"],
            ),
            stopped: make.gauges(
                "speedup_provision_stopped",
                "Engines that are asked for no more hosts until somebody looks into it.",
                &["engine"],
            ),
            in_trouble: make.gauges(
                "speedup_provision_in_trouble",
                "Engines that did not do what they were last asked.",
                &["engine"],
            ),
        };
        gauges.show([]);
        gauges
    }

    /// Shows all engines that are asked; a kind of which none is has zeros.
    pub(super) fn show<'a>(&self, queues: impl IntoIterator<Item = &'a QueueStatus>) {
        let now = wall_clock();
        let mut sums = BTreeMap::from(EngineKind::ALL.map(|kind| (kind, EngineSums::default())));
        for queue in queues {
            sums.entry(queue.queue.config.spec.kind()).or_default().add(now, queue);
        }
        for (kind, sum) in sums {
            let kind = kind.word();
            let node_seconds = Duration::from(sum.node_time).as_secs();
            for (gauge, value) in [
                (&self.engines, sum.engines),
                (&self.node_seconds, node_seconds),
                (&self.stopped, sum.stopped),
                (&self.in_trouble, sum.in_trouble),
            ] {
                gauge.with_label_values(&[kind]).set(gauge_value(value));
            }
            for (state, jobs) in STATES.iter().zip(sum.jobs) {
                self.jobs.with_label_values(&[kind, state]).set(gauge_value(jobs));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use speedup_core::machine::provision::{Job, JobFailure, Ledger, ProvisionLimits, QUEUE_PATIENCE};

    use super::*;
    use crate::metrics::Metrics;
    use crate::provision::{Queue, QueueConfig, QueueSnapshot, Spec, Surroundings};

    fn job(id: &str, state: JobState) -> Job {
        let id = id.parse().unwrap();
        Job { id, state, words: String::new(), node: None, started: None, ends: None }
    }

    fn engine(spec: Spec, ledger: Ledger) -> QueueStatus {
        let limits = ProvisionLimits {
            jobs: 3,
            queued: 2,
            node_time: Some(Span::from_secs(3_600)),
            patience: QUEUE_PATIENCE,
        };
        let every = Duration::from_secs(5);
        let queue = Queue {
            name: "short".parse().unwrap(),
            job_name: "speedup-1".to_owned(),
            config: QueueConfig { spec, limits, look_every: every, by: "mallory".to_owned() },
            longest_job: None,
            ledger: Ledger::default(),
        };
        let jobs = vec![job("1", JobState::Queued), job("2", JobState::Queued), job("3", JobState::Running)];
        QueueStatus { queue, snapshot: QueueSnapshot { jobs, ledger, ..QueueSnapshot::default() } }
    }

    #[test]
    fn engines_of_a_kind_are_summed_and_names_stay_out() {
        let metrics = Metrics::default();
        let gauges = EngineGauges::new(metrics.registrar());
        let spent = |seconds| Ledger { node_time: Span::from_secs(seconds), ..Ledger::default() };
        let options = vec!["--account=secret".to_owned()];
        let slurm = Spec::Slurm { options, around: Surroundings::default() };
        let mut last = engine(slurm.clone(), spent(3_600));
        last.snapshot.trouble = Some("no answer from node17".to_owned());
        gauges.show(&[engine(slurm, spent(60)), last]);
        metrics.jobs_failed(EngineKind::Slurm, JobFailure::Silent, 2);
        let page = metrics.page();
        for line in [
            "speedup_provision_engines{engine=\"slurm\"} 2",
            "speedup_provision_engines{engine=\"local\"} 0",
            "speedup_provision_jobs{engine=\"slurm\",state=\"queued\"} 4",
            "speedup_provision_jobs{engine=\"slurm\",state=\"running\"} 2",
            "speedup_provision_jobs{engine=\"local\",state=\"queued\"} 0",
            "speedup_provision_node_seconds{engine=\"slurm\"} 3660",
            "speedup_provision_stopped{engine=\"slurm\"} 1",
            "speedup_provision_in_trouble{engine=\"slurm\"} 1",
            "speedup_provision_failures_total{engine=\"slurm\",reason=\"silent\"} 2",
        ] {
            assert!(page.lines().any(|found| found == line), "{line} is not in\n{page}");
        }
        for name in ["secret", "node17", "speedup-1", "mallory"] {
            assert!(!page.contains(name), "{name} is on the page");
        }
        gauges.show([]);
        assert!(metrics.page().contains("speedup_provision_engines{engine=\"slurm\"} 0\n"));
    }
}
