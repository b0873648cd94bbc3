//! Which visit a host is given.

use super::*;
use crate::host::Standing;

const NEXT: &str = "next";

fn rebooting(number: u32) -> HostFacts {
    HostFacts { can_reboot: true, ..facts(number) }
}

fn is_to_boot(scene: &mut Scene, number: u32) -> bool {
    let outcome = scene.handle(Command::Ask(scene.speaker(number)));
    outcome.effects.iter().any(|effect| matches!(effect, Effect::Reboot { .. }))
}

#[test]
fn higher_priorities_go_first_then_who_has_fewer_leases() {
    let mut scene = Scene::of(4);
    let of = |priority: i32| {
        PLAIN.replace("name = \"scene\"", &format!("name = \"scene\"\npriority = {priority}"))
    };
    scene.submit(FIRST, &of(0));
    scene.submit(SECOND, &of(1));
    assert_eq!(scene.ask(0).map(|lease| lease.experiment), Some(SECOND));
    scene.handle(Command::Cancel(asked(SECOND)));
    let mut even = Scene::of(4);
    even.submit(FIRST, &of(0));
    even.submit(SECOND, &of(0));
    let given: Vec<_> = (0..4).filter_map(|number| even.ask(number)).map(|lease| lease.experiment).collect();
    assert_eq!(given, [FIRST, SECOND, FIRST, SECOND], "in turn");
}

#[test]
fn hosts_boot_for_as_many_visits_as_wait() {
    let plan = PLAIN.replace("runs = 2", "runs = 3")
        + "[independence]\npolicy = \"rebooted\"\nscope = \"experiment\"\n";
    let mut scene = Scene::of(0);
    (0..5).for_each(|number| scene.join(rebooting(number)));
    scene.submit(FIRST, &plan);
    (0..5).for_each(|number| _ = scene.serve(number));
    assert!(is_to_boot(&mut scene, 0), "one visit waits");
    assert!(!is_to_boot(&mut scene, 1), "and one host boots for it");
    assert!(is_to_boot(&mut scene, 0), "a host that was told and asks again is told again");
    scene.leave(0);
    let boot = NEXT.parse().expect("a boot id");
    scene.join(HostFacts { boot, ..rebooting(0) });
    scene.serve(0);
    assert_eq!(scene.machine.active().count(), 0);
}

#[test]
fn a_host_that_boots_by_no_command_is_not_asked_to() {
    let plan = format!("{PLAIN}[independence]\npolicy = \"rebooted\"\n");
    let mut scene = Scene::with(1, &plan);
    scene.serve(0);
    assert!(!is_to_boot(&mut scene, 0));
    let mut distinct = Scene::of(0);
    distinct.join(rebooting(0));
    distinct.submit(FIRST, PLAIN);
    distinct.serve(0);
    assert!(!is_to_boot(&mut distinct, 0), "nor where it would not make it fresh");
}

#[test]
fn boots_of_a_visit_are_between_its_runs() {
    let plan =
        PLAIN.replace("runs = 2", "hosts = 1\nboots = 2\nruns = 2") + "[independence]\npolicy = \"any\"\n";
    let mut scene = Scene::of(1);
    scene.join(rebooting(1));
    scene.submit(FIRST, &plan);
    assert_eq!(scene.ask(0), None, "a host that cannot boot is given no visit with boots");
    let first = scene.serve(1);
    let second = scene.serve(1);
    assert_eq!(second.run.0, first.run.0 + 1, "two runs of a boot");
    assert!(is_to_boot(&mut scene, 1), "then a boot");
    scene.leave(1);
    scene.join(HostFacts { boot: NEXT.parse().expect("a boot id"), ..rebooting(1) });
    assert_eq!(scene.serve(1).run.0, first.run.0 + 2);
    assert_eq!(scene.serve(1).run.0, first.run.0 + 3);
    let next = scene.serve(1);
    let place = scene.machine.experiment(FIRST).expect("active").plan().place(next.run);
    assert_eq!(place.group, next.run, "another visit, for which it need not boot");
}

