//! How many hosts to ask of an engine that gives them out, and which to give back. Pure: the engine's jobs and what the
//! running plans could use go in, actions come out; the coordinator's shell carries them out.
//!
//! In reading order: [`Job`] (what the engine says), [`Demand`] (what the machine says), `ledger` ([`Ledger`]: what is
//! remembered from one look to the next), `divide` ([`share`]: which part of it one of several queues is to bring), `decide`
//! ([`decide`]: what to do), `news` ([`news`]: what the event log says), [`batch`] (a batch system that a file describes).

pub mod batch;
mod decide;
mod divide;
mod ledger;
mod news;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use decide::{DesertedHost, ProvisionAction, catch_up, decide, deserted, give_back_spent};
pub use divide::{Claim, share};
pub(super) use ledger::doubled;
pub use ledger::{Cancelled, GivenBack, JobFailure, Ledger, NodeExclusion, Note, Setback, Unreached};
pub use news::{EngineNote, EngineNoteKind, news};

use crate::host::Standing;
use crate::value::id::{BootId, HostId, JobId, NodeName};
use crate::value::time::{Span, Timestamp};

/// Who drains hosts that are given back; nobody else's name has a space.
pub const PROVISIONER: &str = "the provisioner";
/// Whether a host is given no more runs because its node goes back to its engine.
pub(super) fn is_given_back(standing: &Standing) -> bool {
    matches!(standing, Standing::Draining { by } if by == PROVISIONER)
}

/// Jobs that fail one after another on different nodes, with no agent there between, after which no more are asked for: something is
/// wrong with all of them, and going on would only spend nodes.
pub(crate) const FAILURES_IN_A_ROW: u32 = 3;
/// How long a node or host is left out after something failed there, and again twice as long each time: cleaning up a disk or mounting
/// a file system again takes minutes.
pub(super) const LEFT_OUT: Span = Span::from_secs(600);
/// The longest that it is left out before it is tried again: administrators repair nodes in a day.
pub(super) const MAX_LEFT_OUT: Span = Span::from_secs(24 * 3_600);
/// How long no job is requested after the engine forgot some or somebody cancelled them, and again twice as long each time.
const ASK_AGAIN: Span = Span::from_secs(5);
/// The longest such pause: a job each time costs an engine nothing.
const MAX_ASK_AGAIN: Span = Span::from_secs(300);
/// Such pauses one after another, with no agent joining between, after which no more jobs are requested: whoever cancels them means it.
const SETBACKS_IN_A_ROW: u32 = 5;
/// Most nodes that are left out: far more fail only where something is wrong with all, and then the queue stops.
const MOST_LEFT_OUT: usize = 1_000;
/// How long an agent may take to join from the start of its job, or to come back: a large binary on a slow shared disk.
pub const JOIN_PATIENCE: Span = Span::from_secs(300);
/// How long an agent that says that it cannot reach the coordinator may go on trying while the coordinator serves: an
/// attempt takes 10 s at most, and the pause before it 5 s.
pub(crate) const REACH_PATIENCE: Span = Span::from_secs(20);
/// How long a host that nothing needs is kept: a plan's rule that asks for further runs has said so by then.
pub const KEEP: Span = Span::from_secs(5);
/// How long the job of a host that was given back may take to end by itself: its agent is told to, and has nothing to do.
pub(crate) const LEAVE_PATIENCE: Span = Span::from_secs(10);
/// Most queued jobs whose excluded nodes are changed at one look: each costs the engine a request.
pub(crate) const EXCLUSIONS_AT_ONCE: usize = 16;

/// Most bytes of the lines before an agent in its job, and of those after it: engines keep the script of each job, and lines that
/// set a job up are few.
pub const MAX_SURROUNDING_BYTES: usize = 64 << 10;

/// What the user allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProvisionLimits {
    /// Most jobs at once, queued or running.
    pub jobs: u32,
    /// Most jobs in the queue at once.
    pub queued: u32,
    /// Most time on nodes, summed over all jobs ever; no bound where there is none.
    pub node_time: Option<Span>,
    /// How long a job may wait for its node before other queues are asked for its host as well.
    #[serde(default = "usual_patience", skip_serializing_if = "is_usual")]
    pub patience: Span,
}

/// How long a job may wait before other queues are asked for its host as well, where its user says nothing: a scheduler that looks
/// for places in the gaps between other jobs has done so a few times.
pub const QUEUE_PATIENCE: Span = Span::from_secs(300);

