//! The gate: how many connections there are, whose, and how they are ended.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use speedup_access::{Certificate, FairSemaphore, Role, Serial};
use tokio::sync::oneshot;

use crate::metrics::{Metrics, RefusedConnection};

/// Most connections at once: ten thousand agents, and commands beside them. Each is a file and some 30 KiB.
pub(crate) const MAX_CONNECTIONS: usize = 16_384;
/// Most connections of all agents at once. With those of users, and those whose owner is not known yet, they are
/// [`MAX_CONNECTIONS`]: however many of one kind there are, the others find room.
const MAX_OF_AGENTS: usize = 12_288;
/// Most connections at once whose owner is not known yet, or has shown no certificate.
pub(crate) const MAX_UNKNOWN: usize = 1_536;
/// Most connections of all users at once.
const MAX_OF_USERS: usize = MAX_CONNECTIONS - MAX_OF_AGENTS - MAX_UNKNOWN;
/// Most connections of one user at once, with whatever certificates: some for each command.
const MAX_OF_USER: usize = 256;
/// Most connections of one agent at once: it has two, and as many again for each time that its network breaks before the
/// coordinator has noticed.
const MAX_OF_AGENT: usize = 8;
/// How often it is told at most that connections are refused: whoever floods the gate is not to flood the log.
const COMPLAINT: Duration = Duration::from_secs(10);

/// One connection with a certificate, by its number among them, and how it hears that it has to end.
type KnownConnection = (u64, oneshot::Sender<()>);

#[derive(Debug)]
pub(crate) struct Gate {
    all: AtomicUsize,
    users: Arc<FairSemaphore>,
    agents: Arc<FairSemaphore>,
    known: Mutex<HashMap<Serial, Vec<KnownConnection>>>,
    complaint: Mutex<Option<(Instant, u64)>>,
    metrics: Metrics,
}

/// A place that is given back when it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionSlot {
    gate: Arc<Gate>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Any,
    Known { serial: Serial, number: u64, _share: speedup_access::FairPermit },
}

impl Gate {
    /// A gate that counts whom it refuses.
    pub(crate) fn new(metrics: Metrics) -> Self {
        Self {
            all: AtomicUsize::new(0),
            users: FairSemaphore::with_most(MAX_OF_USERS, MAX_OF_USER),
            agents: FairSemaphore::with_most(MAX_OF_AGENTS, MAX_OF_AGENT),
            known: Mutex::default(),
            complaint: Mutex::default(),
            metrics,
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.all.load(Ordering::Relaxed)
    }

    /// A place among all, if there is one.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<ConnectionSlot> {
        let entered = self.all.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |all| {
            (all < MAX_CONNECTIONS).then_some(all + 1)
        });
        entered.ok().map(|_| ConnectionSlot { gate: self.clone(), kind: Kind::Any })
    }

    /// A place in the share of the holder of a certificate, and what is heard when the connection has to end.
    pub(crate) fn enter_as_known(
        self: &Arc<Self>,
        certificate: &Certificate,
    ) -> Option<(ConnectionSlot, oneshot::Receiver<()>)> {
        let Certificate { identity, serial, .. } = certificate;
        let serial = *serial;
        let places = if identity.role() == Role::Agent { &self.agents } else { &self.users };
        let share = places.try_acquire(Some(identity))?;
        let mut known = locked(&self.known);
        let connections = known.entry(serial).or_default();
        let number = connections.last().map_or(0, |(last, _)| last + 1);
        let (end, ended) = oneshot::channel();
        connections.push((number, end));
        Some((
            ConnectionSlot { gate: self.clone(), kind: Kind::Known { serial, number, _share: share } },
            ended,
        ))
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

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        match &self.kind {
            Kind::Any => drop(self.gate.all.fetch_sub(1, Ordering::Relaxed)),
            Kind::Known { serial, number, .. } => {
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
    use speedup_access::Identity;

    use super::*;

    fn certificate(name: &str, role: Role, byte: u8) -> Certificate {
        let identity = Identity::new(name, role).unwrap();
        let serial = Serial::from_bytes(&[byte; 16]).unwrap();
        Certificate { identity, serial, not_before: 0, not_after: u64::MAX, public_key: Vec::new() }
    }

    #[test]
    fn places_are_given_back() {
        let gate = Arc::new(Gate::new(Metrics::default()));
        let all: Vec<_> = (0..MAX_CONNECTIONS).map(|_| gate.enter().unwrap()).collect();
        assert!(gate.enter().is_none());
        drop(all);
        assert!(gate.enter().is_some());
    }

    #[test]
    fn connections_of_a_certificate_are_ended() {
        let gate = Arc::new(Gate::new(Metrics::default()));
        let one = certificate("a", Role::Viewer, 1);
        let other = certificate("a", Role::Viewer, 2);
        let mut here: Vec<_> = (0..9).map(|_| gate.enter_as_known(&one).unwrap()).collect();
        here.remove(0);
        here.push(gate.enter_as_known(&one).unwrap());
        let (_place, mut stays) = gate.enter_as_known(&other).unwrap();
        gate.end(one.serial);
        assert!(
            here.iter_mut().all(|(_, ended)| ended.try_recv() == Err(oneshot::error::TryRecvError::Closed))
        );
        assert_eq!(stays.try_recv(), Err(oneshot::error::TryRecvError::Empty));
    }

    /// Ten thousand agents with all connections that they may have, and a user with many certificates, keep nobody out.
    #[test]
    fn whoever_has_many_connections_keeps_nobody_out() {
        let gate = Arc::new(Gate::new(Metrics::default()));
        let mut here = Vec::new();
        for number in 0..10_000 {
            let agent = certificate(&format!("host-{number}"), Role::Agent, 1);
            here.extend(std::iter::from_fn(|| gate.enter_as_known(&agent)));
        }
        assert_eq!(here.len(), MAX_OF_AGENTS);
        let mut of_user = Vec::new();
        for byte in 0..8 {
            let user = certificate("a", Role::Viewer, byte);
            of_user.extend(std::iter::from_fn(|| gate.enter_as_known(&user)));
        }
        assert_eq!(of_user.len(), MAX_OF_USER);
        assert!(gate.enter_as_known(&certificate("b", Role::Admin, 9)).is_some());
    }
}
