//! One experiment: how far it is, what may be done about it, what it shows so far, what it measures, and what was done.

use std::time::Duration;

use maud::{Markup, html};
use speedup_access::unix_seconds;
use speedup_proto::convert::known_moment;
use speedup_proto::v1::experiment_status::{Phase, Running};
use speedup_proto::v1::{EventKind, ExperimentStatus, ExportHead, ListEventsResponse};
use speedup_report::roughly;

use super::{
    act, act_with, counted, events, grouped, layout::Section, layout::page, moment, moment_of, plan,
};
use crate::context::Visitor;

/// How often progress is said aloud: in steps of so many percent.
const SAID_PERCENT: u64 = 10;
/// Runs that are done before an estimate of the end is worth telling.
const ENOUGH: u64 = 3;
/// The words of a phase, each with its class.
pub(super) const PHASES: [(&str, &str); 7] = [
    ("running", "active"),
    ("waiting for hosts", "held"),
    ("deciding", "active"),
    ("paused", "held"),
    ("cancelling", "held"),
    ("cancelled", "over"),
    ("finished", "over"),
];

/// How the runs stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    pub(super) waiting: u64,
    pub(super) under_way: u64,
    pub(super) measured: u64,
    pub(super) failed: u64,
    pub(super) abandoned: u64,
    pub(super) cancelled: u64,
}

impl Progress {
    /// Those that will not change any more.
    pub(super) fn done(&self) -> u64 {
        self.measured + self.failed + self.abandoned + self.cancelled
    }

    pub(super) fn runs(&self) -> u64 {
        self.done() + self.waiting + self.under_way
    }

    /// Those without a result that they should have.
    pub(super) fn lacking(&self) -> u64 {
        self.failed + self.abandoned
    }

    fn share(&self, of: u64) -> f64 {
        if self.runs() == 0 { 0.0 } else { 100.0 * of as f64 / self.runs() as f64 }
    }

    pub(super) fn percent(&self) -> u64 {
        if self.runs() == 0 { 0 } else { 100 * self.done() / self.runs() }
    }
}

pub(super) fn standing(status: &ExperimentStatus) -> Progress {
    let tally = status.tally.unwrap_or_default();
    Progress {
        waiting: tally.waiting.into(),
        under_way: u64::from(tally.leased) + u64::from(tally.running),
        measured: tally.measured.into(),
        failed: tally.failed.into(),
        abandoned: tally.abandoned.into(),
        cancelled: tally.cancelled.into(),
    }
}

pub(crate) fn whole(
    visitor: &Visitor,
    status: &ExperimentStatus,
    planned: &ExportHead,
    log: &ListEventsResponse,
) -> Markup {
    let id = &status.experiment;
    let body = html! {
        p.crumb { a href="/" { "Experiments" } }
        h1 { (status.name) }
        p.quiet {
            "Submitted " (moment_of(status.submitted.as_ref())) " by " (status.submitted_by) " · "
            code.id { (id) }
            @for tag in &status.tags { " · " (tag) }
        }
        p #said.hidden role="status" aria-live="polite" data-part="said" { (said(status)) }
        section aria-labelledby="h-progress" {
            div.head {
                h2 #h-progress { "Progress" }
                div.actions data-part="actions" { (actions(visitor, status)) }
            }
            div data-part="progress" { (progress(status, log)) }
        }
        section aria-labelledby="h-report" {
            div.head {
                h2 #h-report { "Report" }
                a href={ "/experiments/" (id) "/report" } { "Whole report" }
            }
            div data-part="report" {
                p.empty.scripted { "The report is being computed…" }
                noscript { p.empty { a href={ "/experiments/" (id) "/report" } { "Show the report as it is now" } } }
            }
        }
        (plan::part(planned))
        section aria-labelledby="h-events" {
            h2 #h-events { "Events" }
            div data-part="events" { (log_of(status, log)) }
            @if !log.next_page_token.is_empty() {
                p.quiet { "Older ones: " code { "speedup events " (id) } }
            }
        }
    };
    page(visitor, Section::Experiments, &status.name, Some(&format!("/live/experiments/{id}")), &body)
}

/// What was done about it.
pub(crate) fn log_of(status: &ExperimentStatus, log: &ListEventsResponse) -> Markup {
    events::table_of(&log.events, &status.experiment)
}

