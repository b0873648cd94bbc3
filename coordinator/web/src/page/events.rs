//! The event log: who did what, and when.

use axum::http::StatusCode;
use maud::{Markup, html};
use speedup_proto::v1::{EventKind, ListEventsResponse, LoggedEvent};

use super::layout::{Section, page};
use super::moment::moment;
use super::{id_text, scrolling};
use crate::trouble::Trouble;

use crate::visitor::Visitor;

/// Longest place in a log, in hexadecimal digits.
const MAX_PLACE: usize = 64;

/// The place in a log that an address names.
pub(crate) fn place(text: &str) -> Result<Vec<u8>, Trouble> {
    let wrong = || {
        Trouble::plain(
            StatusCode::BAD_REQUEST,
            "This is not a position in the log. Start at the newest event.",
        )
    };
    if text.len() > MAX_PLACE || !text.len().is_multiple_of(2) || !text.is_ascii() {
        return Err(wrong());
    }
    let byte = |place: usize| u8::from_str_radix(&text[place..place + 2], 16).map_err(|_| wrong());
    (0..text.len()).step_by(2).map(byte).collect()
}

/// The whole page.
pub(crate) fn whole(visitor: &Visitor, before: &str, listed: &ListEventsResponse) -> Markup {
    let body = html! {
        h1 { "Events" }
        p.quiet {
            "What people did, and what the coordinator decided about experiments and hosts, newest first. Runs stand with \
             their experiments."
        }
        div data-part="events" { (table(&listed.events)) }
        (pages("/events", before, listed))
    };
    let live = format!("/live/events?before={before}");
    page(visitor, Section::Events, "Events", Some(&live), &body)
}

/// The way to newer and older ones.
pub(super) fn pages(path: &str, before: &str, listed: &ListEventsResponse) -> Markup {
    let older: String = listed.before.iter().map(|byte| format!("{byte:02x}")).collect();
    html! {
        nav.pages aria-label="Pages" {
            @if !before.is_empty() { a href=(path) { "Newest" } }
            @if !older.is_empty() { a href={ (path) "?before=" (older) } rel="next" { "Older" } }
        }
    }
}

/// Events as a table.
pub(crate) fn table(events: &[LoggedEvent]) -> Markup {
    table_of(events, &[])
}

/// Events as a table on the page of an experiment, which need not be named.
pub(super) fn table_of(events: &[LoggedEvent], experiment: &[u8]) -> Markup {
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

fn row(event: &LoggedEvent, page: &[u8]) -> Markup {
    let kind = EventKind::try_from(event.kind).unwrap_or(EventKind::Unspecified);
    let id = id_text(&event.experiment);
    html! {
        tr {
            td { (moment(event.at_ns)) }
            td { @if event.by.is_empty() { span.quiet { "coordinator" } } @else { (event.by) } }
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
    fn a_place_is_hexadecimal_and_short() {
        assert_eq!(place("00ff10").unwrap(), [0, 255, 16]);
        assert_eq!(place("").unwrap(), Vec::<u8>::new());
        for wrong in ["0", "zz", "é!", "00".repeat(40).as_str()] {
            assert_eq!(place(wrong).unwrap_err().code(), StatusCode::BAD_REQUEST, "{wrong}");
        }
    }
}
