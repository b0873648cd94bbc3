//! Submissions that may be repeated: the same request again is answered with the experiment that it made.
//!
//! The journal keeps the request with the experiment, the store finds it: so a repetition is known for as long as its
//! experiment is, also after a restart, and takes a row of the store beside those that the experiment has anyway.

use prost::Message as _;
use speedup_core::{machine::event::RequestKey, machine::hosts_needed, plan::Plan, value::hint::with_hint};
use speedup_proto::{convert::Submission, convert::id_text, v1};
use tonic::Status;

use super::plan::apart;
use crate::{door::store_failed, store::Store};

/// What a request asks for, and by what a repetition of it is known, where it may be repeated.
pub(super) fn read(mut wire: v1::SubmitRequest) -> Result<(Submission, Option<RequestKey>), Status> {
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

/// The answer to a request that was answered before.
pub(super) async fn known(store: Store, key: RequestKey) -> Result<Option<v1::SubmitResponse>, Status> {
    apart(move || look(&store, key)).await
}

fn look(store: &Store, key: RequestKey) -> Result<Option<v1::SubmitResponse>, Status> {
    let found = store.requested(key.id).map_err(|error| store_failed(&error))?;
    let Some((experiment, content)) = found else { return Ok(None) };
    if content != key.content {
        return Err(Status::already_exists(with_hint(
            format_args!("the request {} was another: it had another plan, or another user sent it", key.id),
            Some("draw a new UUID for each submission, and use it again only to repeat that one"),
        )));
    }
    let plan = store.plan(experiment).map_err(|error| store_failed(&error))?;
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
