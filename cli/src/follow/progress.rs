//! Progress, where it is watched: a bar on a terminal, plain lines elsewhere. Nothing is drawn but on an event: the
//! client may share its machine with an agent that measures, and a steady tick would be noise.

mod bar;
mod cell_eta;
mod eta;

use std::{mem::discriminant, time::Duration, time::Instant};

use speedup_core::value::id::ExperimentId;
use speedup_proto::convert::{ExperimentStatus, StatusPhase};

use crate::connection::selector;
use crate::console::render::counted;
use crate::console::{Console, moment};
use crate::exit::standing;
use bar::Bar;
use cell_eta::CellEta;
pub(crate) use eta::Eta;

/// Where the runs are carried out, seen from who watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunPlace {
    /// On this very machine: the one host needs no count, and only what is settled is worth a line.
    Here,
    /// On the hosts of a pool.
    Pool,
}

/// How long an experiment will still take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeLeft {
    /// Nothing is said of it.
    Untold,
    /// It cannot be said yet.
    Unknown,
    About(Duration),
}

/// From what that is estimated.
#[derive(Debug)]
enum Pace {
    /// The runs of each cell.
    OfCells(CellEta),
    OfAll(Eta),
}

/// Shows how an experiment goes on.
#[derive(Debug)]
pub(crate) struct Progress<'a> {
    console: &'a Console,
    place: RunPlace,
    pace: Pace,
    shown: Option<String>,
    paused: bool,
    form: Form,
}

#[derive(Debug)]
enum Form {
    Bar(Bar),
    Lines(Lines),
}

impl<'a> Progress<'a> {
    /// Of a pool: a bar on a terminal, lines elsewhere.
    pub(crate) fn for_pool(console: &'a Console) -> Self {
        Self::new(console, RunPlace::Pool, Pace::OfAll(Eta::default()))
    }

    /// The same of this machine, for a plan with this order of cells.
    pub(crate) fn here(console: &'a Console, order: Vec<u32>) -> Self {
        Self::new(console, RunPlace::Here, Pace::OfCells(CellEta::new(order)))
    }

    fn new(console: &'a Console, place: RunPlace, pace: Pace) -> Self {
        let form = if console.interactive { Form::Bar(Bar::new()) } else { Form::Lines(Lines::default()) };
        Self { console, place, pace, shown: None, paused: false, form }
    }

    /// Shows a status, if it differs in what is shown.
    pub(crate) fn show(&mut self, status: &ExperimentStatus) {
        self.paused = matches!(status.phase, StatusPhase::Paused { .. });
        let key = sentence(self.place, status, TimeLeft::Untold);
        if self.shown.as_ref() == Some(&key) {
            return;
        }
        self.shown = Some(key);
        let left = match &mut self.pace {
            Pace::OfCells(eta) => eta.left(Instant::now(), status),
            Pace::OfAll(eta) => eta.left(Instant::now(), status).map_or(TimeLeft::Untold, TimeLeft::About),
        };
        let sentence = sentence(self.place, status, left);
        match &mut self.form {
            Form::Bar(bar) => bar.draw(&status.tally, sentence),
            Form::Lines(lines) => {
                if lines.is_due(status) {
                    self.console.talk(format_args!("{} {sentence}", moment::time_of_day()));
                }
            }
        }
    }

    /// Whether the experiment was paused when it was shown last.
    pub(crate) const fn is_paused(&self) -> bool {
        self.paused
    }

    pub(crate) fn say(&self, text: &str) {
        match &self.form {
            Form::Bar(bar) => bar.step_aside(|| self.console.talk(text)),
            Form::Lines(_) => self.console.talk(text),
        }
    }

    /// Ends; what was shown last stays.
    pub(crate) fn end(&self) {
        match &self.form {
            Form::Bar(bar) => bar.end(),
            Form::Lines(_) => {}
        }
    }
}

