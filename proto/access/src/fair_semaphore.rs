//! A semaphore with a share for each identity: for connections, uploads, exports, streams. An identity that takes all it may
//! leaves permits to everyone else, and one that waits for its own share blocks nobody.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use speedup_core::value::bounded::share;
use tokio::sync::oneshot;

use crate::identity::Identity;

/// A semaphore whose permits are shared between identities.
#[derive(Debug)]
pub struct FairSemaphore {
    bound: usize,
    most_of_one: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    taken: usize,
    by_identity: HashMap<Identity, usize>,
    /// Oldest first.
    waiting: VecDeque<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    who: Option<Identity>,
    turn: oneshot::Sender<FairPermit>,
}

/// A permit, which is returned when it is dropped.
#[derive(Debug)]
pub struct FairPermit {
    semaphore: Arc<FairSemaphore>,
    who: Option<Identity>,
}

impl FairSemaphore {
    /// Creates a semaphore with `bound` permits, of which each identity gets a [share](share).
    pub fn new(bound: usize) -> Arc<Self> {
        Self::with_most(bound, bound)
    }

    /// Creates one of which no identity gets more than `most_of_one` permits, even while all others are free.
    pub fn with_most(bound: usize, most_of_one: usize) -> Arc<Self> {
        Arc::new(Self { bound, most_of_one, state: Mutex::default() })
    }

    /// Acquires a permit if there is one for this identity. The process itself, and peers without an identity, are limited by
    /// the number of all permits only.
    pub fn try_acquire(self: &Arc<Self>, who: Option<&Identity>) -> Option<FairPermit> {
        self.take(&mut self.state(), who)
    }

    /// Waits for a permit, first come, first served; an identity that has its share is passed over until it returns a permit.
    pub async fn acquire(self: &Arc<Self>, who: Option<&Identity>) -> FairPermit {
        loop {
            let granted = {
                let mut state = self.state();
                if let Some(permit) = self.take(&mut state, who) {
                    return permit;
                }
                let (turn, granted) = oneshot::channel();
                state.waiting.push_back(Waiter { who: who.cloned(), turn });
                granted
            };
            // The sender is dropped unused only with the queue, which lives as long as this waits.
            if let Ok(permit) = granted.await {
                return permit;
            }
        }
    }

    fn take(self: &Arc<Self>, state: &mut State, who: Option<&Identity>) -> Option<FairPermit> {
        if !self.has_room(state, who) {
            return None;
        }
        state.taken += 1;
        if let Some(who) = who {
            *state.by_identity.entry(who.clone()).or_default() += 1;
        }
        Some(FairPermit { semaphore: self.clone(), who: who.cloned() })
    }

    fn has_room(&self, state: &State, who: Option<&Identity>) -> bool {
        let Some(who) = who else { return state.taken < self.bound };
        let own = state.by_identity.get(who).copied().unwrap_or_default();
        let most = share(self.bound as u64, (state.taken - own) as u64);
        own < self.most_of_one && (own as u64) < most
    }

    fn release(self: &Arc<Self>, who: Option<&Identity>) {
        // Permits whose waiters are gone are returned after the lock is released, as that takes it again.
        let mut unwanted = Vec::new();
        let mut state = self.state();
        state.taken -= 1;
        if let Some(who) = who
            && let Some(own) = state.by_identity.get_mut(who)
        {
            *own -= 1;
            if *own == 0 {
                state.by_identity.remove(who);
            }
        }
        state.waiting.retain(|waiter| !waiter.turn.is_closed());
        while let Some(at) = state.waiting.iter().position(|next| self.has_room(&state, next.who.as_ref()))
            && let Some(Waiter { who, turn }) = state.waiting.remove(at)
            && let Some(permit) = self.take(&mut state, who.as_ref())
        {
            unwanted.extend(turn.send(permit).err());
        }
        drop(state);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No panic can leave the counts half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for FairPermit {
    fn drop(&mut self) {
        self.semaphore.release(self.who.as_ref());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Role;

    fn user(name: &str) -> Identity {
        Identity::new(name, Role::Submitter).unwrap()
    }

    /// Takes all permits that an identity gets.
    fn all_of(semaphore: &Arc<FairSemaphore>, who: &Identity) -> Vec<FairPermit> {
        let mut taken = Vec::new();
        while let Some(place) = semaphore.try_acquire(Some(who)) {
            taken.push(place);
        }
        taken
    }

    async fn is_ready<T>(waiting: &mut (impl Future<Output = T> + Unpin)) -> bool {
        tokio::time::timeout(std::time::Duration::ZERO, waiting).await.is_ok()
    }

    #[test]
    fn each_gets_a_share_and_the_last_place_is_there_for_one_who_has_none() {
        let semaphore = FairSemaphore::new(16);
        let taken: Vec<_> =
            ["a", "b", "c", "d", "e"].iter().map(|name| all_of(&semaphore, &user(name))).collect();
        assert_eq!(taken.iter().map(Vec::len).collect::<Vec<_>>(), [4, 3, 3, 2, 1]);
        for left in ["f", "g", "h"] {
            std::mem::forget(semaphore.try_acquire(Some(&user(left))).expect("a place is left"));
        }
        assert!(semaphore.try_acquire(Some(&user("i"))).is_none() && semaphore.try_acquire(None).is_none());
        drop(taken);
        assert_eq!(all_of(&semaphore, &user("a")).len(), 4);
    }

    #[test]
    fn the_process_itself_may_have_all_and_nobody_more_than_is_said() {
        let semaphore = FairSemaphore::with_most(100, 2);
        assert_eq!(all_of(&semaphore, &user("a")).len(), 2);
        let all: Vec<_> = (0..100).map_while(|_| semaphore.try_acquire(None)).collect();
        assert_eq!(all.len(), 100);
    }

    #[tokio::test]
    async fn whoever_waits_for_his_share_holds_up_nobody() {
        let semaphore = FairSemaphore::new(4);
        let a = user("a");
        let b = user("b");
        let first = semaphore.acquire(Some(&a)).await;
        let mut second = Box::pin(semaphore.acquire(Some(&a)));
        assert!(!is_ready(&mut second).await, "it is the share of one");
        let other = semaphore.acquire(Some(&b)).await;
        drop(other);
        assert!(!is_ready(&mut second).await);
        drop(first);
        let second = second.await;
        assert!(semaphore.try_acquire(Some(&a)).is_none());
        drop(second);
        assert_eq!(semaphore.state().taken, 0);
        assert!(semaphore.state().by_identity.is_empty());
    }

    #[tokio::test]
    async fn those_who_wait_get_places_in_their_order_and_one_who_left_the_line_takes_none() {
        let semaphore = FairSemaphore::new(1);
        let held = semaphore.acquire(None).await;
        let b = user("b");
        let c = user("c");
        let mut lines = [None, Some(&b), Some(&c)].map(|who| Box::pin(semaphore.acquire(who)));
        for line in &mut lines {
            assert!(!is_ready(line).await);
        }
        let [gone, next, last] = lines;
        drop(gone);
        drop(held);
        drop(next.await);
        drop(last.await);
        assert_eq!(semaphore.state().taken, 0);
    }
}
