//! An engine that starts, fails, preempts and puts back jobs as it likes, hosts that serve one visit each, and a
//! coordinator that is started anew at any moment.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng as _};

use super::super::*;

const NODES: u64 = 12;
const LIMITS: ProvisionLimits =
    ProvisionLimits { jobs: 5, queued: 3, node_time: None, patience: QUEUE_PATIENCE };
/// Looks after which all has to be done: far more than any seed takes.
const LOOKS: u32 = 20_000;

struct World {
    random: ChaCha8Rng,
    now: Timestamp,
    ledger: Ledger,
    jobs: BTreeMap<u32, Job>,
    excluded: BTreeMap<u32, Nodes>,
    hosts: BTreeMap<NodeName, ProvidedHost>,
    used: BTreeSet<NodeName>,
    visits: u32,
    next: u32,
    trouble: u64,
}

impl World {
    fn new(seed: u64, visits: u32, trouble: u64) -> Self {
        let random = ChaCha8Rng::seed_from_u64(seed);
        let (jobs, excluded, hosts, used) = Default::default();
        let now = Timestamp(0) + Span::from_secs(1_000_000);
        Self { random, now, ledger: Ledger::default(), jobs, excluded, hosts, used, visits, next: 1, trouble }
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.random.next_u64().is_multiple_of(many)
    }

    fn demand(&self) -> Demand {
        let worth = |host: &ProvidedHost| match (self.visits, self.used.contains(&host.node)) {
            (0, _) | (_, true) => Worth::Nothing,
            (_, false) => Worth::Now,
        };
        let hosts: Vec<ProvidedHost> =
            self.hosts.values().map(|host| ProvidedHost { worth: worth(host), ..host.clone() }).collect();
        let serves = |host: &&ProvidedHost| {
            host.is_here && host.engaged == ServiceState::Serving && host.worth == Worth::Now
        };
        let able = hosts.iter().filter(serves).count() as u32;
        Demand { missing: self.visits.saturating_sub(able), hosts, ..Demand::default() }
    }

    fn look(&mut self) {
        let demand = self.demand();
        let jobs: Vec<Job> = self.jobs.values().cloned().collect();
        self.ledger.observe(self.now, &jobs, &demand);
        for action in decide(self.now, &LIMITS, &self.ledger, &jobs, &demand, &BTreeSet::new()) {
            self.perform(action);
        }
        let is = |state: JobState| self.jobs.values().filter(move |job| job.state == state).count() as u32;
        assert!(is(JobState::Queued) <= LIMITS.queued, "no more in the queue than allowed");
        assert!(is(JobState::Queued) + is(JobState::Running) <= LIMITS.jobs, "no more at once than allowed");
    }

    fn perform(&mut self, action: ProvisionAction) {
        match action {
            ProvisionAction::Submit { jobs, hosts: _, exclude } => {
                (0..jobs).for_each(|_| self.submit(&exclude));
            }
            ProvisionAction::Exclude { job, nodes } => {
                self.ledger.excluded(&job, &nodes);
                self.excluded.insert(number(&job), nodes);
            }
            ProvisionAction::GiveBack { host, job, why } => {
                self.ledger.given_back(self.now, &job, why);
                self.host(&host).engaged = ServiceState::GivenBack;
            }
            ProvisionAction::Resume { host } => self.host(&host).engaged = ServiceState::Serving,
            ProvisionAction::Reboot { node, leaves: _ } => panic!("{node}: nothing here wants another boot"),
            ProvisionAction::Cancel { job, why } => {
                let held = self
                    .hosts
                    .values()
                    .any(|host| host.job.as_ref() == Some(&job) && host.is_busy && host.is_here);
                assert!(!held, "no job is ended while its host has something");
                self.ledger.cancelled(&job, why);
                self.end(number(&job), JobEnd::Cancelled);
            }
        }
    }

    fn submit(&mut self, exclude: &Nodes) {
        let id = self.next;
        self.next += 1;
        let name: JobId = id.to_string().parse().unwrap();
        let (node, started, ends) = (None, None, None);
        let words = "PENDING".to_owned();
        self.jobs.insert(id, Job { id: name.clone(), state: JobState::Queued, words, node, started, ends });
        self.excluded.insert(id, exclude.clone());
        // A coordinator that is killed right now has not written the job down.
        if !self.one_in(10) {
            self.ledger.asked(name, exclude.clone());
        }
    }

    fn host(&mut self, host: &HostId) -> &mut ProvidedHost {
        self.hosts.values_mut().find(|known| known.host == *host).unwrap()
    }

    /// What the engine and the hosts do between two looks.
    fn pass(&mut self) {
        self.now = self.now + Span::from_secs(1 + self.random.next_u64() % 20);
        for id in self.jobs.keys().copied().collect::<Vec<_>>() {
            let state = self.jobs[&id].state;
            match state {
                JobState::Queued if self.one_in(3) => self.start(id),
                JobState::Running if self.trouble > 0 && self.one_in(self.trouble) => self.disturb(id),
                JobState::Running => self.work(id),
                JobState::Ended(_) if self.one_in(4) => drop(self.jobs.remove(&id)),
                JobState::Queued | JobState::Ending | JobState::Ended(_) => {}
            }
        }
    }

