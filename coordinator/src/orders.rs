//! Work orders as they are sent. Most experiments have one for all runs of a cell, which is then made and encoded once.

use std::collections::HashMap;

use bytes::Bytes;
use prost::Message as _;
use speedup_core::{
    plan::Cell, plan::Plan, run::lease::Lease, run::work::WorkOrder, value::id::ExperimentId,
};
use speedup_proto::{encoded::SentGrant, v1};

/// Bytes of the orders that are kept. When they are more, all are dropped, and encoded anew as they are needed.
const MOST_BYTES: usize = 8 << 20;

/// Encoded orders of cells.
#[derive(Default)]
pub(crate) struct Orders {
    by_cell: HashMap<(ExperimentId, Cell), Bytes>,
    bytes: usize,
}

impl Orders {
    pub(crate) fn grant(&mut self, plan: &Plan, lease: &Lease) -> SentGrant {
        SentGrant {
            lease: lease.epoch.0,
            agent_epoch: lease.agent_epoch.0,
            experiment: lease.experiment.0.as_bytes().to_vec(),
            run: lease.run.0,
            attempt: lease.attempt.0,
            order: Some(self.order(plan, lease)),
        }
    }

    fn order(&mut self, plan: &Plan, lease: &Lease) -> Bytes {
        let Some(cell) = WorkOrder::cell_of(plan, lease) else { return encoded(plan, lease) };
        if let Some(order) = self.by_cell.get(&(lease.experiment, cell)) {
            return order.clone();
        }
        let order = encoded(plan, lease);
        self.bytes += order.len();
        if self.bytes > MOST_BYTES {
            self.by_cell.clear();
            self.bytes = order.len();
        }
        self.by_cell.insert((lease.experiment, cell), order.clone());
        order
    }
}

fn encoded(plan: &Plan, lease: &Lease) -> Bytes {
    v1::WorkOrder::from(WorkOrder::of(plan, lease)).encode_to_vec().into()
}

#[cfg(test)]
mod tests {
    use speedup_core::{
        agent::message, plan::file, run::lease::Evidence, value::id::AgentEpoch, value::id::Attempt,
        value::id::LeaseEpoch, value::id::RunIndex, value::seed::Seed, value::time::Timestamp,
    };
    use uuid::Uuid;

    use super::*;

    const PLAN: &str = "[experiment]\nname = \"orders\"\n[repetitions]\nruns = 3\n[versions.old]\nbaseline = true\n\
        [versions.new]\n[benchmarks.b]\ncommand = [\"true\", \"{version}\"]\n[benchmarks.c]\ncommand = [\"false\"]\n";

    fn plan(more: &str) -> Plan {
        Plan::draw(file::parse(&format!("{PLAN}{more}"), Seed(7)).unwrap())
    }

    fn lease(experiment: u128, run: u32) -> Lease {
        Lease {
            epoch: LeaseEpoch(u64::from(run) + 10),
            experiment: ExperimentId(Uuid::from_u128(experiment)),
            run: RunIndex(run),
            attempt: Attempt(1),
            host: "h".parse().unwrap(),
            agent_epoch: AgentEpoch(3),
            granted: Timestamp(1),
            deadline: Timestamp(2),
            started: None,
            evidence: Evidence::first("b".parse().unwrap()),
            seat: None,
        }
    }

    /// Grants each run of plans in turn, and compares with what the message of the grant says. Gives how many orders were kept.
    fn granted(plans: &[Plan]) -> usize {
        let mut orders = Orders::default();
        for run in 0..plans[0].runs() {
            for (experiment, plan) in (1..).zip(plans) {
                let lease = lease(experiment, run);
                let said = message::Grant::new(&lease, WorkOrder::of(plan, &lease));
                assert_eq!(orders.grant(plan, &lease), SentGrant::from(said));
            }
        }
        orders.by_cell.len()
    }

    #[test]
    fn each_run_is_given_its_own_order() {
        assert_eq!(granted(&[plan("")]), 4);
        let other = plan("[prepare]\ncommand = [\"make\"]\n");
        assert_eq!(granted(&[plan(""), other]), 8);
        // What is drawn for each run is no cell's.
        assert_eq!(granted(&[plan("[environment]\nenv_bytes_random = 4096\n")]), 0);
        assert_eq!(granted(&[plan("[environment]\ndirectory_bytes_random = 200\n")]), 0);
    }

    #[test]
    fn what_is_kept_has_a_bound() {
        let long = format!("[setup]\ncommand = [\"true\", \"{}\"]\n", "x".repeat(100_000));
        let plan = plan(&long);
        let mut orders = Orders::default();
        for experiment in 0..200 {
            orders.grant(&plan, &lease(experiment, 0));
            assert!(orders.bytes <= MOST_BYTES);
            let kept: usize = orders.by_cell.values().map(Bytes::len).sum();
            assert_eq!(kept, orders.bytes);
        }
    }
}
