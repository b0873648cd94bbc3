//! The experiments, newest first, in pages.

use maud::{Markup, html};
use speedup_proto::v1::ExperimentStatus;

use super::experiment::{bar, phase_badge, standing};
use super::layout::{Section, page};
use super::moment::moment;
use super::{counted, grouped, id_text, scrolling};
use crate::visitor::Visitor;

/// The whole page.
pub(crate) fn whole(visitor: &Visitor, number: usize, listed: &(Vec<ExperimentStatus>, bool)) -> Markup {
    let live = format!("/live/experiments?page={number}");
    let body = html! {
        h1 { "Experiments" }
        div data-part="experiments" { (table(&listed.0)) }
        nav.pages aria-label="Pages" {
            @if number > 1 { a href={ "/?page=" (number - 1) } rel="prev" { "Newer" } }
            @if listed.1 { a href={ "/?page=" (number + 1) } rel="next" { "Older" } }
        }
    };
    page(visitor, Section::Experiments, "Experiments", Some(&live), &body)
}

/// The table of a page.
pub(crate) fn table(listed: &[ExperimentStatus]) -> Markup {
    if listed.is_empty() {
        return html! {
            p.empty { "There is no experiment yet. " code { "speedup submit PLAN" } " submits one." }
        };
    }
    let rows = html! {
        table {
            caption.hidden { "Experiments, the newest first" }
            thead {
                tr {
                    th scope="col" { "Name" }
                    th scope="col" { "Phase" }
                    th scope="col" { "Progress" }
                    th.number scope="col" { "Failed" }
                    th.number scope="col" { "Lost" }
                    th scope="col" { "Submitted" }
                    th scope="col" { "By" }
                }
            }
            tbody { @for status in listed { (row(status)) } }
        }
    };
    scrolling("Experiments", &rows)
}

fn row(status: &ExperimentStatus) -> Markup {
    let (id, standing) = (id_text(&status.experiment), standing(status));
    html! {
        tr {
            th scope="row" { a #{ "e-" (id) } href={ "/experiments/" (id) } { (status.name) } }
            td { (phase_badge(status)) }
            td.progress {
                (bar(&standing))
                span.quiet { (grouped(standing.done())) " of " (counted(standing.runs(), "run")) }
            }
            td.number { (grouped(standing.failed)) }
            td.number { (grouped(u64::from(status.tally.unwrap_or_default().lost_attempts))) }
            td { (moment(status.submitted_ns)) }
            td { (status.submitted_by) }
        }
    }
}
