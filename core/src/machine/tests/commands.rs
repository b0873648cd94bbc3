//! What users ask of experiments.

use super::*;
use crate::plan::{Extension, Shape};
use crate::value::{bounded::share, hint::Hinted};
use crate::{experiment::MAX_RUNS, machine::feasibility::Shortage};

fn active(scene: &Scene) -> &Active {
    scene.machine.experiment(FIRST).expect("it is active")
}

fn submission(experiment: ExperimentId, plan: &str, wait_for_hosts: bool) -> Command {
    Command::Submit {
        experiment,
        plan: fixture::plan(plan),
        by: "user".to_owned(),
        wait_for_hosts,
        request: None,
    }
}

#[test]
fn a_plan_is_taken_once_and_where_the_pool_is_large_enough() {
    let mut scene = Scene::of(3);
    let refusal = scene.refused(submission(FIRST, PLAIN, false));
    assert!(matches!(refusal, Refusal::PoolTooSmall(_)), "four runs on three hosts: {refusal}");
    assert!(refusal.hint().is_some(), "it can be helped");
    scene.handle(submission(FIRST, PLAIN, true));
    assert_eq!(scene.refused(submission(FIRST, PLAIN, true)), Refusal::Exists(FIRST));
    assert_eq!(active(&scene).submitted(), (scene.now, "user"));
    scene.join(facts(3));
    scene.handle(submission(SECOND, PLAIN, false));
}

/// Where hosts have to be identical, the class of most hosts that may be given runs is pinned.
#[test]
fn the_largest_class_is_pinned() {
    let mut scene = Scene::of(2);
    for number in 2..5 {
        scene.join(HostFacts { fingerprint: fingerprint("large"), ..facts(number) });
    }
    let pinned = |scene: &Scene| active(scene).classes().iter().copied().collect::<Vec<_>>();
    let mut most = Scene::of(0);
    most.submit(FIRST, PLAIN);
    assert_eq!(pinned(&most), [], "there is no host");
    let mut drained = Scene { machine: scene.machine.clone(), ..scene };
    drained.submit(SECOND, &format!("{PLAIN}[independence]\nhosts = \"any\"\n"));
    let of_any = drained.machine.experiment(SECOND).expect("active").classes();
    assert!(of_any.is_empty(), "any class is taken");
    drained.handle(Command::Drain(drained.request(2)));
    drained.handle(Command::Drain(drained.request(3)));
    drained.submit(FIRST, PLAIN);
    assert_eq!(pinned(&drained), [fingerprint("small").class()], "two against one");
}

#[test]
fn what_is_paused_gives_nothing_out_until_it_is_resumed() {
    let mut scene = Scene::with(2, PLAIN);
    assert_eq!(scene.handle(Command::Resume(asked(FIRST))).events, [], "it runs");
    scene.handle(Command::Pause(asked(FIRST)));
    assert_eq!(active(&scene).phase(), &Phase::Paused { reason: "paused by user".to_owned() });
    assert_eq!(scene.handle(Command::Pause(asked(FIRST))).events, [], "again is nothing new");
    assert_eq!(scene.ask(0), None);
    let outcome = scene.handle(Command::Resume(asked(FIRST)));
    assert!(!granted(outcome).is_empty(), "the host that asked in vain is looked at again");
    assert_eq!(scene.refused(Command::Pause(asked(SECOND))), Refusal::NotActive(SECOND));
}

#[test]
fn what_is_cancelled_ends_with_what_is_under_way() {
    let (mut scene, lease) = Scene::leased(1, PLAIN);
    scene.handle(Command::Cancel(asked(FIRST)));
    assert_eq!(active(&scene).tally().cancelled, 3);
    assert_eq!(scene.refused(Command::Resume(asked(FIRST))), Refusal::Cancelled(FIRST));
    let outcome = scene.report(&lease, RunOutcome::Measured);
    let finished = |event: &Event| matches!(event.change, Change::Finished { cancelled: true, .. });
    assert!(outcome.events.iter().any(finished));
    assert_eq!(scene.machine.active().count(), 0);
    let mut idle = Scene::of(0);
    idle.submit(FIRST, PLAIN);
    idle.handle(Command::Cancel(asked(FIRST)));
    assert_eq!(idle.machine.active().count(), 0, "nothing was under way");
}

#[test]
fn an_extension_appends_whole_visits_of_each_cell() {
    let more = |request, more| Command::Extend { request, more };
    let mut scene = Scene::with(0, PLAIN);
    scene.handle(more(asked(FIRST), 3));
    assert_eq!((active(&scene).plan().runs(), active(&scene).tally().waiting), (4 + 2 * 3, 10));
    scene.handle(more(asked(FIRST), 0));
    assert_eq!((active(&scene).plan().runs(), active(&scene).tally().waiting), (10, 10), "no visit, no run");
    let most = (MAX_RUNS - 10) / 2;
    let too_many = Refusal::TooManyRuns { runs: MAX_RUNS + 2, max: MAX_RUNS };
    assert_eq!(scene.refused(more(asked(FIRST), most as u32 + 1)), too_many);
    let mut nested = Scene::of(0);
    nested.submit(FIRST, &PLAIN.replace("runs = 2", "hosts = 2\nruns = 3"));
    nested.handle(more(asked(FIRST), 1));
    assert_eq!(active(&nested).plan().runs(), 2 * 2 * 3 + 2 * 3, "a visit is three runs");
    let of_visits = 2 * 3;
    let most = (MAX_RUNS - 18) / of_visits;
    let too_many = Refusal::TooManyRuns { runs: 18 + of_visits * (most + 1), max: MAX_RUNS };
    assert_eq!(nested.refused(more(asked(FIRST), most as u32 + 1)), too_many);
}

