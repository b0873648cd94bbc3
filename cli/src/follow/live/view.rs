//! What is known of the experiment, and where one looks.

use std::time::Duration;

use speedup_core::value::id::ExperimentId;
use speedup_proto::convert::ExperimentStatus;

use super::{estimates::Estimates, pool::Pool};

/// What is known, as it came last.
#[derive(Debug)]
pub(super) struct View {
    pub(super) experiment: ExperimentId,
    pub(super) status: Option<ExperimentStatus>,
    /// How long it still takes, where that can be said.
    pub(super) left: Option<Duration>,
    /// Why the coordinator does not answer.
    pub(super) away: Option<String>,
    /// Why it waits for hosts, where it does and that is known.
    pub(super) why: String,
    /// What the hosts do.
    pub(super) pool: Pool,
    /// What it shows so far.
    pub(super) estimates: Estimates,
    /// Where the keys that scroll act.
    pub(super) focus: Pane,
    /// The first line of each pane that is seen, and how many are.
    pub(super) windows: [Window; 2],
}

/// A part of the screen that scrolls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pane {
    Hosts,
    /// What is shown so far.
    Estimates,
}

/// The lines of a pane that are seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) top: usize,
    pub(super) rows: usize,
}

/// Where to look next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScrollStep {
    Up,
    Down,
    /// As many lines up as are seen.
    PageUp,
    /// As many lines down as are seen.
    PageDown,
    Home,
    End,
    Other,
}

impl Window {
    /// The window of so many rows that stays within `lines`.
    pub(super) fn within(self, rows: usize, lines: usize) -> Self {
        Self { top: self.top.min(lines.saturating_sub(rows)), rows }
    }
}

impl View {
    /// Nothing is known yet.
    pub(super) fn new(experiment: ExperimentId) -> Self {
        Self {
            experiment,
            status: None,
            left: None,
            away: None,
            why: String::new(),
            pool: Pool::default(),
            estimates: Estimates::Awaited,
            focus: Pane::Hosts,
            windows: [Window::default(); 2],
        }
    }

    /// Takes a status, and how long the rest takes.
    pub(super) fn take_status(&mut self, status: ExperimentStatus, left: Option<Duration>) {
        (self.status, self.left, self.away) = (Some(status), left, None);
    }

    /// Takes note that the coordinator does not answer.
    pub(super) fn take_away(&mut self, why: String) {
        self.away = Some(why);
    }

    pub(super) fn take_why(&mut self, why: String) {
        self.why = why;
    }

    pub(super) fn take_pool(&mut self, pool: Pool) {
        self.pool = pool;
    }

    pub(super) fn take_estimates(&mut self, estimates: Estimates) {
        self.estimates = estimates;
    }

    /// Looks elsewhere. What is beyond the end is brought back when the screen is laid out.
    pub(super) fn look(&mut self, look: ScrollStep) {
        let window = &mut self.windows[self.focus as usize];
        let page = window.rows.max(1);
        window.top = match look {
            ScrollStep::Up => window.top.saturating_sub(1),
            ScrollStep::Down => window.top.saturating_add(1),
            ScrollStep::PageUp => window.top.saturating_sub(page),
            ScrollStep::PageDown => window.top.saturating_add(page),
            ScrollStep::Home => 0,
            ScrollStep::End => usize::MAX,
            ScrollStep::Other => {
                self.focus = match self.focus {
                    Pane::Hosts => Pane::Estimates,
                    Pane::Estimates => Pane::Hosts,
                };
                return;
            }
        };
    }
}
