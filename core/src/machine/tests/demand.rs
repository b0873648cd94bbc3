//! What an engine could add: hosts that are missing, and what each of its own is worth.

use super::*;
use crate::machine::provision::{Demand, PROVISIONER, ProvidedHost, ServiceState, Worth};
use crate::run::LossReason;
use crate::value::id::Attempt;

/// Hosts of an engine that have joined.
fn engine(hosts: u32) -> Scene {
    let mut scene = Scene::of(0);
    (0..hosts).for_each(|number| scene.join(given_out(number)));
    scene
}

fn given_out(number: u32) -> HostFacts {
    let id = |kind: &str| format!("{kind}-{number}");
    HostFacts {
        node: Some(id("node").parse().expect("a node")),
        job: Some(id("job").parse().expect("a job")),
        allocation: Some(id("job").parse().expect("an allocation")),
        ..facts(number)
    }
}

fn demand(scene: &Scene) -> Demand {
    scene.machine.demand(scene.now)
}

fn of(scene: &Scene, number: u32) -> ProvidedHost {
    let provided = demand(scene).hosts;
    provided.into_iter().find(|one| one.host == host(number)).expect("the engine gave it out")
}

fn worth(scene: &Scene, number: u32) -> Worth {
    of(scene, number).worth
}

#[test]
fn what_waits_beyond_the_hosts_that_may_take_it_is_missing() {
    let mut scene = engine(1);
    scene.join(facts(9));
    assert_eq!(demand(&scene).missing, 0, "nothing waits");
    assert_eq!(demand(&scene).longest, Span(0));
    assert_eq!(demand(&scene).hosts.len(), 1, "the other host is not the engine's");
    scene.submit(FIRST, PLAIN);
    assert_eq!(demand(&scene).missing, 2, "of four visits, two hosts may take one each");
    assert_eq!(demand(&scene).longest, Span::from_secs(20));
    scene.serve(0);
    assert_eq!(demand(&scene).missing, 2, "of three, the other host one");
    scene.leave(9);
    assert_eq!(demand(&scene).missing, 3);
    scene.handle(Command::Pause(asked(FIRST)));
    assert_eq!(demand(&scene).missing, 0, "what is paused wants nothing");
}

#[test]
fn a_visit_lasts_as_long_as_all_its_runs() {
    let blocked = format!("{PLAIN}[design]\norder = \"blocked\"\n");
    let mut scene = engine(0);
    scene.submit(FIRST, &blocked);
    assert_eq!(demand(&scene).longest, Span::from_secs(2 * 20), "both versions");
    let nested = PLAIN.replace("runs = 2", "hosts = 2\nruns = 3");
    scene.submit(SECOND, &nested);
    assert_eq!(demand(&scene).longest, Span::from_secs(3 * 20), "three runs on each host");
    let mut scene = engine(0);
    scene.submit(FIRST, &format!("{nested}[design]\norder = \"blocked\"\n"));
    assert_eq!(demand(&scene).longest, Span::from_secs(2 * 3 * 20), "three of both versions");
}

#[test]
fn a_host_is_told_as_it_is() {
    let mut scene = engine(2);
    scene.submit(FIRST, PLAIN);
    let expected = ProvidedHost {
        host: host(0),
        node: "node-0".parse().expect("a node"),
        job: Some("job-0".parse().expect("a job")),
        boot: "boot-0".parse().expect("a boot id"),
        is_here: true,
        is_busy: false,
        has_served: false,
        engaged: ServiceState::Serving,
        worth: Worth::Now,
        left_out_until: None,
    };
    assert_eq!(of(&scene, 0), expected);
    scene.now = scene.now + Span::from_secs(1);
    let lease = scene.ask(0).expect("a run");
    let busy = ProvidedHost { is_busy: true, has_served: true, worth: Worth::Nothing, ..expected.clone() };
    assert_eq!(of(&scene, 0), busy, "it serves once");
    scene.report(&lease, RunOutcome::Measured);
    assert_eq!(of(&scene, 0), ProvidedHost { is_busy: false, ..busy.clone() });
    scene.leave(0);
    assert_eq!(of(&scene, 0), ProvidedHost { is_busy: false, is_here: false, ..busy.clone() });
    scene.now = scene.now + Span::from_secs(1);
    scene.join(given_out(0));
    let joined = ProvidedHost { is_busy: false, has_served: false, ..busy };
    assert_eq!(of(&scene, 0), joined, "its agent has not served since it joined");
    scene.handle(Command::Drain(HostRequest { host: host(0), by: PROVISIONER.to_owned() }));
    assert_eq!(of(&scene, 0).engaged, ServiceState::GivenBack);
    scene.handle(Command::Drain(scene.request(1)));
    assert_eq!(of(&scene, 1).engaged, ServiceState::OutOfService);
}

