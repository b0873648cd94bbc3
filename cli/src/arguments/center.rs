//! Whose ratio verdicts are on, as an option.

use clap::ValueEnum;
use speedup_core::experiment::Center;

/// The name of a centre.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CenterName {
    /// Half of the runs take less: of a usual run
    Median,
    /// What many runs take together
    Mean,
}

impl From<CenterName> for Center {
    fn from(name: CenterName) -> Self {
        match name {
            CenterName::Median => Self::Median,
            CenterName::Mean => Self::Mean,
        }
    }
}
