//! The pool by its classes.

use speedup_core::machine::MAX_HOSTS;
use speedup_core::machine::feasibility::{HostClass, Pool};

use super::field::{at_most, no_longer};
use super::malformed::Malformed;
use crate::v1;

/// Longest name of a class: a hash in hexadecimal digits has 64.
const MAX_CLASS_BYTES: usize = 256;

impl From<&Pool> for v1::HostsSummary {
    fn from(pool: &Pool) -> Self {
        Self { classes: pool.classes.iter().map(Into::into).collect() }
    }
}

impl From<&HostClass> for v1::HostClassSummary {
    fn from(class: &HostClass) -> Self {
        let HostClass { class, available, can_reboot, allocated, busy, used, out_of_service } = class.clone();
        Self { class, available, can_reboot, allocated, busy, used, out_of_service }
    }
}

impl TryFrom<v1::HostsSummary> for Pool {
    type Error = Malformed;

    fn try_from(wire: v1::HostsSummary) -> Result<Self, Malformed> {
        at_most(wire.classes.len(), MAX_HOSTS, "classes")?;
        let classes = wire.classes.into_iter().map(HostClass::try_from).collect::<Result<_, _>>()?;
        Ok(Self { classes })
    }
}

impl TryFrom<v1::HostClassSummary> for HostClass {
    type Error = Malformed;

    fn try_from(wire: v1::HostClassSummary) -> Result<Self, Malformed> {
        let v1::HostClassSummary { class, available, can_reboot, allocated, busy, used, out_of_service } =
            wire;
        no_longer(class.len(), MAX_CLASS_BYTES, "class")?;
        Ok(Self { class, available, can_reboot, allocated, busy, used, out_of_service })
    }
}
