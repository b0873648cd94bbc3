//! The experiments, newest first or as somebody asks, in pages.

use maud::{Markup, html};
use serde::Deserialize;
use speedup_proto::v1::ExperimentStatus;

use super::experiment::{PHASES, bar, phase, phase_badge, standing};
use super::layout::{Section, page};
use super::{counted, encoded, grouped, moment_of, scrolling};
use crate::context::Visitor;

/// By what experiments are sorted: the word in addresses, and the one that people read.
const ORDERS: [(&str, &str); 4] =
    [("", "Newest first"), ("name", "Name"), ("failed", "Most failed runs"), ("progress", "Least progress")];
/// Characters of a name that is looked for: those of the longest.
const MAX_NAME: usize = 200;
/// Experiments that are looked at where not all are asked for: the newest.
pub(crate) const LOOKED_EXPERIMENTS: u32 = 1_000;

/// Which experiments are asked for, and in which order. An empty field asks for all.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Listing {
    pub(crate) page: Option<usize>,
    #[serde(default)]
    phase: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    sort: String,
}

impl Listing {
    /// Which page, the first being 1.
    pub(crate) fn number(&self) -> usize {
        self.page.unwrap_or(1).max(1)
    }

    /// Whether it asks for all as they come.
    pub(crate) fn is_all(&self) -> bool {
        self.phase.is_empty() && self.name.trim().is_empty() && self.sort.is_empty()
    }

    /// Those of `listed` that are asked for, in the order that is.
    pub(crate) fn chosen(&self, mut listed: Vec<ExperimentStatus>) -> Vec<ExperimentStatus> {
        let name = self.name.trim().to_lowercase();
        listed.retain(|status| {
            (self.phase.is_empty() || phase(status).0 == self.phase)
                && status.name.to_lowercase().contains(&name)
        });
        match self.sort.as_str() {
            "name" => listed.sort_by_cached_key(|status| status.name.to_lowercase()),
            "failed" => listed.sort_by_key(|status| std::cmp::Reverse(standing(status).lacking())),
            "progress" => listed.sort_by_key(|status| standing(status).percent()),
            _ => {}
        }
        listed
    }

    /// The query of another page of the same.
    fn query(&self, page: usize) -> String {
        let mut query = format!("?page={page}");
        for (field, value) in [("phase", &self.phase), ("name", &self.name), ("sort", &self.sort)] {
            if !value.is_empty() {
                query += &format!("&{field}={}", encoded(value));
            }
        }
        query
    }
}

pub(crate) fn whole(visitor: &Visitor, wanted: &Listing, listed: &(Vec<ExperimentStatus>, bool)) -> Markup {
    let number = wanted.number();
    let body = html! {
        h1 { "Experiments" }
        (choice(wanted))
        div data-part="experiments" { (table(wanted, &listed.0)) }
        nav.pages aria-label="Pages" {
            @if number > 1 { a href={ "/" (wanted.query(number - 1)) } rel="prev" { "Previous" } }
            @if listed.1 { a href={ "/" (wanted.query(number + 1)) } rel="next" { "Next" } }
        }
    };
    let live = format!("/live/experiments{}", wanted.query(number));
    page(visitor, Section::Experiments, "Experiments", Some(&live), &body)
}

/// What is asked for, as a form.
fn choice(wanted: &Listing) -> Markup {
    html! {
        form.find role="search" action="/" {
            label {
                "Name"
                input #name name="name" value=(wanted.name) maxlength=(MAX_NAME) autocomplete="off" spellcheck="false";
            }
            label {
                "Phase"
                select #phase name="phase" {
                    option value="" { "any" }
                    @for (word, _) in PHASES { option selected[word == wanted.phase] { (word) } }
                }
            }
            label {
                "Sorted by"
                select #sort name="sort" {
                    @for (word, shown) in ORDERS { option value=(word) selected[word == wanted.sort] { (shown) } }
                }
            }
            button #show { "Show" }
            @if !wanted.is_all() {
                a href="/" { "Show all" }
                span.quiet { "Among the newest " (grouped(LOOKED_EXPERIMENTS.into())) "." }
            }
        }
    }
}

pub(crate) fn table(wanted: &Listing, listed: &[ExperimentStatus]) -> Markup {
    if listed.is_empty() && !wanted.is_all() {
        return html! { p.empty { "No experiment matches." } };
    }
    if listed.is_empty() {
        return html! {
            p.empty { "There is no experiment yet. " code { "speedup submit PLAN" } " submits one." }
        };
    }
    let rows = html! {
        table.list {
            caption.hidden { "Experiments" }
            thead {
                tr {
                    th scope="col" { "Name" }
                    th scope="col" { "Phase" }
                    th scope="col" { "Progress" }
                    th.number.more scope="col" { "Failed" }
                    th.number.more scope="col" { "Lost" }
                    th.more scope="col" { "Submitted" }
                    th.more scope="col" { "By" }
                }
            }
            tbody { @for status in listed { (row(status)) } }
        }
    };
    scrolling("Experiments", &rows)
}

fn row(status: &ExperimentStatus) -> Markup {
    let (id, standing) = (&status.experiment, standing(status));
    html! {
        tr {
            th.name scope="row" { a #{ "e-" (id) } href={ "/experiments/" (id) } { (status.name) }
                @for tag in &status.tags { " " span.quiet { (tag) } }
            }
            td { (phase_badge(status)) }
            td.progress {
                (bar(&standing))
                span.quiet { (grouped(standing.done())) " of " (counted(standing.runs(), "run")) }
                @if standing.lacking() > 0 { strong.bad { ", " (grouped(standing.lacking())) " failed" } }
            }
            td.number.more { (grouped(standing.lacking())) }
            td.number.more { (grouped(u64::from(status.tally.unwrap_or_default().lost_attempts))) }
            td.more { (moment_of(status.submitted.as_ref())) }
            td.more { (status.submitted_by) }
        }
    }
}

#[cfg(test)]
mod tests {
    use speedup_proto::v1::Tally;

    use super::*;

    #[test]
    fn what_is_asked_for_is_chosen_and_sorted() {
        let of = |name: &str, failed| ExperimentStatus {
            name: name.to_owned(),
            tally: Some(Tally { failed, measured: 1, ..Tally::default() }),
            ..ExperimentStatus::default()
        };
        let listed = || vec![of("Sort", 0), of("hash", 2), of("sort-2", 5)];
        let names = |wanted: &Listing| {
            wanted.chosen(listed()).into_iter().map(|status| status.name).collect::<Vec<_>>()
        };
        let by = |sort: &str| Listing { sort: sort.to_owned(), ..Listing::default() };
        assert_eq!(names(&Listing::default()), ["Sort", "hash", "sort-2"]);
        assert_eq!(names(&by("name")), ["hash", "Sort", "sort-2"]);
        assert_eq!(names(&by("failed")), ["sort-2", "hash", "Sort"]);
        assert_eq!(names(&Listing { name: " SORT ".to_owned(), ..by("failed") }), ["sort-2", "Sort"]);
        assert!(names(&Listing { phase: "running".to_owned(), ..Listing::default() }).is_empty());
        let wanted = Listing { name: "a&b".to_owned(), ..by("name") };
        assert_eq!(wanted.query(2), "?page=2&name=a%26b&sort=name");
    }
}
