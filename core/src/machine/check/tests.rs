//! That the checks see it when an index says something else than the states.

use std::{panic::AssertUnwindSafe, panic::catch_unwind, sync::Arc};

use uuid::Uuid;

use super::*;
use crate::experiment::{build::Product, build::UsedBuild, files::Content, files::ContentHash};
use crate::fixture::{self, facts, host, join, report, submit};
use crate::host::{HostFacts, Mark, Visit};
use crate::machine::{Command, HostRequest, Notice, Request, Settings, Speaker};
use crate::plan::Plan;
use crate::run::{record::Outcome, record::Record};
use crate::value::{id::AgentEpoch, time::Span, time::Timestamp};

const EXPERIMENT: ExperimentId = ExperimentId(Uuid::from_u128(1));

type Wrong = fn(&mut Machine);

/// Three hosts: one executes, one is drained and has asked in vain, one has not asked.
fn machine() -> Machine {
    let mut machine = Machine::new(Settings::default());
    let plan = "[experiment]\nname = \"checked\"\n[repetitions]\nruns = 2\n[versions.old]\nbaseline = true\n\
                [versions.new]\n[benchmarks.b]\ncommand = [\"true\"]\n";
    let mut handle = |command| {
        machine.handle(Timestamp(1), command).expect("nothing is wrong with it");
    };
    for number in 0..3 {
        handle(join(facts(number), number.into(), 1));
    }
    handle(submit(EXPERIMENT, fixture::plan(plan), "user"));
    handle(Command::Drain(HostRequest { host: host(1), by: "user".to_owned() }));
    for number in 0..2 {
        handle(Command::Ask(Speaker { host: host(number), epoch: AgentEpoch(1) }));
    }
    machine
}

fn boot(id: &str) -> Mark {
    Mark::Boot(id.parse().expect("a boot id"))
}

fn active(machine: &mut Machine) -> &mut Active {
    machine.experiments.get_mut(&EXPERIMENT).expect("it is active")
}

#[test]
fn whatever_is_wrong_is_seen() {
    let whole = machine();
    whole.check();
    assert_eq!((whole.holders.len(), whole.ineligible.len(), whole.turns.len()), (1, 1, 1), "all is there");
    assert_eq!((whole.losses.len(), whole.rests.len()), (1, 0), "and the lease's deadline");
    let wrongs: [(&str, Wrong); 23] = [
        ("a deadline less", |m| m.losses.clear()),
        ("a deadline more", |m| _ = m.losses.insert((Timestamp(9), HostNumber(2)))),
        ("another deadline", |m| m.losses = [(Timestamp(9), HostNumber(0))].into()),
        ("a rest more", |m| _ = m.rests.insert((Timestamp(9), HostNumber(2)))),
        ("a turn less", |m| m.turns.clear()),
        ("an asking host more", |m| _ = m.asking.insert(HostNumber(2))),
        ("one that asked in vain less", |m| m.ineligible.clear()),
        ("another that asked in vain", |m| m.ineligible = [HostNumber(2)].into()),
        ("a number less", |m| _ = m.numbers.remove(&host(2))),
        ("another's number", |m| _ = m.numbers.insert(host(2), HostNumber(1))),
        ("a mark less", |m| _ = m.marks.pop_first()),
        ("a mark of no host", |m| _ = m.marks.insert((boot("other"), HostNumber(2)))),
        ("another's mark", |m| _ = m.marks.insert((boot("boot-2"), HostNumber(1)))),
        ("two hosts on one machine", |m| {
            m.hosts[1].facts.boot = m.hosts[2].facts.boot.clone();
            m.marks = [0, 2, 2]
                .into_iter()
                .zip(0..)
                .map(|(of, host)| (boot(&format!("boot-{of}")), HostNumber(host)))
                .collect();
        }),
        ("a host here more", |m| m.connected += 1),
        ("an available host less", |m| m.available -= 1),
        ("another of a class", |m| m.classes.values_mut().for_each(|class| class.available += 1)),
        ("a holder less", |m| m.holders.clear()),
        ("a lease at one end", |m| m.hosts[0].lease = None),
        ("a host that boots more", |m| active(m).reserved += 1),
        ("a waiting run more in the tally", |m| active(m).tally.waiting += 1),
        ("a visit that nobody began", |m| {
            _ = m.hosts[2].visits.insert(EXPERIMENT, Visit { next: RunIndex(3), end: RunIndex(4) });
        }),
        ("nothing in the queue", |m| active(m).queue.clear()),
    ];
    for (what, wrong) in wrongs {
        let mut machine = whole.clone();
        wrong(&mut machine);
        assert!(is_seen(&machine), "{what} is not seen");
    }
    for run in (0..4).map(RunIndex) {
        let mut machine = whole.clone();
        active(&mut machine).queue.put_back(0, run);
        assert!(is_seen(&machine), "{run} waits twice, or executes");
    }
}