#[test]
fn a_host_in_the_midst_of_a_visit_is_busy() {
    let nested = PLAIN.replace("runs = 2", "hosts = 2\nruns = 3");
    let mut scene = engine(1);
    scene.submit(FIRST, &nested);
    scene.serve(0);
    assert!(of(&scene, 0).is_busy, "two runs of its visit are left");
}

#[test]
fn what_a_used_host_is_worth_is_the_policys() {
    let worth_after = |policy: &str, can_reboot: bool| {
        let mut scene = Scene::of(0);
        scene.join(HostFacts { can_reboot, ..given_out(0) });
        scene.submit(FIRST, &format!("{PLAIN}[independence]\npolicy = \"{policy}\"\n"));
        assert_eq!(worth(&scene, 0), Worth::Now, "{policy}: it is fresh");
        scene.serve(0);
        worth(&scene, 0)
    };
    assert_eq!(worth_after("distinct", true), Worth::Nothing);
    assert_eq!(worth_after("any", false), Worth::Now);
    assert_eq!(worth_after("rested", false), Worth::Now);
    assert_eq!(worth_after("reallocated", false), Worth::NewAllocation);
    assert_eq!(worth_after("rebooted", true), Worth::Now, "it boots itself");
    assert_eq!(worth_after("rebooted", false), Worth::NewBoot);
}

#[test]
fn an_allocation_has_to_hold_the_longest_visit_of_a_plan() {
    let needed =
        |text: &str| needed_allocation(&Plan::draw(plan::file::parse(text, Seed(1)).expect("a plan")));
    assert_eq!(needed(PLAIN), Span::from_secs(30), "a run may take 20 s, and 10 are kept for its report");
    let longer = format!("{PLAIN}warmup = 2\n[benchmarks.c]\ncommand = [\"true\"]\ntimeout = \"5s\"\n");
    assert_eq!(needed(&longer), Span::from_secs(70), "the warm-ups as well");
    assert_eq!(
        needed(&format!("{longer}[setup]\nshell = \"true\"\ntimeout = \"40s\"\n")),
        Span::from_secs(110)
    );
}

#[test]
fn a_host_whose_allocation_ends_is_worth_a_new_one() {
    let mut scene = Scene::of(0);
    let ends = Some(scene.now + Span::from_secs(29));
    scene.join(HostFacts { allocation_ends: ends, ..given_out(0) });
    scene.submit(FIRST, PLAIN);
    assert_eq!(worth(&scene, 0), Worth::NewAllocation, "a run may take 20 s, and 10 are kept for its report");
    assert_eq!(demand(&scene).missing, 4, "and it takes none");
    let rebooted = format!("{PLAIN}[independence]\npolicy = \"rebooted\"\n");
    let mut scene = Scene::of(0);
    scene.join(given_out(0));
    scene.submit(FIRST, &rebooted);
    scene.serve(0);
    scene.leave(0);
    let next = "next".parse().expect("a boot id");
    scene.join(HostFacts { boot: next, allocation_ends: Some(scene.now), ..given_out(0) });
    assert_eq!(worth(&scene, 0), Worth::NewAllocation, "it has booted, and is fresh but for its allocation");
}

#[test]
fn a_host_of_another_class_is_worth_nothing() {
    let mut scene = engine(1);
    scene.submit(FIRST, PLAIN);
    scene.serve(0);
    scene.join(HostFacts { fingerprint: fingerprint("large"), ..given_out(1) });
    assert_eq!(worth(&scene, 1), Worth::Nothing);
    assert_eq!(demand(&scene).missing, 3);
}

#[test]
fn a_host_is_worth_what_its_best_lane_is() {
    let two = PLAIN.to_owned()
        + "[benchmarks.c]\ncommand = [\"true\"]\ntimeout = \"20s\"\n[independence]\npolicy = \"rebooted\"\n";
    let mut scene = engine(4);
    scene.submit(FIRST, &two);
    let leases: Vec<Lease> = (0..4).map(|number| scene.serve(number)).collect();
    let plan = scene.machine.experiment(FIRST).expect("active").plan().clone();
    let first_lane = |lease: &&Lease| plan.cell_number(lease.run) < plan.experiment.versions.len() as u32;
    assert!(leases.iter().any(|lease| first_lane(&lease)), "some host has served the first lane");
    (0..4).for_each(|number| assert_eq!(worth(&scene, number), Worth::Now, "the other lane is fresh"));
}

