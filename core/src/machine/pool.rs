//! What the pool has, by classes.

use super::Machine;
use crate::feasibility::{HostClass, Pool};
use crate::host::Host;

impl Machine {
    /// The connected hosts, by their classes.
    pub fn pool(&self) -> Pool {
        let mut class = HostClass::default();
        self.hosts.iter().filter(|host| host.is_here()).for_each(|host| count(&mut class, host));
        Pool { classes: vec![class] }
    }
}

fn count(class: &mut HostClass, host: &Host) {
    class.available += 1;
    class.allocated += u32::from(host.facts.allocation.is_some());
    class.busy += u32::from(host.lease.is_some());
    class.used += u32::from(host.served > 0);
}
