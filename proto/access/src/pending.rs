//! Connections whose owner is not known yet. They have few seats, and one that comes when all are taken does not wait
//! outside: the one that has said nothing for longest is evicted. So silent connections, however many, keep nobody out; at
//! most they take seats from each other.
//!
//! A seat is given up under pressure in this order: the oldest that has said nothing; then the oldest that has said
//! something and has not got further for a while. A handshake takes milliseconds, so neither is likely to be an honest one.
//! Addresses are told apart: one that fills its own share takes its own seats, and where all are taken, the address
//! with the most gives one up.

use std::{
    collections::BTreeMap, collections::HashMap, future::Future, net::IpAddr, net::Ipv6Addr, pin::Pin,
    sync::Arc, sync::Mutex, sync::MutexGuard, sync::PoisonError, task::Context, task::Poll, task::ready,
    time::Duration, time::Instant,
};

use tokio::sync::{Notify, oneshot};

/// How long [`PendingConnections::room`] waits at most until it looks again whether one who has stayed too long can be asked to leave.
const LOOK: Duration = Duration::from_millis(10);

/// How many pending connections there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seats {
    pub most: usize,
    /// From one address; of IPv6, from one network of 64 bits, which is what one machine has.
    pub most_of_address: usize,
    /// How long also one who has said nothing stays when others come: what it sent is read meanwhile.
    pub glance: Duration,
    /// How long one who has said something stays.
    pub patience: Duration,
}

/// The connections whose owner is not known yet, within the bounds of [`Seats`].
#[derive(Debug)]
pub struct PendingConnections {
    seats: Seats,
    taken: Mutex<Taken>,
    left: Notify,
}

#[derive(Debug, Default)]
struct Taken {
    /// By number: the older, the smaller.
    by_number: BTreeMap<u64, PendingConnection>,
    of_address: HashMap<IpAddr, usize>,
    next: u64,
}

#[derive(Debug)]
struct PendingConnection {
    address: IpAddr,
    since: Instant,
    has_spoken: bool,
    /// Dropped when the connection is evicted; used when it leaves by itself.
    leaves: oneshot::Sender<()>,
}

/// A seat, free again when it is dropped.
#[derive(Debug)]
pub struct Seat {
    connections: Arc<PendingConnections>,
    number: u64,
}

/// Completes when a connection has to leave its seat to another; never, once it has left by itself.
#[derive(Debug)]
pub struct Eviction(Option<oneshot::Receiver<()>>);

impl PendingConnections {
    /// Creates it without connections.
    pub fn new(seats: Seats) -> Arc<Self> {
        Arc::new(Self { seats, taken: Mutex::default(), left: Notify::new() })
    }

    /// Waits until one more can be seated, whoever it is. A crowd of honest ones waits here, in the kernel's queue: none of
    /// those inside has to leave for it before it has had its time.
    pub async fn room(&self) {
        loop {
            let left = self.left.notified();
            if self.has_room() {
                return;
            }
            let _ = tokio::time::timeout(LOOK, left).await;
        }
    }

    /// Seats one who has just come, at the cost of another if need be; `None` if all seats that it could have are those of
    /// others who have not stayed for long.
    pub fn enter(self: &Arc<Self>, address: IpAddr) -> Option<(Seat, Eviction)> {
        let address = network(address);
        let now = Instant::now();
        let mut taken = self.taken();
        let of_address = taken.of_address.get(&address).copied().unwrap_or_default();
        let crowded = if of_address >= self.seats.most_of_address {
            Some(address)
        } else if taken.by_number.len() >= self.seats.most {
            taken.largest()
        } else {
            None
        };
        if let Some(crowded) = crowded {
            let leaver = self.leaver(&taken, now, crowded)?;
            drop(taken.remove(leaver));
        }
        let number = taken.next;
        taken.next += 1;
        let (leaves, left) = oneshot::channel();
        taken.by_number.insert(number, PendingConnection { address, since: now, has_spoken: false, leaves });
        *taken.of_address.entry(address).or_default() += 1;
        Some((Seat { connections: self.clone(), number }, Eviction(Some(left))))
    }

    /// How many are seated.
    pub fn count(&self) -> usize {
        self.taken().by_number.len()
    }

    fn has_room(&self) -> bool {
        let taken = self.taken();
        if taken.by_number.len() < self.seats.most {
            return true;
        }
        let leaver = taken.largest().and_then(|address| self.leaver(&taken, Instant::now(), address));
        leaver.is_some()
    }

