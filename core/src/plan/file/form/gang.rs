//! The hosts of a run as its author writes them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One number of hosts, or several.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub(in crate::plan::file) enum HostsForm {
    /// Each run is on so many.
    One(u32),
    /// There is a benchmark of each number.
    Several(Vec<u32>),
}

/// A launcher of MPI programs that is known.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::plan::file) enum GangLauncherForm {
    /// `mpirun` of Open MPI.
    OpenMpi,
    /// `mpiexec.hydra` of MPICH.
    Mpich,
    /// `srun` of Slurm.
    Srun,
}
