//! Why a run is not running: each hindrance where it applies, and nowhere else.

use super::*;
use crate::{
    fingerprint::Fact, run::Settlement, run::lease::LEASE_MARGIN, value::id::Attempt, value::id::HostName,
};

fn hindrances(scene: &Scene, experiment: ExperimentId, run: RunIndex) -> Hindrances {
    match scene.machine.explain(experiment, run) {
        Some(Explanation::Waiting { waiting_for: WaitingFor::Hosts(hindrances), .. }) => hindrances,
        other => panic!("{run} does not wait for hosts: {other:?}"),
    }
}

fn waiting(scene: &Scene, experiment: ExperimentId) -> RunIndex {
    let waits =
        |run: &RunIndex| matches!(scene.machine.run(experiment, *run), Some(RunState::Waiting { .. }));
    (0..).map(RunIndex).take(100).find(waits).expect("a run waits")
}

fn none() -> Hindrances {
    Hindrances::default()
}

#[test]
fn each_host_counts_once_under_what_keeps_it() {
    let mut scene = Scene::of(6);
    scene.join(HostFacts { fingerprint: fingerprint("large"), ..facts(2) });
    scene.submit(FIRST, PLAIN);
    scene.leave(0);
    scene.handle(Command::Drain(scene.request(1)));
    scene.serve(3);
    scene.ask(4).expect("a run");
    let run = waiting(&scene, FIRST);
    let expected = Hindrances {
        away: 1,
        out_of_service: 1,
        other_class: 1,
        // It has served, and the other is about to.
        not_fresh: 2,
        able: 1,
        differing: vec!["cpu.model".to_owned()],
        ..none()
    };
    assert_eq!(hindrances(&scene, FIRST, run), expected);
    let again = scene.request(1);
    scene.handle(Command::Quarantine { request: again, reason: "odd".to_owned() });
    assert_eq!(hindrances(&scene, FIRST, run), expected, "a quarantined host is out of service as well");
}

#[test]
fn a_run_on_several_hosts_tells_how_many_it_wants_at_once() {
    let mut scene = Scene::of(2);
    let text = PLAIN.replace("command = [\"true\"]", "command = [\"true\"]\nhosts = 2\nlauncher = \"srun\"");
    scene.submit(FIRST, &text);
    let expected = Hindrances { able: 2, together: 2, in_one_job: true, ..none() };
    assert_eq!(hindrances(&scene, FIRST, RunIndex(0)), expected);
}

#[test]
fn a_host_at_work_elsewhere_is_busy() {
    let mut scene = Scene::with(2, PLAIN);
    scene.ask(0).expect("a run of the first");
    scene.submit(SECOND, PLAIN);
    assert_eq!(hindrances(&scene, SECOND, RunIndex(0)), Hindrances { busy: 1, able: 1, ..none() });
}

#[test]
fn a_host_that_has_to_boot_says_so() {
    let rebooted = format!("{PLAIN}[independence]\npolicy = \"rebooted\"\n");
    let mut scene = Scene::of(1);
    scene.join(HostFacts { can_reboot: true, ..facts(1) });
    scene.submit(FIRST, &rebooted);
    scene.serve(0);
    scene.serve(1);
    let run = waiting(&scene, FIRST);
    let expected = Hindrances { cannot_reboot: 1, not_fresh: 1, ..none() };
    assert_eq!(hindrances(&scene, FIRST, run), expected);
    assert_eq!(scene.ask(1), None, "it is to boot first");
    let expected = Hindrances { cannot_reboot: 1, rebooting: 1, ..none() };
    assert_eq!(hindrances(&scene, FIRST, run), expected);
    scene.join(HostFacts { can_reboot: true, boot: "next".parse().expect("a boot id"), ..facts(1) });
    let expected = Hindrances { cannot_reboot: 1, able: 1, ..none() };
    assert_eq!(hindrances(&scene, FIRST, run), expected);
}

#[test]
fn without_an_allocation_a_host_serves_once() {
    let reallocated = format!("{PLAIN}[independence]\npolicy = \"reallocated\"\n");
    let mut scene = Scene::of(1);
    scene.join(HostFacts { allocation: Some("job-1".parse().expect("an id")), ..facts(1) });
    scene.submit(FIRST, &reallocated);
    let run = RunIndex(3);
    assert_eq!(hindrances(&scene, FIRST, run), Hindrances { able: 2, ..none() }, "both are fresh");
    scene.serve(0);
    scene.serve(1);
    assert_eq!(hindrances(&scene, FIRST, run), Hindrances { no_allocation: 1, not_fresh: 1, ..none() });
    scene.join(HostFacts { allocation: Some("job-2".parse().expect("an id")), ..facts(1) });
    assert_eq!(hindrances(&scene, FIRST, run), Hindrances { no_allocation: 1, able: 1, ..none() });
}