#[test]
fn a_visit_under_rested_rests_between_its_runs() {
    let plan = PLAIN.replace("runs = 2", "hosts = 1\nruns = 2")
        + "[independence]\npolicy = \"rested\"\nrest = { idle = \"40s\" }\n";
    let mut scene = Scene::with(1, &plan);
    let first = scene.serve(0);
    assert_eq!(scene.ask(0), None);
    scene.now = Timestamp((scene.now + Span::from_secs(40)).0 - 1);
    assert_eq!(scene.notice(Notice::Tick).effects, [], "a moment before");
    scene.now = scene.now + Span(1);
    let outcome = scene.notice(Notice::Rest);
    let next = outcome
        .effects
        .iter()
        .find_map(|effect| if let Effect::Grant { lease, .. } = effect { Some(lease.run) } else { None });
    assert_eq!(next, Some(RunIndex(first.run.0 + 1)));
}

#[test]
fn of_two_rests_the_earlier_is_waited_for() {
    let rested =
        |idle: u32| format!("{PLAIN}[independence]\npolicy = \"rested\"\nrest = {{ idle = \"{idle}s\" }}\n");
    let mut scene = Scene::with(1, &rested(90));
    scene.serve(0);
    scene.submit(SECOND, &rested(40));
    let due = scene.now + Span::from_secs(40);
    assert_eq!(scene.ask(0), None);
    assert_eq!(scene.machine.host(&host(0)).and_then(Host::rested_at), Some(due));
}

/// With its class gone for the time of grace, an experiment of which nothing was executed takes another.
#[test]
fn a_class_whose_hosts_are_gone_is_let_go_of() {
    let mut scene = Scene::with(1, PLAIN);
    scene.join(HostFacts { fingerprint: fingerprint("large"), ..facts(1) });
    assert_eq!(scene.ask(1), None, "the other class has a host");
    scene.leave(0);
    let due = scene.now + Settings::default().host_grace;
    assert_eq!(scene.machine.host(&host(1)).and_then(Host::rested_at), Some(due));
    scene.now = Timestamp(due.0 - 1);
    assert_eq!(scene.notice(Notice::Tick).effects, [], "a moment before");
    scene.now = due;
    assert_eq!(scene.notice(Notice::Tick).effects.len(), 1, "it is given a run");
    let classes = scene.machine.experiment(FIRST).expect("active").classes();
    assert_eq!(classes.iter().copied().collect::<Vec<_>>(), [fingerprint("large").class()]);
}

#[test]
fn a_class_is_not_let_go_of_while_a_host_boots_for_the_experiment() {
    let mut scene = Scene::of(0);
    scene.join(rebooting(0));
    scene.submit(FIRST, &format!("{PLAIN}[independence]\npolicy = \"rebooted\"\n"));
    let lease = scene.ask(0).expect("a run");
    scene.lose(&lease);
    assert!(is_to_boot(&mut scene, 0), "it is used, and nothing was executed");
    scene.leave(0);
    scene.join(HostFacts { fingerprint: fingerprint("large"), ..facts(1) });
    assert_eq!(scene.ask(1), None, "another class");
    let class = |scene: &Scene| {
        scene.machine.experiment(FIRST).expect("active").classes().iter().copied().collect::<Vec<_>>()
    };
    scene.tick_after(Settings::default().host_grace);
    assert_eq!(class(&scene), [fingerprint("small").class()], "the host will be back");
    scene.tick_after(Settings::default().reboot_limit);
    assert_eq!(class(&scene), [fingerprint("large").class()], "it is not");
}

#[test]
fn a_class_that_was_measured_on_stays() {
    for leased_only in [true, false] {
        let mut scene = Scene::with(1, PLAIN);
        scene.join(HostFacts { fingerprint: fingerprint("large"), ..facts(1) });
        let lease = scene.ask(0).expect("a run");
        if !leased_only {
            scene.report(&lease, RunOutcome::Measured);
        }
        assert_eq!(scene.ask(1), None);
        scene.leave(0);
        scene.now = scene.now + Span(Settings::default().host_grace.0 - 1);
        scene.notice(Notice::Tick);
        assert_eq!(scene.machine.host(&host(1)).and_then(Host::rested_at), None);
    }
}

