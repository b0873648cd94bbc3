//! How a run is spread over hosts.

use speedup_core::experiment::gang::{Gang, GangLauncher, ScalingLaw, ScalingSeries};

use super::malformed::{Malformed, Why};
use super::wire::{enumeration, structure};
use crate::v1;

enumeration!(ScalingLaw, v1::ScalingLaw, [Strong, Weak]);

structure!(ScalingSeries, v1::ScalingSeries, [name, law]);
structure!(
    Gang,
    v1::Gang,
    [
        hosts, ranks_per_host,
        launcher = (launcher, launch) => (wire_launcher, launcher_in),
        times_ranks, series,
    ]
);

fn wire_launcher(launcher: &GangLauncher) -> (i32, Vec<String>) {
    let (kind, words) = match launcher.clone() {
        GangLauncher::None => (v1::GangLauncher::None, Vec::new()),
        GangLauncher::OpenMpi => (v1::GangLauncher::Openmpi, Vec::new()),
        GangLauncher::Mpich => (v1::GangLauncher::Mpich, Vec::new()),
        GangLauncher::Srun => (v1::GangLauncher::Srun, Vec::new()),
        GangLauncher::Own(words) => (v1::GangLauncher::Own, words),
    };
    (kind.into(), words)
}

fn launcher_in((kind, words): (i32, Vec<String>), field: &str) -> Result<GangLauncher, Malformed> {
    match v1::GangLauncher::try_from(kind) {
        Ok(v1::GangLauncher::None) => Ok(GangLauncher::None),
        Ok(v1::GangLauncher::Openmpi) => Ok(GangLauncher::OpenMpi),
        Ok(v1::GangLauncher::Mpich) => Ok(GangLauncher::Mpich),
        Ok(v1::GangLauncher::Srun) => Ok(GangLauncher::Srun),
        Ok(v1::GangLauncher::Own) => Ok(GangLauncher::Own(words)),
        Ok(v1::GangLauncher::Unspecified) => Err(Malformed::new(field, Why::Unspecified)),
        Err(_) => Err(Malformed::new(field, Why::Unknown(kind))),
    }
}