/// A plan of one benchmark in two versions, with more of it.
fn plan(more: &str) -> Arc<Plan> {
    fixture::plan(&format!(
        "[experiment]\nname = \"checked\"\n[versions.old]\nbaseline = true\n[versions.new]\n\
         [benchmarks.b]\ncommand = [\"true\"]\ntimeout = \"20s\"\n{more}"
    ))
}

fn other_class() -> ClassId {
    fixture::fingerprint("other").class()
}

const NOW: Timestamp = Timestamp(1_000_000_000_000);

/// A host serves an experiment for the second time; between the two it is what `change` makes of it, and time passes.
fn serving_again(plan: Arc<Plan>, change: impl FnOnce(&mut HostFacts)) -> Machine {
    let mut machine = Machine::new(Settings::default());
    let mut facts = facts(0);
    facts.allocation = Some("job-0".parse().expect("an allocation"));
    let handle = |machine: &mut Machine, at, command| {
        machine.handle(at, command).expect("nothing is wrong with it");
        machine.check();
        machine.host(&host(0)).and_then(|host| host.lease.clone())
    };
    let speaker = |epoch| Speaker { host: host(0), epoch: AgentEpoch(epoch) };
    handle(&mut machine, NOW, join(facts.clone(), 7, 1));
    handle(&mut machine, NOW, submit(EXPERIMENT, plan, "user"));
    let first = handle(&mut machine, NOW, Command::Ask(speaker(1))).expect("a run");
    handle(&mut machine, NOW, report(&first, Record::bare(Outcome::Measured)));
    machine.notice(NOW, Notice::Leave(speaker(1)));
    machine.check();
    change(&mut facts);
    handle(&mut machine, NOW, join(facts, 7, 2));
    let later = NOW + Span::from_secs(100);
    handle(&mut machine, later, Command::Ask(speaker(2))).expect("another run");
    machine
}

/// A host that asks for runs of a plan, and is given one.
fn asking(facts: HostFacts, plan: Arc<Plan>) -> Machine {
    let mut machine = Machine::new(Settings::default());
    let ask = Command::Ask(Speaker { host: host(0), epoch: AgentEpoch(1) });
    for command in [join(facts, 7, 1), submit(EXPERIMENT, plan, "user"), ask] {
        machine.handle(NOW, command).expect("nothing is wrong with it");
    }
    machine
}

fn is_seen(machine: &Machine) -> bool {
    catch_unwind(AssertUnwindSafe(|| machine.check())).is_err()
}

fn wrong(whole: &Machine, what: &str, wrong: impl FnOnce(&mut Machine)) {
    whole.check();
    let mut machine = whole.clone();
    wrong(&mut machine);
    assert!(is_seen(&machine), "{what} is not seen");
}

/// Changes the lease at its host.
fn lease(machine: &mut Machine) -> &mut Lease {
    machine.hosts[0].lease.as_mut().expect("it holds one")
}