/// A run that every host which could take it has lost goes to one of them again, where the policy lets hosts come again.
#[test]
fn a_run_that_all_have_tried_is_tried_again() {
    let again = |policy: &str| {
        let mut scene = Scene::of(2);
        let one = PLAIN.replace("runs = 2", "runs = 1");
        scene.submit(FIRST, &format!("{one}[independence]\npolicy = \"{policy}\"\n[limits]\nattempts = 9\n"));
        let first = scene.ask(0).expect("a run");
        scene.lose(&first);
        let other = scene.ask(0).map(|lease| lease.run);
        assert_ne!(other, Some(first.run), "the other host has not tried it");
        let tried = scene.ask(1).expect("the run that was lost");
        assert_eq!(tried.run, first.run);
        scene.lose(&tried);
        scene.ask(1).map(|lease| lease.run == first.run)
    };
    assert_eq!(again("any"), Some(true));
    assert_eq!(again("distinct"), None, "it has served");
}

#[test]
fn what_a_drained_host_has_begun_goes_to_another() {
    let plan = PLAIN.replace("runs = 2", "hosts = 2\nruns = 2");
    let mut scene = Scene::with(2, &plan);
    let first = scene.serve(0);
    assert_eq!(scene.machine.host(&host(0)).map(|host| host.visits.len()), Some(1));
    scene.handle(Command::Drain(scene.request(0)));
    assert_eq!(scene.machine.host(&host(0)).map(|host| host.visits.len()), Some(0));
    assert_eq!(scene.ask(0), None);
    let given = scene.ask(1).expect("a visit");
    assert_ne!(given.run, first.run, "what is left of it, or another");
    scene.handle(Command::ResumeHost(scene.request(0)));
    let standing = &scene.machine.host(&host(0)).expect("known").standing;
    assert_eq!(*standing, Standing::Serving);
}

#[test]
fn a_visit_ends_with_the_attempt_that_its_host_lost() {
    let plan = PLAIN.replace("runs = 2", "hosts = 2\nruns = 2");
    let mut scene = Scene::with(2, &plan);
    scene.serve(0);
    let second = scene.ask(0).expect("the rest of its visit");
    scene.lose(&second);
    assert_eq!(scene.machine.host(&host(0)).map(|host| host.visits.len()), Some(0));
    assert_eq!(scene.machine.experiment(FIRST).map(|active| active.tally().lost_attempts), Some(1));
}

#[test]
fn a_host_that_drifts_says_in_what() {
    let mut scene = Scene::of(1);
    scene.leave(0);
    scene.join(facts(0));
    assert_eq!(scene.machine.host(&host(0)).map(|host| host.drifted.len()), Some(0));
    scene.leave(0);
    scene.join(HostFacts { fingerprint: fingerprint("large"), ..facts(0) });
    let drifted = scene.machine.host(&host(0)).map(|host| host.drifted.clone());
    assert_eq!(drifted, Some(vec!["cpu.model".to_owned()]));
}

#[test]
fn one_machine_under_two_ids_of_its_own_is_refused() {
    let mut scene = Scene::of(1);
    let boot = facts(0).boot;
    let twin = scene.joining(HostFacts { boot: boot.clone(), ..facts(1) });
    assert!(matches!(scene.refused(twin), Refusal::SameMachine { .. }));
    scene.join(HostFacts { boot: "boot-1".parse().expect("an id"), ..facts(1) });
}

#[test]
fn a_start_of_the_coordinator_finds_every_host_away() {
    let (mut scene, lease) = Scene::leased(1, PLAIN);
    scene.notice(Notice::Start);
    assert_eq!(scene.machine.hosts_here(), 0);
    assert_eq!(scene.machine.next_loss(), Some(lease.deadline), "only the lease's own deadline counts");
}

