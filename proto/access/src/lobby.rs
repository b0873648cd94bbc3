//! The lobby: where connections wait of which it is not known yet whose they are. It has few seats, and who comes when all are
//! taken does not wait outside: the one who has said nothing for longest leaves. So silent connections, however many, keep
//! nobody out; at most they take seats from each other.
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

/// How long [`Lobby::room`] waits at most until it looks again whether one who has stayed too long can be asked to leave.
const LOOK: Duration = Duration::from_millis(10);

/// How many a lobby seats.
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

/// A lobby.
#[derive(Debug)]
pub struct Lobby {
    seats: Seats,
    taken: Mutex<Taken>,
    left: Notify,
}

#[derive(Debug, Default)]
struct Taken {
    /// By number: the older, the smaller.
    by_number: BTreeMap<u64, Guest>,
    of_address: HashMap<IpAddr, usize>,
    next: u64,
}

#[derive(Debug)]
struct Guest {
    address: IpAddr,
    since: Instant,
    has_spoken: bool,
    /// Dropped when the guest has to leave; used when it leaves by itself.
    leaves: oneshot::Sender<()>,
}

/// A seat, free again when it is dropped.
#[derive(Debug)]
pub struct Seat {
    lobby: Arc<Lobby>,
    number: u64,
}

/// Is over when a guest has to leave its seat for another; never, once it has left by itself.
#[derive(Debug)]
pub struct AskedOut(Option<oneshot::Receiver<()>>);

impl Lobby {
    /// An empty lobby.
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
    pub fn enter(self: &Arc<Self>, address: IpAddr) -> Option<(Seat, AskedOut)> {
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
        taken.by_number.insert(number, Guest { address, since: now, has_spoken: false, leaves });
        *taken.of_address.entry(address).or_default() += 1;
        Some((Seat { lobby: self.clone(), number }, AskedOut(Some(left))))
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

    /// Who of an address has to leave for another.
    fn leaver(&self, taken: &Taken, now: Instant, address: IpAddr) -> Option<u64> {
        let mut guests = taken.by_number.iter().filter(|(_, guest)| guest.address == address);
        let silent = guests.clone().find(|(_, guest)| !guest.has_spoken);
        if let Some((number, guest)) = silent
            && guest.has_stayed(now, self.seats.glance)
        {
            return Some(*number);
        }
        let slow = guests.find(|(_, guest)| guest.has_spoken && guest.has_stayed(now, self.seats.patience));
        slow.map(|(number, _)| *number)
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Guest {
    fn has_stayed(&self, now: Instant, time: Duration) -> bool {
        now.saturating_duration_since(self.since) >= time
    }
}

impl Taken {
    fn largest(&self) -> Option<IpAddr> {
        self.of_address.iter().max_by_key(|(_, count)| **count).map(|(address, _)| *address)
    }

    fn remove(&mut self, number: u64) -> Option<Guest> {
        let guest = self.by_number.remove(&number)?;
        let of_address = self.of_address.entry(guest.address).or_insert(1);
        *of_address -= 1;
        if *of_address == 0 {
            self.of_address.remove(&guest.address);
        }
        Some(guest)
    }
}

impl Seat {
    /// The guest has said enough to be heard out: from now on it has some time before it leaves for a newcomer.
    pub fn has_spoken(&self) {
        if let Some(guest) = self.lobby.taken().by_number.get_mut(&self.number) {
            (guest.has_spoken, guest.since) = (true, Instant::now());
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(guest) = self.lobby.taken().remove(self.number) {
            // Whoever listened may be gone already.
            let _ = guest.leaves.send(());
        }
        self.lobby.left.notify_one();
    }
}

impl Future for AskedOut {
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

    fn lobby(most: usize, most_of_address: usize, patience: Duration) -> Arc<Lobby> {
        Lobby::new(Seats { most, most_of_address, glance: Duration::ZERO, patience })
    }

    type Guests = Vec<(Seat, AskedOut)>;

    /// Who of them has to leave.
    async fn asked_out(guests: &mut Guests) -> Vec<bool> {
        let mut asked = Vec::new();
        for (_, asked_out) in guests {
            asked.push(tokio::time::timeout(Duration::ZERO, asked_out).await.is_ok());
        }
        asked
    }

    #[tokio::test]
    async fn the_silent_leave_for_whoever_comes_the_oldest_first() {
        let lobby = lobby(8, 3, Duration::MAX);
        let mut guests: Guests = (0..3).map(|_| lobby.enter(ONE).unwrap()).collect();
        guests[0].0.has_spoken();
        guests.push(lobby.enter(ONE).unwrap());
        assert_eq!(asked_out(&mut guests).await, [false, true, false, false]);
        assert_eq!(lobby.count(), 3);
        drop(guests);
        assert_eq!(lobby.count(), 0);
        assert!(lobby.taken().of_address.is_empty());
    }

    #[test]
    fn also_the_silent_are_heard() {
        let (glance, patience) = (Duration::MAX, Duration::MAX);
        let lobby = Lobby::new(Seats { most: 2, most_of_address: 1, glance, patience });
        let _one = lobby.enter(ONE).unwrap();
        assert!(lobby.enter(ONE).is_none() && lobby.has_room());
        let _other = lobby.enter(OTHER).unwrap();
        assert!(!lobby.has_room());
    }

    #[tokio::test]
    async fn who_has_spoken_leaves_only_after_a_while() {
        for (patience, is_seated) in [(Duration::MAX, false), (Duration::ZERO, true)] {
            let lobby = lobby(8, 2, patience);
            let mut guests: Guests = (0..2).map(|_| lobby.enter(ONE).unwrap()).collect();
            guests.iter().for_each(|(seat, _)| seat.has_spoken());
            assert_eq!(lobby.enter(ONE).is_some(), is_seated);
            assert!(lobby.enter(OTHER).is_some(), "others have seats of their own");
            assert_eq!(asked_out(&mut guests).await, [is_seated, false]);
        }
    }

    #[tokio::test]
    async fn the_address_with_the_most_gives_up_a_seat() {
        let lobby = lobby(4, 4, Duration::MAX);
        let mut guests: Guests = (0..3).map(|_| lobby.enter(ONE).unwrap()).collect();
        guests.extend((0..2).map(|_| lobby.enter(OTHER).unwrap()));
        assert_eq!(asked_out(&mut guests).await, [true, false, false, false, false]);
    }

    #[tokio::test]
    async fn who_leaves_by_itself_is_not_asked_out() {
        let lobby = lobby(1, 1, Duration::MAX);
        let (seat, left) = lobby.enter(ONE).unwrap();
        drop(seat);
        assert!(tokio::time::timeout(Duration::ZERO, left).await.is_err());
    }

    #[tokio::test]
    async fn a_crowd_waits_until_one_leaves() {
        let lobby = lobby(1, 1, Duration::MAX);
        lobby.room().await;
        let (seat, _) = lobby.enter(ONE).unwrap();
        lobby.room().await;
        seat.has_spoken();
        assert!(!lobby.has_room());
        let waiting = tokio::spawn({
            let lobby = lobby.clone();
            async move { lobby.room().await }
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
