//! Hosts that serve a run together are a set, and a set is fresh once: a host may come again among others. The set of a host
//! that serves alone is that host.

use super::{Rest, Reuse, Rules, Traces, Violation};

pub(super) struct DistinctSets;

impl Rules for DistinctSets {
    fn name(&self) -> &'static str {
        "distinct_sets"
    }

    fn reuse(&self) -> Reuse {
        Reuse::AmongOthers
    }

    fn violation(&self, traces: &Traces, _: &Rest) -> Option<Violation> {
        traces.was_set_used.then_some(Violation::SetUsed)
    }
}
