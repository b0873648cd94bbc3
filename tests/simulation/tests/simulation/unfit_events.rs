//! Journals that no machine wrote.

use std::sync::Arc;

use speedup_core::{
    experiment::Policy, experiment::Scope, host::HostFacts, machine::Command, machine::Machine,
    machine::Notice, machine::Settings, machine::Speaker, machine::event::Change, machine::event::Event,
    plan::Plan, run::AfterLoss, run::LossReason, run::lease::Lease, value::id::AgentEpoch,
    value::id::AgentId, value::id::ExperimentId, value::id::HostId, value::id::LeaseEpoch,
    value::id::RunIndex, value::seed::Seed, value::time::Timestamp,
};
use speedup_simulation::experiment::plain;
use uuid::Uuid;

/// No journal makes recovery panic or breaks an invariant: what does not fit the state changes nothing.
#[test]
fn events_that_do_not_fit_change_nothing() {
    let mut machine = Machine::new(Settings::default());
    let (host, epoch): (HostId, _) = ("host".parse().expect("an id"), AgentEpoch(1));
    let boot = "boot".parse().expect("an id");
    let facts = HostFacts::bare(host.clone(), boot);
    let plan = Arc::new(Plan::draw(plain(&mut Seed(1).child("unfit"), Policy::Any, Scope::Benchmark, 1)));
    let (id, by) = (ExperimentId(Uuid::from_u128(1)), "user".to_owned());
    let speaker = Speaker { host: host.clone(), epoch };
    let commands = [
        Command::Join { facts, agent: AgentId(Uuid::from_u128(2)), epoch },
        Command::Submit {
            experiment: id,
            plan: plan.clone(),
            by: by.clone(),
            wait_for_hosts: false,
            request: None,
        },
        Command::Ask(speaker),
    ];
    for command in commands {
        machine.handle(Timestamp(1), command).expect("nothing is wrong with it");
    }
    let lease = machine.host(&host).and_then(|host| host.lease.clone()).expect("a lease");
    let tally = machine.experiment(id).expect("active").tally();
    let unfit = [
        Change::LeaseGranted(Box::new(Lease { epoch: LeaseEpoch(9), run: RunIndex(99), ..lease.clone() })),
        Change::LeaseGranted(Box::new(Lease { epoch: LeaseEpoch(9), run: RunIndex(1), ..lease.clone() })),
        Change::LeaseGranted(Box::new(lease.clone())),
        Change::Submitted { experiment: id, plan, by, request: None },
        Change::Finished { experiment: id, tally, cancelled: false },
        Change::RunStarted { host: host.clone(), lease: LeaseEpoch(77) },
        Change::AttemptLost {
            host,
            lease: LeaseEpoch(77),
            reason: LossReason::Expired,
            after: AfterLoss::Abandoned,
        },
    ];
    for change in unfit {
        let event = Event { at: Timestamp(2), change };
        assert_eq!(machine.ended_by(&event), None, "{event:?}");
        machine.replay(&event);
        machine.check();
        assert_eq!(machine.experiment(id).expect("still active").tally(), tally, "{event:?}");
    }
    machine.notice(Timestamp(u64::MAX), Notice::Tick);
    machine.check();
}
