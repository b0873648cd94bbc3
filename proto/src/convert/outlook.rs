//! What all the waiting runs of an experiment wait for.

use speedup_core::machine::{Hindrance, KeptHosts, MAX_EXPLAINED, NAMED_HOSTS, NamedHost, Outlook, Waits};

use super::field::{at_most, each, enumerated, enumeration, id, optional_id};
use super::host::fact_names;
use super::malformed::Malformed;
use crate::v1;

enumeration!(
    Hindrance,
    v1::Hindrance,
    [
        Able,
        Busy,
        Resting,
        Rebooting,
        Ending,
        HeldBack,
        GivenUp,
        Visited,
        NotFresh,
        NoAllocation,
        CannotReboot,
        Tried,
        OtherClass,
        OutOfService,
        Away
    ]
);

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

impl From<&Waits> for v1::Waits {
    fn from(waits: &Waits) -> Self {
        Self {
            of: waits.of.clone(),
            runs: waits.runs,
            hosts: waits.hosts.iter().map(v1::KeptHosts::from).collect(),
            differing: waits.differing.clone(),
        }
    }
}

impl TryFrom<v1::Waits> for Waits {
    type Error = Malformed;

    fn try_from(wire: v1::Waits) -> Result<Self, Malformed> {
        at_most(wire.of.len(), MAX_EXPLAINED, "of")?;
        Ok(Self {
            of: wire.of,
            runs: wire.runs,
            hosts: each(wire.hosts, Hindrance::ALL.len(), "hosts")?,
            differing: fact_names(wire.differing, "differing")?,
        })
    }
}

impl From<&KeptHosts> for v1::KeptHosts {
    fn from(kept: &KeptHosts) -> Self {
        Self {
            hindrance: v1::Hindrance::from(kept.hindrance).into(),
            hosts: kept.hosts,
            first: kept.first.iter().map(v1::NamedHost::from).collect(),
        }
    }
}

impl TryFrom<v1::KeptHosts> for KeptHosts {
    type Error = Malformed;

    fn try_from(wire: v1::KeptHosts) -> Result<Self, Malformed> {
        Ok(Self {
            hindrance: enumerated::<v1::Hindrance, _>(wire.hindrance, "hindrance")?,
            hosts: wire.hosts,
            first: each(wire.first, NAMED_HOSTS, "first")?,
        })
    }
}

impl From<&NamedHost> for v1::NamedHost {
    fn from(NamedHost { host, host_name }: &NamedHost) -> Self {
        let host_name = host_name.as_ref().map(|name| name.as_str().to_owned());
        Self { host: host.as_str().to_owned(), host_name }
    }
}

impl TryFrom<v1::NamedHost> for NamedHost {
    type Error = Malformed;

    fn try_from(wire: v1::NamedHost) -> Result<Self, Malformed> {
        Ok(Self { host: id(wire.host, "host")?, host_name: optional_id(wire.host_name, "host_name")? })
    }
}
