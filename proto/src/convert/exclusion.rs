//! Exclusions of hosts.

use speedup_core::host::{Exclusion, ExclusionCause};
use speedup_core::value::time::Timestamp;

use super::field::{chosen, id};
use super::malformed::Malformed;
use crate::v1;
use v1::exclusion::{Cause, Drained, Quarantined};

impl From<&Exclusion> for v1::Exclusion {
    fn from(exclusion: &Exclusion) -> Self {
        let Exclusion { host, at, cause, resumed } = exclusion;
        let cause = match cause {
            ExclusionCause::Drained { by } => Cause::Drained(Drained { by: by.clone() }),
            ExclusionCause::Quarantined { by, reason } => {
                Cause::Quarantined(Quarantined { by: by.clone(), reason: reason.clone() })
            }
        };
        Self {
            host: host.as_str().to_owned(),
            at_ns: at.0,
            cause: Some(cause),
            resumed_ns: resumed.map(|at| at.0),
        }
    }
}

impl TryFrom<v1::Exclusion> for Exclusion {
    type Error = Malformed;

    fn try_from(wire: v1::Exclusion) -> Result<Self, Malformed> {
        let cause = match chosen(wire.cause, "cause")? {
            Cause::Drained(Drained { by }) => ExclusionCause::Drained { by },
            Cause::Quarantined(Quarantined { by, reason }) => ExclusionCause::Quarantined { by, reason },
        };
        Ok(Self {
            host: id(wire.host, "host")?,
            at: Timestamp(wire.at_ns),
            cause,
            resumed: wire.resumed_ns.map(Timestamp),
        })
    }
}
