//! Which machine a host is, and which agent serves it.

use uuid::Uuid;

use super::*;
use crate::fixture::{self, granted};
use crate::machine::{Command, HandleOutcome, Notice, Settings, event::Event};
use crate::run::{AfterLoss, record, record::Record};
use crate::value::{hint::Hinted, id::BootId, id::ExperimentId, id::LeaseEpoch, time::Span};
use crate::{agent::message::AttemptReport, fingerprint::HardwareId};

const EXPERIMENT: ExperimentId = ExperimentId(Uuid::from_u128(1));
const DAY: Span = Span::from_secs(86_400);

/// A machine, and the hosts that come to it.
struct Pool {
    machine: Machine,
    now: Timestamp,
}

impl Pool {
    fn new() -> Self {
        Self { machine: Machine::new(Settings::default()), now: Timestamp(0) + DAY }
    }

    fn handle(&mut self, command: Command) -> Result<HandleOutcome, Refusal> {
        let outcome = self.machine.handle(self.now, command)?;
        self.machine.check();
        Ok(outcome)
    }

    /// An agent joins whose start is numbered by this moment and a bit.
    fn join(&mut self, facts: HostFacts, agent: u128) -> Result<HandleOutcome, Refusal> {
        self.join_as_of(facts, agent, self.now.0)
    }

    fn join_as_of(&mut self, facts: HostFacts, agent: u128, epoch: u64) -> Result<HandleOutcome, Refusal> {
        self.handle(fixture::join(facts, agent, epoch))
    }

    fn speaker(&self, host: &str) -> Speaker {
        let host: HostId = host.parse().unwrap();
        let epoch = self.machine.host(&host).unwrap().epoch;
        Speaker { host, epoch }
    }

    fn leave(&mut self, host: &str) {
        let speaker = self.speaker(host);
        self.machine.notice(self.now, Notice::Leave(speaker));
    }

    /// Submits a plan under a policy; the host asks for a run of it. Gives the lease, if it gets one.
    fn submit(&mut self, policy: &str) {
        let text = format!(
            "[experiment]\nname = \"one\"\n[repetitions]\nruns = 2\n[versions.old]\nbaseline = true\n\
             [versions.new]\n[benchmarks.b]\ncommand = [\"true\"]\n[independence]\npolicy = \"{policy}\"\n"
        );
        self.handle(fixture::submit(EXPERIMENT, fixture::plan(&text), "ada")).unwrap();
    }

    fn ask(&mut self, host: &str) -> Option<LeaseEpoch> {
        let asked = Command::Ask(self.speaker(host));
        granted(self.handle(asked).unwrap()).first().map(|lease| lease.epoch)
    }

    fn report(
        &mut self,
        host: &str,
        lease: LeaseEpoch,
        executed_by: AgentEpoch,
    ) -> Result<HandleOutcome, Refusal> {
        let speaker = self.speaker(host);
        let record = Record::bare(record::Outcome::Measured);
        let report = Box::new(AttemptReport { lease, executed_by, record });
        self.handle(Command::Report { speaker, report })
    }

    fn reset(&mut self, host: &str) -> HandleOutcome {
        self.handle(Command::ResetHost(request(host))).unwrap()
    }
}

fn request(host: &str) -> HostRequest {
    HostRequest { host: host.parse().unwrap(), by: "ada".to_owned() }
}

fn facts(host: &str, boot: &str, hardware: Option<&str>, sharing: Sharing) -> HostFacts {
    let machine = hardware.and_then(|serial| HardwareId::from_marks([("serial", serial)]));
    let bare = HostFacts::bare(host.parse().unwrap(), boot.parse().unwrap());
    HostFacts { hardware: machine, machine, sharing, ..bare }
}

fn same(other: &str, by: Identifier) -> Refusal {
    Refusal::SameMachine { other: other.parse().unwrap(), by }
}