/// What is left of a visit goes to a host that has visited nothing of the cell while one can be spared, then to one that has
/// begun the visit.
#[test]
fn the_rest_of_a_visit_is_had_by_who_lost_it_once_no_other_host_can_be_spared() {
    let plan = PLAIN.replace("runs = 2", "hosts = 2\nruns = 1")
        + "[independence]\npolicy = \"any\"\n[design]\norder = \"blocked\"\n";
    for begun in [false, true] {
        let mut scene = Scene::with(3, &plan);
        let (first, second) = (scene.ask(0).expect("a visit"), scene.ask(1).expect("the other"));
        let rest = if begun {
            scene.report(&first, RunOutcome::Measured);
            scene.handle(Command::Drain(scene.request(0)));
            RunIndex(first.run.0 + 1)
        } else {
            scene.lose(&first);
            first.run
        };
        scene.lose(&second);
        assert_eq!(scene.ask(1), None, "the third host can be spared");
        assert_eq!(scene.ask(2).map(|lease| lease.run), Some(rest));
        let held = scene.machine.host(&host(1)).and_then(|host| host.lease.as_ref());
        assert_eq!(held.map(|lease| lease.run), Some(second.run), "no host is left that could be spared");
    }
}

#[test]
fn who_goes_on_with_a_visit_of_what_is_cancelled_takes_something_else() {
    let rested = PLAIN.replace("runs = 2", "hosts = 2\nruns = 2")
        + "[independence]\npolicy = \"rested\"\nrest = { idle = \"40s\" }\n";
    let mut scene = Scene::with(2, &rested);
    scene.serve(0);
    scene.ask(1).expect("a run that is under way when all others are cancelled");
    assert_eq!(scene.ask(0), None, "it rests");
    scene.submit(SECOND, PLAIN);
    let held = |scene: &Scene| scene.machine.host(&host(0)).and_then(|host| host.lease.clone());
    assert_eq!(held(&scene), None, "its visit goes before all else");
    scene.handle(Command::Cancel(asked(FIRST)));
    assert_eq!(held(&scene).map(|lease| lease.experiment), Some(SECOND));
}

#[test]
fn a_visit_is_gone_on_with_while_the_allocation_holds_the_next_run() {
    // Three runs of 20 s at most, and ten seconds for the last report.
    let plan = PLAIN.replace("runs = 2", "hosts = 1\nruns = 3");
    for (late, is_given) in [(40, true), (41, false)] {
        let mut scene = Scene::of(0);
        let allocation_ends = Some(scene.now + Span::from_secs(3 * 20 + 10));
        scene.join(HostFacts { allocation_ends, ..facts(0) });
        scene.submit(FIRST, &plan);
        scene.serve(0);
        scene.now = scene.now + Span::from_secs(late);
        assert_eq!(scene.ask(0).is_some(), is_given, "{late} s after the visit began");
    }
}

/// The journal of another release may say what this one would not.
#[test]
fn a_visit_on_a_class_that_is_let_go_of_goes_to_another_host() {
    let mut scene = Scene::with(1, &PLAIN.replace("runs = 2", "hosts = 2\nruns = 2"));
    scene.serve(0);
    let change = Change::ClassPinned { experiment: FIRST, class: fingerprint("large").class() };
    scene.machine.replay(&Event { at: scene.now, change });
    assert_eq!(scene.machine.host(&host(0)).map(|host| host.visits.len()), Some(0));
    scene.machine.check();
}

#[test]
fn who_was_given_up_is_had_back_when_all_others_have_left() {
    let any = PLAIN.replace("runs = 2", "runs = 9") + "[independence]\npolicy = \"any\"\n";
    let mut scene = Scene::with(2, &any);
    for _ in 0..LOST_IN_A_ROW {
        let lease = scene.ask(0).expect("a run");
        scene.lose(&lease);
    }
    assert_eq!(scene.ask(0), None, "given up");
    for _ in 0..LOST_IN_A_ROW {
        scene.serve(1);
    }
    let holds = |scene: &Scene| scene.machine.host(&host(0)).is_some_and(|host| host.lease.is_some());
    assert!(!holds(&scene));
    scene.leave(1);
    assert!(holds(&scene), "there is no other");
}
