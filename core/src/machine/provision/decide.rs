//! What to do now.

use std::collections::BTreeSet;

use super::{
    Demand, EXCLUSIONS_AT_ONCE, JOIN_PATIENCE, Job, JobEnd, JobState, KEEP, LEAVE_PATIENCE, Ledger, Nodes,
    Note, ProvidedHost, ProvisionLimits, REACH_PATIENCE, ServiceState, Worth, divide::alive,
    divide::has_node, ledger::Cancelled,
};
use crate::value::id::{BootId, HostId, JobId, NodeName};
use crate::value::time::Timestamp;

/// What to have the engine or the machine do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProvisionAction {
    Submit {
        jobs: u32,
        /// How many hosts each has, of an engine whose jobs may have several; of others there are as many jobs as hosts.
        hosts: u32,
        /// Nodes that they may not have.
        exclude: Nodes,
    },
    /// Change the nodes that a queued job may not have.
    Exclude {
        job: JobId,
        nodes: Nodes,
    },
    /// Give a host no more runs, for its node is given back: its agent ends once it has none, and the job with it.
    GiveBack {
        host: HostId,
        job: JobId,
        why: Cancelled,
    },
    /// Give a host runs again.
    Resume {
        host: HostId,
    },
    /// Have a node boot anew once the job on it has ended.
    Reboot {
        node: NodeName,
        /// The boot that it is to leave.
        leaves: BootId,
    },
    Cancel {
        job: JobId,
        why: Cancelled,
    },
}

/// What to do now, in this order. `ledger` has observed the same jobs and demand. `others` are the jobs of other queues, whose hosts are
/// theirs to give back.
pub fn decide(
    now: Timestamp,
    limits: &ProvisionLimits,
    ledger: &Ledger,
    jobs: &[Job],
    demand: &Demand,
    others: &BTreeSet<JobId>,
) -> Vec<ProvisionAction> {
    let goes_on = ledger.stands_still(now, limits).is_none();
    let situation = Situation { now, limits, ledger, jobs, demand, others, goes_on };
    let mut actions = Vec::new();
    situation.resume(&mut actions);
    situation.give_back(&mut actions);
    situation.balance(&mut actions);
    situation.spare_parts(&mut actions);
    actions
}

/// What to do before the engine is asked again: hosts that serve nothing more in their allocation are given back at once.
pub fn give_back_spent(
    now: Timestamp,
    limits: &ProvisionLimits,
    ledger: &Ledger,
    demand: &Demand,
) -> Vec<ProvisionAction> {
    let goes_on = ledger.stands_still(now, limits).is_none();
    let situation = Situation { now, limits, ledger, jobs: &[], demand, others: &BTreeSet::new(), goes_on };
    let mut actions = Vec::new();
    for host in demand.hosts.iter().filter(|host| host.is_here && !host.is_busy) {
        if let Some(job) = &host.job
            && let Some(note) = ledger.jobs.get(job)
            && note.cancelled.is_none()
            && host.engaged == ServiceState::Serving
            && situation.is_spent(host)
        {
            situation.hand_back(job, note, host, &mut actions);
        }
    }
    actions
}

/// Hosts that the engine's jobs are not on any more, with those jobs: what their agents had is lost, whatever their connections
/// look like. A job that was put back into the queue has left its node as well, and so has one that the engine has forgotten, once
/// its agent is away.
pub fn deserted(ledger: &Ledger, jobs: &[Job], demand: &Demand) -> Vec<DesertedHost> {
    let mut deserted = Vec::new();
    for host in demand.hosts.iter().filter(|host| host.is_here || host.is_busy) {
        let Some(id) = &host.job else { continue };
        let job = jobs.iter().find(|job| job.id == *id);
        let end = match job {
            Some(job) => left(host, job),
            None if !host.is_here && ledger.jobs.contains_key(id) => Some(JobEnd::Cancelled),
            None => None,
        };
        if let Some(end) = end {
            let words = job.map_or("the engine no longer knows it", |job| job.words.as_str());
            let words = format!("job {id}: {words}");
            // A job that ends by itself may have been ended by what the plan executed in it.
            let is_excused = match end {
                JobEnd::Preempted | JobEnd::TimedOut | JobEnd::Cancelled => true,
                JobEnd::Failed | JobEnd::Completed => false,
            };
            deserted.push(DesertedHost { host: host.host.clone(), job: id.clone(), words, is_excused });
        }
    }
    deserted
}

