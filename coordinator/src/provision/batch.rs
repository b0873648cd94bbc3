//! Any batch system that a file describes (`speedup_core::machine::provision::batch`), through the user's own commands.

use std::path::PathBuf;

use async_trait::async_trait;
use speedup_core::machine::provision::batch::{BatchSystem, JobRequest};
use speedup_core::machine::provision::{Job, Nodes};
use speedup_core::value::id::{JobId, NodeName};
use speedup_core::value::time::Span;
use uuid::Uuid;

use super::agent::AgentStart;
use super::command::{CommandError, execute};
use super::engine::{Engine, EngineError, Request};
use super::script::Surroundings;
use super::shell::{line, quoted};

/// A batch system, as one queue uses it.
#[derive(Debug)]
pub(crate) struct Batch {
    /// What marks its jobs as its own.
    job_name: String,
    system: BatchSystem,
    /// What the user adds to the command that submits a job.
    options: Vec<String>,
    around: Surroundings,
    agent: AgentStart,
}

/// A file with a job's script, while the command that submits the job reads it.
struct ScriptFile(PathBuf);

impl Drop for ScriptFile {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.0) {
            tracing::warn!(file = %self.0.display(), "the script of a job stays: {error}");
        }
    }
}

impl Batch {
    /// One whose jobs have this name.
    pub(crate) fn new(
        job_name: String,
        system: BatchSystem,
        options: Vec<String>,
        around: Surroundings,
        agent: AgentStart,
    ) -> Self {
        Self { job_name, system, options, around, agent }
    }

    /// What a job executes. An agent's state is its node's, so that what an earlier one there has not delivered is delivered.
    fn script(&self) -> String {
        let program = self.agent.place.program.to_string_lossy().into_owned();
        let words = [program, "agent".to_owned(), "start".to_owned()];
        let start = line(words.into_iter().chain(self.agent.connection()));
        let state = quoted(&self.agent.place.state.to_string_lossy());
        let (system, id, node) = (&self.system.name, &self.system.job.id, &self.system.job.node);
        // Nodes are often started from one image, with one machine id: only the batch system tells them apart for sure.
        let names = format!(
            "--state {state}/\"{node}\" --host-id \"{system}:{node}\" --node-name \"{node}\" --job-id \"{system}:{id}\" \
             --allocation-id \"{system}:{id}\""
        );
        let ends = self
            .system
            .job
            .lasts
            .map(|lasts| format!(" --job-ends \"$(($(date +%s) + {}))\"", lasts.as_secs_f64() as u64));
        self.around.script(&format!("{start} {names}{}", ends.unwrap_or_default()))
    }

    async fn submit_as(&self, name: &str, exclude: &Nodes, is_trial: bool) -> Result<JobId, EngineError> {
        let path = self.agent.place.state.join(format!("{name}-{}.sh", Uuid::now_v7().simple()));
        let script = self.script();
        let (logs, script_file) = (self.agent.place.state.to_string_lossy(), path.to_string_lossy());
        let job = JobRequest {
            name,
            logs: &logs,
            script_file: &script_file,
            script: &script,
            options: &self.options,
            exclude,
            is_trial,
        };
        let (words, input) = (self.system.submission(&job), self.system.input(&job));
        let answer = if self.system.takes_file() {
            let at = path.clone();
            let written = tokio::task::spawn_blocking(move || std::fs::write(at, input)).await;
            let written = written.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
            written.map_err(EngineError::Script)?;
            // It is removed once the command has read it.
            let _file = ScriptFile(path.clone());
            said(&words, "").await?
        } else {
            said(&words, &input).await?
        };
        Ok(self.system.submitted(&answer)?)
    }
}

#[async_trait]
impl Engine for Batch {
    fn system(&self) -> &str {
        &self.system.name
    }

    fn request(&self) -> Request {
        let script = self.script();
        let logs = self.agent.place.state.to_string_lossy().into_owned();
        let job = JobRequest {
            name: &self.job_name,
            logs: &logs,
            script_file: "SCRIPT",
            script: &script,
            options: &self.options,
            exclude: &Nodes::new(),
            is_trial: false,
        };
        Request { command: self.system.submission(&job), script: self.system.input(&job) }
    }

    async fn submit(&self, exclude: &Nodes, _hosts: u32) -> Result<Vec<JobId>, EngineError> {
        Ok(vec![self.submit_as(&self.job_name, exclude, false).await?])
    }

    async fn list(&self) -> Result<Vec<Job>, EngineError> {
        let answer = match said(&self.system.listing(&self.job_name), "").await {
            Err(CommandError::Failed { words, .. }) if self.system.has_none(&words) => String::new(),
            answer => answer?,
        };
        Ok(self.system.listed(&answer, &self.job_name)?)
    }

    async fn cancel(&self, jobs: &[JobId]) -> Result<(), EngineError> {
        for words in self.system.cancellations(jobs) {
            match said(&words, "").await {
                Err(CommandError::Failed { words, .. }) if self.system.has_gone(&words) => {}
                answer => drop(answer?),
            }
        }
        Ok(())
    }

    async fn exclude(&self, job: &JobId, nodes: &Nodes) -> Result<(), EngineError> {
        if let Some(words) = self.system.exclusion(job, nodes) {
            said(&words, "").await?;
        }
        Ok(())
    }

    async fn try_out(&self) -> Result<Option<Span>, EngineError> {
        if self.system.submit.trial.is_some() {
            // Of another name, so that nobody takes it for a job that is to start.
            let job = self.submit_as(&trial_name(&self.job_name), &Nodes::new(), true).await?;
            self.cancel(&[job]).await?;
        }
        Ok(self.system.job.lasts)
    }

    fn state_of(&self, job: &Job) -> Option<PathBuf> {
        // As the script says it.
        Some(self.agent.place.state.join(job.node.as_ref()?.as_str()))
    }

    fn log_of(&self, _job: &Job) -> Option<PathBuf> {
        // It is where the file's command has it written.
        None
    }

    fn log_prefix(&self) -> Option<String> {
        // As the files of `deploy/batch` have it written.
        Some(format!("{}-", self.system.name))
    }

    async fn reboot(&self, _node: &NodeName) -> Result<(), EngineError> {
        Err(EngineError::NoReboot("nothing describes how this batch system reboots a node"))
    }
}

/// As long as the name of jobs, for tables that cut it.
fn trial_name(job_name: &str) -> String {
    format!("try{}", &job_name[job_name.len().min(3)..])
}

async fn said(words: &[String], input: &str) -> Result<String, CommandError> {
    let (program, arguments) = words.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
    execute(program, arguments, input).await
}
