//! Attempts from their grants to their ends.

use super::*;
use crate::experiment::build::Product;
use crate::experiment::files::{Content, ContentHash};
use crate::run::{AfterLoss, LossReason, Settlement};
use crate::value::id::Attempt;

fn run(scene: &Scene, lease: &Lease) -> RunState {
    scene.machine.run(FIRST, lease.run).expect("it is active")
}

fn reported(lease: &Lease, speaker: Speaker) -> Command {
    let record = Record::bare(RunOutcome::Measured);
    let report = AttemptReport { lease: lease.epoch, executed_by: lease.agent_epoch, record };
    Command::Report { speaker, report: Box::new(report) }
}

#[test]
fn a_grant_that_was_missed_is_sent_again() {
    let (mut scene, lease) = Scene::leased(2, PLAIN);
    let outcome = scene.handle(Command::Ask(scene.speaker(0)));
    assert_eq!(outcome.events, [], "it is the same lease");
    let is_it = |effect: &Effect| matches!(effect, Effect::Grant { lease: again, .. } if **again == lease);
    assert!(outcome.effects.iter().all(is_it) && outcome.effects.len() == 1);
}

#[test]
fn an_agent_that_started_anew_has_lost_its_attempt() {
    let (mut scene, lease) = Scene::leased(2, PLAIN);
    scene.leave(0);
    scene.join(facts(0));
    assert!(matches!(run(&scene, &lease), RunState::Leased { .. }), "until it asks");
    let outcome = scene.handle(Command::Ask(scene.speaker(0)));
    let [ended] = &outcome.ended[..] else { panic!("one attempt ended: {outcome:?}") };
    let after = AfterLoss::Again(Attempt(2));
    assert_eq!(ended.end, AttemptEnd::Lost { reason: LossReason::AgentRestarted, after, late: None });
}

#[test]
fn a_run_has_begun_once_its_agent_says_so() {
    let (mut scene, lease) = Scene::leased(2, PLAIN);
    let begin = |scene: &Scene, epoch| Command::Started { speaker: scene.speaker(0), lease: epoch };
    let other = begin(&scene, LeaseEpoch(lease.epoch.0 + 1));
    assert_eq!(scene.handle(other).events, [], "another lease");
    let its = begin(&scene, lease.epoch);
    assert_eq!(scene.handle(its.clone()).events.len(), 1);
    assert!(matches!(run(&scene, &lease), RunState::Running { .. }));
    assert_eq!(active_tally(&scene), (3, 0, 1));
    assert_eq!(scene.handle(its).events, [], "it has begun already");
}

/// Runs that wait, are leased, and execute.
fn active_tally(scene: &Scene) -> (u32, u32, u32) {
    let tally = scene.machine.experiment(FIRST).expect("active").tally();
    (tally.waiting, tally.leased, tally.running)
}

#[test]
fn a_report_is_taken_from_whom_the_lease_was_given_to() {
    let (mut scene, lease) = Scene::leased(2, PLAIN);
    let speaker = scene.speaker(1);
    assert!(matches!(scene.refused(reported(&lease, speaker)), Refusal::NotYourLease { .. }), "another host");
    let of_another_start = Lease { agent_epoch: AgentEpoch(99), ..lease.clone() };
    let refusal = scene.refused(reported(&of_another_start, scene.speaker(0)));
    assert!(matches!(refusal, Refusal::NotYourLease { .. }), "another start");
    let never_given = Lease { epoch: scene.machine.next_lease(), ..lease.clone() };
    let refusal = scene.refused(reported(&never_given, scene.speaker(0)));
    assert!(matches!(refusal, Refusal::NotYourLease { .. }), "not given yet");
    let stranger = Speaker { host: host(0), epoch: AgentEpoch(99) };
    assert_eq!(scene.refused(reported(&lease, stranger)), Refusal::NotJoined(host(0)));
    let acknowledged = [Effect::Acknowledge { host: host(0), lease: lease.epoch }];
    assert_eq!(scene.handle(reported(&lease, scene.speaker(0))).effects, acknowledged);
    assert_eq!(run(&scene, &lease), RunState::Settled(Settlement::Measured));
    let again = scene.handle(reported(&lease, scene.speaker(0)));
    assert_eq!((again.events, again.effects), (Vec::new(), acknowledged.to_vec()), "it is kept already");
}