#[test]
fn one_machine_is_one_host_whatever_it_is_called() {
    for (second, by) in [
        (("boot", None), Identifier::Boot),
        (("boot", Some("other")), Identifier::Boot),
        (("another-boot", Some("serial")), Identifier::Hardware),
    ] {
        let (boot, hardware) = second;
        for (one, other) in [
            (Sharing::Alone, Sharing::Alone),
            (Sharing::Shared, Sharing::Alone),
            (Sharing::Alone, Sharing::Shared),
            (Sharing::Shared, Sharing::Unsaid),
        ] {
            let mut pool = Pool::new();
            let named = HostFacts { named_by_owner: true, ..facts("n1", "boot", Some("serial"), one) };
            pool.join(named, 1).unwrap();
            let refused = pool.join(facts("n2", boot, hardware, other), 2).unwrap_err();
            assert_eq!(refused, same("n1", by), "{one:?} {other:?}");
            assert!(refused.is_lasting() && refused.hint().unwrap().contains("--share-machine"));
            pool.join(facts("n3", "third-boot", Some("third"), other), 3).unwrap();
        }
        let mut pool = Pool::new();
        pool.join(facts("n1", "boot", Some("serial"), Sharing::Shared), 1).unwrap();
        pool.join(facts("n2", boot, hardware, Sharing::Shared), 2).unwrap();
        assert_eq!(pool.machine.hosts_here(), 2, "the owner said so of both");
    }
}

/// Virtual machines are often started with one made-up address.
#[test]
fn hardware_without_anything_of_its_own_does_not_make_two_hosts_one() {
    let mut pool = Pool::new();
    for (agent, host) in (1..).zip(["n1", "n2"]) {
        let guest = facts(host, host, Some("made up"), Sharing::Alone);
        pool.join(HostFacts { machine: None, ..guest }, agent).unwrap();
    }
}

#[test]
fn a_machine_may_change_its_name_only_while_nothing_rests_on_the_old_one() {
    let old = || facts("old", "boot", None, Sharing::Alone);
    let new = || facts("new", "boot", None, Sharing::Alone);
    let mut pool = Pool::new();
    pool.join(old(), 1).unwrap();
    assert_eq!(pool.join(new(), 2).unwrap_err(), same("old", Identifier::Boot), "it is connected");
    pool.leave("old");
    pool.join(new(), 2).unwrap();
    assert_eq!(pool.join(old(), 1).unwrap_err(), same("new", Identifier::Boot));

    // In an experiment it would count twice.
    pool.submit("distinct");
    let lease = pool.ask("new").expect("a run");
    let epoch = pool.speaker("new").epoch;
    pool.report("new", lease, epoch).unwrap();
    pool.leave("new");
    assert_eq!(pool.join(old(), 1).unwrap_err(), same("new", Identifier::Boot), "it has served");
    pool.handle(Command::Cancel(Request { experiment: EXPERIMENT, by: "ada".to_owned() })).unwrap();
    assert_eq!(pool.machine.active().count(), 0);
    // Nor does a machine get rid of a quarantine.
    pool.handle(Command::Quarantine { request: request("new"), reason: "hot".to_owned() }).unwrap();
    assert_eq!(pool.join(old(), 1).unwrap_err(), same("new", Identifier::Boot), "it is quarantined");
    pool.handle(Command::ResumeHost(request("new"))).unwrap();
    pool.join(old(), 1).unwrap();
}

/// In journals of earlier releases an id that the owner gave was believed.
#[test]
fn hosts_of_earlier_releases_stand_and_have_to_say_so_when_they_come_again() {
    let mut pool = Pool::new();
    for (agent, host) in (1..).zip(["n1", "n2"]) {
        let change = Change::HostJoined {
            facts: Box::new(HostFacts {
                named_by_owner: true,
                ..facts(host, "boot", Some("serial"), Sharing::Unsaid)
            }),
            agent: AgentId(Uuid::from_u128(agent)),
            epoch: AgentEpoch(1),
        };
        pool.machine.replay(&Event { at: pool.now, change });
    }
    pool.machine.check();
    let silent = facts("n1", "boot", Some("serial"), Sharing::Unsaid);
    assert_eq!(pool.join(silent, 1).unwrap_err(), same("n2", Identifier::Boot));
    pool.join(facts("n1", "boot", Some("serial"), Sharing::Shared), 1).unwrap();
    pool.join(facts("n2", "boot", Some("serial"), Sharing::Shared), 2).unwrap();
}

#[test]
fn a_start_in_the_far_future_does_not_lock_the_host() {
    let mut pool = Pool::new();
    let host = || facts("host", "boot", None, Sharing::Alone);
    let latest = (pool.now + MAX_EPOCH_LEAD).0;
    for epoch in [u64::MAX, latest + 1] {
        let refused = pool.join_as_of(host(), 1, epoch).unwrap_err();
        let claimed = AgentEpoch(epoch);
        assert_eq!(refused, Refusal::FutureAgent { host: host().host, claimed, now: pool.now });
        assert!(refused.is_lasting() && refused.hint().unwrap().contains("clocks"), "{refused}");
    }
    pool.join_as_of(host(), 1, latest).unwrap();
    pool.leave("host");
    // Whoever comes after that is told, raises its number, and is there.
    let refused = pool.join(host(), 2).unwrap_err();
    assert_eq!(refused.known_epoch(), Some(AgentEpoch(latest)));
    assert!(!refused.is_lasting());
    pool.now = pool.now + Span(1);
    pool.join_as_of(host(), 2, latest + 1).unwrap();
}

