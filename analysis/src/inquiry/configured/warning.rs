//! What the reader of a configured test must know beside its numbers: which it is, and what it is about.
//!
//! Those of the tests themselves are the original program's (Touati 2010 §6.2.5); the others tell where it would have been silent.

use super::{ConfiguredBenchmark, ConfiguredError, ConfiguredLevel, ConfiguredOptions, UnreadableFile};
use crate::{conclusion::Protocol, conclusion::WarningCode, inquiry::SpeedupTestMode};
use speedup_statistics::protocol::speedup_test::{
    ProtocolConclusion, ProtocolOutcome, StopReason, SubTestRefusal,
};
use speedup_statistics::{inference::Caveat, inference::Side, sample::Sample};
use std::collections::BTreeMap;

/// A warning of the whole test.
#[derive(Clone, Debug, PartialEq)]
pub enum ConfigurationWarning {
    /// `ConfLevel` is no confidence level.
    LevelOutOfRange { line: u64, level: f64 },
    /// The level of the command line was taken instead of the configuration's.
    LevelsOverridden,
    /// Coefficients that are all whole numbers weigh equally in the original.
    WholeCoefficients,
    /// Some coefficients are missing, so all weigh equally.
    MissingCoefficients { missing: usize },
    /// Two benchmarks of one name.
    NameTwice { name: String, lines: [u64; 2] },
}

/// A warning of a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub enum BenchmarkWarning {
    /// A file of samples could not be opened or read.
    NotReadable(UnreadableFile),
    /// So the benchmark was ignored.
    SamplesUnavailable,
    /// At most 30 runs that are not normal: the t test is not made.
    SmallNotNormal {
        side: Side,
        n: usize,
    },
    /// More than 30 runs that are not normal.
    NotNormalLarge {
        side: Side,
    },
    /// At most 30 runs and more than a shift between the versions: the rank-sum test is not made.
    SmallNoLocationShift {
        side: Side,
        n: usize,
    },
    /// More than 30 runs and more than a shift between the versions.
    NoLocationShift,
    NoLevelAboveHalf {
        protocol: Protocol,
    },
    /// A test could not be made at all.
    TestRefused {
        protocol: Protocol,
        refusal: SubTestRefusal,
    },
    /// The values of a sample differ by rounding alone.
    SpreadOfRounding {
        side: Side,
    },
    /// Another caveat of the analysis.
    Caveat {
        protocol: Protocol,
        caveat: Caveat,
    },
}

impl ConfigurationWarning {
    /// Its name.
    pub fn code(&self) -> WarningCode {
        match self {
            Self::LevelOutOfRange { .. } => WarningCode::LevelOutOfRange,
            Self::LevelsOverridden => WarningCode::LevelsOverridden,
            Self::WholeCoefficients => WarningCode::WholeCoefficients,
            Self::MissingCoefficients { .. } => WarningCode::MissingCoefficients,
            Self::NameTwice { .. } => WarningCode::NameTwice,
        }
    }

    /// Names that stand twice, and levels that are not taken as they stand.
    pub(super) fn of_lines(
        benchmarks: &[ConfiguredBenchmark],
        options: &ConfiguredOptions,
    ) -> Result<Vec<Self>, ConfiguredError> {
        let mut warnings = Vec::new();
        let mut lines_of = BTreeMap::new();
        for &ConfiguredBenchmark { line, ref name, level, .. } in benchmarks {
            if let Some(first) = lines_of.insert(name.as_str(), line) {
                warnings.push(Self::NameTwice { name: name.clone(), lines: [first, line] });
            }
            match (level, options.mode) {
                (ConfiguredLevel::OutOfRange(level), SpeedupTestMode::Published) => {
                    warnings.push(Self::LevelOutOfRange { line, level });
                }
                (ConfiguredLevel::OutOfRange(level), SpeedupTestMode::Exact) => {
                    return Err(ConfiguredError::Level { line, level });
                }
                (
                    ConfiguredLevel::Omitted | ConfiguredLevel::Given(_),
                    SpeedupTestMode::Published | SpeedupTestMode::Exact,
                ) => {}
            }
        }
        let has_other =
            |one: &ConfiguredBenchmark| one.level.given().is_some_and(|own| Some(own) != options.level);
        let overrides = options.mode == SpeedupTestMode::Published && options.level.is_some();
        if overrides && benchmarks.iter().any(has_other) {
            warnings.push(Self::LevelsOverridden);
        }
        Ok(warnings)
    }
}

