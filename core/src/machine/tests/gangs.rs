//! Runs that several hosts serve together.

use std::collections::BTreeSet;

use super::*;
use crate::host::VISIT_GRACE;
use crate::machine::explain::{Explanation, WaitingFor};
use crate::run::record::Failure;
use crate::run::{AfterLoss, LossReason};

/// One benchmark on so many hosts, in two versions, each executed twice.
fn gang(hosts: u32, policy: &str) -> String {
    PLAIN.replace("command = [\"true\"]", &format!("command = [\"true\"]\nhosts = {hosts}"))
        + &format!("[independence]\npolicy = \"{policy}\"\n")
}

fn leases(scene: &mut Scene, number: u32) -> Vec<Lease> {
    granted(scene.handle(Command::Ask(scene.speaker(number))))
}

fn ready(scene: &mut Scene, lease: &Lease) -> Vec<Effect> {
    let speaker = Speaker { host: lease.host.clone(), epoch: lease.agent_epoch };
    scene.handle(Command::Ready { speaker, lease: lease.epoch }).effects
}

fn ends(effects: &[Effect]) -> Vec<HostId> {
    let ended =
        |effect: &Effect| if let Effect::End { host, .. } = effect { Some(host.clone()) } else { None };
    effects.iter().filter_map(ended).collect()
}

#[test]
fn all_hosts_are_given_the_run_at_once_or_none_is() {
    let mut scene = Scene::with(3, &gang(3, "any"));
    assert_eq!(leases(&mut scene, 2), []);
    assert_eq!(leases(&mut scene, 0), []);
    let given = leases(&mut scene, 1);
    let hosts: Vec<HostId> = given.iter().map(|lease| lease.host.clone()).collect();
    assert_eq!(hosts, [host(0), host(1), host(2)], "in the order of their numbers");
    let epochs: Vec<u64> = given.iter().map(|lease| lease.epoch.0 - given[0].epoch.0).collect();
    assert_eq!(epochs, [0, 1, 2]);
    assert!(given.iter().all(|lease| (lease.run, lease.leader()) == (given[0].run, given[0].epoch)));
    assert_eq!(given[0].hosts(), ["host-0", "host-1", "host-2"], "the first knows all");
    assert!(given[1..].iter().all(|lease| lease.hosts().is_empty() && lease.deadline > given[0].deadline));
    let tally = scene.tally(FIRST);
    assert_eq!((tally.leased, tally.waiting), (1, 3), "they are one run");
}

#[test]
fn the_program_is_started_when_the_last_host_is_prepared_and_ended_everywhere_when_it_has_ended() {
    let mut scene = Scene::with(2, &gang(2, "any"));
    leases(&mut scene, 0);
    let given = leases(&mut scene, 1);
    assert_eq!(ready(&mut scene, &given[0]), []);
    assert_eq!(ready(&mut scene, &given[0]), [], "it is no more prepared than before");
    let begin = Effect::Begin { host: host(0), lease: given[0].epoch };
    assert_eq!(ready(&mut scene, &given[1]), std::slice::from_ref(&begin));
    assert_eq!(ready(&mut scene, &given[0]), [begin], "it missed that it was to begin");
    assert_eq!(ready(&mut scene, &given[1]), [], "and the other goes on waiting");
    let ended = scene.report(&given[0], RunOutcome::Measured).effects;
    assert_eq!(ends(&ended), [host(1)]);
    assert_eq!(scene.tally(FIRST).measured, 1, "the run is settled");
    assert_eq!(ends(&ready(&mut scene, &given[1])), [host(1)], "it missed the end");
    scene.report(&given[1], RunOutcome::Measured);
    assert_eq!(scene.tally(FIRST).measured, 1, "by one report");
}