#[test]
fn a_late_report_is_kept_beside_its_attempt() {
    let (mut scene, lease) = Scene::leased(2, PLAIN);
    scene.now = lease.deadline;
    scene.notice(Notice::Tick);
    assert_eq!(run(&scene, &lease), RunState::Waiting { attempt: Attempt(2) });
    let refusal = scene.refused(reported(&lease, scene.speaker(1)));
    assert!(matches!(refusal, Refusal::NotYourLease { .. }), "another host");
    let of_another_start = Lease { agent_epoch: AgentEpoch(99), ..lease.clone() };
    let refusal = scene.refused(reported(&of_another_start, scene.speaker(0)));
    assert!(matches!(refusal, Refusal::NotYourLease { .. }), "another start");
    let outcome = scene.handle(reported(&lease, scene.speaker(0)));
    let late = |event: &Event| matches!(&event.change, Change::LateReport { superseded, .. } if superseded.lease == lease.epoch);
    assert!(outcome.events.iter().all(late) && outcome.events.len() == 1, "{outcome:?}");
    assert_eq!(run(&scene, &lease), RunState::Waiting { attempt: Attempt(2) }, "and not analysed");
    assert_eq!(scene.handle(reported(&lease, scene.speaker(0))).events, [], "once");
}

#[test]
fn a_run_is_abandoned_after_its_last_attempt() {
    let mut scene = Scene::with(3, &format!("{PLAIN}[limits]\nattempts = 2\n"));
    let first = scene.ask(0).expect("a run");
    scene.lose(&first);
    assert_eq!(run(&scene, &first), RunState::Waiting { attempt: Attempt(2) });
    let second = scene.ask(1).expect("the same run");
    assert_eq!((second.run, second.attempt), (first.run, Attempt(2)));
    scene.lose(&second);
    assert_eq!(run(&scene, &first), RunState::Settled(Settlement::Abandoned));
    let tally = scene.machine.experiment(FIRST).expect("active").tally();
    assert_eq!((tally.lost_attempts, tally.abandoned), (2, 1));
}

#[test]
fn a_cancelled_experiments_lost_attempt_is_not_tried_again() {
    let (mut scene, lease) = Scene::leased(2, PLAIN);
    scene.handle(Command::Cancel(asked(FIRST)));
    let reason = "no such program".to_owned();
    let outcome = scene.report(&lease, RunOutcome::NotExecuted { reason, obstacle: Obstacle::Owner });
    let is_cancelled =
        |attempt: &EndedAttempt| matches!(attempt.end, AttemptEnd::Lost { after: AfterLoss::Cancelled, .. });
    assert!(outcome.ended.iter().all(is_cancelled) && outcome.ended.len() == 1, "{outcome:?}");
    assert_eq!(scene.machine.active().count(), 0);
}

#[test]
fn only_who_is_connected_leaves_and_once() {
    let mut scene = Scene::with(2, PLAIN);
    let speaker = scene.speaker(0);
    let stranger = Speaker { host: host(0), epoch: AgentEpoch(99) };
    assert_eq!(scene.notice(Notice::Leave(stranger)).events, [], "another start");
    assert_eq!(scene.notice(Notice::Leave(speaker.clone())).events.len(), 1);
    assert_eq!(scene.notice(Notice::Leave(speaker.clone())).events, [], "it has left");
    assert_eq!(scene.refused(Command::Ask(speaker)), Refusal::NotJoined(host(0)));
}

const BUILT: &str = "[experiment]\nname = \"built\"\n[repetitions]\nruns = 2\n[versions.old]\nbaseline = true\n\
                     [versions.new]\nbuild = [\"make\"]\nproducts = { prog = \"out/prog\", lib = \"out/lib\" }\n\
                     [benchmarks.b]\ncommand = [\"true\"]\n[limits]\nattempts = 1\n";

