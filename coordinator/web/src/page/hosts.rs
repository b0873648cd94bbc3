//! The pool: counts by class, and the hosts in pages.

use maud::{Markup, html};
use speedup_proto::v1::host_status::Standing;
use speedup_proto::v1::{HostStatus, HostsSummary};

use super::layout::{Section, page};
use super::{encoded, grouped, scrolling};
use crate::client::HostsPage;
use crate::routes::After;
use crate::visitor::Visitor;

/// Digits of a class that are shown in tables.
const CLASS_DIGITS: usize = 12;
/// The words of [`state`].
const STATES: [&str; 7] = ["idle", "busy", "rebooting", "draining", "drained", "quarantined", "away"];
/// Most classes of the table: more are told as a number.
const CLASSES: usize = 50;

/// Where the page of a host is.
pub(crate) fn link(host: &str) -> String {
    format!("/hosts/of/{}", encoded(host))
}

/// The whole page.
pub(crate) fn whole(visitor: &Visitor, at: &After, summary: &HostsSummary, listed: &HostsPage) -> Markup {
    let query = |after: &str| format!("?after={}&state={}", encoded(after), encoded(&at.state));
    let live = format!("/live/hosts{}", query(&at.after));
    let body = html! {
        h1 { "Hosts" }
        div data-part="pool" { (pool(summary)) }
        section aria-labelledby="h-hosts" {
            div.head {
                h2 #h-hosts { "All hosts" }
                form.find role="search" action="/hosts/find" {
                    label for="find" { "Host" }
                    input #find name="host" required maxlength="253" autocomplete="off" spellcheck="false";
                    button { "Show" }
                }
            }
            ul.choice aria-label="States" {
                li { a href="/hosts" aria-current=[at.state.is_empty().then_some("true")] { "all" } }
                @for state in STATES {
                    li { a href={ "/hosts?state=" (state) } aria-current=[(at.state == state).then_some("true")] { (state) } }
                }
            }
            div data-part="hosts" { (table(at, &listed.hosts)) }
            nav.pages aria-label="Pages" {
                @if !at.after.is_empty() { a href={ "/hosts" (query("")) } { "First page" } }
                @if let Some(next) = &listed.next { a href={ "/hosts" (query(next)) } rel="next" { "Next" } }
            }
        }
    };
    page(visitor, Section::Hosts, "Hosts", Some(&live), &body)
}

/// The counts of the pool.
pub(crate) fn pool(summary: &HostsSummary) -> Markup {
    let sum = |count: fn(&speedup_proto::v1::HostClassSummary) -> u32| {
        summary.classes.iter().map(|class| u64::from(count(class))).sum::<u64>()
    };
    let counts = [
        ("Given runs", sum(|class| class.available)),
        ("Busy", sum(|class| class.busy)),
        ("Out of service", sum(|class| class.out_of_service)),
        ("Classes", summary.classes.len() as u64),
    ];
    let rows = html! {
        table {
            caption { span { "Connected hosts by class: hosts of a class have the same fingerprint" } }
            thead {
                tr {
                    th scope="col" { "Class" }
                    th.number scope="col" { "Given runs" }
                    th.number scope="col" { "Busy" }
                    th.number scope="col" { "Used before" }
                    th.number scope="col" { "Out of service" }
                }
            }
            tbody {
                @for class in summary.classes.iter().take(CLASSES) {
                    tr {
                        th scope="row" { code { (class_text(&class.class)) } }
                        td.number { (grouped(class.available.into())) }
                        td.number { (grouped(class.busy.into())) }
                        td.number { (grouped(class.used.into())) }
                        td.number { (grouped(class.out_of_service.into())) }
                    }
                }
            }
        }
        @if summary.classes.len() > CLASSES {
            p.quiet { "and " (grouped((summary.classes.len() - CLASSES) as u64)) " more classes" }
        }
    };
    html! {
        dl.counts { @for (name, number) in counts { div { dt { (name) } dd { (grouped(number)) } } } }
        @if !summary.classes.is_empty() { (scrolling("Classes", &rows)) }
    }
}

/// The table of a page.
pub(crate) fn table(at: &After, hosts: &[HostStatus]) -> Markup {
    if hosts.is_empty() && !at.state.is_empty() {
        return html! { p.empty { "No host here is " (at.state) "." } };
    }
    if hosts.is_empty() {
        return html! { p.empty { "No host here. " code { "speedup agent start" } " on a host lets it join." } };
    }
    let rows = html! {
        table {
            caption.hidden { "Hosts in the order of their names" }
            thead {
                tr {
                    th scope="col" { "Host" }
                    th scope="col" { "State" }
                    th scope="col" { "Class" }
                    th.number scope="col" { "Runs served" }
                    th scope="col" { "Note" }
                }
            }
            tbody { @for host in hosts { (row(host)) } }
        }
    };
    scrolling("Hosts", &rows)
}

fn row(host: &HostStatus) -> Markup {
    let id = host.facts.as_ref().map_or("", |facts| facts.host.as_str());
    html! {
        tr {
            th.name scope="row" { a #{ "h-" (encoded(id)) } href=(link(id)) { (id) } }
            td { (state_badge(host)) }
            td { code { (class_text(&host.class)) } }
            td.number { (grouped(host.served)) }
            td { (note(host)) }
        }
    }
}

pub(super) fn class_text(class: &str) -> &str {
    match class.get(..CLASS_DIGITS).unwrap_or(class) {
        "" => "any",
        digits => digits,
    }
}

/// Whether it works, rests or is out of service, as a badge.
pub(super) fn state_badge(host: &HostStatus) -> Markup {
    let (word, class) = state(host);
    html! { span.badge.(class) { (word) } }
}

/// The word of a host's state, one of [`STATES`], and its class.
pub(crate) fn state(host: &HostStatus) -> (&'static str, &'static str) {
    match &host.standing {
        Some(Standing::Quarantined(_)) => ("quarantined", "bad"),
        Some(Standing::Draining(_)) if host.lease.is_some() => ("draining", "held"),
        Some(Standing::Draining(_)) => ("drained", "held"),
        Some(Standing::Serving(_)) | None => match (host.connected, &host.lease, host.rebooting_until_ns) {
            (_, _, Some(_)) => ("rebooting", "held"),
            (true, Some(_), None) => ("busy", "active"),
            (true, None, None) => ("idle", "over"),
            (false, _, None) => ("away", "bad"),
        },
    }
}

/// Who took it out of service, and what changed on it.
pub(super) fn note(host: &HostStatus) -> Markup {
    html! {
        @match &host.standing {
            Some(Standing::Draining(draining)) => { "drained by " (draining.by) }
            Some(Standing::Quarantined(quarantined)) => { (quarantined.reason) " (" (quarantined.by) ")" }
            Some(Standing::Serving(_)) | None => {}
        }
        @if !host.drifted.is_empty() { " changed: " (host.drifted.join(", ")) }
    }
}