#[test]
fn a_host_that_is_lost_costs_the_attempt_of_all() {
    let mut scene = Scene::with(3, &gang(3, "any"));
    (0..2).for_each(|number| _ = leases(&mut scene, number));
    let given = leases(&mut scene, 2);
    let reason = RunOutcome::NotExecuted { reason: "words".to_owned(), obstacle: Obstacle::Host };
    let outcome = scene.report(&given[1], reason);
    assert_eq!(ends(&outcome.effects), [host(0), host(2)]);
    let lost: Vec<&Change> = outcome.events.iter().map(|event| &event.change).collect();
    let is_loss = |change: &&Change| matches!(change, Change::AttemptLost { host: lost, after: AfterLoss::Again(_), .. } if *lost == host(1));
    assert_eq!(lost.iter().copied().filter(is_loss).count(), 1, "{lost:?}");
    assert!(scene.machine.hosts().iter().all(|host| host.lease.is_none()), "all are free");
    // What the others say of it later is known to be over.
    let effects = scene.report(&given[2], RunOutcome::Measured).effects;
    assert_eq!(effects, [Effect::Acknowledge { host: host(2), lease: given[2].epoch }]);
    assert_eq!(scene.tally(FIRST).lost_attempts, 1);
}

/// There are no other hosts, so those that were tried are tried again.
#[test]
fn a_gang_of_all_hosts_is_tried_again() {
    let mut scene = Scene::with(3, &gang(3, "any"));
    let mut given = Vec::new();
    for attempt in 1..=3 {
        given = (0..3).flat_map(|number| leases(&mut scene, number)).collect();
        let numbers: Vec<u32> = given.iter().map(|lease| lease.attempt.0).collect();
        assert_eq!(numbers, [attempt; 3], "its turn comes at once");
        scene.leave(2);
        scene.tick_after(Span::from_secs(61));
        scene.join(facts(2));
    }
    assert_eq!(given.len(), 3);
    assert_eq!(scene.tally(FIRST).lost_attempts, 3);
}

#[test]
fn a_host_that_is_lost_after_the_run_has_ended_costs_nothing() {
    let mut scene = Scene::with(2, &gang(2, "any"));
    leases(&mut scene, 0);
    let given = leases(&mut scene, 1);
    given.iter().for_each(|lease| _ = ready(&mut scene, lease));
    scene.report(&given[0], RunOutcome::Measured);
    scene.leave(1);
    scene.tick_after(Span::from_secs(61));
    let tally = scene.tally(FIRST);
    assert_eq!((tally.measured, tally.lost_attempts), (1, 0));
    assert!(scene.machine.hosts().iter().all(|host| host.lease.is_none()));
}

#[test]
fn large_runs_hold_hosts_that_small_ones_would_take_unless_these_end_in_time() {
    let mut scene = Scene::of(2);
    let slow = PLAIN.replace("20s", "30m") + "[independence]\npolicy = \"any\"\n";
    scene.submit(FIRST, &slow);
    let busy = scene.ask(0).expect("a run");
    scene.now = scene.now + Span::from_secs(1);
    scene.submit(SECOND, &gang(2, "any"));
    assert_eq!(leases(&mut scene, 1), [], "it is held, though a slow run waits");
    scene.submit(THIRD, &(PLAIN.to_owned() + "[independence]\npolicy = \"any\"\n"));
    let third = scene.machine.host(&host(1)).expect("a host").lease.clone().expect("a short run");
    assert_eq!(third.experiment, THIRD, "one that ends before the other host is free");
    scene.report(&third, RunOutcome::Measured);
    scene.handle(Command::Cancel(asked(THIRD)));
    assert_eq!(leases(&mut scene, 1), [], "it is held again");
    scene.report(&busy, RunOutcome::Measured);
    let given = leases(&mut scene, 0);
    assert_eq!(given.iter().map(|lease| lease.experiment).collect::<Vec<_>>(), [SECOND, SECOND]);
}

