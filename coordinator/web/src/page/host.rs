//! One host: its state, its fingerprint, and which experiments do not take it.

use maud::{Markup, html};
use speedup_proto::v1::fact::Fact as Known;
use speedup_proto::v1::host_status::Standing;
use speedup_proto::v1::{Fact, HostFacts, Passed, ShowHostResponse};

use super::hosts::{class_text, link, name, note, state_badge};
use super::layout::{Section, page};
use super::{act, act_with, encoded, grouped, moment_of, scrolling};
use crate::context::Visitor;

/// Characters of a reason: a line of a table, and less than the coordinator takes in any script.
const MAX_REASON: usize = 120;

pub(crate) fn whole(visitor: &Visitor, shown: &ShowHostResponse) -> Markup {
    let facts = shown.host.as_ref().and_then(|host| host.facts.clone()).unwrap_or_default();
    let body = html! {
        p.crumb { a href="/hosts" { "Hosts" } }
        h1 { (facts.host) }
        @if let Some(name) = name(&facts) { p.lead #name { (name) } }
        div data-part="host" { (state(visitor, shown)) }
        section aria-labelledby="h-fingerprint" {
            h2 #h-fingerprint { "Fingerprint" }
            (fingerprint(&facts))
        }
    };
    let live = format!("/live/hosts/of/{}", encoded(&facts.host));
    page(visitor, Section::Hosts, &facts.host, Some(&live), &body)
}

/// What changes: its state, what may be done, and who does not take it.
pub(crate) fn state(visitor: &Visitor, shown: &ShowHostResponse) -> Markup {
    let Some(host) = &shown.host else { return html! {} };
    let facts = host.facts.clone().unwrap_or_default();
    let to = |what: &str| format!("{}/{what}", link(&facts.host));
    html! {
        div.head {
            p.lead { (state_badge(host)) " " (note(host)) }
            @if visitor.is_admin() {
                div.actions {
                    @match host.standing {
                        Some(Standing::Serving(_)) | None => {
                            (act(visitor, &to("drain"), "drain", "", "Drain"))
                            (quarantine(visitor, &to("quarantine")))
                        }
                        Some(Standing::Draining(_)) => {
                            (act(visitor, &to("resume"), "resume", "", "Resume"))
                            (quarantine(visitor, &to("quarantine")))
                        }
                        Some(Standing::Quarantined(_)) => (act(visitor, &to("resume"), "resume", "", "Resume")),
                    }
                }
            }
        }
        dl.facts {
            div { dt { "Class" } dd { code { (class_text(&host.class)) } } }
            div { dt { "Runs served" } dd { (grouped(host.served)) } }
            div { dt { "Boot" } dd { code { (facts.boot) } } }
            @if let Some(allocation) = &facts.allocation { div { dt { "Allocation" } dd { code { (allocation) } } } }
            @if host.away_since.is_some() { div { dt { "Away since" } dd { (moment_of(host.away_since.as_ref())) } } }
            @if host.rebooting_until.is_some() { div { dt { "Back by" } dd { (moment_of(host.rebooting_until.as_ref())) } } }
            @if let Some(lease) = &host.lease {
                @let id = &lease.experiment;
                div {
                    dt { "Executes" }
                    dd { a #executes href={ "/experiments/" (id) } { "run " (lease.run) } ", attempt " (lease.attempt) }
                }
            }
        }
        @if !shown.passed.is_empty() { (passed(&shown.passed)) }
    }
}

/// Asks for the reason: it stands in reports.
fn quarantine(visitor: &Visitor, to: &str) -> Markup {
    let reason = html! {
        label for="quarantine-reason" { "What is wrong with it" }
        input #quarantine-reason type="text" name="reason" maxlength=(MAX_REASON) required autocomplete="off";
    };
    html! {
        details #quarantine.menu {
            summary #quarantine-ask { "Quarantine…" }
            div.sheet {
                p { "It is given no more runs. Reports of experiments that it served name it, with the reason." }
                (act_with(visitor, to, "quarantine-do", "danger", "Quarantine the host", &reason))
            }
        }
    }
}

fn passed(passed: &[Passed]) -> Markup {
    let rows = html! {
        table {
            caption { span { "Experiments that do not take this host, because it is of another class" } }
            thead { tr { th scope="col" { "Experiment" } th scope="col" { "Fact" } th scope="col" { "Here" } th scope="col" { "There" } } }
            tbody {
                @for one in passed {
                    @let name = html! { a href={ "/experiments/" (one.experiment) } { (one.name) } };
                    @if one.differences.is_empty() { tr { th scope="row" { (name) } td colspan="3" {} } }
                    @for difference in &one.differences {
                        tr {
                            th scope="row" { (name) }
                            td { code { (difference.fact) } }
                            td { (fact(difference.here.as_ref())) }
                            td { (fact(difference.there.as_ref())) }
                        }
                    }
                }
            }
        }
    };
    scrolling("Experiments that do not take this host", &rows)
}

fn fact(fact: Option<&Fact>) -> Markup {
    html! {
        @match fact.and_then(|fact| fact.fact.as_ref()) {
            Some(Known::Value(value)) => (value),
            Some(Known::Unreadable(reason)) => span.quiet { "cannot be read: " (reason) },
            Some(Known::Absent(_)) | None => span.quiet { "absent" },
        }
    }
}

fn fingerprint(facts: &HostFacts) -> Markup {
    let mut known: Vec<(&String, &String)> = facts.fingerprint.iter().collect();
    known.sort();
    let mut unreadable: Vec<(&String, &String)> = facts.unreadable.iter().collect();
    unreadable.sort();
    let rows = html! {
        table.plain {
            caption.hidden { "Facts of the host" }
            thead { tr { th scope="col" { "Fact" } th scope="col" { "Value" } } }
            tbody {
                @for (name, value) in known { tr { th scope="row" { code { (name) } } td.long { (value) } } }
                @for (name, reason) in unreadable {
                    tr { th scope="row" { code { (name) } } td.quiet { "cannot be read: " (reason) } }
                }
            }
        }
    };
    html! {
        (scrolling("Fingerprint", &rows))
        @if !facts.absent.is_empty() { p.quiet { "Absent: " (facts.absent.join(", ")) } }
    }
}