#[test]
fn under_distinct_the_lack_of_an_allocation_is_no_hindrance_of_its_own() {
    let mut scene = Scene::with(1, PLAIN);
    scene.serve(0);
    let run = waiting(&scene, FIRST);
    assert_eq!(hindrances(&scene, FIRST, run), Hindrances { not_fresh: 1, ..none() });
}

#[test]
fn a_host_rests_until_its_idle_time_has_passed() {
    let rested = format!("{PLAIN}[independence]\npolicy = \"rested\"\nrest = {{ idle = \"40s\" }}\n");
    let mut scene = Scene::with(1, &rested);
    scene.serve(0);
    let run = waiting(&scene, FIRST);
    assert_eq!(hindrances(&scene, FIRST, run), Hindrances { resting: 1, ..none() });
    assert_eq!(scene.ask(0), None, "it rests");
    let due = scene.now + Span::from_secs(40);
    assert_eq!(scene.machine.next_rest(), Some(due));
    scene.now = Timestamp(due.0 - 1);
    scene.notice(Notice::Tick);
    assert_eq!(hindrances(&scene, FIRST, run), Hindrances { resting: 1, ..none() }, "a moment before");
    scene.leave(0);
    scene.now = due;
    scene.join(facts(0));
    let found = hindrances(&scene, FIRST, run);
    assert_eq!(found.resting + found.able, 1, "it is here, and has rested or begins anew: {found:?}");
}

#[test]
fn an_allocation_that_ends_too_early_is_ending() {
    // A run may take its timeout; ten seconds more are kept for the report.
    let needed = Span::from_secs(20 + 10);
    let mut scene = Scene::with(0, PLAIN);
    let ends = scene.now + needed;
    scene.join(HostFacts { allocation_ends: Some(ends), ..facts(0) });
    scene.join(HostFacts { allocation_ends: Some(Timestamp(ends.0 - 1)), ..facts(1) });
    assert_eq!(hindrances(&scene, FIRST, RunIndex(0)), Hindrances { ending: 1, able: 1, ..none() });
    assert_eq!(scene.ask(1), None);
    scene.ask(0).expect("its allocation holds the run");
}

#[test]
fn a_run_that_a_host_lost_goes_to_another() {
    let any = format!("{PLAIN}[independence]\npolicy = \"any\"\n");
    let (mut scene, lease) = Scene::leased(2, &any);
    scene.lose(&lease);
    assert_eq!(hindrances(&scene, FIRST, lease.run), Hindrances { tried: 1, able: 1, ..none() });
    let Some(Explanation::Waiting { attempt, .. }) = scene.machine.explain(FIRST, lease.run) else {
        panic!("it waits")
    };
    assert_eq!(attempt, Attempt(2));
    scene.leave(1);
    let expected = Hindrances { away: 1, able: 1, ..none() };
    assert_eq!(hindrances(&scene, FIRST, lease.run), expected, "there is no other any more");
}

#[test]
fn what_is_held_names_who_has_it() {
    let (mut scene, lease) = Scene::leased(1, PLAIN);
    let deadline = scene.now + Span::from_secs(20) + LEASE_MARGIN;
    let held = |begun, connected, deadline| {
        let (host, host_name) = (host(0), None);
        Some(Explanation::Held { host, host_name, lease: lease.epoch, begun, connected, deadline })
    };
    assert_eq!(scene.machine.explain(FIRST, lease.run), held(false, true, deadline));
    scene.handle(Command::Started { speaker: scene.speaker(0), lease: lease.epoch });
    assert_eq!(scene.machine.explain(FIRST, lease.run), held(true, true, deadline));
    scene.leave(0);
    let given_up = scene.now + Settings::default().host_grace;
    assert_eq!(scene.machine.explain(FIRST, lease.run), held(true, false, given_up));
}

#[test]
fn what_is_settled_paused_or_unknown_says_so() {
    let mut scene = Scene::with(1, PLAIN);
    let lease = scene.serve(0);
    assert_eq!(scene.machine.explain(FIRST, lease.run), Some(Explanation::Settled(Settlement::Measured)));
    assert_eq!(scene.machine.explain(FIRST, RunIndex(4)), None, "there are four runs");
    assert_eq!(scene.machine.explain(SECOND, RunIndex(0)), None, "and one experiment");
    scene.handle(Command::Pause(asked(FIRST)));
    let run = waiting(&scene, FIRST);
    let Some(Explanation::Waiting { waiting_for, .. }) = scene.machine.explain(FIRST, run) else {
        panic!("it waits")
    };
    assert!(matches!(waiting_for, WaitingFor::Resume { .. }), "{waiting_for:?}");
}

