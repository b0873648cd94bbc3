//! The door to the engine that gives out hosts.

use std::time::Duration;

use speedup_core::machine::provision::{Job, JobState, ProvisionLimits};
use speedup_core::value::causes::with_causes;
use speedup_core::value::hint::with_hint;
use speedup_core::value::id::NodeName;
use speedup_core::value::time::Span;
use speedup_proto::v1;
use speedup_proto::v1::add_provisioner_request::{Engine, LocalProcesses, Slurm};
use speedup_proto::v1::provision_server::Provision;
use tonic::{Request, Response, Status};

use super::Caller;
use crate::provision::{AddError, Provisioning, Seen, Shown, Spec, Wanted, wall_clock};

/// Most jobs that a user may allow at once: a look at each, every few seconds, costs an engine and this process too.
const MAX_JOBS: u32 = 10_000;
/// The longest time between two looks: a host that nothing needs is kept as long.
const MAX_LOOK: Duration = Duration::from_secs(3_600);

/// The door to the engine that gives out hosts.
pub(crate) struct ProvisionDoor {
    pub(crate) provisioning: Provisioning,
}

#[tonic::async_trait]
impl Provision for ProvisionDoor {
    async fn add(
        &self,
        request: Request<v1::AddProvisionerRequest>,
    ) -> Result<Response<v1::AddProvisionerResponse>, Status> {
        let caller = Caller::of(&request)?;
        let v1::AddProvisionerRequest { engine, limits, look_every_ns, dry_run, by } = request.into_inner();
        let spec = match engine {
            Some(Engine::Slurm(Slurm { options })) => Spec::Slurm { options },
            Some(Engine::Local(LocalProcesses {})) => Spec::Local,
            None => return Err(Status::invalid_argument("no engine is named")),
        };
        let request = if dry_run {
            self.provisioning.request(&spec)
        } else {
            let look_every = Duration::from_nanos(look_every_ns).min(MAX_LOOK);
            let wanted = Wanted { spec, limits: checked(limits)?, look_every, by: caller.name(&by)? };
            self.provisioning.add(wanted).await
        };
        let request = request.map_err(|error| refused(&error))?;
        Ok(Response::new(v1::AddProvisionerResponse { command: request.command, script: request.script }))
    }

    async fn show(
        &self,
        _request: Request<v1::ShowProvisionerRequest>,
    ) -> Result<Response<v1::ProvisionerStatus>, Status> {
        let shown = self.provisioning.show().await;
        Ok(Response::new(v1::ProvisionerStatus { provisioner: shown.map(told) }))
    }

    async fn remove(
        &self,
        request: Request<v1::RemoveProvisionerRequest>,
    ) -> Result<Response<v1::ProvisionerStatus>, Status> {
        let by = Caller::of(&request)?.name(&request.into_inner().by)?;
        let removed = self.provisioning.remove(&by).await.map_err(|error| refused(&error))?;
        tracing::info!(by, "no more hosts are requested");
        Ok(Response::new(v1::ProvisionerStatus { provisioner: removed.map(told) }))
    }
}

fn refused(error: &AddError) -> Status {
    let hint = match error {
        AddError::Unreachable(_) => Some(
            "start the coordinator with --bind ADDRESS, one that the nodes reach, or --advertise what they reach",
        ),
        AddError::Refused(_) => Some("nothing was requested; correct the options and add it again"),
        AddError::NotEnded(_) => Some("try again when the engine answers, or end the jobs by hand"),
        AddError::Place { .. } => Some("start the coordinator with --agents DIR, one that all nodes share"),
        AddError::Unable | AddError::Options(_) | AddError::Record(_) => None,
    };
    let text = with_hint(with_causes(error), hint);
    match error {
        AddError::Options(_) => Status::invalid_argument(text),
        AddError::Unable | AddError::Unreachable(_) | AddError::Place { .. } | AddError::Refused(_) => {
            Status::failed_precondition(text)
        }
        AddError::NotEnded(_) => Status::unavailable(text),
        AddError::Record(_) => Status::internal(text),
    }
}

fn checked(limits: Option<v1::ProvisionLimits>) -> Result<ProvisionLimits, Status> {
    let Some(v1::ProvisionLimits { jobs, queued, node_time_ns }) = limits else {
        return Err(Status::invalid_argument("no limits are given"));
    };
    if jobs == 0 || queued == 0 || jobs > MAX_JOBS || queued > MAX_JOBS {
        return Err(Status::invalid_argument(format!(
            "jobs, also those in the queue, may be 1 to {MAX_JOBS}"
        )));
    }
    Ok(ProvisionLimits { jobs, queued, node_time: node_time_ns.map(Span) })
}

fn told(Shown { record, seen }: Shown) -> v1::Provisioner {
    let engine = record.spec.kind();
    let options = match record.spec {
        Spec::Slurm { options } => options,
        Spec::Local => Vec::new(),
    };
    let ProvisionLimits { jobs, queued, node_time } = record.limits;
    let now = wall_clock();
    v1::Provisioner {
        engine: engine.to_owned(),
        options,
        limits: Some(v1::ProvisionLimits { jobs, queued, node_time_ns: node_time.map(|span| span.0) }),
        by: record.by,
        name: record.name,
        jobs: seen.jobs.iter().map(|job| told_job(&seen, job)).collect(),
        node_time_ns: seen.ledger.spent(now).0,
        failures_in_a_row: seen.ledger.failures_in_a_row,
        stopped: seen.ledger.stands_still(now, &record.limits),
        cannot_reboot: seen.ledger.cannot_reboot.clone(),
        missing: seen.demand.missing,
        trouble: seen.trouble,
        refused: seen.ledger.refused.into_iter().map(refused_node).collect(),
        unjoined: seen.ledger.unjoined,
        longest_job_ns: record.longest_job.map(|span| span.0),
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
        started_ns: job.started.map(|at| at.0),
        ends_ns: job.ends.map(|at| at.0),
        host: seen.demand.host_of(job).map(|host| host.host.as_str().to_owned()),
    }
}
