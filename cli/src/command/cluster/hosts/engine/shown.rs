//! What is asked of an engine and what came of it, as it is shown.

use std::collections::BTreeMap;

use serde::Serialize;
use speedup_core::value::time::{Span, Timestamp};
use speedup_proto::{convert::known_moment, convert::known_span, v1};

use crate::console::render::counted;
use crate::console::render::table::{Column, table};
use crate::console::{Paint, moment};

/// Nanoseconds of an hour.
const HOUR: f64 = 3.6e12;

#[derive(Debug, Serialize)]
pub(in crate::command::cluster::hosts) struct QueueStatus {
    queue: String,
    engine: String,
    options: Vec<String>,
    /// Lines of the shell before and after the agent, and a command in front of it.
    prologue: String,
    epilogue: String,
    wrap: String,
    /// The user as whom programs are executed; empty if agents execute them as their own.
    run_as: String,
    max_jobs: u32,
    max_queued: u32,
    max_node_hours: Option<f64>,
    /// How long a job may wait before other queues are asked for its host as well.
    patience_ns: Option<Span>,
    by: String,
    /// What marks its jobs as its own.
    name: String,
    jobs: Vec<Job>,
    node_hours: f64,
    failures_in_a_row: u32,
    /// Why no more jobs are asked for.
    stopped: Option<String>,
    /// Why nodes are not told to boot anew.
    cannot_reboot: Option<String>,
    /// Hosts that running plans could use beyond those that are there.
    missing: u32,
    /// Of these, the ones that this queue is to bring.
    share: u32,
    /// Jobs that have waited beyond that.
    overdue: u32,
    /// Why the engine did not answer.
    trouble: Option<String>,
    /// Nodes whose agents were turned away for good, with the reasons: no job goes there.
    refused: BTreeMap<String, String>,
    /// What went wrong with the latest job whose agent did not join, until one joins.
    unjoined: Option<String>,
    /// How long its jobs last at most, where they have a limit and it is known.
    longest_job_ns: Option<Span>,
}

#[derive(Debug, Serialize)]
struct Job {
    id: String,
    state: String,
    words: String,
    node: Option<String>,
    started_ns: Option<Timestamp>,
    ends_ns: Option<Timestamp>,
    host: Option<String>,
}

impl From<v1::Provisioner> for QueueStatus {
    fn from(wire: v1::Provisioner) -> Self {
        let limits = wire.limits.unwrap_or_default();
        let v1::JobSurroundings { prologue, epilogue, wrap, run_as } = wire.around.unwrap_or_default();
        // A coordinator of release 0.1.0 names no queue.
        let queue = if wire.queue.is_empty() { wire.engine.clone() } else { wire.queue };
        Self {
            queue,
            engine: wire.engine,
            options: wire.options,
            prologue,
            epilogue,
            wrap,
            run_as,
            max_jobs: limits.jobs,
            max_queued: limits.queued,
            max_node_hours: known_span(limits.node_time.as_ref()).map(|span| hours(span.0)),
            patience_ns: known_span(limits.patience.as_ref()),
            by: wire.by,
            name: wire.name,
            jobs: wire.jobs.into_iter().map(Job::from).collect(),
            node_hours: hours(known_span(wire.node_time.as_ref()).unwrap_or_default().0),
            failures_in_a_row: wire.failures_in_a_row,
            stopped: wire.stopped,
            cannot_reboot: wire.cannot_reboot,
            missing: wire.missing,
            share: wire.share,
            overdue: wire.overdue,
            trouble: wire.trouble,
            refused: wire.refused.into_iter().map(|node| (node.node, node.reason)).collect(),
            unjoined: wire.unjoined,
            longest_job_ns: known_span(wire.longest_job.as_ref()),
        }
    }
}

impl From<v1::ProvisionedJob> for Job {
    fn from(wire: v1::ProvisionedJob) -> Self {
        Self {
            id: wire.id,
            state: wire.state,
            words: wire.words,
            node: wire.node,
            started_ns: known_moment(wire.started.as_ref()),
            ends_ns: known_moment(wire.ends.as_ref()),
            host: wire.host,
        }
    }
}

fn hours(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / HOUR
}