#[test]
fn each_run_wants_a_host_where_hosts_serve_once() {
    let plan = |text: &str| Plan::draw(plan::file::parse(text, Seed(1)).expect("a plan"));
    let nested = PLAIN.replace("runs = 2", "hosts = 3\nruns = 2");
    for (text, hosts) in [(PLAIN, 4), (nested.as_str(), 6)] {
        let plan = plan(text);
        assert_eq!((hosts_needed(&plan), visits_of_fullest_lane(&plan)), (hosts, hosts), "{text}");
    }
}

#[test]
fn a_host_that_is_given_back_is_dismissed_when_it_has_nothing_and_serves_again_in_another_job() {
    let mut scene = engine(1);
    scene.submit(FIRST, PLAIN);
    let lease = scene.ask(0).expect("a run");
    let give_back = Command::Drain(HostRequest { host: host(0), by: PROVISIONER.to_owned() });
    assert_eq!(scene.handle(give_back.clone()).effects, [], "it has a run");
    scene.report(&lease, RunOutcome::Measured);
    let dismissed = [Effect::Dismiss { host: host(0) }];
    let asks = Command::Ask(scene.speaker(0));
    assert_eq!(scene.handle(asks.clone()).effects, dismissed);
    assert_eq!(scene.handle(asks).effects, dismissed, "it may not have heard it");
    scene.leave(0);
    // The same job may start its agent again; another one is another allocation.
    scene.join(given_out(0));
    assert_eq!(of(&scene, 0).engaged, ServiceState::GivenBack);
    scene.leave(0);
    scene.join(HostFacts { job: Some("another".parse().unwrap()), ..given_out(0) });
    assert_eq!(of(&scene, 0).engaged, ServiceState::Serving);
    assert_eq!(scene.handle(give_back).effects, dismissed, "an idle host at once");
}

#[test]
fn a_host_that_a_person_drains_stays() {
    let mut scene = engine(1);
    let drained = scene.handle(Command::Drain(scene.request(0)));
    assert_eq!(drained.effects, []);
    assert_eq!(scene.handle(Command::Ask(scene.speaker(0))).effects, []);
    scene.leave(0);
    scene.join(HostFacts { job: Some("another".parse().unwrap()), ..given_out(0) });
    assert_eq!(of(&scene, 0).engaged, ServiceState::OutOfService);
}

#[test]
fn what_a_host_holds_is_lost_when_its_engine_says_that_its_job_has_ended() {
    let mut scene = engine(1);
    scene.submit(FIRST, PLAIN);
    let lease = scene.ask(0).expect("a run");
    let words = "NODE_FAIL".to_owned();
    let reason = LossReason::JobEnded { words: words.clone(), is_excused: false };
    let ended = |job: &str| Notice::JobEnded {
        host: host(0),
        job: job.parse().unwrap(),
        words: words.clone(),
        is_excused: false,
    };
    assert_eq!(scene.notice(ended("job-9")).events, [], "it has joined in another one");
    let events = scene.notice(ended("job-0")).events;
    let lost = |change: &Change| matches!(change, Change::AttemptLost { reason: told, lease: of, .. } if *of == lease.epoch && *told == reason);
    assert!(events.iter().any(|event| lost(&event.change)), "{events:?}");
    assert!(!of(&scene, 0).is_here);
    // It lived on out of the engine's sight, and joins again.
    scene.join(given_out(0));
    assert!(of(&scene, 0).is_here);
}

#[test]
fn what_an_engine_does_to_a_host_costs_the_run_no_attempt_for_a_while() {
    let plan =
        PLAIN.replace("runs = 2", "runs = 1") + "[limits]\nattempts = 2\n[independence]\npolicy = \"any\"\n";
    let mut scene = engine(1);
    scene.submit(FIRST, &plan);
    let mut job = "job-0".to_owned();
    for excused in 1..=MAX_EXCUSED {
        let lease = scene.ask(0).expect("a run");
        assert_eq!((lease.run, lease.attempt), (RunIndex(0), Attempt(excused)));
        let words = format!("{job}: PREEMPTED");
        let job_id = job.parse().expect("a job");
        scene.notice(Notice::JobEnded { host: host(0), job: job_id, words, is_excused: true });
        assert_eq!(scene.tally(FIRST).abandoned, 0);
        job = format!("job-{excused}");
        let given = job.parse().ok();
        scene.join(HostFacts { job: job.parse().ok(), allocation: given, ..given_out(0) });
    }
    let lost_in_two = |scene: &mut Scene| {
        for _ in 0..2 {
            let lease = scene.ask(0).expect("a run");
            scene.lose(&lease);
        }
    };
    assert!(scene.machine.left_out(scene.now, &host(0)).is_empty(), "nothing is wrong with the host");
    lost_in_two(&mut scene);
    assert_eq!(scene.tally(FIRST).abandoned, 1, "what the run lost by itself counts");
}

