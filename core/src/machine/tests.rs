//! A retry waits for hosts that may be back, and no longer.

use std::sync::Arc;

use super::*;
use crate::host::HostFacts;
use crate::id::{AgentEpoch, AgentId};
use crate::plan::Plan;
use crate::plan_file;
use crate::seed::Seed;

const EXPERIMENT: ExperimentId = ExperimentId(uuid::Uuid::from_u128(1));
const GRACE: Span = Span::from_secs(60);

/// Two runs in all.
fn plan() -> Arc<Plan> {
    let text = "[experiment]\nname = \"x\"\nseed = 1\n[versions.a]\nbaseline = true\n[versions.b]\n\
        [benchmarks.x]\ncommand = [\"x\"]\n[repetitions]\nruns = 1\n[independence]\npolicy = \"any\"\n";
    Arc::new(Plan::draw(plan_file::parse(text, Seed(1)).unwrap()))
}

fn seconds(seconds: u64) -> Timestamp {
    Timestamp(0) + Span::from_secs(seconds)
}

/// A host's agent joins in this start of it, and asks; gives the run that it is given.
fn asks(machine: &mut Machine, at: u64, name: &str, epoch: u64) -> Option<RunIndex> {
    let host: HostId = name.parse().unwrap();
    let facts = HostFacts::bare(host.clone(), format!("boot-of-{name}").parse().unwrap());
    let (agent, epoch) = (AgentId(uuid::Uuid::from_u128(u128::from(name.as_bytes()[0]))), AgentEpoch(epoch));
    machine.handle(seconds(at), Command::Join { facts, agent, epoch }).unwrap();
    machine.handle(seconds(at), Command::Ask(Speaker { host: host.clone(), epoch })).unwrap();
    machine.check();
    machine.host(&host)?.lease.as_ref().map(|lease| lease.run)
}

/// Two hosts have a run each when the coordinator ends and begins anew, and the agent of `a` with it.
fn restarted() -> (Machine, RunIndex) {
    let mut machine = Machine::new(Settings { host_grace: GRACE, ..Settings::default() });
    for host in ["a", "b"] {
        assert_eq!(asks(&mut machine, 1, host, 1), None);
    }
    let submit =
        Command::Submit { experiment: EXPERIMENT, plan: plan(), by: "me".to_owned(), wait_for_hosts: false };
    machine.handle(seconds(2), submit).unwrap();
    let held = machine.host(&"a".parse().unwrap()).and_then(|host| host.lease.as_ref()).unwrap().run;
    machine.handle(seconds(10), Command::Start).unwrap();
    assert_eq!(asks(&mut machine, 11, "a", 2), None, "the other host may be back soon");
    assert_eq!(machine.run(EXPERIMENT, held), Some(RunState::Waiting { attempt: crate::id::Attempt(2) }));
    (machine, held)
}

#[test]
fn a_retry_goes_to_the_host_that_comes_back_to_a_new_coordinator() {
    let (mut machine, held) = restarted();
    assert_eq!(
        asks(&mut machine, 20, "b", 2),
        Some(held),
        "its own run was lost with its agent; the first is first"
    );
    machine.check();
}

#[test]
fn a_retry_does_not_wait_for_ever_for_hosts_that_are_gone() {
    let (mut machine, held) = restarted();
    let due = machine.next_deadline().unwrap();
    assert_eq!(due, seconds(10) + GRACE);
    machine.handle(due, Command::Tick).unwrap();
    machine.check();
    let lease = machine.host(&"a".parse().unwrap()).unwrap().lease.as_ref().unwrap();
    assert_eq!(lease.run, held);
}

#[test]
fn a_retry_does_not_wait_for_a_host_that_is_drained() {
    let (mut machine, held) = restarted();
    let drain = HostRequest { host: "b".parse().unwrap(), by: "me".to_owned() };
    machine.handle(seconds(12), Command::Drain(drain)).unwrap();
    machine.check();
    let lease = machine.host(&"a".parse().unwrap()).unwrap().lease.as_ref().unwrap();
    assert_eq!(lease.run, held);
}