pub(crate) fn sentence(place: RunPlace, status: &ExperimentStatus, left: TimeLeft) -> String {
    let mut text = standing::tally(&status.tally);
    if place == RunPlace::Pool && status.tally.open() > 0 {
        let at_work = status.tally.leased + status.tally.running;
        text += &format!(", {at_work} in progress, {} connected", counted(status.hosts_here.into(), "host"));
    }
    match &status.phase {
        StatusPhase::WaitingForHosts if place == RunPlace::Pool => {
            text += &format!("; waiting for hosts: {}", why_waiting(status.experiment));
        }
        StatusPhase::Running | StatusPhase::WaitingForHosts => {}
        StatusPhase::Paused { reason } => text += &format!("; {reason}"),
        StatusPhase::Deciding => text += "; looking at the results",
        StatusPhase::Cancelling => text += "; cancelled, runs in progress finish",
        StatusPhase::Finished { cancelled: true, .. } if !status.words.is_empty() => {
            text += &format!("; cancelled: {}", status.words);
        }
        StatusPhase::Finished { cancelled: true, .. } => text += "; cancelled",
        StatusPhase::Finished { cancelled: false, .. } => text += "; finished",
    }
    match left {
        TimeLeft::Untold => {}
        TimeLeft::Unknown => text += ", time left unknown",
        TimeLeft::About(left) => text += &format!(", about {} left", moment::roughly(left)),
    }
    text
}

/// What says why an experiment waits for hosts.
pub(crate) fn why_waiting(experiment: ExperimentId) -> String {
    format!("`speedup explain {}` says why", selector::short(experiment))
}

/// Lines of a whole experiment without pauses.
const LINES: u64 = 10;

/// What the last plain line told. A line is due at every tenth of the runs, and at every change of phase.
#[derive(Clone, Debug, Default)]
struct Lines {
    last: Option<(u64, StatusPhase)>,
}

impl Lines {
    /// Whether a line is due, which then counts as told.
    fn is_due(&mut self, status: &ExperimentStatus) -> bool {
        let (settled, runs) = (u64::from(status.tally.settled()), u64::from(status.tally.runs()));
        let tenth = settled * LINES / runs.max(1);
        let due = match &self.last {
            None => true,
            Some((last, phase)) => *last != tenth || discriminant(phase) != discriminant(&status.phase),
        };
        if due {
            self.last = Some((tenth, status.phase.clone()));
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use speedup_core::machine::event::Tally;

    use super::*;
    use crate::exit::standing::tests::status;

    fn told(place: RunPlace, tally: Tally, phase: StatusPhase) -> String {
        sentence(place, &ExperimentStatus { tally, phase, ..status() }, TimeLeft::Untold)
    }

    #[test]
    fn a_pool_tells_who_works_and_one_machine_does_not() {
        let tally = Tally { waiting: 57, running: 1, leased: 1, measured: 1, ..Tally::default() };
        let text = told(RunPlace::Pool, tally, StatusPhase::Running);
        assert!(text.contains("1/60 ") && text.contains(" 2 in progress, 3 hosts"), "{text}");
        assert!(!told(RunPlace::Here, tally, StatusPhase::Running).contains("hosts"));
        let stuck = Tally { waiting: 48, measured: 12, ..Tally::default() };
        let text = told(RunPlace::Pool, stuck, StatusPhase::WaitingForHosts);
        assert!(text.contains("12/60 ") && text.contains("`speedup explain 0193a5b2-7c3d`"), "{text}");
    }

    #[test]
    fn phases_are_told_in_words() {
        let paused = StatusPhase::Paused { reason: "paused by ada".to_owned() };
        let tally = Tally { waiting: 60, ..Tally::default() };
        assert!(told(RunPlace::Here, tally, paused).ends_with("; paused by ada"));
        assert!(told(RunPlace::Here, tally, StatusPhase::Cancelling).contains("runs in progress"));
    }

    fn at(measured: u32, runs: u32) -> ExperimentStatus {
        let tally = Tally { waiting: runs - measured, measured, ..Tally::default() };
        ExperimentStatus { tally, ..status() }
    }

    #[test]
    fn a_thousand_runs_make_eleven_lines() {
        let mut lines = Lines::default();
        assert_eq!((0..=1_000).filter(|done| lines.is_due(&at(*done, 1_000))).count(), 11);
    }

    #[test]
    fn a_change_of_phase_makes_a_line() {
        let mut lines = Lines::default();
        assert!(lines.is_due(&at(1, 60)) && !lines.is_due(&at(2, 60)));
        let paused = StatusPhase::Paused { reason: "paused by ada".to_owned() };
        assert!(lines.is_due(&ExperimentStatus { phase: paused, ..at(2, 60) }));
        assert!(lines.is_due(&at(2, 60)));
    }
}
