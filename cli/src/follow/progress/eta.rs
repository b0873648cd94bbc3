//! How long it will still take: as long per run as since we began to watch.

use std::time::{Duration, Instant};

use speedup_proto::convert::{ExperimentStatus, StatusPhase};

/// Runs settled before an estimate is worth telling.
const ENOUGH: u32 = 3;

/// From when the pace is taken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Eta {
    /// When the runs were last seen to begin or go on, and how many were settled then.
    since: Option<(Instant, u32)>,
}

impl Eta {
    /// How long it will still take, when that can be said.
    pub(crate) fn left(&mut self, now: Instant, status: &ExperimentStatus) -> Option<Duration> {
        let (settled, open) = (status.tally.settled(), status.tally.open());
        if status.phase != StatusPhase::Running {
            // The pause must not count as slowness.
            self.since = None;
            return None;
        }
        let (since, before) = *self.since.get_or_insert((now, settled));
        let done = settled.saturating_sub(before);
        if done < ENOUGH || open == 0 {
            return None;
        }
        Some(now.duration_since(since).mul_f64(f64::from(open) / f64::from(done)))
    }
}

#[cfg(test)]
mod tests {
    use speedup_core::machine::event::Tally;

    use super::*;
    use crate::exit::standing::tests::status;

    fn at(measured: u32) -> ExperimentStatus {
        let tally = Tally { waiting: 60 - measured, measured, ..Tally::default() };
        ExperimentStatus { tally, ..status() }
    }

    #[test]
    fn the_pace_is_that_since_we_watch() {
        let (mut eta, start) = (Eta::default(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(eta.left(start, &at(30)), None);
        assert_eq!(eta.left(after(1), &at(31)), None);
        assert_eq!(eta.left(after(10), &at(40)), Some(Duration::from_secs(20)));
        assert_eq!(eta.left(after(30), &at(60)), None);
    }

    #[test]
    fn a_pause_begins_anew() {
        let (mut eta, start) = (Eta::default(), Instant::now());
        eta.left(start, &at(0));
        let paused = StatusPhase::Paused { reason: String::new() };
        eta.left(start, &ExperimentStatus { phase: paused, ..at(10) });
        assert_eq!(eta.left(start + Duration::from_secs(5), &at(20)), None);
    }
}