fn product(name: &str) -> Product {
    let content = Content { blake3: ContentHash([1; 32]), bytes: 5_000_000_000, executable: true };
    Product { name: name.to_owned(), content }
}

/// What becomes of a build that made these.
fn built(products: &[&str]) -> (Scene, Lease, HandleOutcome) {
    let mut scene = Scene::with(2, BUILT);
    let lease = scene.ask(0).expect("the build");
    let products = products.iter().map(|name| product(name)).collect();
    let record = Record { products, ..Record::bare(RunOutcome::Measured) };
    let outcome = scene.handle(fixture::report(&lease, record));
    (scene, lease, outcome)
}

#[test]
fn a_build_counts_with_exactly_its_products() {
    let (mut scene, build, _) = built(&["prog", "lib"]);
    let active = scene.machine.experiment(FIRST).expect("active");
    let made = BuildResult::Made(vec![product("lib"), product("prog")]);
    assert_eq!(active.built().get(&build.run), Some(&made), "by their names");
    assert_eq!((active.tally().measured, active.tally().waiting), (1, 4), "the runs are planned");
    // Of the new version's runs each names the build and lasts longer by the time to fetch it.
    let leases: Vec<Lease> = [0, 1].into_iter().filter_map(|number| scene.ask(number)).collect();
    assert_eq!(leases.len(), 2);
    for lease in leases {
        let plan = scene.machine.experiment(FIRST).expect("active").plan();
        let uses = plan.build_of(lease.run);
        assert_eq!(lease.evidence.build.as_ref().map(|used| used.run), uses);
        let fetched = if uses.is_some() {
            crate::experiment::files::time_for([Some(5_000_000_000), Some(5_000_000_000)])
        } else {
            Span(0)
        };
        let expected = lease.granted + Span::from_secs(600) + fetched + crate::run::lease::LEASE_MARGIN;
        assert_eq!(lease.deadline, expected, "{lease:?}");
    }
}

#[test]
fn a_build_without_a_product_is_the_end_of_its_experiment() {
    for products in [&["prog"][..], &["prog", "lib", "more"], &["prog", "prog"]] {
        let (scene, _, outcome) = built(products);
        let is_end = |event: &Event| matches!(event.change, Change::Cancelled { .. });
        assert!(outcome.events.iter().any(is_end), "{products:?}: {outcome:?}");
        assert_eq!(scene.machine.active().count(), 0);
    }
}

#[test]
fn a_build_that_nobody_can_execute_is_the_end_as_well() {
    let mut scene = Scene::with(2, BUILT);
    let lease = scene.ask(0).expect("the build");
    scene.lose(&lease);
    assert_eq!(scene.machine.active().count(), 0);
}

#[test]
fn a_run_has_no_products() {
    let (mut scene, lease) = Scene::leased(2, PLAIN);
    let record = Record { products: vec![product("prog")], ..Record::bare(RunOutcome::Measured) };
    let outcome = scene.handle(fixture::report(&lease, record));
    let bare = |event: &Event| !matches!(&event.change, Change::RunReported { record, .. } if !record.products.is_empty());
    assert!(outcome.events.iter().all(bare), "{outcome:?}");
}

/// The journal of another release may say what this one would not.
#[test]
fn a_lease_that_does_not_fit_changes_neither_run_nor_host() {
    let (scene, lease) = Scene::leased(2, PLAIN);
    let other = (0..4).map(RunIndex).find(|run| *run != lease.run).expect("four runs");
    let next = LeaseEpoch(lease.epoch.0 + 1);
    let odd = [
        ("its host has one", Lease { epoch: next, run: other, ..lease.clone() }),
        ("its run does not wait", Lease { epoch: next, host: host(1), ..lease.clone() }),
        ("its number was given", Lease { run: other, host: host(1), ..lease.clone() }),
    ];
    for (why, odd) in odd {
        let mut machine = scene.machine.clone();
        machine.replay(&Event { at: scene.now, change: Change::LeaseGranted(Box::new(odd)) });
        assert_eq!(machine.experiments, scene.machine.experiments, "{why}");
        assert_eq!(machine.hosts, scene.machine.hosts, "{why}");
    }
}
