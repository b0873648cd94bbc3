//! What is missing, divided among queues: laws of one division, then several queues side by side, each looking when it likes, at
//! engines of which some are slow, fail, or do not answer.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng as _};

use super::super::divide::OUT_OF_SIGHT;
use super::super::*;
use crate::value::id::QueueName;

fn queue(number: usize) -> QueueName {
    format!("q{number}").parse().unwrap()
}

fn claims(parts: &[(u32, u32, u32)]) -> BTreeMap<QueueName, Claim> {
    let claim = |(number, part): (usize, &(u32, u32, u32))| {
        let (starting, queued, room) = *part;
        (queue(number), Claim { starting, queued, overdue: 0, room })
    };
    parts.iter().enumerate().map(claim).collect()
}

fn shares(missing: u32, parts: &[(u32, u32, u32)]) -> Vec<u32> {
    let claims = claims(parts);
    claims.keys().map(|name| share(missing, &claims, name)).collect()
}

#[test]
fn what_is_missing_is_divided_evenly_within_the_room() {
    assert_eq!(shares(7, &[(0, 0, 16)]), [7]);
    assert_eq!(shares(7, &[(0, 0, 16), (0, 0, 16)]), [4, 3]);
    assert_eq!(shares(7, &[(0, 0, 2), (0, 0, 16)]), [2, 5]);
    assert_eq!(shares(7, &[(0, 0, 2), (0, 0, 3)]), [2, 3], "no more than there is room for");
    assert_eq!(shares(7, &[(0, 0, 0), (0, 0, 16)]), [0, 7], "one stands still");
    assert_eq!(shares(0, &[(0, 3, 16), (0, 0, 16)]), [0, 0]);
}

#[test]
fn jobs_that_wait_move_to_a_queue_that_has_none() {
    // The new queue asks only once the other has given up: nothing is asked for twice.
    assert_eq!(shares(8, &[(0, 8, 16), (0, 0, 16)]), [4, 0]);
    assert_eq!(shares(8, &[(0, 4, 16), (0, 0, 16)]), [4, 4]);
    assert_eq!(shares(8, &[(8, 0, 16), (0, 0, 16)]), [8, 0], "what has a node is not given up");
    assert_eq!(shares(3, &[(0, 3, 16), (3, 0, 16)]), [0, 3], "and what it brings is not asked for");
}

#[test]
fn an_engine_that_does_not_answer_gives_nothing_up_and_counts_for_a_while() {
    let at = |seconds: u64| Timestamp(0) + Span::from_secs(1_000 + seconds);
    let claim = Claim { starting: 1, queued: 4, overdue: 2, room: 9 };
    assert_eq!(claim.unanswered(at(60), at(0)), Claim { starting: 5, queued: 0, overdue: 0, room: 0 });
    assert_eq!(claim.unanswered(at(61), at(0)), Claim::default());
}

/// Claims whose queued jobs are overdue, so many of each.
fn late_shares(missing: u32, parts: &[(u32, u32, u32, u32)]) -> Vec<u32> {
    let claim = |(number, part): (usize, &(u32, u32, u32, u32))| {
        let (starting, queued, overdue, room) = *part;
        (queue(number), Claim { starting, queued, overdue, room })
    };
    let claims: BTreeMap<QueueName, Claim> = parts.iter().enumerate().map(claim).collect();
    claims.keys().map(|name| share(missing, &claims, name)).collect()
}

#[test]
fn what_waits_too_long_keeps_its_place_and_others_are_asked_as_well() {
    assert_eq!(late_shares(1, &[(0, 1, 0, 16), (0, 0, 0, 16)]), [1, 0], "in time");
    assert_eq!(late_shares(1, &[(0, 1, 1, 16), (0, 0, 0, 16)]), [1, 1]);
    assert_eq!(late_shares(1, &[(0, 0, 0, 16), (0, 1, 1, 16)]), [1, 1]);
    assert_eq!(late_shares(4, &[(0, 2, 2, 16), (0, 2, 0, 16)]), [2, 4], "the other brings all of it");
    assert_eq!(
        late_shares(0, &[(0, 1, 1, 16), (0, 0, 0, 16)]),
        [0, 0],
        "it is given up once nothing is missing"
    );
    assert_eq!(late_shares(1, &[(0, 2, 2, 16), (1, 0, 0, 16)]), [1, 1], "or as much of it");
    assert_eq!(
        late_shares(4, &[(0, 1, 1, 16), (0, 0, 0, 2)]),
        [2, 2],
        "its own queue is asked for what the other has no room for"
    );
    assert_eq!(late_shares(4, &[(0, 1, 1, 16), (0, 2, 0, 2)]), [2, 2]);
}

