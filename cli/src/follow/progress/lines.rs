//! When a plain line is due: at every tenth of the runs, and at every change of phase.

use std::mem::discriminant;

use speedup_proto::convert::{ExperimentStatus, StatusPhase};

/// Lines of a whole experiment without pauses.
const LINES: u64 = 10;

/// What the last line told.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    last: Option<(u64, StatusPhase)>,
}

impl Lines {
    /// Whether a line is due, which then counts as told.
    pub(super) fn is_due(&mut self, status: &ExperimentStatus) -> bool {
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
