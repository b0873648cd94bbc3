//! The pool: counts by class, and the hosts in pages.

use maud::{Markup, html};
use serde::Deserialize;
use speedup_proto::{v1::HostFacts, v1::HostStatus, v1::HostsSummary, v1::host_status::Standing};

use super::{encoded, grouped, layout::Section, layout::page, scrolling};
use crate::context::Visitor;

/// Digits of a class that are shown in tables.
const CLASS_DIGITS: usize = 12;
const STATES: [&str; 7] = ["idle", "busy", "rebooting", "draining", "drained", "quarantined", "away"];
/// By what hosts are sorted: the word in addresses, and the one that people read.
const ORDERS: [(&str, &str); 3] = [("", "name"), ("served", "most runs served"), ("class", "class")];
/// Most classes of the table: more are told as a number.
const CLASSES: usize = 50;
pub(crate) const HOSTS: u32 = 100;
/// Pages of hosts that are looked at for one with a host in the state that is asked for, or to sort them: what takes a moment.
pub(crate) const LOOKED_PAGES: usize = 20;
/// Hosts that are looked at to sort them: the first.
const LOOKED_HOSTS: u32 = LOOKED_PAGES as u32 * HOSTS;

/// Hosts, and after which one the next page begins.
#[derive(Debug)]
pub(crate) struct HostsPage {
    pub(crate) hosts: Vec<HostStatus>,
    pub(crate) next: Option<String>,
}

/// Which hosts are asked for, and in which order. An empty field asks for all.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Listing {
    #[serde(default)]
    pub(crate) after: String,
    #[serde(default)]
    state: String,
    #[serde(default)]
    sort: String,
}

impl Listing {
    /// Whether a host is in the state that is asked for.
    pub(crate) fn wants(&self, host: &HostStatus) -> bool {
        self.state.is_empty() || state(host).0 == self.state
    }

    /// Whether another order is asked for than that of the names, in which the coordinator lists them.
    pub(crate) fn is_sorted(&self) -> bool {
        ORDERS.iter().any(|(word, _)| !word.is_empty() && *word == self.sort)
    }

    /// Sorts hosts that stand in the order of their names; those that are equal stay in it.
    pub(crate) fn sort(&self, hosts: &mut [HostStatus]) {
        match self.sort.as_str() {
            "served" => hosts.sort_by_key(|host| std::cmp::Reverse(host.served)),
            "class" => hosts.sort_by(|a, b| a.class.cmp(&b.class)),
            _ => {}
        }
    }

    /// The address of what stands after a host, or of the first.
    fn query(&self, after: &str) -> String {
        let fields = [("after", after), ("state", &self.state), ("sort", &self.sort)];
        let fields = fields.into_iter().filter(|(_, value)| !value.is_empty());
        let fields: Vec<String> = fields.map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        if fields.is_empty() { String::new() } else { format!("?{}", fields.join("&")) }
    }
}

pub(crate) fn link(host: &str) -> String {
    format!("/hosts/of/{}", encoded(host))
}

pub(crate) fn whole(visitor: &Visitor, at: &Listing, summary: &HostsSummary, listed: &HostsPage) -> Markup {
    let live = format!("/live/hosts{}", at.query(&at.after));
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
            (choice("State", [("", "all")].into_iter().chain(STATES.map(|state| (state, state))), &at.state, |state| {
                Listing { state, after: String::new(), ..at.clone() }
            }))
            (choice("Sorted by", ORDERS.into_iter(), &at.sort, |sort| Listing { sort, after: String::new(), ..at.clone() }))
            @if at.is_sorted() { p.quiet { "Among the first " (grouped(LOOKED_HOSTS.into())) " by name." } }
            div data-part="hosts" { (table(at, &listed.hosts)) }
            nav.pages aria-label="Pages" {
                @if !at.after.is_empty() { a href={ "/hosts" (at.query("")) } { "First page" } }
                @if let Some(next) = &listed.next { a href={ "/hosts" (at.query(next)) } rel="next" { "Next" } }
            }
        }
    };
    page(visitor, Section::Hosts, "Hosts", Some(&live), &body)
}