    fn start(&mut self, id: u32) {
        let taken: BTreeSet<NodeName> = self
            .jobs
            .values()
            .filter(|job| job.state == JobState::Running)
            .filter_map(|job| job.node.clone())
            .collect();
        let nodes = (0..NODES).map(|number| format!("n{number}").parse::<NodeName>().unwrap());
        let free: Vec<_> =
            nodes.filter(|node| !taken.contains(node) && !self.excluded[&id].contains(node)).collect();
        let Some(node) = free.get(self.random.next_u64() as usize % free.len().max(1)).cloned() else {
            return;
        };
        let (now, job) = (self.now, self.jobs.get_mut(&id).unwrap());
        (job.state, job.node, job.started) = (JobState::Running, Some(node), Some(now));
    }

    /// The agent joins, is given a visit, or ends it.
    fn work(&mut self, id: u32) {
        let job = self.jobs[&id].clone();
        let node = job.node.clone().unwrap();
        let known =
            self.hosts.get(&node).is_some_and(|host| host.is_here && host.job.as_ref() == Some(&job.id));
        if !known {
            if self.one_in(2) {
                let before = self.hosts.get(&node).cloned();
                self.hosts.insert(node.clone(), joined(&node, job.id, before));
            }
            return;
        }
        let host = self.hosts.get_mut(&node).unwrap();
        if host.is_busy {
            host.is_busy = false;
        } else if host.engaged == ServiceState::Serving && self.visits > 0 && !self.used.contains(&node) {
            (host.is_busy, host.has_served) = (true, true);
            self.visits -= 1;
            self.used.insert(node);
        }
    }

    /// A visit that is lost waits again.
    fn disturb(&mut self, id: u32) {
        let job = &self.jobs[&id];
        let node = job.node.clone().unwrap();
        if let Some(host) = self.hosts.get(&node).filter(|host| host.job.as_ref() == Some(&job.id))
            && host.is_busy
            && (self.used.len() as u64) < NODES
        {
            self.visits += 1;
        }
        match self.random.next_u64() % 3 {
            0 => {
                self.end(id, JobEnd::Preempted);
                self.jobs.get_mut(&id).unwrap().state = JobState::Queued;
            }
            1 => self.end(id, JobEnd::Failed),
            _ => self.end(id, JobEnd::TimedOut),
        }
    }

    fn end(&mut self, id: u32, end: JobEnd) {
        let job = self.jobs.get_mut(&id).unwrap();
        (job.state, job.ends) = (JobState::Ended(end), Some(self.now));
        for host in self.hosts.values_mut().filter(|host| host.job.as_ref() == Some(&job.id)) {
            (host.is_here, host.is_busy) = (false, false);
        }
    }
}

fn number(job: &JobId) -> u32 {
    job.as_str().parse().unwrap()
}

fn joined(node: &NodeName, job: JobId, before: Option<ProvidedHost>) -> ProvidedHost {
    ProvidedHost {
        host: format!("host-{node}").parse().unwrap(),
        node: node.clone(),
        job: Some(job),
        boot: "boot".parse().unwrap(),
        is_here: true,
        is_busy: false,
        has_served: false,
        engaged: before.map_or(ServiceState::Serving, |host| host.engaged),
        worth: Worth::Nothing,
        left_out_until: None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn all_visits_are_served_and_all_nodes_given_back(seed: u64, visits in 1..8_u32, trouble in 20..200_u64) {
        let mut world = World::new(seed, visits, trouble);
        let mut looks = 0;
        let is_alive = |job: &Job| !matches!(job.state, JobState::Ended(_));
        while world.visits > 0 || world.jobs.values().any(is_alive) || world.hosts.values().any(|host| host.engaged == ServiceState::GivenBack) {
            // Bad luck may take all nodes, or stop the asking; both are told.
            if world.used.len() as u64 == NODES || world.ledger.stopped.is_some() {
                break;
            }
            world.look();
            world.pass();
            looks += 1;
            prop_assert!(looks < LOOKS, "not done: {:?} {:?}", world.jobs, world.hosts);
        }
    }

    #[test]
    fn an_engine_without_trouble_serves_all_of_it(seed: u64, visits in 1..=NODES as u32) {
        let mut world = World::new(seed, visits, 0);
        let is_alive = |job: &Job| !matches!(job.state, JobState::Ended(_));
        let mut looks = 0;
        while world.visits > 0 || world.jobs.values().any(is_alive) {
            world.look();
            world.pass();
            looks += 1;
            prop_assert!(looks < LOOKS, "not done: {:?} {:?}", world.jobs, world.hosts);
        }
        prop_assert_eq!(&world.ledger.stopped, &None);
        prop_assert_eq!(world.used.len() as u32, visits, "each on a node of its own");
    }
}
