//! Hosts that serve a run together are a set, and a set is fresh once: a host may come again among others. The set of a host
//! that serves alone is that host.

use super::{Policy, Rest, Reuse, Rules, Traces, Violation};

pub(super) struct DistinctSets;

impl Rules for DistinctSets {
    fn name(&self) -> &'static str {
        "distinct_sets"
    }

    fn asks_for_freshness(&self) -> bool {
        true
    }

    fn reuse(&self) -> Reuse {
        Reuse::AmongOthers
    }

    fn wants_rest(&self) -> bool {
        false
    }

    fn violation(&self, traces: &Traces, _: &Rest) -> Option<Violation> {
        traces.was_set_used.then_some(Violation::SetUsed)
    }

    fn renewed(&self) -> Option<&'static str> {
        None
    }

    fn with_reboots(&self) -> Option<Policy> {
        None
    }
}