#[test]
fn queues_that_all_let_jobs_wait_are_asked_for_no_more_than_is_missing() {
    assert_eq!(late_shares(4, &[(0, 2, 2, 16), (0, 2, 2, 16)]), [2, 2]);
    assert_eq!(late_shares(4, &[(0, 4, 4, 16)]), [4], "alone");
    assert_eq!(late_shares(6, &[(0, 4, 4, 16)]), [6], "alone, and asked for what is new");
    assert_eq!(late_shares(6, &[(0, 4, 4, 4)]), [4], "within its room");
}

fn parts() -> impl Strategy<Value = Vec<(u32, u32, u32)>> {
    proptest::collection::vec((0..9_u32, 0..9_u32, 0..20_u32), 1..6)
}

proptest! {
    #[test]
    fn no_queue_is_given_what_another_has_under_way(missing in 0..40_u32, parts in parts()) {
        let claims = claims(&parts);
        let total: u32 = claims.values().map(Claim::under_way).sum();
        for (name, claim) in &claims {
            let share = share(missing, &claims, name);
            prop_assert!(share <= claim.room.max(claim.starting));
            if share > claim.under_way() {
                prop_assert!(total + share - claim.under_way() <= missing, "{name} is given too much");
            }
        }
    }

    #[test]
    fn where_nothing_is_under_way_all_of_it_is_divided(missing in 0..40_u32, rooms in proptest::collection::vec(0..20_u32, 1..6)) {
        let parts: Vec<_> = rooms.iter().map(|room| (0, 0, *room)).collect();
        let shares = shares(missing, &parts);
        prop_assert_eq!(shares.iter().sum::<u32>(), missing.min(rooms.iter().sum()));
        let least = shares.iter().zip(&rooms).filter(|(share, room)| share < room).map(|(share, _)| *share).min();
        let most = shares.iter().max().copied().unwrap_or(0);
        prop_assert!(least.is_none_or(|least| most <= least + 1), "one has more than another has room for");
    }
}

/// What an engine is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nature {
    /// It gives a node to a job that waits, once in so many rounds.
    Gives(u64),
    Refuses,
    /// Its jobs end before an agent joins.
    Fails,
    /// It does not answer after the first jobs.
    Silent,
    /// It lets jobs wait for ever.
    Never,
}

struct Side {
    nature: Nature,
    ledger: Ledger,
    jobs: Vec<Job>,
    heard: Timestamp,
}

/// Visits that want a host each, and queues.
struct World {
    random: ChaCha8Rng,
    now: Timestamp,
    sides: Vec<Side>,
    claims: BTreeMap<QueueName, Claim>,
    visits: u32,
    hosts: Vec<ProvidedHost>,
    /// Jobs that were ever overdue: these alone may be asked for beside another's.
    overdue: BTreeSet<JobId>,
    next: u32,
}

impl World {
    fn new(seed: u64, visits: u32, natures: &[Nature]) -> Self {
        let now = Timestamp(0) + Span::from_secs(1_000_000);
        let side = |nature: &Nature| Side {
            nature: *nature,
            ledger: Ledger::default(),
            jobs: Vec::new(),
            heard: now,
        };
        let sides: Vec<Side> = natures.iter().map(side).collect();
        let claim = |side: &Side| Claim::unheard(now, &LIMITS, &side.ledger);
        let claims = sides.iter().enumerate().map(|(number, side)| (queue(number), claim(side))).collect();
        let random = ChaCha8Rng::seed_from_u64(seed);
        Self { random, now, sides, claims, visits, hosts: Vec::new(), overdue: BTreeSet::new(), next: 1 }
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.random.next_u64().is_multiple_of(many)
    }

