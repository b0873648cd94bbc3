//! The door to the experiments.

mod export;
mod plan;

use std::{collections::BTreeMap, pin::Pin, sync::Arc, time::Duration};

use futures_util::Stream;
use prost::Message as _;
use speedup_access::FairSemaphore;
use speedup_core::{
    machine::Command, machine::LATEST_LOSSES, machine::Machine, machine::Phase, machine::Refusal,
    machine::Request as Asked, machine::event::RequestKey, machine::event::Tally, machine::hosts_needed,
    machine::needed_allocation, plan::Plan, value::hint::with_hint, value::id::ExperimentId,
    value::id::RunIndex, value::time::Timestamp,
};
use speedup_proto::convert::{ExperimentStatus, Submission, experiment_named, id_text, timestamp};
use speedup_proto::v1;
use speedup_proto::v1::experiments_server::Experiments;
use tokio::sync::{Mutex, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};
use uuid::Uuid;

use self::{export::Cursor, export::export, plan::draw};
use super::{Caller, Reply, blocking, experiment_id, files::require_files, fitting, refused};
use crate::handle::Handle;
use crate::monitor::Health;
use crate::provision::{HostsToCome, TooShort};
use crate::status::{active_status, is_finished};
use crate::store::Store;

/// Experiments of a page, where the request does not say.
const PAGE: usize = 100;
/// Most experiments of a page, which usually take about a megabyte.
const MAX_PAGE: usize = 1_000;
/// How often a watcher is told at most: at first, since what has just begun may be over soon, and in the long run.
const WATCH_PAUSE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(100));
/// How often the machine is asked for what is undecided at most: a decision takes longer than that.
const UNDECIDED_PAUSE: Duration = Duration::from_millis(100);
/// Plans that are drawn at once, of which each user has a share: each takes a processor, and up to some hundred megabytes.
pub(crate) const DRAWN_AT_ONCE: usize = 8;
/// Exports at once, of which each user has a share: each keeps a thread until its reader has taken all of it, and other
/// requests need threads too.
pub(crate) const EXPORTED_AT_ONCE: usize = 64;
/// Pieces of an export that may wait for a slow reader.
const WAITING_PIECES: usize = 4;

pub(crate) struct ExperimentsDoor {
    pub(crate) handle: Handle,
    pub(crate) health: Health,
    /// Held by a submission that may be repeated.
    pub(crate) requests: Mutex<()>,
    pub(crate) drawing: Arc<FairSemaphore>,
    pub(crate) exporting: Arc<FairSemaphore>,
}

type StatusStream = Pin<Box<dyn Stream<Item = Result<v1::ExperimentStatus, Status>> + Send>>;
type UndecidedStream = Pin<Box<dyn Stream<Item = Result<v1::Undecided, Status>> + Send>>;
type ExportStream = Pin<Box<dyn Stream<Item = Result<v1::ExportChunk, Status>> + Send>>;

#[tonic::async_trait]
impl Experiments for ExperimentsDoor {
    async fn submit(&self, request: Request<v1::SubmitRequest>) -> Reply<v1::SubmitResponse> {
        let caller = Caller::from_request(&request)?;
        let mut wire = request.into_inner();
        wire.by = caller.name(&wire.by)?;
        let _permit = self.drawing.acquire(caller.identity()).await;
        let (submission, request) = blocking(move || read_submission(wire)).await?;
        let Some(request) = request else {
            return self.take(submission, None).await.map(Response::new);
        };
        // One after the other: the second of two that are alike finds the experiment of the first.
        let _turn = self.requests.lock().await;
        let store = self.handle.current_store().await?.clone();
        if let Some(answer) = known_submission(store, request).await? {
            return Ok(Response::new(answer));
        }
        self.take(submission, Some(request)).await.map(Response::new)
    }

    async fn check(&self, request: Request<v1::CheckRequest>) -> Reply<v1::CheckResponse> {
        let caller = Caller::from_request(&request)?;
        let wire = request.into_inner();
        let _permit = self.drawing.acquire(caller.identity()).await;
        let plan = draw(blocking(move || wire.try_into()).await?).await?;
        let hosts_here = self.handle.query(speedup_core::machine::Machine::hosts_here).await?;
        Ok(Response::new(v1::CheckResponse {
            runs: plan.runs(),
            hosts_needed: hosts_needed(&plan),
            hosts_here,
        }))
    }