impl BenchmarkWarning {
    /// Its name.
    pub fn code(&self) -> WarningCode {
        match self {
            Self::NotReadable(_) => WarningCode::NotReadable,
            Self::SamplesUnavailable => WarningCode::SamplesUnavailable,
            Self::SmallNotNormal { .. } => WarningCode::SmallNotNormal,
            Self::NotNormalLarge { .. } => WarningCode::NotNormalLarge,
            Self::SmallNoLocationShift { .. } => WarningCode::SmallNoLocationShift,
            Self::NoLocationShift => WarningCode::NoLocationShift,
            Self::NoLevelAboveHalf { .. } => WarningCode::NoLevelAboveHalf,
            Self::TestRefused { .. } => WarningCode::TestRefused,
            Self::SpreadOfRounding { .. } => WarningCode::SpreadOfRounding,
            Self::Caveat { caveat, .. } => caveat.into(),
        }
    }

    /// What the values of baseline and candidate are themselves.
    pub(super) fn of_samples(samples: [&Sample; 2]) -> Vec<Self> {
        let sides = [Side::Baseline, Side::Candidate].into_iter().zip(samples);
        let rounding = sides.filter(|(_, sample)| sample.differs_by_rounding());
        rounding.map(|(side, _)| Self::SpreadOfRounding { side }).collect()
    }

    /// Why a protocol with samples of these `sizes` stopped, if it did, and its caveats.
    pub(super) fn of_conclusion(
        protocol: Protocol,
        conclusion: &ProtocolConclusion,
        sizes: [usize; 2],
        mode: SpeedupTestMode,
    ) -> Vec<Self> {
        let stopped = match &conclusion.outcome {
            ProtocolOutcome::Significant | ProtocolOutcome::NotSignificant => Vec::new(),
            ProtocolOutcome::CannotConclude { reason } => Self::of_stop(protocol, reason, sizes),
        };
        let caveats = conclusion.caveats.iter().filter_map(|caveat| Self::of_caveat(protocol, *caveat, mode));
        stopped.into_iter().chain(caveats).collect()
    }

    fn of_stop(protocol: Protocol, reason: &StopReason, sizes: [usize; 2]) -> Vec<Self> {
        let n = |side: Side| match side {
            Side::Baseline => sizes[0],
            Side::Candidate => sizes[1],
        };
        match reason {
            StopReason::SmallNotNormal { sides } => {
                sides.iter().map(|&side| Self::SmallNotNormal { side, n: n(side) }).collect()
            }
            StopReason::SmallNoLocationShift { sides } => {
                sides.iter().map(|&side| Self::SmallNoLocationShift { side, n: n(side) }).collect()
            }
            &StopReason::SubTestRefused { refusal } => vec![Self::TestRefused { protocol, refusal }],
        }
    }

    /// What a caveat of the analysis is here; of some the published program says nothing.
    fn of_caveat(protocol: Protocol, caveat: Caveat, mode: SpeedupTestMode) -> Option<Self> {
        match (caveat, mode) {
            (Caveat::NotNormalLarge { side, .. }, _) => Some(Self::NotNormalLarge { side }),
            (Caveat::NoLocationShift, _) => Some(Self::NoLocationShift),
            (Caveat::NoLevelAboveHalf, _) => Some(Self::NoLevelAboveHalf { protocol }),
            (_, SpeedupTestMode::Published) => None,
            (caveat, SpeedupTestMode::Exact) => Some(Self::Caveat { protocol, caveat }),
        }
    }
}
