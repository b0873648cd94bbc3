//! The door to the event log.

use speedup_core::{value::causes::with_causes, value::hint::with_hint};
use speedup_journal::Position;
use speedup_proto::{
    convert::hex_bytes, convert::hex_text, limits::MAX_EVENTS, v1, v1::events_server::Events,
};
use tonic::{Request, Response, Status};

use super::{Reply, blocking, experiment_id};
use crate::{admission::Admission, handle::Handle, store::EventPlace};

const MAX_PLACE_BYTES: usize = 64;

pub(crate) struct EventsDoor {
    pub(crate) handle: Handle,
    pub(crate) admission: Option<Admission>,
}

#[tonic::async_trait]
impl Events for EventsDoor {
    async fn list(&self, request: Request<v1::ListEventsRequest>) -> Reply<v1::ListEventsResponse> {
        let v1::ListEventsRequest { experiment, page_token, page_size } = request.into_inner();
        let experiment = if experiment.is_empty() { None } else { Some(experiment_id(&experiment)?) };
        let before = match place(&page_token)?.as_slice() {
            [] => None,
            place => Some(EventPlace::from_bytes(place).ok_or_else(no_place)?),
        };
        let store = self.handle.current_store().await?.clone();
        let limit = bounded(page_size);
        let page = blocking(move || store.events(experiment, before, limit)).await?;
        Ok(Response::new(v1::ListEventsResponse {
            events: page.events,
            next_page_token: hex_text(&page.before),
        }))
    }

    async fn admissions(&self, request: Request<v1::ListEventsRequest>) -> Reply<v1::ListEventsResponse> {
        let v1::ListEventsRequest { experiment, page_token, page_size } = request.into_inner();
        if !experiment.is_empty() {
            return Err(Status::invalid_argument("events of access belong to no experiment"));
        }
        let before = match place(&page_token)?.as_slice() {
            [] => None,
            place => Some(Position(u64::from_be_bytes(place.try_into().map_err(|_| no_place())?))),
        };
        let Some(admission) = &self.admission else {
            return Ok(Response::new(v1::ListEventsResponse::default()));
        };
        let log = admission.log().clone();
        let limit = bounded(page_size);
        let page = blocking(move || {
            log.read(before, limit).map_err(|error| {
                tracing::error!("{}", with_causes(&error));
                Status::internal(error.to_string())
            })
        });
        let page = page.await?;
        let next_page_token = page.before.map(|before| hex_text(&before.0.to_be_bytes())).unwrap_or_default();
        Ok(Response::new(v1::ListEventsResponse { events: page.events, next_page_token }))
    }
}

fn bounded(limit: u32) -> usize {
    if limit == 0 { MAX_EVENTS } else { MAX_EVENTS.min(limit as usize) }
}

/// The place in a log that a token names; nothing of an empty one.
fn place(page_token: &str) -> Result<Vec<u8>, Status> {
    hex_bytes(page_token, MAX_PLACE_BYTES, "page_token").map_err(|_| no_place())
}

fn no_place() -> Status {
    let hint = "give the next_page_token of a page, or none for the newest events";
    Status::invalid_argument(with_hint("page_token: this is not a position in the event log", Some(hint)))
}
