//! What the machine tells of its hosts.

use super::*;
use crate::fingerprint::HardwareId;
use crate::host::{MAX_BOOTS, Sharing, Standing};
use crate::machine::feasibility::HostClass;
use crate::run::RunState;
use crate::value::hint::Hinted;
use crate::value::id::{Attempt, BootId};

#[test]
fn hosts_are_listed_by_id_from_any_on() {
    let mut scene = Scene::of(3);
    scene.leave(1);
    let ids = |after: Option<u32>| {
        let after = after.map(host);
        let hosts = scene.machine.hosts_after(after.as_ref());
        hosts.map(|host| host.facts.host.clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(None), [host(0), host(1), host(2)]);
    assert_eq!(ids(Some(0)), [host(1), host(2)]);
    assert_eq!(ids(Some(2)), []);
    assert_eq!(scene.machine.hosts_here(), 2);
    assert_eq!(scene.machine.hosts().len(), 3);
    assert_eq!(scene.machine.host(&host(7)), None);
}

#[test]
fn the_pool_counts_connected_hosts_by_class() {
    let mut scene = Scene::of(4);
    scene.join(HostFacts {
        fingerprint: fingerprint("large"),
        can_reboot: true,
        allocation: Some("job".parse().expect("an id")),
        ..facts(4)
    });
    let any = format!("{PLAIN}[independence]\nhosts = \"any\"\n");
    scene.submit(FIRST, &any);
    scene.serve(0);
    scene.ask(1).expect("a run");
    scene.handle(Command::Drain(scene.request(2)));
    scene.leave(3);
    let class = |model: &str| fingerprint(model).class().to_string();
    let small = HostClass {
        class: class("small"),
        available: 2,
        busy: 1,
        used: 2,
        out_of_service: 1,
        ..HostClass::default()
    };
    let large = HostClass {
        class: class("large"),
        available: 1,
        can_reboot: 1,
        allocated: 1,
        ..HostClass::default()
    };
    let mut expected = vec![small, large];
    let mut found = scene.machine.pool().classes;
    expected.sort_by(|one, other| one.class.cmp(&other.class));
    found.sort_by(|one, other| one.class.cmp(&other.class));
    assert_eq!(found, expected);
}

#[test]
fn a_host_that_is_passed_over_is_told_in_what_it_differs() {
    let mut scene = Scene::of(2);
    scene.join(HostFacts { fingerprint: fingerprint("large"), ..facts(2) });
    scene.submit(FIRST, PLAIN);
    scene.serve(0);
    assert_eq!(scene.machine.passed(&host(0), FIRST), None, "it is taken");
    let differences = scene.machine.passed(&host(2), FIRST).expect("it is not");
    let names: Vec<&str> = differences.iter().map(|difference| difference.fact.as_str()).collect();
    assert_eq!(names, ["cpu.model"]);
    assert_eq!(scene.machine.fingerprint(fingerprint("large").class()), Some(&fingerprint("large")));
    assert_eq!(scene.machine.fingerprint(fingerprint("other").class()), None);
    scene.handle(Command::Approve { request: asked(FIRST), host: host(2) });
    assert_eq!(scene.machine.passed(&host(2), FIRST), None, "by a person's word");
    assert_eq!(scene.machine.experiment(FIRST).expect("active").classes().len(), 2);
}

#[test]
fn who_joins_as_another_is_refused() {
    let mut scene = Scene::of(1);
    let hardware = |serial: &str| HardwareId::from_marks([("serial", serial)]);
    scene.join(HostFacts { hardware: hardware("one"), ..facts(1) });
    let copy = scene.joining(HostFacts { hardware: hardware("two"), ..facts(1) });
    let refusal = scene.refused(copy);
    assert!(matches!(refusal, Refusal::AnotherMachine { .. }));
    assert!(refusal.hint().is_some_and(|hint| hint.contains("--host-id")), "it can be helped: {refusal}");
    let boot: BootId = "next".parse().expect("a boot id");
    let elsewhere = scene.joining(HostFacts { boot: boot.clone(), ..facts(0) });
    assert!(matches!(scene.refused(elsewhere), Refusal::AnotherMachine { .. }), "while the other is here");
    scene.leave(0);
    scene.join(HostFacts { boot, ..facts(0) });
    scene.leave(0);
    let old = scene.joining(facts(0));
    let refusal = scene.refused(old);
    assert!(matches!(refusal, Refusal::OldBoot { .. }));
    assert_eq!(Refusal::NotJoined(host(0)).hint(), None, "its agent connects again");
}

#[test]
fn what_is_replayed_is_as_if_it_had_been_decided() {
    let mut scene = Scene::with(1, PLAIN);
    let mut replayed = scene.machine.clone();
    let outcome = scene.handle(Command::Ask(scene.speaker(0)));
    outcome.events.iter().for_each(|event| replayed.replay(event));
    assert_eq!(replayed, scene.machine);
}

#[test]
fn an_older_start_of_an_agent_is_told_the_latest() {
    let mut scene = Scene::of(1);
    scene.join(facts(0));
    let agent = AgentId(Uuid::from_u128(7));
    let stale = scene.refused(Command::Join { facts: facts(0), agent, epoch: AgentEpoch(1) });
    assert_eq!(stale.known_epoch(), Some(AgentEpoch(2)));
    assert_eq!(Refusal::TooManyHosts.known_epoch(), None);
    // The same start may connect again.
    scene.handle(Command::Join { facts: facts(0), agent, epoch: AgentEpoch(2) });
    scene.leave(0);
    let other = AgentId(Uuid::from_u128(8));
    let claimed = scene.refused(Command::Join { facts: facts(0), agent: other, epoch: AgentEpoch(2) });
    assert!(matches!(claimed, Refusal::StaleAgent { .. }), "a start is one agent's");
    scene.handle(Command::Join { facts: facts(0), agent: other, epoch: AgentEpoch(3) });
    let taken = scene.refused(Command::Join { facts: facts(0), agent, epoch: AgentEpoch(4) });
    assert!(matches!(taken, Refusal::HostClaimed { .. }), "and a host one agent's while it is here");
}

#[test]
fn the_time_is_the_latest_of_any_event() {
    let mut scene = Scene::of(1);
    let before = scene.now;
    assert_eq!(scene.machine.latest(), before);
    scene.now = Timestamp(before.0 - 5);
    scene.join(facts(1));
    assert_eq!(scene.machine.latest(), before, "time does not go back");
    assert_eq!(scene.machine.host(&host(1)).expect("it joined").heard, before);
}

#[test]
fn an_event_ends_the_attempt_that_it_names() {
    let (scene, lease) = Scene::leased(1, PLAIN);
    assert_eq!(scene.machine.next_lease().0, lease.epoch.0 + 1);
    let record = Arc::new(Record::bare(RunOutcome::Measured));
    let event = |lease| {
        let change = Change::RunReported { host: host(0), lease, record: record.clone() };
        Event { at: Timestamp(5), change }
    };
    assert_eq!(scene.machine.ended_by(&event(LeaseEpoch(lease.epoch.0 + 1))), None, "another lease");
    let ended = scene.machine.ended_by(&event(lease.epoch)).expect("it ends it");
    let cell = scene.machine.experiment(FIRST).expect("active").plan().cell_number(lease.run);
    assert_eq!((ended.lease.epoch, ended.cell, ended.ended), (lease.epoch, cell, Timestamp(5)));
    let is_leased = matches!(scene.machine.run(FIRST, lease.run), Some(RunState::Leased { .. }));
    assert!(is_leased, "to ask changes nothing");
    assert_eq!(scene.machine.run(FIRST, RunIndex(4)), None);
}

#[test]
fn fingerprints_of_so_many_classes_are_kept() {
    let mut scene = Scene::of(0);
    let model = |number: usize| fingerprint(&format!("model {number}"));
    for number in 0..=MAX_CLASSES {
        let command = scene.joining(HostFacts { fingerprint: model(number), ..facts(number as u32) });
        scene.machine.handle(scene.now, command).expect("nothing is wrong with it");
    }
    assert!(scene.machine.fingerprint(model(MAX_CLASSES - 1).class()).is_some());
    assert_eq!(scene.machine.fingerprint(model(MAX_CLASSES).class()), None, "one too many");
    scene.machine.check();
}

#[test]
fn a_loss_is_due_at_its_deadline_and_a_rest_is_none() {
    let (mut scene, lease) = Scene::leased(1, PLAIN);
    assert_eq!((scene.machine.next_loss(), scene.machine.next_rest()), (Some(lease.deadline), None));
    scene.now = lease.deadline;
    assert_eq!(scene.notice(Notice::Rest).events, [], "rest takes nothing");
    assert_eq!(scene.notice(Notice::Tick).ended.len(), 1);
    let mut scene = Scene::of(1);
    scene
        .submit(FIRST, &format!("{PLAIN}[independence]\npolicy = \"rested\"\nrest = {{ idle = \"40s\" }}\n"));
    scene.serve(0);
    assert_eq!(scene.ask(0), None, "it rests");
    assert_eq!(scene.machine.next_loss(), None);
    assert_eq!(scene.machine.next_rest(), Some(scene.now + Span::from_secs(40)));
}

#[test]
fn a_start_in_the_future_is_told_in_days() {
    let mut scene = Scene::of(0);
    let epoch = AgentEpoch((scene.now + MAX_EPOCH_LEAD + Span::from_secs(2 * 86_400)).0);
    let refusal = scene
        .refused(Command::Join { facts: facts(0), agent: AgentId(Uuid::from_u128(7)), epoch })
        .to_string();
    assert!(refusal.contains("367 days") && refusal.contains(" 365 "), "{refusal}");
}

#[test]
fn a_host_that_does_not_say_whether_it_shares_its_machine_does_not() {
    let mut scene = Scene::of(0);
    scene.join(HostFacts { sharing: Sharing::Unsaid, ..facts(0) });
    let known = &scene.machine.host(&host(0)).expect("it has joined").facts;
    assert_eq!(known.sharing, Sharing::Alone);
    assert_eq!(known.fingerprint, Fingerprint::default(), "it is kept once for its class");
}

#[test]
fn a_host_that_is_to_boot_may_connect_again_and_may_not_start_again_in_the_same_boot() {
    let mut scene = Scene::of(0);
    let able = || HostFacts { can_reboot: true, ..facts(0) };
    scene.join(able());
    scene.submit(FIRST, &format!("{PLAIN}[independence]\npolicy = \"rebooted\"\n"));
    scene.serve(0);
    assert_eq!(scene.ask(0), None, "it is to boot");
    let is_to_boot = |scene: &Scene| scene.machine.host(&host(0)).expect("known").reboot.is_some();
    let epoch = scene.speaker(0).epoch;
    scene.leave(0);
    scene.handle(Command::Join { facts: able(), agent: AgentId(Uuid::from_u128(7)), epoch });
    assert!(is_to_boot(&scene), "the same start, which has not booted yet");
    let drained = scene.request(0);
    scene.handle(Command::Drain(drained));
    assert!(is_to_boot(&scene), "it ends what it began");
    scene.join(able());
    let standing = &scene.machine.host(&host(0)).expect("known").standing;
    assert!(matches!(standing, Standing::Quarantined { .. }), "a later start in the same boot: {standing:?}");
    assert!(!is_to_boot(&scene), "who is out of service is not waited for");
}

#[test]
fn who_is_reset_loses_its_attempt_and_its_visits() {
    let nested = PLAIN.replace("runs = 2", "hosts = 2\nruns = 2");
    let mut scene = Scene::with(2, &nested);
    let begun = scene.serve(0);
    scene.handle(Command::Pause(asked(FIRST)));
    scene.submit(SECOND, PLAIN);
    let lease = scene.ask(0).expect("a run of the second");
    assert_eq!(lease.experiment, SECOND);
    let visits = |machine: &Machine| machine.host(&host(0)).expect("known").visits.len();
    let mut replayed = scene.machine.clone();
    let broken = Change::VisitBroken { host: host(0), experiment: FIRST };
    replayed.replay(&Event { at: scene.now, change: broken.clone() });
    assert_eq!((visits(&scene.machine), visits(&replayed)), (1, 0), "another experiment's attempt goes on");
    let reset = scene.request(0);
    let events = scene.handle(Command::ResetHost(reset)).events;
    let changes: Vec<&Change> = events.iter().map(|event| &event.change).collect();
    assert!(
        matches!(changes.as_slice(), [Change::AttemptLost { lease: lost, .. }, second, Change::HostReset { .. }]
            if *lost == lease.epoch && **second == broken),
        "{changes:?}"
    );
    let next = RunIndex(begun.run.0 + 1);
    assert_eq!(scene.machine.run(FIRST, next), Some(RunState::Waiting { attempt: Attempt(1) }));
}

#[test]
fn a_host_has_so_many_boots_and_allocations_and_no_more() {
    let mut scene = Scene::of(1);
    let named =
        |number: usize| HostFacts { boot: format!("again-{number}").parse().expect("an id"), ..facts(0) };
    for number in 1..MAX_BOOTS {
        scene.leave_and_join_unchecked(named(number));
    }
    scene.machine.check();
    scene.leave(0);
    let beyond = scene.joining(named(MAX_BOOTS));
    assert_eq!(scene.refused(beyond), Refusal::TooManyBoots(host(0)));
    scene.join(named(MAX_BOOTS - 1));
    let boots = |machine: &Machine| machine.host(&host(0)).expect("known").boots.len();
    assert_eq!(boots(&scene.machine), MAX_BOOTS);
    let (agent, epoch) = (AgentId(Uuid::from_u128(7)), AgentEpoch(u64::MAX));
    let job = |number: usize| format!("job-{number}").parse().expect("an id");
    scene.machine.hosts[0].allocations = (0..MAX_BOOTS).map(job).collect();
    let facts = HostFacts { allocation: Some(job(MAX_BOOTS)), ..named(MAX_BOOTS) };
    scene.machine.replay(&Event {
        at: scene.now,
        change: Change::HostJoined { facts: Box::new(facts), agent, epoch },
    });
    assert_eq!(boots(&scene.machine), MAX_BOOTS, "whatever a journal says");
    let allocations = scene.machine.host(&host(0)).expect("known").allocations.len();
    assert_eq!(allocations, MAX_BOOTS, "and of allocations as many");
}

#[test]
fn a_host_is_called_by_its_node_or_its_own_name_with_or_without_the_domain() {
    let mut scene = Scene::of(1);
    let hostname = Some("login1.cluster".parse().expect("a name"));
    scene.join(HostFacts { hostname: hostname.clone(), ..facts(1) });
    let node = Some("node17".parse().expect("a name"));
    scene.join(HostFacts { node, hostname, ..facts(2) });
    let called =
        |name| scene.machine.hosts_called(name).map(|host| host.facts.host.clone()).collect::<Vec<_>>();
    assert_eq!(called("node17"), [host(2)]);
    assert_eq!(called("login1"), [host(1), host(2)]);
    assert_eq!(called("login1.cluster"), [host(1), host(2)]);
    assert_eq!(called("login"), []);
    assert_eq!(called("cluster"), []);
    let name = |number| scene.machine.host(&host(number)).and_then(|host| host.facts.name());
    assert_eq!(name(0), None);
    assert_eq!(name(1).expect("its own").as_str(), "login1.cluster");
    assert_eq!(name(2).expect("the node's").as_str(), "node17", "what its engine calls it goes first");
}
