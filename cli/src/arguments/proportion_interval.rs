//! The choice of an interval of a proportion.

use clap::ValueEnum;
use speedup_statistics::test::ProportionMethod;

/// An interval's name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProportionInterval {
    /// Wilson's score interval with continuity correction: the published one
    WilsonCorrected,
    /// Wilson's score interval
    Wilson,
    /// Clopper and Pearson's exact interval, never below its level
    ClopperPearson,
    /// Agresti and Coull's
    AgrestiCoull,
    /// By the posterior of Jeffreys' prior
    Jeffreys,
    /// The textbook's C ± z√(C(1−C)/b)
    Wald,
}

impl From<ProportionInterval> for ProportionMethod {
    fn from(interval: ProportionInterval) -> Self {
        match interval {
            ProportionInterval::WilsonCorrected => Self::WilsonCorrected,
            ProportionInterval::Wilson => Self::Wilson,
            ProportionInterval::ClopperPearson => Self::ClopperPearson,
            ProportionInterval::AgrestiCoull => Self::AgrestiCoull,
            ProportionInterval::Jeffreys => Self::Jeffreys,
            ProportionInterval::Wald => Self::Wald,
        }
    }
}
