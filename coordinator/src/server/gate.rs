//! The gate: how many connections there are, whose, and how they are ended.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use speedup_access::Serial;
use tokio::sync::oneshot;

use crate::metrics::{Metrics, RefusedConnection};

/// Most connections at once: ten thousand agents, and commands beside them. Each is a file and some 30 KiB.
pub(crate) const MAX_CONNECTIONS: usize = 16_384;
/// Most connections at once with one certificate: an agent has two, a user some for each command.
pub(crate) const MAX_OF_CERTIFICATE: usize = 256;
/// How often it is told at most that connections are refused: whoever floods the gate is not to flood the log.
const COMPLAINT: Duration = Duration::from_secs(10);

/// One connection with a certificate, by its number among them, and how it hears that it has to end.
type Known = (u64, oneshot::Sender<()>);

#[derive(Debug, Default)]
pub(crate) struct Gate {
    all: AtomicUsize,
    known: Mutex<HashMap<Serial, Vec<Known>>>,
    complaint: Mutex<Option<(Instant, u64)>>,
    metrics: Metrics,
}

/// A place that is given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    gate: Arc<Gate>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Any,
    Known(Serial, u64),
}

impl Gate {
    /// A gate that counts whom it refuses.
    pub(crate) fn new(metrics: Metrics) -> Self {
        Self { metrics, ..Self::default() }
    }

    pub(crate) fn count(&self) -> usize {
        self.all.load(Ordering::Relaxed)
    }

    /// A place among all, if there is one.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<Place> {
        let entered = self.all.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |all| {
            (all < MAX_CONNECTIONS).then_some(all + 1)
        });
        entered.ok().map(|_| Place { gate: self.clone(), kind: Kind::Any })
    }

    /// A place among those with this certificate, and what is heard when the connection has to end.
    pub(crate) fn enter_as_known(self: &Arc<Self>, serial: Serial) -> Option<(Place, oneshot::Receiver<()>)> {
        let mut known = locked(&self.known);
        let of = known.entry(serial).or_default();
        if of.len() >= MAX_OF_CERTIFICATE {
            return None;
        }
        let number = of.last().map_or(0, |(last, _)| last + 1);
        let (end, ended) = oneshot::channel();
        of.push((number, end));
        Some((Place { gate: self.clone(), kind: Kind::Known(serial, number) }, ended))
    }

    pub(crate) fn end(&self, serial: Serial) {
        // Dropping the other end is what they hear.
        drop(locked(&self.known).remove(&serial));
    }

    /// Tells that connections are refused, not too often; the number that were not told of goes with the next.
    pub(crate) fn complain(&self, address: IpAddr, why: RefusedConnection, reason: &str) {
        self.metrics.refused_connection(why);
        let mut complaint = locked(&self.complaint);
        let now = Instant::now();
        match &mut *complaint {
            Some((last, untold)) if now.duration_since(*last) < COMPLAINT => *untold += 1,
            earlier => {
                let untold = earlier.map_or(0, |(_, untold)| untold);
                tracing::warn!(%address, untold, "refused a connection: {reason}");
                *earlier = Some((now, 0));
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        match &self.kind {
            Kind::Any => drop(self.gate.all.fetch_sub(1, Ordering::Relaxed)),
            Kind::Known(serial, number) => {
                let mut known = locked(&self.gate.known);
                if let Some(of) = known.get_mut(serial) {
                    of.retain(|(other, _)| other != number);
                    if of.is_empty() {
                        known.remove(serial);
                    }
                }
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_given_back() {
        let gate = Arc::new(Gate::default());
        let all: Vec<_> = (0..MAX_CONNECTIONS).map(|_| gate.enter().unwrap()).collect();
        assert!(gate.enter().is_none());
        drop(all);
        assert!(gate.enter().is_some());
    }

    #[test]
    fn connections_of_a_certificate_are_ended() {
        let gate = Arc::new(Gate::default());
        let serial = |byte| Serial::from_bytes(&[byte; 16]).unwrap();
        let mut here: Vec<_> =
            (0..MAX_OF_CERTIFICATE).map(|_| gate.enter_as_known(serial(1)).unwrap()).collect();
        assert!(gate.enter_as_known(serial(1)).is_none());
        here.remove(0);
        here.push(gate.enter_as_known(serial(1)).unwrap());
        let (_place, mut stays) = gate.enter_as_known(serial(2)).unwrap();
        gate.end(serial(1));
        assert!(
            here.iter_mut().all(|(_, ended)| ended.try_recv() == Err(oneshot::error::TryRecvError::Closed))
        );
        assert_eq!(stays.try_recv(), Err(oneshot::error::TryRecvError::Empty));
    }
}
