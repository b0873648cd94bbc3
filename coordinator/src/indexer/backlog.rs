//! What waits for the index: put by the committer, taken by the indexer. Neither wakes the other for each group, because a
//! wake-up takes longer than what it is about.

use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Batch;

/// Events that may wait; beyond that the committer waits for the index.
const MAX_WAITING: usize = 32 << 10;

/// The end at which batches are put. When it is dropped, the indexer takes what is left, and ends.
#[derive(Debug)]
pub(crate) struct Backlog(Arc<SharedBacklog>);

/// Has what waits taken at once.
#[derive(Clone, Debug)]
pub(crate) struct CatchUp(Arc<SharedBacklog>);

/// The end at which batches are taken. When it is dropped, what is put goes nowhere.
#[derive(Debug)]
pub(crate) struct BacklogReceiver(Arc<SharedBacklog>);

#[derive(Debug, Default)]
struct SharedBacklog {
    state: Mutex<State>,
    put: Condvar,
    taken: Condvar,
}

#[derive(Debug, Default)]
struct State {
    batches: Vec<Batch>,
    events: usize,
    /// With so many events the other end wants to be woken.
    wanted: usize,
    /// Whether somebody waits for what is here.
    is_urgent: bool,
    /// Whether the committer's end was dropped.
    is_complete: bool,
    /// Whether the indexer's end was dropped.
    is_abandoned: bool,
}

impl State {
    /// Whether the index is so far behind that it has to be waited for.
    fn is_full(&self) -> bool {
        self.events >= MAX_WAITING && !self.is_abandoned
    }
}

/// A backlog with nothing in it.
pub(crate) fn backlog() -> (Backlog, BacklogReceiver) {
    let shared = Arc::new(SharedBacklog::default());
    (Backlog(shared.clone()), BacklogReceiver(shared))
}

impl SharedBacklog {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Backlog {
    /// Whether the index is so far behind that it has to be waited for.
    pub(crate) fn is_full(&self) -> bool {
        self.0.lock().is_full()
    }

    /// Waits until it is not full.
    pub(crate) fn wait_for_room(&self) {
        drop(self.0.taken.wait_while(self.0.lock(), |state| state.is_full()));
    }

    /// What has its batches taken at once.
    pub(crate) fn urge(&self) -> CatchUp {
        CatchUp(self.0.clone())
    }

    /// Puts a batch, whether or not it is full.
    pub(crate) fn put(&self, batch: Batch) {
        let mut state = self.0.lock();
        if state.is_abandoned {
            return;
        }
        let before = state.events;
        state.events += batch.events.len();
        state.batches.push(batch);
        if before < state.wanted && state.events >= state.wanted {
            self.0.put.notify_one();
        }
    }
}

impl Drop for Backlog {
    fn drop(&mut self) {
        self.0.lock().is_complete = true;
        self.0.put.notify_one();
    }
}

impl CatchUp {
    /// Has what was put until now taken at once.
    pub(crate) fn now(&self) {
        self.0.lock().is_urgent = true;
        self.0.put.notify_one();
    }
}

impl BacklogReceiver {
    /// Waits for a batch, and from then on until there are `enough` events, somebody waits for them, or `patience` is over;
    /// nothing where no more come.
    pub(crate) fn take(&self, enough: usize, patience: Duration) -> Option<Vec<Batch>> {
        let mut state = self.0.lock();
        let mut until = None;
        while !state.is_complete && state.events < enough {
            if state.events == 0 {
                // What was there when somebody began to wait has been taken.
                (state.wanted, state.is_urgent) = (1, false);
                state = self.0.put.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let until = *until.get_or_insert_with(|| Instant::now() + patience);
            let left = until.saturating_duration_since(Instant::now());
            if state.is_urgent || left.is_zero() {
                break;
            }
            state.wanted = enough;
            state = self.0.put.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        (state.events, state.wanted, state.is_urgent) = (0, 1, false);
        let batches = mem::take(&mut state.batches);
        self.0.taken.notify_one();
        (!batches.is_empty()).then_some(batches)
    }
}

impl Drop for BacklogReceiver {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_abandoned = true;
        state.batches.clear();
        self.0.taken.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use speedup_core::{machine::event::Change, machine::event::Event, value::time::Timestamp};
    use speedup_journal::Position;

    use super::*;

    const LONG: Duration = Duration::from_secs(3_600);

    fn batch(first: u64, events: u64) -> Batch {
        let event = |at| Event { at: Timestamp(at), change: Change::CoordinatorStarted };
        Batch {
            events: (first..first + events).map(event).collect(),
            ended: Vec::new(),
            end: Position(first + events),
            closed: Position::START,
        }
    }

    fn positions(batches: &[Batch]) -> Vec<u64> {
        batches.iter().flat_map(|batch| &batch.events).map(|event| event.at.0).collect()
    }

    #[test]
    fn all_is_taken_once_and_in_order() {
        const EVENTS: u64 = 20_000;
        let (backlog, waiting) = backlog();
        let taking = std::thread::spawn(move || {
            let mut taken = Vec::new();
            while let Some(batches) = waiting.take(100, Duration::from_millis(1)) {
                taken.extend(positions(&batches));
            }
            taken
        });
        for first in (0..EVENTS).step_by(5) {
            backlog.wait_for_room();
            backlog.put(batch(first, 5));
        }
        drop(backlog);
        assert_eq!(taking.join().unwrap(), (0..EVENTS).collect::<Vec<_>>());
    }

    #[test]
    fn enough_is_taken_at_once_and_little_when_no_more_come() {
        let (backlog, waiting) = backlog();
        backlog.put(batch(0, 10));
        assert_eq!(positions(&waiting.take(10, LONG).unwrap()).len(), 10, "who waits for more waits an hour");
        let taking = std::thread::spawn(move || (waiting.take(10, LONG), waiting.take(10, LONG)));
        backlog.put(batch(0, 1));
        backlog.put(batch(1, 9));
        backlog.put(batch(10, 1));
        drop(backlog);
        let (first, second) = taking.join().unwrap();
        let taken = [first, second].into_iter().flatten().flat_map(|batches| positions(&batches));
        assert_eq!(taken.collect::<Vec<_>>(), (0..11).collect::<Vec<_>>());
    }

    #[test]
    fn what_somebody_waits_for_is_taken_at_once() {
        let (backlog, waiting) = backlog();
        let urge = backlog.urge();
        urge.now();
        let taking = std::thread::spawn(move || waiting.take(10, LONG));
        backlog.put(batch(0, 1));
        while !taking.is_finished() {
            urge.now();
            std::thread::yield_now();
        }
        assert_eq!(positions(&taking.join().unwrap().unwrap()), [0], "who has patience waits an hour");
    }

    #[test]
    fn it_has_a_bound_and_none_when_nobody_takes() {
        let (backlog, waiting) = backlog();
        backlog.put(batch(0, MAX_WAITING as u64));
        assert!(backlog.is_full());
        let taking = std::thread::spawn(move || (waiting.take(1, LONG), waiting));
        backlog.wait_for_room();
        assert!(!backlog.is_full());
        drop(taking.join().unwrap());
        backlog.put(batch(0, 2 * MAX_WAITING as u64));
        assert!(!backlog.is_full());
        backlog.wait_for_room();
    }
}
