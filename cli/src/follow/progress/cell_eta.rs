//! How long it will still take on this machine, which executes the runs one after another in the plan's order: of each cell the
//! runs that are left, each as long as its runs so far took with all that is around them.

use std::time::{Duration, Instant};

use speedup_proto::convert::{ExperimentStatus, StatusPhase};

use super::TimeLeft;

/// What the runs of each cell took.
#[derive(Clone, Debug)]
pub(super) struct CellEta {
    /// The cell of each run, in the plan's order.
    order: Vec<u32>,
    /// Of each cell the time of its settled runs, and how many they were.
    spent: Vec<(Duration, u32)>,
    /// When the last of the settled runs was seen to be settled, and how many they are.
    since: Option<(Instant, u32)>,
}

impl CellEta {
    pub(super) fn new(order: Vec<u32>) -> Self {
        let cells = order.iter().max().map_or(0, |most| *most as usize + 1);
        Self { order, spent: vec![(Duration::ZERO, 0); cells], since: None }
    }

    /// How long it will still take; unknown until a run of each cell was seen.
    pub(super) fn left(&mut self, now: Instant, status: &ExperimentStatus) -> TimeLeft {
        if status.phase != StatusPhase::Running {
            // The pause must not count as slowness.
            self.since = None;
            return TimeLeft::Untold;
        }
        let settled = status.tally.settled();
        let (since, before) = *self.since.get_or_insert((now, settled));
        if settled > before {
            self.since = Some((now, settled));
            self.take(before, settled, now.duration_since(since));
        }
        if status.tally.open() == 0 {
            TimeLeft::Untold
        } else {
            self.time_of_rest(settled, status.tally.runs())
        }
    }

    /// Several runs that were settled between two looks share the time between them.
    fn take(&mut self, before: u32, settled: u32, took: Duration) {
        let each = took / (settled - before);
        let runs = self.order.iter().take(settled as usize).skip(before as usize);
        for cell in runs {
            let (time, runs) = &mut self.spent[*cell as usize];
            (*time, *runs) = (*time + each, *runs + 1);
        }
    }

    fn time_of_rest(&self, settled: u32, runs: u32) -> TimeLeft {
        let means: Option<Vec<Duration>> =
            self.spent.iter().map(|(time, runs)| time.checked_div(*runs)).collect();
        let Some(means) = means.filter(|means| !means.is_empty()) else { return TimeLeft::Unknown };
        let rest: Duration = self.order.iter().skip(settled as usize).map(|cell| means[*cell as usize]).sum();
        // A rule appends as many runs of one cell as of another, or nearly so.
        let appended = runs.saturating_sub(self.order.len() as u32);
        let mean = means.iter().sum::<Duration>() / means.len() as u32;
        TimeLeft::About(rest + mean * appended)
    }
}

#[cfg(test)]
mod tests {
    use speedup_core::machine::event::Tally;

    use super::*;
    use crate::exit::standing::tests::status;

    fn at(measured: u32) -> ExperimentStatus {
        let tally = Tally { waiting: 6 - measured, measured, ..Tally::default() };
        ExperimentStatus { tally, ..status() }
    }

    #[test]
    fn what_is_left_is_told_by_cell_once_each_has_a_run() {
        // The second cell is slow, and most of it comes last.
        let (mut eta, start) = (CellEta::new(vec![0, 0, 1, 0, 1, 1]), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(eta.left(start, &at(0)), TimeLeft::Unknown);
        assert_eq!(eta.left(after(1), &at(1)), TimeLeft::Unknown, "the second cell has none");
        assert_eq!(eta.left(after(2), &at(2)), TimeLeft::Unknown);
        assert_eq!(eta.left(after(12), &at(3)), TimeLeft::About(Duration::from_secs(1 + 10 + 10)));
        assert_eq!(eta.left(after(13), &at(4)), TimeLeft::About(Duration::from_secs(20)));
        assert_eq!(eta.left(after(40), &at(6)), TimeLeft::Untold, "nothing is left");
    }

    #[test]
    fn a_pause_and_what_was_measured_before_are_no_runs_of_this_command() {
        let (mut eta, start) = (CellEta::new(vec![0, 1, 0, 1, 0, 1]), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        // Two were settled before it was resumed.
        assert_eq!(eta.left(start, &at(2)), TimeLeft::Unknown);
        assert_eq!(eta.left(after(1), &at(3)), TimeLeft::Unknown);
        let paused = StatusPhase::Paused { reason: String::new() };
        assert_eq!(eta.left(after(2), &ExperimentStatus { phase: paused, ..at(3) }), TimeLeft::Untold);
        assert_eq!(eta.left(after(100), &at(3)), TimeLeft::Unknown);
        assert_eq!(eta.left(after(103), &at(4)), TimeLeft::About(Duration::from_secs(1 + 3)));
    }

    #[test]
    fn runs_between_two_looks_share_the_time_and_appended_ones_are_like_the_rest() {
        let (mut eta, start) = (CellEta::new(vec![0, 1]), Instant::now());
        eta.left(start, &at(0));
        let four = Duration::from_secs(4);
        // Six runs are planned, two of them with a known place.
        assert_eq!(eta.left(start + four / 2, &at(2)), TimeLeft::About(four));
    }
}
