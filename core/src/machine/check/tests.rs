//! That the checks see it when an index says something else than the states.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use uuid::Uuid;

use super::*;
use crate::host::{HostFacts, Visit};
use crate::id::{AgentEpoch, AgentId};
use crate::machine::{Command, HostRequest, Settings, Speaker};
use crate::plan::Plan;
use crate::plan_file;
use crate::seed::Seed;
use crate::time::Timestamp;

const EXPERIMENT: ExperimentId = ExperimentId(Uuid::from_u128(1));

/// What makes a machine wrong.
type Wrong = fn(&mut Machine);

/// Three hosts: one executes, one is drained and has asked in vain, one has not asked.
fn machine() -> Machine {
    let mut machine = Machine::new(Settings::default());
    let plan = "[experiment]\nname = \"checked\"\n[repetitions]\nruns = 2\n[versions.old]\nbaseline = true\n\
                [versions.new]\n[benchmarks.b]\ncommand = [\"true\"]\n";
    let plan = Arc::new(Plan::draw(plan_file::parse(plan, Seed(1)).expect("a plan")));
    let mut handle = |command| {
        machine.handle(Timestamp(1), command).expect("nothing is wrong with it");
    };
    for number in 0..3 {
        let boot = format!("boot-{number}").parse().expect("a boot id");
        let facts = HostFacts::bare(host(number), boot);
        handle(Command::Join { facts, agent: AgentId(Uuid::from_u128(number.into())), epoch: AgentEpoch(1) });
    }
    let by = "user".to_owned();
    handle(Command::Submit { experiment: EXPERIMENT, plan, by: by.clone(), wait_for_hosts: true });
    handle(Command::Drain(HostRequest { host: host(1), by }));
    for number in 0..2 {
        handle(Command::Ask(Speaker { host: host(number), epoch: AgentEpoch(1) }));
    }
    machine
}

fn host(number: u32) -> HostId {
    format!("host-{number}").parse().expect("a host id")
}

fn active(machine: &mut Machine) -> &mut Active {
    machine.experiments.get_mut(&EXPERIMENT).expect("it is active")
}

#[test]
fn whatever_is_wrong_is_seen() {
    let whole = machine();
    whole.check();
    assert_eq!((whole.holders.len(), whole.in_vain.len(), whole.turns.len()), (1, 1, 1), "all is there");
    assert_eq!(whole.deadlines.len(), 1, "and the lease's deadline");
    let wrongs: [(&str, Wrong); 21] = [
        ("a deadline less", |m| m.deadlines.clear()),
        ("a deadline more", |m| _ = m.deadlines.insert((Timestamp(9), HostNumber(2)))),
        ("another deadline", |m| m.deadlines = [(Timestamp(9), HostNumber(0))].into()),
        ("a turn less", |m| m.turns.clear()),
        ("an asking host more", |m| _ = m.asking.insert(HostNumber(2))),
        ("one that asked in vain less", |m| m.in_vain.clear()),
        ("another that asked in vain", |m| m.in_vain = [HostNumber(2)].into()),
        ("a number less", |m| _ = m.numbers.remove(&host(2))),
        ("another's number", |m| _ = m.numbers.insert(host(2), HostNumber(1))),
        ("a boot less", |m| _ = m.boots.pop_first()),
        ("a boot of no host", |m| _ = m.boots.insert("other".parse().expect("an id"), HostNumber(2))),
        ("another's boot", |m| _ = m.boots.insert("boot-2".parse().expect("an id"), HostNumber(1))),
        ("a host here more", |m| m.here += 1),
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
        assert!(catch_unwind(AssertUnwindSafe(|| machine.check())).is_err(), "{what} is not seen");
    }
    for run in (0..4).map(RunIndex) {
        let mut machine = whole.clone();
        active(&mut machine).queue.put_back(0, run);
        assert!(
            catch_unwind(AssertUnwindSafe(|| machine.check())).is_err(),
            "{run} waits twice, or executes"
        );
    }
}
