//! What the tests of several modules begin with: plans, hosts, and commands to the machine.

use std::sync::Arc;

use uuid::Uuid;

use crate::{
    agent::message::AttemptReport, fingerprint::Fact, fingerprint::Fingerprint, host::HostFacts,
    machine::Command, machine::Effect, machine::HandleOutcome, machine::Speaker, plan, plan::Plan,
    run::lease::Lease, run::record::Record, value::id::AgentEpoch, value::id::AgentId,
    value::id::ExperimentId, value::id::HostId, value::seed::Seed,
};

/// The plan of a text, in which an error is a failure of the test.
pub(crate) fn plan(text: &str) -> Arc<Plan> {
    let experiment = plan::file::parse(text, Seed(1)).unwrap_or_else(|error| panic!("{error}\n{text}"));
    Arc::new(Plan::draw(experiment))
}

pub(crate) fn host(number: u32) -> HostId {
    format!("host-{number}").parse().expect("a host id")
}

/// A host in a boot of its own.
pub(crate) fn facts(number: u32) -> HostFacts {
    HostFacts::bare(host(number), format!("boot-{number}").parse().expect("a boot id"))
}

pub(crate) fn fingerprint(model: &str) -> Fingerprint {
    Fingerprint::new([("cpu.model".to_owned(), Fact::Value(model.to_owned()))].into()).expect("one fact")
}

pub(crate) fn join(facts: HostFacts, agent: u128, epoch: u64) -> Command {
    Command::Join { facts, agent: AgentId(Uuid::from_u128(agent)), epoch: AgentEpoch(epoch) }
}

/// A user submits a plan, whether or not there are hosts for it.
pub(crate) fn submit(experiment: ExperimentId, plan: Arc<Plan>, by: &str) -> Command {
    Command::Submit { experiment, plan, by: by.to_owned(), wait_for_hosts: true, request: None }
}

pub(crate) fn report(lease: &Lease, record: Record) -> Command {
    let speaker = Speaker { host: lease.host.clone(), epoch: lease.agent_epoch };
    let report = AttemptReport { lease: lease.epoch, executed_by: lease.agent_epoch, record };
    Command::Report { speaker, report: Box::new(report) }
}

pub(crate) fn granted(handled: HandleOutcome) -> Vec<Lease> {
    let lease = |effect| if let Effect::Grant { lease, .. } = effect { Some(*lease) } else { None };
    handled.effects.into_iter().filter_map(lease).collect()
}
