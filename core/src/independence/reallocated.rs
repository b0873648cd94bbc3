//! A host is fresh once its engine has allocated it anew; where an allocation is not known, it is not.

use super::{Policy, Renewal, Rest, Reuse, Rules, Since, Traces, Violation};

pub(super) struct Reallocated;

impl Rules for Reallocated {
    fn name(&self) -> &'static str {
        "reallocated"
    }

    fn asks_for_freshness(&self) -> bool {
        true
    }

    fn reuse(&self) -> Reuse {
        Reuse::After(Renewal::Allocation)
    }

    fn wants_rest(&self) -> bool {
        false
    }

    fn violation(&self, traces: &Traces, _: &Rest) -> Option<Violation> {
        match (traces.was_used, traces.allocation) {
            (false, _) | (true, Since::Renewed) => None,
            (true, Since::Kept) => Some(Violation::NotReallocated),
            (true, Since::Unknown) => Some(Violation::NoAllocation),
        }
    }

    fn renewed(&self) -> Option<&'static str> {
        Some("been allocated anew")
    }

    fn with_reboots(&self) -> Option<Policy> {
        None
    }
}
