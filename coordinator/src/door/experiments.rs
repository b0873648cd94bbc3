//! The door to the experiments.

use std::ops::RangeInclusive;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;
use speedup_core::experiment::Experiment;
use speedup_core::journal::MAX_RECORD_BYTES;
use speedup_core::machine::{Command, Refusal, Request as Asked, hosts_needed, needed_allocation};
use speedup_core::plan::Plan;
use speedup_core::value::hint::with_hint;
use speedup_core::value::id::{ExperimentId, RunIndex};
use speedup_proto::limits::MAX_EXCLUSIONS;
use speedup_proto::stored::ExportAttempts;
use speedup_proto::v1;
use speedup_proto::v1::experiments_server::Experiments;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};
use uuid::Uuid;

use super::files::require_files;
use super::{Caller, blocking, experiment_id, malformed, refused, store_failed, undecided};
use crate::blobs::Blobs;
use crate::handle::Handle;
use crate::provision::{HostsToCome, Provisioning, TooShort};
use crate::status::{active_status, is_finished};
use crate::store::Store;

/// Most experiments of one answer.
const LISTED: usize = 10_000;
/// How often a watcher is told at most: at first, since what has just begun may be over soon, and in the long run.
const WATCH_PAUSE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(100));
/// Attempts read from the store and sent at once.
const EXPORT_PAGE: usize = 512;
/// Pieces of an export that may wait for a slow reader.
const WAITING_PIECES: usize = 4;
/// Runs whose cells are sent at once.
const ORDER_PIECE: usize = 1 << 20;
/// What a plan may take of a record of the journal; the rest is for the event around it.
const MAX_PLAN_BYTES: usize = MAX_RECORD_BYTES - (1 << 16);

/// The door to the experiments.
pub(crate) struct ExperimentsDoor {
    pub(crate) handle: Handle,
    pub(crate) blobs: Blobs,
    pub(crate) provisioning: Provisioning,
}

type StatusStream = Pin<Box<dyn Stream<Item = Result<v1::ExperimentStatus, Status>> + Send>>;
type UndecidedStream = Pin<Box<dyn Stream<Item = Result<v1::Undecided, Status>> + Send>>;
type ExportStream = Pin<Box<dyn Stream<Item = Result<v1::ExportChunk, Status>> + Send>>;

#[tonic::async_trait]
impl Experiments for ExperimentsDoor {
    async fn submit(
        &self,
        request: Request<v1::SubmitRequest>,
    ) -> Result<Response<v1::SubmitResponse>, Status> {
        let caller = Caller::of(&request)?;
        let v1::SubmitRequest { experiment, wait_for_hosts, by } = request.into_inner();
        let by = caller.name(&by)?;
        let plan = Arc::new(draw(experiment).await?);
        require_files(&self.blobs, &plan.experiment.files).await?;
        let id = ExperimentId(Uuid::now_v7());
        let (runs, hosts_needed) = (plan.runs(), hosts_needed(&plan));
        // Where an engine is asked for hosts, they come when the plan is there, if they are of use to it.
        let outlook = self.provisioning.outlook(needed_allocation(&plan)).await;
        let wait_for_hosts = wait_for_hosts || outlook == HostsToCome::Some;
        let warning = match outlook {
            HostsToCome::TooShort(short) => Some(short),
            HostsToCome::Some | HostsToCome::None => None,
        };
        let submit = Command::Submit { experiment: id, plan, by, wait_for_hosts };
        self.handle.command(submit).await?.map_err(|refusal| match (&refusal, warning) {
            // Such hosts would have come, but are of no use.
            (Refusal::PoolTooSmall(_), Some(short)) => {
                Status::failed_precondition(with_hint(format!("{refusal}; {short}"), Some(TooShort::HINT)))
            }
            _ => refused(&refusal),
        })?;
        tracing::info!(experiment = %id, runs, "an experiment was submitted");
        let experiment = id.0.as_bytes().to_vec();
        let warning = warning.map(|short| with_hint(short.to_string(), Some(TooShort::HINT)));
        Ok(Response::new(v1::SubmitResponse { experiment, runs, hosts_needed, warning }))
    }

    async fn check(&self, request: Request<v1::CheckRequest>) -> Result<Response<v1::CheckResponse>, Status> {
        let plan = draw(request.into_inner().experiment).await?;
        let hosts_here = self.handle.query(speedup_core::machine::Machine::hosts_here).await?;
        let (runs, hosts_needed) = (plan.runs(), hosts_needed(&plan));
        Ok(Response::new(v1::CheckResponse { runs, hosts_needed, hosts_here }))
    }

