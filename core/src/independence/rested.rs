//! A host is fresh once it has been idle for a time and reads within bounds, whatever it served before.

use super::{Policy, Readings, Rest, Reuse, Rules, Traces, Violation};

pub(super) struct Rested;

impl Rules for Rested {
    fn name(&self) -> &'static str {
        "rested"
    }

    fn asks_for_freshness(&self) -> bool {
        true
    }

    fn reuse(&self) -> Reuse {
        Reuse::Free
    }

    fn wants_rest(&self) -> bool {
        true
    }

    fn violation(&self, traces: &Traces, rest: &Rest) -> Option<Violation> {
        if traces.idle.is_some_and(|idle| idle < rest.idle) {
            return Some(Violation::NotRested);
        }
        match traces.readings {
            Readings::Within => None,
            Readings::Beyond => Some(Violation::BeyondBounds),
            Readings::Absent => Some(Violation::NoReadings),
        }
    }

    fn renewed(&self) -> Option<&'static str> {
        Some("rested")
    }

    fn with_reboots(&self) -> Option<Policy> {
        None
    }
}
