//! The door to the engine that gives out hosts, and to the hosts that are reached by ssh.

mod ssh;

use std::time::Duration;

use speedup_core::machine::provision::{Claim, Job, JobState, ProvisionLimits, QUEUE_PATIENCE};
use speedup_core::value::causes::with_causes;
use speedup_core::value::hint::with_hint;
use speedup_core::value::id::{IdError, NodeName, QueueName};
use speedup_core::value::time::Span;
use speedup_proto::convert::{duration, span, timestamp};
use speedup_proto::v1;
use speedup_proto::v1::add_provisioner_request::{BatchSystem, Engine, LocalProcesses, Slurm};
use speedup_proto::v1::provision_server::Provision;
use tonic::{Request, Response, Status};

use super::{Caller, Reply};
use crate::provision::{
    AddError, Added, Provisioning, RemoveError, Request as Asked, Seen, Selected, Shown, Spec, SpecError,
    SshHosts, Surroundings, Wanted,
};
use crate::timeline::wall_clock;

/// Most jobs that a user may allow at once: a look at each, every few seconds, costs an engine and this process too.
const MAX_JOBS: u32 = 10_000;
/// The longest time between two looks: a host that nothing needs is kept as long.
const MAX_LOOK: Duration = Duration::from_secs(3_600);

/// The door to the engine that gives out hosts.
pub(crate) struct ProvisionDoor {
    pub(crate) provisioning: Provisioning,
    pub(crate) ssh: SshHosts,
}

#[tonic::async_trait]
impl Provision for ProvisionDoor {
    async fn add(&self, request: Request<v1::AddProvisionerRequest>) -> Reply<v1::AddProvisionerResponse> {
        let caller = Caller::of(&request)?;
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
        let name = named(&queue)?;
        if dry_run {
            let asked = self.provisioning.request(name.as_ref(), &spec).map_err(|error| refused(&error))?;
            return Ok(Response::new(answered(asked, String::new(), false)));
        }
        let look_every = look_every.map_or(Ok(Span::default()), |every| span(&every, "look_every"))?;
        let look_every = Duration::from(look_every).min(MAX_LOOK);
        let wanted = Wanted { name, spec, limits: checked(limits)?, look_every, by: caller.name(&by)? };
        let Added { name, has_replaced, request } =
            self.provisioning.add(wanted).await.map_err(|error| refused(&error))?;
        Ok(Response::new(answered(request, name.as_str().to_owned(), has_replaced)))
    }

    async fn show(&self, request: Request<v1::ShowProvisionerRequest>) -> Reply<v1::ProvisionerStatus> {
        let v1::ShowProvisionerRequest { engine, queue } = request.into_inner();
        let shown = self.provisioning.show(&selected(engine, &queue)?).await;
        Ok(Response::new(status(shown)))
    }

    async fn remove(&self, request: Request<v1::RemoveProvisionerRequest>) -> Reply<v1::ProvisionerStatus> {
        let caller = Caller::of(&request)?;
        let v1::RemoveProvisionerRequest { by, engine, queue } = request.into_inner();
        let by = caller.name(&by)?;
        let selected = selected(engine, &queue)?;
        let removed = self.provisioning.remove(&selected, &by).await.map_err(|error| not_removed(&error))?;
        if let Some(removed) = &removed {
            tracing::info!(by, queue = %removed.queue.name, "no more hosts are requested");
        }
        Ok(Response::new(status(removed)))
    }

    async fn add_ssh_hosts(
        &self,
        request: Request<v1::AddSshHostsRequest>,
    ) -> Reply<v1::AddSshHostsResponse> {
        ssh::add(&self.ssh, request).await
    }

    async fn show_ssh_hosts(&self, _request: Request<v1::ShowSshHostsRequest>) -> Reply<v1::SshHosts> {
        Ok(Response::new(ssh::show(&self.ssh)))
    }

    async fn remove_ssh_hosts(
        &self,
        request: Request<v1::RemoveSshHostsRequest>,
    ) -> Reply<v1::RemoveSshHostsResponse> {
        ssh::remove(&self.ssh, request).await
    }
}

fn surroundings(wire: Option<v1::JobSurroundings>) -> Surroundings {
    let v1::JobSurroundings { prologue, epilogue, wrap, run_as } = wire.unwrap_or_default();
    Surroundings { prologue, epilogue, wrap, run_as }
}