const PILOT: &str = "[experiment]\nname = \"ruled\"\n[repetitions]\npilot = 2\nprecision = \"1%\"\nmaximum = 4\n\
                     [versions.old]\nbaseline = true\n[versions.new]\n\
                     [benchmarks.b]\ncommand = [\"true\"]\n[independence]\npolicy = \"any\"\n";

/// An experiment whose rule has to say whether its four runs are enough.
fn ruled() -> Scene {
    let mut scene = Scene::with(1, PILOT);
    for _ in 0..4 {
        scene.serve(0);
    }
    scene
}

fn decide(from: u32, decision: Decision) -> Command {
    Command::Decide { request: asked(FIRST), from, decision, words: "as computed".to_owned() }
}

#[test]
fn a_rule_decides_on_the_runs_that_it_saw() {
    let mut early = Scene::of(1);
    early.submit(FIRST, PILOT);
    assert_eq!(early.refused(decide(4, Decision::Enough)), Refusal::NotDeciding(FIRST));
    let mut scene = ruled();
    assert_eq!(active(&scene).phase(), &Phase::Deciding);
    let stale = Refusal::StaleDecision { experiment: FIRST, computed_from: 3, runs: 4 };
    assert_eq!(scene.refused(decide(3, Decision::Enough)), stale);
    let outcome = scene.handle(decide(4, Decision::Enough));
    let decided = |event: &Event| matches!(&event.change, Change::Decided { enough: true, words, .. } if words == "as computed");
    assert!(outcome.events.iter().any(decided));
    assert_eq!(scene.machine.active().count(), 0, "it is finished");
}

#[test]
fn a_rule_appends_within_its_maximum() {
    let appended = |order: Vec<u32>| Decision::Extend(Extension { order, shape: Shape::SINGLE });
    let mut scene = ruled();
    assert_eq!(scene.refused(decide(4, appended(Vec::new()))), Refusal::NothingAppended);
    let unfit = scene.refused(decide(4, appended(vec![2])));
    assert!(matches!(unfit, Refusal::Unfit(_)), "there are two cells: {unfit}");
    let beyond = scene.refused(decide(4, appended(vec![0, 1, 0, 0])));
    assert_eq!(beyond, Refusal::BeyondRule { runs: 5, max: 4 });
    scene.handle(decide(4, appended(vec![0, 1, 0, 1])));
    let ruled = active(&scene);
    assert_eq!((ruled.phase(), ruled.words(), ruled.plan().runs()), (&Phase::Running, "as computed", 8));
    assert_eq!(ruled.tally().waiting, 4);
    scene.serve(0);
}

#[test]
fn more_runs_than_a_plan_may_have_are_refused_before_they_are_drawn() {
    let mut scene = ruled();
    let order = vec![0; crate::experiment::MAX_RUNS as usize - 3];
    let refusal = scene.refused(decide(4, Decision::Extend(Extension { order, shape: Shape::SINGLE })));
    let max = crate::experiment::MAX_RUNS;
    assert_eq!(refusal, Refusal::TooManyRuns { runs: max + 1, max });
}

#[test]
fn a_class_is_approved_where_hosts_have_to_be_identical() {
    let mut scene = Scene::of(2);
    scene.join(HostFacts { fingerprint: fingerprint("large"), ..facts(2) });
    let approve = |experiment, number| Command::Approve { request: asked(experiment), host: host(number) };
    scene.submit(FIRST, PLAIN);
    scene.submit(SECOND, &format!("{PLAIN}[independence]\nhosts = \"classes\"\n"));
    assert_eq!(scene.refused(approve(SECOND, 2)), Refusal::AnyClass(SECOND));
    assert_eq!(scene.refused(approve(FIRST, 7)), Refusal::UnknownHost(host(7)));
    assert_eq!(scene.handle(approve(FIRST, 0)).events, [], "its class is taken already");
    scene.handle(approve(FIRST, 2));
    assert_eq!(active(&scene).classes().len(), 2);
}