/// An experiment whose gangs have ended has no host, and was there before: it has to wait like anyone.
#[test]
fn hosts_stay_held_whoever_is_first_in_turn_when_something_else_happens() {
    let mut scene = Scene::with(5, &gang(2, "any"));
    (0..4).for_each(|number| _ = leases(&mut scene, number));
    let given: Vec<Lease> =
        (0..4).filter_map(|number| scene.machine.host(&host(number))?.lease.clone()).collect();
    assert_eq!(given.iter().filter(|lease| lease.experiment == FIRST).count(), 4, "two gangs of it");
    scene.submit(SECOND, &gang(5, "any"));
    assert_eq!(leases(&mut scene, 4), [], "it is held");
    given.iter().for_each(|lease| _ = ready(&mut scene, lease));
    for lease in &given {
        scene.report(lease, RunOutcome::Measured);
    }
    assert_eq!((0..2).flat_map(|number| leases(&mut scene, number)).count(), 0, "and so are these");
    scene.submit(THIRD, &gang(5, "any"));
    assert!(scene.machine.hosts().iter().all(|host| host.lease.is_none()), "they still are");
    let given: Vec<Lease> = (2..4).flat_map(|number| leases(&mut scene, number)).collect();
    assert_eq!(given.iter().map(|lease| lease.experiment).collect::<Vec<_>>(), [SECOND; 5]);
}

#[test]
fn gangs_of_all_experiments_have_their_turns() {
    let mut scene = Scene::of(3);
    let all = [FIRST, SECOND, THIRD];
    all.into_iter().for_each(|experiment| scene.submit(experiment, &gang(3, "any")));
    let mut granted = Vec::new();
    for _ in 0..6 {
        let given: Vec<Lease> = (0..3).flat_map(|number| leases(&mut scene, number)).collect();
        granted.push(given[0].experiment);
        given.iter().for_each(|lease| _ = ready(&mut scene, lease));
        given.iter().for_each(|lease| _ = scene.report(lease, RunOutcome::Measured));
    }
    assert_eq!(granted, [all, all].concat());
}

/// A host in the middle of a visit goes on with it, and is then held.
#[test]
fn a_host_with_a_visit_is_busy_until_that_ends() {
    let mut scene = Scene::of(2);
    let visits = PLAIN.replace("runs = 2", "hosts = 4\nruns = 2") + "[independence]\npolicy = \"any\"\n";
    scene.submit(FIRST, &visits);
    let mut busy = scene.ask(0).expect("a run");
    // What begins now does not end before the visit has to.
    scene.now = scene.now + Span::from_secs(70);
    scene.submit(SECOND, &gang(2, "any"));
    assert_eq!(leases(&mut scene, 1), [], "it is held");
    scene.report(&busy, RunOutcome::Measured);
    busy = scene.ask(0).expect("the other run of the visit");
    assert_eq!(busy.experiment, FIRST);
    scene.report(&busy, RunOutcome::Measured);
    let given = leases(&mut scene, 0);
    assert_eq!(given.iter().map(|lease| lease.experiment).collect::<Vec<_>>(), [SECOND, SECOND]);
}

#[test]
fn hosts_that_are_held_serve_what_is_more_urgent() {
    let mut scene = Scene::of(2);
    let slow = PLAIN.replace("20s", "30m") + "[independence]\npolicy = \"any\"\n";
    scene.submit(FIRST, &slow);
    let busy = scene.ask(0).expect("a run");
    scene.now = scene.now + Span::from_secs(1);
    scene.submit(SECOND, &gang(2, "any"));
    assert_eq!(leases(&mut scene, 1), [], "it is held");
    scene.submit(THIRD, &slow.replace("[experiment]", "[experiment]\npriority = 1"));
    let urgent = scene.machine.host(&host(1)).expect("a host").lease.clone().expect("a run");
    assert_eq!(urgent.experiment, THIRD, "it is not held against that");
    scene.report(&urgent, RunOutcome::Measured);
    scene.handle(Command::Cancel(asked(THIRD)));
    assert_eq!(leases(&mut scene, 1), [], "it is held again");
    scene.report(&busy, RunOutcome::Measured);
    assert_eq!(leases(&mut scene, 0).len(), 2);
}