    /// A host that is here serves one visit, and does so at the end of the round.
    fn demand(&self) -> Demand {
        let here = self.hosts.iter().filter(|host| host.is_here && host.worth == Worth::Now).count() as u32;
        let missing = self.visits.saturating_sub(here);
        Demand { missing, hosts: self.hosts.clone(), ..Demand::default() }
    }

    /// As the coordinator does it: the engine is asked, then all is decided and entered at once.
    fn look(&mut self, number: usize) {
        let name = queue(number);
        if self.sides[number].nature == Nature::Silent && !self.sides[number].jobs.is_empty() {
            let claim = self.claims[&name].unanswered(self.now, self.sides[number].heard);
            self.claims.insert(name, claim);
            return;
        }
        let demand = self.demand();
        let others = (0..self.sides.len()).filter(|other| *other != number);
        let others: BTreeSet<JobId> =
            others.flat_map(|other| self.sides[other].ledger.jobs.keys().cloned()).collect();
        let side = &mut self.sides[number];
        side.heard = self.now;
        catch_up(&mut side.jobs, &demand);
        side.ledger.observe(self.now, &side.jobs, &demand);
        let entered = Claim::of(self.now, &LIMITS, &side.ledger, &side.jobs, 1);
        let since = |note: &Note| note.queued_since.filter(|since| self.now - *since > LIMITS.patience);
        let overdue =
            side.ledger.jobs.iter().filter(|(_, note)| note.started.is_none() && since(note).is_some());
        self.overdue.extend(overdue.map(|(id, _)| id.clone()));
        self.claims.insert(name.clone(), entered);
        let share = share(demand.missing, &self.claims, &name);
        let seen = demand.of("", share);
        for action in decide(self.now, &LIMITS, &side.ledger, &side.jobs, &seen, &others) {
            match action {
                ProvisionAction::Submit { jobs, .. } => (0..jobs).for_each(|_| self.submit(number)),
                ProvisionAction::Cancel { job, why } => self.cancel(number, &job, why),
                ProvisionAction::GiveBack { host, job, why } => {
                    assert!(!others.contains(&job), "a host of another queue is left to it");
                    self.sides[number].ledger.given_back(self.now, &job, why);
                    self.leave(&host);
                }
                ProvisionAction::Resume { .. } | ProvisionAction::Exclude { .. } => {}
                ProvisionAction::Reboot { node, .. } => panic!("{node}: nothing here wants another boot"),
            }
        }
        let side = &self.sides[number];
        self.claims.insert(name, Claim::of(self.now, &LIMITS, &side.ledger, &side.jobs, 1));
    }

    fn submit(&mut self, number: usize) {
        if self.sides[number].nature == Nature::Refuses {
            self.sides[number].ledger.refused(self.now, "no", None);
            return;
        }
        let id: JobId = self.next.to_string().parse().unwrap();
        self.next += 1;
        let (node, started, ends, words) = (None, None, None, String::new());
        let side = &mut self.sides[number];
        side.jobs.push(Job { id: id.clone(), state: JobState::Queued, words, node, started, ends });
        side.ledger.asked(id, Nodes::new());
    }

    fn cancel(&mut self, number: usize, job: &JobId, why: Cancelled) {
        let side = &mut self.sides[number];
        side.ledger.cancelled(job, why);
        side.jobs.retain(|known| known.id != *job);
    }

    fn leave(&mut self, host: &HostId) {
        let Some(at) = self.hosts.iter().position(|known| known.host == *host) else { return };
        let left = self.hosts.remove(at);
        self.sides.iter_mut().for_each(|side| side.jobs.retain(|job| left.job.as_ref() != Some(&job.id)));
    }