#[test]
fn evidence_that_makes_no_host_fresh_is_seen() {
    const RUNS: &str = "[repetitions]\nruns = 3\n";
    let policy = |policy: &str| plan(&format!("{RUNS}[independence]\npolicy = {policy}\n"));

    let any = serving_again(policy("\"any\""), |_| {});
    wrong(&any, "a visit too many", |m| lease(m).evidence.served_in_scope += 1);
    wrong(&any, "another class", |m| {
        lease(m).evidence.class = Some(other_class());
    });
    wrong(&any, "a build that the plan does not have", |m| {
        let build = UsedBuild { run: RunIndex(0), products: Vec::new() };
        lease(m).evidence.build = Some(Box::new(build));
    });
    wrong(&any, "an allocation that ends before the run may", |m| {
        m.hosts[0].facts.allocation_ends = Some(NOW);
    });
    let mut joined_anew = any.clone();
    joined_anew.hosts[0].facts.allocation_ends = Some(NOW);
    joined_anew.hosts[0].epoch = AgentEpoch(3);
    joined_anew.check();

    let rebooted = serving_again(policy("\"rebooted\""), |facts| {
        facts.boot = "boot-1".parse().expect("a boot id");
    });
    wrong(&rebooted, "the same boot", |m| {
        let evidence = &mut lease(m).evidence;
        evidence.boot_before = Some(evidence.boot.clone());
    });

    let reallocated = serving_again(policy("\"reallocated\""), |facts| {
        facts.allocation = Some("job-1".parse().expect("an allocation"));
    });
    wrong(&reallocated, "the same allocation", |m| {
        let evidence = &mut lease(m).evidence;
        evidence.allocation_before = evidence.allocation.clone();
    });
    wrong(&reallocated, "no allocation before", |m| lease(m).evidence.allocation_before = None);
    wrong(&reallocated, "no allocation", |m| lease(m).evidence.allocation = None);

    let rested = serving_again(policy("\"rested\"\nrest = { idle = \"40s\" }"), |_| {});
    wrong(&rested, "a rest too short", |m| {
        lease(m).evidence.idle = Some(Span(Span::from_secs(40).0 - 1));
    });
    let mut just_rested = rested.clone();
    lease(&mut just_rested).evidence.idle = Some(Span::from_secs(40));
    just_rested.check();

    // Another benchmark, so that the host is fresh for it.
    let other = "[benchmarks.c]\ncommand = [\"true\"]\n";
    let distinct = serving_again(plan(&format!("{other}{RUNS}")), |_| {});
    wrong(&distinct, "a second use in the scope", |m| {
        let lanes = m.hosts[0].used.get_mut(&EXPERIMENT).expect("it served");
        lanes.values_mut().for_each(|used| used.visits += 1);
        lease(m).evidence.served_in_scope += 1;
    });
    wrong(&distinct, "a use counted twice", |m| {
        let held = m.hosts[0].lease.clone().expect("it holds one").run;
        let lanes = m.hosts[0].used.get_mut(&EXPERIMENT).expect("it served");
        let before = lanes.values_mut().find(|used| used.from != held).expect("its use before");
        before.visits += 1;
    });
}

#[test]
fn a_visit_that_may_not_go_on_is_seen() {
    let plan = plan(
        "[repetitions]\nruns = 2\n[independence]\npolicy = \"rebooted\"\n[design]\norder = \"blocked\"\n",
    );
    let mut machine = asking(HostFacts { can_reboot: true, ..facts(0) }, plan);
    let held = machine.hosts[0].lease.clone().expect("a run");
    let mut under_way = machine.clone();
    under_way.hosts[0].facts.can_reboot = false;
    under_way.check();
    machine.handle(NOW, report(&held, Record::bare(Outcome::Measured))).expect("it is its own");
    assert_eq!(machine.hosts[0].visits.len(), 1, "the other version is left");
    wrong(&machine, "a drained host", |m| {
        m.hosts[0].standing = Standing::Draining { by: "user".to_owned() };
        let (class, available) = (m.hosts[0].class, 0);
        m.available = available;
        m.classes.get_mut(&class).expect("known").available = available;
    });
    wrong(&machine, "a host of another class", |m| active(m).kept.classes = [other_class()].into());
    wrong(&machine, "a host that cannot boot", |m| m.hosts[0].facts.can_reboot = false);
}

