//! What is kept of the ranks of runs on several hosts: of each attempt a few numbers, however many ranks it had.

use speedup_core::run::{lease::Lease, record::RankTime, record::Record};
use speedup_core::value::id::{Attempt, RunIndex};
use std::collections::BTreeMap;

/// The ranks of the attempts of a cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct RanksSeen(BTreeMap<(RunIndex, Attempt), RankFacts>);

/// What is kept of the ranks of an attempt, as far as its hosts have told.
#[derive(Clone, Copy, Debug)]
struct RankFacts {
    is_measured: bool,
    ranks: u64,
    /// The sum of their scrambled numbers, which tells sets of as many numbers apart but for one case in 2⁶⁴.
    numbers: u64,
    sum_ns: u128,
    least_ns: u64,
    most_ns: u64,
    slowest: Slowest,
}

/// Which rank took the longest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slowest {
    Rank {
        rank: u32,
        /// Where it was.
        at: RankPlace,
    },
    /// Several that took as long, all of them on one host.
    Ranks(RankPlace),
    /// Several that took as long, on several hosts.
    Hosts,
}

/// Where a rank was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RankPlace {
    /// The number of its host among those of the run.
    pub(crate) seat: u32,
    /// The number of its host in the study.
    pub(crate) host: u32,
}

/// The ranks of a run of which each has told its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RunRanks {
    pub(crate) run: RunIndex,
    pub(crate) attempt: Attempt,
    /// The time of the slowest.
    pub(crate) slowest_ns: f64,
    /// By how much it exceeds that of the fastest.
    pub(crate) skew_ns: f64,
    /// By how much it exceeds the mean of all, as a share of that.
    pub(crate) imbalance: f64,
    pub(crate) slowest: Slowest,
}

impl RanksSeen {
    /// Keeps the ranks of one host of an attempt; `is_measured` says that it was the host that started the program,
    /// and measured.
    pub(crate) fn keep(&mut self, lease: &Lease, host: u32, record: &Record, is_measured: bool) {
        let at = RankPlace { seat: lease.seat.as_ref().map_or(0, |seat| seat.number), host };
        let told = record.ranks.iter().map(|rank| RankFacts::of(rank, at, is_measured));
        let Some(told) = told.reduce(RankFacts::with) else { return };
        let key = (lease.run, lease.attempt);
        let all = self.0.get(&key).map_or(told, |before| before.with(told));
        self.0.insert(key, all);
    }

    /// The measured runs of which each of `ranks` ranks has told its time, in run order.
    pub(crate) fn complete(&self, ranks: u64) -> Vec<RunRanks> {
        let numbers = (0..ranks).fold(0, |sum: u64, rank| sum.wrapping_add(scrambled(rank)));
        let is_complete =
            |facts: &RankFacts| facts.is_measured && (facts.ranks, facts.numbers) == (ranks, numbers);
        let all = self.0.iter().filter(|(_, facts)| is_complete(facts));
        all.map(|((run, attempt), facts)| facts.told(*run, *attempt)).collect()
    }
}

impl RankFacts {
    fn of(rank: &RankTime, at: RankPlace, is_measured: bool) -> Self {
        let ns = rank.wall.0;
        Self {
            is_measured,
            ranks: 1,
            numbers: scrambled(rank.rank.into()),
            sum_ns: ns.into(),
            least_ns: ns,
            most_ns: ns,
            slowest: Slowest::Rank { rank: rank.rank, at },
        }
    }

    /// Of both, which have no rank in common; in whatever order.
    fn with(self, other: Self) -> Self {
        let slowest = match self.most_ns.cmp(&other.most_ns) {
            std::cmp::Ordering::Less => other.slowest,
            std::cmp::Ordering::Greater => self.slowest,
            std::cmp::Ordering::Equal => self.slowest.beside(other.slowest),
        };
        Self {
            is_measured: self.is_measured || other.is_measured,
            ranks: self.ranks + other.ranks,
            numbers: self.numbers.wrapping_add(other.numbers),
            sum_ns: self.sum_ns + other.sum_ns,
            least_ns: self.least_ns.min(other.least_ns),
            most_ns: self.most_ns.max(other.most_ns),
            slowest,
        }
    }

    fn told(&self, run: RunIndex, attempt: Attempt) -> RunRanks {
        let slowest_ns = self.most_ns as f64;
        let mean_ns = self.sum_ns as f64 / self.ranks as f64;
        // Of ranks that took no time at all none exceeds the others.
        let imbalance = if self.most_ns > 0 { slowest_ns / mean_ns - 1.0 } else { 0.0 };
        RunRanks {
            run,
            attempt,
            slowest_ns,
            skew_ns: (self.most_ns - self.least_ns) as f64,
            imbalance,
            slowest: self.slowest,
        }
    }
}