    /// Which connection of an address has to make room for another.
    fn leaver(&self, taken: &Taken, now: Instant, address: IpAddr) -> Option<u64> {
        let mut others = taken.by_number.iter().filter(|(_, pending)| pending.address == address);
        let silent = others.clone().find(|(_, pending)| !pending.has_spoken);
        if let Some((number, pending)) = silent
            && pending.has_stayed(now, self.seats.glance)
        {
            return Some(*number);
        }
        let slow =
            others.find(|(_, pending)| pending.has_spoken && pending.has_stayed(now, self.seats.patience));
        slow.map(|(number, _)| *number)
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PendingConnection {
    fn has_stayed(&self, now: Instant, time: Duration) -> bool {
        now.saturating_duration_since(self.since) >= time
    }
}

impl Taken {
    fn largest(&self) -> Option<IpAddr> {
        self.of_address.iter().max_by_key(|(_, count)| **count).map(|(address, _)| *address)
    }

    fn remove(&mut self, number: u64) -> Option<PendingConnection> {
        let pending = self.by_number.remove(&number)?;
        let of_address = self.of_address.entry(pending.address).or_insert(1);
        *of_address -= 1;
        if *of_address == 0 {
            self.of_address.remove(&pending.address);
        }
        Some(pending)
    }
}

impl Seat {
    /// Notes that the connection has said enough to be heard out: from now on it has some time before it leaves to a newcomer.
    pub fn has_spoken(&self) {
        if let Some(pending) = self.connections.taken().by_number.get_mut(&self.number) {
            pending.has_spoken = true;
            pending.since = Instant::now();
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(pending) = self.connections.taken().remove(self.number) {
            // Whoever listened may be gone already.
            let _ = pending.leaves.send(());
        }
        self.connections.left.notify_one();
    }
}

impl Future for Eviction {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(leaves) = &mut self.0 else { return Poll::Pending };
        let left = ready!(Pin::new(leaves).poll(context));
        self.0 = None;
        match left {
            Ok(()) => Poll::Pending,
            Err(_) => Poll::Ready(()),
        }
    }
}

/// What counts as one address.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));

    fn pending(most: usize, most_of_address: usize, patience: Duration) -> Arc<PendingConnections> {
        PendingConnections::new(Seats { most, most_of_address, glance: Duration::ZERO, patience })
    }

    type Guests = Vec<(Seat, Eviction)>;

    /// Who of them has to leave.
    async fn evicted(guests: &mut Guests) -> Vec<bool> {
        let mut asked = Vec::new();
        for (_, eviction) in guests {
            asked.push(tokio::time::timeout(Duration::ZERO, eviction).await.is_ok());
        }
        asked
    }

    #[tokio::test]
    async fn the_silent_leave_for_whoever_comes_the_oldest_first() {
        let connections = pending(8, 3, Duration::MAX);
        let mut guests: Guests = (0..3).map(|_| connections.enter(ONE).unwrap()).collect();
        guests[0].0.has_spoken();
        guests.push(connections.enter(ONE).unwrap());
        assert_eq!(evicted(&mut guests).await, [false, true, false, false]);
        assert_eq!(connections.count(), 3);
        drop(guests);
        assert_eq!(connections.count(), 0);
        assert!(connections.taken().of_address.is_empty());
    }

    #[test]
    fn also_the_silent_are_heard() {
        let (glance, patience) = (Duration::MAX, Duration::MAX);
        let connections = PendingConnections::new(Seats { most: 2, most_of_address: 1, glance, patience });
        let _one = connections.enter(ONE).unwrap();
        assert!(connections.enter(ONE).is_none() && connections.has_room());
        let _other = connections.enter(OTHER).unwrap();
        assert!(!connections.has_room());
    }

    #[tokio::test]
    async fn who_has_spoken_leaves_only_after_a_while() {
        for (patience, is_seated) in [(Duration::MAX, false), (Duration::ZERO, true)] {
            let connections = pending(8, 2, patience);
            let mut guests: Guests = (0..2).map(|_| connections.enter(ONE).unwrap()).collect();
            guests.iter().for_each(|(seat, _)| seat.has_spoken());
            assert_eq!(connections.enter(ONE).is_some(), is_seated);
            assert!(connections.enter(OTHER).is_some(), "others have seats of their own");
            assert_eq!(evicted(&mut guests).await, [is_seated, false]);
        }
    }

    #[tokio::test]
    async fn the_address_with_the_most_gives_up_a_seat() {
        let connections = pending(4, 4, Duration::MAX);
        let mut guests: Guests = (0..3).map(|_| connections.enter(ONE).unwrap()).collect();
        guests.extend((0..2).map(|_| connections.enter(OTHER).unwrap()));
        assert_eq!(evicted(&mut guests).await, [true, false, false, false, false]);
    }

    #[tokio::test]
    async fn who_leaves_by_itself_is_not_asked_out() {
        let connections = pending(1, 1, Duration::MAX);
        let (seat, left) = connections.enter(ONE).unwrap();
        drop(seat);
        assert!(tokio::time::timeout(Duration::ZERO, left).await.is_err());
    }

    #[tokio::test]
    async fn a_crowd_waits_until_one_leaves() {
        let connections = pending(1, 1, Duration::MAX);
        connections.room().await;
        let (seat, _) = connections.enter(ONE).unwrap();
        connections.room().await;
        seat.has_spoken();
        assert!(!connections.has_room());
        let waiting = tokio::spawn({
            let connections = connections.clone();
            async move { connections.room().await }
        });
        drop(seat);
        waiting.await.unwrap();
    }

    #[test]
    fn one_machine_has_one_address() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(network(ip("2001:db8:1:2:3:4:5:6")), network(ip("2001:db8:1:2::1")));
        assert_ne!(network(ip("2001:db8:1:2::1")), network(ip("2001:db8:1:3::1")));
        assert_eq!(network(ip("::ffff:10.0.0.1")), OTHER);
    }
}
