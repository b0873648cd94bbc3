//! How a run is spread over hosts.

use speedup_core::experiment::gang::{Gang, GangLauncher, ScalingLaw, ScalingSeries};

use super::{field::enumerated, field::enumeration, field::optional, malformed::Malformed, malformed::Why};
use crate::v1;

enumeration!(ScalingLaw, v1::ScalingLaw, [Strong, Weak]);

impl From<&Gang> for v1::Gang {
    fn from(gang: &Gang) -> Self {
        let (launcher, launch) = match gang.launcher.clone() {
            GangLauncher::None => (v1::GangLauncher::None, Vec::new()),
            GangLauncher::OpenMpi => (v1::GangLauncher::Openmpi, Vec::new()),
            GangLauncher::Mpich => (v1::GangLauncher::Mpich, Vec::new()),
            GangLauncher::Srun => (v1::GangLauncher::Srun, Vec::new()),
            GangLauncher::Own(words) => (v1::GangLauncher::Own, words),
        };
        Self {
            hosts: gang.hosts,
            ranks_per_host: gang.ranks_per_host,
            launcher: launcher.into(),
            launch,
            series: gang.series.clone().map(Into::into),
            times_ranks: gang.times_ranks,
        }
    }
}

impl TryFrom<v1::Gang> for Gang {
    type Error = Malformed;

    fn try_from(wire: v1::Gang) -> Result<Self, Malformed> {
        let v1::Gang { hosts, ranks_per_host, launcher, launch, series, times_ranks } = wire;
        let launcher = match v1::GangLauncher::try_from(launcher) {
            Ok(v1::GangLauncher::None) => GangLauncher::None,
            Ok(v1::GangLauncher::Openmpi) => GangLauncher::OpenMpi,
            Ok(v1::GangLauncher::Mpich) => GangLauncher::Mpich,
            Ok(v1::GangLauncher::Srun) => GangLauncher::Srun,
            Ok(v1::GangLauncher::Own) => GangLauncher::Own(launch),
            Ok(v1::GangLauncher::Unspecified) => return Err(Malformed::new("launcher", Why::Unspecified)),
            Err(_) => return Err(Malformed::new("launcher", Why::Unknown(launcher))),
        };
        Ok(Self { hosts, ranks_per_host, launcher, times_ranks, series: optional(series, "series")? })
    }
}

impl From<ScalingSeries> for v1::ScalingSeries {
    fn from(ScalingSeries { name, law }: ScalingSeries) -> Self {
        Self { name, law: v1::ScalingLaw::from(law).into() }
    }
}

impl TryFrom<v1::ScalingSeries> for ScalingSeries {
    type Error = Malformed;

    fn try_from(wire: v1::ScalingSeries) -> Result<Self, Malformed> {
        let v1::ScalingSeries { name, law } = wire;
        Ok(Self { name, law: enumerated::<v1::ScalingLaw, _>(law, "law")? })
    }
}
