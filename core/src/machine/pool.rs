//! What the pool has, by classes.

use std::collections::BTreeMap;

use super::Machine;
use crate::host::Host;
use crate::host::fingerprint::ClassId;
use crate::machine::feasibility::{HostClass, Pool};

impl Machine {
    /// The connected hosts, by their classes.
    pub fn pool(&self) -> Pool {
        let mut classes: BTreeMap<ClassId, HostClass> = BTreeMap::new();
        for host in self.hosts.iter().filter(|host| host.is_here()) {
            let class = classes.entry(host.class);
            count(
                class.or_insert_with_key(|id| HostClass { class: id.to_string(), ..HostClass::default() }),
                host,
            );
        }
        Pool { classes: classes.into_values().collect() }
    }
}

fn count(class: &mut HostClass, host: &Host) {
    if !host.is_available() {
        class.out_of_service += 1;
        return;
    }
    class.available += 1;
    class.can_reboot += u32::from(host.facts.can_reboot);
    class.allocated += u32::from(host.facts.allocation.is_some());
    class.busy += u32::from(host.lease.is_some());
    class.used += u32::from(host.served > 0);
}