/// How far it is.
pub(crate) fn progress(status: &ExperimentStatus, log: &ListEventsResponse) -> Markup {
    let standing = standing(status);
    let lost = status.tally.unwrap_or_default().lost_attempts;
    let counts = [
        ("Measured", standing.measured, "measured"),
        ("Failed", standing.failed, "failed"),
        ("Abandoned", standing.abandoned, "failed"),
        ("Cancelled", standing.cancelled, "cancelled"),
        ("Under way", standing.under_way, "under-way"),
        ("Waiting", standing.waiting, "waiting"),
    ];
    html! {
        p.lead {
            (phase_badge(status)) " "
            strong { (standing.percent()) "\u{a0}%" } " – "
            (grouped(standing.done())) " of " (counted(standing.runs(), "run")) " done"
            @if status.finished_at.is_none() { ", " (counted(status.hosts_here.into(), "host")) " connected" }
        }
        (bar(&standing))
        (times(status, log))
        dl.counts {
            @for (name, number, class) in counts {
                div { dt { i.dot.(class) {} (name) } dd { (grouped(number)) } }
            }
            div { dt { "Lost attempts" } dd { (grouped(lost.into())) } }
        }
        @if let Some(Phase::Paused(paused)) = &status.phase {
            @if !paused.reason.is_empty() { p { "Paused: " (paused.reason) } }
        }
        @if let Some(Phase::Running(Running { waiting_for_hosts: true })) = &status.phase {
            p {
                "No connected host can take any of its runs: "
                code { "speedup explain " (status.experiment) } " says why."
            }
        }
        @if !status.words.is_empty() { p { (status.words) } }
    }
}

/// When it ended, or may end.
fn times(status: &ExperimentStatus, log: &ListEventsResponse) -> Markup {
    let submitted = known_moment(status.submitted.as_ref()).unwrap_or_default();
    let taken = |until_ns: u64| Duration::from_nanos(until_ns.saturating_sub(submitted.0));
    let now_ns = unix_seconds().saturating_mul(1_000_000_000);
    html! {
        @if let Some(finished) = known_moment(status.finished_at.as_ref()) {
            p { "Finished " (moment(finished.0)) ", after " (roughly(taken(finished.0))) "." }
        } @else if let Some(left) = left(status, taken(now_ns).saturating_sub(paused(log))) {
            p {
                "About " strong { (roughly(left)) } " left at the pace so far: until about "
                (moment(now_ns.saturating_add(u64::try_from(left.as_nanos()).unwrap_or(u64::MAX)))) "."
            }
        }
    }
}

/// How long it will still take where it takes as long per run as it did; `worked` is since the submission, without pauses.
fn left(status: &ExperimentStatus, worked: Duration) -> Option<Duration> {
    let standing = standing(status);
    let open = standing.waiting + standing.under_way;
    let is_running = matches!(status.phase, Some(Phase::Running(Running { waiting_for_hosts: false })));
    let is_known = is_running && standing.done() >= ENOUGH && open > 0;
    is_known.then(|| worked.mul_f64(open as f64 / standing.done() as f64))
}

/// How long it was paused until it was resumed.
fn paused(log: &ListEventsResponse) -> Duration {
    let (mut since, mut paused) = (None, 0);
    for event in log.events.iter().rev() {
        let at = known_moment(event.at.as_ref()).unwrap_or_default().0;
        if event.kind() == EventKind::Paused {
            since = since.or(Some(at));
        } else if let Some(since) = since.take_if(|_| event.kind() == EventKind::Resumed) {
            paused += at.saturating_sub(since);
        }
    }
    Duration::from_nanos(paused)
}

/// What is said aloud: it changes with the phase and in steps, not with each run.
pub(crate) fn said(status: &ExperimentStatus) -> Markup {
    let standing = standing(status);
    let percent = standing.percent() / SAID_PERCENT * SAID_PERCENT;
    html! { (phase(status).0) ", " (percent) " percent of " (counted(standing.runs(), "run")) " done" }
}

