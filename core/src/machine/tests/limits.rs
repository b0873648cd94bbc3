//! How long things may take, and how many there may be.

use super::*;
use crate::{host::VISIT_GRACE, run::LossReason, run::lease::LEASE_MARGIN};

#[test]
fn a_lease_lasts_as_long_as_every_part_of_its_run_may() {
    let plan = "[experiment]\nname = \"parts\"\n[repetitions]\nruns = 1\n[versions.old]\nbaseline = true\n\
        [versions.new]\n[benchmarks.b]\ncommand = [\"true\"]\ntimeout = \"1s\"\nwarmup = 2\n\
        [prepare]\ncommand = [\"true\"]\ntimeout = \"10s\"\n[cleanup]\ncommand = [\"true\"]\ntimeout = \"100s\"\n\
        [setup]\ncommand = [\"true\"]\ntimeout = \"1000s\"\n[canary]\ncommand = [\"true\"]\ntimeout = \"10000s\"\n\
        [environment]\nsettle = \"7s\"\n[independence]\npolicy = \"rested\"\nrest = { wait = \"20000s\", load = 0.5 }\n";
    let (scene, lease) = Scene::leased(1, plan);
    // Setup and settling once, three executions with what is before and after each, the canary, and the patience of a host
    // that is to rest.
    let parts = 1_000 + 7 + 3 * 111 + 10_000 + 20_000;
    assert_eq!(lease.deadline, scene.now + Span::from_secs(parts) + LEASE_MARGIN);
}

#[test]
fn a_build_lasts_as_long_as_its_parts_may() {
    let plan = PLAIN.replace(
        "[versions.new]\n",
        "[versions.new]\nbuild = [\"make\"]\nproducts = { prog = \"prog\" }\nbuild_timeout = \"100s\"\n",
    ) + "[setup]\ncommand = [\"true\"]\ntimeout = \"1000s\"\n";
    let mut scene = Scene::with(1, &plan);
    let lease = scene.ask(0).expect("the build");
    let made = crate::experiment::files::time_for([None]);
    assert_eq!(lease.deadline, scene.now + Span::from_secs(1_100) + made + LEASE_MARGIN);
}

#[test]
fn a_lease_ends_at_its_deadline_and_not_before() {
    let (mut scene, lease) = Scene::leased(1, PLAIN);
    assert_eq!(scene.machine.next_loss(), Some(lease.deadline));
    scene.now = Timestamp(lease.deadline.0 - 1);
    assert_eq!(scene.notice(Notice::Tick).ended, [], "a moment before");
    scene.now = lease.deadline;
    let ended = scene.notice(Notice::Tick).ended;
    let is_expired =
        |attempt: &EndedAttempt| matches!(attempt.end, AttemptEnd::Lost { reason: LossReason::Expired, .. });
    assert!(ended.len() == 1 && ended.iter().all(is_expired), "{ended:?}");
}

#[test]
fn a_silent_host_keeps_its_visit_for_a_while() {
    let nested = PLAIN.replace("runs = 2", "hosts = 1\nruns = 3");
    let mut scene = Scene::with(1, &nested);
    scene.serve(0);
    let due = scene.now + VISIT_GRACE;
    assert_eq!(scene.machine.next_loss(), Some(due));
    scene.now = Timestamp(due.0 - 1);
    assert_eq!(scene.notice(Notice::Tick).events, [], "a moment before");
    scene.tick_after(Span(1));
    let host = scene.machine.host(&host(0)).expect("it joined");
    assert!(host.visits.is_empty(), "another may have it");
}

#[test]
fn a_host_that_does_not_come_back_from_its_reboot_is_quarantined() {
    let rebooted = format!("{PLAIN}[independence]\npolicy = \"rebooted\"\n");
    let mut scene = Scene::of(0);
    scene.join(HostFacts { can_reboot: true, ..facts(0) });
    scene.submit(FIRST, &rebooted);
    scene.serve(0);
    assert_eq!(scene.ask(0), None, "it is to boot");
    let due = scene.now + Settings::default().reboot_limit;
    assert_eq!(scene.machine.next_loss(), Some(due));
    scene.now = due;
    scene.notice(Notice::Tick);
    let host = scene.machine.host(&host(0)).expect("it joined");
    assert!(!host.is_available(), "{:?}", host.standing);
}

#[test]
fn an_experiment_ends_at_its_limits() {
    for (limits, runs) in [("all_attempts = 2", 2), ("host_time = \"4s\"", 2), ("host_time = \"5s\"", 3)] {
        let mut scene = Scene::with(4, &format!("{PLAIN}[limits]\n{limits}\n"));
        for number in 0..runs {
            let lease = scene.ask(number).unwrap_or_else(|| panic!("{limits}: run {number}"));
            scene.now = scene.now + Span::from_secs(2);
            scene.report(&lease, RunOutcome::Measured);
        }
        assert!(scene.machine.experiment(FIRST).is_none(), "{limits}: what was left is cancelled");
    }
}

#[test]
fn runs_that_nobody_can_execute_pause_the_experiment() {
    let plan =
        PLAIN.replace("runs = 2", "runs = 10") + "[limits]\nattempts = 1\n[independence]\npolicy = \"any\"\n";
    let mut scene = Scene::with(1, &plan);
    for number in 1..ABANDONED_IN_A_ROW {
        let lease = scene.ask(0).expect("a run");
        scene.lose(&lease);
        assert_eq!(scene.machine.experiment(FIRST).map(Active::phase), Some(&Phase::Running), "{number}");
    }
    let lease = scene.ask(0).expect("a run");
    scene.report(&lease, RunOutcome::Measured);
    for _ in 0..ABANDONED_IN_A_ROW {
        let lease = scene.ask(0).expect("one that was executed begins the count anew");
        scene.lose(&lease);
    }
    let phase = scene.machine.experiment(FIRST).map(Active::phase);
    assert!(matches!(phase, Some(Phase::Paused { .. })), "{phase:?}");
}
