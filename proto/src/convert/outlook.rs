//! What all the waiting runs of an experiment wait for.

use speedup_core::machine::{Hindrance, KeptHosts, MAX_EXPLAINED, NAMED_HOSTS, NamedHost, Outlook, Waits};

use super::field::each;
use super::host::FactNames;
use super::malformed::Malformed;
use super::wire::{AtMost, Each, enumeration, structure};
use crate::v1;

enumeration! {
    Hindrance,
    v1::Hindrance,
    [
        Able, Busy, Resting, Rebooting, Ending, HeldBack, GivenUp, Visited, NotFresh, NoAllocation,
        CannotReboot, Tried, OtherClass, OutOfService, Away
    ]
}

impl From<&Outlook> for v1::Outlook {
    fn from(outlook: &Outlook) -> Self {
        Self {
            waits: outlook.waits.iter().map(v1::Waits::from).collect(),
            left_out: outlook.left_out,
            lost: Vec::new(),
        }
    }
}

impl TryFrom<v1::Outlook> for Outlook {
    type Error = Malformed;

    fn try_from(wire: v1::Outlook) -> Result<Self, Malformed> {
        Ok(Self { waits: each(wire.waits, MAX_EXPLAINED, "waits")?, left_out: wire.left_out })
    }
}

structure!(
    Waits,
    v1::Waits,
    [of => AtMost(MAX_EXPLAINED), runs, hosts => Each(Hindrance::ALL.len()), differing => FactNames]
);
structure!(KeptHosts, v1::KeptHosts, [hindrance, hosts, first => Each(NAMED_HOSTS)]);
structure!(NamedHost, v1::NamedHost, [host, host_name]);