#[test]
fn a_host_is_taken_out_and_given_back_once() {
    let mut scene = Scene::of(1);
    let events = |scene: &mut Scene, command: Command| scene.handle(command).events.len();
    let (drain, resume) = (Command::Drain(scene.request(0)), Command::ResumeHost(scene.request(0)));
    let odd = Command::Quarantine { request: scene.request(0), reason: "odd".to_owned() };
    assert_eq!(events(&mut scene, resume.clone()), 0, "it serves");
    assert_eq!(events(&mut scene, drain.clone()), 1);
    assert_eq!(events(&mut scene, drain.clone()), 0);
    assert_eq!(events(&mut scene, odd.clone()), 1);
    assert_eq!(events(&mut scene, odd), 0);
    assert_eq!(events(&mut scene, drain), 0, "a quarantined host stays in quarantine");
    assert_eq!(events(&mut scene, resume), 1);
    assert!(scene.machine.host(&host(0)).is_some_and(Host::is_available));
    let unknown = Command::Drain(scene.request(5));
    assert_eq!(scene.refused(unknown), Refusal::UnknownHost(host(5)));
}

#[test]
fn the_shortage_says_how_many_hosts_are_wanted() {
    let mut scene = Scene::of(1);
    let Refusal::PoolTooSmall(shortage) = scene.refused(submission(FIRST, PLAIN, false)) else {
        panic!("one host for four runs")
    };
    let words = Shortage::to_string(&shortage);
    assert!(words.contains('4') && words.contains('1'), "{words}");
}

#[test]
fn so_many_experiments_are_active_at_most() {
    let mut scene = Scene::of(0);
    let plan = fixture::plan(PLAIN);
    let mut submissions = 0_u128;
    let mut submission = |by: &str| {
        submissions += 1;
        fixture::submit(ExperimentId(Uuid::from_u128(submissions)), plan.clone(), by)
    };
    for number in 0..MAX_ACTIVE {
        scene.machine.handle(scene.now, submission(&format!("user-{number}"))).expect("there is room");
    }
    assert_eq!(scene.refused(submission("another")), Refusal::TooManyActive);
}

/// Law: as long as a place is free, a user without an active experiment can submit, whatever others have submitted.
#[test]
fn nobody_takes_the_places_of_others() {
    let mut scene = Scene::of(0);
    let plan = fixture::plan(PLAIN);
    let mut submissions = 0_u128;
    let mut of_each = Vec::new();
    for user in 0..12 {
        let by = format!("user-{user}");
        let others: u64 = of_each.iter().sum();
        let refusal = loop {
            submissions += 1;
            let submit = fixture::submit(ExperimentId(Uuid::from_u128(submissions)), plan.clone(), &by);
            match scene.machine.handle(scene.now, submit) {
                Ok(_) => {}
                Err(refusal) => break refusal,
            }
        };
        let most = share(MAX_ACTIVE as u64, others);
        assert_eq!(refusal, Refusal::TooManyOfUser { by, most });
        of_each.push(most);
        assert_eq!(scene.machine.active().count() as u64, others + most);
    }
    assert_eq!(of_each[0], 250);
    // Whoever has ended one may submit another, and what he ended is there for everyone.
    let first = scene.machine.active().next().expect("the first of the first user");
    scene.handle(Command::Cancel(asked(first)));
    scene.submit(ExperimentId(Uuid::from_u128(submissions + 1)), PLAIN);
}

#[test]
fn a_class_without_a_host_that_serves_is_not_pinned() {
    let mut scene = Scene::of(1);
    scene.leave(0);
    scene.submit(FIRST, PLAIN);
    assert!(active(&scene).classes().is_empty(), "its only host is away");
    scene.join(HostFacts { fingerprint: fingerprint("large"), ..facts(1) });
    scene.serve(1);
    assert_eq!(active(&scene).classes().iter().collect::<Vec<_>>(), [&fingerprint("large").class()]);
}

/// Where its only class is gone for a while, an experiment of which nothing was measured takes another.
#[test]
fn a_class_is_pinned_anew_unless_a_host_boots_for_the_experiment() {
    for boots in [false, true] {
        let mut scene = Scene::of(0);
        scene.join(HostFacts { can_reboot: true, ..facts(0) });
        scene.submit(SECOND, &format!("{PLAIN}[independence]\npolicy = \"rebooted\"\n"));
        scene.serve(0);
        if boots {
            assert_eq!(scene.ask(0), None, "it boots for the second");
        }
        assert_eq!(scene.machine.experiment(SECOND).expect("active").reserved, u32::from(boots));
        scene.submit(FIRST, PLAIN);
        scene.leave(0);
        scene.join(HostFacts { fingerprint: fingerprint("large"), ..facts(1) });
        assert_eq!(scene.ask(1), None, "another class");
        scene.tick_after(Settings::default().host_grace);
        let large = fingerprint("large").class();
        assert!(active(&scene).admits(large), "of the first nothing was measured");
        assert!(!scene.machine.experiment(SECOND).expect("active").admits(large), "of the second it was");
    }
}

/// The journal of another release may say what this one would not.
#[test]
fn a_decision_that_nobody_waits_for_does_not_end_an_experiment() {
    let mut scene = Scene::with(1, PLAIN);
    let (by, words) = ("user".to_owned(), "as computed".to_owned());
    let change = Change::Decided { experiment: FIRST, by, enough: true, words };
    scene.machine.replay(&Event { at: scene.now, change });
    assert_eq!(active(&scene).phase(), &Phase::Running);
    scene.machine.check();
}