    async fn list(&self, request: Request<v1::ListRequest>) -> Reply<v1::ListResponse> {
        let v1::ListRequest { page_size, page_token } = request.into_inner();
        let page_size = if page_size == 0 { PAGE } else { MAX_PAGE.min(page_size as usize) };
        let before = match page_token.as_str() {
            "" => None,
            token => Some(experiment_named(token, "page_token")?),
        };
        let active = self.handle.query(|machine| {
            let active = machine.active().filter_map(|id| active_status(machine, id));
            active.map(|status| (status.experiment, status)).collect::<BTreeMap<_, _>>()
        });
        let mut active = active.await?;
        let store = self.handle.current_store().await?.clone();
        let mut stored = blocking(move || store.statuses(before, page_size + 1)).await?;
        let more = stored.len() > page_size;
        stored.truncate(page_size);
        let mut experiments: Vec<v1::ExperimentStatus> = Vec::with_capacity(stored.len());
        for stored in stored {
            let status = read_status(stored)?;
            // The machine knows those that are active better than the store.
            experiments.push((&active.remove(&status.experiment).unwrap_or(status)).into());
        }
        let fitting = fitting(&experiments);
        let more = more || fitting < experiments.len();
        experiments.truncate(fitting);
        let next_page_token = match experiments.last() {
            Some(last) if more => last.experiment.clone(),
            Some(_) | None => String::new(),
        };
        let mut failing = Vec::new();
        if before.is_none() {
            for component in self.health.look().await {
                failing.push(component.sentence().to_owned());
            }
        }
        Ok(Response::new(v1::ListResponse { experiments, next_page_token, failing }))
    }

    async fn get(&self, request: Request<v1::GetRequest>) -> Reply<v1::ExperimentStatus> {
        let id = experiment_id(&request.into_inner().experiment)?;
        reply_status(&self.handle, id).await
    }

    type WatchStream = StatusStream;

    async fn watch(&self, request: Request<v1::GetRequest>) -> Reply<StatusStream> {
        let id = experiment_id(&request.into_inner().experiment)?;
        let first = status(&self.handle, id).await?;
        let (sender, receiver) = mpsc::channel(WAITING_PIECES);
        tokio::spawn(watch(self.handle.clone(), id, first, sender));
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }

    async fn pause(&self, request: Request<v1::ChangeRequest>) -> Reply<v1::ExperimentStatus> {
        let caller = Caller::from_request(&request)?;
        self.change(&caller, request.into_inner(), Command::Pause).await
    }

    async fn resume(&self, request: Request<v1::ChangeRequest>) -> Reply<v1::ExperimentStatus> {
        let caller = Caller::from_request(&request)?;
        self.change(&caller, request.into_inner(), Command::Resume).await
    }

    async fn cancel(&self, request: Request<v1::ChangeRequest>) -> Reply<v1::ExperimentStatus> {
        let caller = Caller::from_request(&request)?;
        self.change(&caller, request.into_inner(), Command::Cancel).await
    }

    async fn extend(&self, request: Request<v1::ExtendRequest>) -> Reply<v1::ExperimentStatus> {
        let caller = Caller::from_request(&request)?;
        let v1::ExtendRequest { experiment, runs, by } = request.into_inner();
        if runs == 0 {
            return Err(Status::invalid_argument(
                "an experiment is extended by at least one run of each cell",
            ));
        }
        let request = v1::ChangeRequest { experiment, by };
        self.change(&caller, request, |request| Command::Extend { request, more: runs }).await
    }

    async fn decide(&self, request: Request<v1::DecideRequest>) -> Reply<v1::ExperimentStatus> {
        let caller = Caller::from_request(&request)?;
        let mut wire = request.into_inner();
        wire.by = caller.name(&wire.by)?;
        let asked = v1::ChangeRequest { experiment: wire.experiment.clone(), by: wire.by.clone() };
        let command = Command::try_from(wire)?;
        self.change(&caller, asked, |_| command).await
    }

    type WatchUndecidedStream = UndecidedStream;

    async fn watch_undecided(&self, _request: Request<v1::UndecidedRequest>) -> Reply<UndecidedStream> {
        let (sender, receiver) = mpsc::channel(WAITING_PIECES);
        tokio::spawn(tell_undecided(self.handle.clone(), sender));
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }

    async fn explain(&self, request: Request<v1::ExplainRequest>) -> Reply<v1::Explanation> {
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

    async fn explain_all(&self, request: Request<v1::GetRequest>) -> Reply<v1::Outlook> {
        let id = experiment_id(&request.into_inner().experiment)?;
        let outlook = match self.handle.query(move |machine| machine.outlook(id)).await? {
            Some(outlook) => (&outlook).into(),
            // A finished one waits for nothing, and one that never was is not found.
            None => status(&self.handle, id).await.map(|_| v1::Outlook::default())?,
        };
        let store = self.handle.current_store().await?.clone();
        let losses = blocking(move || store.latest_losses(id, LATEST_LOSSES)).await?;
        Ok(Response::new(v1::Outlook { lost: losses.iter().filter_map(lost).collect(), ..outlook }))
    }

    type ExportStream = ExportStream;

    async fn export(&self, request: Request<v1::ExportRequest>) -> Reply<ExportStream> {
        let caller = Caller::from_request(&request)?;
        let v1::ExportRequest { experiment, cursor, all_hosts } = request.into_inner();
        let id = experiment_id(&experiment)?;
        let cursor = Cursor::from_request(&cursor, id)?;
        let status = status(&self.handle, id).await?;
        let store = self.handle.current_store().await?.clone();
        // What the analysis reads is bounded there, and must not wait for readers out here.
        let permit = match caller {
            Caller::Inside => None,
            Caller::Known(_) | Caller::Unchecked | Caller::Unknown => {
                Some(self.exporting.acquire(caller.identity()).await)
            }
        };
        let (sender, receiver) = mpsc::channel(WAITING_PIECES);
        tokio::task::spawn_blocking(move || {
            let _permit = permit;
            if let Err(status) = export(&store, &status, cursor, all_hosts, &sender) {
                // The reader is gone when it cannot be told.
                let _ = sender.blocking_send(Err(status));
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }
}

impl ExperimentsDoor {
    async fn take(
        &self,
        submission: Submission,
        request: Option<RequestKey>,
    ) -> Result<v1::SubmitResponse, Status> {
        let Submission { plan, wait_for_hosts, by, request: _ } = submission;
        let plan = Arc::new(draw(plan).await?);
        require_files(&self.health.blobs, &plan.experiment.files).await?;
        let id = ExperimentId(Uuid::now_v7());
        let runs = plan.runs();
        let hosts_needed = hosts_needed(&plan);
        let seed = plan.experiment.seed.0;
        // Where an engine is asked for hosts, they come when the plan is there, if they are of use to it.
        let outlook = self.health.provisioning.outlook(needed_allocation(&plan)).await;
        let wait_for_hosts = wait_for_hosts || outlook == HostsToCome::Some;
        let warning = match outlook {
            HostsToCome::TooShort(why) => Some(why),
            HostsToCome::Some | HostsToCome::None => None,
        };
        let submit = Command::Submit { experiment: id, plan, by, wait_for_hosts, request };
        self.handle.command(submit).await?.map_err(|refusal| match (&refusal, warning) {
            // Such hosts would have come, but are of no use.
            (Refusal::PoolTooSmall(_), Some(why)) => {
                Status::failed_precondition(with_hint(format!("{refusal}; {why}"), Some(TooShort::HINT)))
            }
            _ => refused(&refusal),
        })?;
        tracing::info!(experiment = %id, runs, "submitted experiment");
        let experiment = id_text(id.0);
        let warning = warning.map(|why| with_hint(why.to_string(), Some(TooShort::HINT)));
        Ok(v1::SubmitResponse { experiment, runs, hosts_needed, warning, seed })
    }

    async fn change(
        &self,
        caller: &Caller,
        request: v1::ChangeRequest,
        command: impl FnOnce(Asked) -> Command,
    ) -> Reply<v1::ExperimentStatus> {
        let v1::ChangeRequest { experiment, by } = request;
        let id = experiment_id(&experiment)?;
        require_owner(&self.handle, caller, id).await?;
        let asked = Asked { experiment: id, by: caller.name(&by)? };
        match self.handle.command(command(asked)).await? {
            Ok(()) => reply_status(&self.handle, id).await,
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
        use v1::{after_loss::After, record::Outcome};
        let finished = status(&self.handle, id).await?;
        let Tally { measured, failed, abandoned, cancelled, .. } = finished.tally;
        let runs = measured + failed + abandoned + cancelled;
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
        run: lease.run,
        attempt: lease.attempt,
        host: lease.host.clone(),
        host_name: lease.evidence.as_ref().and_then(|evidence| evidence.host_name.clone()),
        at: Some(timestamp(Timestamp(ended.ended_ns))),
        reason: lost.reason.clone(),
    })
}

fn no_such_run(run: u32, runs: u32) -> Status {
    Status::not_found(format!("there is no run {run}: the experiment has {runs}, counted from 0"))
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

async fn reply_status(handle: &Handle, id: ExperimentId) -> Reply<v1::ExperimentStatus> {
    status(handle, id).await.map(|status| Response::new((&status).into()))
}

/// What the store keeps was made here: it is readable, or the store is damaged.
fn read_status(stored: v1::StoredStatus) -> Result<ExperimentStatus, Status> {
    ExperimentStatus::try_from(stored).map_err(|error| {
        tracing::error!("the store holds a status that cannot be read: {error}");
        Status::internal(
            "the store holds a status that cannot be read; a restart of the coordinator rebuilds it",
        )
    })
}

async fn status(handle: &Handle, id: ExperimentId) -> Result<ExperimentStatus, Status> {
    if let Some(status) = handle.query(move |machine| active_status(machine, id)).await? {
        return Ok(status);
    }
    let store = handle.current_store().await?.clone();
    let stored = blocking(move || store.status(id)).await?;
    read_status(stored.ok_or_else(|| {
        let words = format!("there is no experiment {id}");
        Status::not_found(with_hint(words, Some("`speedup list` shows them")))
    })?)
}

async fn watch(
    handle: Handle,
    id: ExperimentId,
    first: ExperimentStatus,
    sender: mpsc::Sender<Result<v1::ExperimentStatus, Status>>,
) {
    let mut durable = handle.progress.durable.clone();
    let mut last = None;
    let mut now = Ok(first);
    let mut pause = WATCH_PAUSE.0;
    // Whatever becomes durable may be of this experiment; the pause bounds how often the machine is asked.
    loop {
        let over = now.as_ref().map_or(true, is_finished);
        if last.as_ref() != now.as_ref().ok() {
            last = now.as_ref().ok().cloned();
            if sender.send(now.map(|status| (&status).into())).await.is_err() {
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

/// What a request asks for, and by what a repetition of it is known, where it may be repeated.
fn read_submission(mut wire: v1::SubmitRequest) -> Result<(Submission, Option<RequestKey>), Status> {
    if wire.request_id.is_empty() {
        return Ok((Submission::try_from(wire)?, None));
    }
    // The hash is of what is asked for, and of who asks: without the id.
    let request_id = std::mem::take(&mut wire.request_id);
    let content = blake3::derive_key("speedup 2026 content of a submission", &wire.encode_to_vec());
    let submission = Submission::try_from(v1::SubmitRequest { request_id, ..wire })?;
    let key = submission.request.map(|id| RequestKey { id, content });
    Ok((submission, key))
}

/// The answer to a request that was answered before. The journal keeps the request with the experiment, the store finds it: so a
/// repetition is known for as long as its experiment is, also after a restart.
async fn known_submission(store: Store, key: RequestKey) -> Result<Option<v1::SubmitResponse>, Status> {
    blocking(move || look_up_submission(&store, key)).await
}

fn look_up_submission(store: &Store, key: RequestKey) -> Result<Option<v1::SubmitResponse>, Status> {
    let found = store.requested(key.id)?;
    let Some((experiment, content)) = found else { return Ok(None) };
    if content != key.content {
        return Err(Status::already_exists(with_hint(
            format_args!("the request {} was another: it had another plan, or another user sent it", key.id),
            Some("draw a new UUID for each submission, and use it again only to repeat that one"),
        )));
    }
    let plan = store.plan(experiment)?;
    let plan =
        plan.ok_or_else(|| Status::internal(format!("the plan of experiment {experiment} is missing")))?;
    let plan = Plan::try_from(plan).map_err(|error| Status::internal(error.to_string()))?;
    Ok(Some(v1::SubmitResponse {
        experiment: id_text(experiment.0),
        runs: plan.runs(),
        hosts_needed: hosts_needed(&plan),
        warning: None,
        seed: plan.experiment.seed.0,
    }))
}

/// Tells of each experiment that awaits a decision, once for each number of runs, until nobody listens.
async fn tell_undecided(handle: Handle, listener: mpsc::Sender<Result<v1::Undecided, Status>>) {
    let mut durable = handle.progress.durable.clone();
    let mut told: BTreeMap<ExperimentId, u32> = BTreeMap::new();
    loop {
        let Ok(undecided) = handle.query(undecided).await else { return };
        // Forgotten when decided, so that this never grows beyond what is active.
        told.retain(|id, _| undecided.contains_key(id));
        for (id, runs) in undecided {
            if told.insert(id, runs) == Some(runs) {
                continue;
            }
            let message = v1::Undecided { experiment: id_text(id.0), runs };
            if listener.send(Ok(message)).await.is_err() {
                return;
            }
        }
        tokio::select! {
            changed = durable.changed() => if changed.is_err() { return },
            () = listener.closed() => return,
        }
        tokio::time::sleep(UNDECIDED_PAUSE).await;
    }
}

/// The experiments that await a decision, with their numbers of runs.
fn undecided(machine: &Machine) -> BTreeMap<ExperimentId, u32> {
    let mut undecided = BTreeMap::new();
    for id in machine.active() {
        if let Some(active) = machine.experiment(id)
            && *active.phase() == Phase::Deciding
        {
            undecided.insert(id, active.plan().runs());
        }
    }
    undecided
}