#[test]
fn runs_that_are_planned_after_builds_wait_for_them() {
    let built = PLAIN
        .replace("[versions.new]\n", "[versions.new]\nbuild = [\"make\"]\nproducts = { prog = \"prog\" }\n");
    let mut scene = Scene::with(1, &built);
    let plan = scene.machine.experiment(FIRST).expect("active").plan().clone();
    let (builds, runs) = (plan.builds(), plan.with_first_runs().runs());
    assert_eq!((builds, runs), (1, 5), "a build and four runs");
    let waiting_for = WaitingFor::Builds { made: 0, builds };
    let expected = Some(Explanation::Waiting { attempt: Attempt(1), waiting_for });
    assert_eq!(scene.machine.explain(FIRST, RunIndex(1)), expected);
    assert_eq!(scene.machine.explain(FIRST, RunIndex(4)), expected);
    assert_eq!(scene.machine.explain(FIRST, RunIndex(5)), None, "that many are not planned");
    assert_eq!(hindrances(&scene, FIRST, RunIndex(0)), Hindrances { able: 1, ..none() }, "the build");
    scene.ask(0).expect("the build");
    scene.handle(Command::Cancel(asked(FIRST)));
    assert_eq!(scene.machine.explain(FIRST, RunIndex(1)), None, "it will not be");
}

/// Both versions of a visit on one host, with a boot between.
#[test]
fn a_visit_that_needs_boots_is_its_hosts() {
    let blocked = format!("{PLAIN}[independence]\npolicy = \"rebooted\"\n[design]\norder = \"blocked\"\n");
    let mut scene = Scene::of(1);
    scene.join(HostFacts { can_reboot: true, ..facts(1) });
    scene.submit(FIRST, &blocked);
    let expected = Hindrances { cannot_reboot: 1, able: 1, ..none() };
    assert_eq!(hindrances(&scene, FIRST, RunIndex(0)), expected);
    let lease = scene.serve(1);
    let next = RunIndex(lease.run.0 + 1);
    assert_eq!(hindrances(&scene, FIRST, next), expected, "it goes on with its visit, once it has booted");
    assert_eq!(scene.ask(1), None, "it is to boot first");
    scene.join(HostFacts { can_reboot: true, boot: "next".parse().expect("a boot id"), ..facts(1) });
    assert_eq!(hindrances(&scene, FIRST, next), expected);
    assert_eq!(scene.ask(1).map(|lease| lease.run), Some(next));
}

#[test]
fn the_first_differing_class_is_told() {
    let mut scene = Scene::of(2);
    let other = |facts: [(&str, &str); 2]| {
        let fact = |(name, value): (&str, &str)| (name.to_owned(), Fact::Value(value.to_owned()));
        Fingerprint::new(facts.map(fact).into()).expect("two facts")
    };
    scene.join(HostFacts { fingerprint: fingerprint("large"), ..facts(2) });
    let more = other([("cpu.model", "small"), ("os.kernel", "7.0")]);
    scene.join(HostFacts { fingerprint: more, ..facts(3) });
    scene.submit(FIRST, PLAIN);
    let found = hindrances(&scene, FIRST, RunIndex(0));
    assert_eq!((found.other_class, found.differing), (2, vec!["cpu.model".to_owned()]));
}

#[test]
fn a_host_has_rested_when_its_time_is_over() {
    let rested = format!("{PLAIN}[independence]\npolicy = \"rested\"\nrest = {{ idle = \"40s\" }}\n");
    let mut scene = Scene::with(1, &rested);
    scene.serve(0);
    let run = waiting(&scene, FIRST);
    let due = scene.now + Span::from_secs(40);
    // Time goes on with what happens.
    scene.now = Timestamp(due.0 - 1);
    scene.join(facts(1));
    assert_eq!(hindrances(&scene, FIRST, run), Hindrances { resting: 1, able: 1, ..none() });
    scene.now = due;
    scene.join(facts(2));
    assert_eq!(hindrances(&scene, FIRST, run), Hindrances { able: 3, ..none() });
}