impl Slowest {
    /// Where it was, if that was one host.
    pub(crate) fn place(self) -> Option<RankPlace> {
        match self {
            Self::Rank { at, .. } | Self::Ranks(at) => Some(at),
            Self::Hosts => None,
        }
    }

    /// The number of the rank, if it was one.
    pub(crate) fn rank(self) -> Option<u32> {
        match self {
            Self::Rank { rank, .. } => Some(rank),
            Self::Ranks(_) | Self::Hosts => None,
        }
    }

    fn beside(self, other: Self) -> Self {
        match (self.place(), other.place()) {
            (Some(at), Some(other)) if at == other => Self::Ranks(at),
            (_, _) => Self::Hosts,
        }
    }
}

/// A number of which those of other ranks tell nothing (SplitMix64: Steele, Lea and Flood 2014).
fn scrambled(rank: u64) -> u64 {
    let z = (rank + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use speedup_core::{run::record::RankEnd, value::time::Span};

    fn facts(rank: u32, ns: u64, host: u32) -> RankFacts {
        let rank = RankTime {
            rank,
            started_unix_ns: 0,
            wall: Span(ns),
            user: Span(0),
            system: Span(0),
            max_rss_bytes: 0,
            end: RankEnd::Exited(0),
        };
        RankFacts::of(&rank, RankPlace { seat: host, host }, host == 0)
    }

    fn seen(times: &[(u32, u64, u32)]) -> RanksSeen {
        let all = times.iter().map(|(rank, ns, host)| facts(*rank, *ns, *host)).reduce(RankFacts::with);
        RanksSeen(all.into_iter().map(|all| ((RunIndex(0), Attempt(1)), all)).collect())
    }

    #[test]
    fn only_all_ranks_each_once_are_complete() {
        let complete = |times: &[(u32, u64, u32)]| seen(times).complete(4).len();
        assert_eq!(complete(&[(0, 5, 0), (1, 5, 0), (2, 5, 1), (3, 5, 1)]), 1);
        assert_eq!(complete(&[(0, 5, 0), (1, 5, 0), (2, 5, 1)]), 0, "one is missing");
        assert_eq!(complete(&[(0, 5, 0), (1, 5, 0), (0, 5, 1), (1, 5, 1)]), 0, "two hosts number alike");
        assert_eq!(complete(&[(0, 5, 0), (1, 5, 0), (2, 5, 1), (4, 5, 1)]), 0, "a number that is none");
        assert_eq!(complete(&[(0, 5, 1), (1, 5, 1), (2, 5, 1), (3, 5, 1)]), 0, "the run was not measured");
    }

    #[test]
    fn what_is_told_of_a_run_is_by_hand() {
        let told = seen(&[(3, 40, 1), (0, 10, 0), (2, 30, 1), (1, 20, 0)]).complete(4)[0];
        assert_eq!((told.slowest_ns, told.skew_ns), (40.0, 30.0));
        assert!((told.imbalance - 0.6).abs() < 1e-15, "{}", told.imbalance);
        let at = RankPlace { seat: 1, host: 1 };
        assert_eq!(told.slowest, Slowest::Rank { rank: 3, at });
        let on_one = seen(&[(0, 10, 0), (1, 40, 1), (2, 40, 1)]).complete(3)[0].slowest;
        assert_eq!((on_one, on_one.rank(), on_one.place()), (Slowest::Ranks(at), None, Some(at)));
        let on_two = seen(&[(0, 40, 0), (1, 40, 1), (2, 40, 1)]).complete(3)[0].slowest;
        assert_eq!((on_two, on_two.place()), (Slowest::Hosts, None));
    }

    proptest! {
        /// Attempts come in any order.
        #[test]
        fn the_order_of_ranks_tells_nothing(
            times in prop::collection::vec((0_u64..4, 0_u32..3), 1..9),
            by in prop::collection::vec(any::<u32>(), 9),
        ) {
            let times: Vec<_> = (0..).zip(&times).map(|(rank, (ns, host))| (rank, *ns, *host)).collect();
            let mut other = times.clone();
            other.sort_by_key(|(rank, ..)| by[*rank as usize]);
            let ranks = times.len() as u64;
            prop_assert_eq!(seen(&times).complete(ranks), seen(&other).complete(ranks));
        }
    }
}
