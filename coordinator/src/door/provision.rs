//! The door to the engine that gives out hosts, and to the hosts that are reached by ssh.

use std::time::Duration;

use speedup_core::machine::provision::{Claim, Demand, Job, JobState, ProvisionLimits, QUEUE_PATIENCE};
use speedup_core::value::causes::with_causes;
use speedup_core::value::hint::{Hinted as _, with_hint};
use speedup_core::value::id::{HostId, IdError, NodeName, QueueName};
use speedup_core::value::time::Span;
use speedup_proto::convert::{duration, span, timestamp};
use speedup_proto::v1;
use speedup_proto::v1::add_provisioner_request::{BatchSystem, Engine, LocalProcesses, Slurm};
use speedup_proto::v1::provision_server::Provision;
use tonic::{Request, Response, Status};

use super::{Caller, Reply};
use crate::provision::{
    AddError, AddedQueue, Destination, DestinationError, JobSubmission, Provisioning, QueueConfig,
    QueueRequest, QueueSelector, QueueSnapshot, QueueStatus, RemoveError, ShownSshHost, Spec, SpecError,
    SshHost, SshHosts, SshHostsError, SshRemoval, Surroundings, Unreachable,
};
use crate::timeline::wall_clock;

/// Most jobs that a user may allow at once: a look at each, every few seconds, costs an engine and this process too.
const MAX_JOBS: u32 = 10_000;
/// The longest time between two looks: a host that nothing needs is kept as long.
const MAX_LOOK: Duration = Duration::from_secs(3_600);
/// Longest command by which a host is rebooted: a command line that a person wrote.
const MAX_COMMAND_BYTES: usize = 4_096;

/// The door to the engine that gives out hosts.
pub(crate) struct ProvisionDoor {
    pub(crate) provisioning: Provisioning,
    pub(crate) ssh: SshHosts,
}

#[tonic::async_trait]
impl Provision for ProvisionDoor {
    async fn add(&self, request: Request<v1::AddProvisionerRequest>) -> Reply<v1::AddProvisionerResponse> {
        let caller = Caller::from_request(&request)?;
        let v1::AddProvisionerRequest { engine, limits, look_every, dry_run, by, queue } =
            request.into_inner();
        let spec = match engine {
            Some(Engine::Slurm(Slurm { options, around })) => {
                Spec::Slurm { options, around: surroundings(around) }
            }
            Some(Engine::Batch(BatchSystem { file, options, around })) => {
                Spec::Batch { file, options, around: surroundings(around) }
            }
            Some(Engine::Local(LocalProcesses {})) => Spec::Local,
            None => return Err(Status::invalid_argument("no engine is named")),
        };
        let name = queue_name(&queue)?;
        if dry_run {
            let submission =
                self.provisioning.request(name.as_ref(), &spec).map_err(|error| refused(&error))?;
            return Ok(Response::new(answered(submission, String::new(), false)));
        }
        let look_every = look_every.map_or(Ok(Span::default()), |every| span(&every, "look_every"))?;
        let look_every = Duration::from(look_every).min(MAX_LOOK);
        let config = QueueConfig { spec, limits: checked(limits)?, look_every, by: caller.name(&by)? };
        let added = self.provisioning.add(QueueRequest { name, config }).await;
        let AddedQueue { name, has_replaced, submission } = added.map_err(|error| refused(&error))?;
        Ok(Response::new(answered(submission, name.as_str().to_owned(), has_replaced)))
    }

    async fn show(&self, request: Request<v1::ShowProvisionerRequest>) -> Reply<v1::ProvisionerStatus> {
        let v1::ShowProvisionerRequest { engine, queue } = request.into_inner();
        let queues = self.provisioning.show(&selector(engine, &queue)?).await;
        Ok(Response::new(status(queues)))
    }

    async fn remove(&self, request: Request<v1::RemoveProvisionerRequest>) -> Reply<v1::ProvisionerStatus> {
        let caller = Caller::from_request(&request)?;
        let v1::RemoveProvisionerRequest { by, engine, queue } = request.into_inner();
        let by = caller.name(&by)?;
        let selector = selector(engine, &queue)?;
        let removed = self.provisioning.remove(&selector, &by).await.map_err(|error| not_removed(&error))?;
        if let Some(removed) = &removed {
            tracing::info!(by, queue = %removed.queue.name, "stopped requesting hosts");
        }
        Ok(Response::new(status(removed)))
    }