#[test]
fn a_build_that_is_not_what_was_made_is_seen() {
    let text = "[experiment]\nname = \"built\"\n[repetitions]\nruns = 2\n[versions.old]\nbaseline = true\n\
                [versions.new]\nbuild = [\"make\"]\nproducts = { prog = \"prog\" }\n\
                [benchmarks.b]\ncommand = [\"true\"]\n";
    let mut machine = asking(facts(0), fixture::plan(text));
    let building = machine.clone();
    wrong(&building, "a build that is not over", |m| {
        active(m).kept.built.insert(RunIndex(0), BuildResult::Not("it failed".to_owned()));
    });
    let held = machine.hosts[0].lease.clone().expect("the build");
    let content = Content { blake3: ContentHash([1; 32]), bytes: 1, executable: true };
    let products = vec![Product { name: "prog".to_owned(), content }];
    let record = Record { products, ..Record::bare(Outcome::Measured) };
    machine.handle(NOW, report(&held, record)).expect("it is its own");
    let done = machine;
    assert_eq!(active(&mut done.clone()).kept.plan.runs(), 5, "the runs are planned");
    wrong(&done, "no build", |m| active(m).kept.built.clear());
    wrong(&done, "nothing made", |m| {
        active(m).kept.built.insert(RunIndex(0), BuildResult::Made(Vec::new()));
    });
    wrong(&done, "a build that failed", |m| {
        active(m).kept.built.insert(RunIndex(0), BuildResult::Not("it failed".to_owned()));
    });
    wrong(&done, "a run that is built", |m| {
        active(m).kept.built.insert(RunIndex(1), BuildResult::Made(Vec::new()));
    });
    let mut cancelled = done.clone();
    let by = "user".to_owned();
    cancelled
        .handle(NOW, Command::Cancel(Request { experiment: EXPERIMENT, by }))
        .expect("nothing is wrong with it");
    cancelled.check();
}

#[test]
fn a_host_that_waits_for_what_suits_it_is_seen() {
    let whole = machine();
    let mut asking = whole.clone();
    asking.hosts[2].presence = Presence::Here { asking: WorkRequest::Yes };
    asking.asking.insert(HostNumber(2));
    asking.check();
    let in_vain = |machine: &Machine, until: Option<Timestamp>| {
        let mut machine = machine.clone();
        machine.set_presence(HostNumber(2), Presence::Here { asking: WorkRequest::InVain { until } });
        machine
    };
    let latest = whole.latest();
    assert!(is_seen(&in_vain(&whole, None)), "a run suits it");
    assert!(is_seen(&in_vain(&whole, Some(latest + Span(1)))), "and it is looked at only later");
    in_vain(&whole, Some(latest)).check();
    in_vain(&whole, Some(Timestamp(latest.0 - 1))).check();

    let rested =
        plan("[repetitions]\nruns = 2\n[independence]\npolicy = \"rested\"\nrest = { idle = \"40s\" }\n");
    let mut resting = self::asking(facts(0), rested);
    let held = resting.hosts[0].lease.clone().expect("a run");
    let ask = Command::Ask(Speaker { host: host(0), epoch: AgentEpoch(1) });
    for command in [report(&held, Record::bare(Outcome::Measured)), ask] {
        resting.handle(NOW, command).expect("nothing is wrong with it");
    }
    let until = NOW + Span::from_secs(40);
    assert_eq!(resting.hosts[0].rested_at(), Some(until));
    let waits = |until: Option<Timestamp>| {
        let mut machine = resting.clone();
        machine.set_presence(HostNumber(0), Presence::Here { asking: WorkRequest::InVain { until } });
        machine
    };
    waits(Some(until)).check();
    waits(Some(NOW)).check();
    assert!(is_seen(&waits(Some(until + Span(1)))), "it has rested by then");
    assert!(is_seen(&waits(None)), "and is never looked at");
}
