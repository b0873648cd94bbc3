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

    /// When to wake up, for the machine's next deadline; `is_loss` if something is to be taken from a host already, which
    /// is waited for with its hearing.
    pub(crate) fn wake(&mut self, now: Instant, deadline: Option<Instant>, is_loss: bool) -> Option<Instant> {
        self.asked = deadline.map(|deadline| {
            let held = self.until.filter(|_| is_loss);
            held.unwrap_or(deadline).min(now + BEAT)
        });
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

    /// Whether what is due may be taken now; `is_loss` if something of it is taken from a host.
    pub(crate) fn may_take(&mut self, now: Instant, is_loss: bool) -> bool {
        match self.until {
            Some(until) if now < until => !is_loss,
            None if is_loss => {
                self.until = Some(now + HEARING);
                false
            }
            Some(_) | None => {
                self.until = None;
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(60);
    const MS: Duration = Duration::from_millis(1);

    /// A hearing that was asked to wake at a deadline, and the deadline.
    fn asleep() -> (Hearing, Instant) {
        let (mut hearing, now) = (Hearing { grace: GRACE, asked: None, until: None }, Instant::now());
        let deadline = now + Duration::from_secs(5);
        assert_eq!(hearing.wake(now, Some(deadline), false), Some(deadline));
        (hearing, deadline)
    }

    #[test]
    fn a_loss_is_heard_first_and_rest_that_is_over_takes_nothing() {
        let (mut hearing, due) = asleep();
        assert_eq!(hearing.woke(due + MS), None);
        assert!(hearing.may_take(due, false));
        assert!(!hearing.may_take(due, true));
        let heard = due + HEARING;
        assert_eq!(hearing.wake(due + MS, Some(due), true), Some(heard));
        assert!(!hearing.may_take(heard - MS, true) && hearing.may_take(heard, true));
        assert!(!hearing.may_take(heard, true), "the next loss has a hearing of its own");
    }

    #[test]
    fn after_standing_still_hosts_have_the_time_to_come_back() {
        let (mut hearing, due) = asleep();
        let woke = due + Duration::from_secs(75);
        assert_eq!(hearing.woke(woke), Some(Duration::from_secs(75)));
        assert!(!hearing.may_take(woke, true) && hearing.may_take(woke, false));
        let mut now = woke;
        while let Some(next) = hearing.wake(now, Some(due), true).filter(|next| *next < woke + GRACE) {
            assert_eq!(next, now + BEAT, "it wakes now and then, to notice the next standstill");
            now = next;
            assert_eq!(hearing.woke(now), None);
            assert!(!hearing.may_take(now, true));
        }
        assert!(hearing.may_take(woke + GRACE, true), "who has not come back by then is gone");
    }

    #[test]
    fn after_a_start_hosts_have_the_time_to_come_back() {
        let now = Instant::now();
        let mut hearing = Hearing::new(now, GRACE);
        assert!(!hearing.may_take(now + GRACE - MS, true) && hearing.may_take(now + GRACE, true));
    }

    #[test]
    fn rest_that_is_over_is_not_held_with_what_may_be_lost() {
        let now = Instant::now();
        let mut hearing = Hearing::new(now, GRACE);
        assert_eq!(
            hearing.wake(now + MS, Some(now), false),
            Some(now),
            "a message came first when it was due"
        );
        assert!(hearing.may_take(now + MS, false));
    }

    #[test]
    fn a_standstill_is_noticed_whatever_wakes_and_whenever_the_deadline_is() {
        let now = Instant::now();
        let mut hearing = Hearing::new(now, GRACE);
        let far = now + Duration::from_secs(3_600);
        assert_eq!(hearing.wake(now, Some(far), false), Some(now + BEAT));
        assert!(hearing.woke(now + Duration::from_secs(40)).is_some());
        assert_eq!(hearing.wake(now, None, false), None, "without a deadline there is nothing to lose");
        assert!(hearing.woke(far).is_none());
    }
}
