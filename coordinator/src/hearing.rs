//! The hearing: before time takes an attempt, a visit or its place from a host, what waits on its connection is heard.
//!
//! A coordinator that stood still (stopped, swapped out, a paused machine) finds on waking that deadlines have passed and
//! that messages wait on its sockets, and nothing says which it sees first. So what is due is never taken at the first look.
//! Usually the hearing is short. When the coordinator woke much later than it asked to, it stood still, and connections may
//! have broken meanwhile: then, as after a start, nothing is taken for the time that a host has to come back.
//!
//! Pure: the moment is an argument.

use std::time::{Duration, Instant};

/// How long is heard before something that is due is taken: messages that have arrived are read within milliseconds, also
/// those of ten thousand hosts within this.
const HEARING: Duration = Duration::from_secs(1);
/// How much later than asked a process may wake up that did not stand still. A busy machine makes it late by milliseconds.
const LATE: Duration = Duration::from_secs(1);
/// How long the owner sleeps at most while something has a deadline: what it sleeps longer than this is noticed as standing
/// still. Connections break after half a minute.
const BEAT: Duration = Duration::from_secs(10);

/// When time may take something from hosts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hearing {
    /// How long a host has to come back.
    grace: Duration,
    /// When it was asked to wake up.
    asked: Option<Instant>,
    /// Nothing is taken before.
    until: Option<Instant>,
}

impl Hearing {
    /// At the start, with the time that a host has to come back: nobody was heard while the coordinator was away.
    pub(crate) fn new(now: Instant, grace: Duration) -> Self {
        Self { grace, asked: None, until: Some(now + grace) }
    }

    /// When to wake up, for the next loss and the next rest of the machine. A loss that is due waits for its hearing, and
    /// no rest waits with it.
    pub(crate) fn wake(
        &mut self,
        now: Instant,
        loss: Option<Instant>,
        rest: Option<Instant>,
    ) -> Option<Instant> {
        let heard = loss.map(|loss| self.until.filter(|_| loss <= now).unwrap_or(loss));
        self.asked = [heard, rest].into_iter().flatten().min().map(|at| at.min(now + BEAT));
        self.asked
    }

    /// Takes note of waking up, for whatever reason; says for how long at least it stood still, if it did.
    pub(crate) fn woke(&mut self, now: Instant) -> Option<Duration> {
        let late = now.saturating_duration_since(self.asked.take()?);
        if late <= LATE {
            return None;
        }
        self.until = Some(now + self.grace.max(HEARING));
        Some(late)
    }

    /// Whether a loss that was due at `due` may be taken now: it was heard since whether it is one.
    pub(crate) fn may_take(&mut self, now: Instant, due: Instant) -> bool {
        match self.until {
            Some(until) if now < until => false,
            Some(until) if due <= until => {
                self.until = None;
                true
            }
            Some(_) | None => {
                self.until = Some(now + HEARING);
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

    /// A hearing that was asked to wake at a loss, and when that is due.
    fn asleep() -> (Hearing, Instant) {
        let (mut hearing, now) = (Hearing { grace: GRACE, asked: None, until: None }, Instant::now());
        let due = now + Duration::from_secs(5);
        assert_eq!(hearing.wake(now, Some(due), None), Some(due));
        (hearing, due)
    }

    #[test]
    fn a_loss_is_heard_first() {
        let (mut hearing, due) = asleep();
        assert_eq!(hearing.woke(due + MS), None);
        assert!(!hearing.may_take(due, due));
        let heard = due + HEARING;
        assert_eq!(hearing.wake(due + MS, Some(due), None), Some(heard));
        assert!(!hearing.may_take(heard - MS, due) && hearing.may_take(heard, due));
        assert!(!hearing.may_take(heard, due), "the next loss has a hearing of its own");
    }

    #[test]
    fn after_standing_still_hosts_have_the_time_to_come_back() {
        let (mut hearing, due) = asleep();
        let woke = due + Duration::from_secs(75);
        assert_eq!(hearing.woke(woke), Some(Duration::from_secs(75)));
        assert!(!hearing.may_take(woke, due));
        let mut now = woke;
        while let Some(next) = hearing.wake(now, Some(due), None).filter(|next| *next < woke + GRACE) {
            assert_eq!(next, now + BEAT, "it wakes now and then, to notice the next standstill");
            now = next;
            assert_eq!(hearing.woke(now), None);
            assert!(!hearing.may_take(now, due));
        }
        assert!(hearing.may_take(woke + GRACE, due), "who has not come back by then is gone");
    }

    #[test]
    fn after_a_start_hosts_have_the_time_to_come_back() {
        let now = Instant::now();
        let mut hearing = Hearing::new(now, GRACE);
        assert!(!hearing.may_take(now + GRACE - MS, now) && hearing.may_take(now + GRACE, now));
        let mut hearing = Hearing::new(now, GRACE);
        let later = now + 2 * GRACE;
        assert!(!hearing.may_take(later, later), "that time is no hearing of what came due after it");
    }

    #[test]
    fn no_rest_waits_for_the_hearing_of_a_loss() {
        let start = Instant::now();
        let mut hearing = Hearing::new(start, GRACE);
        let (now, rested) = (start + MS, start + Duration::from_secs(3));
        assert_eq!(hearing.wake(now, Some(start), Some(rested)), Some(rested));
        assert_eq!(
            hearing.wake(now, Some(start), Some(start)),
            Some(start),
            "a message came first when it was due"
        );
        assert_eq!(hearing.wake(now, None, Some(start)), Some(start));
        assert!(!hearing.may_take(rested, start), "the loss still waits");
    }

    #[test]
    fn a_standstill_is_noticed_whatever_wakes_and_whenever_the_deadline_is() {
        let now = Instant::now();
        let mut hearing = Hearing::new(now, GRACE);
        let far = now + Duration::from_secs(3_600);
        assert_eq!(hearing.wake(now, Some(far), None), Some(now + BEAT));
        assert!(hearing.woke(now + Duration::from_secs(40)).is_some());
        assert_eq!(hearing.wake(now, None, None), None, "without a deadline there is nothing to lose");
        assert!(hearing.woke(far).is_none());
    }
}
