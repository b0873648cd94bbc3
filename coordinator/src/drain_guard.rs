//! The drain guard: no deadline takes an attempt, a visit or its place from a host before the messages that wait on the
//! host's connection are drained.
//!
//! A coordinator that stood still (stopped, swapped out, a paused machine) finds on waking that deadlines have passed and
//! that messages wait on its sockets, and nothing says which it sees first. So a loss that is due is never applied at once.
//! Usually the delay is short. When the coordinator woke much later than it asked to, it stood still, and connections may
//! have broken meanwhile: then, as after a start, no loss is applied for the time that a host has to come back.
//!
//! Pure: the moment is an argument.

use std::time::{Duration, Instant};

/// How long messages are drained before a loss that is due: those that have arrived are read within milliseconds, also
/// those of ten thousand hosts within this.
const DRAIN: Duration = Duration::from_secs(1);
/// How much later than asked a process may wake up that did not stand still. A busy machine makes it late by milliseconds.
const LATE: Duration = Duration::from_secs(1);
/// How long the owner sleeps at most while something has a deadline: what it sleeps longer than this is noticed as standing
/// still. Connections break after half a minute.
const BEAT: Duration = Duration::from_secs(10);

/// Decides when a deadline may take something from a host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DrainGuard {
    /// How long a host has to come back.
    grace: Duration,
    /// When the owner is to wake up.
    wake_at: Option<Instant>,
    /// No loss is applied before.
    until: Option<Instant>,
}

impl DrainGuard {
    /// At the start, hosts have the grace to come back: nobody was heard while the coordinator was away.
    pub(crate) fn new(now: Instant, grace: Duration) -> Self {
        Self { grace, wake_at: None, until: Some(now + grace) }
    }

    /// Returns when to wake up, for the next loss and the next rest of the machine. A loss that is due waits until messages are
    /// drained, and no rest waits with it.
    pub(crate) fn wake(
        &mut self,
        now: Instant,
        loss: Option<Instant>,
        rest: Option<Instant>,
    ) -> Option<Instant> {
        let loss = match (loss, self.until) {
            (Some(loss), Some(until)) if loss <= now => Some(until),
            (loss, _) => loss,
        };
        self.wake_at = [loss, rest].into_iter().flatten().min().map(|at| at.min(now + BEAT));
        self.wake_at
    }

    /// Records a wake-up, for whatever reason. Returns the minimum length of a standstill, if there was one.
    pub(crate) fn woke(&mut self, now: Instant) -> Option<Duration> {
        let late = now.saturating_duration_since(self.wake_at.take()?);
        if late <= LATE {
            return None;
        }
        self.until = Some(now + self.grace.max(DRAIN));
        Some(late)
    }

    /// Whether a loss due at `due` may be applied: all messages that had arrived by then have been read since.
    pub(crate) fn may_apply(&mut self, now: Instant, due: Instant) -> bool {
        match self.until {
            Some(until) if now < until => false,
            Some(until) if due <= until => {
                self.until = None;
                true
            }
            Some(_) | None => {
                self.until = Some(now + DRAIN);
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(60);
    const MS: Duration = Duration::from_millis(1);

    /// A guard that was asked to wake at a loss, and when that is due.
    fn asleep() -> (DrainGuard, Instant) {
        let (mut guard, now) = (DrainGuard { grace: GRACE, wake_at: None, until: None }, Instant::now());
        let due = now + Duration::from_secs(5);
        assert_eq!(guard.wake(now, Some(due), None), Some(due));
        (guard, due)
    }

    #[test]
    fn a_loss_is_heard_first() {
        let (mut guard, due) = asleep();
        assert_eq!(guard.woke(due + MS), None);
        assert!(!guard.may_apply(due, due));
        let heard = due + DRAIN;
        assert_eq!(guard.wake(due + MS, Some(due), None), Some(heard));
        assert!(!guard.may_apply(heard - MS, due) && guard.may_apply(heard, due));
        assert!(!guard.may_apply(heard, due), "the next loss waits for a drain of its own");
    }

    #[test]
    fn after_standing_still_hosts_have_the_time_to_come_back() {
        let (mut guard, due) = asleep();
        let woke = due + Duration::from_secs(75);
        assert_eq!(guard.woke(woke), Some(Duration::from_secs(75)));
        assert!(!guard.may_apply(woke, due));
        let mut now = woke;
        while let Some(next) = guard.wake(now, Some(due), None).filter(|next| *next < woke + GRACE) {
            assert_eq!(next, now + BEAT, "it wakes now and then, to notice the next standstill");
            now = next;
            assert_eq!(guard.woke(now), None);
            assert!(!guard.may_apply(now, due));
        }
        assert!(guard.may_apply(woke + GRACE, due), "who has not come back by then is gone");
    }

    #[test]
    fn after_a_start_hosts_have_the_time_to_come_back() {
        let now = Instant::now();
        let mut guard = DrainGuard::new(now, GRACE);
        assert!(!guard.may_apply(now + GRACE - MS, now) && guard.may_apply(now + GRACE, now));
        let mut guard = DrainGuard::new(now, GRACE);
        let later = now + 2 * GRACE;
        assert!(!guard.may_apply(later, later), "that time is no drain for what came due after it");
    }

    #[test]
    fn no_rest_waits_for_the_drain_before_a_loss() {
        let start = Instant::now();
        let mut guard = DrainGuard::new(start, GRACE);
        let (now, rested) = (start + MS, start + Duration::from_secs(3));
        assert_eq!(guard.wake(now, Some(start), Some(rested)), Some(rested));
        assert_eq!(
            guard.wake(now, Some(start), Some(start)),
            Some(start),
            "a message came first when it was due"
        );
        assert_eq!(guard.wake(now, None, Some(start)), Some(start));
        assert!(!guard.may_apply(rested, start), "the loss still waits");
    }

    #[test]
    fn a_standstill_is_noticed_whatever_wakes_and_whenever_the_deadline_is() {
        let now = Instant::now();
        let mut guard = DrainGuard::new(now, GRACE);
        let far = now + Duration::from_secs(3_600);
        assert_eq!(guard.wake(now, Some(far), None), Some(now + BEAT));
        assert!(guard.woke(now + Duration::from_secs(40)).is_some());
        assert_eq!(guard.wake(now, None, None), None, "without a deadline there is nothing to lose");
        assert!(guard.woke(far).is_none());
    }
}