impl QueueStatus {
    /// All of it, for people.
    pub(super) fn text(&self, paint: Paint) -> String {
        let options = if self.options.is_empty() { "none".to_owned() } else { self.options.join(" ") };
        let mut lines = vec![
            format!(
                "Queue {}: hosts are requested from {} by {}, as {}; options: {options}",
                self.queue, self.engine, self.by, self.name
            ),
            format!(
                "At most {} jobs, {} of them in the queue. {}",
                self.max_jobs,
                self.max_queued,
                self.bill()
            ),
            format!(
                "The running plans could use {} more hosts than there are; this queue is to bring {}.",
                self.missing, self.share
            ),
        ];
        lines.extend(
            self.longest_job_ns
                .map(|span| format!("A job lasts {:.1} minutes at most.", span.as_secs_f64() / 60.0)),
        );
        lines.extend(self.waits_long());
        lines.extend(self.around());
        lines.extend(self.troubles());
        lines.extend(self.cannot_reboot.as_ref().map(|why| format!("Nodes are not rebooted: {why}")));
        lines.extend(self.trouble.as_ref().map(|why| format!("At the last poll: {why}")));
        if !self.jobs.is_empty() {
            lines.push(self.jobs(paint));
        }
        lines.join("\n")
    }

    /// Which engine is asked, as commands say it.
    pub(super) fn engine(&self) -> &str {
        &self.engine
    }

    pub(super) fn queue(&self) -> &str {
        &self.queue
    }

    pub(super) fn command(&self) -> String {
        format!("`speedup hosts {} show {}`", self.engine, self.queue)
    }

    /// Which jobs may never start.
    pub(in crate::command::cluster::hosts) fn waits_long(&self) -> Option<String> {
        let patience = self.patience_ns?;
        if self.overdue == 0 {
            return None;
        }
        let jobs = counted(self.overdue.into(), "job");
        let have = if self.overdue == 1 { "has" } else { "have" };
        let queue = &self.queue;
        Some(format!(
            "{jobs} of queue {queue} {have} waited longer than {patience}: other queues with room are asked for as many hosts."
        ))
    }

    /// What surrounds the agent in each job, if anything does.
    fn around(&self) -> Option<String> {
        let mut parts = Vec::new();
        for (what, text) in [("prologue", &self.prologue), ("epilogue", &self.epilogue)] {
            if !text.is_empty() {
                parts.push(format!("{what}: {}", counted(text.lines().count() as u64, "line")));
            }
        }
        if !self.wrap.is_empty() {
            parts.push(format!("command before the agent: {}", self.wrap));
        }
        if !self.run_as.is_empty() {
            parts.push(format!("programs executed as {}", self.run_as));
        }
        if parts.is_empty() { None } else { Some(format!("In each job, {}.", parts.join("; "))) }
    }

    pub(super) fn bill(&self) -> String {
        match self.max_node_hours {
            Some(most) => format!("{:.2} of {most:.2} node hours are spent.", self.node_hours),
            None => format!("{:.2} node hours are spent.", self.node_hours),
        }
    }

    /// Why hosts may not come.
    pub(in crate::command::cluster::hosts) fn troubles(&self) -> impl Iterator<Item = String> {
        let unjoined = self.unjoined.as_ref();
        let unjoined = unjoined.map(|words| format!("Of the hosts requested from {}, {words}.", self.engine));
        [self.stands_still(), self.kept_from(), unjoined].into_iter().flatten()
    }

    /// What the jobs that have no node wait for, in the words of their engine.
    pub(in crate::command::cluster::hosts) fn queued(&self) -> Option<String> {
        let mut words: BTreeMap<&str, u64> = BTreeMap::new();
        let queued = self.jobs.iter().filter(|job| job.state == "queued");
        queued.for_each(|job| *words.entry(&job.words).or_default() += 1);
        if words.is_empty() {
            return None;
        }
        let told = words.iter().map(|(words, jobs)| format!("{} {words}", counted(*jobs, "job")));
        let told: Vec<String> = told.collect();
        let (engine, queue) = (&self.engine, &self.queue);
        Some(format!("Jobs wait for nodes of {engine} (queue {queue}): {}.", told.join(", ")))
    }

