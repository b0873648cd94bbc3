//! Places that many identities have in common: for connections, uploads, exports, streams. Each gets a
//! share of them, so that whoever takes all that he may leaves some to everyone else, and whoever waits
//! for his own share holds up nobody.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use speedup_core::value::bounded::share;
use tokio::sync::oneshot;

use crate::identity::Identity;

/// Places with a share for each identity.
#[derive(Debug)]
pub struct Places {
    bound: usize,
    most_of_one: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    taken: usize,
    by_identity: HashMap<Identity, usize>,
    /// In the order in which they came.
    waiting: VecDeque<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    who: Option<Identity>,
    turn: oneshot::Sender<Place>,
}

/// A place, given back when it is dropped.
#[derive(Debug)]
pub struct Place {
    places: Arc<Places>,
    who: Option<Identity>,
}

impl Places {
    /// Creates this many places, of which each identity gets a [share](share).
    pub fn new(bound: usize) -> Arc<Self> {
        Self::with_most(bound, bound)
    }

    /// Creates the same, of which no identity gets more than `most_of_one` even while all others are free.
    pub fn with_most(bound: usize, most_of_one: usize) -> Arc<Self> {
        Arc::new(Self { bound, most_of_one, state: Mutex::default() })
    }

    /// Takes a place if there is one for this identity. The process itself, and whoever is let in without an identity, is
    /// bounded by all places alone.
    pub fn try_enter(self: &Arc<Self>, who: Option<&Identity>) -> Option<Place> {
        self.take(&mut self.state(), who)
    }

    /// Waits for a place, in line with others who wait; an identity that has its share is passed over until it leaves one.
    pub async fn enter(self: &Arc<Self>, who: Option<&Identity>) -> Place {
        loop {
            let granted = {
                let mut state = self.state();
                if let Some(place) = self.take(&mut state, who) {
                    return place;
                }
                let (turn, granted) = oneshot::channel();
                state.waiting.push_back(Waiter { who: who.cloned(), turn });
                granted
            };
            // A turn is dropped unused only with the line, which is there as long as this waits.
            if let Ok(place) = granted.await {
                return place;
            }
        }
    }

    fn take(self: &Arc<Self>, state: &mut State, who: Option<&Identity>) -> Option<Place> {
        if !self.has_room(state, who) {
            return None;
        }
        state.taken += 1;
        if let Some(who) = who {
            *state.by_identity.entry(who.clone()).or_default() += 1;
        }
        Some(Place { places: self.clone(), who: who.cloned() })
    }

    fn has_room(&self, state: &State, who: Option<&Identity>) -> bool {
        let Some(who) = who else { return state.taken < self.bound };
        let own = state.by_identity.get(who).copied().unwrap_or_default();
        let most = share(self.bound as u64, (state.taken - own) as u64);
        own < self.most_of_one && (own as u64) < most
    }

    fn leave(self: &Arc<Self>, who: Option<&Identity>) {
        // Places that nobody takes any more are given back after the lock is.
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
            && let Some(place) = self.take(&mut state, who.as_ref())
        {
            unwanted.extend(turn.send(place).err());
        }
        drop(state);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Counts are whole whoever panicked beside them.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.leave(self.who.as_ref());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Role;

    fn user(name: &str) -> Identity {
        Identity::new(name, Role::Submitter).unwrap()
    }

    /// Takes all places that an identity gets.
    fn all_of(places: &Arc<Places>, who: &Identity) -> Vec<Place> {
        let mut taken = Vec::new();
        while let Some(place) = places.try_enter(Some(who)) {
            taken.push(place);
        }
        taken
    }

    async fn is_ready<T>(waiting: &mut (impl Future<Output = T> + Unpin)) -> bool {
        tokio::time::timeout(std::time::Duration::ZERO, waiting).await.is_ok()
    }

    #[test]
    fn each_gets_a_share_and_the_last_place_is_there_for_one_who_has_none() {
        let places = Places::new(16);
        let taken: Vec<_> =
            ["a", "b", "c", "d", "e"].iter().map(|name| all_of(&places, &user(name))).collect();
        assert_eq!(taken.iter().map(Vec::len).collect::<Vec<_>>(), [4, 3, 3, 2, 1]);
        for left in ["f", "g", "h"] {
            std::mem::forget(places.try_enter(Some(&user(left))).expect("a place is left"));
        }
        assert!(places.try_enter(Some(&user("i"))).is_none() && places.try_enter(None).is_none());
        drop(taken);
        assert_eq!(all_of(&places, &user("a")).len(), 4);
    }

    #[test]
    fn the_process_itself_may_have_all_and_nobody_more_than_is_said() {
        let places = Places::with_most(100, 2);
        assert_eq!(all_of(&places, &user("a")).len(), 2);
        let all: Vec<_> = (0..100).map_while(|_| places.try_enter(None)).collect();
        assert_eq!(all.len(), 100);
    }

    #[tokio::test]
    async fn whoever_waits_for_his_share_holds_up_nobody() {
        let places = Places::new(4);
        let a = user("a");
        let b = user("b");
        let first = places.enter(Some(&a)).await;
        let mut second = Box::pin(places.enter(Some(&a)));
        assert!(!is_ready(&mut second).await, "it is the share of one");
        let other = places.enter(Some(&b)).await;
        drop(other);
        assert!(!is_ready(&mut second).await);
        drop(first);
        let second = second.await;
        assert!(places.try_enter(Some(&a)).is_none());
        drop(second);
        assert_eq!(places.state().taken, 0);
        assert!(places.state().by_identity.is_empty());
    }

    #[tokio::test]
    async fn those_who_wait_get_places_in_their_order_and_one_who_left_the_line_takes_none() {
        let places = Places::new(1);
        let held = places.enter(None).await;
        let b = user("b");
        let c = user("c");
        let mut lines = [None, Some(&b), Some(&c)].map(|who| Box::pin(places.enter(who)));
        for line in &mut lines {
            assert!(!is_ready(line).await);
        }
        let [gone, next, last] = lines;
        drop(gone);
        drop(held);
        drop(next.await);
        drop(last.await);
        assert_eq!(places.state().taken, 0);
    }
}