/// Where visits of a cell want different hosts, one that has visited it takes no other visit of it.
#[test]
fn a_host_that_has_visited_the_cell_says_so() {
    let nested = PLAIN.replace("runs = 2", "hosts = 2\nruns = 2") + "[independence]\npolicy = \"any\"\n";
    let (mut scene, lease) = Scene::leased(3, &nested);
    let plan = scene.machine.experiment(FIRST).expect("active").plan().clone();
    let cell = plan.cell_number(lease.run);
    let other = (0..plan.runs())
        .map(RunIndex)
        .find(|run| plan.cell_number(*run) == cell && plan.place(*run).group == *run && *run != lease.run);
    let other = other.expect("two visits of each cell");
    let expected = Hindrances { visited: 1, able: 2, ..none() };
    assert_eq!(hindrances(&scene, FIRST, other), expected, "the other visit of the cell");
    scene.report(&lease, RunOutcome::Measured);
    let second = scene.ask(0).expect("the rest of its visit");
    assert_eq!(plan.place(second.run).group, lease.run);
    scene.lose(&second);
    let expected = Hindrances { tried: 1, able: 2, ..none() };
    assert_eq!(
        hindrances(&scene, FIRST, second.run),
        expected,
        "others can be spared for the rest of the visit"
    );
    assert_eq!(hindrances(&scene, FIRST, other), Hindrances { visited: 1, able: 2, ..none() });
}

#[test]
fn what_is_left_of_a_visit_is_for_its_host_where_no_other_can_be_spared() {
    let nested = PLAIN.replace("runs = 2", "hosts = 2\nruns = 2") + "[independence]\npolicy = \"any\"\n";
    for lost in [true, false] {
        let (mut scene, lease) = Scene::leased(2, &nested);
        let left = if lost {
            scene.lose(&lease);
            lease.run
        } else {
            scene.report(&lease, RunOutcome::Measured);
            scene.handle(Command::Drain(scene.request(0)));
            scene.handle(Command::ResumeHost(scene.request(0)));
            RunIndex(lease.run.0 + 1)
        };
        // The other host is wanted for the other visit of the cell.
        assert_eq!(hindrances(&scene, FIRST, left), Hindrances { visited: 1, able: 1, ..none() }, "{lost}");
    }
}

#[test]
fn who_goes_on_with_a_visit_needs_a_command_for_boots_only_where_it_boots_next() {
    let nested = PLAIN.replace("runs = 2", "hosts = 2\nruns = 2") + "[independence]\npolicy = \"any\"\n";
    let mut scene = Scene::with(1, &nested);
    let next = RunIndex(scene.serve(0).run.0 + 1);
    assert_eq!(hindrances(&scene, FIRST, next), Hindrances { able: 1, ..none() });
    let blocked = format!("{PLAIN}[independence]\npolicy = \"rebooted\"\n[design]\norder = \"blocked\"\n");
    let mut scene = Scene::of(0);
    scene.join(HostFacts { can_reboot: true, ..facts(0) });
    scene.submit(FIRST, &blocked);
    let next = RunIndex(scene.ask(0).expect("a visit").run.0 + 1);
    assert_eq!(hindrances(&scene, FIRST, next), Hindrances { busy: 1, ..none() });
    // Its agent starts anew without the command, and has not asked yet.
    scene.leave(0);
    scene.join(facts(0));
    assert_eq!(hindrances(&scene, FIRST, next), Hindrances { cannot_reboot: 1, ..none() });
}

#[test]
fn a_visit_that_nobody_has_begun_is_for_every_host_that_has_visited_nothing_of_its_cell() {
    let nested = PLAIN.replace("runs = 2", "hosts = 2\nruns = 2") + "[independence]\npolicy = \"any\"\n";
    let mut scene = Scene::with(2, &nested);
    let plan = scene.machine.experiment(FIRST).expect("active").plan().clone();
    let all = || (0..plan.runs()).map(RunIndex);
    all().for_each(|run| {
        assert_eq!(hindrances(&scene, FIRST, run), Hindrances { able: 2, ..none() }, "{run}");
    });
    let lease = scene.ask(0).expect("a run");
    for run in all().filter(|run| plan.place(*run).group != lease.run) {
        let is_of_cell = plan.cell_number(run) == plan.cell_number(lease.run);
        let (visited, busy) = (u32::from(is_of_cell), u32::from(!is_of_cell));
        assert_eq!(hindrances(&scene, FIRST, run), Hindrances { visited, busy, able: 1, ..none() }, "{run}");
    }
}