#[test]
fn hosts_are_held_for_one_experiment_at_a_time_and_for_none_that_lacks_hosts() {
    let mut scene = Scene::of(3);
    let slow = PLAIN.replace("20s", "30m") + "[independence]\npolicy = \"any\"\n";
    scene.submit(FIRST, &gang(4, "any"));
    scene.submit(SECOND, &slow);
    let given = leases(&mut scene, 0);
    assert_eq!(given.first().map(|lease| lease.experiment), Some(SECOND), "four hosts there are not");
    scene.submit(THIRD, &gang(2, "any"));
    scene.submit(ExperimentId(Uuid::from_u128(4)), &gang(3, "any"));
    leases(&mut scene, 1);
    let given = leases(&mut scene, 2);
    assert_eq!(given.iter().map(|lease| lease.experiment).collect::<Vec<_>>(), [THIRD, THIRD]);
}

/// Its agent is connected, and asks for nothing: it may ask at any moment, and is waited for no longer than for the rest of a visit.
#[test]
fn no_host_is_kept_for_ever_for_a_gang_of_which_one_keeps_silent() {
    let mut scene = Scene::with(3, &gang(3, "any"));
    assert_eq!((leases(&mut scene, 0), leases(&mut scene, 1)), (vec![], vec![]));
    scene.submit(SECOND, &(PLAIN.replace("20s", "30m") + "[independence]\npolicy = \"any\"\n"));
    let served = |scene: &Scene| scene.tally(SECOND).leased;
    scene.tick_after(Span(VISIT_GRACE.0 - 1));
    assert_eq!(served(&scene), 0, "both are held");
    scene.tick_after(Span(1));
    assert_eq!(served(&scene), 2, "and now they are not");
    // Who speaks again is waited for again: what it could have begun would end after what the others do.
    scene.tick_after(Span::from_secs(1));
    assert_eq!(leases(&mut scene, 2), []);
    let given: Vec<Lease> =
        (0..2).filter_map(|number| scene.machine.host(&host(number))?.lease.clone()).collect();
    given.iter().for_each(|lease| _ = scene.report(lease, RunOutcome::Measured));
    let given: Vec<Lease> = (0..2).flat_map(|number| leases(&mut scene, number)).collect();
    assert_eq!(given.iter().map(|lease| lease.experiment).collect::<Vec<_>>(), [FIRST; 3]);
}

#[test]
fn hosts_of_a_gang_are_of_one_class_and_fresh() {
    let mut scene = Scene::of(2);
    scene.join(HostFacts { fingerprint: fingerprint("large"), ..facts(2) });
    scene.join(facts(3));
    scene.submit(FIRST, &(gang(3, "distinct") + "hosts = \"classes\"\n"));
    (0..3).for_each(|number| assert_eq!(leases(&mut scene, number), []));
    let given = leases(&mut scene, 3);
    assert_eq!(given.iter().map(|lease| lease.host.clone()).collect::<Vec<_>>(), [host(0), host(1), host(3)]);
    given.iter().for_each(|lease| _ = ready(&mut scene, lease));
    given.iter().for_each(|lease| _ = scene.report(lease, RunOutcome::Measured));
    [0, 1, 3].into_iter().for_each(|number| assert_eq!(leases(&mut scene, number), [], "they have served"));
}

/// The host asked in vain, and has not rested as long as was known then: it is looked at again when it has.
#[test]
fn a_late_report_has_its_host_rest_anew_and_then_serve() {
    let mut scene = Scene::of(1);
    scene.submit(SECOND, &(PLAIN.to_owned() + "[independence]\npolicy = \"any\"\n"));
    let lost = scene.ask(0).expect("a run");
    scene.join(facts(0));
    scene.handle(Command::Ask(scene.speaker(0)));
    scene.handle(Command::Cancel(asked(SECOND)));
    scene.submit(FIRST, &(gang(2, "rested") + "rest = { idle = \"10s\" }\n"));
    let again = scene.machine.host(&host(0)).and_then(|host| host.lease.clone()).expect("it is tried again");
    scene.report(&again, RunOutcome::Measured);
    scene.tick_after(Span::from_secs(11));
    assert_eq!(leases(&mut scene, 0), [], "the other is not there yet");
    let speaker = scene.speaker(0);
    let record = Record::bare(RunOutcome::Measured);
    let report = Box::new(AttemptReport { lease: lost.epoch, executed_by: lost.agent_epoch, record });
    let told = scene.handle(Command::Report { speaker, report });
    assert!(matches!(told.events[0].change, Change::LateReport { .. }), "{told:?}");
    scene.join(facts(1));
    assert_eq!(leases(&mut scene, 1), [], "the first has to rest");
    scene.tick_after(Span::from_secs(11));
    assert_eq!(scene.tally(FIRST).leased, 1);
}