    /// That no more hosts are asked for, if that is so.
    fn stands_still(&self) -> Option<String> {
        let why = self.stopped.as_ref()?;
        let (engine, queue) = (&self.engine, &self.queue);
        Some(format!(
            "No more hosts are requested from {engine} (queue {queue}): {why}. `speedup hosts {engine} add --name {queue}`, with \
             its options, requests them again."
        ))
    }

    /// From which nodes jobs are kept, with the reason of the first.
    fn kept_from(&self) -> Option<String> {
        let (node, reason) = self.refused.first_key_value()?;
        let others = match self.refused.len() - 1 {
            0 => String::new(),
            1 => ", and 1 more".to_owned(),
            more => format!(", and {more} more"),
        };
        let (engine, queue) = (&self.engine, &self.queue);
        Some(format!(
            "Jobs avoid {node}{others}: {reason}. `speedup hosts {engine} add --name {queue}`, with its options, tries them \
             again, and `speedup hosts resume` a host that has joined before."
        ))
    }

    fn jobs(&self, paint: Paint) -> String {
        let columns = ["job", "state", "in its words", "node", "host", "ends by"].map(Column::Words);
        let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        let row = |job: &Job| {
            vec![
                job.id.clone(),
                job.state.clone(),
                job.words.clone(),
                or_none(&job.node),
                or_none(&job.host),
                job.ends_ns.map_or_else(|| "-".to_owned(), moment::local),
            ]
        };
        table(&columns, self.jobs.iter().map(row), paint)
    }
}

#[cfg(test)]
mod tests {
    use speedup_proto::convert::duration;

    use super::*;
    use crate::console::Console;

    #[test]
    fn nodes_whose_agents_are_turned_away_are_named_with_the_reason() {
        let refused = ["n2", "n1"].map(|node| v1::RefusedNode {
            node: node.to_owned(),
            reason: format!("why of {node}; what to do"),
        });
        let wire =
            v1::Provisioner { engine: "slurm".to_owned(), refused: refused.into(), ..Default::default() };
        let text = QueueStatus::from(wire).text(Console::plain().out);
        assert!(text.contains(" n1, and 1 more: why of n1; what to do."), "{text}");
    }

    #[test]
    fn jobs_that_wait_are_told_in_the_words_of_their_engine() {
        let job = |state: &str, words: &str| v1::ProvisionedJob {
            state: state.to_owned(),
            words: words.to_owned(),
            ..Default::default()
        };
        let limits =
            v1::ProvisionLimits { patience: Some(duration(Span(300_000_000_000))), ..Default::default() };
        let wire = v1::Provisioner {
            engine: "slurm".to_owned(),
            queue: "short".to_owned(),
            limits: Some(limits),
            overdue: 1,
            jobs: vec![
                job("queued", "PENDING (Priority)"),
                job("running", "RUNNING"),
                job("queued", "PENDING (AssocMaxJobsLimit)"),
                job("queued", "PENDING (Priority)"),
            ],
            ..Default::default()
        };
        let shown = QueueStatus::from(wire);
        let queued = shown.queued().unwrap_or_default();
        for part in ["short", ": 1 job PENDING (AssocMaxJobsLimit)", ", 2 jobs PENDING (Priority)"] {
            assert!(queued.contains(part), "{part}: {queued}");
        }
        let long = shown.waits_long().unwrap_or_default();
        assert!(long.starts_with("1 job of queue short") && long.contains("300 s"), "{long}");
        assert_eq!(QueueStatus::from(v1::Provisioner::default()).queued(), None);
    }

    #[test]
    fn what_stands_still_says_why() {
        let job = v1::ProvisionedJob {
            id: "17".to_owned(),
            state: "queued".to_owned(),
            words: "PENDING (Priority)".to_owned(),
            ..Default::default()
        };
        let wire = v1::Provisioner {
            engine: "slurm".to_owned(),
            queue: "short".to_owned(),
            node_time: Some(duration(Span::from_secs(3_600))),
            stopped: Some("3 jobs in a row ended".to_owned()),
            jobs: vec![job],
            ..Default::default()
        };
        let text = QueueStatus::from(wire).text(Console::plain().out);
        assert!(text.contains("1.00 node hours"), "{text}");
        for part in [": 3 jobs in a row ended.", "`speedup hosts slurm add --name short`"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("Jobs avoid"), "{text}");
        assert!(text.contains("17") && text.contains("PENDING (Priority)"), "{text}");
    }
}