fn usual_patience() -> Span {
    QUEUE_PATIENCE
}

/// Records of earlier versions have none, and stay as they are.
fn is_usual(patience: &Span) -> bool {
    *patience == QUEUE_PATIENCE
}

/// One job of ours, as the engine tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub id: JobId,
    pub state: JobState,
    /// The engine's own word for that, and its reason, where it gives one.
    pub words: String,
    pub node: Option<NodeName>,
    pub started: Option<Timestamp>,
    /// When it ended, or will end at the latest.
    pub ends: Option<Timestamp>,
}

/// What a job does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobState {
    /// It waits for a node, also again.
    Queued,
    Running,
    Ending,
    Ended(JobEnd),
}

impl JobState {
    /// Whether it has ended.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Ended(_))
    }
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobEnd {
    Completed,
    Cancelled,
    /// It or its node failed, or it was refused.
    Failed,
    /// Its time was over.
    TimedOut,
    /// Another job needed the node more.
    Preempted,
}

/// An agent that the coordinator turned away for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedAgent {
    /// The job in which it says that it lives.
    pub job: JobId,
    /// On which node, as it says.
    pub node: NodeName,
    /// Why it was turned away, and what can be done.
    pub reason: String,
}

/// An agent that cannot reach the coordinator, as it left it in its state directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreachedAgent {
    pub job: JobId,
    /// What it tried, and why that failed.
    pub reason: String,
}

impl UnreachedAgent {
    /// The name of the file in the state directory of an agent; it is there while the agent of a job is not connected.
    pub const FILE: &str = "unreached.json";
    /// Most bytes of that file: a name of 253 bytes stands in it three times, with the words of a resolver.
    pub const MAX_BYTES: u64 = 4_096;
}

/// What the running plans could use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Hosts that they could give something to beyond those that are there.
    pub missing: u32,
    /// How many of them serve a run together.
    pub together: u32,
    /// Whether those have to be in one job.
    pub in_one_job: bool,
    /// How long a visit that waits may rightly take, at most.
    pub longest: Span,
    /// The hosts that an engine ever gave out.
    pub hosts: Vec<ProvidedHost>,
}

/// A host that an engine gave out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvidedHost {
    pub host: HostId,
    pub node: NodeName,
    /// The job in which its agent lives, or last lived.
    pub job: Option<JobId>,
    pub boot: BootId,
    /// Whether its agent is connected.
    pub is_here: bool,
    /// Whether it has an attempt, or has begun a visit.
    pub is_busy: bool,
    /// Whether it was given an attempt since its agent joined.
    pub has_served: bool,
    /// Whether it is given runs.
    pub engaged: ServiceState,
    /// What it is worth to what waits.
    pub worth: Worth,
    /// Until when a plan has given it up, where one has.
    pub left_out_until: Option<Timestamp>,
}

/// Whether a host is given runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceState {
    Serving,
    /// No more, because it is given back.
    GivenBack,
    /// Not, for another's reason.
    OutOfService,
}

/// What a host is worth to what waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Worth {
    /// It may take none of it, ever.
    Nothing,
    /// It may take some in another boot.
    NewBoot,
    /// It may take some in another allocation.
    NewAllocation,
    /// It may take some.
    Now,
}

impl Default for Demand {
    fn default() -> Self {
        Self { missing: 0, together: 1, in_one_job: false, longest: Span::default(), hosts: Vec::new() }
    }
}

impl Demand {
    /// What one queue sees of it: its share of what is missing, and the hosts of its system.
    #[must_use]
    pub fn of(mut self, system: &str, share: u32) -> Self {
        // Half a job for several hosts is none.
        self.missing = if self.in_one_job { share.next_multiple_of(self.together) } else { share };
        self.hosts.retain(|host| host.job.as_ref().map_or("", JobId::system) == system);
        self
    }

    /// When the first host is to be tried again that a plan has given up.
    pub fn first_let_in(&self) -> Option<Timestamp> {
        self.hosts.iter().filter_map(|host| host.left_out_until).min()
    }

    /// The hosts that are given back, but for those of other queues.
    pub fn given_back(&self, others: &BTreeSet<JobId>) -> impl Iterator<Item = &ProvidedHost> {
        let given_back = self.hosts.iter().filter(|host| host.engaged == ServiceState::GivenBack);
        given_back.filter(|host| host.job.as_ref().is_none_or(|job| !others.contains(job)))
    }
}

/// Nodes that a job may not have.
pub type Nodes = BTreeSet<NodeName>;
