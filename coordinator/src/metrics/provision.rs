//! What is asked of engines that give out hosts, summed over the engines of each kind.

use std::{collections::BTreeMap, time::Duration};

use prometheus::{IntCounterVec, IntGaugeVec};
use speedup_core::machine::provision::{JobFailure, JobState};
use speedup_core::value::time::{Span, Timestamp};

use super::{Making, shown};
use crate::{provision::Shown, provision::Spec, timeline::wall_clock};

const STATES: [&str; 3] = ["queued", "running", "ending"];

pub(super) struct Provision {
    engines: IntGaugeVec,
    jobs: IntGaugeVec,
    node_seconds: IntGaugeVec,
    stopped: IntGaugeVec,
    in_trouble: IntGaugeVec,
    failures: IntCounterVec,
}

/// All engines of one kind in numbers.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sum {
    engines: u64,
    /// As [`STATES`].
    jobs: [u64; STATES.len()],
    node_time: Span,
    stopped: u64,
    in_trouble: u64,
}

impl Sum {
    fn add(&mut self, now: Timestamp, engine: &Shown) {
        let Shown { queue, seen } = engine;
        self.engines += 1;
        for job in &seen.jobs {
            match job.state {
                JobState::Queued => self.jobs[0] += 1,
                JobState::Running => self.jobs[1] += 1,
                JobState::Ending => self.jobs[2] += 1,
                JobState::Ended(_) => {}
            }
        }
        self.node_time = self.node_time + seen.ledger.spent(now);
        self.stopped += u64::from(seen.ledger.stands_still(now, &queue.limits).is_some());
        self.in_trouble += u64::from(seen.trouble.is_some());
    }
}

impl Provision {
    pub(super) fn new(make: &Making) -> Self {
        let figures = Self {
            engines: make.numbers(
                "speedup_provision_engines",
                "Engines that are asked for hosts.",
                &["engine"],
            ),
            jobs: make.numbers("speedup_provision_jobs", "Jobs of engines, by state.", &["engine", "state"]),
            node_seconds: make.numbers(
                "speedup_provision_node_seconds",
                "Time on nodes, summed over all jobs of the engines that are asked.",
                &["engine"],
            ),
            stopped: make.numbers(
                "speedup_provision_stopped",
                "Engines that are asked for no more hosts until somebody looks into it.",
                &["engine"],
            ),
            in_trouble: make.numbers(
                "speedup_provision_in_trouble",
                "Engines that did not do what they were last asked.",
                &["engine"],
            ),
            failures: make.counters(
                "speedup_provision_failures_total",
                "Jobs that failed, by reason.",
                &["engine", "reason"],
            ),
        };
        figures.show([]);
        for kind in Spec::KINDS {
            JobFailure::ALL.into_iter().for_each(|how| figures.failed(kind, how, 0));
        }
        figures
    }

    /// Shows all engines that are asked; a kind of which none is has zeros.
    pub(super) fn show<'a>(&self, engines: impl IntoIterator<Item = &'a Shown>) {
        let now = wall_clock();
        let mut sums = BTreeMap::from(Spec::KINDS.map(|kind| (kind, Sum::default())));
        for engine in engines {
            sums.entry(engine.queue.spec.kind()).or_default().add(now, engine);
        }
        for (kind, sum) in sums {
            let put = |of: &IntGaugeVec, value| of.with_label_values(&[kind]).set(shown(value));
            put(&self.engines, sum.engines);
            put(&self.node_seconds, Duration::from(sum.node_time).as_secs());
            put(&self.stopped, sum.stopped);
            put(&self.in_trouble, sum.in_trouble);
            for (state, jobs) in STATES.iter().zip(sum.jobs) {
                self.jobs.with_label_values(&[kind, state]).set(shown(jobs));
            }
        }
    }

    pub(super) fn failed(&self, kind: &'static str, how: JobFailure, many: u64) {
        self.failures.with_label_values(&[kind, how.code()]).inc_by(many);
    }
}

#[cfg(test)]
mod tests {
    use speedup_core::machine::provision::{Job, Ledger, ProvisionLimits, QUEUE_PATIENCE};

    use super::*;
    use crate::{metrics::Metrics, provision::Queue, provision::Seen, provision::Surroundings};

    fn job(id: &str, state: JobState) -> Job {
        let id = id.parse().unwrap();
        Job { id, state, words: String::new(), node: None, started: None, ends: None }
    }

    fn engine(spec: Spec, ledger: Ledger) -> Shown {
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
            spec,
            limits,
            look_every: every,
            by: "mallory".to_owned(),
            longest_job: None,
            ledger: Ledger::default(),
        };
        let jobs = vec![job("1", JobState::Queued), job("2", JobState::Queued), job("3", JobState::Running)];
        Shown { queue, seen: Seen { jobs, ledger, ..Seen::default() } }
    }

    #[test]
    fn engines_of_a_kind_are_summed_and_names_stay_out() {
        let metrics = Metrics::default();
        let spent = |seconds| Ledger { node_time: Span::from_secs(seconds), ..Ledger::default() };
        let options = vec!["--account=secret".to_owned()];
        let slurm = Spec::Slurm { options, around: Surroundings::default() };
        let mut last = engine(slurm.clone(), spent(3_600));
        last.seen.trouble = Some("no answer from node17".to_owned());
        metrics.0.provision.show(&[engine(slurm, spent(60)), last]);
        metrics.jobs_failed("slurm", JobFailure::Silent, 2);
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
        metrics.0.provision.show([]);
        assert!(metrics.page().contains("speedup_provision_engines{engine=\"slurm\"} 0\n"));
    }
}
