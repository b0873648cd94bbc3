//! Any batch system that a file describes (`speedup_core::machine::provision::batch`), through the user's own commands.

use std::path::PathBuf;

use async_trait::async_trait;
use speedup_core::machine::provision::batch::{BatchSystem, InJob, JobRequest};
use speedup_core::machine::provision::{Job, Nodes};
use speedup_core::value::id::{JobId, NodeName};
use speedup_core::value::time::Span;
use uuid::Uuid;

use super::agent::AgentStart;
use super::command::{CommandError, blocking, execute};
use super::engine::{Engine, EngineError, JobSubmission};
use super::script::Surroundings;

/// A batch system, as one queue uses it.
#[derive(Debug)]
pub(crate) struct Batch {
    /// What marks its jobs as its own.
    pub(super) job_name: String,
    pub(super) system: BatchSystem,
    /// What the user adds to the command that submits a job.
    pub(super) options: Vec<String>,
    pub(super) around: Surroundings,
    pub(super) agent: AgentStart,
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
    /// What a job executes.
    fn script(&self) -> String {
        let system = &self.system.name;
        let InJob { id, node, lasts } = &self.system.job;
        // Nodes are often started from one image, with one machine id: only the batch system tells them apart for sure.
        let mut command = format!(
            "{} --host-id \"{system}:{node}\" --node-name \"{node}\" --job-id \"{system}:{id}\" \
             --allocation-id \"{system}:{id}\"",
            self.agent.command_line(&format!("\"{node}\"")),
        );
        if let Some(lasts) = lasts {
            command += &format!(" --job-ends \"$(($(date +%s) + {}))\"", lasts.as_secs_f64() as u64);
        }
        self.around.script(&command)
    }

    /// The command that submits a job, and what it reads.
    fn submission_of(&self, name: &str, script_file: &str, exclude: &Nodes, is_trial: bool) -> JobSubmission {
        let script = self.script();
        let logs = self.agent.place.state.to_string_lossy();
        let options = &self.options;
        let job = JobRequest { name, logs: &logs, script_file, script: &script, options, exclude, is_trial };
        JobSubmission { command: self.system.submission(&job), script: self.system.input(&job) }
    }

    async fn submit_as(&self, name: &str, exclude: &Nodes, is_trial: bool) -> Result<JobId, EngineError> {
        let path = self.agent.place.state.join(format!("{name}-{}.sh", Uuid::now_v7().simple()));
        let JobSubmission { command, script } =
            self.submission_of(name, &path.to_string_lossy(), exclude, is_trial);
        let answer = if self.system.takes_file() {
            let file = path.clone();
            blocking(move || std::fs::write(file, script)).await.map_err(EngineError::Script)?;
            // It is removed once the command has read it.
            let _file = ScriptFile(path);
            execute_line(&command, "").await?
        } else {
            execute_line(&command, &script).await?
        };
        Ok(self.system.submitted(&answer)?)
    }
}

#[async_trait]
impl Engine for Batch {
    fn system(&self) -> &str {
        &self.system.name
    }

    fn submission(&self, job_name: &str) -> JobSubmission {
        self.submission_of(job_name, "SCRIPT", &Nodes::new(), false)
    }

    async fn submit(&self, exclude: &Nodes, _hosts: u32) -> Result<Vec<JobId>, EngineError> {
        Ok(vec![self.submit_as(&self.job_name, exclude, false).await?])
    }

    async fn list(&self) -> Result<Vec<Job>, EngineError> {
        let answer = match execute_line(&self.system.listing(&self.job_name), "").await {
            Err(CommandError::Failed { words, .. }) if self.system.has_none(&words) => String::new(),
            answer => answer?,
        };
        Ok(self.system.listed(&answer, &self.job_name)?)
    }

    async fn cancel(&self, jobs: &[JobId]) -> Result<(), EngineError> {
        for words in self.system.cancellations(jobs) {
            match execute_line(&words, "").await {
                Err(CommandError::Failed { words, .. }) if self.system.has_gone(&words) => {}
                answer => drop(answer?),
            }
        }
        Ok(())
    }

    async fn exclude(&self, job: &JobId, nodes: &Nodes) -> Result<(), EngineError> {
        if let Some(words) = self.system.exclusion(job, nodes) {
            execute_line(&words, "").await?;
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

/// Executes a command with its arguments, and returns what it printed.
async fn execute_line(words: &[String], input: &str) -> Result<String, CommandError> {
    match words {
        [program, arguments @ ..] => execute(program, arguments, input).await,
        [] => execute("", &[], input).await,
    }
}