    async fn list(&self, request: Request<v1::ListRequest>) -> Result<Response<v1::ListResponse>, Status> {
        let limit = request.into_inner().limit as usize;
        let limit = if limit == 0 { LISTED } else { LISTED.min(limit) };
        let active = self.handle.query(|machine| {
            machine.active().filter_map(|id| active_status(machine, id)).collect::<Vec<_>>()
        });
        let active = active.await?;
        let store = self.handle.current_store().await?.clone();
        let mut experiments = blocking(move || store.statuses(limit)).await?;
        for status in &mut experiments {
            if let Some(now) = active.iter().find(|now| now.experiment == status.experiment) {
                *status = now.clone();
            }
        }
        Ok(Response::new(v1::ListResponse { experiments }))
    }

    async fn get(&self, request: Request<v1::GetRequest>) -> Result<Response<v1::ExperimentStatus>, Status> {
        let id = experiment_id(&request.into_inner().experiment)?;
        status(&self.handle, id).await.map(Response::new)
    }

    type WatchStream = StatusStream;

    async fn watch(&self, request: Request<v1::GetRequest>) -> Result<Response<StatusStream>, Status> {
        let id = experiment_id(&request.into_inner().experiment)?;
        let first = status(&self.handle, id).await?;
        let (sender, receiver) = mpsc::channel(WAITING_PIECES);
        tokio::spawn(watch(self.handle.clone(), id, first, sender));
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }

    async fn pause(
        &self,
        request: Request<v1::ChangeRequest>,
    ) -> Result<Response<v1::ExperimentStatus>, Status> {
        let caller = Caller::of(&request)?;
        self.change(&caller, request.into_inner(), Command::Pause).await
    }

    async fn resume(
        &self,
        request: Request<v1::ChangeRequest>,
    ) -> Result<Response<v1::ExperimentStatus>, Status> {
        let caller = Caller::of(&request)?;
        self.change(&caller, request.into_inner(), Command::Resume).await
    }

    async fn cancel(
        &self,
        request: Request<v1::ChangeRequest>,
    ) -> Result<Response<v1::ExperimentStatus>, Status> {
        let caller = Caller::of(&request)?;
        self.change(&caller, request.into_inner(), Command::Cancel).await
    }

    async fn extend(
        &self,
        request: Request<v1::ExtendRequest>,
    ) -> Result<Response<v1::ExperimentStatus>, Status> {
        let caller = Caller::of(&request)?;
        let v1::ExtendRequest { experiment, runs, by } = request.into_inner();
        if runs == 0 {
            return Err(Status::invalid_argument(
                "an experiment is extended by at least one run of each cell",
            ));
        }
        let request = v1::ChangeRequest { experiment, by };
        self.change(&caller, request, |request| Command::Extend { request, more: runs }).await
    }

    async fn decide(
        &self,
        request: Request<v1::DecideRequest>,
    ) -> Result<Response<v1::ExperimentStatus>, Status> {
        let caller = Caller::of(&request)?;
        let mut wire = request.into_inner();
        wire.by = caller.name(&wire.by)?;
        let asked = v1::ChangeRequest { experiment: wire.experiment.clone(), by: wire.by.clone() };
        let command = Command::try_from(wire).map_err(|error| malformed(&error))?;
        self.change(&caller, asked, |_| command).await
    }

    type UndecidedStream = UndecidedStream;

    async fn undecided(
        &self,
        _request: Request<v1::UndecidedRequest>,
    ) -> Result<Response<UndecidedStream>, Status> {
        let (sender, receiver) = mpsc::channel(WAITING_PIECES);
        tokio::spawn(undecided::tell(self.handle.clone(), sender));
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }

    async fn explain(
        &self,
        request: Request<v1::ExplainRequest>,
    ) -> Result<Response<v1::Explanation>, Status> {
        let v1::ExplainRequest { experiment, run } = request.into_inner();
        let id = experiment_id(&experiment)?;
        let active = self.handle.query(move |machine| {
            let known = machine.experiment(id).map(|active| active.plan().runs());
            known.map(|runs| (runs, machine.explain(id, RunIndex(run))))
        });
        let active = active.await?;
        if let Some((runs, None)) = active {
            return Err(no_such_run(run, runs));
        }
        let store = self.handle.current_store().await?.clone();
        let last = blocking(move || store.last_attempt(id, run)).await?;
        let lost = last.as_ref().and_then(lost);
        let explained: v1::Explanation = match active.and_then(|(_, explanation)| explanation) {
            Some(explanation) => (&explanation).into(),
            None => self.explain_finished(id, run, last).await?,
        };
        Ok(Response::new(v1::Explanation { lost, ..explained }))
    }

