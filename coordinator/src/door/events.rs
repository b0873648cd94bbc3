//! The door to the event log.

use speedup_core::value::causes::with_causes;
use speedup_core::value::hint::with_hint;
use speedup_journal::Position;
use speedup_proto::limits::MAX_EVENTS;
use speedup_proto::v1;
use speedup_proto::v1::events_server::Events;
use tonic::{Request, Response, Status};

use super::{blocking, experiment_id};
use crate::admission::Admission;
use crate::handle::Handle;
use crate::store::EventPlace;

/// The door to the event log.
pub(crate) struct EventsDoor {
    pub(crate) handle: Handle,
    pub(crate) admission: Option<Admission>,
}

#[tonic::async_trait]
impl Events for EventsDoor {
    async fn list(
        &self,
        request: Request<v1::ListEventsRequest>,
    ) -> Result<Response<v1::ListEventsResponse>, Status> {
        let v1::ListEventsRequest { experiment, before, limit } = request.into_inner();
        let experiment = (!experiment.is_empty()).then(|| experiment_id(&experiment)).transpose()?;
        let before = match before.as_slice() {
            [] => None,
            place => Some(EventPlace::from_bytes(place).ok_or_else(no_place)?),
        };
        let (store, limit) = (self.handle.current_store().await?.clone(), bounded(limit));
        let page = blocking(move || store.events(experiment, before, limit)).await?;
        Ok(Response::new(v1::ListEventsResponse { events: page.events, before: page.before }))
    }

    async fn admissions(
        &self,
        request: Request<v1::ListEventsRequest>,
    ) -> Result<Response<v1::ListEventsResponse>, Status> {
        let v1::ListEventsRequest { experiment, before, limit } = request.into_inner();
        if !experiment.is_empty() {
            return Err(Status::invalid_argument("events of access belong to no experiment"));
        }
        let before = match before.as_slice() {
            [] => None,
            place => Some(Position(u64::from_be_bytes(place.try_into().map_err(|_| no_place())?))),
        };
        let Some(admission) = &self.admission else {
            return Ok(Response::new(v1::ListEventsResponse::default()));
        };
        let (log, limit) = (admission.log().clone(), bounded(limit));
        let page = tokio::task::spawn_blocking(move || log.read(before, limit)).await;
        let page = page.map_err(|error| Status::internal(error.to_string()))?.map_err(|error| {
            tracing::error!("{}", with_causes(&error));
            Status::internal(error.to_string())
        })?;
        let before = page.before.map_or(Vec::new(), |before| before.0.to_be_bytes().to_vec());
        Ok(Response::new(v1::ListEventsResponse { events: page.events, before }))
    }
}

fn bounded(limit: u32) -> usize {
    if limit == 0 { MAX_EVENTS } else { MAX_EVENTS.min(limit as usize) }
}

fn no_place() -> Status {
    let hint = "begin without one, at the newest";
    Status::invalid_argument(with_hint("this is not a position in the event log", Some(hint)))
}