    /// What engines and hosts do between two looks.
    fn pass(&mut self) {
        self.now = self.now + Span::from_secs(1 + self.random.next_u64() % 10);
        for number in 0..self.sides.len() {
            for at in 0..self.sides[number].jobs.len() {
                let (state, nature) = (self.sides[number].jobs[at].state, self.sides[number].nature);
                match (state, nature) {
                    (JobState::Queued, Nature::Gives(many)) if self.one_in(many) => self.start(number, at),
                    (JobState::Queued, Nature::Fails) => {
                        self.sides[number].jobs[at].state = JobState::Ended(JobEnd::Failed);
                    }
                    (_, _) => {}
                }
            }
        }
        for host in self.hosts.iter_mut().filter(|host| host.worth == Worth::Now) {
            if self.visits > 0 && self.random.next_u64().is_multiple_of(3) {
                self.visits -= 1;
                (host.has_served, host.worth) = (true, Worth::Nothing);
            }
        }
    }

    /// The engine says so at once, or later than the agent.
    fn start(&mut self, number: usize, at: usize) {
        let id = &self.sides[number].jobs[at].id;
        if self.hosts.iter().any(|host| host.job.as_ref() == Some(id)) {
            return;
        }
        let job = &mut self.sides[number].jobs[at];
        let node: NodeName = format!("n{}", job.id).parse().unwrap();
        if self.random.next_u64().is_multiple_of(2) {
            (job.state, job.node, job.started) = (JobState::Running, Some(node.clone()), Some(self.now));
        }
        self.hosts.push(ProvidedHost {
            host: format!("h{}", job.id).parse().unwrap(),
            node,
            job: Some(job.id.clone()),
            boot: "boot".parse().unwrap(),
            is_here: true,
            is_busy: false,
            has_served: false,
            engaged: ServiceState::Serving,
            worth: Worth::Now,
            left_out_until: None,
        });
    }

    /// Jobs of engines that answer whose agents are still to join, and that were never overdue.
    fn under_way(&self) -> u32 {
        let counts = |side: &&Side| side.nature != Nature::Silent || self.now - side.heard <= OUT_OF_SIGHT;
        let sides = self.sides.iter().filter(counts);
        let joined = |job: &Job| self.hosts.iter().any(|host| host.job.as_ref() == Some(&job.id));
        let is_to_join = |job: &&Job| {
            let waits = matches!(job.state, JobState::Queued | JobState::Running) && !joined(job);
            waits && !self.overdue.contains(&job.id)
        };
        sides.map(|side| side.jobs.iter().filter(is_to_join).count() as u32).sum()
    }
}

const LIMITS: ProvisionLimits =
    ProvisionLimits { jobs: 9, queued: 5, node_time: None, patience: QUEUE_PATIENCE };
/// Looks after which all has to be done: far more than any seed takes.
const LOOKS: u32 = 20_000;

fn nature() -> impl Strategy<Value = Nature> {
    prop_oneof![
        (1..30_u64).prop_map(Nature::Gives),
        Just(Nature::Refuses),
        Just(Nature::Fails),
        Just(Nature::Silent),
        Just(Nature::Never)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn queues_together_ask_for_no_more_than_is_missing_and_none_stops_the_others(
        seed: u64,
        visits in 1..40_u32,
        mut natures in proptest::collection::vec(nature(), 0..4),
        many in 1..20_u64,
    ) {
        // One of them, anywhere among the others, does what it should.
        natures.insert(seed as usize % (natures.len() + 1), Nature::Gives(many));
        let mut world = World::new(seed, visits, &natures);
        let mut looks = 0;
        while world.visits > 0 {
            let number = world.random.next_u64() as usize % natures.len();
            let (before, before_of_it) = (world.under_way(), world.claims[&queue(number)].under_way());
            world.look(number);
            let (under_way, missing) = (world.under_way(), world.demand().missing);
            let of_it = world.claims[&queue(number)].under_way();
            prop_assert!(of_it <= missing.max(before_of_it), "{of_it} are under way in one queue for {missing}: {natures:?}");
            prop_assert!(under_way <= missing.max(before), "{under_way} are under way for {missing}: {natures:?}");
            if world.one_in(2) {
                world.pass();
            }
            looks += 1;
            prop_assert!(looks < LOOKS, "not done: {} visits, {:?}", world.visits, natures);
        }
        for side in &world.sides {
            let is_bad = matches!(side.nature, Nature::Refuses | Nature::Fails);
            prop_assert!(is_bad || side.ledger.stopped.is_none(), "{:?}: {:?}", side.nature, side.ledger.stopped);
        }
    }
}
