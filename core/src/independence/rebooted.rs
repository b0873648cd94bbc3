//! A host is fresh once it has booted: nothing of a boot is in two visits.

use super::{Policy, Renewal, Rest, Reuse, Rules, Since, Traces, Violation};

pub(super) struct Rebooted;

impl Rules for Rebooted {
    fn name(&self) -> &'static str {
        "rebooted"
    }

    fn asks_for_freshness(&self) -> bool {
        true
    }

    fn reuse(&self) -> Reuse {
        Reuse::After(Renewal::Boot)
    }

    fn wants_rest(&self) -> bool {
        false
    }

    fn violation(&self, traces: &Traces, _: &Rest) -> Option<Violation> {
        (traces.boot == Since::Kept).then_some(Violation::NotRebooted)
    }

    fn renewed(&self) -> Option<&'static str> {
        Some("booted")
    }

    fn with_reboots(&self) -> Option<Policy> {
        None
    }
}