/// What a plan executes may kill its agent, and its job ends with it.
#[test]
fn jobs_that_end_by_themselves_count_against_run_and_host() {
    let mut scene = engine(2);
    scene.submit(FIRST, &format!("{PLAIN}[independence]\npolicy = \"any\"\n"));
    for number in 0..3 {
        let lease = scene.ask(0).expect("a run");
        let job = scene.machine.host(&host(0)).and_then(|host| host.facts.job.clone()).expect("a job");
        let words = format!("job {job}: OUT_OF_MEMORY");
        scene.notice(Notice::JobEnded { host: host(0), job, words: words.clone(), is_excused: false });
        let active = scene.machine.experiment(FIRST).expect("active");
        assert_eq!(active.kept.excused.get(&lease.run.0), None);
        assert!(active.kept.troubles.values().any(|trouble| trouble.words.contains(&words)), "{words}");
        let given: String = format!("again-{number}");
        // Its engine gives it out anew: that forgets nothing.
        scene.handle(Command::Drain(HostRequest { host: host(0), by: PROVISIONER.to_owned() }));
        scene.join(HostFacts { job: given.parse().ok(), allocation: given.parse().ok(), ..given_out(0) });
        assert_eq!(of(&scene, 0).engaged, ServiceState::Serving);
    }
    let left_out = scene.machine.left_out(scene.now, &host(0));
    assert_eq!(left_out.len(), 1, "three in a row were lost");
    assert!(scene.ask(0).is_none(), "and another may take what waits");
}

/// Nothing happens in an idle pool, and the time of a host that is left out ends all the same.
#[test]
fn a_host_that_is_left_out_is_let_in_when_its_time_is_over_whatever_happens() {
    let mut scene = engine(1);
    scene.submit(FIRST, &format!("{PLAIN}[independence]\npolicy = \"any\"\n[limits]\nattempts = 9\n"));
    for _ in 0..3 {
        let lease = scene.ask(0).expect("a run");
        scene.lose(&lease);
    }
    assert!(scene.ask(0).is_none(), "the only host, for its engine brings another");
    scene.leave(0);
    let until = of(&scene, 0).left_out_until.expect("it is left out");
    assert_eq!(demand(&scene).first_let_in(), Some(until));
    scene.now = until;
    assert_eq!(of(&scene, 0).left_out_until, None);
    assert_eq!(demand(&scene).first_let_in(), None);
    assert!(scene.machine.left_out(scene.now, &host(0)).is_empty());
}

#[test]
fn a_lease_of_an_earlier_allocation_was_ended_by_the_engine() {
    for is_reported in [false, true] {
        let mut scene = engine(1);
        scene.submit(FIRST, PLAIN);
        let lease = scene.ask(0).expect("a run");
        scene.leave(0);
        scene.join(HostFacts { job: "other".parse().ok(), allocation: "other".parse().ok(), ..given_out(0) });
        let speaker = scene.speaker(0);
        let handled = if is_reported {
            // The next agent finds what the stopped one left.
            let outcome = RunOutcome::NotExecuted { reason: "stopped".to_owned(), obstacle: Obstacle::Host };
            let record = Record::bare(outcome);
            let report = AttemptReport { lease: lease.epoch, executed_by: lease.agent_epoch, record };
            scene.handle(Command::Report { speaker, report: Box::new(report) })
        } else {
            scene.handle(Command::Ask(speaker))
        };
        let [ended] = &handled.ended[..] else { panic!("{handled:?}") };
        let is_the_engines =
            matches!(&ended.end, AttemptEnd::Lost { reason: LossReason::JobEnded { .. }, .. });
        assert!(is_the_engines, "{ended:?}");
        assert_eq!(scene.machine.superseded.is_empty(), is_reported, "nobody waits for what was reported");
    }
}