/// How a job has left a host, if it has.
fn left(host: &ProvidedHost, job: &Job) -> Option<JobEnd> {
    let is_elsewhere = job.node.as_ref().is_some_and(|node| *node != host.node);
    match job.state {
        JobState::Ended(end) => Some(end),
        JobState::Queued => Some(JobEnd::Preempted),
        JobState::Running | JobState::Ending if is_elsewhere => Some(JobEnd::Preempted),
        // How it ends may be told only after the host counts as lost.
        JobState::Ending if !host.is_here => Some(JobEnd::Preempted),
        JobState::Running | JobState::Ending => None,
    }
}

/// A host on which its job is not any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesertedHost {
    pub host: HostId,
    pub job: JobId,
    /// What became of it.
    pub words: String,
    /// Whether the engine ended it for others' sake.
    pub is_excused: bool,
}

/// What the engine said is older than what the machine says: a job whose agent is here has started since.
pub fn catch_up(jobs: &mut [Job], demand: &Demand) {
    for job in jobs.iter_mut().filter(|job| job.state == JobState::Queued) {
        if let Some(host) = demand.host_of(job).filter(|host| host.is_here) {
            job.state = JobState::Running;
            job.node = Some(host.node.clone());
        }
    }
}

/// What a decision is made of.
struct Situation<'a> {
    now: Timestamp,
    limits: &'a ProvisionLimits,
    ledger: &'a Ledger,
    jobs: &'a [Job],
    demand: &'a Demand,
    others: &'a BTreeSet<JobId>,
    goes_on: bool,
}