    async fn add_ssh_hosts(
        &self,
        request: Request<v1::AddSshHostsRequest>,
    ) -> Reply<v1::AddSshHostsResponse> {
        let caller = Caller::from_request(&request)?;
        let v1::AddSshHostsRequest { destinations, options, directory, tunnel, reboot_command, by } =
            request.into_inner();
        let by = caller.name(&by)?;
        if let Some(command) = &reboot_command
            && (command.len() > MAX_COMMAND_BYTES || command.chars().any(char::is_control))
        {
            return Err(Status::invalid_argument(format!(
                "the command that reboots hosts is one line of at most {MAX_COMMAND_BYTES} bytes"
            )));
        }
        let mut added = Vec::new();
        for destination in destinations {
            let destination: Result<Destination, DestinationError> = destination.parse();
            added.push(SshHost {
                destination: destination.map_err(|error| ssh_refused(&error.into()))?,
                options: options.clone(),
                directory: directory.clone(),
                tunnel,
                reboot_command: reboot_command.clone(),
                by: by.clone(),
            });
        }
        let count = added.len();
        self.ssh.add(added).await.map_err(|error| ssh_refused(&error))?;
        tracing::info!(by, count, "added hosts, reached by ssh");
        Ok(Response::new(v1::AddSshHostsResponse {}))
    }

    async fn show_ssh_hosts(&self, _request: Request<v1::ShowSshHostsRequest>) -> Reply<v1::SshHosts> {
        let hosts = self.ssh.show().into_iter().map(ssh_to_proto).collect();
        Ok(Response::new(v1::SshHosts { hosts }))
    }

    async fn remove_ssh_hosts(
        &self,
        request: Request<v1::RemoveSshHostsRequest>,
    ) -> Reply<v1::RemoveSshHostsResponse> {
        let caller = Caller::from_request(&request)?;
        let v1::RemoveSshHostsRequest { hosts: ids, forget, by } = request.into_inner();
        let by = caller.name(&by)?;
        let ids: Result<Vec<HostId>, _> = ids.into_iter().map(HostId::try_from).collect();
        let ids = ids.map_err(|error| Status::invalid_argument(format!("this is no host: {error}")))?;
        let unreachable = if forget { Unreachable::Forget } else { Unreachable::Keep };
        let outcomes = self.ssh.remove(ids, unreachable, &by).await.map_err(|error| ssh_refused(&error))?;
        tracing::info!(by, count = outcomes.len(), "removing hosts that are reached by ssh");
        let hosts = outcomes.into_iter().map(|(id, removal)| v1::RemovedSshHost {
            host: id.as_str().to_owned(),
            outcome: removal.word().to_owned(),
            words: match removal {
                SshRemoval::StateKept(why) | SshRemoval::Failed(why) => why,
                SshRemoval::Done | SshRemoval::Forgotten => String::new(),
            },
        });
        Ok(Response::new(v1::RemoveSshHostsResponse { hosts: hosts.collect() }))
    }
}

fn surroundings(wire: Option<v1::JobSurroundings>) -> Surroundings {
    let v1::JobSurroundings { prologue, epilogue, wrap, run_as } = wire.unwrap_or_default();
    Surroundings { prologue, epilogue, wrap, run_as }
}

fn answered(submission: JobSubmission, queue: String, replaced: bool) -> v1::AddProvisionerResponse {
    let JobSubmission { command, script } = submission;
    v1::AddProvisionerResponse { command, script, queue, replaced }
}

fn status(queues: impl IntoIterator<Item = QueueStatus>) -> v1::ProvisionerStatus {
    let provisioners: Vec<v1::Provisioner> = queues.into_iter().map(to_proto).collect();
    v1::ProvisionerStatus { provisioner: provisioners.first().cloned(), provisioners }
}

/// The name of a queue, if one is given.
fn queue_name(queue: &str) -> Result<Option<QueueName>, Status> {
    if queue.is_empty() {
        return Ok(None);
    }
    queue.parse().map(Some).map_err(|error: IdError| {
        Status::invalid_argument(format!("{queue:?} is no name of a queue: {error}"))
    })
}

fn selector(engine: String, queue: &str) -> Result<QueueSelector, Status> {
    Ok(QueueSelector { kind: (!engine.is_empty()).then_some(engine), name: queue_name(queue)? })
}

fn not_removed(error: &RemoveError) -> Status {
    let text = with_causes(error);
    match error {
        RemoveError::Add(error) => refused(error),
        RemoveError::Unknown { .. } => Status::not_found(text),
        RemoveError::Several(_) => Status::failed_precondition(with_hint(text, Some("name one of them"))),
    }
}

fn refused(error: &AddError) -> Status {
    let (status, hint): (fn(String) -> Status, _) = match error {
        AddError::Unable => (Status::failed_precondition, None),
        AddError::Spec(SpecError::Unreachable(_)) => (
            Status::failed_precondition,
            Some(
                "start the coordinator with --bind ADDRESS, one that the nodes reach, or --advertise what they reach",
            ),
        ),
        AddError::Spec(SpecError::Options(_) | SpecError::File(_) | SpecError::Surroundings(_)) => {
            (Status::invalid_argument, None)
        }
        AddError::Place { .. } => (
            Status::failed_precondition,
            Some("start the coordinator with --agents DIR, one that all nodes share"),
        ),
        AddError::Refused(_) => {
            (Status::failed_precondition, Some("nothing was requested; correct the options and add it again"))
        }
        AddError::TooMany => (Status::resource_exhausted, Some("remove one that is no longer needed")),
        AddError::NotEnded { .. } => {
            (Status::unavailable, Some("try again when the engine answers, or end the jobs by hand"))
        }
        AddError::Record(_) => (Status::internal, None),
    };
    status(with_hint(with_causes(error), hint))
}

