//! A host is fresh once it has booted: nothing of a boot is in two visits.

use super::{Renewal, Rest, Reuse, Rules, Since, Traces, Violation};

pub(super) struct Rebooted;

impl Rules for Rebooted {
    fn name(&self) -> &'static str {
        "rebooted"
    }

    fn reuse(&self) -> Reuse {
        Reuse::After(Renewal::Boot)
    }

    fn violation(&self, traces: &Traces, _: &Rest) -> Option<Violation> {
        (traces.boot == Since::Kept).then_some(Violation::NotRebooted)
    }

    fn renewed(&self) -> Option<&'static str> {
        Some("booted")
    }
}