/// Links to the same page by other words; `of` makes of a word what it asks for.
fn choice(
    label: &str,
    words: impl Iterator<Item = (&'static str, &'static str)>,
    current: &str,
    of: impl Fn(String) -> Listing,
) -> Markup {
    html! {
        ul.choice aria-label=(label) {
            li.quiet { (label) }
            @for (word, shown) in words {
                li {
                    a href={ "/hosts" (of(word.to_owned()).query("")) } aria-current=[(current == word).then_some("true")] {
                        (shown)
                    }
                }
            }
        }
    }
}

pub(crate) fn pool(summary: &HostsSummary) -> Markup {
    let counts: [(&str, u64); 4] = [
        ("Given runs", summary.classes.iter().map(|class| u64::from(class.available)).sum()),
        ("Busy", summary.classes.iter().map(|class| u64::from(class.busy)).sum()),
        ("Out of service", summary.classes.iter().map(|class| u64::from(class.out_of_service)).sum()),
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

pub(crate) fn table(at: &Listing, hosts: &[HostStatus]) -> Markup {
    if hosts.is_empty() && !at.state.is_empty() {
        return html! { p.empty { "No host here is " (at.state) "." } };
    }
    if hosts.is_empty() {
        return html! { p.empty { "No host here. " code { "speedup agent start" } " on a host lets it join." } };
    }
    let rows = html! {
        table {
            caption.hidden { "Hosts" }
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
    let name = host.facts.as_ref().and_then(name);
    html! {
        tr {
            th.name scope="row" {
                a #{ "h-" (encoded(id)) } href=(link(id)) { (id) }
                @if let Some(name) = name { " " span.quiet { (name) } }
            }
            td { (state_badge(host)) }
            td { code { (class_text(&host.class)) } }
            td.number { (grouped(host.served)) }
            td { (note(host)) }
        }
    }
}

/// What people call a host, where its id does not say that: its node's name, or its own.
pub(super) fn name(facts: &HostFacts) -> Option<&str> {
    let name = facts.node.as_deref().or(facts.hostname.as_deref())?;
    (!facts.host.contains(name)).then_some(name)
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
        Some(Standing::Serving(_)) | None => {
            match (host.connected, &host.lease, host.rebooting_until.is_some()) {
                (_, _, true) => ("rebooting", "held"),
                (true, Some(_), false) => ("busy", "active"),
                (true, None, false) => ("idle", "over"),
                (false, _, false) => ("away", "bad"),
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_told_where_the_id_does_not_say_it() {
        let of = |host: &str, node: Option<&str>| HostFacts {
            host: host.to_owned(),
            node: node.map(ToOwned::to_owned),
            hostname: Some("login1".to_owned()),
            ..HostFacts::default()
        };
        assert_eq!(name(&of("cluster:n7", Some("n7"))), None);
        assert_eq!(name(&of("0a1b", Some("n7"))), Some("n7"));
        assert_eq!(name(&of("0a1b", None)), Some("login1"));
        assert_eq!(name(&HostFacts { hostname: None, ..of("0a1b", None) }), None);
    }

    #[test]
    fn hosts_are_sorted_as_asked_and_an_unknown_order_is_none() {
        let of =
            |class: &str, served| HostStatus { class: class.to_owned(), served, ..HostStatus::default() };
        let sorted = |sort: &str| {
            let mut hosts = vec![of("b", 2), of("a", 2), of("c", 7)];
            let by = Listing { sort: sort.to_owned(), ..Listing::default() };
            by.sort(&mut hosts);
            (by.is_sorted(), hosts.into_iter().map(|host| host.class).collect::<String>())
        };
        assert_eq!(sorted("served"), (true, "cba".to_owned()), "equal ones as they stood");
        assert_eq!(sorted("class"), (true, "abc".to_owned()));
        assert_eq!((sorted(""), sorted("x")), ((false, "bac".to_owned()), (false, "bac".to_owned())));
        let at = Listing { state: "idle".to_owned(), ..Listing::default() };
        assert_eq!(at.query("a&b").as_str(), "?after=a%26b&state=idle");
        assert_eq!(Listing::default().query("").as_str(), "");
    }
}