fn checked(limits: Option<v1::ProvisionLimits>) -> Result<ProvisionLimits, Status> {
    let Some(v1::ProvisionLimits { jobs, queued, node_time, patience }) = limits else {
        return Err(Status::invalid_argument("no limits are given"));
    };
    if jobs == 0 || queued == 0 || jobs > MAX_JOBS || queued > MAX_JOBS {
        return Err(Status::invalid_argument(format!(
            "jobs, also those in the queue, may be 1 to {MAX_JOBS}"
        )));
    }
    let node_time = node_time.map(|time| span(&time, "limits.node_time")).transpose()?;
    let patience = patience.map_or(Ok(QUEUE_PATIENCE), |time| span(&time, "limits.patience"))?;
    Ok(ProvisionLimits { jobs, queued, node_time, patience })
}

fn to_proto(status: QueueStatus) -> v1::Provisioner {
    let now = wall_clock();
    let stopped = status.stands_still(now);
    let QueueStatus { queue, snapshot } = status;
    let QueueConfig { spec, limits, look_every: _, by } = queue.config;
    let QueueSnapshot { jobs, demand, missing, ledger, trouble } = snapshot;
    let claim = Claim::of(now, &limits, &ledger, &jobs, demand.together);
    let engine = spec.kind().word().to_owned();
    let (options, around) = match spec {
        Spec::Slurm { options, around } | Spec::Batch { options, around, .. } => (options, around),
        Spec::Local => (Vec::new(), Surroundings::default()),
    };
    let Surroundings { prologue, epilogue, wrap, run_as } = around;
    let ProvisionLimits { jobs: most, queued, node_time, patience } = limits;
    v1::Provisioner {
        engine,
        options,
        limits: Some(v1::ProvisionLimits {
            jobs: most,
            queued,
            node_time: node_time.map(duration),
            patience: Some(duration(patience)),
        }),
        by,
        name: queue.job_name,
        jobs: jobs.iter().map(|job| job_to_proto(job, &demand)).collect(),
        node_time: Some(duration(ledger.spent(now))),
        failures_in_a_row: ledger.failures_in_a_row,
        stopped,
        cannot_reboot: ledger.cannot_reboot.clone(),
        missing,
        share: demand.missing,
        around: Some(v1::JobSurroundings { prologue, epilogue, wrap, run_as }),
        queue: queue.name.as_str().to_owned(),
        trouble,
        refused: ledger.kept_out(now).into_iter().map(refused_node).collect(),
        unjoined: ledger.unjoined,
        longest_job: queue.longest_job.map(duration),
        overdue: claim.overdue,
    }
}

fn refused_node((node, reason): (NodeName, String)) -> v1::RefusedNode {
    v1::RefusedNode { node: node.as_str().to_owned(), reason }
}

fn job_to_proto(job: &Job, demand: &Demand) -> v1::ProvisionedJob {
    let state = match job.state {
        JobState::Queued => "queued",
        JobState::Running => "running",
        JobState::Ending => "ending",
        JobState::Ended(_) => "ended",
    };
    v1::ProvisionedJob {
        id: job.id.as_str().to_owned(),
        state: state.to_owned(),
        words: job.words.clone(),
        node: job.node.as_ref().map(|node| node.as_str().to_owned()),
        started: job.started.map(timestamp),
        ends: job.ends.map(timestamp),
        host: demand.host_of(job).map(|host| host.host.as_str().to_owned()),
    }
}

fn ssh_to_proto(ShownSshHost { host, seen, directory }: ShownSshHost) -> v1::SshHost {
    let (failed, error) = seen.error.unzip();
    v1::SshHost {
        host: host.destination.host().as_str().to_owned(),
        destination: host.destination.to_string(),
        options: host.options,
        directory,
        tunnel: host.tunnel,
        reboot_command: host.reboot_command,
        by: host.by,
        state: seen.state.word().to_owned(),
        since: Some(timestamp(seen.since)),
        error,
        failed: failed.map(timestamp),
        starts: seen.starts,
    }
}

fn ssh_refused(error: &SshHostsError) -> Status {
    let text = with_hint(with_causes(error), error.hint());
    match error {
        SshHostsError::Unable | SshHostsError::Insecure | SshHostsError::Unreachable(_) => {
            Status::failed_precondition(text)
        }
        SshHostsError::Nobody
        | SshHostsError::Destination(_)
        | SshHostsError::Options(_)
        | SshHostsError::Directory(_) => Status::invalid_argument(text),
        SshHostsError::TooMany => Status::resource_exhausted(text),
        SshHostsError::Unknown(_) => Status::not_found(text),
        SshHostsError::Record(_) => Status::internal(text),
    }
}
