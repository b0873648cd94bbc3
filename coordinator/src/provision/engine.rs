//! What an engine that gives out hosts can do. One more engine is one more implementation of this.

use std::path::PathBuf;

use async_trait::async_trait;
use speedup_core::machine::provision::batch::AnswerError;
use speedup_core::machine::provision::{Job, Nodes};
use speedup_core::value::id::{JobId, NodeName};
use speedup_core::value::time::Span;
use thiserror::Error;

use super::command::CommandError;

/// An engine that gives out hosts, each in a job that starts one agent.
#[async_trait]
pub(crate) trait Engine: Send + Sync + 'static {
    /// What the ids of its jobs have before a colon, so that they and their nodes are told from those of other engines; nothing
    /// for Slurm, whose ids are bare numbers.
    fn system(&self) -> &str;

    /// The command and script of a job of this name, as they are shown to people.
    fn submission(&self, job_name: &str) -> JobSubmission;

    /// Asks for a job on whole nodes that are none of these: on so many, where it can give several to one job, and otherwise on one.
    /// Gives an id for each node.
    async fn submit(&self, exclude: &Nodes, hosts: u32) -> Result<Vec<JobId>, EngineError>;

    /// Every job of ours, those that have ended as long as the engine remembers them.
    async fn list(&self) -> Result<Vec<Job>, EngineError>;

    /// Ends jobs; those that have ended already are passed over.
    async fn cancel(&self, jobs: &[JobId]) -> Result<(), EngineError>;

    /// Keeps a queued job from these nodes, and no others.
    async fn exclude(&self, job: &JobId, nodes: &Nodes) -> Result<(), EngineError>;

    /// Asks for a job that is never to start, and ends it: what the engine would refuse it refuses now. Gives how long jobs
    /// last at most, where they have a limit.
    async fn try_out(&self) -> Result<Option<Span>, EngineError>;

    /// The file into which a job prints, where that is known.
    fn log_of(&self, job: &Job) -> Option<PathBuf>;

    /// What the names of the logs of jobs begin with, in the directory of the agents, where each job has one.
    fn log_prefix(&self) -> Option<String>;

    /// Has a node boot anew once no job is on it. Whether it did is told by its boot id alone.
    async fn reboot(&self, node: &NodeName) -> Result<(), EngineError>;
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct JobSubmission {
    pub(crate) command: Vec<String>,
    /// What the job executes.
    pub(crate) script: String,
}

/// Why an engine has not done what it was asked.
#[derive(Debug, Error)]
pub(crate) enum EngineError {
    /// Its program says no, or nothing.
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error("{program} answered {answer:?}, which is not a {wanted}")]
    Answer { program: &'static str, answer: String, wanted: &'static str },
    /// It would let a job wait for ever.
    #[error(
        "a job of these options may last {asked}, and the partition {partition} holds none longer than {longest} \
         (MaxTime): Slurm would let it wait for ever"
    )]
    TooLong {
        /// The time limit of the job, as Slurm writes it.
        asked: String,
        partition: String,
        /// The limit of all jobs there, as Slurm writes it.
        longest: String,
    },
    /// One more like it would be asked for in each round.
    #[error("it answered that the new job is {0}, which is another job of this queue")]
    KnownJob(JobId),
    /// Jobs cannot begin or print there.
    #[error("cannot use {} for jobs, as {option} says", path.display())]
    Directory {
        /// The option of the engine that names it.
        option: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("all {0} places for agents on this machine are taken or excluded")]
    NoPlace(u32),
    #[error("{0}")]
    NoReboot(&'static str),
    #[error(transparent)]
    Meaning(#[from] AnswerError),
    /// The script of a job cannot be put where the command reads it.
    #[error("cannot write the script of a job")]
    Script(#[source] std::io::Error),
    #[error("cannot note a trial job in {}", path.display())]
    Trial { path: std::path::PathBuf, source: std::io::Error },
    #[error("cannot start an agent")]
    NotStarted(#[source] std::io::Error),
}

impl EngineError {
    /// Whether a job may have been submitted whose id is not known.
    pub(crate) fn hides_job(&self) -> bool {
        matches!(self, Self::Answer { .. } | Self::KnownJob(_) | Self::Meaning(_))
    }
}