    async fn explain_all(&self, request: Request<v1::GetRequest>) -> Result<Response<v1::Outlook>, Status> {
        let id = experiment_id(&request.into_inner().experiment)?;
        if let Some(outlook) = self.handle.query(move |machine| machine.outlook(id)).await? {
            return Ok(Response::new((&outlook).into()));
        }
        // A finished one waits for nothing, and one that never was is not found.
        status(&self.handle, id).await.map(|_| Response::new(v1::Outlook::default()))
    }

    type ExportStream = ExportStream;

    async fn export(&self, request: Request<v1::GetRequest>) -> Result<Response<ExportStream>, Status> {
        let id = experiment_id(&request.into_inner().experiment)?;
        let status = status(&self.handle, id).await?;
        let store = self.handle.current_store().await?.clone();
        let (sender, receiver) = mpsc::channel(WAITING_PIECES);
        tokio::task::spawn_blocking(move || {
            if let Err(status) = export(&store, id, status, &sender) {
                // The reader is gone when it cannot be told.
                let _ = sender.blocking_send(Err(status));
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }
}

impl ExperimentsDoor {
    async fn change(
        &self,
        caller: &Caller,
        request: v1::ChangeRequest,
        command: impl FnOnce(Asked) -> Command,
    ) -> Result<Response<v1::ExperimentStatus>, Status> {
        let v1::ChangeRequest { experiment, by } = request;
        let id = experiment_id(&experiment)?;
        require_owner(&self.handle, caller, id).await?;
        let asked = Asked { experiment: id, by: caller.name(&by)? };
        match self.handle.command(command(asked)).await? {
            Ok(()) => status(&self.handle, id).await.map(Response::new),
            Err(refusal @ Refusal::NotActive(_)) => {
                // It may have finished, which is another answer than "never heard of it".
                let finished = status(&self.handle, id).await?;
                let text = format!("experiment {} ({id}) has finished and cannot be changed", finished.name);
                tracing::debug!("{refusal}");
                Err(Status::failed_precondition(text))
            }
            Err(refusal) => Err(refused(&refusal)),
        }
    }

    async fn explain_finished(
        &self,
        id: ExperimentId,
        run: u32,
        last: Option<v1::EndedAttempt>,
    ) -> Result<v1::Explanation, Status> {
        use v1::after_loss::After;
        use v1::record::Outcome;
        let finished = status(&self.handle, id).await?;
        let runs = finished
            .tally
            .map_or(0, |tally| tally.measured + tally.failed + tally.abandoned + tally.cancelled);
        if run >= runs {
            return Err(no_such_run(run, runs));
        }
        let settlement = match last.and_then(|attempt| attempt.end) {
            Some(v1::ended_attempt::End::Reported(record)) => match record.outcome {
                Some(Outcome::Measured(_)) => v1::Settlement::Measured,
                Some(Outcome::Failed(_) | Outcome::NotExecuted(_)) | None => v1::Settlement::Failed,
            },
            Some(v1::ended_attempt::End::Lost(lost)) => match lost.after.and_then(|after| after.after) {
                Some(After::Abandoned(_)) => v1::Settlement::Abandoned,
                Some(After::AgainAttempt(_) | After::Cancelled(_)) | None => v1::Settlement::Cancelled,
            },
            None => v1::Settlement::Cancelled,
        };
        let state = Some(v1::explanation::State::Settled(settlement.into()));
        Ok(v1::Explanation { state, lost: None })
    }
}

/// Where and why an attempt was lost, if it was.
fn lost(ended: &v1::EndedAttempt) -> Option<v1::explanation::Lost> {
    let Some(v1::ended_attempt::End::Lost(lost)) = &ended.end else { return None };
    let lease = ended.lease.as_ref()?;
    Some(v1::explanation::Lost {
        attempt: lease.attempt,
        host: lease.host.clone(),
        host_name: lease.evidence.as_ref().and_then(|evidence| evidence.host_name.clone()),
        at_ns: ended.ended_ns,
        reason: lost.reason.clone(),
    })
}

fn no_such_run(run: u32, runs: u32) -> Status {
    Status::not_found(format!("there is no run {run}: the experiment has {runs}, counted from 0"))
}

/// The plan of a submitted experiment, drawn where it does not hold up the service.
async fn draw(experiment: Option<v1::Experiment>) -> Result<Plan, Status> {
    let experiment = experiment.ok_or_else(|| Status::invalid_argument("experiment is missing"))?;
    let drawn = tokio::task::spawn_blocking(move || {
        let experiment = Experiment::try_from(experiment).map_err(|error| malformed(&error))?;
        experiment.check().map_err(|error| Status::invalid_argument(error.to_string()))?;
        let plan = Plan::draw(experiment);
        let bytes = prost::Message::encoded_len(&v1::Plan::from(&plan));
        if bytes > MAX_PLAN_BYTES {
            return Err(Status::invalid_argument(with_hint(
                format_args!("the plan takes {bytes} bytes, more than the {MAX_PLAN_BYTES} that can be kept"),
                Some("split it into several experiments"),
            )));
        }
        Ok(plan)
    });
    drawn.await.map_err(|error| Status::internal(error.to_string()))?
}

/// Refuses one who may not change the experiment; who submitted it never changes.
pub(super) async fn require_owner(handle: &Handle, caller: &Caller, id: ExperimentId) -> Result<(), Status> {
    match caller {
        Caller::Known(_) => {
            let owner = status(handle, id).await?.submitted_by;
            caller.require_owner(&owner).inspect_err(|status| {
                tracing::warn!(experiment = %id, "refused a change: {}", status.message());
            })
        }
        Caller::Inside | Caller::Unchecked | Caller::Unknown => Ok(()),
    }
}

async fn status(handle: &Handle, id: ExperimentId) -> Result<v1::ExperimentStatus, Status> {
    if let Some(status) = handle.query(move |machine| active_status(machine, id)).await? {
        return Ok(status);
    }
    let store = handle.current_store().await?.clone();
    let stored = blocking(move || store.status(id)).await?;
    stored.ok_or_else(|| {
        let words = format!("there is no experiment {id}");
        Status::not_found(with_hint(words, Some("`speedup list` shows them")))
    })
}

async fn watch(
    handle: Handle,
    id: ExperimentId,
    first: v1::ExperimentStatus,
    sender: mpsc::Sender<Result<v1::ExperimentStatus, Status>>,
) {
    let mut durable = handle.progress.durable.clone();
    let mut last = None;
    let mut now = Ok(first);
    let mut pause = WATCH_PAUSE.0;
    loop {
        let over = now.as_ref().map_or(true, is_finished);
        if last.as_ref() != now.as_ref().ok() {
            last = now.as_ref().ok().cloned();
            if sender.send(now).await.is_err() {
                return;
            }
        }
        if over {
            return;
        }
        tokio::select! {
            changed = durable.changed() => if changed.is_err() { return },
            () = sender.closed() => return,
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(WATCH_PAUSE.1);
        now = status(&handle, id).await;
    }
}

type Pieces = mpsc::Sender<Result<v1::ExportChunk, Status>>;

fn export(
    store: &Store,
    id: ExperimentId,
    status: v1::ExperimentStatus,
    pieces: &Pieces,
) -> Result<(), Status> {
    use v1::export_chunk::Part;
    let send = |part| {
        let sent = pieces.blocking_send(Ok(v1::ExportChunk { part: Some(part) }));
        sent.map_err(|_| Status::cancelled("the reader is gone"))
    };
    let plan = store.plan(id).map_err(|error| store_failed(&error))?;
    let v1::Plan { experiment, benchmarks, order, stages } =
        plan.ok_or_else(|| Status::not_found(format!("there is no experiment {id}")))?;
    let until = status.finished_ns.unwrap_or(u64::MAX);
    let exclusions = exclusions(store, status.submitted_ns..=until)?;
    send(Part::Head(v1::ExportHead { status: Some(status), experiment, benchmarks, stages, exclusions }))?;
    for piece in order.chunks(ORDER_PIECE) {
        send(Part::Order(v1::ExportOrder { order: piece.to_vec() }))?;
    }
    let mut after = None;
    loop {
        let stored = store.stored_attempts(id, after, EXPORT_PAGE).map_err(|error| store_failed(&error))?;
        let Some(last) = stored.last() else { return Ok(()) };
        after = Some(last.at);
        let attempts = stored.into_iter().map(|attempt| attempt.encoded).collect();
        send(Part::Attempts(ExportAttempts { attempts }))?;
    }
}

/// The exclusions of an export. What is left out of it is said in the log.
fn exclusions(store: &Store, between: RangeInclusive<u64>) -> Result<Vec<v1::Exclusion>, Status> {
    let (exclusions, left_out) =
        store.exclusions(between, MAX_EXCLUSIONS).map_err(|error| store_failed(&error))?;
    if left_out > 0 {
        tracing::warn!(
            "an export names the oldest {MAX_EXCLUSIONS} exclusions of hosts: {left_out} are left out"
        );
    }
    Ok(exclusions)
}
