//! A host is fresh once: nothing of a machine is in two visits.

use super::{Policy, Rest, Reuse, Rules, Traces, Violation};

pub(super) struct Distinct;

impl Rules for Distinct {
    fn name(&self) -> &'static str {
        "distinct"
    }

    fn asks_for_freshness(&self) -> bool {
        true
    }

    fn reuse(&self) -> Reuse {
        Reuse::Never
    }

    fn wants_rest(&self) -> bool {
        false
    }

    fn violation(&self, traces: &Traces, _: &Rest) -> Option<Violation> {
        traces.was_used.then_some(Violation::HostUsed)
    }

    fn renewed(&self) -> Option<&'static str> {
        None
    }

    fn with_reboots(&self) -> Option<Policy> {
        Some(Policy::Rebooted)
    }
}