#[test]
fn a_reset_gives_a_locked_id_back_and_fences_what_was_before() {
    let mut pool = Pool::new();
    let real = || facts("host", "boot", Some("serial"), Sharing::Alone);
    pool.join(real(), 1).unwrap();
    pool.submit("any");
    let served = pool.ask("host").expect("a run");
    let epoch = pool.speaker("host").epoch;
    pool.report("host", served, epoch).unwrap();
    pool.leave("host");
    // An earlier release let anyone in with this number.
    let change = Change::HostJoined {
        facts: Box::new(facts("host", "made-up", None, Sharing::Unsaid)),
        agent: AgentId(Uuid::from_u128(9)),
        epoch: AgentEpoch(u64::MAX),
    };
    pool.machine.replay(&Event { at: pool.now, change });
    let stolen = pool.ask("host").expect("a run");
    pool.now = pool.now + DAY;
    assert!(pool.join(real(), 1).is_err(), "it is locked");

    let reset = pool.reset("host");
    let changes: Vec<&Change> = reset.events.iter().map(|event| &event.change).collect();
    assert!(
        matches!(
            changes[..],
            [Change::AttemptLost { after: AfterLoss::Again(_), .. }, Change::HostReset { .. }, ..]
        ),
        "{changes:?}"
    );
    let again = Machine::assemble(Settings::default(), pool.machine.pieces()).unwrap();
    assert_eq!(again, pool.machine, "a checkpoint keeps it");
    let old = Speaker { host: real().host, epoch: AgentEpoch(u64::MAX) };
    let asked = pool.handle(Command::Ask(old)).unwrap_err();
    assert_eq!(asked, Refusal::NotJoined(real().host), "who had it is heard no more");

    // The machine's own boot is none that was left behind, and no new one either.
    let known = pool.join(real(), 1).unwrap();
    assert!(matches!(known.events[0].change, Change::HostJoined { .. }));
    assert_eq!(pool.machine.host(&real().host).unwrap().boot(), 0);
    // What the other says later is kept and does not count; nor does it as the work of this one.
    let refused = pool.report("host", stolen, pool.speaker("host").epoch).unwrap_err();
    assert!(matches!(refused, Refusal::NotYourLease { .. }), "{refused}");
    let late = pool.report("host", stolen, AgentEpoch(u64::MAX)).unwrap();
    assert!(matches!(late.events[0].change, Change::LateReport { .. }), "{late:?}");
    let next = pool.ask("host").expect("the run again");
    assert!(next > stolen, "lease epochs are never given twice");
}

#[test]
fn what_passes_is_not_told_as_lasting() {
    let mut pool = Pool::new();
    pool.join(facts("host", "boot", None, Sharing::Alone), 1).unwrap();
    // The machine may have booted before its connection was noticed to be gone.
    let booted = pool.join(facts("host", "next", None, Sharing::Alone), 1).unwrap_err();
    assert!(matches!(booted, Refusal::AnotherMachine { by: Identifier::Boot, .. }), "{booted}");
    let claimed = pool.join(facts("host", "boot", None, Sharing::Alone), 2).unwrap_err();
    assert!(matches!(claimed, Refusal::HostClaimed { .. }), "{claimed}");
    assert!(!booted.is_lasting() && !claimed.is_lasting());

    let before: BootId = "boot".parse().unwrap();
    pool.leave("host");
    pool.join(facts("host", "next", None, Sharing::Alone), 1).unwrap();
    let old = pool.join(facts("host", "boot", None, Sharing::Alone), 1).unwrap_err();
    assert!(matches!(old, Refusal::AnotherMachine { by: Identifier::Boot, .. }), "{old}");
    pool.leave("host");
    let old = pool.join(facts("host", "boot", None, Sharing::Alone), 1).unwrap_err();
    assert_eq!(old, Refusal::OldBoot { host: "host".parse().unwrap(), boot: before });
    assert!(old.is_lasting());
}