/// Carries out all that hosts are given as they ask in turn; the hosts of each run.
fn carried_out(scene: &mut Scene, hosts: u32) -> Vec<Vec<HostId>> {
    let mut served = Vec::new();
    loop {
        let given: Vec<Lease> = (0..hosts).flat_map(|number| leases(scene, number)).collect();
        if given.is_empty() {
            return served;
        }
        for gang in given.chunk_by(|one, other| one.run == other.run) {
            assert!(gang.iter().all(|lease| lease.evidence.set_served == Some(false)), "{gang:?}");
            served.push(gang.iter().map(|lease| lease.host.clone()).collect());
        }
        given.iter().for_each(|lease| _ = ready(scene, lease));
        given.iter().for_each(|lease| _ = scene.report(lease, RunOutcome::Measured));
    }
}

#[test]
fn no_set_of_hosts_serves_twice_where_sets_are_to_be_fresh() {
    // Four runs on sets of 3 of 4 hosts: these have just as many.
    let mut scene = Scene::with(4, &gang(3, "distinct_sets"));
    let served = carried_out(&mut scene, 4);
    let sets: BTreeSet<&Vec<HostId>> = served.iter().collect();
    assert_eq!((served.len(), sets.len()), (4, 4), "{served:?}");
    assert!(scene.machine.experiment(FIRST).is_none(), "it is finished");
    // In another experiment they are fresh again.
    scene.submit(SECOND, &gang(3, "distinct_sets"));
    assert_eq!(carried_out(&mut scene, 4).len(), 4);
}

#[test]
fn hosts_whose_sets_have_all_served_wait_for_another_host() {
    let mut scene = Scene::of(3);
    let submit = |wait_for_hosts| {
        let plan = fixture::plan(&gang(2, "distinct_sets"));
        Command::Submit { experiment: FIRST, plan, by: "user".to_owned(), wait_for_hosts, request: None }
    };
    let refused = scene.refused(submit(false));
    assert!(refused.to_string().contains("needs 4 hosts"), "{refused}");
    scene.handle(submit(true));
    let served = carried_out(&mut scene, 3);
    assert_eq!(served.len(), 3, "as many as there are pairs: {served:?}");
    assert!(scene.machine.lacks_hosts(FIRST));
    let Some(Explanation::Waiting { waiting_for: WaitingFor::Hosts(counts), .. }) = waiting_run(&scene)
    else {
        panic!("a run waits");
    };
    assert_eq!((counts.able, counts.together, counts.sets_spent), (3, 2, true));
    let demand = scene.machine.demand(scene.now);
    assert_eq!((demand.missing, demand.together), (1, 2), "though two are able");
    scene.join(facts(3));
    assert_eq!(carried_out(&mut scene, 4).len(), 1);
}

fn waiting_run(scene: &Scene) -> Option<Explanation> {
    let runs = (0..4).map(RunIndex).filter_map(|run| scene.machine.explain(FIRST, run));
    runs.into_iter().find(|explained| matches!(explained, Explanation::Waiting { .. }))
}