impl Situation<'_> {
    fn alive(&self, state: JobState) -> impl DoubleEndedIterator<Item = (&Job, &Note)> {
        alive(self.ledger, self.jobs, state)
    }

    /// A host whose job is gone serves again when it comes back in another one; so does one that is needed after all.
    fn resume(&self, actions: &mut Vec<ProvisionAction>) {
        for host in self.demand.given_back(self.others) {
            let job = self.jobs.iter().find(|job| host.job.as_ref() == Some(&job.id));
            let resumes = match job.filter(|job| has_node(job)) {
                Some(job) => {
                    let note = self.ledger.jobs.get(&job.id);
                    note.is_some_and(|note| note.cancelled.is_none()) && self.is_needed(host)
                }
                None => true,
            };
            if resumes {
                actions.push(ProvisionAction::Resume { host: host.host.clone() });
            }
        }
    }

    fn is_needed(&self, host: &ProvidedHost) -> bool {
        self.goes_on && host.worth == Worth::Now
    }

    /// A host gets no more runs first, and its job is ended when it is seen to have none.
    fn give_back(&self, actions: &mut Vec<ProvisionAction>) {
        for (job, note) in self.alive(JobState::Running) {
            // Its agent has ended, or is to end; where it does not take the job with it, we do.
            let overdue = note.given_back.filter(|given_back| self.now - given_back.since > LEAVE_PATIENCE);
            let Some(host) = self.demand.host_of(job).filter(|host| host.is_here) else {
                let why = match overdue {
                    Some(given_back) => Some(given_back.why),
                    None => self.why_absent(note),
                };
                actions.extend(why.map(|why| cancel(job, why)));
                continue;
            };
            let is_idle = note.idle_since.is_some_and(|since| self.now - since >= KEEP) || !self.goes_on;
            match host.engaged {
                _ if host.is_busy || host.engaged != ServiceState::OutOfService && self.is_needed(host) => {}
                ServiceState::Serving if is_idle || self.is_spent(host) => {
                    self.hand_back(&job.id, note, host, actions);
                }
                ServiceState::Serving => {}
                ServiceState::GivenBack if note.given_back.is_some() && overdue.is_none() => {}
                ServiceState::GivenBack | ServiceState::OutOfService => {
                    actions.push(cancel(job, self.why(note, host)));
                }
            }
        }
    }

    /// Why to cancel a running job whose agent is not here, if it has been away for too long.
    fn why_absent(&self, note: &Note) -> Option<Cancelled> {
        if let Some(unreached) = &note.unreached
            && self.now - unreached.since > REACH_PATIENCE
        {
            return Some(Cancelled::Unreached);
        }
        let is_silent = note.silent_since.is_some_and(|since| self.now - since > JOIN_PATIENCE);
        is_silent.then_some(Cancelled::Silent)
    }

    /// Whether a host is of no more use in its allocation or boot, while it would be in another.
    fn is_spent(&self, host: &ProvidedHost) -> bool {
        match host.worth {
            Worth::NewAllocation => true,
            Worth::NewBoot => self.ledger.cannot_reboot.is_none(),
            Worth::Nothing | Worth::Now => false,
        }
    }

    /// The node is told to boot anew before its job ends: after that it may be another's.
    fn hand_back(&self, job: &JobId, note: &Note, host: &ProvidedHost, actions: &mut Vec<ProvisionAction>) {
        if self.goes_on && host.worth == Worth::NewBoot && self.ledger.cannot_reboot.is_none() {
            actions.push(ProvisionAction::Reboot { node: host.node.clone(), leaves: host.boot.clone() });
        }
        let why = self.why(note, host);
        actions.push(ProvisionAction::GiveBack { host: host.host.clone(), job: job.clone(), why });
    }

    fn why(&self, note: &Note, host: &ProvidedHost) -> Cancelled {
        let has_served = note.has_served || host.has_served;
        let is_short = !has_served && host.worth == Worth::NewAllocation && self.goes_on;
        if is_short { Cancelled::TooShort } else { Cancelled::Unneeded }
    }

    /// As many jobs as are missing, within the limits; those in the queue beyond that are cancelled, the latest first.
    fn balance(&self, actions: &mut Vec<ProvisionAction>) {
        let with_node = self.jobs.iter().filter(|job| has_node(job)).count() as u32;
        let starting = self.alive(JobState::Running).filter(|(_, note)| !note.joined).count() as u32;
        let queued = self.alive(JobState::Queued).count() as u32;
        let missing = if self.goes_on { self.demand.missing } else { 0 };
        let wanted = missing
            .saturating_sub(starting)
            .min(self.limits.jobs.saturating_sub(with_node))
            .min(self.limits.queued.max(self.demand.together));
        let surplus = queued.saturating_sub(wanted) as usize;
        for (job, _) in self.alive(JobState::Queued).rev().take(surplus) {
            actions.push(cancel(job, Cancelled::Unneeded));
        }
        let exclude = self.exclude();
        let kept = self.alive(JobState::Queued).take(queued as usize - surplus);
        // A job for several hosts is told once.
        let kept = kept.filter(|(job, _)| job.id.node_number().is_none_or(|number| number == 0));
        for (job, _) in kept.filter(|(_, note)| note.excluded != exclude).take(EXCLUSIONS_AT_ONCE) {
            actions.push(ProvisionAction::Exclude { job: job.id.clone(), nodes: exclude.clone() });
        }
        let more = if self.ledger.is_set_back(self.now) { 0 } else { wanted.saturating_sub(queued) };
        let together = self.demand.together.max(1);
        let whole = more / together;
        let rest = more % together;
        if whole > 0 {
            let exclude = exclude.clone();
            actions.push(ProvisionAction::Submit { jobs: whole, hosts: together, exclude });
        }
        if rest > 0 && !self.demand.in_one_job {
            actions.push(ProvisionAction::Submit { jobs: 1, hosts: rest, exclude });
        }
    }

    /// A job for several hosts is ended as a whole: when nothing is to be kept of it, or when one of its agents does not come and none of
    /// its hosts has anything.
    fn spare_parts(&self, actions: &mut Vec<ProvisionAction>) {
        let mut cancelled = BTreeSet::new();
        for action in actions.iter() {
            if let ProvisionAction::Cancel { job, .. } = action {
                cancelled.insert(job.clone());
            }
        }
        let alive = self.alive(JobState::Queued).chain(self.alive(JobState::Running)).map(|(job, _)| job);
        let kept = alive.filter(|job| job.id.node_number().is_some() && !cancelled.contains(&job.id));
        let kept: Vec<&Job> = kept.collect();
        actions.retain(|action| {
            let ProvisionAction::Cancel { job, why } = action else { return true };
            let mut others = kept.iter().filter(|other| other.id.whole() == job.whole());
            let is_kept = match why {
                Cancelled::Silent | Cancelled::Unreached => {
                    others.any(|other| self.demand.host_of(other).is_some_and(|host| host.is_busy))
                }
                Cancelled::Unneeded | Cancelled::TooShort => others.next().is_some(),
            };
            !is_kept
        });
    }

    /// Nodes that would be of no use if they were given out again, and those on which jobs failed.
    fn exclude(&self) -> Nodes {
        let useless = self.demand.hosts.iter().filter(|host| match host.worth {
            Worth::Nothing => true,
            Worth::NewBoot => !self.ledger.rebooting.contains_key(&host.node),
            Worth::NewAllocation | Worth::Now => host.engaged == ServiceState::OutOfService,
        });
        let useless = useless.map(|host| &host.node);
        let refused = self.ledger.refused.keys();
        useless.chain(refused).chain(self.ledger.left_out(self.now)).cloned().collect()
    }
}

fn cancel(job: &Job, why: Cancelled) -> ProvisionAction {
    ProvisionAction::Cancel { job: job.id.clone(), why }
}