fn answered(request: Asked, queue: String, replaced: bool) -> v1::AddProvisionerResponse {
    let Asked { command, script } = request;
    v1::AddProvisionerResponse { command, script, queue, replaced }
}

fn status(shown: impl IntoIterator<Item = Shown>) -> v1::ProvisionerStatus {
    let provisioners: Vec<v1::Provisioner> = shown.into_iter().map(told).collect();
    v1::ProvisionerStatus { provisioner: provisioners.first().cloned(), provisioners }
}

/// The name of a queue, if one is given.
fn named(queue: &str) -> Result<Option<QueueName>, Status> {
    let named = (!queue.is_empty()).then(|| queue.parse()).transpose();
    named.map_err(|error: IdError| {
        Status::invalid_argument(format!("{queue:?} is no name of a queue: {error}"))
    })
}

fn selected(engine: String, queue: &str) -> Result<Selected, Status> {
    Ok(Selected { kind: (!engine.is_empty()).then_some(engine), name: named(queue)? })
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
    let hint = match error {
        AddError::Spec(SpecError::Unreachable(_)) => Some(
            "start the coordinator with --bind ADDRESS, one that the nodes reach, or --advertise what they reach",
        ),
        AddError::Refused(_) => Some("nothing was requested; correct the options and add it again"),
        AddError::NotEnded { .. } => Some("try again when the engine answers, or end the jobs by hand"),
        AddError::Place { .. } => Some("start the coordinator with --agents DIR, one that all nodes share"),
        AddError::TooMany => Some("remove one that is no longer needed"),
        AddError::Unable
        | AddError::Spec(SpecError::Options(_) | SpecError::File(_) | SpecError::Surroundings(_))
        | AddError::Record(_) => None,
    };
    let text = with_hint(with_causes(error), hint);
    match error {
        AddError::Spec(SpecError::Options(_) | SpecError::File(_) | SpecError::Surroundings(_)) => {
            Status::invalid_argument(text)
        }
        AddError::Unable
        | AddError::Spec(SpecError::Unreachable(_))
        | AddError::Place { .. }
        | AddError::Refused(_) => Status::failed_precondition(text),
        AddError::TooMany => Status::resource_exhausted(text),
        AddError::NotEnded { .. } => Status::unavailable(text),
        AddError::Record(_) => Status::internal(text),
    }
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

fn told(Shown { queue, seen }: Shown) -> v1::Provisioner {
    let engine = queue.spec.kind();
    let (options, around) = match queue.spec {
        Spec::Slurm { options, around } | Spec::Batch { options, around, .. } => (options, around),
        Spec::Local => (Vec::new(), Surroundings::default()),
    };
    let Surroundings { prologue, epilogue, wrap, run_as } = around;
    let ProvisionLimits { jobs, queued, node_time, patience } = queue.limits;
    let now = wall_clock();
    let claim = Claim::of(now, &queue.limits, &seen.ledger, &seen.jobs, seen.demand.together);
    v1::Provisioner {
        engine: engine.to_owned(),
        options,
        limits: Some(v1::ProvisionLimits {
            jobs,
            queued,
            node_time: node_time.map(duration),
            patience: Some(duration(patience)),
        }),
        by: queue.by,
        name: queue.job_name,
        jobs: seen.jobs.iter().map(|job| told_job(&seen, job)).collect(),
        node_time: Some(duration(seen.ledger.spent(now))),
        failures_in_a_row: seen.ledger.failures_in_a_row,
        stopped: seen.ledger.stands_still(now, &queue.limits),
        cannot_reboot: seen.ledger.cannot_reboot.clone(),
        missing: seen.missing,
        share: seen.demand.missing,
        around: Some(v1::JobSurroundings { prologue, epilogue, wrap, run_as }),
        queue: queue.name.as_str().to_owned(),
        trouble: seen.trouble,
        refused: seen.ledger.kept_out(now).into_iter().map(refused_node).collect(),
        unjoined: seen.ledger.unjoined,
        longest_job: queue.longest_job.map(duration),
        overdue: claim.overdue,
    }
}

fn refused_node((node, reason): (NodeName, String)) -> v1::RefusedNode {
    v1::RefusedNode { node: node.as_str().to_owned(), reason }
}

fn told_job(seen: &Seen, job: &Job) -> v1::ProvisionedJob {
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
        host: seen.demand.host_of(job).map(|host| host.host.as_str().to_owned()),
    }
}