/// What may be done, by whom it may.
pub(crate) fn actions(visitor: &Visitor, status: &ExperimentStatus) -> Markup {
    let to = |what: &str| format!("/experiments/{}/{what}", status.experiment);
    if !visitor.may_change(&status.submitted_by) {
        return html! {};
    }
    let pause = html! { (act(visitor, &to("pause"), "pause", "", "Pause")) };
    let resume = html! { (act(visitor, &to("resume"), "resume", "", "Resume")) };
    let cancel = html! {
        details #cancel.menu {
            summary #cancel-ask { "Cancel…" }
            div.sheet {
                p { "Results are kept; waiting runs are never executed. You cannot undo this." }
                (act(visitor, &to("cancel"), "cancel-do", "danger", "Cancel the experiment"))
            }
        }
    };
    let runs = html! {
        label for="extend-runs" { "Further runs of each cell" }
        input #extend-runs type="number" name="runs" min="1" max=(u32::MAX) step="1" inputmode="numeric" required autocomplete="off";
    };
    let extend = html! {
        details #extend.menu {
            summary #extend-ask { "Extend…" }
            div.sheet {
                p { "An experiment that is extended after its first results were seen is no longer the one that was planned: its report says so." }
                (act_with(visitor, &to("extend"), "extend-do", "", "Extend the experiment", &runs))
            }
        }
    };
    match &status.phase {
        Some(Phase::Running(_) | Phase::Deciding(_)) => html! { (pause) (extend) (cancel) },
        Some(Phase::Paused(_)) => html! { (resume) (extend) (cancel) },
        Some(Phase::Cancelling(_) | Phase::Finished(_)) | None => html! {},
    }
}

/// The word of a phase, and its class.
pub(super) fn phase(status: &ExperimentStatus) -> (&'static str, &'static str) {
    let [running, waiting, deciding, paused, cancelling, cancelled, finished] = PHASES;
    match &status.phase {
        Some(Phase::Running(Running { waiting_for_hosts: true })) => waiting,
        Some(Phase::Running(_)) => running,
        Some(Phase::Deciding(_)) => deciding,
        Some(Phase::Paused(_)) => paused,
        Some(Phase::Cancelling(_)) => cancelling,
        Some(Phase::Finished(of)) if of.cancelled => cancelled,
        Some(Phase::Finished(_)) => finished,
        None => ("unknown", "over"),
    }
}

pub(super) fn phase_badge(status: &ExperimentStatus) -> Markup {
    let (word, class) = phase(status);
    html! { span.badge.(class) { (word) } }
}

/// Progress as a bar. Its parts are told beside it, so it is no picture to read.
pub(super) fn bar(standing: &Progress) -> Markup {
    let parts = [
        (standing.measured, "measured"),
        (standing.failed + standing.abandoned, "failed"),
        (standing.cancelled, "cancelled"),
        (standing.under_way, "under-way"),
    ];
    let mut from = 0.0;
    let parts = parts.map(|(number, class)| {
        let (x, width) = (from, standing.share(number));
        from += width;
        (x, width, class)
    });
    html! {
        svg.bar viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true" focusable="false" {
            rect.waiting width="100" height="1" {}
            @for (x, width, class) in parts {
                @if width > 0.0 {
                    rect class=(class) x=(format!("{x:.3}")) width=(format!("{width:.3}")) height="1" {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use speedup_proto::{convert::timestamp_of_seconds, v1::LoggedEvent, v1::Tally};

    use super::*;

    #[test]
    fn a_pause_is_not_slowness() {
        let event = |kind: EventKind, second: u64| LoggedEvent {
            at: Some(timestamp_of_seconds(second)),
            kind: kind.into(),
            ..LoggedEvent::default()
        };
        // The newest first.
        let events = vec![
            event(EventKind::Resumed, 90),
            event(EventKind::Paused, 70),
            event(EventKind::Resumed, 30),
            event(EventKind::Paused, 20),
            event(EventKind::Submitted, 10),
        ];
        let log = ListEventsResponse { events, ..ListEventsResponse::default() };
        assert_eq!(paused(&log), Duration::from_secs(30));
        let tally = Tally { waiting: 20, measured: 9, failed: 1, ..Tally::default() };
        let status = ExperimentStatus {
            tally: Some(tally),
            phase: Some(Phase::Running(Running::default())),
            ..ExperimentStatus::default()
        };
        assert_eq!(left(&status, Duration::from_secs(30)), Some(Duration::from_secs(60)));
        assert_eq!(left(&ExperimentStatus { phase: None, ..status }, Duration::from_secs(30)), None);
    }
}
