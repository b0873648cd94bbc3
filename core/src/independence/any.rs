//! A host is always fresh: nothing is asked, and the report says so.

use super::{Policy, Rest, Reuse, Rules, Traces, Violation};

pub(super) struct Any;

impl Rules for Any {
    fn name(&self) -> &'static str {
        "any"
    }

    fn asks_for_freshness(&self) -> bool {
        false
    }

    fn reuse(&self) -> Reuse {
        Reuse::Free
    }

    fn wants_rest(&self) -> bool {
        false
    }

    fn violation(&self, _: &Traces, _: &Rest) -> Option<Violation> {
        None
    }

    fn renewed(&self) -> Option<&'static str> {
        None
    }

    fn with_reboots(&self) -> Option<Policy> {
        None
    }
}
