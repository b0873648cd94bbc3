//! Agents as processes of this machine, each as a host of its own: the second engine, for a first look and for tests.
//! They end with the coordinator.

use std::{
    collections::BTreeMap, collections::BTreeSet, fs::File, path::PathBuf, process::Stdio, time::Duration,
};

use async_trait::async_trait;
use rustix::process::{Pid, Signal, kill_process};
use speedup_core::machine::provision::{Job, JobEnd, JobState, Nodes};
use speedup_core::value::id::{JobId, NodeName, QueueName};
use speedup_core::value::time::{Span, Timestamp};
use speedup_journal::private;
use tokio::{process::Child, sync::Mutex};
use uuid::Uuid;

use super::{agent::AgentStart, engine::Engine, engine::EngineError, engine::JobSubmission};
use crate::timeline::wall_clock;

/// What the ids of its jobs begin with.
const SYSTEM: &str = "local";
/// Places for agents: what one machine may carry for a look.
const PLACES: u32 = 64;
/// How long an agent may take to end.
const FAREWELL: Duration = Duration::from_secs(10);

/// Processes of this machine.
#[derive(Debug)]
pub(crate) struct Local {
    agent: AgentStart,
    /// What the names of its places begin with: no place is of two queues.
    prefix: String,
    jobs: Mutex<BTreeMap<JobId, Process>>,
}

#[derive(Debug)]
struct Process {
    child: Child,
    place: NodeName,
    started: Timestamp,
    /// Told once: then it is forgotten.
    ended: Option<(Timestamp, JobEnd)>,
}

impl Local {
    pub(crate) fn new(queue: &QueueName, agent: AgentStart) -> Self {
        let is_usual = queue.as_str() == SYSTEM;
        let prefix = if is_usual { SYSTEM.to_owned() } else { format!("{SYSTEM}-{queue}") };
        Self { agent, prefix, jobs: Mutex::default() }
    }

    fn places(&self) -> impl Iterator<Item = NodeName> {
        // A name of a queue that fills an id leaves no room for a number.
        (1..=PLACES).filter_map(|number| format!("{}-{number}", self.prefix).parse().ok())
    }

    /// The command that starts an agent at a place.
    fn command(&self, place: &NodeName, job: &JobId) -> Vec<String> {
        let program = self.agent.place.program.display().to_string();
        let state = self.agent.place.state.join(place.as_str()).display().to_string();
        let parent = format!("--exit-with-parent={}", std::process::id());
        let mut command = vec![program];
        command.extend(["agent", "start", &parent, "--no-selftest", "--share-machine"].map(str::to_owned));
        command.extend(self.agent.on_this_machine().connection());
        for (flag, value) in [
            ("--host-id", place.as_str()),
            ("--node-name", place.as_str()),
            ("--job-id", job.as_str()),
            ("--allocation-id", job.as_str()),
            ("--state", state.as_str()),
        ] {
            command.extend([flag.to_owned(), value.to_owned()]);
        }
        command
    }

    fn log(&self, place: &NodeName) -> PathBuf {
        self.agent.place.state.join(format!("{place}.log"))
    }

    fn start(&self, place: &NodeName, job: &JobId) -> std::io::Result<Child> {
        private::create_directories(&self.agent.place.state)?;
        let log = File::create(self.log(place))?;
        let words = self.command(place, job);
        let mut command = crate::open_files::command(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        // Ctrl-C at the terminal is for the coordinator.
        command.process_group(0).kill_on_drop(true).spawn()
    }
}

#[async_trait]
impl Engine for Local {
    fn system(&self) -> &'static str {
        SYSTEM
    }

    fn submission(&self, _job_name: &str) -> JobSubmission {
        let job = format!("{SYSTEM}:ID").parse().expect("an id");
        let command = self.places().next().map(|place| self.command(&place, &job));
        JobSubmission { command: command.unwrap_or_default(), script: String::new() }
    }

    async fn submit(&self, exclude: &Nodes, _hosts: u32) -> Result<Vec<JobId>, EngineError> {
        let mut jobs = self.jobs.lock().await;
        let running = jobs.values().filter(|process| process.ended.is_none());
        let taken: BTreeSet<NodeName> = running.map(|process| process.place.clone()).collect();
        let mut free = self.places().filter(|place| !taken.contains(place) && !exclude.contains(place));
        let place = free.next().ok_or(EngineError::NoPlace(PLACES))?;
        let id: JobId = format!("{SYSTEM}:{}", Uuid::now_v7().simple()).parse().expect("digits are an id");
        let child = self.start(&place, &id).map_err(EngineError::NotStarted)?;
        jobs.insert(id.clone(), Process { child, place, started: wall_clock(), ended: None });
        Ok(vec![id])
    }

    async fn list(&self) -> Result<Vec<Job>, EngineError> {
        let mut jobs = self.jobs.lock().await;
        jobs.retain(|_, process| process.ended.is_none());
        Ok(jobs.iter_mut().map(|(id, process)| job(id, process)).collect())
    }

    async fn cancel(&self, jobs: &[JobId]) -> Result<(), EngineError> {
        let mut processes = self.jobs.lock().await;
        for job in jobs {
            if let Some(process) = processes.get_mut(job) {
                end(&mut process.child).await;
            }
        }
        Ok(())
    }

    async fn exclude(&self, _job: &JobId, _nodes: &Nodes) -> Result<(), EngineError> {
        // Nothing ever waits here.
        Ok(())
    }

    async fn try_out(&self) -> Result<Option<Span>, EngineError> {
        private::create_directories(&self.agent.place.state).map_err(EngineError::NotStarted)?;
        Ok(None)
    }

    fn log_of(&self, job: &Job) -> Option<PathBuf> {
        Some(self.log(job.node.as_ref()?))
    }

    fn log_prefix(&self) -> Option<String> {
        // Each place has one, which the next agent there writes anew.
        None
    }

    async fn reboot(&self, _node: &NodeName) -> Result<(), EngineError> {
        Err(EngineError::NoReboot("agents that share a machine cannot reboot it"))
    }
}

/// What a process does now, as a job.
fn job(id: &JobId, process: &mut Process) -> Job {
    let (state, words) = match process.child.try_wait() {
        Ok(None) => (JobState::Running, "running".to_owned()),
        Ok(Some(status)) => {
            let end = if status.success() { JobEnd::Completed } else { JobEnd::Failed };
            process.ended = Some((wall_clock(), end));
            (JobState::Ended(end), status.to_string())
        }
        Err(error) => (JobState::Ending, error.to_string()),
    };
    Job {
        id: id.clone(),
        state,
        words,
        node: Some(process.place.clone()),
        started: Some(process.started),
        ends: process.ended.map(|(at, _)| at),
    }
}

/// Asks it to end, and makes it when it does not.
async fn end(child: &mut Child) {
    if let Some(pid) = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw) {
        // It is not waited for yet, so the number is still its own.
        let _ = kill_process(pid, Signal::TERM);
    }
    if tokio::time::timeout(FAREWELL, child.wait()).await.is_err() {
        let _ = child.kill().await;
    }
}
