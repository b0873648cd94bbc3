//! The event log: who did what, and when.

use axum::http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;
use speedup_proto::v1::{EventKind, ListEventsResponse, LoggedEvent};

use super::{encoded, layout::Section, layout::page, moment_of, scrolling};
use crate::{context::Visitor, page_error::PageError};

/// Longest place in a log, in hexadecimal digits.
const MAX_PLACE: usize = 64;

/// Longest text that is looked for: an id, or the name of a host.
const MAX_FIND: usize = 253;

/// Which page of a log, and what its events are about. An empty field asks for all.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Listing {
    #[serde(default)]
    before: String,
    #[serde(default)]
    find: String,
}

impl Listing {
    /// The place in the log before which the page begins.
    pub(crate) fn place(&self) -> Result<String, PageError> {
        place(&self.before)
    }

    /// Whether an event has the text that is looked for: in what was done, who did it, to what, or the words about it.
    pub(crate) fn wants(&self, event: &LoggedEvent) -> bool {
        let find = self.find.trim().to_lowercase();
        let kind = EventKind::try_from(event.kind).unwrap_or(EventKind::Unspecified).words();
        let by = if event.by.is_empty() { NOBODY } else { &event.by };
        [kind, by, &event.experiment, &event.host, &event.words]
            .iter()
            .any(|text| text.to_lowercase().contains(&find))
    }
}

/// Who does what nobody does.
const NOBODY: &str = "coordinator";

/// The place in a log that an address names.
fn place(text: &str) -> Result<String, PageError> {
    let is_place = text.len() <= MAX_PLACE && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_place.then(|| text.to_owned()).ok_or_else(|| {
        PageError::plain(
            StatusCode::BAD_REQUEST,
            "This is not a position in the log. Start at the newest event.",
        )
    })
}

pub(crate) fn whole(visitor: &Visitor, at: &Listing, listed: &ListEventsResponse) -> Markup {
    let body = html! {
        h1 { "Events" }
        p.quiet {
            "What people did, and what the coordinator decided about experiments and hosts, newest first. Runs stand with \
             their experiments."
        }
        form.find role="search" action="/events" {
            label {
                "Person, host, experiment or what was done"
                input #find name="find" value=(at.find) maxlength=(MAX_FIND) autocomplete="off" spellcheck="false";
            }
            button { "Show" }
            @if !at.find.is_empty() { a href="/events" { "Show all" } }
        }
        div data-part="events" { (table(at, &listed.events)) }
        (pages("/events", at, listed))
    };
    let live = format!("/live/events?before={}&find={}", at.before, encoded(&at.find));
    page(visitor, Section::Events, "Events", Some(&live), &body)
}

/// The way to newer and older ones.
pub(super) fn pages(path: &str, at: &Listing, listed: &ListEventsResponse) -> Markup {
    let older = &listed.next_page_token;
    let find = if at.find.is_empty() { String::new() } else { format!("find={}", encoded(&at.find)) };
    html! {
        nav.pages aria-label="Pages" {
            @if !at.before.is_empty() { a href={ (path) "?" (find) } { "Newest" } }
            @if !older.is_empty() { a href={ (path) "?before=" (older) "&" (find) } rel="next" { "Older" } }
        }
    }
}

/// The events that are asked for, as a table.
pub(crate) fn table(at: &Listing, events: &[LoggedEvent]) -> Markup {
    if events.is_empty() && !at.find.is_empty() {
        return html! { p.empty { "No event here has these words." } };
    }
    table_of(events, "")
}

/// Events as a table on the page of an experiment, which need not be named.
pub(super) fn table_of(events: &[LoggedEvent], experiment: &str) -> Markup {
    if events.is_empty() {
        return html! { p.empty { "There are no events yet." } };
    }
    let rows = html! {
        table {
            caption.hidden { "Events, the newest first" }
            thead {
                tr {
                    th scope="col" { "When" }
                    th scope="col" { "Who" }
                    th scope="col" { "What" }
                    th scope="col" { "About" }
                }
            }
            tbody { @for event in events { (row(event, experiment)) } }
        }
    };
    scrolling("Events", &rows)
}

fn row(event: &LoggedEvent, page: &str) -> Markup {
    let kind = EventKind::try_from(event.kind).unwrap_or(EventKind::Unspecified);
    let id = &event.experiment;
    html! {
        tr {
            td { (moment_of(event.at.as_ref())) }
            td { @if event.by.is_empty() { span.quiet { (NOBODY) } } @else { (event.by) } }
            td { (kind.words()) }
            td.long {
                @if event.experiment != page && !id.is_empty() { a href={ "/experiments/" (id) } { code { (id.get(..13).unwrap_or_default()) } } " " }
                @if !event.host.is_empty() { a href=(super::hosts::link(&event.host)) { (event.host) } " " }
                (event.words)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_found_by_who_what_and_about_what() {
        let event = LoggedEvent {
            kind: EventKind::HostDrained.into(),
            by: "ada".to_owned(),
            host: "node17".to_owned(),
            experiment: "abababab-abab-abab-abab-abababababab".to_owned(),
            ..LoggedEvent::default()
        };
        let wants = |find: &str| Listing { find: find.to_owned(), ..Listing::default() }.wants(&event);
        assert!(["", " ADA ", "drained", "node1", "abababab-abab"].into_iter().all(wants));
        assert!(!["coordinator", "node2", "paused"].into_iter().any(wants));
        assert!(
            Listing { find: "coordinator".to_owned(), ..Listing::default() }.wants(&LoggedEvent::default())
        );
    }

    #[test]
    fn a_place_is_hexadecimal_and_short() {
        assert_eq!(place("00ff10").unwrap(), "00ff10");
        assert_eq!(place("").unwrap(), "");
        for wrong in ["zz", "é!", "00".repeat(40).as_str()] {
            assert_eq!(place(wrong).unwrap_err().code(), StatusCode::BAD_REQUEST, "{wrong}");
        }
    }
}