#[test]
fn a_set_that_lost_its_run_has_served() {
    let mut scene = Scene::with(4, &gang(3, "distinct_sets"));
    let lost: Vec<Lease> = (0..4).flat_map(|number| leases(&mut scene, number)).collect();
    let reason = RunOutcome::NotExecuted { reason: "words".to_owned(), obstacle: Obstacle::Host };
    scene.report(&lost[0], reason);
    lost[1..].iter().for_each(|lease| _ = scene.report(lease, RunOutcome::Measured));
    let hosts: Vec<HostId> = lost.iter().map(|lease| lease.host.clone()).collect();
    let served = carried_out(&mut scene, 4);
    assert_eq!(served.len(), 3, "the sets that are left: {served:?}");
    assert!(!served.contains(&hosts));
    // Alone a host is a set, too.
    let mut scene = Scene::with(4, &gang(1, "distinct_sets"));
    let alone = (0..4).map(|number| leases(&mut scene, number)).collect::<Vec<_>>();
    assert!(alone.iter().all(|given| given.len() == 1 && given[0].evidence.set_served == Some(false)));
    scene.report(&alone[0][0], RunOutcome::Measured);
    assert_eq!(leases(&mut scene, 0), [], "it has served");
}

#[test]
fn an_expired_gang_is_lost_once() {
    let mut scene = Scene::with(3, &gang(3, "any"));
    (0..3).for_each(|number| _ = leases(&mut scene, number));
    scene.now = scene.now + Span::from_secs(3_600);
    let outcome = scene.notice(Notice::Tick);
    let is_loss =
        |event: &&Event| matches!(event.change, Change::AttemptLost { reason: LossReason::Expired, .. });
    assert_eq!(outcome.events.iter().filter(is_loss).count(), 1);
}

#[test]
fn a_failure_is_the_programs_only_if_all_hosts_end_their_parts() {
    let failed = || RunOutcome::Failed(Failure::Exit { code: 1, expected: 0 });
    let begun = || {
        let mut scene = Scene::with(2, &gang(2, "any"));
        leases(&mut scene, 0);
        let given = leases(&mut scene, 1);
        given.iter().for_each(|lease| _ = ready(&mut scene, lease));
        (scene, given)
    };
    let (mut scene, given) = begun();
    assert_eq!(ends(&scene.report(&given[0], failed()).effects), [host(1)], "it is not acknowledged yet");
    let effects = scene.report(&given[1], RunOutcome::Measured).effects;
    assert!(effects.contains(&Effect::Remind { host: host(0) }), "{effects:?}");
    let effects = scene.report(&given[0], failed()).effects;
    assert_eq!(effects, [Effect::Acknowledge { host: host(0), lease: given[0].epoch }]);
    assert_eq!(scene.tally(FIRST).failed, 1);

    let (mut scene, given) = begun();
    scene.report(&given[0], failed());
    scene.leave(1);
    scene.tick_after(Span::from_secs(61));
    let tally = scene.tally(FIRST);
    assert_eq!((tally.failed, tally.lost_attempts, tally.waiting), (0, 1, 4), "its host is gone");
}

/// Ranks that srun starts are steps of one job: hosts of others, or of none, do not do.
#[test]
fn a_gang_of_srun_is_of_one_job() {
    let mut scene = Scene::of(1);
    for (number, job) in [(1, "7.0"), (2, "8.0"), (3, "8.1"), (4, "7.1")] {
        scene.join(HostFacts { job: Some(job.parse().expect("an id")), ..facts(number) });
    }
    scene.submit(FIRST, &gang(2, "any").replace("hosts = 2", "hosts = 2\nlauncher = \"srun\""));
    assert_eq!(leases(&mut scene, 0), [], "in no job");
    assert_eq!(leases(&mut scene, 1), []);
    assert_eq!(leases(&mut scene, 2), [], "in another job");
    let hosts = |given: Vec<Lease>| given.into_iter().map(|lease| lease.host).collect::<Vec<_>>();
    assert_eq!(hosts(leases(&mut scene, 3)), [host(2), host(3)], "though others are held");
    assert_eq!(hosts(leases(&mut scene, 4)), [host(1), host(4)]);
}
