//! The gRPC doors: generated messages in, typed commands on; refusals and errors out as statuses. Nothing behind the
//! doors knows gRPC. Before them stands the guard, with its table of methods, and before it the count of
//! calls.

mod access;
mod agents;
mod caller;
mod counted;
mod events;
mod experiments;
mod files;
mod guard;
mod hosts;
mod methods;
mod provision;

pub(crate) use access::AccessDoor;
pub(crate) use agents::AgentsDoor;
pub(crate) use caller::{Caller, Peer};
pub(crate) use counted::CallCounter;
pub(crate) use events::EventsDoor;
pub(crate) use experiments::{DRAWN_AT_ONCE, EXPORTED_AT_ONCE, ExperimentsDoor};
pub(crate) use files::FilesDoor;
pub(crate) use guard::Guard;
pub(crate) use hosts::HostsDoor;
pub(crate) use provision::ProvisionDoor;

use speedup_core::machine::Refusal;
use speedup_core::value::causes::with_causes;
use speedup_core::value::hint::{Hinted, with_hint};
use speedup_core::value::id::ExperimentId;
use speedup_proto::convert::experiment_named;
use tonic::{Response, Status};

use crate::{handle::Gone, store::StoreError};

/// What a method of a service answers.
type Reply<T> = Result<Response<T>, Status>;

const MAX_USER_BYTES: usize = 256;

/// Most bytes of a list in one answer, the rest of which is told by further pages: most clients of gRPC take four megabytes.
const PAGE_BYTES: usize = 3 << 20;

/// Returns how many of these messages an answer holds, at least one.
fn fitting<M: prost::Message>(messages: &[M]) -> usize {
    let mut bytes = 0;
    for (count, message) in messages.iter().enumerate() {
        bytes += message.encoded_len();
        if bytes > PAGE_BYTES {
            return count.max(1);
        }
    }
    messages.len()
}

impl From<Gone> for Status {
    fn from(gone: Gone) -> Self {
        Self::unavailable(gone.to_string())
    }
}

/// What fails in the store is the coordinator's own trouble, so the log has it in full.
impl From<StoreError> for Status {
    fn from(error: StoreError) -> Self {
        tracing::error!("{}", with_causes(&error));
        Self::internal(format!("{error}; a restart of the coordinator rebuilds the store from the journal"))
    }
}

fn refused(refusal: &Refusal) -> Status {
    let text = with_hint(refusal, refusal.hint());
    match refusal {
        Refusal::NotActive(_) | Refusal::NotJoined(_) | Refusal::UnknownHost(_) => Status::not_found(text),
        Refusal::Exists(_)
        | Refusal::HostClaimed { .. }
        | Refusal::AnotherMachine { .. }
        | Refusal::SameMachine { .. } => Status::already_exists(text),
        Refusal::TooManyActive
        | Refusal::TooManyOfUser { .. }
        | Refusal::TooManyHosts
        | Refusal::TooManyBoots(_) => Status::resource_exhausted(text),
        Refusal::TooManyRuns { .. }
        | Refusal::BeyondRule { .. }
        | Refusal::Unfit(_)
        | Refusal::NothingAppended => Status::invalid_argument(text),
        Refusal::Cancelled(_)
        | Refusal::Building(_)
        | Refusal::Bisecting(_)
        | Refusal::NotBuilt { .. }
        | Refusal::NotDeciding(_)
        | Refusal::StaleDecision { .. }
        | Refusal::AnyClass(_)
        | Refusal::PoolTooSmall(_)
        | Refusal::OldBoot { .. }
        | Refusal::FutureAgent { .. }
        | Refusal::StaleAgent { .. } => Status::failed_precondition(text),
        Refusal::NotYourLease { .. } => Status::permission_denied(text),
    }
}

fn experiment_id(text: &str) -> Result<ExperimentId, Status> {
    Ok(experiment_named(text, "experiment")?)
}

fn user(by: &str) -> Result<String, Status> {
    match by {
        "" => Ok("somebody".to_owned()),
        by if by.len() <= MAX_USER_BYTES && !by.chars().any(char::is_control) => Ok(by.to_owned()),
        _ => Err(Status::invalid_argument(format!(
            "a user's name has at most {MAX_USER_BYTES} printable bytes"
        ))),
    }
}

/// Does work that blocks or computes where it does not hold up the service. A panic of it becomes an internal error.
async fn blocking<T: Send + 'static, E: Into<Status> + Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, Status> {
    let result = tokio::task::spawn_blocking(work).await;
    result.map_err(|error| Status::internal(error.to_string()))?.map_err(Into::into)
}