#[test]
fn an_experiment_lacks_hosts_when_none_that_is_here_can_take_what_waits() {
    let mut scene = Scene::with(3, PLAIN);
    assert!(!scene.machine.lacks_hosts(FIRST), "nobody has asked yet");
    let lease = scene.ask(0).expect("a run");
    scene.serve(1);
    scene.serve(2);
    assert_eq!(scene.ask(1), None);
    assert_eq!(scene.ask(2), None);
    assert!(!scene.machine.lacks_hosts(FIRST), "a run is under way");
    scene.report(&lease, RunOutcome::Measured);
    assert!(scene.machine.lacks_hosts(FIRST), "each has served, and the policy wants another for each run");
    scene.submit(SECOND, PLAIN);
    assert!(!scene.machine.lacks_hosts(SECOND), "the two that asked in vain were given its runs");
    assert!(scene.machine.lacks_hosts(FIRST));
    scene.join(facts(3));
    assert!(!scene.machine.lacks_hosts(FIRST), "a fresh one is here");
    scene.leave(3);
    assert!(scene.machine.lacks_hosts(FIRST), "and has gone");
    scene.handle(Command::Pause(asked(FIRST)));
    assert!(!scene.machine.lacks_hosts(FIRST), "it waits for whoever paused it");
}

#[test]
fn a_host_at_work_for_others_or_resting_is_not_lacking() {
    let mut scene = Scene::with(1, PLAIN);
    let lease = scene.ask(0).expect("a run of the first");
    scene.submit(SECOND, PLAIN);
    assert!(!scene.machine.lacks_hosts(SECOND), "it is busy");
    scene.leave(0);
    assert!(scene.machine.lacks_hosts(SECOND), "there is none");
    drop(lease);
    let rested = format!("{PLAIN}[independence]\npolicy = \"rested\"\nrest = {{ idle = \"40s\" }}\n");
    let mut scene = Scene::with(1, &rested);
    scene.serve(0);
    assert_eq!(scene.ask(0), None, "it rests");
    assert!(!scene.machine.lacks_hosts(FIRST), "it will have rested");
}

fn named(of: u32) -> NamedHost {
    NamedHost { host: host(of), host_name: facts(of).name() }
}

#[test]
fn what_an_experiment_waits_for_is_told_by_benchmark() {
    let two = PLAN_OF_TWO;
    let mut scene = Scene::with(2, two);
    let outlook = scene.machine.outlook(FIRST).expect("it is active");
    let [all] = outlook.waits.as_slice() else { panic!("the hosts stand alike for both: {outlook:?}") };
    assert_eq!((all.of.len(), all.runs), (2, 8));
    let able = KeptHosts { hindrance: Hindrance::Able, hosts: 2, first: vec![named(0), named(1)] };
    assert_eq!(all.hosts, [able]);
    let first = scene.serve(0);
    let served = scene.machine.experiment(FIRST).expect("active").plan().cell(first.run).expect("a cell");
    let outlook = scene.machine.outlook(FIRST).expect("it is active");
    assert_eq!(outlook.waits.len(), 2, "host 0 is not fresh for one of them: {outlook:?}");
    let kept = |hindrance, of: u32| KeptHosts { hindrance, hosts: 1, first: vec![named(of)] };
    let of_served = &outlook.waits[served.benchmark.0 as usize];
    assert_eq!(of_served.hosts, [kept(Hindrance::Able, 1), kept(Hindrance::NotFresh, 0)]);
    assert_eq!(of_served.of.as_slice(), &[["one", "two"][served.benchmark.0 as usize].to_owned()][..]);
    assert_eq!(of_served.runs, 3);
    assert_eq!(scene.machine.outlook(SECOND), None);
}

#[test]
fn a_host_is_named_where_the_name_is_its_alone() {
    let mut scene = Scene::of(0);
    for (number, name) in [(0, "vm"), (1, "vm"), (2, "node7")] {
        scene.join(HostFacts { hostname: Some(name.parse().expect("a name")), ..facts(number) });
    }
    scene.submit(FIRST, PLAIN);
    let outlook = scene.machine.outlook(FIRST).expect("it is active");
    let first = &outlook.waits[0].hosts[0].first;
    let names: Vec<Option<&str>> =
        first.iter().map(|host| host.host_name.as_ref().map(HostName::as_str)).collect();
    assert_eq!(names, [None, None, Some("node7")]);
}

const PLAN_OF_TWO: &str = "[experiment]\nname = \"two\"\n[versions.old]\nbaseline = true\n[versions.new]\n\
    [benchmarks.one]\ncommand = [\"true\"]\n[benchmarks.two]\ncommand = [\"true\"]\n[repetitions]\nruns = 2\n";
